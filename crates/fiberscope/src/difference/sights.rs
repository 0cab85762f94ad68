//! Points where the networks are far apart: what the search sees on its way, and ascents from there.

use std::time::Duration;

use fiberscope_core::decimal;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::DifferenceProgress;
use super::exact::Point;
use super::probe::Probe;
use super::rows::{output, sign};
use super::search::{MARGIN, Purpose, Search};
use super::worker::Sight;
use crate::clock::Instant;

/// Rounds of an ascent.
const CLIMB: usize = 30;
/// Random starts of the ascent per row, and in all.
const STARTS: (usize, usize) = (8, 128);
/// The points of a round that are climbed from.
const CLIMBS: usize = 6;
/// An ascent costs about as much as a few boxes: there is one for so many.
const BOXES: usize = 16;
/// A lower bound is evaluated exactly if it grows by this much, relatively.
const GROWTH: f64 = 1.0 / 1024.0;
/// Values this close are the same up to rounding.
const SAME: f64 = 1e-12;
/// How often progress is reported.
const REPORT: Duration = Duration::from_millis(100);

impl Search<'_> {
    /// Looks at points before the first box: those that were given, the middle, and ascents from random
    /// points.
    pub(super) fn look_around(&mut self) {
        let (lo, hi) = (self.tree.root().0.to_vec(), self.tree.root().1.to_vec());
        let mut probe = Probe::new(self.pair);
        let inside = |x: &[f64]| -> Vec<f64> {
            x.iter().zip(lo.iter().zip(&hi)).map(|(x, (lo, hi))| x.clamp(*lo, *hi)).collect()
        };
        let middle: Vec<f64> = lo.iter().zip(&hi).map(|(lo, hi)| 0.5 * lo + 0.5 * hi).collect();
        self.size = 0.0;
        for (i, x) in [&middle].into_iter().chain(self.setting.points).enumerate() {
            if i > 0 && self.setting.deadline.is_past() {
                break;
            }
            self.look_at(&mut probe, inside(x));
            self.size = self.size.max(probe.size());
        }
        let starts = match self.setting.purpose {
            Purpose::Epsilon(_) => 0,
            _ if self.setting.boxes.is_some() => 0,
            Purpose::Gap(_) | Purpose::Range(_) => (STARTS.0 * self.best.len()).min(STARTS.1),
        };
        let mut random = ChaCha8Rng::seed_from_u64(self.setting.seed);
        for start in 0..starts {
            let part = |corner: bool, random: &mut ChaCha8Rng| {
                let part: f64 = random.random();
                if corner { part.round() } else { part }
            };
            let ends = lo.iter().zip(&hi);
            let between = |(lo, hi): (&f64, &f64)| {
                let part = part(start / self.best.len() % 2 == 1, &mut random);
                let width = hi - lo;
                if width.is_finite() { lo + part * width } else { (1.0 - part) * lo + part * hi }
            };
            let mut x = inside(&ends.map(between).collect::<Vec<_>>());
            if self.setting.deadline.is_past() {
                break;
            }
            probe.climb(&mut x, start % self.best.len(), &lo, &hi, CLIMB);
            self.look_at(&mut probe, x);
        }
        self.settle();
    }

    fn look_at(&mut self, probe: &mut Probe, x: Vec<f64>) {
        let difference = probe.difference(&x).to_vec();
        self.see(&Sight { x, difference, row: 0 });
    }

    /// Keeps a point if a row is larger there than at all others before.
    pub(super) fn see(&mut self, sight: &Sight) {
        for row in 0..self.best.len() {
            let value = sight.value(row);
            if value > self.best[row] && value.is_finite() {
                self.best[row] = value;
                self.places[row].clone_from(&sight.x);
            }
        }
    }

    /// Climbs from the best points of a round of so many boxes, in parallel; where a number decides, from
    /// those that come near it.
    pub(super) fn climb(&mut self, boxes: usize) {
        let mut candidates = std::mem::take(&mut self.candidates);
        if let Purpose::Epsilon(epsilon) = &self.setting.purpose {
            let near = 0.5 * epsilon.to_f64();
            candidates.retain(|sight| sight.value(sight.row) > near);
        }
        candidates.sort_by(|x, y| y.value(y.row).total_cmp(&x.value(x.row)));
        candidates.truncate((boxes / BOXES).clamp(1, CLIMBS));
        let (lo, hi) = self.tree.root();
        let climbed = |Sight { mut x, row, .. }: Sight| {
            let mut probe = Probe::new(self.pair);
            probe.climb(&mut x, row, lo, hi, CLIMB);
            let difference = probe.difference(&x).to_vec();
            Sight { x, difference, row }
        };
        let climbed: Vec<Sight> = candidates.into_par_iter().map(climbed).collect();
        climbed.iter().for_each(|sight| self.see(sight));
    }

    /// Evaluates the best point exactly if that may change what is known.
    pub(super) fn settle(&mut self) {
        let largest = (0..self.best.len()).reduce(|x, y| if self.best[y] > self.best[x] { y } else { x });
        let Some(row) = largest.filter(|&row| self.best[row].is_finite()) else { return };
        let enough = match &self.setting.purpose {
            Purpose::Epsilon(epsilon) => epsilon.to_f64() * (1.0 - MARGIN),
            Purpose::Gap(_) => self.lower * (1.0 + GROWTH),
            Purpose::Range(_) => return,
        };
        // What was evaluated already is not evaluated again.
        if self.best[row] <= enough.max(self.lower * (1.0 + SAME)) {
            return;
        }
        let Some(point) = self.exact.at(&self.places[row]) else { return };
        self.keep(point, row);
    }

    /// Keeps a point with exact values if the networks are farther apart there than at all others before; the
    /// value in doubles of its row is replaced by the exact one.
    fn keep(&mut self, point: Point, row: usize) {
        let (_, difference) = point.largest();
        let exact = &point.b[output(row)] - &point.a[output(row)];
        self.best[row] = sign(row) * exact.to_f64();
        let rounded = decimal::lower_f64(&difference);
        if self.worst.is_none() || rounded > self.lower {
            self.lower = rounded.max(self.lower);
            self.worst = Some(point);
        }
    }

    pub(super) fn report(&mut self) {
        let now = Instant::now();
        if now.saturating_duration_since(self.reported) < REPORT {
            return;
        }
        self.reported = now;
        let largest = |values: &[f64]| values.iter().fold(0.0f64, |most, value| most.max(*value));
        let open = self.open.iter().map(|open| largest(&open.bounds)).fold(0.0, f64::max);
        let lower = largest(&self.best).max(self.lower);
        let upper = largest(&self.closed).max(open);
        let (cells, open) = (self.cells, self.open.len());
        self.setting.progress.report(DifferenceProgress { lower, upper, cells, open });
    }
}
