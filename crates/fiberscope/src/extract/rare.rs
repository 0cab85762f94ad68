//! Neurons that switch rarely: stored answers that the rows found so far do not explain.
//!
//! A fit of `f` by `(ReLU(z), h, 1)` that resists outliers (least absolute deviations by reweighting) is
//! exact on most stored answers if one neuron is missing that is nearly always in one state. The other
//! answers are where it is in its other state: between such a point and an explained one nearby lies its
//! kink.

use fiberscope_algebra::dense::{minus, norm, peak, product};
use fiberscope_core::Matrix;

use super::algebra::tall_least_squares;
use super::fit::{FIT_REACH, features, weights};
use super::inquiry::{Halt, Inquiry};
use super::line::{Kink, Sweep};
use super::prefix::{Prefix, Rows};

/// Stored answers that are looked at.
const LOOKED_AT: usize = 2_000;

/// Kinks on segments from unexplained to explained points.
pub(super) fn counterexamples(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    rows: &Rows,
) -> Result<Vec<Kink>, Halt> {
    let unknowns = rows.len() + prefix.width() + 1;
    let (points, answers) = inquiry.stored(FIT_REACH, LOOKED_AT.max(4 * unknowns));
    let Some(residuals) = robust_residuals(inquiry, prefix, rows, &points, &answers) else {
        return Ok(Vec::new());
    };
    let bad: Vec<usize> = (0..points.rows()).filter(|&i| residuals[i] > 1e6).collect();
    let good: Vec<usize> = (0..points.rows()).filter(|&i| residuals[i] < 1e4).collect();
    if good.len() < 2 * unknowns || good.len() < bad.len() {
        return Ok(Vec::new());
    }
    let pick = |kept: &[usize]| kept.iter().map(|&i| points.row(i).to_vec()).collect::<Vec<_>>();
    kinks_between(inquiry, prefix, &pick(&bad), &pick(&good), 4)
}

/// Kinks that `known` layers do not have on segments from some of the bad points, at most `most`, to good
/// ones nearby.
pub(super) fn kinks_between(
    inquiry: &mut Inquiry<'_>,
    known: &Prefix,
    bad: &[Vec<f64>],
    good: &[Vec<f64>],
    most: usize,
) -> Result<Vec<Kink>, Halt> {
    let mut kinks = Vec::new();
    if good.is_empty() {
        return Ok(kinks);
    }
    for _ in 0..most.min(bad.len()) {
        let from = &bad[inquiry.below(bad.len())];
        let mut near: Vec<(f64, usize)> =
            good.iter().enumerate().map(|(i, x)| (norm(&minus(x, from)), i)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (length, to) = near[inquiry.below(4.min(near.len()))];
        if length < 1e-9 * inquiry.radius {
            continue;
        }
        let u: Vec<f64> = minus(&good[to], from).iter().map(|v| v / length).collect();
        let flips = known.flips(from, &u, 0.0, length);
        let sweep = Sweep { x: from, u: &u, from: 0.0, to: length, known: flips, grid: Vec::new() };
        kinks.extend(sweep.kinks(inquiry)?);
    }
    Ok(kinks)
}

fn robust_residuals(
    inquiry: &Inquiry<'_>,
    prefix: &Prefix,
    rows: &Rows,
    points: &Matrix,
    answers: &Matrix,
) -> Option<Vec<f64>> {
    let even = weights(points);
    let table = features(prefix, rows, points);
    let scaled = |matrix: &Matrix, factors: &[f64]| {
        Matrix::from_fn(matrix.rows(), matrix.cols(), |i, j| matrix[(i, j)] * factors[i])
    };
    let (matrix, right) = (scaled(&table, &even), scaled(answers, &even));
    let mut trust = vec![1.0; points.rows()];
    let mut residuals = Vec::new();
    for _ in 0..25 {
        let solution = tall_least_squares(&scaled(&matrix, &trust), &scaled(&right, &trust), 1e-12)?;
        let fitted = product(&matrix, &solution);
        residuals = (0..points.rows()).map(|i| peak(&minus(fitted.row(i), right.row(i)))).collect();
        trust = residuals.iter().map(|r: &f64| 1.0 / r.max(1e3 * inquiry.eta).sqrt()).collect();
        let most = trust.iter().copied().fold(0.0, f64::max);
        trust.iter_mut().for_each(|t| *t /= most);
    }
    Some(residuals.iter().map(|r| r / inquiry.eta).collect())
}
