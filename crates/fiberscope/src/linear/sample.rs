//! Random points of a stratum.

use faer::Mat;
use fiberscope_core::Matrix;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::canonical::flow_over;
use super::path::{blocks, transformed};
use super::{Barcode, FlowBases, LinearError, LinearNetwork, TangentSpace, canonical_weights, dense};

/// A random network with this barcode: `W_j = J_j I~_j J_{j-1}^{-1}` with random well-conditioned `J_j`. Its
/// product is random.
pub fn sample_stratum(barcode: &Barcode, seed: u64) -> Result<LinearNetwork, LinearError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let widths = barcode.widths();
    let identities = widths.iter().map(|&width| Mat::identity(width, width)).collect();
    let flow = FlowBases::from_parts(barcode.clone(), identities)?;
    let changes: Vec<Mat<f64>> = widths.iter().map(|&width| random_invertible(&mut rng, width)).collect();
    assemble(&flow, &changes)
}

/// A random network with this barcode and this product, whose singular values up to `negligible` count as
/// zero.
pub fn sample_over(
    barcode: &Barcode,
    product: &Matrix,
    negligible: f64,
    seed: u64,
) -> Result<LinearNetwork, LinearError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let flow = flow_over(barcode, product, negligible)?;
    if barcode.depth() == 1 {
        return LinearNetwork::from_weights(vec![product.clone()]);
    }
    let widths = barcode.widths();
    let depth = barcode.depth();
    let rank = barcode.get(super::Bar::new(0, depth));
    let p = random_invertible(&mut rng, rank);
    let mut end = |width: usize, lower: bool| {
        let rest = random_invertible(&mut rng, width - rank);
        let (rows, cols) = if lower { (width - rank, rank) } else { (rank, width - rank) };
        let side = gaussian(&mut rng, rows, cols);
        let (upper, lower) = if lower { (None, Some(&side)) } else { (Some(&side), None) };
        blocks(&p, upper, lower, &rest)
    };
    let (first, last) = (end(widths[0], true), end(widths[depth], false));
    let mut changes = vec![first];
    changes.extend(widths[1..depth].iter().map(|&width| random_invertible(&mut rng, width)));
    changes.push(last);
    assemble(&flow, &changes)
}

/// A random network of small integers with this barcode: the `J_j` are products of a few elementary integer
/// matrices.
pub fn sample_integer(barcode: &Barcode, seed: u64) -> Result<LinearNetwork, LinearError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut weights = canonical_weights(barcode);
    for (layer, width) in barcode.widths().into_iter().enumerate() {
        for _ in 0..2 * width {
            let (to, from) = (rng.random_range(0..width), rng.random_range(0..width));
            let factor = if rng.random_range(0..2) == 0 { 1.0 } else { -1.0 };
            if to != from {
                add_row(&mut weights, layer, to, from, factor);
            } else if factor < 0.0 {
                add_row(&mut weights, layer, to, to, -2.0);
            }
        }
    }
    LinearNetwork::from_weights(weights)
}

/// A random tangent of length 1; zero if the stratum is a point.
pub fn random_tangent(space: &TangentSpace, seed: u64) -> Vec<Matrix> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let widths = space.widths();
    let random = |ends: &[usize]| dense::from_faer(gaussian(&mut rng, ends[1], ends[0]).as_ref());
    let mut tangent =
        space.project(&widths.windows(2).map(random).collect::<Vec<_>>()).expect("the widths are the same");
    let length = tangent.iter().flat_map(Matrix::entries).map(|x| x * x).sum::<f64>().sqrt();
    // What rounding leaves of a direction that has no tangent part is no direction.
    let scale = if space.dimension() == 0 { 0.0 } else { length.recip() };
    tangent.iter_mut().for_each(|part| *part = part.map(|x| x * scale));
    tangent
}

/// Changes the basis of a layer: row `to` of the matrix before it gains `factor` times row `from`, and column
/// `from` of the matrix behind it loses `factor` times column `to`; for `to = from` and `factor = -2` both
/// change sign.
fn add_row(weights: &mut [Matrix], layer: usize, to: usize, from: usize, factor: f64) {
    if let Some(before) = layer.checked_sub(1) {
        let source = weights[before].row(from).to_vec();
        weights[before].row_mut(to).iter_mut().zip(source).for_each(|(x, y)| *x += factor * y);
    }
    if let Some(behind) = weights.get_mut(layer) {
        for i in 0..behind.rows() {
            let change = factor * behind[(i, to)];
            if to == from { behind[(i, from)] += change } else { behind[(i, from)] -= change }
        }
    }
}

fn assemble(flow: &FlowBases, changes: &[Mat<f64>]) -> Result<LinearNetwork, LinearError> {
    let canonical: Vec<Mat<f64>> = canonical_weights(flow.barcode()).iter().map(dense::to_faer).collect();
    let weights =
        transformed(flow, &canonical, changes).ok_or(LinearError::Numerical { layer: flow.depth() })?;
    LinearNetwork::from_weights(weights)
}

/// A rotation or reflection times a diagonal matrix with entries from 1/2 to 2.
fn random_invertible(rng: &mut impl Rng, n: usize) -> Mat<f64> {
    if n == 0 {
        return Mat::zeros(0, 0);
    }
    let turn = gaussian(rng, n, n).qr().compute_Q();
    let scales: Vec<f64> = (0..n).map(|_| 2f64.powf(rng.random_range(-1.0..1.0))).collect();
    let mirror = if rng.random_range(0..2) == 0 { 1.0 } else { -1.0 };
    Mat::from_fn(n, n, |i, j| turn[(i, j)] * scales[j] * if j == 0 { mirror } else { 1.0 })
}

fn gaussian(rng: &mut impl Rng, rows: usize, cols: usize) -> Mat<f64> {
    Mat::from_fn(rows, cols, |_, _| {
        let (radius, angle) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    })
}
