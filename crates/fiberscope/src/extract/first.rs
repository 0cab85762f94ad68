//! Kinks on random lines, and the first layer: hyperplanes that do not bend.
//!
//! Across the boundary of a neuron the gradient of `f` jumps by `c_j (G^T w_j)^T`; in the first layer `G` is
//! the identity. One gradient per linear piece of a line serves the kinks at both its ends. With many inputs
//! a cheap test in a random plane first drops boundaries that bend [rolnick2020reverse, Section 4].

use fiberscope_algebra::dense::{along, direction, dot, minus, norm, peak, product, scaled};
use fiberscope_core::Matrix;

use super::ExtractStep;
use super::algebra::Svd;
use super::inquiry::{Halt, Inquiry};
use super::line::{Kink, Sweep};
use super::prefix::{Prefix, Rows};
use super::probe::{Boundary, meeting};
use super::straight::{MANY_INPUTS, is_straight, is_stray};

/// With so few inputs boundaries of deeper layers are straight for so long that they are looked at in many
/// places before they are taken for those of the first layer.
const FEW_INPUTS: usize = 5;
const MANY_PLACES: usize = 12;

/// How many times as far as its scale a line reaches.
pub(super) const LINE_REACH: f64 = 40.0;

/// Rows of the layer at hand.
pub(super) type Row = (Vec<f64>, f64);

/// A random line through the domain, reaching far beyond it.
pub(super) struct Line {
    x: Vec<f64>,
    u: Vec<f64>,
    reach: f64,
}

impl Line {
    /// A line at about `scale` times the radius from the centre.
    pub fn random(inquiry: &mut Inquiry<'_>, scale: f64) -> Line {
        let (x, u) = (inquiry.point(scale), inquiry.direction());
        Line { x, u, reach: LINE_REACH * inquiry.radius * scale }
    }

    /// A line between two corners of the domain at which a random combination of the features is large and
    /// small: neurons that rarely switch elsewhere switch there.
    pub fn extreme(inquiry: &mut Inquiry<'_>, prefix: &Prefix) -> Line {
        let goal = inquiry.normals(prefix.width());
        let (start, radius) = (inquiry.point_of_domain(), inquiry.radius);
        let high = prefix.climb(&goal, &start, radius);
        let low = prefix.climb(&scaled(&goal, -1.0), &start, radius);
        match direction(&minus(&high, &low)) {
            Some(u) => {
                let reach = norm(&minus(&high, &low));
                // Through the inside rather than along a face.
                let shift = inquiry.point(0.1);
                Line { x: along(&along(&low, 0.5, &minus(&high, &low)), 1.0, &shift), u, reach }
            }
            None => Line::random(inquiry, 1.0),
        }
    }

    /// The kinks that known layers and the rows found so far do not explain, and where those flip.
    pub fn sweep(
        &self,
        inquiry: &mut Inquiry<'_>,
        prefix: &Prefix,
        rows: &[Row],
        cells: usize,
    ) -> Result<(Vec<Kink>, Vec<f64>), Halt> {
        let whole = prefix.extended_by(rows);
        let scale = self.reach / LINE_REACH;
        let stretch = (self.reach / scale).asinh();
        let grid = (0..cells)
            .map(|k| scale * (stretch * (2.0 * k as f64 / (cells as f64 - 1.0) - 1.0)).sinh())
            .collect();
        let known = whole.flips(&self.x, &self.u, -self.reach, self.reach);
        let sweep = Sweep { x: &self.x, u: &self.u, from: -self.reach, to: self.reach, known, grid };
        let (kinks, mut seen) = sweep.survey(inquiry)?;
        seen.extend(kinks.iter().map(|kink| kink.t));
        inquiry.census.add(&self.x, &self.u, self.reach, seen);
        Ok((kinks, sweep.known))
    }
}

/// Adds the neurons of the first layer that `line` shows to `rows`, other kinks to `pool`.
pub(super) fn first_layer(
    inquiry: &mut Inquiry<'_>,
    line: &Line,
    rows: &mut Vec<Row>,
    pool: &mut Vec<Kink>,
) -> Result<(), Halt> {
    let prefix = Prefix::empty(inquiry.inputs);
    inquiry.begin(0, ExtractStep::Lines);
    let (mut kinks, walls) = line.sweep(inquiry, &prefix, rows, 13)?;
    kinks.retain(|kink| !explains(inquiry, &prefix, rows, &kink.x));
    inquiry.begin(0, ExtractStep::Bends);
    let many = inquiry.inputs > MANY_INPUTS;
    let mut straight = Vec::with_capacity(kinks.len());
    for kink in &kinks {
        straight.push(!many || is_straight(inquiry, kink, rows)?);
    }
    inquiry.begin(0, ExtractStep::Rows);
    measure_jumps(inquiry, line, &walls, &mut kinks, &straight)?;
    inquiry.begin(0, ExtractStep::Confirmation);
    for kink in kinks {
        let Some(w) = kink.jump.as_deref().and_then(direction) else {
            pool.push(kink);
            continue;
        };
        let b = -dot(&w, &kink.x);
        let places = if inquiry.inputs > FEW_INPUTS { 7 } else { MANY_PLACES };
        if Boundary::whole(w.clone(), b).confirm(inquiry, &prefix, None, places)?
            && !is_stray(inquiry, rows, &(w.clone(), b))?
        {
            rows.push((w, b));
            inquiry.note(rows.len(), pool.len());
        } else {
            pool.push(kink);
        }
    }
    Ok(())
}

/// Retries kinks of the pool, one gradient on either side each.
pub(super) fn first_layer_again(
    inquiry: &mut Inquiry<'_>,
    rows: &mut Vec<Row>,
    pool: &mut Vec<Kink>,
) -> Result<(), Halt> {
    let prefix = Prefix::empty(inquiry.inputs);
    for mut kink in std::mem::take(pool) {
        if explains(inquiry, &prefix, rows, &kink.x) {
            continue;
        }
        inquiry.begin(0, ExtractStep::Bends);
        if is_straight(inquiry, &kink, rows)? {
            inquiry.begin(0, ExtractStep::Rows);
            let line = Line { x: along(&kink.x, -kink.t, &kink.u), u: kink.u.clone(), reach: f64::INFINITY };
            let walls = [kink.t - kink.reach_left, kink.t + kink.reach_right];
            let mut one = [kink];
            measure_jumps(inquiry, &line, &walls, &mut one, &[true])?;
            [kink] = one;
            inquiry.begin(0, ExtractStep::Confirmation);
            if let Some(w) = kink.jump.as_deref().and_then(direction) {
                let b = -dot(&w, &kink.x);
                let places = if inquiry.inputs > FEW_INPUTS { 12 } else { MANY_PLACES };
                if Boundary::whole(w.clone(), b).confirm(inquiry, &prefix, Some(&kink.x), places)?
                    && !is_stray(inquiry, rows, &(w.clone(), b))?
                {
                    rows.push((w, b));
                    continue;
                }
            }
        }
        pool.push(kink);
    }
    Ok(())
}

/// Measures the rows of the first layer again, where all known boundaries are far: the longer the steps, the
/// more exact the gradients on either side. Behind several layers also where their jump is large: there it depends on the
/// place.
pub(super) fn sharpen(
    inquiry: &mut Inquiry<'_>,
    hidden: &Prefix,
    output: &Rows,
    row: usize,
) -> Result<Option<Row>, Halt> {
    let (w, b) = {
        let rows = &hidden.layers[0];
        (rows.weight.row(row).to_vec(), rows.bias[row])
    };
    let length = norm(&w);
    let m = scaled(&w, 1.0 / length);
    let slopes = |x: &[f64]| product(&output.weight, &hidden.local(x).gradient);
    let mut best: Option<(f64, f64, f64, Vec<f64>)> = None;
    for _ in 0..40 {
        let reach = inquiry.uniform(0.5, 3.0);
        let start = inquiry.point(reach);
        let x = along(&start, -(dot(&w, &start) + b) / (length * length), &w);
        let (mut across, mut beside) = (2.0 * inquiry.radius, f64::INFINITY);
        for (_, (z, g)) in hidden.local(&x).walls.iter().enumerate().filter(|(i, _)| *i != row) {
            across = across.min(z.abs() / dot(g, &m).abs().max(1e-300));
            beside = beside.min(z.abs() / peak(g).max(1e-300));
        }
        let a = 0.4 * across;
        let step = (0.3 * beside).min(0.5 * a / peak(&m)).min(4.0 * inquiry.radius);
        let jump = if hidden.layers.len() > 1 {
            let sides = [-a, a].map(|t| slopes(&along(&x, t, &m)));
            norm(&minus(sides[0].entries(), sides[1].entries()))
        } else {
            1.0
        };
        if best.as_ref().is_none_or(|(most, ..)| step * jump > *most) {
            best = Some((step * jump, step, a, x));
        }
    }
    let Some((_, step, a, x)) = best else { return Ok(None) };
    let mut sides = Vec::new();
    for sign in [-1.0, 1.0] {
        let middle = along(&x, sign * a, &m);
        let Some(gradient) = gradient(inquiry, &middle, step / (0.1 * (inquiry.inputs as f64).sqrt()))?
        else {
            return Ok(None);
        };
        sides.push(gradient);
    }
    let jumps: Vec<Vec<f64>> =
        sides[0].iter().zip(&sides[1]).map(|(before, after)| minus(after, before)).collect();
    let Some(normal) = rank_one(inquiry, &x, step, &jumps).as_deref().and_then(direction) else {
        return Ok(None);
    };
    let normal = scaled(&normal, dot(&normal, &m).signum());
    if norm(&minus(&normal, &m)) > 1e-4 {
        return Ok(None);
    }
    let seen = meeting(inquiry, &x, &normal, 0.9 * a)?;
    Ok(seen.t.map(|t| {
        let x = along(&x, t, &normal);
        let b = -dot(&normal, &x);
        (normal, b)
    }))
}

/// Whether `x` lies on the boundary of a row.
pub(super) fn explains(inquiry: &Inquiry<'_>, prefix: &Prefix, rows: &[Row], x: &[f64]) -> bool {
    let hidden = prefix.hidden(x);
    let tolerance = (3e4 * inquiry.eta).clamp(1e-7, 3e-3) * (1.0 + peak(&hidden));
    rows.iter().any(|(w, b)| (dot(w, &hidden) + b).abs() < tolerance)
}

impl Prefix {
    /// With the rows of one layer more, if there are any.
    pub fn extended_by(&self, rows: &[Row]) -> Prefix {
        match super::prefix::Rows::new(rows) {
            Some(rows) if rows.len() > 0 => self.extended(rows),
            _ => self.clone(),
        }
    }
}

/// Measures the jump of the gradient at the wanted kinks of a line, one gradient per linear piece. `walls`
/// are the kinks of the line that were known before.
fn measure_jumps(
    inquiry: &mut Inquiry<'_>,
    line: &Line,
    walls: &[f64],
    kinks: &mut [Kink],
    wanted: &[bool],
) -> Result<(), Halt> {
    let mut behind: Option<Gradient> = None;
    for i in 0..kinks.len() {
        let t = kinks[i].t;
        let wall_before = walls.iter().copied().filter(|&w| w < t).fold(-line.reach, f64::max);
        let wall_after = walls.iter().copied().filter(|&w| w > t).fold(line.reach, f64::min);
        let next = kinks.get(i + 1).map_or(f64::INFINITY, |kink| kink.t);
        let shared = i > 0 && kinks[i - 1].t > wall_before;
        let end = next.min(wall_after);
        if !wanted[i] {
            behind = None;
            continue;
        }
        let before = match behind.take().filter(|_| shared) {
            Some(gradient) => Some(gradient),
            None => {
                let from = if shared { kinks[i - 1].t } else { wall_before };
                piece_gradient(inquiry, line, from.max(t - inquiry.radius), t)?
            }
        };
        let to = if end == next { end.min(t + 4.0 * inquiry.radius) } else { end.min(t + inquiry.radius) };
        behind = piece_gradient(inquiry, line, t, to)?;
        if let (Some(before), Some(after)) = (&before, &behind) {
            let jumps: Vec<Vec<f64>> = before.iter().zip(after).map(|(b, a)| minus(a, b)).collect();
            kinks[i].jump = rank_one(inquiry, &kinks[i].x, kinks[i].reach().min(inquiry.radius), &jumps);
        }
    }
    Ok(())
}

/// The gradient of every output, one row per input.
type Gradient = Vec<Vec<f64>>;

fn piece_gradient(
    inquiry: &mut Inquiry<'_>,
    line: &Line,
    from: f64,
    to: f64,
) -> Result<Option<Gradient>, Halt> {
    gradient(inquiry, &along(&line.x, (from + to) / 2.0, &line.u), to - from)
}

/// The gradient of every output at `x`: one row per input. `None` if `f` bends close by.
fn gradient(inquiry: &mut Inquiry<'_>, x: &[f64], width: f64) -> Result<Option<Gradient>, Halt> {
    let inputs = inquiry.inputs;
    // A step along one axis comes closer to a boundary by a small part of its length if there are many
    // inputs.
    let long = 0.1 * (inputs as f64).sqrt();
    for factor in [long, 0.1, 0.01, 0.001] {
        if factor == long && inputs < 16 {
            continue;
        }
        let step = factor * width;
        let signs: Vec<f64> = (0..inputs).map(|_| if inquiry.below(2) == 0 { 1.0 } else { -1.0 }).collect();
        let root = (inputs as f64).sqrt();
        // The combined step first: it is cheap to find that f bends there.
        let mut questions = vec![x.to_vec(), along(x, step / root, &signs), along(x, -step / root, &signs)];
        let first = inquiry.ask(&questions)?;
        let noise = inquiry.noise_at(x);
        let bent = (0..inquiry.outputs)
            .any(|o| (first[1][o] + first[2][o] - 2.0 * first[0][o]).abs() > 20.0 * noise);
        if bent {
            continue;
        }
        questions = (0..inputs)
            .map(|k| {
                let mut moved = x.to_vec();
                moved[k] += step;
                moved
            })
            .collect();
        let y = inquiry.ask(&questions)?;
        let slopes: Vec<Vec<f64>> = y
            .iter()
            .zip(&questions)
            .enumerate()
            .map(|(k, (y, q))| scaled(&minus(y, &first[0]), 1.0 / (q[k] - x[k])))
            .collect();
        let predicted = |o: usize| {
            first[0][o] + signs.iter().zip(&slopes).map(|(s, g)| s * g[o]).sum::<f64>() * step / root
        };
        if (0..inquiry.outputs).all(|o| (predicted(o) - first[1][o]).abs() < 60.0 * noise * root) {
            return Ok(Some(slopes));
        }
    }
    Ok(None)
}

/// The left factor of a matrix that should have rank one.
pub(super) fn rank_one(inquiry: &Inquiry<'_>, x: &[f64], step: f64, rows: &[Vec<f64>]) -> Option<Vec<f64>> {
    if inquiry.outputs == 1 {
        return Some(rows.iter().map(|row| row[0]).collect());
    }
    let svd = Svd::of(&Matrix::from_rows(rows)?)?;
    let noise = 1e3 * inquiry.noise_at(x) / step * (rows.len() as f64).sqrt();
    if svd.s.len() > 1 && svd.s[1] > 1e-5 * svd.s[0] + noise {
        return None;
    }
    Some(scaled(&svd.u[0], svd.s[0]))
}
