//! Which way the neurons of a layer look, told by the layer behind it.
//!
//! While signs are not known, the features `h` before the layer are carried past it (see
//! [`super::carry`]), and a row of the next layer is found as `U . ReLU(z^) + P . h + e`, whatever the signs
//! of `z^ = W h + c`. If the layer has no neurons that are always active, `P = -sum_j beta_j U_j w_j` with
//! `beta_j = 1` for the rows that look the wrong way [rolnick2020reverse, Theorem 4]: as many equations for
//! the bits as there are features, from every row of the next layer. One row is mostly enough, however much
//! wider than its input the layer is.

use super::ExtractStep;
use super::algebra::Svd;
use super::bits::enumerated;
use super::carry::Carry;
use super::deeper::Layer;
use super::first::{Line, Row};
use super::inquiry::{Halt, Inquiry};
use super::line::Kink;
use super::prefix::{Prefix, Rows};
use fiberscope_core::Matrix;

/// Rows of the next layer after which signs that are still not told are given up.
const MOST_ROWS: usize = 3;

/// Lines on which kinks of the next layer are looked for.
const MOST_LINES: usize = 4;

/// The signs of a layer, and the rows of the next one that told them.
pub(super) struct Ahead {
    /// 1 or -1 for every row.
    pub signs: Vec<f64>,
    /// Rows of the layer behind it, of length one, once its rows are turned.
    pub next: Vec<Row>,
}

/// The signs of the rows behind `prefix` from the boundaries of the next layer; `None` if they do not tell.
pub(super) fn ahead(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    rows: &[Row],
    pool: &mut Vec<Kink>,
) -> Result<Option<Ahead>, Halt> {
    let index = prefix.layers.len();
    let Some((carried, carry)) = Carry::rows(prefix, rows, inquiry.radius) else { return Ok(None) };
    let behind = prefix.extended(carried);
    let mut layer = Layer { index: index + 1, prefix: &behind, carry: Some(carry), open: Vec::new() };
    let mut found = Vec::new();
    pool.iter_mut().for_each(|kink| kink.tries = 0);
    let mut lines = 0;
    while found.len() < MOST_ROWS {
        let wanted = found.len() + 1;
        if layer.harvest(inquiry, &mut found, pool, Some(wanted))? > 0 {
            if let Some(bits) = bits(carry, rows, &found) {
                let next = found.iter().map(|row| carry.settled(rows, &bits, row)).collect();
                let signs = bits.iter().map(|&turned| if turned { -1.0 } else { 1.0 }).collect();
                return Ok(Some(Ahead { signs, next }));
            }
            continue;
        }
        if lines == MOST_LINES {
            break;
        }
        lines += 1;
        inquiry.begin(index + 1, ExtractStep::Lines);
        let line = Line::random(inquiry, [1.0, 0.3, 1.0, 3.0][lines % 4]);
        let (kinks, _) = line.sweep(inquiry, prefix, rows, 13)?;
        pool.extend(kinks);
    }
    Ok(None)
}

/// Which rows look the wrong way, if that is the only way to explain the rows found behind them.
fn bits(carry: Carry, rows: &[Row], found: &[Row]) -> Option<Vec<bool>> {
    let layer = Rows::new(rows)?;
    let (mut equations, mut right) = (Vec::new(), Vec::new());
    for (w, _) in found {
        for m in 0..layer.weight.cols() {
            equations.push((0..carry.own).map(|i| w[i] * layer.weight[(i, m)]).collect::<Vec<f64>>());
            right.push(-w[carry.own + m]);
        }
    }
    let svd = Svd::of(&Matrix::from_rows(&equations)?)?;
    if svd.s.first().is_none_or(|s| *s == 0.0) {
        return None;
    }
    let rank = svd.rank(1e-9);
    let bits = enumerated(&equations, &right, &svd, rank)?;
    Some(bits.iter().map(|bit| *bit > 0.5).collect())
}
