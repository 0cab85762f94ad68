//! Fits to the stored answers, without queries: is this the last hidden layer, which way do its neurons look,
//! what is the output layer?
//!
//! With rows `z^_j = +-z_j` of the last hidden layer, `f = sum_j a_j ReLU(z^_j) + E h + c`, since
//! `ReLU(-z) = ReLU(z) - z`; and `E = -sum_j beta_j a_j w^_j` with `beta_j = 1` for the rows that look the
//! wrong way. What of `E` no bits explain belongs to neurons that are always active: a linear map of `h`.

use fiberscope_algebra::dense::{beside, dot, norm, peak, product, scaled};
use fiberscope_core::Matrix;

use super::algebra::{Svd, tall_least_squares};
use super::bits::{ENUMERATED_BITS, enumerated};
use super::first::Row;
use super::inquiry::Inquiry;
use super::prefix::{Prefix, Rows};
use super::probe::Boundary;

/// Questions farther out than this many radii are left out of fits.
pub(super) const FIT_REACH: f64 = 12.0;

/// A fit of `f` by the rows of a layer.
pub(super) struct LastLayer {
    /// The largest residual, in units of the noise.
    pub residual: f64,
    /// `-1` for rows that look the wrong way, if that is settled.
    pub signs: Option<Vec<f64>>,
    /// The part of `E` that no signs explain (features x outputs), zero if the signs are settled.
    pub remainder: Option<Matrix>,
}

/// Weights `1 / (1 + |x|)`, by which noise is even.
pub(super) fn weights(points: &Matrix) -> Vec<f64> {
    points.iter_rows().map(|x| 1.0 / (1.0 + peak(x))).collect()
}

/// Features `[ReLU(W h + b), h, 1]` of questions.
pub(super) fn features(prefix: &Prefix, rows: &Rows, points: &Matrix) -> Matrix {
    let hidden = prefix.hidden_batch(points);
    let (count, width) = (rows.len(), hidden.cols());
    let z: Vec<Vec<f64>> = hidden.iter_rows().map(|h| rows.at(h)).collect();
    Matrix::from_fn(points.rows(), count + width + 1, |i, j| match j {
        j if j < count => z[i][j].max(0.0),
        j if j < count + width => hidden[(i, j - count)],
        _ => 1.0,
    })
}

pub(super) fn weighted(matrix: &Matrix, weights: &[f64]) -> Matrix {
    Matrix::from_fn(matrix.rows(), matrix.cols(), |i, j| matrix[(i, j)] * weights[i])
}

/// As many answers as a fit with so many unknowns is worth.
pub(super) fn fitted_rows(unknowns: usize) -> usize {
    (3 * unknowns / 2 + 500).max(4_000.min(1_000_000 / unknowns))
}

/// Fits `f` by the rows; the residual tells whether they are the last hidden layer.
pub(super) fn last_layer(inquiry: &Inquiry<'_>, prefix: &Prefix, rows: &Rows) -> Option<LastLayer> {
    let fit = Fit::of(inquiry, prefix, rows)?;
    let (signs, remainder) = read_signs(rows, &fit.slopes, &fit.linear);
    Some(LastLayer { residual: fit.residual, signs, remainder })
}

/// `f = sum_j a_j ReLU(z_j) + E h + c` on the stored answers.
pub(super) struct Fit {
    /// The largest residual, in units of the noise.
    pub residual: f64,
    /// `a`, one row per neuron.
    pub slopes: Matrix,
    /// `E`, one row per feature.
    pub linear: Matrix,
}

impl Fit {
    /// The fit by these rows.
    pub fn of(inquiry: &Inquiry<'_>, prefix: &Prefix, rows: &Rows) -> Option<Fit> {
        let unknowns = rows.len() + prefix.width() + 1;
        let (points, answers) = inquiry.stored(FIT_REACH, fitted_rows(unknowns));
        if points.rows() < unknowns + 8 {
            return None;
        }
        let weight = weights(&points);
        let matrix = weighted(&features(prefix, rows, &points), &weight);
        let right = weighted(&answers, &weight);
        let solution = tall_least_squares(&matrix, &right, 1e-12)?;
        let fitted = product(&matrix, &solution);
        let residual = difference(&fitted, &right) / inquiry.eta;
        let count = rows.len();
        let slopes = Matrix::from_fn(count, inquiry.outputs, |j, o| solution[(j, o)]);
        let linear = Matrix::from_fn(prefix.width(), inquiry.outputs, |k, o| solution[(count + k, o)]);
        Some(Fit { residual, slopes, linear })
    }
}

/// A row of the last hidden layer some of whose weights are open: whenever one of those features is active,
/// the neuron keeps one state.
///
/// A large weight of the right sign then explains all answers but for a multiple of the feature, which the
/// fit shows: `E_k + sum_j beta_j a_j w_jk = a (w_k - M)` if the neuron is on there. If it is off there, the
/// weight cannot be known, and any large negative one has the same function.
pub(super) fn saturate(
    inquiry: &Inquiry<'_>,
    prefix: &Prefix,
    rows: &[Row],
    open: &Boundary,
    limit: f64,
) -> Option<Row> {
    const LARGE: f64 = 64.0;
    let features: Vec<usize> = open.unknown(None).collect();
    if features.is_empty() || features.len() > 3 {
        return None;
    }
    for choice in 0..1usize << features.len() {
        let mut w = open.w.clone();
        for (i, &k) in features.iter().enumerate() {
            w[k] = if choice >> i & 1 == 1 { -LARGE } else { LARGE };
        }
        let mut all = rows.to_vec();
        all.push((w.clone(), open.b));
        let all = Rows::new(&all)?;
        let fit = Fit::of(inquiry, prefix, &all)?;
        if fit.residual > limit {
            continue;
        }
        let kept: Vec<usize> = (0..prefix.width()).filter(|k| !features.contains(k)).collect();
        let (count, outputs) = (all.len(), inquiry.outputs);
        let system = Matrix::from_fn(kept.len() * outputs, count, |i, j| {
            all.weight[(j, kept[i / outputs])] * fit.slopes[(j, i % outputs)]
        });
        let right: Vec<f64> =
            (0..kept.len() * outputs).map(|i| -fit.linear[(kept[i / outputs], i % outputs)]).collect();
        let bits = Svd::of(&system)?.solve(&right, 1e-9);
        if bits.iter().all(|b| b.abs().min((b - 1.0).abs()) < 0.1) {
            let a = fit.slopes.row(count - 1);
            for &k in &features {
                let rest: Vec<f64> = (0..outputs)
                    .map(|o| {
                        fit.linear[(k, o)]
                            + (0..count)
                                .map(|j| bits[j].round() * fit.slopes[(j, o)] * all.weight[(j, k)])
                                .sum::<f64>()
                    })
                    .collect();
                w[k] += dot(&rest, a) / dot(a, a);
            }
        }
        let length = norm(&w);
        return Some((scaled(&w, 1.0 / length), open.b / length));
    }
    None
}

fn difference(a: &Matrix, b: &Matrix) -> f64 {
    a.entries().iter().zip(b.entries()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// Solves `sum_j beta_j a_j w_j = -E` for bits.
fn read_signs(rows: &Rows, slopes: &Matrix, linear: &Matrix) -> (Option<Vec<f64>>, Option<Matrix>) {
    let (count, width, outputs) = (rows.len(), linear.rows(), linear.cols());
    let system = Matrix::from_fn(width * outputs, count, |i, j| {
        rows.weight[(j, i / outputs)] * slopes[(j, i % outputs)]
    });
    let right: Vec<f64> = (0..width * outputs).map(|i| -linear[(i / outputs, i % outputs)]).collect();
    let Some(svd) = Svd::of(&system) else { return (None, None) };
    let bits = svd.solve(&right, 1e-9);
    let near = |b: f64| b.abs().min((b - 1.0).abs());
    let explained = |bits: &[f64]| -> Vec<f64> {
        (0..width * outputs).map(|i| right[i] - dot(system.row(i), bits)).collect()
    };
    let size = peak(&right).max(1e-300);
    if !svd.s.is_empty() && svd.rank(1e-9) == count && bits.iter().all(|&b| near(b) < 0.1) {
        let rounded: Vec<f64> = bits.iter().map(|b| b.round()).collect();
        let rest = explained(&rounded);
        if peak(&rest) < 1e-4 * (size + peak(slopes.entries())) {
            return (Some(rounded.iter().map(|b| 1.0 - 2.0 * b).collect()), None);
        }
    }
    let rank = if svd.s.is_empty() { 0 } else { svd.rank(1e-9) };
    if rank > 0 && rank < count && count - rank <= ENUMERATED_BITS {
        let equations: Vec<Vec<f64>> = system.iter_rows().map(<[f64]>::to_vec).collect();
        if let Some(bits) = enumerated(&equations, &right, &svd, rank) {
            return (Some(bits.iter().map(|b| 1.0 - 2.0 * b).collect()), None);
        }
    }
    // Bits cannot explain it: the rest is a linear map of the features.
    (None, Some(Matrix::from_fn(width, outputs, |k, o| linear[(k, o)])))
}

/// The output layer and the largest residual in units of the noise.
pub(super) fn output_layer(inquiry: &Inquiry<'_>, prefix: &Prefix) -> Option<(Rows, f64)> {
    let unknowns = prefix.width() + 1;
    let (points, answers) = inquiry.stored(FIT_REACH, 2 * fitted_rows(unknowns));
    let weight = weights(&points);
    let hidden = prefix.hidden_batch(&points);
    let ones = Matrix::from_fn(points.rows(), 1, |_, _| 1.0);
    let matrix = weighted(&beside(&hidden, &ones), &weight);
    let right = weighted(&answers, &weight);
    let solution = tall_least_squares(&matrix, &right, 1e-13)?;
    let residual = difference(&product(&matrix, &solution), &right) / inquiry.eta;
    let width = prefix.width();
    let weight = Matrix::from_fn(inquiry.outputs, width, |o, j| solution[(j, o)]);
    let bias = (0..inquiry.outputs).map(|o| solution[(width, o)]).collect();
    Some((Rows { weight, bias }, residual))
}
