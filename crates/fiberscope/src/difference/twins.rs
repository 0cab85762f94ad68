//! Networks that moves make the same one: then there is nothing to search.
//!
//! Bounds of boxes never reach zero where two networks compute the same function with other neurons, however
//! many boxes there are. So networks whose outputs look alike at some points are reduced and matched first.

use fiberscope_core::{Domain, MoveChain, Network};

use crate::limit::Deadline;
use crate::orbit::match_layers;
use crate::reduce::{Reduction, reduce_alike};

/// The points at which outputs are compared.
const POINTS: usize = 16;
/// Outputs look alike that differ by this part of the largest one.
const ALIKE: f64 = 1e-6;

/// Moves on the first network and on the second that lead to the same one, if reductions and a matching of
/// neurons find any.
pub fn same(
    a: &Network,
    b: &Network,
    domain: &Domain,
    root: (&[f64], &[f64]),
    deadline: &Deadline,
) -> Option<[MoveChain; 2]> {
    if !look_alike(a, b, root, ALIKE) {
        return None;
    }
    let (Reduction { network, moves }, other) = reduce_alike(a, b, domain, deadline).ok()?;
    if deadline.is_past() || network.widths() != other.network.widths() {
        return None;
    }
    let matching = match_layers(&network, &other.network, deadline)?;
    (matching.network == network).then(|| [moves, other.moves.compose(matching.moves)])
}

/// Whether the outputs differ by at most this part of the largest one at points along the diagonal of the box and
/// beside it.
pub fn look_alike(a: &Network, b: &Network, root: (&[f64], &[f64]), part: f64) -> bool {
    points(root).all(|x| {
        let (Ok(a), Ok(b)) = (a.evaluate(&x), b.evaluate(&x)) else { return false };
        let size = a.iter().chain(&b).fold(0.0f64, |most, y| most.max(y.abs()));
        a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= part * size)
    })
}

/// Points along the diagonal of the box and beside it.
pub fn points<'r>((lo, hi): (&'r [f64], &'r [f64])) -> impl Iterator<Item = Vec<f64>> + 'r {
    // Multiples of the golden ratio modulo 1 lie everywhere and never in a line with the inputs.
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let place = |point: usize, input: usize| match point {
        0 => 0.0,
        1 => 1.0,
        _ => (GOLDEN * (point * (input + 1)) as f64).fract(),
    };
    (0..POINTS).map(move |point| {
        lo.iter().zip(hi).enumerate().map(|(i, (lo, hi))| lo + (hi - lo) * place(point, i)).collect()
    })
}
