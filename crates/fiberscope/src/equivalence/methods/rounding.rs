//! Networks that are not proved equal and agree up to rounding, or within the tolerance.

use crate::equivalence::agreement::agreement;
use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};

/// Looks for an agreement of the kind that was asked for.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    Ok(Step::of(agreement(question)))
}
