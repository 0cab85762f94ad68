//! Points near boundaries of both networks (module [`falsify`](mod@crate::equivalence::falsify)).

use fiberscope_core::Rational;

use crate::equivalence::agreement::falsify;
use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};
use crate::equivalence::settle::full_budget;

/// Looks for a difference beyond the tolerance, or for any if there is none.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    let threshold = question.goal.tolerance().cloned().unwrap_or(Rational::ZERO);
    let found = falsify(question, &full_budget(question), &threshold);
    Ok(Step::Refined(found.into_iter().collect()))
}
