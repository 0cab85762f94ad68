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
use super::deeper::{ALWAYS_TRACED_INPUTS, Layer};
use super::first::{Line, Row};
use super::inquiry::{Halt, Inquiry};
use super::line::Kink;
use super::open::{Open, join};
use super::prefix::{Prefix, Rows};
use fiberscope_algebra::dense::dot;
use fiberscope_core::Matrix;

/// Rows of the next layer after which signs that are still not told are given up.
const MOST_ROWS: usize = 3;

/// Lines on which kinks of the next layer are looked for, and with few inputs, where boundaries tell less.
const MOST_LINES: usize = 4;
const FEW_INPUTS_LINES: usize = 8;

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
    let few = inquiry.inputs <= ALWAYS_TRACED_INPUTS;
    let most_lines = if few { FEW_INPUTS_LINES } else { MOST_LINES };
    let mut lines = 0;
    while found.len() < MOST_ROWS {
        let wanted = found.len() + 1;
        if layer.harvest(inquiry, &mut found, pool, Some(wanted))? > 0 {
            if let Some(bits) = bits(carry, rows, &found, &[]) {
                return Ok(Some(Ahead::of(carry, rows, &bits, &found)));
            }
            continue;
        }
        if few {
            join(&behind, &mut layer.open);
            if let Some(bits) = bits(carry, rows, &found, &layer.open) {
                return Ok(Some(Ahead::of(carry, rows, &bits, &found)));
            }
        }
        if lines == most_lines {
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

impl Ahead {
    fn of(carry: Carry, rows: &[Row], bits: &[bool], found: &[Row]) -> Ahead {
        let next = found.iter().map(|row| carry.settled(rows, bits, row)).collect();
        let signs = bits.iter().map(|&turned| if turned { -1.0 } else { 1.0 }).collect();
        Ahead { signs, next }
    }
}

/// Which rows look the wrong way, if that is the only way to explain the rows found behind them. A row that is open in
/// the weights from some neurons is known up to multiples of the rows of those: it counts across them.
fn bits(carry: Carry, rows: &[Row], found: &[Row], open: &[Open]) -> Option<Vec<bool>> {
    let layer = Rows::new(rows)?;
    let (mut equations, mut right) = (Vec::new(), Vec::new());
    for (w, _) in found {
        for m in 0..layer.weight.cols() {
            equations.push((0..carry.own).map(|i| w[i] * layer.weight[(i, m)]).collect::<Vec<f64>>());
            right.push(-w[carry.own + m]);
        }
    }
    for open in open {
        let (w, _) = &open.row;
        let inside: Vec<bool> = (0..carry.own).map(|i| open.leaves_open(i)).collect();
        let width = layer.weight.cols();
        let mut span: Vec<Vec<f64>> =
            (0..carry.own).filter(|&i| inside[i]).map(|i| layer.weight.row(i).to_vec()).collect();
        // Rows of zeros, so that there is a right singular vector for every unknown.
        span.resize(span.len().max(width), vec![0.0; width]);
        let svd = Svd::of(&Matrix::from_rows(&span)?)?;
        let rank = svd.s.iter().filter(|s| **s > 1e-9).count();
        for q in &svd.v[rank..] {
            let own = |i: usize| if inside[i] { 0.0 } else { w[i] * dot(q, layer.weight.row(i)) };
            equations.push((0..carry.own).map(own).collect());
            right.push(-dot(q, &w[carry.own..]));
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
