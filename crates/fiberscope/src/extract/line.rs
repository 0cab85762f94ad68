//! Kinks of the unknown function on a line, by intersecting two rays.
//!
//! `phi(t) = f(x + t u)` is piecewise linear. A segment `[a, b]` with the slopes `m_a`, `m_b` at its ends
//! either is linear, or its two rays meet at
//!
//! `t* = a + [(f(b) - f(a)) . p - (m_b . p)(b - a)] / [(m_a - m_b) . p]`, `p = (m_b - m_a) / |m_b - m_a|`.
//!
//! It holds exactly one kink, at `t*`, if `f` lies on both rays at `t*` *and* on either ray close beside it:
//! with two kinks `t*` falls outside both and only the second condition fails. Otherwise the segment is
//! split. All segments of one round are asked together, in one batch.

use fiberscope_algebra::dense::{along, dot, minus, norm, peak, scaled};

use super::ExtractError;
use super::inquiry::{Halt, Inquiry};

/// A point where the slope of `f` along a line jumps.
#[derive(Clone, Debug)]
pub(super) struct Kink {
    /// Position on its line.
    pub t: f64,
    /// The point.
    pub x: Vec<f64>,
    /// The direction of the line.
    pub u: Vec<f64>,
    /// `f` there.
    pub value: Vec<f64>,
    /// The slope before.
    pub left: Vec<f64>,
    /// The slope after.
    pub right: Vec<f64>,
    /// How far `f` is linear before.
    pub reach_left: f64,
    /// How far `f` is linear after.
    pub reach_right: f64,
    /// The jump of the gradient, if it was measured.
    pub jump: Option<Vec<f64>>,
    /// How often it was tried to make a row of it.
    pub tries: usize,
}

impl Kink {
    /// A distance within which `f` is linear on both sides.
    pub fn reach(&self) -> f64 {
        self.reach_left.min(self.reach_right)
    }
}

struct Segment {
    a: f64,
    b: f64,
    fa: Vec<f64>,
    fb: Vec<f64>,
    /// Slope at `a` and the baseline over which it was measured.
    ma: Vec<f64>,
    da: f64,
    mb: Vec<f64>,
    db: f64,
}

/// Subdivisions and segments from which on bends may be noise, and how large noise may be, relative to the
/// answers.
const NOISY_ROUNDS: usize = 18;
const NOISY_SEGMENTS: usize = 500;
const MOST_NOISE: f64 = 1e-10;

/// Segments per sweep beyond which the function is not taken for piecewise linear.
const MOST_ROUNDS: usize = 60;

/// A sweep along one line.
pub(super) struct Sweep<'s> {
    /// A point of the line.
    pub x: &'s [f64],
    /// Its direction.
    pub u: &'s [f64],
    /// Where to look.
    pub from: f64,
    /// Where to stop.
    pub to: f64,
    /// Kinks that are known: the sweep is cut there and does not report them.
    pub known: Vec<f64>,
    /// More places at which to cut.
    pub grid: Vec<f64>,
}

impl Sweep<'_> {
    /// All kinks that are not known, in order. Kinks too close together to be told apart are left out.
    pub fn kinks(&self, inquiry: &mut Inquiry<'_>) -> Result<Vec<Kink>, Halt> {
        self.survey(inquiry).map(|(kinks, _)| kinks)
    }

    /// The kinks that are not known, and at which of the known ones the slope was seen to jump.
    pub fn survey(&self, inquiry: &mut Inquiry<'_>) -> Result<(Vec<Kink>, Vec<f64>), Halt> {
        let mut segments = self.cut(inquiry)?;
        let seen = self.jumps(inquiry, &segments);
        let mut found = Vec::new();
        let mut crowded = 0;
        for round in 0.. {
            segments.retain(|segment| !self.is_linear(inquiry, segment));
            let before = segments.len();
            segments
                .retain(|segment| segment.b - segment.a >= 1e-9 * segment.a.abs().max(self.scale(inquiry)));
            crowded += before - segments.len();
            if segments.is_empty() {
                break;
            }
            if round >= NOISY_ROUNDS
                && segments.len() > NOISY_SEGMENTS
                && self.raise_noise(inquiry, &segments)
            {
                continue;
            }
            if round >= MOST_ROUNDS || crowded + segments.len() > 4000 {
                return Err(Halt::Error(ExtractError::NotPiecewiseLinear(format!(
                    "on a line through the domain {} pieces are still bent after {round} subdivisions",
                    crowded + segments.len()
                ))));
            }
            let open = self.intersect(inquiry, segments, &mut found)?;
            segments = self.split(inquiry, open)?;
        }
        found.sort_by(|a: &Kink, b| a.t.total_cmp(&b.t));
        Ok((found, seen))
    }

    /// The known kinks at which the slopes on either side differ: there is a gap between the segments.
    fn jumps(&self, inquiry: &Inquiry<'_>, segments: &[Segment]) -> Vec<f64> {
        let jump = |pair: &[Segment]| {
            let (before, after) = (&pair[0], &pair[1]);
            let noise = 6.0 * self.noise(inquiry, before.b.abs().max(after.a.abs()));
            let seen = norm(&minus(&after.ma, &before.mb)) > noise * (1.0 / before.db + 1.0 / after.da);
            (after.a > before.b && seen).then_some(0.5 * (before.b + after.a))
        };
        segments.windows(2).filter_map(jump).collect()
    }

    /// Takes what the segments are bent by for noise, if it is little: so many kinks so close together are
    /// none. Noise is measured at a few places only, and may be larger elsewhere.
    fn raise_noise(&self, inquiry: &mut Inquiry<'_>, segments: &[Segment]) -> bool {
        let bend = |s: &Segment| {
            let unit = self.noise(inquiry, s.a.abs().max(s.b.abs())) / inquiry.eta;
            norm(&minus(&s.mb, &s.ma)) / (1.0 / s.da + 1.0 / s.db) / unit
        };
        let mut bends: Vec<f64> = segments.iter().map(bend).collect();
        bends.sort_by(f64::total_cmp);
        let size = segments.iter().map(|s| peak(&s.fa)).fold(0.0, f64::max);
        let noise = bends[bends.len() * 19 / 20];
        let little = noise < MOST_NOISE * size && inquiry.options.noise.is_none();
        if little {
            inquiry.eta = inquiry.eta.max(noise);
        }
        little
    }

    fn scale(&self, inquiry: &Inquiry<'_>) -> f64 {
        inquiry.radius / norm(self.u)
    }

    fn noise(&self, inquiry: &Inquiry<'_>, t: f64) -> f64 {
        inquiry.eta * (1.0 + peak(self.x) + t.abs() * peak(self.u))
    }

    fn ask(&self, inquiry: &mut Inquiry<'_>, at: &[f64]) -> Result<Vec<Vec<f64>>, Halt> {
        let questions: Vec<Vec<f64>> = at.iter().map(|&t| along(self.x, t, self.u)).collect();
        inquiry.ask(&questions)
    }

    /// The segments between cuts, with values and one-sided slopes at their ends. Known kinks are known up to
    /// rounding only, so segments end a little before them.
    fn cut(&self, inquiry: &mut Inquiry<'_>) -> Result<Vec<Segment>, Halt> {
        let cuts = self.cuts();
        let count = cuts.len() - 1;
        let mut at = Vec::new();
        // Where the answers for a segment's ends and the points beside them stand in the batch.
        let mut places: Vec<[usize; 4]> = Vec::with_capacity(count);
        for i in 0..count {
            let ((lo, lo_known), (hi, hi_known)) = (cuts[i], cuts[i + 1]);
            let gap = |t: f64, known: bool| {
                if known { (1e-7 * (self.scale(inquiry) + t.abs())).min(0.01 * (hi - lo)) } else { 0.0 }
            };
            let (a, b) = (lo + gap(lo, lo_known && i > 0), hi - gap(hi, hi_known && i + 1 < count));
            let base = 0.02 * (b - a);
            let mut place = |t: f64| {
                at.push(t);
                at.len() - 1
            };
            let start = if i > 0 && !lo_known { places[i - 1][3] } else { place(a) };
            let behind = place(a + base);
            // At a cut that is no kink the slope behind it serves both sides.
            let before = if hi_known { place(b - base) } else { usize::MAX };
            let end = place(b);
            places.push([start, behind, before, end]);
        }
        let y = self.ask(inquiry, &at)?;
        let slope = |from: usize, to: usize| scaled(&minus(&y[to], &y[from]), 1.0 / (at[to] - at[from]));
        let segment = |i: usize| {
            let [start, behind, before, end] = places[i];
            let other = if before == usize::MAX { places[i + 1][1] } else { before };
            Segment {
                a: at[start],
                b: at[end],
                fa: y[start].clone(),
                fb: y[end].clone(),
                ma: slope(start, behind),
                da: at[behind] - at[start],
                mb: slope(end, other),
                db: (at[other] - at[end]).abs(),
            }
        };
        Ok((0..count).map(segment).filter(|s| s.b > s.a && s.da > 0.0 && s.db > 0.0).collect())
    }

    /// Ends, known kinks (marked) and the grid, in order.
    fn cuts(&self) -> Vec<(f64, bool)> {
        let inside = |t: &&f64| **t > self.from && **t < self.to;
        let mut cuts: Vec<(f64, bool)> = vec![(self.from, true), (self.to, true)];
        cuts.extend(self.known.iter().filter(inside).map(|&t| (t, true)));
        let width = self.to - self.from;
        for &t in self.grid.iter().filter(inside) {
            if cuts.iter().all(|(cut, _)| (cut - t).abs() > 1e-3 * width / (1.0 + self.grid.len() as f64)) {
                cuts.push((t, false));
            }
        }
        cuts.sort_by(|a, b| a.0.total_cmp(&b.0));
        cuts.dedup_by(|a, b| (a.0 - b.0).abs() <= 1e-13 * a.0.abs().max(1e-300));
        cuts
    }

    fn is_linear(&self, inquiry: &Inquiry<'_>, s: &Segment) -> bool {
        let noise = 6.0 * self.noise(inquiry, s.a.abs().max(s.b.abs()));
        let length = s.b - s.a;
        let rates = 1.0 / s.da + 1.0 / s.db;
        norm(&minus(&s.mb, &s.ma)) <= noise * rates
            && peak(&minus(&minus(&s.fb, &s.fa), &scaled(&s.ma, length))) <= noise * length * rates
    }

    /// Finds the kinks of segments that hold exactly one; gives back the others.
    fn intersect(
        &self,
        inquiry: &mut Inquiry<'_>,
        segments: Vec<Segment>,
        found: &mut Vec<Kink>,
    ) -> Result<Vec<Segment>, Halt> {
        let meeting: Vec<Option<f64>> = segments
            .iter()
            .map(|s| meet(s).filter(|&t| t > s.a + 1.01 * s.da && t < s.b - 1.01 * s.db))
            .collect();
        let at: Vec<f64> = meeting.iter().copied().flatten().collect();
        let mut values = self.ask(inquiry, &at)?.into_iter();
        let mut near = Vec::new();
        let mut candidates = Vec::new();
        for (s, t) in segments.iter().zip(&meeting) {
            let candidate = t.and_then(|t| {
                let value = values.next().expect("one value per meeting point");
                let tolerance = self.tolerance(inquiry, s, t);
                let fits = peak(&minus(&value, &along(&s.fa, t - s.a, &s.ma))) < tolerance
                    && peak(&minus(&value, &along(&s.fb, t - s.b, &s.mb))) < tolerance;
                fits.then_some(t)
            });
            if let Some(t) = candidate {
                near.extend([t - 1e-3 * (t - s.a), t + 1e-3 * (s.b - t)]);
            }
            candidates.push(candidate);
        }
        let beside = self.ask(inquiry, &near)?;
        let mut pairs = beside.chunks_exact(2).zip(near.chunks_exact(2));
        let mut open = Vec::new();
        for (s, candidate) in segments.into_iter().zip(candidates) {
            let kink = candidate.and_then(|t| {
                let (y, at) = pairs.next().expect("two values per candidate");
                let tolerance = self.tolerance(inquiry, &s, t);
                let fits = peak(&minus(&y[0], &along(&s.fa, at[0] - s.a, &s.ma))) < tolerance
                    && peak(&minus(&y[1], &along(&s.fb, at[1] - s.b, &s.mb))) < tolerance;
                if fits { self.sharpen(&s, at, y) } else { None }
            });
            match kink {
                Some(kink) => found.push(kink),
                None => open.push(s),
            }
        }
        Ok(open)
    }

    fn tolerance(&self, inquiry: &Inquiry<'_>, s: &Segment, t: f64) -> f64 {
        let length = s.b - s.a;
        let amplified = length / s.da + length / s.db;
        60.0 * self.noise(inquiry, s.a.abs().max(s.b.abs())) * amplified
            + 1e-9 * norm(&minus(&s.mb, &s.ma)) * (t - s.a).min(s.b - t)
    }

    /// The kink from the long baselines beside it.
    fn sharpen(&self, s: &Segment, at: &[f64], y: &[Vec<f64>]) -> Option<Kink> {
        let left = scaled(&minus(&y[0], &s.fa), 1.0 / (at[0] - s.a));
        let right = scaled(&minus(&s.fb, &y[1]), 1.0 / (s.b - at[1]));
        let t = intersection(s, &left, &right)?;
        if !(t > s.a && t < s.b) {
            return None;
        }
        Some(Kink {
            t,
            x: along(self.x, t, self.u),
            u: self.u.to_vec(),
            value: along(&s.fa, t - s.a, &left),
            left,
            right,
            reach_left: t - s.a,
            reach_right: s.b - t,
            jump: None,
            tries: 0,
        })
    }

    fn split(&self, inquiry: &mut Inquiry<'_>, segments: Vec<Segment>) -> Result<Vec<Segment>, Halt> {
        let mut at = Vec::new();
        let plans: Vec<(f64, f64, bool, bool)> = segments
            .iter()
            .map(|s| {
                let length = s.b - s.a;
                let mid = s.a + length * (0.5 + inquiry.uniform(-0.12, 0.12));
                let step = 0.01 * length;
                let (again_a, again_b) = (s.da > 0.1 * (mid - s.a), s.db > 0.1 * (s.b - mid));
                at.extend([mid, mid + step]);
                at.extend(again_a.then_some(s.a + 0.02 * (mid - s.a)));
                at.extend(again_b.then_some(s.b - 0.02 * (s.b - mid)));
                (mid, step, again_a, again_b)
            })
            .collect();
        let mut answers = self.ask(inquiry, &at)?.into_iter();
        let mut next = || answers.next().expect("one answer per question");
        let mut parts = Vec::with_capacity(2 * segments.len());
        for (mut s, (mid, step, again_a, again_b)) in segments.into_iter().zip(plans) {
            let middle = next();
            let slope = scaled(&minus(&next(), &middle), 1.0 / step);
            if again_a {
                s.da = 0.02 * (mid - s.a);
                s.ma = scaled(&minus(&next(), &s.fa), 1.0 / s.da);
            }
            if again_b {
                s.db = 0.02 * (s.b - mid);
                s.mb = scaled(&minus(&s.fb, &next()), 1.0 / s.db);
            }
            let (fa, ma, da) = (s.fa, s.ma, s.da);
            let (first, second) = (middle.clone(), middle);
            parts.push(Segment { a: s.a, b: mid, fa, fb: first, ma, da, mb: slope.clone(), db: step });
            parts.push(Segment {
                a: mid,
                b: s.b,
                fa: second,
                fb: s.fb,
                ma: slope,
                da: step,
                mb: s.mb,
                db: s.db,
            });
        }
        Ok(parts)
    }
}

fn meet(s: &Segment) -> Option<f64> {
    intersection(s, &s.ma, &s.mb)
}

/// Where the ray from `a` with slope `left` meets the ray to `b` with slope `right`.
fn intersection(s: &Segment, left: &[f64], right: &[f64]) -> Option<f64> {
    let jump = minus(right, left);
    let length = norm(&jump);
    if length == 0.0 {
        return None;
    }
    let rise = dot(&minus(&s.fb, &s.fa), &jump) / length;
    Some(s.a + (rise - dot(right, &jump) / length * (s.b - s.a)) / -length)
}
