//! Reduced networks whose layers match up to permutation and scaling, all of them.

use fiberscope_core::Evidence;

use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};
use crate::equivalence::verdict::Method;

/// Composes the moves of the reductions with those of the matching.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    let (a, b) = question.reduced()?;
    let Some(matching) = question.matched()? else { return Ok(Step::Nothing) };
    if matching.prefix != a.network.depth() || a.network.depth() != matching.network.depth() {
        return Ok(Step::Nothing);
    }
    let moves = b.moves.clone().compose(matching.moves.clone());
    Ok(Step::of(question.equal(Evidence::Moves { a: a.moves.clone(), b: moves }, Method::Moves)))
}
