//! Inputs at which the class may change: found in doubles, evaluated exactly.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::super::probe::Probe;
use super::objective::{Objective, Sure};
use super::search::Search;
use super::{ClassChange, Sureness, change};
use fiberscope_check::difference::class_change;

/// Random starts of the ascent before the first box.
const STARTS: usize = 48;
/// Rounds of an ascent.
const CLIMB: usize = 20;
/// The points of a round that are climbed from, and for how many boxes there is one.
const CLIMBS: usize = 4;
const BOXES: usize = 32;
/// A point is evaluated exactly if it is at most this part of the size of the outputs from changing the class.
const NEAR: f64 = 1e-12;
/// So many points may turn out not to change the class before only better ones are looked at.
const VAIN: usize = 32;

/// A point that may change the class, or be climbed from.
pub struct Candidate {
    pub x: Vec<f64>,
    pub objective: Objective,
    pub value: f64,
}

impl Search<'_> {
    /// Looks at the middle, and at the points that were given.
    pub(super) fn look_around(&mut self) -> Option<ClassChange> {
        let (lo, hi) = (self.root.0.clone(), self.root.1.clone());
        let mut probe = Probe::new(self.pair);
        let middle: Vec<f64> = lo.iter().zip(&hi).map(|(lo, hi)| 0.5 * lo + 0.5 * hi).collect();
        let given = self.options.points.iter().map(|x| inside(x, (&lo, &hi)));
        for (i, x) in [middle].into_iter().chain(given).enumerate() {
            if i > 0 && self.options.deadline.is_past() {
                return None;
            }
            if let Some(change) = self.look_at(&mut probe, x, false) {
                return Some(change);
            }
        }
        None
    }

    /// Climbs from random points.
    pub(super) fn climb(&mut self) -> Option<ClassChange> {
        let (lo, hi) = (self.root.0.clone(), self.root.1.clone());
        let mut probe = Probe::new(self.pair);
        let mut random = ChaCha8Rng::seed_from_u64(self.options.seed);
        for start in 0..STARTS {
            let mut part = || {
                let part: f64 = random.random();
                if start % 2 == 1 { part.round() } else { part }
            };
            let x: Vec<f64> = lo.iter().zip(&hi).map(|(lo, hi)| lo + part() * (hi - lo)).collect();
            if self.options.deadline.is_past() || x.iter().any(|x| x.is_nan()) {
                break;
            }
            if let Some(change) = self.look_at(&mut probe, inside(&x, (&lo, &hi)), true) {
                return Some(change);
            }
        }
        None
    }

    fn look_at(&mut self, probe: &mut Probe, x: Vec<f64>, climb: bool) -> Option<ClassChange> {
        let (objective, value) = Objective::at(probe, &x, self.sure)?;
        self.mark(probe, &objective);
        let found = self.evaluate(&Candidate { x: x.clone(), objective, value });
        if !climb && found.is_none() {
            return None;
        }
        // An input where the class changes by more is a better one.
        let climbed = climbed(probe, Candidate { x, objective, value }, (&self.root.0, &self.root.1));
        let better = self.evaluate(&climbed);
        self.refute(&[climbed]);
        better.or(found)
    }

    /// Remembers that `A` is sure of its class at the last point.
    fn mark(&mut self, probe: &Probe, objective: &Objective) {
        let (a, _) = probe.outputs();
        // Doubles propose: by much more than rounding, or it does not count.
        let size = a.iter().fold(0.0f64, |most, a| most.max(a.abs()));
        if self.sure.beyond(objective.class, a) > 1e-9 * size {
            self.sure_of[objective.class] = true;
        }
    }

    /// Looks at points of open boxes, and climbs from the best ones, in parallel.
    pub(super) fn look(&mut self, points: Vec<Vec<f64>>, boxes: usize) -> Option<ClassChange> {
        let sure = self.sure;
        let at = |x: Vec<f64>| {
            let (objective, value) = Objective::at(&mut Probe::new(self.pair), &x, sure)?;
            Some(Candidate { x, objective, value })
        };
        let mut candidates: Vec<Candidate> = points.into_par_iter().filter_map(at).collect();
        candidates.sort_by(|x, y| y.value.total_cmp(&x.value));
        candidates.truncate((boxes / BOXES).clamp(1, CLIMBS));
        if let Some(found) = candidates.first().and_then(|best| self.evaluate(best)) {
            return Some(found);
        }
        let (lo, hi) = (&self.root.0, &self.root.1);
        let climb = |candidate: Candidate| climbed(&mut Probe::new(self.pair), candidate, (lo, hi));
        let climbed: Vec<Candidate> = candidates.into_par_iter().map(climb).collect();
        let found = climbed.iter().find_map(|candidate| self.evaluate(candidate));
        self.refute(&climbed);
        found
    }

    /// Evaluates a candidate exactly, if doubles say that the class changes there.
    fn evaluate(&mut self, candidate: &Candidate) -> Option<ClassChange> {
        let enough = -NEAR * self.size;
        if candidate.value < enough || (self.vain >= VAIN && candidate.value <= self.best_vain) {
            return None;
        }
        let point = self.exact.at(&candidate.x)?;
        if let Some((class, rival)) = change(&point, &self.options.sureness) {
            return Some(ClassChange { point, class, rival });
        }
        self.vain += 1;
        self.best_vain = self.best_vain.max(candidate.value);
        None
    }

    /// With a confidence: whether a point has the lead that the proof is about and another class, although `A`
    /// is not as sure there. Then there is no proof.
    fn refute(&mut self, candidates: &[Candidate]) {
        if self.refuted || matches!(self.options.sureness, Sureness::Margin(_)) {
            return;
        }
        let sure = Sure::Lead(self.margin.to_f64());
        for candidate in candidates {
            let lead = Objective { sure, ..candidate.objective };
            if lead.of(&mut Probe::new(self.pair), &candidate.x) > 0.0
                && let Some(point) = self.exact.at(&candidate.x)
            {
                self.refuted |= class_change(&point.a, &point.b, self.margin).is_some();
                return;
            }
        }
    }
}

/// The point of a box that is nearest to a point.
fn inside(x: &[f64], (lo, hi): (&[f64], &[f64])) -> Vec<f64> {
    x.iter().zip(lo.iter().zip(hi)).map(|(x, (lo, hi))| x.clamp(*lo, *hi)).collect()
}

fn climbed(probe: &mut Probe, from: Candidate, root: (&[f64], &[f64])) -> Candidate {
    let Candidate { mut x, objective, .. } = from;
    let value = |probe: &mut Probe, x: &[f64]| objective.of(probe, x);
    let slopes = |probe: &mut Probe| objective.slopes(probe);
    probe.climb_by(&mut x, (&value, &slopes), root, CLIMB);
    // The class of A may be another one by now.
    match Objective::at(probe, &x, objective.sure) {
        Some((objective, value)) => Candidate { x, objective, value },
        None => Candidate { x, objective, value: f64::NEG_INFINITY },
    }
}
