//! What is tried for a neuron of which something is missing, and where searches begin.

use fiberscope_core::Neuron;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::places::{normal, random_point};
use super::search::Search;
use super::walker::{Crossing, Mask, unit};

/// Steps of one walk, and what one round has of climbs to a fold and along it.
const STEPS: usize = 64;
const REACHES: usize = 3;
const CLIMBS: usize = 4;
const WANDERS: usize = 2;

impl Search<'_> {
    /// What is tried for a neuron at a time: from known points of its fold, or from one that is looked for.
    pub(super) fn walk(&self, neuron: Neuron, round: u64, rng: &mut ChaCha8Rng) -> Vec<Crossing> {
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
            let turn = (round as usize * CLIMBS + number) % wanted.len();
            let target = Neuron { layer: neuron.layer - 1, unit: wanted[turn] };
            found
                .extend(self.both_on(neuron, target, rng).and_then(|x| self.fold_beside(neuron, target, &x)));
            if number % 2 == 0 && !starts.is_empty() {
                let (start, _) = &starts[rng.random_range(0..starts.len())];
                found.extend(self.walker.climb(neuron, target, start));
                continue;
            }
            let scale = 2f64.powf(rng.random_range(-3.0..6.0));
            let start = self.walker.switched_on(target, &random_point(&self.walker, scale, rng));
            found.extend(start.and_then(|start| self.fold_beside(neuron, target, &start)));
        }
        if !starts.is_empty() && !self.is_late() {
            let start = starts[rng.random_range(0..starts.len())].clone();
            let fixed: Vec<f64> = (0..start.0.len()).map(|_| normal(rng)).collect();
            found.extend(self.walker.along(neuron, start, STEPS, &|_, _| fixed.clone()));
        }
        found
    }

    /// A point where a neuron and one of the layer before are both on, by an ascent of either where the other is on.
    fn both_on(&self, neuron: Neuron, target: Neuron, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        let mut ascend = |goal: Neuron, with: Neuron| {
            let scale = 2f64.powf(rng.random_range(-3.0..6.0));
            let start = self.walker.switched_on(with, &random_point(&self.walker, scale, rng))?;
            self.walker.ascend(goal, with, &start)
        };
        ascend(neuron, target).or_else(|| ascend(target, neuron))
    }

    /// The fold of a neuron where another one is on, from a point where both are.
    fn fold_beside(&self, neuron: Neuron, target: Neuron, x: &[f64]) -> Option<Crossing> {
        let (fold, mask) = self.walker.reach(neuron, Some(target), x)?;
        let (_, gradient) = self.walker.gradient(neuron, &fold, &mask);
        self.walker.across(neuron, &fold, &gradient, &mask)
    }

    /// Regions in which neurons are on of which something is open.
    pub(super) fn regions_for(&self, open: &[Neuron], round: u64) -> Vec<(Vec<f64>, Mask)> {
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
            for number in 0..wanted.len().min(CLIMBS) {
                let turn = (round as usize * CLIMBS + number) % wanted.len();
                let target = Neuron { layer: neuron.layer - 1, unit: wanted[turn] };
                let both = self.both_on(neuron, target, &mut rng);
                let scale = 2f64.powf(rng.random_range(-3.0..6.0));
                let fresh = self.walker.switched_on(target, &random_point(&self.walker, scale, &mut rng));
                let inside = self.walker.climb_inside(neuron, target, &start);
                for x in both.into_iter().chain(fresh).chain(inside) {
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
