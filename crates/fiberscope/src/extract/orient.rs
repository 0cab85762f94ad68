//! Rows turned the way their neurons look.

use fiberscope_core::Matrix;

use super::algebra::Svd;
use super::carry::active_bias;
use super::first::Row;
use super::fit::{FIT_REACH, LastLayer, last_layer};
use super::inquiry::Inquiry;
use super::prefix::{Prefix, Rows};

/// What is said of neurons that are always active.
pub(super) const STAND_IN: &str =
    "only the sum of their linear maps can be known, and neurons with a large bias stand for it";

/// Rows times their signs.
pub(super) fn turn(rows: Rows, signs: &[f64]) -> (Rows, usize) {
    let weight = Matrix::from_fn(rows.len(), rows.weight.cols(), |i, j| rows.weight[(i, j)] * signs[i]);
    let bias = rows.bias.iter().zip(signs).map(|(b, s)| b * s).collect();
    (Rows { weight, bias }, 0)
}

/// Orients the rows of the last hidden layer; what no orientation explains becomes neurons that are always
/// active.
pub(super) fn orient_last(
    inquiry: &Inquiry<'_>,
    prefix: &Prefix,
    rows: Rows,
    fit: Option<LastLayer>,
    remarks: &mut Vec<String>,
) -> Option<(Rows, usize)> {
    let fit = match fit {
        Some(fit) => fit,
        None => last_layer(inquiry, prefix, &rows)?,
    };
    if let Some(signs) = fit.signs {
        return Some(turn(rows, &signs));
    }
    let svd = Svd::of(&fit.remainder?.transpose())?;
    let rank = svd.rank(1e-9);
    let mut all: Vec<Row> = rows.iter().map(|(w, b)| (w.to_vec(), b)).collect();
    let reach = bounds(prefix, 1.1 * FIT_REACH * inquiry.radius);
    for v in svd.v.iter().take(rank) {
        all.push((v.clone(), active_bias(v, &reach)));
    }
    remarks.push(format!(
        "{rank} neuron{} of the last hidden layer never switch{} on the domain, or the orientation of its neurons is not determined: {STAND_IN}",
        if rank == 1 { "" } else { "s" },
        if rank == 1 { "es" } else { "" },
    ));
    Some((Rows::new(&all)?, rank))
}

/// Bounds of the features on the box of this radius.
pub(super) fn bounds(prefix: &Prefix, radius: f64) -> Vec<(f64, f64)> {
    let mut ranges =
        vec![(-radius, radius); prefix.layers.first().map_or(prefix.width(), |rows| rows.weight.cols())];
    for layer in &prefix.layers {
        ranges = layer
            .iter()
            .map(|(w, b)| {
                let ends = |pick: fn(f64, f64) -> f64| -> f64 {
                    w.iter().zip(&ranges).map(|(w, (lo, hi))| pick(w * lo, w * hi)).sum::<f64>() + b
                };
                (ends(f64::min).max(0.0), ends(f64::max).max(0.0))
            })
            .collect();
    }
    ranges
}
