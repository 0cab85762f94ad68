//! What a difference means for the question.
//!
//! For equality any difference answers. Up to rounding, one that is large beside the outputs answers, and a
//! small one does unless the networks agree. With a tolerance, one beyond it answers; a smaller one leaves a
//! bound of at most the tolerance to be proved, or a larger difference to be found.

use fiberscope_core::Rational;

use super::agreement::{agreement, falsify, too_large, within_by_difference};
use super::falsify::FalsifyBudget;
use super::first;
use super::options::Goal;
use super::question::Question;
use super::verdict::{Decision, Difference, Method};

/// Whether a difference alone answers the question.
pub fn suffices(question: &Question, difference: &Difference) -> bool {
    match &question.goal {
        Goal::Exact => true,
        Goal::Rounding => too_large(question, difference),
        Goal::Within(tolerance) => difference.size() > *tolerance,
    }
}

/// The answer that the known difference gives; `None` if there is none, or the checker does not confirm it.
pub fn settle(question: &mut Question) -> Option<Decision> {
    let (difference, method) = question.known.clone()?;
    if suffices(question, &difference) {
        return question.different(difference, method);
    }
    if question.may_use(Method::Rounding)
        && let Some(decision) = agreement(question)
    {
        return Some(decision);
    }
    match question.goal.clone() {
        Goal::Exact | Goal::Rounding => question.different(difference, method),
        Goal::Within(tolerance) => {
            within_by_difference(question).or_else(|| settle_within(question, &tolerance))
        }
    }
}

/// The networks are not equal: what is left is to look for a point beyond the tolerance.
fn settle_within(question: &mut Question, tolerance: &Rational) -> Option<Decision> {
    let (difference, method) = question.known.clone()?;
    if let Some(far) = first::far_out(question.networks(), question.domain, &difference.x) {
        question.learn(far, method);
    }
    let beyond =
        |question: &Question| question.known.clone().filter(|(difference, _)| difference.size() > *tolerance);
    if question.may_use(Method::Falsification)
        && beyond(question).is_none()
        && let Some(found) = falsify(question, &full_budget(question), tolerance)
    {
        question.learn(found, Method::Falsification);
    }
    match beyond(question) {
        Some((difference, method)) => question.different(difference, method),
        None => {
            let (_, method) = question.known.clone()?;
            Some(question.undecided((0.0, 0), None, method))
        }
    }
}

/// All points that are worth trying, as long as there is time.
pub fn full_budget(question: &Question) -> FalsifyBudget {
    FalsifyBudget { deadline: question.deadline().clone(), ..FalsifyBudget::default() }
}
