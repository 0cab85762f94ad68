//! Affine maps: two that differ do so at one of `n + 1` points in general position.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};
use crate::equivalence::tail::inside;

/// Compares networks that have no hidden layer after reduction. (Equal ones were matched.)
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    let (a, b) = question.reduced()?;
    if (a.network.hidden_depth(), b.network.hidden_depth()) != (0, 0) {
        return Ok(Step::Nothing);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(question.options.seed);
    let sides = question.domain.sides(question.a.input_width());
    let points = (0..=sides.len()).map(|_| sides.iter().map(|side| inside(side, &mut rng)).collect());
    Ok(question.refined(points))
}
