//! Looking for a kink at a predicted place: four queries and three verdicts.
//!
//! At a point `x` of a predicted boundary with normal `m`, `f` is asked at `x -+ a m` and `x -+ a/2 m`. The
//! lines through the two left and the two right answers meet at `t*`; `t* = 0` up to noise is a hit. If `f`
//! is locally constant, everything behind the layer is off and nothing can be seen: such places never count
//! as a miss.

use fiberscope_algebra::dense::{along, direction, dot, minus, norm, peak, row_times, scaled, times};

use super::algebra::least_squares;
use super::inquiry::{Halt, Inquiry};
use super::prefix::{Local, Prefix, Rows};

/// What was seen at a predicted place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// A kink where it was expected.
    Hit,
    /// No kink, although `f` is not constant.
    Miss,
    /// `f` is constant: nothing can be seen.
    Dark,
}

/// Where the two lines meet.
pub(super) struct Meeting {
    /// The position, if the slope jumps at all.
    pub t: Option<f64>,
    /// The jump of the slope.
    pub jump: Vec<f64>,
    /// The larger slope.
    pub slope: f64,
    /// How exactly `t` is known.
    pub error: f64,
}

/// Intersects the rays through `x -+ a m` and `x -+ a/2 m`.
pub(super) fn meeting(inquiry: &mut Inquiry<'_>, x: &[f64], m: &[f64], a: f64) -> Result<Meeting, Halt> {
    let questions: Vec<Vec<f64>> = [-a, -a / 2.0, a / 2.0, a].iter().map(|&t| along(x, t, m)).collect();
    let y = inquiry.ask(&questions)?;
    let left = scaled(&minus(&y[1], &y[0]), 2.0 / a);
    let right = scaled(&minus(&y[3], &y[2]), 2.0 / a);
    let jump = minus(&right, &left);
    let (size, slope) = (norm(&jump), norm(&left).max(norm(&right)));
    let noise = inquiry.noise_at(x);
    if size < 40.0 * noise / a {
        return Ok(Meeting { t: None, jump, slope, error: f64::INFINITY });
    }
    let offset: Vec<f64> = (0..y[0].len()).map(|o| y[0][o] + left[o] * a - y[3][o] + right[o] * a).collect();
    let t = dot(&offset, &jump) / (size * size);
    Ok(Meeting { t: Some(t), jump, slope, error: 8.0 * noise / size })
}

/// The verdict at `x`, with a second look from closer by.
pub(super) fn look(inquiry: &mut Inquiry<'_>, x: &[f64], m: &[f64], a: f64) -> Result<Sight, Halt> {
    for a in [a, a / 16.0] {
        let seen = meeting(inquiry, x, m, a)?;
        if seen.t.is_some_and(|t| t.abs() < 0.02 * a + 1e-9 * inquiry.radius + seen.error) {
            return Ok(Sight::Hit);
        }
        if seen.t.is_none() && seen.slope < 40.0 * inquiry.noise_at(x) / a {
            return Ok(Sight::Dark);
        }
    }
    Ok(Sight::Miss)
}

/// The boundary `w . h + b = 0` of a neuron behind known layers, where only the coordinates `known` of `w`
/// are known.
#[derive(Clone, Debug)]
pub(super) struct Boundary {
    /// The weights; zero where they are not known.
    pub w: Vec<f64>,
    /// The bias.
    pub b: f64,
    /// Which weights are known.
    pub known: Vec<bool>,
}

/// What a point of a boundary should satisfy beside lying on it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Pre-activation wanted of one known neuron.
    pub raise: Option<(usize, f64)>,
    /// Whether neurons with unknown weight (but for the raised one) must be off, and by how much.
    pub margin: Option<f64>,
}

impl Boundary {
    /// A row all of whose weights are known.
    pub fn whole(w: Vec<f64>, b: f64) -> Self {
        let known = vec![true; w.len()];
        Boundary { w, b, known }
    }

    /// The pre-activation from the known weights.
    pub fn value(&self, hidden: &[f64]) -> f64 {
        dot(&self.w, hidden) + self.b
    }

    /// Its gradient in input space.
    pub fn gradient(&self, local: &Local) -> Vec<f64> {
        row_times(&self.w, &local.gradient)
    }

    /// A point of the boundary near `start` by Newton's method on the known layers; no queries.
    pub fn reach(
        &self,
        inquiry: &Inquiry<'_>,
        prefix: &Prefix,
        start: &[f64],
        place: Place,
    ) -> Option<Vec<f64>> {
        let mut x = start.to_vec();
        if prefix.layers.is_empty() {
            let square = dot(&self.w, &self.w);
            return (square > 0.0).then(|| along(&x, -self.value(&x) / square, &self.w));
        }
        // Many places may be looked for without a question in between.
        if inquiry.options.deadline.is_past() {
            return None;
        }
        let limit = 60.0 * inquiry.radius.max(peak(start));
        for _ in 0..60 {
            let local = prefix.local(&x);
            let size = 1.0 + peak(&local.hidden);
            let gradient = self.gradient(&local);
            if norm(&gradient) < 1e-9 * norm(&self.w) {
                return None;
            }
            let mut rows = vec![gradient];
            let mut right = vec![-self.value(&local.hidden)];
            if let Some((k, level)) = place.raise {
                rows.push(local.pre_gradient.row(k).to_vec());
                right.push(level - local.pre[k]);
            }
            let mut free = true;
            if let Some(margin) = place.margin {
                for j in self.unknown(place.raise.map(|(k, _)| k)) {
                    if local.pre[j] > -margin {
                        rows.push(local.pre_gradient.row(j).to_vec());
                        right.push(-2.0 * margin - local.pre[j]);
                        free = false;
                    }
                }
            }
            if free && peak(&right) < 1e-13 * size {
                return Some(x);
            }
            let mut step = least_squares(&rows, &right, 1e-10)?;
            let length = norm(&step);
            if length > 2.0 * inquiry.radius {
                step = scaled(&step, 2.0 * inquiry.radius / length);
            }
            x = along(&x, 1.0, &step);
            if peak(&x) > limit || x.iter().any(|v| !v.is_finite()) {
                return None;
            }
        }
        let local = prefix.local(&x);
        let off =
            place.margin.is_none() || self.unknown(place.raise.map(|(k, _)| k)).all(|j| local.pre[j] <= 0.0);
        let on = self.value(&local.hidden).abs() <= 1e-11 * (1.0 + peak(&local.hidden));
        let raised = place.raise.is_none_or(|(k, level)| (local.pre[k] - level).abs() <= 1e-6 * level.abs());
        (off && on && raised).then_some(x)
    }

    /// The coordinates that are not known, but for one.
    pub fn unknown(&self, but: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        (0..self.known.len()).filter(move |&j| !self.known[j] && Some(j) != but)
    }

    /// The verdict at a point of the boundary; `None` if a known neuron flips too close by to look.
    pub fn look(&self, inquiry: &mut Inquiry<'_>, prefix: &Prefix, x: &[f64]) -> Result<Option<Sight>, Halt> {
        let (m, room) = if prefix.layers.is_empty() {
            (direction(&self.w), f64::INFINITY)
        } else {
            let local = prefix.local(x);
            let m = direction(&self.gradient(&local));
            let room = m.as_ref().map_or(0.0, |m| local.room(m));
            (m, room)
        };
        let Some(m) = m else { return Ok(None) };
        let a = (2e-3 * inquiry.radius).max(look_distance(inquiry)).min(0.4 * room);
        if a < 1e-6 * inquiry.radius {
            return Ok(None);
        }
        look(inquiry, x, &m, a).map(Some)
    }

    /// Whether the boundary is where it is predicted on the whole domain: `wanted` places that are not dark,
    /// at most one of them a miss. Places are looked for around the centre, then around `near`.
    pub fn confirm(
        &self,
        inquiry: &mut Inquiry<'_>,
        prefix: &Prefix,
        near: Option<&[f64]>,
        wanted: usize,
    ) -> Result<bool, Halt> {
        let (mut hits, mut seen) = (0, 0);
        for attempt in 0..10 * wanted {
            if seen >= wanted {
                break;
            }
            let reach = if attempt % 3 == 2 { inquiry.uniform(3.0, 20.0) } else { inquiry.uniform(0.5, 3.0) };
            let mut start = inquiry.point(reach);
            if let Some(near) = near.filter(|_| attempt > 12 && (seen as f64) < 0.4 * attempt as f64) {
                let spread = (1.0 + norm(near) / inquiry.radius) * inquiry.uniform(0.2, 1.0);
                start = along(near, 1.0, &inquiry.point(spread));
            }
            let Some(x) = self.reach(inquiry, prefix, &start, Place::default()) else { continue };
            match self.look(inquiry, prefix, &x)? {
                None | Some(Sight::Dark) => continue,
                Some(Sight::Hit) => hits += 1,
                Some(Sight::Miss) => {}
            }
            seen += 1;
            if seen - hits >= 2 {
                return Ok(false);
            }
        }
        Ok(hits >= 3.min(wanted) && seen - hits <= 1)
    }
}

/// With noisy answers a closer look sees nothing.
fn look_distance(inquiry: &Inquiry<'_>) -> f64 {
    (inquiry.eta.sqrt() * inquiry.radius).min(0.05 * inquiry.radius)
}

/// How far one may go from `x` along `m` before a known neuron or one of `rows` (but for `own`) flips.
pub(super) fn room(local: &Local, rows: &Rows, own: usize, m: &[f64]) -> f64 {
    let slope = times(&local.gradient, m);
    let others = rows.iter().enumerate().filter(|(i, _)| *i != own).map(|(_, (w, b))| {
        let speed = dot(w, &slope).abs();
        if speed > 0.0 { (dot(w, &local.hidden) + b).abs() / speed } else { f64::INFINITY }
    });
    others.fold(local.room(m), f64::min)
}
