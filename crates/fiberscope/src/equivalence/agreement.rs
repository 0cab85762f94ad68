//! Agreement up to rounding, or within a tolerance.
//!
//! A proved difference is a yes only in the following two cases, and is shown even then. On a bounded box: a
//! certified bound for the difference of the outputs that is at most 1/1024 of the certified size of the
//! outputs there (the largest absolute value at an exactly evaluated point), or at most the tolerance where
//! one was asked about. On an unbounded domain, where no such bound exists and no box is assumed: moves that
//! hold on that domain, after which the parameters agree one by one to a few units in the last place.

use fiberscope_core::{Certificate, Evidence, Rational};

use super::falsify::{FalsifyBudget, falsify_beyond};
use super::first;
use super::options::Goal;
use super::question::Question;
use super::verdict::{Agreement, Decision, Difference, Method, Verdict};
use crate::difference::is_within_reach;

/// How many points are tried to show where networks that agree up to rounding differ.
const DIFFERENCE_POINTS: usize = 1024;

/// On a box, a difference counts as rounding if it is at most this part of the size of the outputs: half
/// precision, the coarsest format in use but one, keeps ten bits.
const PART: i64 = 1024;

/// A bound of at most this many times a difference that was seen needs no better one.
const NEAR: i64 = 4;

/// The agreement up to rounding, or within the tolerance, if there is one. A difference that is known is
/// shown with it.
pub fn agreement(question: &Question) -> Option<Decision> {
    let (certificate, agreement, method) = match &question.goal {
        Goal::Exact => return None,
        Goal::Within(tolerance) => {
            let aligned = question.aligned(tolerance).filter(|aligned| aligned.bound <= *tolerance)?;
            let agreement = Agreement::Outputs { bound: aligned.bound.clone(), size: None };
            (aligned.certificate.clone(), agreement, Method::Rounding)
        }
        Goal::Rounding if question.is_bounded() => {
            let size = question.size().clone();
            let (bound, certificate, method) = least_bound(question, &(&size / &Rational::from(PART)))?;
            if let Evidence::Moves { .. } = &certificate.evidence {
                return Some(question.decision(Verdict::Equivalent { certificate }, Method::Moves));
            }
            (certificate, Agreement::Outputs { bound, size: Some(size) }, method)
        }
        Goal::Rounding => match question.close()?.clone() {
            Evidence::Close { a, b, relative } if relative.is_zero() => {
                return question.equal(Evidence::Moves { a, b }, Method::Moves);
            }
            Evidence::Close { a, b, relative } => {
                let agreement = Agreement::Parameters { relative: relative.clone() };
                (question.proved(Evidence::Close { a, b, relative }).ok()?, agreement, Method::Rounding)
            }
            _ => return None,
        },
    };
    agreed(question, certificate, agreement, method)
}

/// The least bound that is proved, of networks whose neurons correspond up to rounding, if it is at most
/// `enough`: that of their alignment, or of a search over boxes with the effort that a bound on top of an answer
/// is worth. Networks that do not correspond differ by more than rounding, however little that is.
fn least_bound(question: &Question, enough: &Rational) -> Option<(Rational, Certificate, Method)> {
    let aligned = question.aligned(enough)?;
    let mut least = (aligned.bound.clone(), aligned.certificate.clone(), Method::Rounding);
    let seen = question.known.as_ref().map(|(known, _)| known.size()).unwrap_or_default();
    let sharp = least.0 <= *enough && least.0 <= &seen * &Rational::from(NEAR);
    let (a, b) = question.networks();
    let wanted = || least.0 > *enough || !question.is_large();
    if !sharp
        && wanted()
        && is_within_reach(a, b, question.domain, question.deadline())
        && let Some((bound, proof)) = question.apart().and_then(|apart| apart.bound.clone())
        && bound < least.0
    {
        least = (bound, proof, Method::Difference);
    }
    (least.0 <= *enough).then_some(least)
}

/// The answer of a search over boxes to a question with a tolerance, if it is one.
pub fn within_by_difference(question: &Question) -> Option<Decision> {
    let tolerance = question.goal.tolerance()?;
    let apart = question.apart()?;
    if let Some(worst) = apart.worst.as_ref().filter(|worst| worst.size() > *tolerance) {
        return question.different(worst.clone(), Method::Difference);
    }
    let (bound, certificate) = apart.bound.clone().filter(|(bound, _)| bound <= tolerance)?;
    if let Evidence::Moves { .. } = &certificate.evidence {
        return Some(question.decision(Verdict::Equivalent { certificate }, Method::Moves));
    }
    agreed(question, certificate, Agreement::Outputs { bound, size: None }, Method::Difference)
}

/// An agreement, with the largest difference that was seen.
fn agreed(
    question: &Question,
    certificate: Certificate,
    agreement: Agreement,
    method: Method,
) -> Option<Decision> {
    let mut differ_at = question.largest_seen();
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
    Some(question.decision(verdict, method))
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
