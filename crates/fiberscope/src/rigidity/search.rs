//! Where points are looked for.

use std::collections::{HashMap, HashSet};

use fiberscope_check::rank::{Open, Pattern};
use fiberscope_core::residue::PRIME;
use fiberscope_core::{Domain, Matrix, Network, Neuron};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::RigidityOptions;
use super::evidence::Gathered;
use super::places::{random_line, random_point};
use super::walker::{Crossing, Walker};
use crate::dimension::{DimensionOptions, Patterns};

/// Lines that are walked at a time, and after how many rounds without anything new no more are.
const LINES: usize = 16;
const STALE: usize = 6;
const ROUNDS: usize = 400;
/// Crossings of one line.
const CROSSINGS: usize = 4000;
/// Rounds of walks for a neuron in vain after which there are no more.
const VAIN: usize = 8;

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

/// A search as it goes on.
pub struct Search<'a> {
    pub(super) walker: Walker<'a>,
    pub(super) gathered: Gathered,
    options: &'a RigidityOptions,
    /// Points of regions that were met and not used.
    pool: Vec<(Vec<f64>, Pattern)>,
}

/// Points of regions that are kept for the last step.
const POOL: usize = 4000;

impl Search<'_> {
    pub(super) fn is_late(&self) -> bool {
        self.options.deadline.is_past()
    }

    fn is_complete(&self) -> bool {
        self.gathered.incomplete().is_empty() && self.gathered.last_missing() == 0
    }

    pub(super) fn rng(&self, stage: u64, number: u64) -> ChaCha8Rng {
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
