//! One hidden layer behind matched ones: its hyperplane representation.
//!
//! Equal representations on the ranges of the activations before the layer prove the networks equal
//! [threelayer2026, Section 4.1]. Without matched layers the converse holds too, and a point can be written down where
//! they differ (module `tail`); behind matched layers that point need not be reached.

use fiberscope_core::Evidence;

use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};
use crate::equivalence::tail::{Tail, difference_points};
use crate::equivalence::verdict::Method;

/// Compares the layers that are left.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    let (a, b) = question.reduced()?;
    let Some(matching) = question.matched()? else { return Ok(Step::Nothing) };
    let (net_a, net_b, prefix) = (&a.network, &matching.network, matching.prefix);
    if (net_a.hidden_depth(), net_b.hidden_depth()) != (prefix + 1, prefix + 1) {
        return Ok(Step::Nothing);
    }
    let Some(sides) = net_a.activation_ranges(question.domain).nth(prefix) else { return Ok(Step::Nothing) };
    let seed = question.options.seed;
    Ok(match difference_points(&Tail::of(net_a), &Tail::of(net_b), &sides, seed) {
        None => {
            let moves = b.moves.clone().compose(matching.moves.clone());
            let evidence = Evidence::Hyperplanes { a: a.moves.clone(), b: moves, prefix };
            Step::of(question.equal(evidence, Method::Hyperplanes))
        }
        Some(points) if prefix == 0 => question.refined(points),
        Some(_) => Step::Nothing,
    })
}
