//! Rows of a layer behind known ones: from a kink to the weights.
//!
//! At a kink of neuron `j` the gradient jumps by a multiple of `G^T w_j`. With `G_I = U S V^T` on the active
//! features `I` of full rank, the jump along the columns of `V` gives `w_I = U S^{-1} j` up to scale, and
//! `b = -w_I . h_I`. Features that were off at the kink are completed one by one.

use fiberscope_algebra::dense::{along, direction, dot, minus, norm, row_times, scaled};
use fiberscope_core::Matrix;

use super::ExtractStep;
use super::algebra::Svd;
use super::carry::Carry;
use super::first::{Row, explains, rank_one};
use super::inquiry::{Halt, Inquiry};
use super::line::Kink;
use super::open::{Open, join, solve};
use super::prefix::{Local, Prefix};
use super::probe::{Boundary, Place, Sight};
use super::trace::trace;

/// With so few inputs the boundaries at which more features are on than there are inputs are followed, and with
/// fewer all.
pub(super) const TRACED_INPUTS: usize = 8;
pub(super) const ALWAYS_TRACED_INPUTS: usize = 3;

/// The most open boundaries of which pieces are joined: more are those of neurons further on.
const MOST_JOINED: usize = 30;

/// The layer at hand.
pub(super) struct Layer<'p> {
    /// Its number, from 0.
    pub index: usize,
    /// The layers before it.
    pub prefix: &'p Prefix,
    /// How the layer before carries its inputs, if it does.
    pub carry: Option<Carry>,
    /// Rows some of whose weights could not be found.
    pub open: Vec<Open>,
}

impl Layer<'_> {
    /// Makes rows of kinks of the pool; kinks that give none stay there. Stops at `wanted` rows.
    pub fn harvest(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        rows: &mut Vec<Row>,
        pool: &mut Vec<Kink>,
        wanted: Option<usize>,
    ) -> Result<usize, Halt> {
        pool.retain(|kink| !explains(inquiry, self.prefix, rows, &kink.x));
        pool.sort_by(|a, b| self.trouble(a).total_cmp(&self.trouble(b)));
        let before = rows.len();
        let mut rest = Vec::new();
        let mut queue = std::mem::take(pool).into_iter();
        for mut kink in queue.by_ref() {
            if wanted.is_some_and(|wanted| rows.len() >= wanted) {
                rest.push(kink);
                break;
            }
            if explains(inquiry, self.prefix, rows, &kink.x) {
                continue;
            }
            inquiry.note(rows.len(), rest.len());
            // A boundary that was followed as far as it goes is not followed again.
            if kink.tries < 2 && !self.is_open(inquiry, &kink.x) {
                if let Some(row) = self.row(inquiry, &kink)? {
                    rows.push(row);
                    continue;
                }
                kink.tries += 1;
            }
            rest.push(kink);
        }
        rest.extend(queue);
        *pool = rest;
        Ok(rows.len() - before)
    }

    /// Whether a row some of whose weights are open explains a kink.
    fn is_open(&self, inquiry: &Inquiry<'_>, x: &[f64]) -> bool {
        let rows: Vec<Row> = self.open.iter().map(|open| open.row.clone()).collect();
        inquiry.inputs <= TRACED_INPUTS && explains(inquiry, self.prefix, &rows, x)
    }

    /// Rows with one open weight, completed by kinks of the pool: each kink at which the feature is active
    /// would give the weight a value, and values on which two kinks agree are tried.
    pub fn agree(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        rows: &mut Vec<Row>,
        pool: &[Kink],
    ) -> Result<usize, Halt> {
        let before = rows.len();
        let mut rest = Vec::new();
        if inquiry.inputs <= ALWAYS_TRACED_INPUTS && self.open.len() <= MOST_JOINED {
            join(self.prefix, &mut self.open);
        }
        for open in std::mem::take(&mut self.open) {
            if open.off.is_empty() && open.free.is_empty() {
                let (w, b) = &open.row;
                let length = norm(w);
                let whole = Boundary::whole(scaled(w, 1.0 / length), b / length);
                if whole.confirm(inquiry, self.prefix, None, 10)? {
                    rows.push((whole.w, whole.b));
                    continue;
                }
            }
            let missing: Vec<usize> = open.boundary.unknown(None).collect();
            let found = match missing[..] {
                [k] => self.agreed_weight(inquiry, &open.boundary, k, pool)?,
                _ => None,
            };
            match found {
                Some(row) if !is_twin(rows, &row, 1e-6) => rows.push(row),
                Some(_) => {}
                None => rest.push(open),
            }
        }
        self.open = rest;
        Ok(rows.len() - before)
    }

    fn agreed_weight(
        &self,
        inquiry: &mut Inquiry<'_>,
        open: &Boundary,
        k: usize,
        pool: &[Kink],
    ) -> Result<Option<Row>, Halt> {
        let mut values: Vec<f64> = pool
            .iter()
            .filter_map(|kink| {
                let hidden = self.prefix.hidden(&kink.x);
                (hidden[k] > 0.0).then(|| -open.value(&hidden) / hidden[k])
            })
            .collect();
        values.sort_by(f64::total_cmp);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * (1.0 + a.abs());
        let agreed: Vec<f64> =
            values.windows(2).filter(|pair| close(pair[0], pair[1])).map(|pair| pair[0]).collect();
        for weight in agreed.into_iter().take(4) {
            let mut w = open.w.clone();
            w[k] = weight;
            let length = norm(&w);
            let boundary = Boundary::whole(scaled(&w, 1.0 / length), open.b / length);
            if boundary.confirm(inquiry, self.prefix, None, 10)? {
                return Ok(Some((boundary.w, boundary.b)));
            }
        }
        Ok(None)
    }

    /// How hard it is to make a row of a kink: features to complete, and little room.
    fn trouble(&self, kink: &Kink) -> f64 {
        let off = self.prefix.local(&kink.x).active.iter().filter(|active| !**active).count();
        off as f64 - 0.1 * (kink.reach() + 1e-12).log10()
    }

    /// The confirmed row of the neuron that flips at the kink, of length one.
    fn row(&mut self, inquiry: &mut Inquiry<'_>, kink: &Kink) -> Result<Option<Row>, Halt> {
        if let Some(carry) = self.carry {
            let (prefix, turned) = carry.off_at(self.prefix, &kink.x);
            let mut layer = Layer { index: self.index, prefix: &prefix, carry: None, open: Vec::new() };
            let last = &self.prefix.layers[self.prefix.layers.len() - 1];
            let found = layer.row(inquiry, kink)?.map(|row| carry.turned_back(last, &turned, &row));
            if found.is_none() && inquiry.inputs <= ALWAYS_TRACED_INPUTS {
                let open = layer.open.iter().filter_map(|open| solve(self.prefix, &open.pieces));
                self.open.extend(open);
            }
            return Ok(found);
        }
        inquiry.begin(self.index, ExtractStep::Rows);
        let found = match self.candidate(inquiry, kink)? {
            None if inquiry.inputs <= TRACED_INPUTS => self.traced(inquiry, kink)?,
            found => found.map(|boundary| Open::of(boundary, &kink.x)),
        };
        let Some(mut open) = found else { return Ok(None) };
        let is_whole = |open: &Open| open.boundary.known.iter().all(|known| *known);
        if !is_whole(&open) {
            // Where all boundaries are followed, another piece of this one will be met on a line.
            if inquiry.inputs <= ALWAYS_TRACED_INPUTS || !open.boundary.known.contains(&true) {
                self.open.push(open);
                return Ok(None);
            }
            inquiry.begin(self.index, ExtractStep::Confirmation);
            if !self.plausible(inquiry, &open.boundary, &kink.x)? {
                return Ok(None);
            }
            inquiry.begin(self.index, ExtractStep::Completion);
            if !self.complete(inquiry, &mut open.boundary, kink)? {
                if open.free.is_empty() {
                    open.row = (open.boundary.w.clone(), open.boundary.b);
                    open.off = open.boundary.unknown(None).collect();
                }
                self.open.push(open);
                return Ok(None);
            }
        }
        let boundary = open.boundary;
        let length = norm(&boundary.w);
        let boundary = Boundary::whole(scaled(&boundary.w, 1.0 / length), boundary.b / length);
        inquiry.begin(self.index, ExtractStep::Confirmation);
        let confirmed = boundary.confirm(inquiry, self.prefix, Some(&kink.x), 10)?;
        Ok(confirmed.then_some((boundary.w, boundary.b)))
    }

    /// The weights on the features that are active at the kink.
    fn candidate(&self, inquiry: &mut Inquiry<'_>, kink: &Kink) -> Result<Option<Boundary>, Halt> {
        if inquiry.inputs <= ALWAYS_TRACED_INPUTS {
            return Ok(None);
        }
        let local = self.prefix.local(&kink.x);
        let active = local.active_set();
        if active.is_empty() {
            return Ok(None);
        }
        let Some(svd) = Svd::of(&local.gradient.select_rows(&active)) else { return Ok(None) };
        if svd.s.len() < active.len() || svd.rank(1e-7) < active.len() {
            return Ok(None);
        }
        let jump = match &kink.jump {
            Some(jump) => Some(svd.v.iter().map(|v| dot(v, jump)).collect()),
            None => self.measure_jump(inquiry, kink, &local, &svd)?,
        };
        let Some(jump) = jump else { return Ok(None) };
        let mut w = vec![0.0; self.prefix.width()];
        for (k, j) in jump.iter().enumerate() {
            for (&i, u) in active.iter().zip(&svd.u[k]) {
                w[i] += u * j / svd.s[k];
            }
        }
        let Some(w) = direction(&w) else { return Ok(None) };
        let b = -dot(&w, &local.hidden);
        Ok(Some(Boundary { w, b, known: local.active }))
    }

    /// The weights that the boundary tells as it is followed through the cells of the layers before.
    fn traced(&self, inquiry: &mut Inquiry<'_>, kink: &Kink) -> Result<Option<Open>, Halt> {
        let local = self.prefix.local(&kink.x);
        let inputs = inquiry.inputs;
        let axes: Vec<Vec<f64>> =
            (0..inputs).map(|k| (0..inputs).map(|j| f64::from(u8::from(j == k))).collect()).collect();
        let jump = match &kink.jump {
            Some(jump) => Some(jump.clone()),
            None => {
                let axes = Svd { u: axes.clone(), s: vec![1.0; inputs], v: axes };
                self.measure_jump(inquiry, kink, &local, &axes)?
            }
        };
        let Some(jump) = jump else { return Ok(None) };
        trace(inquiry, self.prefix, &kink.x, &jump)
    }

    /// The jump of the gradient along the right singular vectors.
    fn measure_jump(
        &self,
        inquiry: &mut Inquiry<'_>,
        kink: &Kink,
        local: &Local,
        svd: &Svd,
    ) -> Result<Option<Vec<f64>>, Halt> {
        let a = 0.3 * kink.reach();
        let sides = [along(&kink.x, -a, &kink.u), along(&kink.x, a, &kink.u)];
        for factor in [0.15, 0.03, 0.005] {
            let steps: Vec<f64> = svd
                .v
                .iter()
                .zip(&svd.s)
                .map(|(v, s)| {
                    let room =
                        sides.iter().map(|x| room_at(local, &kink.x, x, v)).fold(f64::INFINITY, f64::min);
                    (factor * a * svd.s[0] / s).min(20.0 * a).min(0.3 * room)
                })
                .collect();
            if steps.iter().any(|&step| step <= 0.0 || step.is_nan()) {
                return Ok(None);
            }
            if let Some(jumps) = jumps(inquiry, &sides, &svd.v, &steps)? {
                let step = steps.iter().copied().fold(f64::INFINITY, f64::min);
                return Ok(rank_one(inquiry, &kink.x, step, &jumps));
            }
        }
        Ok(None)
    }

    /// A cheap way to drop neurons of deeper layers: far from the kink, where no unknown feature is active,
    /// the partial row predicts the boundary exactly.
    fn plausible(&self, inquiry: &mut Inquiry<'_>, boundary: &Boundary, x: &[f64]) -> Result<bool, Halt> {
        let place = Place { raise: None, margin: Some(1e-3 * inquiry.radius) };
        let (mut hits, mut seen) = (0, 0);
        for attempt in 0..30 {
            if seen >= 6 {
                break;
            }
            let reach = inquiry.uniform(0.5, 3.0);
            let mut start = inquiry.point(reach);
            if attempt % 3 == 2 {
                start = along(x, 0.5, &minus(&start, x));
            }
            let Some(y) = boundary.reach(inquiry, self.prefix, &start, place) else { continue };
            if norm(&minus(&y, x)) < 0.3 * inquiry.radius {
                continue;
            }
            match boundary.look(inquiry, self.prefix, &y)? {
                Some(Sight::Hit) => hits += 1,
                Some(Sight::Miss) => {}
                Some(Sight::Dark) | None => continue,
            }
            seen += 1;
            if hits >= 2 {
                return Ok(true);
            }
            if seen - hits >= 3 {
                return Ok(false);
            }
        }
        Ok(seen < 2 || hits >= 1)
    }
}

/// Whether a row is there already, up to sign and a tolerance.
pub(super) fn is_twin(rows: &[Row], (w, b): &Row, tolerance: f64) -> bool {
    rows.iter().any(|(v, c)| {
        let sign = dot(v, w).signum();
        norm(&along(v, -sign, w)) + (c - sign * b).abs() < tolerance
    })
}

/// How far one may go from `x`, in the region of `at`, along `v` before a known neuron flips.
fn room_at(local: &Local, at: &[f64], x: &[f64], v: &[f64]) -> f64 {
    let moved = minus(x, at);
    local
        .walls
        .iter()
        .map(|(z, g)| {
            let speed = dot(g, v).abs();
            if speed > 0.0 { (z + dot(g, &moved)).abs() / speed } else { f64::INFINITY }
        })
        .fold(f64::INFINITY, f64::min)
}

/// Jumps of the derivatives along some directions between two points; `None` if `f` bends within the steps.
fn jumps(
    inquiry: &mut Inquiry<'_>,
    sides: &[Vec<f64>; 2],
    directions: &[Vec<f64>],
    steps: &[f64],
) -> Result<Option<Vec<Vec<f64>>>, Halt> {
    let count = directions.len();
    let root = (count as f64).sqrt();
    let signs: Vec<f64> = (0..count).map(|_| if inquiry.below(2) == 0 { 1.0 } else { -1.0 }).collect();
    let factors: Vec<f64> = signs.iter().zip(steps).map(|(sign, step)| sign * step / root).collect();
    let matrix = Matrix::from_rows(directions).expect("directions of one length");
    let combined = row_times(&factors, &matrix);
    let mut questions = Vec::new();
    for side in sides {
        questions.push(side.clone());
        questions.push(along(side, 1.0, &combined));
        questions.extend(directions.iter().zip(steps).map(|(v, &step)| along(side, step, v)));
    }
    let answers = inquiry.ask(&questions)?;
    let noise = 60.0 * inquiry.noise_at(&sides[0]) * root;
    let mut slopes = Vec::new();
    for y in answers.chunks_exact(count + 2) {
        let along: Vec<Vec<f64>> =
            (0..count).map(|k| scaled(&minus(&y[k + 2], &y[0]), 1.0 / steps[k])).collect();
        let bent = (0..inquiry.outputs).any(|o| {
            let predicted = y[0][o] + factors.iter().zip(&along).map(|(f, slope)| f * slope[o]).sum::<f64>();
            (predicted - y[1][o]).abs() > noise
        });
        if bent {
            return Ok(None);
        }
        slopes.push(along);
    }
    Ok(Some(slopes[0].iter().zip(&slopes[1]).map(|(left, right)| minus(right, left)).collect()))
}
