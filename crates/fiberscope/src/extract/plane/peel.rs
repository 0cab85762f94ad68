//! Layer after layer from the boundaries of all neurons.
//!
//! The boundaries of a layer bend at those of the layers before it only, which gives the order of the layers. Behind
//! layers that are known and oriented the pieces of a boundary tell the row of its neuron ([`super::super::open`]).
//! While the last of them is not oriented, the features before it are carried past it ([`super::super::carry`]): a row
//! is then found as `U . ReLU(z^) + P . h`, and
//!
//! ```text
//! P = sum_j U_j (t_j - beta_j w_j)
//! ```
//!
//! with `beta_j = 1` for the rows that look the wrong way, and `t_j` a change of row `j` along directions that its
//! own boundary leaves open: where it is felt, the neuron keeps its state.

use fiberscope_algebra::dense::{along, dot, peak, scaled};
use fiberscope_core::Matrix;

use super::super::ExtractStep;
use super::super::algebra::Svd;
use super::super::bits::enumerated;
use super::super::carry::Carry;
use super::super::close::{close, closed_rows};
use super::super::first::Row;
use super::super::fit::{FIT_REACH, LastLayer, last_layer};
use super::super::inquiry::{Halt, Inquiry};
use super::super::open::{Open, join_up_to};
use super::super::prefix::{Prefix, Rows};
use super::super::recover::{Recovery, limit};
use super::arcs::Boundaries;
use super::{Arcs, Plane, Traced};

/// The most boundaries of which pieces are joined.
const MOST_JOINED: usize = 60;

/// Errors of equations, relative to the largest gradient, up to which boundaries are of one neuron: they are traced exactly.
const EXACT: f64 = 1e-8;

/// Orientations that the boundaries of the next layer do not tell, and that are tried.
const MOST_UNTOLD: usize = 5;

/// Stored questions that are looked at for the state of a neuron.
const LOOKED_AT: usize = 1_000;

/// The attempts in which all boundaries are traced, with two inputs: the second one begins anew, and carries features past
/// layers whose rows may not be told.
const TRACED_ATTEMPTS: std::ops::RangeInclusive<usize> = 1..=2;

/// Queries for every neuron of the first layer, after which following boundaries one by one costs more than tracing all of
/// them.
const PATIENCE: u64 = 1_000;

impl Recovery {
    /// With two inputs, whether all boundaries are to be traced in this attempt.
    pub fn begin_to_trace(&mut self, inquiry: &mut Inquiry<'_>, attempt: usize) -> bool {
        let wanted = inquiry.inputs == 2 && TRACED_ATTEMPTS.contains(&attempt);
        inquiry.patience = u64::MAX;
        self.carries_all = attempt == *TRACED_ATTEMPTS.end();
        self.traced = if wanted { Traced::Wanted } else { Traced::No };
        if wanted {
            self.forget_all();
        }
        wanted
    }

    /// With two inputs, limits what is spent on the first attempt once the first layer is known.
    pub fn lose_patience(&self, inquiry: &mut Inquiry<'_>, attempt: usize) {
        if inquiry.inputs == 2 && attempt < *TRACED_ATTEMPTS.start() {
            inquiry.patience = inquiry.count() + PATIENCE * self.rows[0].len() as u64;
        }
    }

    /// Whether the boundaries of all neurons are at hand; traces them if they are wanted.
    pub fn trace_plane(&mut self, inquiry: &mut Inquiry<'_>) -> Result<bool, Halt> {
        if matches!(self.traced, Traced::Wanted) {
            inquiry.begin(0, ExtractStep::Lines);
            let plane = Plane::explore(inquiry)?;
            self.traced = plane.as_ref().map_or(Traced::TooMany, |plane| Traced::Yes(Arcs::of(plane)));
        }
        Ok(self.traced.is_at_hand())
    }

    /// The rows of the layer behind the prefix.
    pub fn rows_of_plane(&mut self, inquiry: &Inquiry<'_>, prefix: &Prefix) -> Option<LastLayer> {
        let index = prefix.layers.len();
        let arcs = self.traced.arcs()?;
        let Boundaries { mut sure, doubtful } = arcs.opens(prefix, prefix);
        // In the last layer there is nothing to doubt.
        let mut open: Vec<Open> = sure.iter().cloned().chain(doubtful).collect();
        joined(prefix, &mut open);
        self.free.clear();
        if index > 0
            && let Some(closed) = close(inquiry, prefix, &[], &mut open, limit(inquiry))
            && closed.residual < limit(inquiry)
        {
            self.accept(index, closed.rows, closed.chosen);
            return Rows::new(&self.rows[index]).and_then(|rows| last_layer(inquiry, prefix, &rows));
        }
        joined(prefix, &mut sure);
        self.free = sure.iter().map(Open::directions).collect();
        self.rows[index] = closed_rows(inquiry, prefix, &sure);
        Rows::new(&self.rows[index]).and_then(|rows| last_layer(inquiry, prefix, &rows))
    }

    /// The signs of the rows of a layer, told by the boundaries of the next one.
    pub fn told_by_plane(
        &mut self,
        inquiry: &Inquiry<'_>,
        prefix: &Prefix,
        index: usize,
    ) -> Option<Vec<f64>> {
        let arcs = self.traced.arcs()?;
        let rows = self.rows[index].clone();
        let (carried, carry) = Carry::rows(prefix, &rows, inquiry.radius)?;
        let behind = prefix.extended(carried);
        let known = prefix.extended(Rows::new(&rows)?);
        let mut open = arcs.opens(&known, &behind).sure;
        joined(&behind, &mut open);
        let free =
            if self.free.len() == rows.len() { self.free.clone() } else { vec![Vec::new(); rows.len()] };
        let told = told(carry, &rows, &free, &open)?;
        let untold: Vec<usize> = (0..rows.len()).filter(|&j| told[j].is_none()).collect();
        if untold.len() > MOST_UNTOLD {
            return None;
        }
        // Those are taken that explain most of the boundaries behind the layer.
        let mut best: Option<(usize, Vec<f64>, Vec<Row>)> = None;
        for choice in 0..1usize << untold.len() {
            let sign = |j: usize| {
                let chosen = untold.iter().position(|&k| k == j).map(|k| choice >> k & 1 == 1);
                if told[j].or(chosen) == Some(true) { -1.0 } else { 1.0 }
            };
            let signs: Vec<f64> = (0..rows.len()).map(sign).collect();
            let turned = |(row, sign): (&Row, &f64)| (scaled(&row.0, *sign), row.1 * sign);
            let mut oriented: Vec<Row> = rows.iter().zip(&signs).map(turned).collect();
            change(inquiry, arcs, prefix, &mut oriented, &free);
            let behind = prefix.extended(Rows::new(&oriented)?);
            let explained = arcs.opens(&behind, &behind).sure.iter().map(|open| open.pieces.len()).sum();
            if best.as_ref().is_none_or(|(most, ..)| explained > *most) {
                let rows = oriented.iter().zip(&signs).map(turned).collect();
                best = Some((explained, signs, rows));
            }
        }
        let (_, signs, rows) = best?;
        self.rows[index] = rows;
        Some(signs)
    }
}

/// Changes oriented rows along directions that their own boundaries leave open to what the boundaries behind them tell:
/// with these directions carried past the layer, `P = sum_j U_j t_j`.
fn change(
    inquiry: &Inquiry<'_>,
    arcs: &Arcs,
    prefix: &Prefix,
    rows: &mut [Row],
    free: &[Vec<Vec<f64>>],
) -> Option<()> {
    let width = prefix.width();
    let (points, _) = inquiry.stored(FIT_REACH, LOOKED_AT);
    let hidden: Vec<Vec<f64>> = points.iter_rows().map(|x| prefix.hidden(x)).collect();
    // A change is felt where the neuron is on.
    let is_felt = |(w, b): &Row, v: &[f64]| {
        let felt = |h: &&Vec<f64>| (dot(&v[..width], h) + v[width]).abs() > 1e-6 * (1.0 + peak(h));
        hidden.iter().filter(felt).map(|h| (dot(w, h) + b).signum()).sum::<f64>() > 0.0
    };
    let mut moves: Vec<(usize, Vec<f64>)> = Vec::new();
    for (j, free) in free.iter().enumerate() {
        moves.extend(free.iter().filter(|v| is_felt(&rows[j], v)).map(|v| (j, v.clone())));
    }
    while !moves.is_empty() {
        // Features are not negative.
        let carried: Vec<usize> =
            (0..width).filter(|&k| moves.iter().any(|(_, v)| v[k].abs() > 1e-9)).collect();
        let own = rows.len();
        let mut all = rows.to_vec();
        let unit = |k: &usize| (0..width).map(|i| f64::from(u8::from(i == *k))).collect();
        all.extend(carried.iter().map(|k| (unit(k), 0.0)));
        let behind = prefix.extended(Rows::new(&all)?);
        let known = prefix.extended(Rows::new(rows)?);
        let mut open = arcs.opens(&known, &behind).sure;
        joined(&behind, &mut open);
        let (mut equations, mut right) = (Vec::new(), Vec::new());
        for open in &open {
            // Across what the row leaves open.
            let mut span: Vec<Vec<f64>> =
                open.directions().iter().map(|v| v[own..own + carried.len()].to_vec()).collect();
            let inside = moves.iter().filter(|(j, _)| open.leaves_open(*j));
            span.extend(inside.map(|(_, v)| carried.iter().map(|&k| v[k]).collect()));
            for q in across(&span, carried.len())? {
                let along = |v: &Vec<f64>| carried.iter().zip(&q).map(|(&k, q)| q * v[k]).sum::<f64>();
                let weight = |j: usize| if open.leaves_open(j) { 0.0 } else { open.row.0[j] };
                equations.push(moves.iter().map(|(j, v)| weight(*j) * along(v)).collect::<Vec<f64>>());
                right.push(dot(&q, &open.row.0[own..]));
            }
        }
        equations.resize(equations.len().max(moves.len()), vec![0.0; moves.len()]);
        right.resize(equations.len(), 0.0);
        let svd = Svd::of(&Matrix::from_rows(&equations)?)?;
        if svd.s.first().is_none_or(|s| *s == 0.0) {
            return None;
        }
        let rank = svd.rank(1e-8);
        let shares = svd.solve(&right, 1e-8);
        let told = |m: usize| svd.v[rank..].iter().all(|v| v[m].abs() < 1e-6);
        let before = moves.len();
        for (m, (j, v)) in moves.iter().enumerate().filter(|(m, _)| told(*m)) {
            rows[*j].0 = along(&rows[*j].0, shares[m], &v[..width]);
            rows[*j].1 += shares[m] * v[width];
        }
        let mut kept = (0..before).map(|m| !told(m));
        moves.retain(|_| kept.next() == Some(true));
        if moves.len() == before {
            break;
        }
    }
    Some(())
}

/// Joins boundaries that are pieces of one.
fn joined(prefix: &Prefix, open: &mut Vec<Open>) {
    if open.len() <= MOST_JOINED {
        join_up_to(prefix, open, EXACT);
    }
}

/// Which rows look the wrong way, told by rows behind them; nothing for rows of which they do not tell.
fn told(carry: Carry, rows: &[Row], free: &[Vec<Vec<f64>>], open: &[Open]) -> Option<Vec<Option<bool>>> {
    let (own, width) = (carry.own, rows.first()?.0.len());
    let moves: Vec<(usize, &Vec<f64>)> =
        free.iter().enumerate().flat_map(|(j, free)| free.iter().map(move |v| (j, v))).collect();
    // For every open row, across what it leaves open: bits, and changes of the rows.
    let (mut of_bits, mut of_moves, mut right) = (Vec::new(), Vec::new(), Vec::new());
    for open in open {
        let inside: Vec<bool> = (0..own).map(|i| open.leaves_open(i)).collect();
        let mut span: Vec<Vec<f64>> = (0..own).filter(|&i| inside[i]).map(|i| rows[i].0.clone()).collect();
        span.extend(open.directions().iter().map(|v| v[own..own + width].to_vec()));
        span.extend(moves.iter().filter(|(j, _)| inside[*j]).map(|(_, v)| v[..width].to_vec()));
        let weight = |i: usize| if inside[i] { 0.0 } else { open.row.0[i] };
        for q in across(&span, width)? {
            of_bits.push((0..own).map(|i| weight(i) * dot(&q, &rows[i].0)).collect::<Vec<f64>>());
            of_moves.push(moves.iter().map(|(j, v)| weight(*j) * dot(&q, &v[..width])).collect::<Vec<f64>>());
            right.push(-dot(&q, &open.row.0[own..]));
        }
    }
    if of_bits.is_empty() {
        return None;
    }
    // Across the changes, which all open rows share.
    if !moves.is_empty() {
        let svd = Svd::of(&Matrix::from_rows(&of_moves)?)?;
        let rank = if svd.s.first().is_some_and(|s| *s > 0.0) { svd.rank(1e-9) } else { 0 };
        for u in &svd.u[..rank] {
            let share = dot(u, &right);
            right.iter_mut().zip(u).for_each(|(r, u)| *r -= share * u);
            for bit in 0..own {
                let share: f64 = of_bits.iter().zip(u).map(|(row, u)| row[bit] * u).sum();
                of_bits.iter_mut().zip(u).for_each(|(row, u)| row[bit] -= share * u);
            }
        }
    }
    let size = |bit: usize| of_bits.iter().map(|row| row[bit].powi(2)).sum::<f64>().sqrt();
    let largest = (0..own).map(size).fold(0.0, f64::max);
    let seen: Vec<usize> = (0..own).filter(|&bit| size(bit) > 1e-6 * largest).collect();
    let equations: Vec<Vec<f64>> =
        of_bits.iter().map(|row| seen.iter().map(|&bit| row[bit]).collect()).collect();
    let svd = Svd::of(&Matrix::from_rows(&equations)?)?;
    if svd.s.first().is_none_or(|s| *s == 0.0) {
        return None;
    }
    let rank = svd.rank(1e-7);
    let mut turned = vec![None; own];
    if let Some(bits) = enumerated(&equations, &right, &svd, rank) {
        seen.iter().zip(bits).for_each(|(&bit, value)| turned[bit] = Some(value > 0.5));
        return Some(turned);
    }
    // Bits that are told by themselves.
    let solution = svd.solve(&right, 1e-7);
    for (i, &bit) in seen.iter().enumerate() {
        let told: f64 = svd.v[..rank].iter().map(|v| v[i].powi(2)).sum();
        if told > 1.0 - 1e-6 {
            let value = solution[i];
            if value.abs().min((value - 1.0).abs()) > 0.01 {
                return None;
            }
            turned[bit] = Some(value > 0.5);
        }
    }
    Some(turned)
}

/// Orthonormal vectors across the span of some.
fn across(span: &[Vec<f64>], width: usize) -> Option<Vec<Vec<f64>>> {
    let mut span = span.to_vec();
    span.resize(span.len().max(width), vec![0.0; width]);
    let svd = Svd::of(&Matrix::from_rows(&span)?)?;
    let rank = svd.s.iter().filter(|s| **s > 1e-9).count();
    Some(svd.v[rank.min(width)..].to_vec())
}
