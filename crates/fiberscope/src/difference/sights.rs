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
/// Steps of an ascent along ridges.
const ASCENT: usize = 60;
/// Random starts of the ascent per row, and in all.
const STARTS: (usize, usize) = (4, 64);
/// Random ways through the whole box.
const SWEEPS: usize = 16;
/// The points of a round that are climbed from.
const CLIMBS: usize = 6;
/// An ascent costs about as much as a few boxes: there is one for so many, and fewer where only a number counts.
const BOXES: usize = 96;
const BOXES_TO_DECIDE: usize = 256;
/// For one ascent from a point of a part so many from points near the best one.
const HOPS: usize = 2;
/// How far these lie from it, in units of the box: any magnitude between both as often.
const NEAR: f64 = 1e-3;
const FAR: f64 = 0.5;
/// How often an input at an end of its interval stays there.
const STAY: f64 = 0.75;
/// The changes of signs that are passed at most on the way through a part, and through the box.
const SWEEP: usize = 40;
const LONG_SWEEP: usize = 1000;
/// A lower bound is evaluated exactly if it grows by this much, relatively.
const GROWTH: f64 = 1.0 / 1024.0;
/// Values this close are the same up to rounding.
const SAME: f64 = 1e-12;
/// How often progress is reported.
const REPORT: Duration = Duration::from_millis(100);

impl Search<'_> {
    /// Looks at points before the first box: those that were given, the middle, and ascents from random
    /// points. Not many more than so many multiplications are done on ways through the box and on ascents; as many as were.
    pub(super) fn look_around(&mut self, looks: usize) -> (usize, usize) {
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
        let (sweeps, starts) = match self.setting.purpose {
            Purpose::Epsilon(_) => (0, 0),
            _ if self.setting.boxes.is_some() => (0, 0),
            Purpose::Gap(_) | Purpose::Range(_) => (SWEEPS, (STARTS.0 * self.best.len()).min(STARTS.1)),
        };
        let mut random = ChaCha8Rng::seed_from_u64(self.setting.seed);
        let mut anywhere = |corner: bool| {
            between(&lo, &hi, || {
                let part: f64 = random.random();
                if corner { part.round() } else { part }
            })
        };
        // Half for the ways, half for the ascents.
        let before = probe.spent();
        let cells = (looks / 4 / sweeps.max(1) / probe.cost().max(1)).clamp(1, LONG_SWEEP);
        for sweep in 0..sweeps {
            let (from, to) = (anywhere(sweep % 2 == 1), anywhere(sweep % 4 > 1));
            if self.setting.deadline.is_past() {
                break;
            }
            probe.sweep(&from, &to, cells, |x, difference| self.see(x, difference));
        }
        let swept = probe.spent();
        let mut rows: Vec<usize> = (0..self.best.len()).collect();
        rows.sort_by(|&x, &y| self.best[y].total_cmp(&self.best[x]));
        for start in 0..starts {
            let row = rows[start % rows.len()];
            let mut x = match start / rows.len() {
                0 if !self.places[row].is_empty() => self.places[row].clone(),
                round => anywhere(round % 2 == 1),
            };
            if self.setting.deadline.is_past() || probe.spent() - swept > looks / 2 {
                break;
            }
            probe.climb(&mut x, row, &lo, &hi, CLIMB);
            probe.ascend(&mut x, row, &lo, &hi, ASCENT);
            self.look_at(&mut probe, x);
        }
        self.settle();
        (swept - before, probe.spent() - swept)
    }

    fn look_at(&mut self, probe: &mut Probe, x: Vec<f64>) {
        self.see(&x, probe.difference(&x));
    }

    /// Keeps a point if a row is larger there than at all others before.
    pub(super) fn see(&mut self, x: &[f64], difference: &[f64]) {
        for row in 0..self.best.len() {
            let value = sign(row) * difference[output(row)];
            if value > self.best[row] && value.is_finite() {
                self.best[row] = value;
                self.places[row] = x.to_vec();
            }
        }
    }

    /// Climbs from points of the round, in parallel: from those with the largest values, and from the ways through the parts with the
    /// largest bounds. There are as many ascents as the boxes so far allow.
    pub(super) fn climb(&mut self) {
        let mut candidates = std::mem::take(&mut self.candidates);
        let (boxes, near) = match &self.setting.purpose {
            Purpose::Epsilon(epsilon) => (BOXES_TO_DECIDE, 0.5 * epsilon.to_f64()),
            Purpose::Gap(_) | Purpose::Range(_) => (BOXES, f64::NEG_INFINITY),
        };
        let count = (self.cells / boxes).saturating_sub(self.ascents).min(CLIMBS);
        if count == 0 {
            return;
        }
        candidates.sort_by(|x, y| y.bound.total_cmp(&x.bound));
        let mut others = candidates.split_off(count.div_ceil(2).min(candidates.len()));
        others.retain(|sight| sight.value(sight.row) > near);
        others.sort_by(|x, y| y.value(y.row).total_cmp(&x.value(x.row)));
        candidates.extend(others.into_iter().take(count / 2));
        self.ascents += candidates.len();
        let (lo, hi) = self.tree.root();
        let before = self.ascents - candidates.len();
        let climbed = |(number, sight): (usize, Sight)| {
            let ascent = before + number;
            let mut probe = Probe::new(self.pair);
            let (row, mut x) = (sight.row, sight.x.clone());
            let mut most = sight.value(row);
            let mut random = ChaCha8Rng::seed_from_u64(self.setting.seed ^ ascent as u64);
            let mut within = || between(&sight.corner, &sight.other, || random.random());
            let others = [(within(), within()), (within(), within())];
            let ways = others.iter().map(|(from, to)| (from, to)).chain([(&sight.corner, &sight.other)]);
            for (from, to) in ways {
                probe.sweep(from, to, SWEEP, |at, difference| {
                    let value = sign(row) * difference[output(row)];
                    if value > most {
                        (most, x) = (value, at.to_vec());
                    }
                });
            }
            probe.climb(&mut x, row, lo, hi, CLIMB);
            probe.ascend(&mut x, row, lo, hi, ASCENT);
            let difference = probe.difference(&x).to_vec();
            (x, difference)
        };
        let climbed: Vec<_> = candidates.into_par_iter().enumerate().map(climbed).collect();
        climbed.iter().for_each(|(x, difference)| self.see(x, difference));
        if matches!(self.setting.purpose, Purpose::Gap(_)) {
            self.hop(HOPS * count);
        }
    }

    /// Climbs from points near the best one, in parallel: an ascent ends at the next maximum, and the parts on the other side of a few
    /// hyperplanes often have a larger one.
    fn hop(&mut self, count: usize) {
        let Some(row) = self.highest() else { return };
        let (lo, hi) = self.tree.root();
        let (place, seed, before) = (&self.places[row], self.setting.seed, self.hops);
        let hopped = |number: usize| {
            let number = (before + number) as u64;
            let mut random = ChaCha8Rng::seed_from_u64(seed ^ number.rotate_left(u64::BITS / 2));
            let mut probe = Probe::new(self.pair);
            let mut x = near(place, (lo, hi), || random.random());
            probe.ascend(&mut x, row, lo, hi, ASCENT);
            let difference = probe.difference(&x).to_vec();
            (x, difference)
        };
        let hopped: Vec<_> = (0..count).into_par_iter().map(hopped).collect();
        self.hops += count;
        hopped.iter().for_each(|(x, difference)| self.see(x, difference));
    }

    /// The row with the largest value that was seen.
    fn highest(&self) -> Option<usize> {
        let largest = (0..self.best.len()).reduce(|x, y| if self.best[y] > self.best[x] { y } else { x });
        largest.filter(|&row| self.best[row].is_finite())
    }

    /// Evaluates the best point exactly if that may change what is known.
    pub(super) fn settle(&mut self) {
        let Some(row) = self.highest() else { return };
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
        let beyond = match self.setting.purpose {
            Purpose::Range(_) => {
                let leaves = self.open.iter().chain(&self.stuck);
                leaves.map(|leaf| largest(&leaf.bounds)).fold(0.0, f64::max)
            }
            // They lie by their largest bounds, and there may be millions of them.
            Purpose::Epsilon(_) | Purpose::Gap(_) => {
                self.open.peek().into_iter().chain(&self.stuck).map(|leaf| leaf.far).fold(0.0, f64::max)
            }
        };
        let lower = largest(&self.best).max(self.lower);
        let upper = largest(&self.closed).max(beyond).min(self.setting.known);
        let (cells, open) = (self.cells, self.open.len());
        self.setting.progress.report(DifferenceProgress { lower, upper, cells, open });
    }
}

/// A point of the box with these opposite corners: so large a part of the way in each input.
fn between(from: &[f64], to: &[f64], mut part: impl FnMut() -> f64) -> Vec<f64> {
    let point = |(from, to): (&f64, &f64)| {
        let (part, way) = (part(), to - from);
        let x = if way.is_finite() { from + part * way } else { (1.0 - part) * from + part * to };
        x.clamp(from.min(*to), from.max(*to))
    };
    from.iter().zip(to).map(point).collect()
}

/// A point of the box not far from another one, most often on the same sides of it.
fn near(x: &[f64], (lo, hi): (&[f64], &[f64]), mut part: impl FnMut() -> f64) -> Vec<f64> {
    let distance = NEAR * (FAR / NEAR).powf(part());
    let moved = |j: usize| {
        let (stays, way) = (part() < STAY, 2.0 * part() - 1.0);
        let at_end = x[j] <= lo[j] || x[j] >= hi[j];
        let next = x[j] + distance * way * (hi[j] - lo[j]);
        if at_end && stays || !next.is_finite() { x[j] } else { next.clamp(lo[j], hi[j]) }
    };
    (0..x.len()).map(moved).collect()
}

#[cfg(test)]
mod tests {
    use fiberscope_check::difference::Pair;
    use fiberscope_core::{Activation, Domain, Layer, Matrix, Network};

    use super::super::exact::Exact;
    use super::super::search::Setting;
    use super::super::tree::Tree;
    use super::*;
    use crate::limit::{Deadline, Progress};

    /// A function of one input with a peak of 1/2 at 1/2 and one of 1 at 0.52, and zero.
    fn peaks() -> [Network; 2] {
        let network = |out: &[f64]| {
            let hidden: &[&[f64]] = &[&[1.0], &[1.0], &[1.0], &[1.0], &[1.0]];
            Network::from_rows(&[(hidden, &[0.0, -0.5, -0.51, -0.52, -0.53]), (&[out], &[0.0])]).unwrap()
        };
        [network(&[0.0; 5]), network(&[1.0, -51.0, 150.0, -200.0, 100.0])]
    }

    #[test]
    fn a_larger_maximum_near_the_best_one_is_found() {
        let [a, b] = peaks();
        let (pair, domain) =
            (Pair::new(&a.to_exact(), &b.to_exact()).unwrap(), Domain::from_bounds(&[(0.0, 1.0)]));
        let exact = Exact::new(&a, &b, &domain.unwrap());
        let setting = Setting {
            purpose: Purpose::Gap(0.1),
            points: &[],
            boxes: None,
            ceilings: Vec::new(),
            known: f64::INFINITY,
            seed: 0,
            deadline: &Deadline::NEVER,
            progress: Progress::SILENT,
        };
        let mut search = Search::new(&pair, &exact, Tree::new(&pair, vec![0.0], vec![1.0]), setting);
        search.see(&[0.5], &[0.5]);
        // An ascent from there stays there.
        let mut x = vec![0.5];
        assert!(Probe::new(&pair).ascend(&mut x, 0, &[0.0], &[1.0], ASCENT) < 0.6);
        search.hop(40);
        assert!((search.best[0] - 1.0).abs() < 1e-6, "{} at {:?}", search.best[0], search.places[0]);
        assert_eq!(search.hops, 40);
    }

    /// Zero, and a function of two inputs with many cells.
    fn many_cells() -> [Network; 2] {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut numbers = |n: usize| -> Vec<f64> { (0..n).map(|_| random.random::<f64>() - 0.5).collect() };
        let layers = [(2, 30), (30, 30), (30, 1)].map(|(n, m)| (n, numbers(n * m), numbers(m)));
        [0.0, 1.0].map(|factor| {
            let layer = |(l, (n, weight, bias)): (usize, &(usize, Vec<f64>, Vec<f64>))| {
                let last = l + 1 == layers.len();
                let scaled = |x: &[f64]| x.iter().map(|x| if last { factor * x } else { *x }).collect();
                let rows: Vec<Vec<f64>> = weight.chunks(*n).map(scaled).collect();
                let activation = if last { Activation::Identity } else { Activation::Relu };
                Layer::new(Matrix::from_rows(&rows).unwrap(), scaled(bias), activation)
            };
            Network::new(layers.iter().enumerate().map(layer).collect()).unwrap()
        })
    }

    #[test]
    fn looks_before_the_first_box_have_a_budget() {
        let [a, b] = many_cells();
        let pair = Pair::new(&a.to_exact(), &b.to_exact()).unwrap();
        let exact = Exact::new(&a, &b, &Domain::from_bounds(&[(-1.0, 1.0), (-1.0, 1.0)]).unwrap());
        let spent = |looks: usize| {
            let setting = Setting {
                purpose: Purpose::Gap(0.1),
                points: &[],
                boxes: None,
                ceilings: Vec::new(),
                known: f64::INFINITY,
                seed: 0,
                deadline: &Deadline::NEVER,
                progress: Progress::SILENT,
            };
            let tree = Tree::new(&pair, vec![-1.0, -1.0], vec![1.0, 1.0]);
            Search::new(&pair, &exact, tree, setting).look_around(looks)
        };
        let cost = Probe::new(&pair).cost();
        let (least, most) = (spent(0), spent(usize::MAX));
        // A step of every way and one ascent in any case.
        assert!(least.0 <= 3 * SWEEPS * cost && least.1 > 0, "{least:?}");
        assert!(most.0 > 4 * least.0 && most.1 > 4 * least.1, "{least:?} {most:?}");
        // Half is for the ways, of which a step costs two evaluations, and half for the ascents, but for the end of the last one.
        let looks = most.0.min(most.1) / 2;
        let some = spent(looks);
        assert!(some.0 <= looks / 2 + least.0 && some.0 > least.0, "{some:?} of {looks}");
        assert!(some.1 <= looks / 2 + most.1 / 3 && some.1 > least.1, "{some:?} of {looks}, {most:?}");
    }

    #[test]
    fn points_near_another_one_lie_in_the_box() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let (x, lo, hi) = ([0.0, 0.25, 3.0], [0.0, 0.0, 3.0], [1.0, 1.0, 3.0]);
        let (mut stayed, mut close) = (0, 0);
        for _ in 0..400 {
            let next = near(&x, (&lo, &hi), || random.random());
            assert!(next.iter().zip(lo.iter().zip(&hi)).all(|(x, (lo, hi))| lo <= x && x <= hi));
            stayed += usize::from(next[0] == 0.0);
            close += usize::from((next[1] - 0.25).abs() < 0.01);
        }
        assert!(stayed > 250 && close > 80 && close < 300, "{stayed} {close}");
    }
}
