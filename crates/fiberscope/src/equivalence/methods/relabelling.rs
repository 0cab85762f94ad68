//! Networks that differ by the order and the scales of their neurons, recognised as they are.

use fiberscope_core::{Evidence, MoveChain};

use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};
use crate::equivalence::verdict::Method;
use crate::orbit::propose;

/// Asks the checker whether the proposed permutations and scalings are right.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    let Some(found) = propose(question.a, question.b) else { return Ok(Step::Nothing) };
    let evidence = Evidence::Moves { a: MoveChain::default(), b: found.moves() };
    Ok(Step::of(question.equal(evidence, Method::Moves)))
}
