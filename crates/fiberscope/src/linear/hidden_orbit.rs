//! When two points of one fiber and stratum differ by changes of basis in hidden layers only.
//!
//! They do iff `null W_{k~0}` and `col W_{L~i}` agree for all `0 < k, i < L`. In flow bases these are spans
//! of columns of `J_0` (bars `[0, k']`, `k' < k`) and of `J_L` (bars `[i', L]`, `i' <= i`), so the change of
//! basis from one point's `J_0`, `J_L` to the other's must be block triangular.

use super::{Bar, FlowBases};

/// Whether `W'_j = g_j W_j g_{j-1}^{-1}` for some `g` with `g_0 = I`, `g_L = I`, up to `tolerance` relative
/// to the largest entry of the change of basis. Both must have the same product and barcode.
pub fn same_hidden_orbit(a: &FlowBases, b: &FlowBases, tolerance: f64) -> bool {
    let depth = a.depth();
    a.barcode() == b.barcode()
        && is_triangular(a, b, 0, tolerance, |row, column| row.end > column.end)
        && is_triangular(a, b, depth, tolerance, |row, column| row.start > column.start)
}

fn is_triangular(
    a: &FlowBases,
    b: &FlowBases,
    layer: usize,
    tolerance: f64,
    must_vanish: impl Fn(Bar, Bar) -> bool,
) -> bool {
    let change = b.dense_inverse(layer) * a.dense_basis(layer);
    let alive: Vec<Bar> = a.alive(layer).into_iter().map(|copy| a.copies()[copy]).collect();
    let n = alive.len();
    let largest = change.norm_max();
    (0..n).all(|i| {
        (0..n).all(|j| !must_vanish(alive[i], alive[j]) || change[(i, j)].abs() <= tolerance * largest)
    })
}
