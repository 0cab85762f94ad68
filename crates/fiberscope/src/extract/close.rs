//! Open rows closed by the fit of the last hidden layer.
//!
//! If feature `k` is off along the whole boundary of a neuron, the neuron keeps one state wherever
//! `k` is on, namely that which it has where `k` begins to be on: the sign of the known part of `z` there. A large
//! weight of this sign keeps it so. If the neuron is off there, this is all there is to know. If it is on, the answers
//! differ from the truth by a multiple of the feature, everywhere: the linear part `E h` of
//! `f = sum_j a_j ReLU(z_j) + E h + c` takes it, and so the fit is exact as soon as all boundaries are known, whatever
//! their rows leave open. The bits that tell which way the rows look are then read from `E` across all free
//! directions, and what is left of `E` is given back to the open weights.

use fiberscope_algebra::dense::{along, beside, dot, norm, peak, product, scaled};
use fiberscope_core::Matrix;

use super::algebra::{Svd, least_squares, tall_least_squares};
use super::bits::{ENUMERATED_BITS, enumerated};
use super::first::{Row, explains};
use super::fit::{FIT_REACH, Fit, features, fitted_rows, last_layer, weighted, weights};
use super::inquiry::Inquiry;
use super::open::Open;
use super::prefix::{Prefix, Rows};

/// A weight that keeps a neuron in its state, relative to the known ones.
const LARGE: f64 = 64.0;

/// Stored questions that are looked at for the state of a neuron.
const LOOKED_AT: usize = 2_000;

/// Of them, those that are used.
const MOST_PLACES: usize = 24;

/// The most steps of Gauss and Newton.
const STEPS: usize = 12;

/// With more free directions than this no step is tried: then boundaries of neurons further on were taken for open rows.
const MOST_MOVES: usize = 40;

impl Open {
    /// The row with weights that keep the neuron in its state.
    fn closed(&self, prefix: &Prefix, points: &Matrix) -> Row {
        let (mut w, b) = self.row.clone();
        let large = LARGE * peak(&w);
        let mut left = self.off.clone();
        while !left.is_empty() {
            let before = left.len();
            left.retain(|&k| match self.state(prefix, points, &(w.clone(), b), k) {
                Some(state) => {
                    w[k] = large.copysign(state);
                    false
                }
                None => true,
            });
            if left.len() == before {
                break;
            }
        }
        (w, b)
    }

    /// The sign of the neuron where feature `k` begins to be on and the other open ones are off, or have their weight.
    fn state(&self, prefix: &Prefix, points: &Matrix, row: &Row, k: usize) -> Option<f64> {
        let (mut votes, mut places) = (0.0, 0);
        for x in points.iter_rows() {
            if prefix.hidden(x)[k] <= 0.0 {
                continue;
            }
            let Some(wall) = begin(prefix, x, k) else { continue };
            let hidden = prefix.hidden(&wall);
            if self.off.iter().any(|&i| i != k && row.0[i] == 0.0 && hidden[i] > 0.0) {
                continue;
            }
            votes += (dot(&row.0, &hidden) + row.1).signum();
            places += 1;
            if places == MOST_PLACES {
                break;
            }
        }
        (votes != 0.0).then_some(votes)
    }
}

/// A point near `x` where feature `k` begins to be on.
fn begin(prefix: &Prefix, x: &[f64], k: usize) -> Option<Vec<f64>> {
    if prefix.layers.is_empty() {
        // Inputs are no features.
        return None;
    }
    let mut x = x.to_vec();
    for _ in 0..8 {
        let local = prefix.local(&x);
        let (z, gradient) = (local.pre[k], local.pre_gradient.row(k));
        if z.abs() <= 1e-9 * (1.0 + peak(&local.hidden)) {
            return Some(x);
        }
        let square = dot(gradient, gradient);
        if square <= 0.0 {
            return None;
        }
        x = along(&x, -z / square, gradient);
    }
    None
}

/// Rows of the last hidden layer: those that are known, and the open ones closed.
pub(super) struct Closed {
    /// All rows.
    pub rows: Vec<Row>,
    /// The residual of the fit, in units of the noise.
    pub residual: f64,
    /// Directions along which rows were chosen that nothing tells.
    pub chosen: usize,
}

/// Closes the open rows; those whose boundary a known row explains are left out. `None` if there are none.
pub(super) fn close(
    inquiry: &Inquiry<'_>,
    prefix: &Prefix,
    known: &[Row],
    open: &mut Vec<Open>,
    limit: f64,
) -> Option<Closed> {
    open.retain(|open| !open.pieces.iter().all(|piece| explains(inquiry, prefix, known, &piece.x)));
    if open.is_empty() {
        return None;
    }
    let (points, _) = inquiry.stored(FIT_REACH, LOOKED_AT);
    let mut rows = known.to_vec();
    rows.extend(open.iter().map(|open| open.closed(prefix, &points)));
    let mut residual = Fit::of(inquiry, prefix, &Rows::new(&rows)?)?.residual;
    if residual > limit && inquiry.outputs == 1 {
        let free: Vec<Vec<Vec<f64>>> = open.iter().map(Open::directions).collect();
        if let Some(better) = improved(inquiry, prefix, known.len(), &rows, &free, limit) {
            rows = better;
            residual = Fit::of(inquiry, prefix, &Rows::new(&rows)?)?.residual;
        }
    }
    let mut chosen = open.iter().map(|open| open.directions().len()).sum();
    if residual < limit
        && let Some(better) = settled(inquiry, prefix, known.len(), &rows, open, &points, limit)
    {
        rows = better;
        chosen = 0;
    }
    for (w, b) in &mut rows {
        let length = norm(w);
        *w = scaled(w, 1.0 / length);
        *b /= length;
    }
    Some(Closed { rows, residual, chosen })
}

/// The rows with what is left of the linear part given to open weights, if then the signs of the rows explain it.
fn settled(
    inquiry: &Inquiry<'_>,
    prefix: &Prefix,
    known: usize,
    rows: &[Row],
    open: &[Open],
    points: &Matrix,
    limit: f64,
) -> Option<Vec<Row>> {
    let all = Rows::new(rows)?;
    let fit = Fit::of(inquiry, prefix, &all)?;
    let (width, count, outputs) = (prefix.width(), rows.len(), inquiry.outputs);
    let free: Vec<Vec<Vec<f64>>> = open.iter().map(Open::directions).collect();
    // Across all free directions.
    let mut directions: Vec<Vec<f64>> = free.iter().flatten().map(|v| v[..width].to_vec()).collect();
    while directions.len() < width {
        directions.push(vec![0.0; width]);
    }
    let svd = Svd::of(&Matrix::from_rows(&directions)?)?;
    let across = &svd.v[svd.rank(1e-9).min(width)..width];
    let mut equations = Vec::new();
    let mut right = Vec::new();
    for q in across {
        for o in 0..outputs {
            equations.push(
                (0..count).map(|j| fit.slopes[(j, o)] * dot(q, all.weight.row(j))).collect::<Vec<f64>>(),
            );
            right.push(-(0..width).map(|k| q[k] * fit.linear[(k, o)]).sum::<f64>());
        }
    }
    let svd = Svd::of(&Matrix::from_rows(&equations)?)?;
    let rank = svd.rank(1e-9);
    let bits: Vec<bool> = if rank == count {
        let bits = svd.solve(&right, 1e-9);
        if bits.iter().any(|b| b.abs().min((b - 1.0).abs()) > 0.05) {
            return None;
        }
        bits.iter().map(|b| *b > 0.5).collect()
    } else if count - rank <= ENUMERATED_BITS {
        enumerated(&equations, &right, &svd, rank)?.iter().map(|b| *b > 0.5).collect()
    } else {
        return None;
    };
    // What is left, and where it may go: open weights of neurons that are on where the direction is felt.
    let (mut columns, mut places) = (Vec::new(), Vec::new());
    for (i, directions) in free.iter().enumerate() {
        let j = known + i;
        let sign = if bits[j] { -1.0 } else { 1.0 };
        let (w, b) = &rows[j];
        for v in directions {
            let mut votes = 0.0;
            for x in points.iter_rows() {
                let hidden = prefix.hidden(x);
                let felt = dot(&v[..width], &hidden) + v[width];
                if felt.abs() > 1e-6 * (1.0 + peak(&hidden)) {
                    votes += (sign * (dot(w, &hidden) + b)).signum();
                }
            }
            if votes > 0.0 {
                columns.push(
                    (0..width * outputs)
                        .map(|m| fit.slopes[(j, m % outputs)] * v[m / outputs])
                        .collect::<Vec<f64>>(),
                );
                places.push((j, v));
            }
        }
    }
    let rest: Vec<f64> = (0..width * outputs)
        .map(|m| {
            let (k, o) = (m / outputs, m % outputs);
            let turned = (0..count).filter(|&j| bits[j]);
            fit.linear[(k, o)] + turned.map(|j| fit.slopes[(j, o)] * all.weight[(j, k)]).sum::<f64>()
        })
        .collect();
    let mut better = rows.to_vec();
    if !columns.is_empty() {
        let system: Vec<Vec<f64>> =
            (0..width * outputs).map(|m| columns.iter().map(|column| column[m]).collect()).collect();
        let shares = least_squares(&system, &rest, 1e-10)?;
        for ((j, v), share) in places.into_iter().zip(shares) {
            let sign = if bits[j] { -1.0 } else { 1.0 };
            better[j].0 = along(&better[j].0, sign * share, &v[..width]);
            better[j].1 += sign * share * v[width];
        }
    }
    let fit = last_layer(inquiry, prefix, &Rows::new(&better)?)?;
    (fit.residual < limit && fit.signs.is_some()).then_some(better)
}

/// The rows moved along the free directions to where they fit the answers best, by Gauss and Newton: with the states of
/// the neurons at hand, `f` is linear in `a_j`, `E`, `c` and the moves.
fn improved(
    inquiry: &Inquiry<'_>,
    prefix: &Prefix,
    known: usize,
    rows: &[Row],
    free: &[Vec<Vec<f64>>],
    limit: f64,
) -> Option<Vec<Row>> {
    let (width, count) = (prefix.width(), rows.len());
    let moves: Vec<(usize, &Vec<f64>)> =
        free.iter().enumerate().flat_map(|(i, vs)| vs.iter().map(move |v| (known + i, v))).collect();
    if moves.len() > MOST_MOVES {
        return None;
    }
    let unknowns = count + width + 1 + moves.len();
    let (points, answers) = inquiry.stored(FIT_REACH, fitted_rows(unknowns));
    if points.rows() < unknowns + 8 {
        return None;
    }
    let weight = weights(&points);
    let right = weighted(&answers, &weight);
    let hidden = prefix.hidden_batch(&points);
    let felt: Vec<Vec<f64>> = hidden
        .iter_rows()
        .map(|h| moves.iter().map(|(_, v)| dot(&v[..width], h) + v[width]).collect())
        .collect();
    let solve = |rows: &[Row]| -> Option<(f64, Matrix)> {
        let table = features(prefix, &Rows::new(rows)?, &points);
        let more = Matrix::from_fn(points.rows(), moves.len(), |i, m| {
            if table[(i, moves[m].0)] > 0.0 { felt[i][m] } else { 0.0 }
        });
        let plain = weighted(&table, &weight);
        let solution = tall_least_squares(&plain, &right, 1e-12)?;
        let fitted = product(&plain, &solution);
        let rest: f64 = fitted.entries().iter().zip(right.entries()).map(|(a, b)| (a - b).powi(2)).sum();
        let all = beside(&plain, &weighted(&more, &weight));
        Some((rest, tall_least_squares(&all, &right, 1e-12)?))
    };
    let small = (limit * inquiry.eta).powi(2);
    let mut rows = rows.to_vec();
    let (mut rest, mut solution) = solve(&rows)?;
    for _ in 0..STEPS {
        if rest < small || inquiry.options.deadline.is_past() {
            break;
        }
        let mut better = None;
        for share in [1.0, 0.3, 0.1] {
            let mut moved = rows.clone();
            for (m, (j, v)) in moves.iter().enumerate() {
                let slope = solution[(*j, 0)];
                let t = share * solution[(count + width + 1 + m, 0)] / slope;
                if t.is_finite() {
                    moved[*j].0 = along(&moved[*j].0, t, &v[..width]);
                    moved[*j].1 += t * v[width];
                }
            }
            let Some((now, next)) = solve(&moved) else { continue };
            if now < rest {
                better = Some((now, next, moved));
                break;
            }
        }
        let Some((now, next, moved)) = better else { break };
        (rest, solution, rows) = (now, next, moved);
    }
    Some(rows)
}
