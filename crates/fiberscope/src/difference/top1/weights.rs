//! Weights that hold a rival down.
//!
//! The bound of a rival is a convex function of its weights `w >= 0`, and the leads `A_i - A_l - g` at the place
//! where its row is largest are a subgradient. Polyak's steps aim a little below 0, where the bound has to be.
//! Every bound that is compared is one of weights in whole units: those that are written down.

use fiberscope_check::difference::{Bounder, MAX_WEIGHT, WEIGHT_STEPS, own_lead};

/// Weights by class, in units.
pub type Weights = Vec<(u32, u64)>;

/// The most steps.
pub const STEPS: usize = 8;
/// So many steps without a better bound are the last ones.
const PATIENCE: usize = 3;
/// The length of a step, as a part of Polyak's.
const LENGTH: f64 = 0.7;
/// How far below 0 the steps aim, as a part of the first bound.
const BELOW: f64 = 0.2;

/// A rival of a class, and what it takes to settle it.
pub struct Rival {
    pub class: usize,
    pub rival: usize,
    /// At most the margin.
    pub margin: f64,
    /// A bound is to be less than this.
    pub aim: f64,
    /// The most steps.
    pub steps: usize,
}

impl Rival {
    /// The best weights that a few steps find from these on, whose bound was the last row, and their bound. The
    /// last row of the bounder is theirs unless the bound is below the aim.
    pub fn hold(&self, bounder: &mut Bounder, start: &[(u32, u64)], bound: f64) -> (Weights, f64) {
        let mut best = (start.to_vec(), bound);
        if !best.1.is_finite() || self.steps == 0 {
            return best;
        }
        let first = best.1.max(f64::MIN_POSITIVE);
        let (mut at, mut value, mut idle, mut last) = (dense(start, bounder), best.1, 0, true);
        // B alone is one of the best beginnings.
        if start == own_lead(self.rival) {
            let leads = self.leads(bounder);
            let alone = self.bound(bounder, &[]);
            if alone < value {
                (at, value, best) = (vec![0.0; at.len()], alone, (Vec::new(), alone));
            } else {
                last = false;
                self.step(&mut at, &leads, value + BELOW * first);
            }
            if best.1 < self.aim {
                return best;
            }
        }
        for _ in 0..self.steps {
            if last {
                let leads = self.leads(bounder);
                self.step(&mut at, &leads, value + BELOW * first);
            }
            let weights = self.units(&mut at);
            value = self.bound(bounder, &weights);
            last = true;
            if value < best.1 {
                idle = if value < 0.99 * best.1 { 0 } else { idle + 1 };
                best = (weights, value);
            } else {
                idle += 1;
            }
            if best.1 < self.aim || idle >= PATIENCE || !value.is_finite() {
                break;
            }
        }
        if best.1 >= self.aim {
            self.bound(bounder, &best.0);
        }
        best
    }

    pub fn bound(&self, bounder: &mut Bounder, weights: &[(u32, u64)]) -> f64 {
        bounder.rival(self.class, self.rival, weights, self.margin)
    }

    /// `A_i - A_l - g` where the last row is largest.
    fn leads(&self, bounder: &Bounder) -> Vec<f64> {
        let a = bounder.relaxed_outputs();
        let lead = |l: usize| if l == self.class { 0.0 } else { a[self.class] - a[l] - self.margin };
        (0..a.len()).map(lead).collect()
    }

    fn step(&self, at: &mut [f64], leads: &[f64], far: f64) {
        // Leads that would take a weight below 0 have no say.
        let moves = |w: f64, lead: f64| w > 0.0 || lead < 0.0;
        let square: f64 = at.iter().zip(leads).filter(|(w, g)| moves(**w, **g)).map(|(_, g)| g * g).sum();
        if square > 0.0 && square.is_finite() {
            let length = LENGTH * far / square;
            at.iter_mut().zip(leads).for_each(|(w, lead)| *w = (*w - length * lead).max(0.0));
        }
    }

    /// The weights in whole units; `at` becomes what is rounded.
    fn units(&self, at: &mut [f64]) -> Weights {
        let most = (MAX_WEIGHT / at.len() as u64) as f64;
        let mut weights = Vec::new();
        for (l, w) in at.iter_mut().enumerate() {
            let units = (*w * WEIGHT_STEPS as f64).round().clamp(0.0, most);
            *w = units / WEIGHT_STEPS as f64;
            if units >= 1.0 && l != self.class {
                weights.push((l as u32, units as u64));
            }
        }
        weights
    }
}

fn dense(weights: &[(u32, u64)], bounder: &Bounder) -> Vec<f64> {
    let mut at = vec![0.0; bounder.pair().outputs()];
    for &(l, weight) in weights {
        at[l as usize] = weight as f64 / WEIGHT_STEPS as f64;
    }
    at
}
