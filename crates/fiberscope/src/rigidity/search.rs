//! Where points are looked for.

use fiberscope_check::rank::{Echelon, Pattern};
use fiberscope_core::{Domain, Matrix, Network, Neuron};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::RigidityOptions;
use super::evidence::Gathered;
use super::walker::{Crossing, Mask, Walker, unit};
use crate::dimension::{DimensionOptions, Patterns};

/// Lines that are walked at a time, and after how many rounds without anything new no more are.
const LINES: usize = 16;
const STALE: usize = 6;
const ROUNDS: usize = 400;
/// Crossings of one line, and steps of one walk.
const CROSSINGS: usize = 4000;
const STEPS: usize = 64;
/// Rounds of walks along folds.
const WALKS: usize = 24;
/// Regions that are tried with all their rows without anything new.
const FRUITLESS: usize = 400;

/// What a search found.
pub struct Found {
    /// The evidence.
    pub gathered: Gathered,
    /// Points with all their rows.
    pub extra: Vec<usize>,
    /// The rank.
    pub rank: usize,
}

/// Looks for points until the rank cannot grow, nothing new is found, or the deadline comes.
pub fn search(network: &Network, domain: &Domain, options: &RigidityOptions) -> Found {
    let walker = Walker::new(network, domain, &options.deadline);
    let mut search = Search { walker, gathered: Gathered::new(network), options, pool: Vec::new() };
    search.first_point();
    search.lines();
    if options.thorough {
        search.walks();
    }
    let rank = search.gathered.rank();
    let (extra, rank) = if options.thorough { search.whole(rank) } else { (Vec::new(), rank) };
    Found { gathered: search.gathered, extra, rank }
}

struct Search<'a> {
    walker: Walker<'a>,
    gathered: Gathered,
    options: &'a RigidityOptions,
    /// Points of regions that were met and not used.
    pool: Vec<(Vec<f64>, Pattern)>,
}

/// Points of regions that are kept for the last step.
const POOL: usize = 4000;

impl Search<'_> {
    fn is_late(&self) -> bool {
        self.options.deadline.is_past()
    }

    fn is_complete(&self) -> bool {
        self.gathered.incomplete().is_empty() && self.gathered.last_missing() == 0
    }

    fn rng(&self, stage: u64, number: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.options.seed);
        rng.set_stream(stage << 40 | number);
        rng
    }

    /// A point for networks without folds.
    fn first_point(&mut self) {
        let mut rng = self.rng(0, 0);
        for _ in 0..8 {
            let point = random_point(&self.walker, 1.0, &mut rng);
            if let Some(mut patterns) = exact_patterns(&self.walker, std::slice::from_ref(&point)) {
                self.gathered.place(&point, patterns.remove(0));
                return;
            }
        }
    }

    /// Takes what lines cross.
    fn lines(&mut self) {
        let mut stale = 0;
        for round in 0..ROUNDS as u64 {
            if self.is_late() || self.is_complete() || stale >= STALE {
                return;
            }
            let line = |number: u64| {
                let mut rng = self.rng(1, round * LINES as u64 + number);
                let (x, d, far) = random_line(&self.walker, &mut rng);
                self.walker.line(&x, &d, far, CROSSINGS)
            };
            let found: Vec<Vec<Crossing>> = (0..LINES as u64).into_par_iter().map(line).collect();
            stale = if self.take_all(found) { 0 } else { stale + 1 };
        }
    }

    /// Walks to and along the folds of neurons of which something is missing.
    fn walks(&mut self) {
        let mut stale = 0;
        for round in 0..WALKS as u64 {
            if self.is_late() || self.is_complete() || stale >= 3 {
                return;
            }
            let walk = |(at, neuron): (usize, &Neuron)| {
                let mut rng = self.rng(2 + round, at as u64);
                self.walk(*neuron, round, &mut rng)
            };
            let incomplete = self.gathered.incomplete();
            let found: Vec<Vec<Crossing>> = incomplete.par_iter().enumerate().map(walk).collect();
            stale = if self.take_all(found) { 0 } else { stale + 1 };
        }
    }

    /// One walk for a neuron: from a known point of its fold, or from one that is looked for.
    fn walk(&self, neuron: Neuron, round: u64, rng: &mut ChaCha8Rng) -> Vec<Crossing> {
        if self.is_late() {
            return Vec::new();
        }
        let starts = self.gathered.starts(neuron);
        let fresh = || {
            let mut rng = self.rng(100 + round, neuron.unit as u64);
            let scale = 2f64.powf(rng.random_range(-3.0..6.0));
            self.walker.chase(neuron, &random_point(&self.walker, scale, &mut rng), 4 * STEPS)
        };
        let start = match starts.len() {
            0 => fresh(),
            _ if round % 4 == 3 => fresh().or_else(|| Some(starts[0].clone())),
            n => Some(starts[rng.random_range(0..n)].clone()),
        };
        let Some(start) = start else { return Vec::new() };
        let wanted = self.gathered.never_on(neuron);
        if !wanted.is_empty() && round.is_multiple_of(2) {
            let target = Neuron { layer: neuron.layer - 1, unit: wanted[rng.random_range(0..wanted.len())] };
            let aim = |x: &[f64], mask: &Mask| self.walker.gradient(target, x, mask).1;
            return self.walker.along(neuron, start, STEPS, &aim);
        }
        let fixed: Vec<f64> = (0..start.0.len()).map(|_| normal(rng)).collect();
        self.walker.along(neuron, start, STEPS, &|_, _| fixed.clone())
    }

    /// Takes crossings that may add something, in their order; whether one did.
    fn take_all(&mut self, found: Vec<Vec<Crossing>>) -> bool {
        let mut gained = false;
        for crossings in found {
            if self.is_late() {
                return gained;
            }
            let wanted: Vec<Crossing> =
                crossings.into_iter().filter(|each| self.gathered.wants(each)).collect();
            if wanted.is_empty() {
                continue;
            }
            let points: Vec<Vec<f64>> = wanted.iter().flat_map(|crossing| crossing.points.clone()).collect();
            let together = exact_patterns(&self.walker, &points);
            for (at, crossing) in wanted.iter().enumerate() {
                // Where a pre-activation is zero at one point, the others are looked at one by one.
                let alone = || exact_patterns(&self.walker, &crossing.points);
                let pair = together.as_ref().map(|all| all[2 * at..2 * at + 2].to_vec()).or_else(alone);
                let Some([p, q]) = pair.as_deref() else { continue };
                let inside = crossing.points.iter().all(|x| is_inside(&self.walker, x));
                if inside && self.gathered.take(crossing, [p.clone(), q.clone()]) {
                    gained = true;
                } else if inside && self.pool.len() < POOL {
                    self.pool.push((crossing.points[0].clone(), p.clone()));
                    self.pool.push((crossing.points[1].clone(), q.clone()));
                }
            }
        }
        gained
    }

    /// One elimination of all rows, then of those of regions that were met.
    fn whole(&mut self, rank: usize) -> (Vec<usize>, usize) {
        let network = self.walker.network();
        let hidden: usize = network.widths()[1..=network.hidden_depth()].iter().sum();
        let most = network.parameter_count() - hidden;
        let size = network.parameter_count();
        let bytes = size.saturating_mul(size).saturating_mul(8);
        let fits =
            fiberscope_check::rank::fits(network, true).is_ok() && self.options.deadline.has_room(bytes);
        if rank == most || !fits || self.is_late() {
            return (Vec::new(), rank);
        }
        let evidence = self.gathered.evidence(Vec::new(), 0);
        let mut all = Echelon::default();
        for fold in &evidence.folds {
            if self.is_late() {
                return (Vec::new(), rank);
            }
            let (pattern, Neuron { layer, unit }) = (&self.gathered.patterns()[fold.points.0], fold.neuron);
            let rows = self.gathered.residues().differentials(pattern, layer, unit);
            rows.into_iter().for_each(|row| _ = all.insert(row));
        }
        let insert = |all: &mut Echelon, gathered: &Gathered, pattern: &Pattern| {
            for output in 0..network.output_width() {
                let rows = gathered.residues().differentials(pattern, network.hidden_depth(), output);
                rows.into_iter().for_each(|row| _ = all.insert(row));
            }
        };
        for &point in &evidence.outputs {
            insert(&mut all, &self.gathered, &self.gathered.patterns()[point]);
        }
        let (mut extra, mut fruitless) = (Vec::new(), 0);
        let known = self.gathered.patterns().to_vec().into_iter().enumerate();
        let known = known.map(|(place, pattern)| (Some(place), Vec::new(), pattern));
        let pool = std::mem::take(&mut self.pool).into_iter().map(|(point, pattern)| (None, point, pattern));
        let mut seen = std::collections::HashSet::new();
        for (place, point, pattern) in known.chain(pool).collect::<Vec<_>>() {
            if all.rank() >= most || fruitless >= FRUITLESS || self.is_late() {
                break;
            }
            if !seen.insert(pattern.clone()) {
                continue;
            }
            let before = all.rank();
            insert(&mut all, &self.gathered, &pattern);
            if all.rank() > before {
                extra.push(place.unwrap_or_else(|| self.gathered.place(&point, pattern)));
                fruitless = 0;
            } else {
                fruitless += 1;
            }
        }
        if all.rank() > rank {
            // Without a point of its own the elimination would not be asked for.
            if extra.is_empty() {
                extra.push(0);
            }
            (extra, all.rank())
        } else {
            (Vec::new(), rank)
        }
    }
}

/// The patterns of points, exactly; `None` if a pre-activation is zero at one of them.
fn exact_patterns(walker: &Walker, points: &[Vec<f64>]) -> Option<Vec<Pattern>> {
    let network = walker.network();
    let finite = points.iter().flatten().all(|x| x.is_finite());
    let matrix = Matrix::from_rows(points).filter(|_| finite)?;
    let options = DimensionOptions::new().deadline(walker.deadline().clone());
    let patterns = Patterns::of(network, &matrix, &options).ok()?;
    if patterns.zeros() > 0 {
        return None;
    }
    let layer =
        |i: usize, l: usize, width: usize| (0..width).map(|unit| patterns.is_active(i, l, unit)).collect();
    let widths = network.widths();
    let pattern = |i: usize| (0..network.hidden_depth()).map(|l| layer(i, l, widths[l + 1])).collect();
    Some((0..points.len()).map(pattern).collect())
}

fn is_inside(walker: &Walker, x: &[f64]) -> bool {
    x.iter().zip(walker.sides()).all(|(&x, &(low, high))| low < x && x < high && x.is_finite())
}

/// A line: where it begins, its direction, and how far it goes.
fn random_line(walker: &Walker, rng: &mut impl Rng) -> (Vec<f64>, Vec<f64>, f64) {
    let scale = 2f64.powf(rng.random_range(-3.0..8.0));
    let (start, n) = (random_point(walker, scale, rng), walker.sides().len());
    let target = match rng.random_range(0..3) {
        0 => random_point(walker, scale, rng),
        _ => meeting_point(walker, rng),
    };
    let straight: Vec<f64> = target.iter().zip(&start).map(|(t, s)| t - s).collect();
    let random = (0..n).map(|_| normal(rng)).collect();
    let d = unit(straight).or_else(|| unit(random)).unwrap_or_else(|| vec![1.0; n]);
    let distance = target.iter().zip(&start).map(|(t, s)| (t - s) * (t - s)).sum::<f64>().sqrt();
    (start, d, 4.0 * distance + 4.0 * scale)
}

/// A point near which several hyperplanes of the first layer meet, by projections from one to the next.
fn meeting_point(walker: &Walker, rng: &mut impl Rng) -> Vec<f64> {
    const SWEEPS: usize = 12;
    let first = &walker.network().layers()[0];
    let mut x = random_point(walker, 1.0, rng);
    let count = first.width().min(x.len()).min(24);
    let units: Vec<usize> = (0..count).map(|_| rng.random_range(0..first.width())).collect();
    for _ in 0..SWEEPS {
        for &unit in &units {
            let row = first.weight().row(unit);
            let square: f64 = row.iter().map(|w| w * w).sum();
            if square.is_normal() {
                let z = row.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>() + first.bias()[unit];
                x.iter_mut().zip(row).for_each(|(x, w)| *x -= z / square * w);
            }
        }
    }
    for (x, &(low, high)) in x.iter_mut().zip(walker.sides()) {
        *x = x.clamp(low, high);
    }
    x
}

/// A point of the domain, of about this size where the domain has no ends.
fn random_point(walker: &Walker, scale: f64, rng: &mut impl Rng) -> Vec<f64> {
    let coordinate = |&(low, high): &(f64, f64)| {
        let share: f64 = rng.random();
        match (low.is_finite(), high.is_finite()) {
            (true, true) => low + share * (high - low),
            (true, false) => low + share * scale,
            (false, true) => high - share * scale,
            (false, false) => normal(rng) * scale,
        }
    };
    walker.sides().iter().map(coordinate).collect()
}

/// A number that is normally distributed, about.
fn normal(rng: &mut impl Rng) -> f64 {
    (0..4).map(|_| rng.random_range(-1.0..1.0)).sum::<f64>()
}
