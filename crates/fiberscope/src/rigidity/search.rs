//! Where points are looked for.

use std::collections::{HashMap, HashSet};

use fiberscope_check::rank::{Open, Pattern};
use fiberscope_core::residue::PRIME;
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
/// Rounds of walks for a neuron in vain after which there are no more, and what one has of climbs to its fold and
/// along it.
const VAIN: usize = 8;
const REACHES: usize = 3;
const CLIMBS: usize = 4;
const WANDERS: usize = 2;

/// What a search found.
pub struct Found {
    /// The evidence.
    pub gathered: Gathered,
    /// Points with all their rows.
    pub extra: Vec<usize>,
    /// The rank.
    pub rank: usize,
    /// The neurons with which dimensions that are open begin, in their order.
    pub open: Vec<Neuron>,
}

/// What a search found when all rows count.
struct Whole {
    extra: Vec<usize>,
    rank: usize,
    open: Option<Vec<Neuron>>,
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
    let whole = match options.thorough {
        true => search.whole(rank),
        false => Whole { extra: Vec::new(), rank, open: None },
    };
    let by_folds = || search.gathered.incomplete().into_iter();
    let by_folds = || {
        by_folds().flat_map(|neuron| std::iter::repeat_n(neuron, search.gathered.missing(neuron))).collect()
    };
    let open = whole.open.unwrap_or_else(by_folds);
    Found { extra: whole.extra, rank: whole.rank, open, gathered: search.gathered }
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
                let mut crossings = self.walker.line(&x, &d, far, CROSSINGS);
                crossings.retain(|each| !self.is_late() && self.gathered.wants(each));
                crossings
            };
            let found: Vec<Vec<Crossing>> = (0..LINES as u64).into_par_iter().map(line).collect();
            stale = if self.take_all(found) { 0 } else { stale + 1 };
        }
    }

    /// Walks and climbs to and along the folds of neurons of which something is missing, until those for each of
    /// them have been in vain for a while.
    fn walks(&mut self) {
        let mut vain: HashMap<Neuron, usize> = HashMap::new();
        for round in 0.. {
            if self.is_late() || self.is_complete() {
                return;
            }
            let mut incomplete = self.gathered.incomplete();
            incomplete.retain(|neuron| vain.get(neuron).is_none_or(|&vain| vain < VAIN));
            if incomplete.is_empty() {
                return;
            }
            let walk = |neuron: &Neuron| {
                let mut rng = self.rng(2 + round, (neuron.layer as u64) << 24 | neuron.unit as u64);
                let mut crossings = self.walk(*neuron, round, &mut rng);
                crossings.retain(|each| !self.is_late() && self.gathered.wants(each));
                crossings
            };
            let before: Vec<usize> = incomplete.iter().map(|&neuron| self.gathered.missing(neuron)).collect();
            let found: Vec<Vec<Crossing>> = incomplete.par_iter().map(walk).collect();
            self.take_all(found);
            for (&neuron, before) in incomplete.iter().zip(before) {
                let vain = vain.entry(neuron).or_default();
                *vain = if self.gathered.missing(neuron) < before { 0 } else { *vain + 1 };
            }
        }
    }

    /// What is tried for a neuron at a time: from known points of its fold, or from one that is looked for.
    fn walk(&self, neuron: Neuron, round: u64, rng: &mut ChaCha8Rng) -> Vec<Crossing> {
        let mut starts = self.gathered.starts(neuron).to_vec();
        if starts.is_empty() || round % 4 == 3 {
            for _ in 0..REACHES {
                let scale = 2f64.powf(rng.random_range(-3.0..6.0));
                starts.extend(self.walker.reach(neuron, None, &random_point(&self.walker, scale, rng)));
            }
        }
        let wanted = self.gathered.never_on(neuron);
        let mut found = Vec::new();
        let is_news = |mask: &Mask| self.gathered.gains(neuron, mask);
        for _ in 0..WANDERS.min(starts.len()) {
            let (start, _) = &starts[rng.random_range(0..starts.len())];
            found.extend(self.walker.wander(neuron, start, rng, &is_news));
        }
        for number in 0..wanted.len().min(CLIMBS) {
            let target = Neuron { layer: neuron.layer - 1, unit: wanted[rng.random_range(0..wanted.len())] };
            if number % 2 == 0 && !starts.is_empty() {
                let (start, _) = &starts[rng.random_range(0..starts.len())];
                found.extend(self.walker.climb(neuron, target, start));
                continue;
            }
            let scale = 2f64.powf(rng.random_range(-3.0..6.0));
            let start = self.walker.switched_on(target, &random_point(&self.walker, scale, rng));
            let reached = start.and_then(|start| self.walker.reach(neuron, Some(target), &start));
            found.extend(reached.and_then(|(x, mask)| {
                let (_, gradient) = self.walker.gradient(neuron, &x, &mask);
                self.walker.across(neuron, &x, &gradient, &mask)
            }));
        }
        if !starts.is_empty() && !self.is_late() {
            let start = starts[rng.random_range(0..starts.len())].clone();
            let fixed: Vec<f64> = (0..start.0.len()).map(|_| normal(rng)).collect();
            found.extend(self.walker.along(neuron, start, STEPS, &|_, _| fixed.clone()));
        }
        found
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
                let inside = crossing.points.iter().all(|x| self.walker.contains(x));
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

    /// What folds leave open, and points that say something of it.
    fn whole(&mut self, rank: usize) -> Whole {
        let network = self.walker.network();
        let hidden: usize = network.widths()[1..=network.hidden_depth()].iter().sum();
        let most = network.parameter_count() - hidden;
        let nothing = Whole { extra: Vec::new(), rank, open: None };
        if rank == most || self.is_late() {
            return nothing;
        }
        let residues = self.gathered.residues().clone();
        let evidence = self.gathered.evidence(Vec::new(), 0);
        let patterns = self.gathered.patterns().to_vec();
        let folds: Vec<(Neuron, &Pattern)> =
            evidence.folds.iter().map(|fold| (fold.neuron, &patterns[fold.points.0])).collect();
        let late = || self.is_late();
        let Ok(mut open) = Open::of_folds(&residues, &folds, &late) else { return nothing };
        for &point in &evidence.outputs {
            open.insert(&patterns[point]);
        }
        let mut telling = Telling::new(&open, self.rng(1 << 20, 0));
        let mut extra = Vec::new();
        for (place, pattern) in patterns.iter().enumerate() {
            if open.rank() == most || self.is_late() {
                break;
            }
            if telling.is_news(&open, pattern) && open.insert(pattern) {
                extra.push(place);
                telling.refresh(&open);
            }
        }
        let mut regions = std::mem::take(&mut self.pool);
        let mut stale = 0;
        for round in 0.. {
            let mut gained = false;
            for (point, pattern) in regions {
                if open.rank() == most || self.is_late() {
                    break;
                }
                if !telling.is_news(&open, &pattern) {
                    continue;
                }
                // Walks propose patterns; the exact one counts.
                let exact = exact_patterns(&self.walker, std::slice::from_ref(&point));
                let Some(pattern) = exact.map(|mut exact| exact.remove(0)) else { continue };
                if self.walker.contains(&point) && open.insert(&pattern) {
                    extra.push(self.gathered.place(&point, pattern));
                    telling.refresh(&open);
                    gained = true;
                }
            }
            stale = if gained { 0 } else { stale + 1 };
            if open.rank() == most || self.is_late() || stale >= STALE {
                break;
            }
            regions = self.regions_for(&open.starts(), round);
        }
        if open.rank() <= rank {
            return nothing;
        }
        // Without a point of its own this elimination would not be asked for.
        if extra.is_empty() {
            extra.push(0);
        }
        Whole { extra, rank: open.rank(), open: Some(open.starts()) }
    }

    /// Regions in which neurons are on of which something is open.
    fn regions_for(&self, open: &[Neuron], round: u64) -> Vec<(Vec<f64>, Mask)> {
        let mut neurons = open.to_vec();
        neurons.dedup();
        let of_neuron = |&neuron: &Neuron| {
            let mut rng = self.rng((1 << 21) + round, (neuron.layer as u64) << 24 | neuron.unit as u64);
            let mut found = Vec::new();
            let scale = 2f64.powf(rng.random_range(-3.0..6.0));
            let fresh = random_point(&self.walker, scale, &mut rng);
            let starts = self.gathered.starts(neuron);
            let start = match starts.len() {
                0 => self.walker.reach(neuron, None, &fresh).map_or(fresh, |(x, _)| x),
                n => starts[rng.random_range(0..n)].0.clone(),
            };
            let wanted = self.gathered.never_on(neuron);
            for _ in 0..wanted.len().min(CLIMBS) {
                let target =
                    Neuron { layer: neuron.layer - 1, unit: wanted[rng.random_range(0..wanted.len())] };
                let scale = 2f64.powf(rng.random_range(-3.0..6.0));
                let fresh = self.walker.switched_on(target, &random_point(&self.walker, scale, &mut rng));
                let inside = self.walker.climb_inside(neuron, target, &start);
                for x in fresh.into_iter().chain(inside) {
                    let mask = self.walker.mask_at(&x);
                    found.push((x, mask));
                }
            }
            let d = unit((0..start.len()).map(|_| normal(&mut rng)).collect());
            if let Some(d) = d.filter(|_| !self.is_late()) {
                let crossings = self.walker.line(&start, &d, f64::INFINITY, STEPS);
                let on = crossings.into_iter().filter(|each| each.mask[neuron.layer][neuron.unit]);
                found.extend(on.map(|crossing| {
                    let [before, _] = crossing.points;
                    (before, crossing.mask)
                }));
            }
            found
        };
        neurons.par_iter().flat_map_iter(of_neuron).collect()
    }
}

/// Tells whether a region says something new of what is open: along one random direction, which it does not change
/// by chance only once in 2^61 times.
struct Telling<'a> {
    direction: Open<'a>,
    seen: HashSet<Pattern>,
    rng: ChaCha8Rng,
}

impl<'a> Telling<'a> {
    fn new(open: &Open<'a>, rng: ChaCha8Rng) -> Self {
        let mut telling = Telling { direction: open.clone(), seen: HashSet::new(), rng };
        telling.refresh(open);
        telling
    }

    fn refresh(&mut self, open: &Open<'a>) {
        let mut factors: Vec<u64> = (0..open.count()).map(|_| self.rng.random_range(0..PRIME)).collect();
        open.forbidden().complete(&mut factors);
        self.direction = open.along(&factors);
    }

    fn is_news(&mut self, open: &Open<'a>, pattern: &Pattern) -> bool {
        open.count() > 0 && self.seen.insert(pattern.clone()) && self.direction.gains(pattern)
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
