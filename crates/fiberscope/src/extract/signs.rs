//! Which way neurons look, before the layer is the last one.
//!
//! *Contractive* (`n_l <= rank W^ G`): `grad f = C W^ G` can be solved for `C`, and the columns of inactive
//! neurons vanish [canales2024polynomial, Section 4]. *Cells*: within one cell of everything behind the
//! layer, walk to the hyperplane of each neuron; the jump there is `c_j` of the cell, and
//! `grad f = sum_j c_j (sigma_j - 1[z^_j < 0]) grad z^_j` over the neurons reached, plus the span of the
//! others, is linear in the bits `sigma_j` that all cells share.

use fiberscope_algebra::dense::{along, direction, dot, minus, norm, row_times, scaled, times};
use fiberscope_core::Matrix;

use super::algebra::Svd;
use super::bits::{ENUMERATED_BITS, enumerated};
use super::inquiry::{Halt, Inquiry};
use super::line::Sweep;
use super::prefix::{Prefix, Rows};
use super::probe::{meeting, room};

/// Signs of the rows, as far as they can be told without the layer behind them.
pub(super) fn signs(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    rows: &Rows,
) -> Result<Vec<Option<f64>>, Halt> {
    let seen = contractive(inquiry, prefix, rows)?;
    if seen.iter().all(Option::is_some) {
        return Ok(seen);
    }
    Ok(cells(inquiry, prefix, rows)?.unwrap_or(seen))
}

/// A place for a gradient: where, how far until something known flips, and the gradients of the rows.
struct Site {
    x: Vec<f64>,
    room: f64,
    quality: f64,
}

/// Signs of rows that are independent at some place.
pub(super) fn contractive(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    rows: &Rows,
) -> Result<Vec<Option<f64>>, Halt> {
    let count = rows.len();
    let mut sites = Vec::new();
    for _ in 0..400 {
        let reach = inquiry.uniform(0.3, 3.0);
        let x = inquiry.point(reach);
        let local = prefix.local(&x);
        let gradients = rows.gradients(prefix, &local);
        let Some(svd) = Svd::of(&gradients) else { continue };
        if svd.s.len() < count || svd.rank(1e-6) < count {
            continue;
        }
        let own = rows.at(&local.hidden);
        let distance = |z: f64, g: &[f64]| z.abs() / norm(g).max(1e-300);
        let room = own
            .iter()
            .zip(gradients.iter_rows())
            .map(|(z, g)| distance(*z, g))
            .chain(local.walls.iter().map(|(z, g)| distance(*z, g)))
            .fold(f64::INFINITY, f64::min);
        sites.push(Site { x, room, quality: svd.s[count - 1] / svd.s[0] * room.min(1.0) });
    }
    sites.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    sites.truncate(60);
    let mut votes = vec![Votes::default(); count];
    let mut used = 0;
    let most = 20 + count;
    while !sites.is_empty() && used < most {
        if used >= 2 && votes.iter().all(|v| v.sign().is_some()) {
            break;
        }
        let next = best_site(&sites, &votes, prefix, rows, used);
        let site = sites.remove(next);
        if vote(inquiry, prefix, rows, &site, &mut votes)? {
            used += 1;
        }
    }
    Ok(votes.iter().map(|v| v.sign().or_else(|| v.weak_sign())).collect())
}

/// Seen with a downstream slope on the negative and positive side; seen without.
#[derive(Clone, Default)]
struct Votes {
    strong: [usize; 2],
    weak: [usize; 2],
}

impl Votes {
    fn sign(&self) -> Option<f64> {
        let [minus, plus] = self.strong;
        (minus.max(plus) > 2 * minus.min(plus)).then_some(if plus > minus { 1.0 } else { -1.0 })
    }

    fn weak_sign(&self) -> Option<f64> {
        let [minus, plus] = self.weak;
        let unseen = self.strong == [0, 0];
        (unseen && minus.max(plus) > 2 * minus.min(plus)).then_some(if plus > minus { 1.0 } else { -1.0 })
    }
}

/// A site that shows undecided neurons from the side not seen yet.
fn best_site(sites: &[Site], votes: &[Votes], prefix: &Prefix, rows: &Rows, used: usize) -> usize {
    let undecided: Vec<usize> = (0..votes.len()).filter(|&i| votes[i].strong == [0, 0]).collect();
    if used == 0 || undecided.is_empty() {
        return 0;
    }
    let gain = |site: &Site| -> usize {
        let z = rows.at(&prefix.hidden(&site.x));
        undecided.iter().map(|&i| votes[i].weak[usize::from(z[i] > 0.0)]).sum()
    };
    let gains: Vec<usize> = sites.iter().map(gain).collect();
    let most = gains.iter().copied().max().unwrap_or(0);
    gains.iter().position(|&g| g == most).unwrap_or(0)
}

/// Measures the gradient at a site; says whether it could be used.
fn vote(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    rows: &Rows,
    site: &Site,
    votes: &mut [Votes],
) -> Result<bool, Halt> {
    let count = rows.len();
    let local = prefix.local(&site.x);
    let gradients = rows.gradients(prefix, &local);
    let Some(svd) = Svd::of(&gradients) else { return Ok(false) };
    for step in [0.1 * site.room, 0.005 * site.room] {
        let Some(slopes) = slopes(inquiry, &site.x, &svd.v, step)? else { continue };
        // Along v_k the derivative is s_k u_k^T C.
        let mut c = Matrix::from_fn(count, inquiry.outputs, |_, _| 0.0);
        for (k, slope) in slopes.iter().enumerate() {
            for j in 0..count {
                for (o, s) in slope.iter().enumerate() {
                    c[(j, o)] += svd.u[k][j] / svd.s[k] * s;
                }
            }
        }
        let sizes: Vec<f64> = c.iter_rows().map(norm).collect();
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 {
            return Ok(true);
        }
        let threshold = (1e-6 * largest).max(200.0 * inquiry.noise_at(&site.x) / step / svd.s[count - 1]);
        for (j, z) in rows.at(&local.hidden).iter().enumerate() {
            let side = usize::from(*z > 0.0);
            if sizes[j] > threshold { votes[j].strong[side] += 1 } else { votes[j].weak[1 - side] += 1 }
        }
        return Ok(true);
    }
    Ok(false)
}

/// Derivatives along directions, with a check that `f` is linear there.
fn slopes(
    inquiry: &mut Inquiry<'_>,
    x: &[f64],
    directions: &[Vec<f64>],
    step: f64,
) -> Result<Option<Vec<Vec<f64>>>, Halt> {
    let root = (directions.len() as f64).sqrt();
    let matrix = Matrix::from_rows(directions).expect("directions of one length");
    let combined = row_times(&vec![step / root; directions.len()], &matrix);
    let mut questions = vec![x.to_vec(), along(x, 1.0, &combined)];
    questions.extend(directions.iter().map(|v| along(x, step, v)));
    let y = inquiry.ask(&questions)?;
    let slopes: Vec<Vec<f64>> = y[2..].iter().map(|value| scaled(&minus(value, &y[0]), 1.0 / step)).collect();
    let linear = (0..inquiry.outputs).all(|o| {
        let predicted = y[0][o] + slopes.iter().map(|slope| slope[o]).sum::<f64>() * step / root;
        (predicted - y[1][o]).abs() <= 60.0 * inquiry.noise_at(x) * root
    });
    Ok(linear.then_some(slopes))
}

/// The most cells that are measured, and those after which there should have been one of use.
const MOST_CELLS: usize = 40;
const FRUITLESS_CELLS: usize = 10;

/// Signs of all rows, from cells in which most of them can be crossed.
pub(super) fn cells(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    rows: &Rows,
) -> Result<Option<Vec<Option<f64>>>, Halt> {
    let count = rows.len();
    let mut equations: Vec<Vec<f64>> = Vec::new();
    let mut right: Vec<f64> = Vec::new();
    for tried in 0..MOST_CELLS {
        if tried >= FRUITLESS_CELLS && equations.is_empty() {
            break;
        }
        if !cell(inquiry, prefix, rows, &mut equations, &mut right)? {
            continue;
        }
        let Some(svd) = Matrix::from_rows(&equations).and_then(|matrix| Svd::of(&matrix)) else { continue };
        let rank = svd.rank(1e-7);
        if rank + ENUMERATED_BITS < count {
            continue;
        }
        if let Some(bits) =
            if rank == count { rounded(&svd, &right) } else { enumerated(&equations, &right, &svd, rank) }
        {
            return Ok(Some(bits.iter().map(|b| Some(2.0 * b - 1.0)).collect()));
        }
    }
    Ok(None)
}

fn rounded(svd: &Svd, right: &[f64]) -> Option<Vec<f64>> {
    let bits = svd.solve(right, 1e-7);
    bits.iter().all(|b| b.abs().min((b - 1.0).abs()) < 0.2).then(|| bits.iter().map(|b| b.round()).collect())
}

/// Measures one cell; says whether it gave equations.
fn cell(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    rows: &Rows,
    equations: &mut Vec<Vec<f64>>,
    right: &mut Vec<f64>,
) -> Result<bool, Halt> {
    let (count, inputs) = (rows.len(), inquiry.inputs);
    let reach = inquiry.uniform(0.2, 2.0);
    let x = inquiry.point(reach);
    let local = prefix.local(&x);
    let gradients = rows.gradients(prefix, &local);
    let z = rows.at(&local.hidden);
    let rank = Svd::of(&gradients).map_or(0, |svd| svd.rank(1e-7));

    let distances: Vec<f64> =
        z.iter().zip(gradients.iter_rows()).map(|(z, g)| z.abs() / norm(g).max(1e-300)).collect();
    let room =
        distances.iter().copied().fold(f64::INFINITY, f64::min).min(
            local.walls.iter().map(|(z, g)| z.abs() / norm(g).max(1e-300)).fold(f64::INFINITY, f64::min),
        );
    let axes: Vec<Vec<f64>> =
        (0..inputs).map(|k| (0..inputs).map(|j| f64::from(u8::from(j == k))).collect()).collect();
    let Some(slopes) = slopes(inquiry, &x, &axes, (0.1 * room).min(0.05 * inquiry.radius))? else {
        return Ok(false);
    };
    if slopes.iter().all(|slope| norm(slope) == 0.0) {
        return Ok(false);
    }
    let crossed = cross(inquiry, prefix, rows, &x)?;
    let reached: Vec<usize> = (0..count).filter(|&j| crossed[j].is_some()).collect();
    if reached.len() + rank <= count {
        return Ok(false);
    }
    // Project the span of the neurons that were not reached away.
    let others: Vec<usize> = (0..count).filter(|&j| crossed[j].is_none()).collect();
    let basis: Vec<Vec<f64>> = if others.is_empty() {
        Vec::new()
    } else {
        let Some(svd) = Svd::of(&gradients.select_rows(&others)) else { return Ok(false) };
        let rank = svd.rank(1e-9);
        svd.v.into_iter().take(rank).collect()
    };
    let projected = |v: &[f64]| {
        let mut v = v.to_vec();
        for b in &basis {
            v = along(&v, -dot(&v, b), b);
        }
        v
    };
    let normals: Vec<Vec<f64>> = (0..count).map(|j| projected(gradients.row(j))).collect();
    for o in 0..inquiry.outputs {
        let mut target: Vec<f64> = slopes.iter().map(|slope| slope[o]).collect();
        for &j in reached.iter().filter(|&&j| z[j] < 0.0) {
            let c = crossed[j].as_ref().expect("it was reached")[o];
            target = along(&target, c, gradients.row(j));
        }
        let target = projected(&target);
        for i in 0..inputs {
            let mut row = vec![0.0; count];
            for &j in &reached {
                row[j] = crossed[j].as_ref().expect("it was reached")[o] * normals[j][i];
            }
            equations.push(row);
            right.push(target[i]);
        }
    }
    Ok(true)
}

/// The slope `c_j` of every neuron whose hyperplane can be reached without leaving the cell.
fn cross(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    rows: &Rows,
    x: &[f64],
) -> Result<Vec<Option<Vec<f64>>>, Halt> {
    let count = rows.len();
    let mut found: Vec<Option<Vec<f64>>> = vec![None; count];
    let mut bases = vec![x.to_vec()];
    let mut tried = std::collections::BTreeSet::new();
    for _ in 0..3 * count {
        let mut best: Option<(f64, usize, usize, Vec<f64>)> = None;
        for (b, y) in bases.iter().enumerate() {
            let local = prefix.local(y);
            let z = rows.at(&local.hidden);
            for j in (0..count).filter(|&j| found[j].is_none() && !tried.contains(&(b, j))) {
                let gradient = row_times(rows.weight.row(j), &local.gradient);
                let distance = z[j].abs() / norm(&gradient);
                let nearer =
                    distance.is_finite() && best.as_ref().is_none_or(|(least, ..)| distance < *least);
                if let Some(m) = direction(&scaled(&gradient, -z[j].signum())).filter(|_| nearer) {
                    best = Some((distance, b, j, m));
                }
            }
        }
        let Some((distance, b, j, m)) = best else { break };
        tried.insert((b, j));
        let y = bases[b].clone();
        if !prefix.flips(&y, &m, 0.0, 1.02 * distance).is_empty() {
            continue;
        }
        let local = prefix.local(&y);
        let slope = times(&local.gradient, &m);
        let own: Vec<(usize, f64)> = rows
            .iter()
            .enumerate()
            .map(|(i, (w, b))| (i, -(dot(w, &local.hidden) + b) / dot(w, &slope)))
            .filter(|(_, t)| *t > 0.0 && *t < 1.02 * distance)
            .collect();
        if own.iter().any(|(i, t)| *i != j && (t - distance).abs() < 2e-3 * distance) {
            continue;
        }
        let mut known: Vec<f64> = own.iter().map(|(_, t)| *t).filter(|t| *t < 1.01 * distance).collect();
        known.sort_by(f64::total_cmp);
        let sweep = Sweep { x: &y, u: &m, from: 0.0, to: 1.01 * distance, known, grid: Vec::new() };
        if !sweep.kinks(inquiry)?.is_empty() {
            continue;
        }
        let at = along(&y, distance, &m);
        let there = prefix.local(&at);
        let a = (0.3 * room(&there, rows, j, &m)).min(0.05 * inquiry.radius).min(0.009 * distance);
        let seen = meeting(inquiry, &at, &m, a)?;
        if !seen.t.is_some_and(|t| t.abs() < 0.05 * a) {
            continue;
        }
        let speed = dot(rows.weight.row(j), &slope).abs();
        found[j] = Some(scaled(&seen.jump, 1.0 / speed));
        bases.push(along(&y, 0.6 * distance, &m));
    }
    Ok(found)
}
