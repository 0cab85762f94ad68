//! Which boundaries are hyperplanes, and rows taken for those of the first layer that belong further on.
//!
//! Boundaries of the first layer are straight across all others; deeper ones bend. With many inputs the places around
//! the centre of the domain lie in few cells of the first layer, and there the boundary of a neuron further on is a
//! hyperplane, too: its normal is a combination of the rows before it. Where a row depends on the others though there
//! are no more of them than inputs, or after an attempt that failed, every row is looked for beyond the hyperplanes of
//! the others: a neuron of the first layer is met there.

use fiberscope_algebra::dense::{along, direction, dot, minus, norm, scaled};
use fiberscope_core::Matrix;

use super::algebra::Svd;
use super::inquiry::{Halt, Inquiry};
use super::line::Kink;
use super::prefix::Prefix;
use super::probe::{Boundary, Sight, meeting};

/// From how many inputs on a gradient costs more than the test for bends.
pub(super) const MANY_INPUTS: usize = 24;

type Row = (Vec<f64>, f64);

/// Rows that can be told apart so.
pub(super) const FEWEST: usize = 3;

/// Places at which a row is looked for, and how many may be looked at in vain.
const PLACES: usize = 24;
const WANTED: usize = 6;
const MISSES: usize = 2;

/// How many radii from a kink its boundary is looked at beyond hyperplanes.
const FARTHEST: f64 = 20.0;

/// Singular values up to this share of the largest say that rows are dependent.
pub(super) const DEPENDENT: f64 = 1e-7;

/// Whether a row that was just found depends on those before it, and is not met beyond their hyperplanes.
pub(super) fn is_stray(inquiry: &mut Inquiry<'_>, rows: &[Row], row: &Row) -> Result<bool, Halt> {
    if rows.len() + 1 < FEWEST || rows.len() >= inquiry.inputs || inquiry.inputs <= MANY_INPUTS {
        return Ok(false);
    }
    let mut all = rows.to_vec();
    all.push(row.clone());
    let Some(svd) = svd(&all) else { return Ok(false) };
    if svd.rank(DEPENDENT) == all.len() {
        return Ok(false);
    }
    Ok(!is_met_beyond(inquiry, &all, &svd, rows.len())?)
}

/// The singular values of the weights.
pub(super) fn svd(rows: &[Row]) -> Option<Svd> {
    let weights: Vec<&[f64]> = rows.iter().map(|(w, _)| w.as_slice()).collect();
    Svd::of(&Matrix::from_rows(&weights)?)
}

/// Whether the boundary of a row is met on either side of the hyperplanes of the others.
pub(super) fn is_met_beyond(
    inquiry: &mut Inquiry<'_>,
    rows: &[Row],
    svd: &Svd,
    own: usize,
) -> Result<bool, Halt> {
    let (w, b) = &rows[own];
    let boundary = Boundary::whole(w.clone(), *b);
    let prefix = Prefix::empty(inquiry.inputs);
    let square = dot(w, w);
    let onto = |x: &[f64]| along(x, -(dot(w, x) + b) / square, w);
    let (mut looked, mut missed) = (0, 0);
    for _ in 0..PLACES {
        let start = onto(&inquiry.point(1.0));
        // About half of the others are crossed.
        let goal: Vec<f64> = rows
            .iter()
            .enumerate()
            .map(|(i, (w, b))| {
                let crossed = i != own && inquiry.below(2) == 0;
                if crossed { -inquiry.uniform(1.1, 2.0) * (dot(w, &start) + b) } else { 0.0 }
            })
            .collect();
        let x = onto(&along(&start, 1.0, &svd.solve(&goal, DEPENDENT)));
        if x.iter().any(|v| !v.is_finite()) || norm(&minus(&x, &start)) == 0.0 {
            continue;
        }
        match boundary.look(inquiry, &prefix, &x)? {
            None | Some(Sight::Dark) => continue,
            Some(Sight::Hit) => {}
            Some(Sight::Miss) => missed += 1,
        }
        looked += 1;
        if missed == MISSES || looked == WANTED {
            break;
        }
    }
    Ok(missed < MISSES)
}

/// Whether the boundary of a kink is a straight line in a random plane, across the centre of the domain. With many
/// inputs the plane meets few known hyperplanes there: it is laid across some that are known, and the line is looked at
/// beyond them.
pub(super) fn is_straight(inquiry: &mut Inquiry<'_>, kink: &Kink, rows: &[Row]) -> Result<bool, Halt> {
    let across = inquiry.inputs > MANY_INPUTS && !rows.is_empty();
    let Some(v) = direction(&{
        let v = if across {
            let factors = inquiry.normals(rows.len());
            rows.iter().zip(&factors).fold(vec![0.0; inquiry.inputs], |sum, ((w, _), c)| along(&sum, *c, w))
        } else {
            inquiry.direction()
        };
        along(&v, -dot(&v, &kink.u) / dot(&kink.u, &kink.u), &kink.u)
    }) else {
        return Ok(false);
    };
    let a = 0.3 * kink.reach();
    let mut tangent = None;
    for step in [0.3 * a, 0.03 * a] {
        let left = along(&kink.x, -a, &kink.u);
        let right = along(&kink.x, a, &kink.u);
        let questions = [
            along(&left, step, &v),
            along(&left, -step, &v),
            along(&right, step, &v),
            along(&right, -step, &v),
        ];
        let y = inquiry.ask(&questions)?;
        let expected_left = along(&kink.value, -a, &kink.left);
        let expected_right = along(&kink.value, a, &kink.right);
        let noise = 60.0 * inquiry.noise_at(&kink.x);
        let even = |p: &[f64], q: &[f64], middle: &[f64]| {
            (0..p.len()).all(|o| (p[o] + q[o] - 2.0 * middle[o]).abs() < noise * 4.0)
        };
        if even(&y[0], &y[1], &expected_left) && even(&y[2], &y[3], &expected_right) {
            let across = scaled(&minus(&minus(&y[2], &y[3]), &minus(&y[0], &y[1])), 0.5 / step);
            let jump = minus(&kink.right, &kink.left);
            let ratio = dot(&across, &jump) / dot(&jump, &jump);
            tangent = direction(&along(&v, -ratio, &kink.u));
            break;
        }
    }
    let Some(tangent) = tangent else { return Ok(false) };
    let start = -dot(&kink.x, &tangent);
    let mut places = if across { beyond(inquiry, kink, &tangent, rows) } else { Vec::new() };
    places.extend([1.2, -1.2, 3.5, -3.5, 0.3, -0.3].map(|s| start + s * inquiry.radius));
    let (mut hits, mut misses) = (0, 0);
    for t in places.into_iter().take(6) {
        let x = along(&kink.x, t, &tangent);
        let a = 2e-3 * inquiry.radius;
        let seen = meeting(inquiry, &x, &scaled(&kink.u, 1.0 / norm(&kink.u)), a)?;
        if seen.t.is_some_and(|t| t.abs() < 0.02 * a + seen.error) {
            hits += 1
        } else {
            misses += 1
        }
        if hits >= 4 || misses >= 3 {
            break;
        }
    }
    Ok(hits >= 4)
}

/// Places along the tangent of a kink beyond the nearest hyperplanes of the rows, on either side in turn.
fn beyond(inquiry: &Inquiry<'_>, kink: &Kink, tangent: &[f64], rows: &[Row]) -> Vec<f64> {
    let mut flips: Vec<f64> = rows
        .iter()
        .map(|(w, b)| -(dot(w, &kink.x) + b) / dot(w, tangent))
        .filter(|t| t.abs() < FARTHEST * inquiry.radius)
        .collect();
    flips.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let side = |sign: f64| -> Vec<f64> {
        let own: Vec<f64> = flips.iter().copied().filter(|t| t * sign > 0.0).take(3).collect();
        let last = own.last().map(|t| t + sign * inquiry.radius);
        let ends: Vec<f64> = own.iter().copied().chain(last).collect();
        ends.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect()
    };
    let (right, left) = (side(1.0), side(-1.0));
    let in_turn = (0..3).flat_map(|i| [right.get(i), left.get(i)]).flatten().copied();
    in_turn.collect()
}
