//! Rows some of whose weights the boundary of their neuron does not tell, closed by the fit of the last hidden layer.
//!
//! A weight from feature `k` is open if `k` is off along the whole boundary. Then the neuron keeps one state wherever
//! `k` is on, namely that which it has where `k` begins to be on: the sign of the known part of `z` there. A large
//! weight of this sign keeps it so. If the neuron is off there, this is all there is to know. If it is on, the answers
//! differ from the truth by a multiple of the feature, everywhere: the linear part `E h` of
//! `f = sum_j a_j ReLU(z_j) + E h + c` takes it, and so the fit is exact as soon as all boundaries are known, whatever
//! their rows leave open. More generally, rows are open along *free* directions `v`, with `v . (h, 1) = 0` on the
//! boundary. The bits that tell which way the rows look are then read from `E` across all free directions, and what is
//! left of `E` is given back to the open weights, along with the state of the neuron.

use fiberscope_algebra::dense::{along, beside, dot, norm, peak, product, scaled};
use fiberscope_core::Matrix;

use super::algebra::{Svd, least_squares, tall_least_squares};
use super::bits::{ENUMERATED_BITS, enumerated};
use super::first::{Row, explains};
use super::fit::{FIT_REACH, Fit, features, fitted_rows, last_layer, weighted, weights};
use super::inquiry::Inquiry;
use super::prefix::{Prefix, Rows};
use super::probe::Boundary;

/// A weight that keeps a neuron in its state, relative to the known ones.
const LARGE: f64 = 64.0;

/// Stored questions that are looked at for the state of a neuron.
const LOOKED_AT: usize = 2_000;

/// Of them, those that are used.
const MOST_PLACES: usize = 24;

/// The error of an equation, relative to the largest gradient, beyond which pieces are not of one neuron.
const INCONSISTENT: f64 = 1e-5;

/// Singular values up to this share of the largest count as zero.
const RANK: f64 = 1e-9;

/// The most steps of Gauss and Newton.
const STEPS: usize = 12;

/// A piece of a boundary: a point of it inside a cell of the layers before, and the gradient of the neuron there.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The point.
    pub x: Vec<f64>,
    /// The gradient, up to a factor that all pieces share; nothing if it was not followed.
    pub g: Vec<f64>,
}

/// A row some of whose weights are open.
#[derive(Clone, Debug)]
pub(super) struct Open {
    /// The boundary, with its open weights marked.
    pub boundary: Boundary,
    /// Features that are off along the boundary.
    pub off: Vec<usize>,
    /// A row that has the boundary: the shortest one.
    pub row: Row,
    /// Orthonormal changes of the row (weights, then the bias) that leave the boundary where it was seen as it is, beside
    /// open weights.
    pub free: Vec<Vec<f64>>,
    /// What was seen of the boundary.
    pub pieces: Vec<Piece>,
}

impl Open {
    /// A row that is open in those weights only that are not known.
    pub fn of(boundary: Boundary, x: &[f64]) -> Open {
        let row = (boundary.w.clone(), boundary.b);
        let off = boundary.unknown(None).collect();
        Open { boundary, off, row, free: Vec::new(), pieces: vec![Piece { x: x.to_vec(), g: Vec::new() }] }
    }

    /// Whether more pieces beyond the boundary of feature `k` may tell more.
    pub fn leaves_open(&self, k: usize) -> bool {
        self.off.contains(&k) || self.free.iter().any(|v| v[k].abs() > 1e-4)
    }

    /// Both as one row, if they are pieces of the boundary of one neuron: more equations agree than it takes to tell
    /// their factors.
    fn joined(&self, prefix: &Prefix, other: &Open) -> Option<Open> {
        let width = prefix.width();
        let (first, second) = (equations(prefix, &self.pieces)?, equations(prefix, &other.pieces)?);
        // Unknown are the row and the factor of the other one's gradients.
        let extended = |(rows, right): &(Vec<Vec<f64>>, Vec<f64>), factor: bool| -> Vec<Vec<f64>> {
            let last = |r: &f64| if factor { -r } else { 0.0 };
            rows.iter().zip(right).map(|(row, r)| row.iter().copied().chain([last(r)]).collect()).collect()
        };
        let (a, b) = (extended(&first, false), extended(&second, true));
        let rank = |rows: &[Vec<f64>]| Some(Svd::of(&Matrix::from_rows(rows)?)?.rank(RANK));
        let mut all = a.clone();
        all.extend(b.iter().cloned());
        let mut right = first.1.clone();
        right.resize(all.len(), 0.0);
        let svd = Svd::of(&Matrix::from_rows(&all)?)?;
        if svd.rank(RANK) >= rank(&a)? + rank(&b)? {
            return None;
        }
        let solution = svd.solve(&right, RANK);
        let factor = solution[width + 1];
        let error = all.iter().zip(&right).map(|(e, r)| (dot(e, &solution) - r).abs()).fold(0.0, f64::max);
        let size = peak(&right);
        if error > INCONSISTENT * size || !(1e-6..1e6).contains(&factor.abs()) {
            return None;
        }
        let mut pieces = self.pieces.clone();
        pieces.extend(
            other.pieces.iter().map(|piece| Piece { x: piece.x.clone(), g: scaled(&piece.g, factor) }),
        );
        solve(prefix, &pieces)
    }

    /// All free directions: open weights, and the others.
    fn directions(&self) -> Vec<Vec<f64>> {
        let width = self.row.0.len();
        let unit = |k: usize| (0..=width).map(|i| f64::from(u8::from(i == k))).collect();
        self.off.iter().copied().map(unit).chain(self.free.iter().cloned()).collect()
    }

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

/// Joins the boundaries that are pieces of one.
pub(super) fn join(prefix: &Prefix, open: &mut Vec<Open>) {
    let mut i = 0;
    while i < open.len() {
        let found = (i + 1..open.len()).find_map(|k| Some((k, open[i].joined(prefix, &open[k])?)));
        match found {
            Some((k, joined)) => {
                open.remove(k);
                open[i] = joined;
                i = 0;
            }
            None => i += 1,
        }
    }
}

/// A point near `x` where feature `k` begins to be on.
fn begin(prefix: &Prefix, x: &[f64], k: usize) -> Option<Vec<f64>> {
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
    /// How many weights were chosen.
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
        chosen = open.len();
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

/// What the pieces say of the row (weights, then the bias).
#[expect(clippy::type_complexity, reason = "equations and their right sides")]
fn equations(prefix: &Prefix, pieces: &[Piece]) -> Option<(Vec<Vec<f64>>, Vec<f64>)> {
    if pieces.iter().any(|piece| piece.g.is_empty()) {
        return None;
    }
    let width = prefix.width();
    let (mut equations, mut right) = (Vec::new(), Vec::new());
    for piece in pieces {
        let local = prefix.local(&piece.x);
        for (k, g) in piece.g.iter().enumerate() {
            equations
                .push((0..=width).map(|i| if i < width { local.gradient[(i, k)] } else { 0.0 }).collect());
            right.push(*g);
        }
        let share = 1.0 / (1.0 + peak(&local.hidden));
        equations.push(local.hidden.iter().chain(&[1.0]).map(|h| share * h).collect::<Vec<f64>>());
        right.push(0.0);
    }
    Some((equations, right))
}

/// The weights that the gradients of the pieces tell, and the bias that their points tell. `None` if the pieces
/// contradict each other.
pub(super) fn solve(prefix: &Prefix, pieces: &[Piece]) -> Option<Open> {
    let width = prefix.width();
    let (mut equations, mut right) = equations(prefix, pieces)?;
    // Features that are on at no piece.
    let off: Vec<bool> = (0..=width).map(|i| equations.iter().all(|row| row[i] == 0.0)).collect();
    for i in (0..=width).filter(|&i| off[i]) {
        equations.push((0..=width).map(|k| f64::from(u8::from(k == i))).collect());
        right.push(0.0);
    }
    // Rows of zeros, so that there is a right singular vector for every unknown.
    while equations.len() <= width {
        equations.push(vec![0.0; width + 1]);
        right.push(0.0);
    }
    let svd = Svd::of(&Matrix::from_rows(&equations)?)?;
    let rank = svd.rank(RANK);
    let mut row = svd.solve(&right, RANK);
    let error = equations.iter().zip(&right).map(|(e, r)| (dot(e, &row) - r).abs()).fold(0.0, f64::max);
    if error > INCONSISTENT * peak(&right) {
        return None;
    }
    let free: Vec<Vec<f64>> = svd.v[rank..].to_vec();
    // An unknown is determined if its axis lies in the row space.
    let determined = |i: usize| !off[i] && free.iter().map(|v| v[i].powi(2)).sum::<f64>() < 1e-7;
    let known: Vec<bool> = (0..width).map(|i| determined(i) && determined(width)).collect();
    let b = row.pop().unwrap_or(0.0);
    let mut w = row.clone();
    w.iter_mut().zip(&known).filter(|(_, known)| !**known).for_each(|(w, _)| *w = 0.0);
    let off = (0..width).filter(|&i| off[i]).collect();
    Some(Open { boundary: Boundary { w, b, known }, off, row: (row, b), free, pieces: pieces.to_vec() })
}
