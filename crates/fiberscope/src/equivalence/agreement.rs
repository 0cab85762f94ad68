//! Agreement up to rounding, or within a tolerance.
//!
//! A proved difference is a yes only in the following two cases, and is shown even then. On a bounded box: a
//! certified bound for the difference of the outputs that is at most 1/1024 of the certified size of the
//! outputs there (the largest absolute value at an exactly evaluated point), or at most the tolerance where
//! one was asked about. On an unbounded domain, where no such bound exists and no box is assumed: moves that
//! hold on that domain, after which the parameters agree one by one to a few units in the last place.

use fiberscope_core::{Evidence, Rational};

use super::falsify::{FalsifyBudget, falsify_beyond};
use super::first;
use super::options::Goal;
use super::question::Question;
use super::verdict::{Agreement, Decision, Difference, Method, Verdict};

/// How many points are tried to show where networks that agree up to rounding differ.
const DIFFERENCE_POINTS: usize = 1024;

/// On a box, a difference counts as rounding if it is at most this part of the size of the outputs: half
/// precision, the coarsest format in use but one, keeps ten bits.
const PART: i64 = 1024;

/// The agreement up to rounding, or within the tolerance, if there is one. A difference that is known is
/// shown with it.
pub fn agreement(question: &Question) -> Option<Decision> {
    let (certificate, agreement) = match &question.goal {
        Goal::Exact => return None,
        Goal::Within(tolerance) => {
            let aligned = question.aligned(tolerance)?;
            if aligned.bound > *tolerance {
                return None;
            }
            let agreement = Agreement::Outputs { bound: aligned.bound.clone(), size: None };
            (aligned.certificate.clone(), agreement)
        }
        Goal::Rounding if question.is_bounded() => {
            let size = question.size().clone();
            let aligned = question.aligned(&(&size / &Rational::from(PART)))?;
            if &aligned.bound * &Rational::from(PART) > size {
                return None;
            }
            let agreement = Agreement::Outputs { bound: aligned.bound.clone(), size: Some(size) };
            (aligned.certificate.clone(), agreement)
        }
        Goal::Rounding => match question.close()?.clone() {
            Evidence::Close { a, b, relative } if relative.is_zero() => {
                return question.equal(Evidence::Moves { a, b }, Method::Moves);
            }
            Evidence::Close { a, b, relative } => {
                let agreement = Agreement::Parameters { relative: relative.clone() };
                (question.proved(Evidence::Close { a, b, relative }).ok()?, agreement)
            }
            _ => return None,
        },
    };
    let mut differ_at = question.known.as_ref().map(|(difference, _)| difference.clone());
    if differ_at.is_none() {
        let budget = FalsifyBudget { deadline: question.deadline().clone(), points: DIFFERENCE_POINTS };
        differ_at = falsify(question, &budget, &Rational::ZERO);
        if let Some(found) = &differ_at
            && question.goal == Goal::Rounding
            && too_large(question, found)
        {
            return question.different(found.clone(), Method::Falsification);
        }
    }
    let verdict = Verdict::EquivalentUpToRounding { agreement, certificate, differ_at };
    Some(question.decision(verdict, Method::Rounding))
}

/// Whether a difference is so large beside the outputs that nobody would call it rounding. On a bounded box
/// no certified bound can then be small enough.
pub fn too_large(question: &Question, difference: &Difference) -> bool {
    let size = match question.is_bounded() {
        true => question.size().clone(),
        false => {
            let seed = question.options.seed;
            let around = first::size_around(question.a, question.domain, &difference.x, seed);
            Rational::from_f64(around).unwrap_or_default()
        }
    };
    &difference.size() * &Rational::from(PART) > size
}

/// A difference of more than a threshold, looked for at points near boundaries.
pub fn falsify(question: &Question, budget: &FalsifyBudget, threshold: &Rational) -> Option<Difference> {
    let seed = question.options.seed;
    let x = falsify_beyond(question.networks(), question.domain, seed, budget, threshold)?;
    first::compare(question.networks(), &x)
}
