//! With a tolerance, on a bounded box: how far apart the outputs can be (module [`crate::difference`]).

use crate::equivalence::agreement::within_by_difference;
use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};

/// Decides whether the largest difference exceeds the tolerance. Equality is not decided by differences, so
/// that there is nothing to do without one.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    if question.goal.tolerance().is_none() {
        return Ok(Step::Nothing);
    }
    if let Some(decision) = within_by_difference(question) {
        return Ok(Step::Decided(Box::new(decision)));
    }
    let seen = question.apart().and_then(|apart| apart.worst.clone());
    Ok(match seen {
        Some(seen) => Step::Refined(vec![seen]),
        None => Step::Nothing,
    })
}
