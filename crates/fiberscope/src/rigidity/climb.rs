//! Climbs, in doubles: to the fold of a neuron, and along it to where another neuron is on.
//!
//! A walk from region to region takes as many steps as it passes regions. A climb goes as far as it gains, over many
//! of them at once: along the gradient, and back onto the fold by a search on a line.

use std::collections::HashSet;

use fiberscope_core::Neuron;
use rand::{Rng, RngExt};

use super::walker::{Crossing, Mask, Walker, dot, norm, unit};

/// Steps of a climb, and evaluations of a search on a line.
const STEPS: usize = 60;
const EVALUATIONS: usize = 40;
/// Random steps near a fold, and after how many they go back to it.
const WANDERED: usize = 2000;
const HOME: usize = 32;
/// Crossings that are proposed on the way.
const PROPOSED: usize = 16;
/// Climbs end where steps are shorter than this part of the size of the point.
const SHORT: f64 = 1e-7;

impl Walker<'_> {
    /// Climbs from `x` to the fold of a neuron: a point on it and the pattern there. With a neuron of a layer before
    /// that is on at `x` it stays where that one is on.
    pub fn reach(&self, neuron: Neuron, with: Option<Neuron>, x: &[f64]) -> Option<(Vec<f64>, Mask)> {
        let mut x = x.to_vec();
        let (mut stride, down) = (1.0 + norm(&x), self.value(neuron, &x) > 0.0);
        let keeps = |y: &[f64]| with.is_none_or(|with| self.value(with, y) > 0.0);
        for _ in 0..STEPS {
            let mask = self.mask_at(&x);
            let (z, gradient) = self.gradient(neuron, &x, &mask);
            let aim: Vec<f64> = gradient.into_iter().map(|g| if down { -g } else { g }).collect();
            let step = |aim: Vec<f64>| {
                let d = unit(aim)?;
                let length = stride.min(0.999 * self.room(&x, &d));
                Some((moved(&x, length, &d), length))
            };
            let (mut y, mut length) = step(aim.clone())?;
            if let Some(with) = with.filter(|_| !keeps(&y)) {
                let wall = unit(self.gradient(with, &x, &mask).1)?;
                (y, length) = step(tangent(aim, &wall))?;
            }
            let there = self.value(neuron, &y);
            if (there > 0.0) != down && keeps(&y) {
                let x = self.zero_between(neuron, (&x, z), (&y, there))?;
                let mask = self.mask_at(&x);
                return Some((x, mask));
            }
            if there.abs() < z.abs() && keeps(&y) {
                (x, stride) = (y, 2.0 * length);
            } else {
                stride = length / 4.0;
            }
            if stride <= SHORT * (1.0 + norm(&x)) || self.deadline().is_past() {
                break;
            }
        }
        None
    }

    /// A point beyond the fold of a neuron that is off at `x`, as far behind it; `x` if it is on there.
    pub fn switched_on(&self, neuron: Neuron, x: &[f64]) -> Option<Vec<f64>> {
        if self.value(neuron, x) > 0.0 {
            return Some(x.to_vec());
        }
        let (fold, _) = self.reach(neuron, None, x)?;
        let (_, gradient) = self.gradient(neuron, &fold, &self.mask_at(&fold));
        let inwards = unit(gradient)?;
        let distance = x.iter().zip(&fold).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt();
        let y = moved(&fold, distance.min(0.5 * self.room(&fold, &inwards)), &inwards);
        (self.value(neuron, &y) > 0.0).then_some(y)
    }

    /// Climbs along the fold of a neuron from a point on it to where another neuron, of a layer before, is on: the
    /// crossing there.
    pub fn climb(&self, neuron: Neuron, target: Neuron, x: &[f64]) -> Option<Crossing> {
        let mut x = x.to_vec();
        let mut stride = 0.5 * (1.0 + norm(&x));
        for _ in 0..STEPS {
            let mask = self.mask_at(&x);
            let (height, aim) = self.gradient(target, &x, &mask);
            let (_, gradient) = self.gradient(neuron, &x, &mask);
            let across = unit(gradient)?;
            let d = unit(tangent(aim, &across))?;
            let length = stride.min(0.999 * self.room(&x, &d));
            let y = self.onto(neuron, &moved(&x, length, &d), &across, length);
            match y.map(|y| (self.value(target, &y), y)) {
                Some((there, y)) if there > 0.0 => {
                    let mask = self.mask_at(&y);
                    let (_, gradient) = self.gradient(neuron, &y, &mask);
                    return self.across(neuron, &y, &gradient, &mask);
                }
                Some((there, y)) if there > height => (x, stride) = (y, 2.0 * length),
                _ => stride = length / 4.0,
            }
            if stride <= SHORT * (1.0 + norm(&x)) || self.deadline().is_past() {
                break;
            }
        }
        None
    }

    /// Climbs from a point of the fold of a neuron to where both it and a neuron of a layer before are on.
    pub fn climb_inside(&self, neuron: Neuron, target: Neuron, x: &[f64]) -> Option<Vec<f64>> {
        let mut x = x.to_vec();
        let mut stride = 0.5 * (1.0 + norm(&x));
        for _ in 0..STEPS {
            let mask = self.mask_at(&x);
            let (height, aim) = self.gradient(target, &x, &mask);
            let (_, gradient) = self.gradient(neuron, &x, &mask);
            let inwards = unit(gradient)?;
            let straight = unit(aim.clone())?;
            let along = |d: &[f64]| moved(&x, stride.min(0.999 * self.room(&x, d)), d);
            let mut y = along(&straight);
            if self.value(neuron, &y) <= 0.0 {
                y = along(&unit(tangent(aim, &inwards))?);
                if self.value(neuron, &y) <= 0.0 {
                    y = self.onto(neuron, &y, &inwards, stride).unwrap_or(y);
                    let (_, gradient) = self.gradient(neuron, &y, &self.mask_at(&y));
                    let inwards = unit(gradient)?;
                    y = moved(&y, (1e-3 * stride).min(0.5 * self.room(&y, &inwards)), &inwards);
                }
            }
            let (own, there) = (self.value(neuron, &y), self.value(target, &y));
            if own > 0.0 && there > 0.0 {
                return Some(y);
            }
            if own > 0.0 && there > height {
                (x, stride) = (y, 2.0 * stride);
            } else {
                stride /= 4.0;
            }
            if stride <= SHORT * (1.0 + norm(&x)) || self.deadline().is_past() {
                break;
            }
        }
        None
    }

    /// Wanders near the fold of a neuron, from a point on it, by random steps of all lengths, and proposes crossings
    /// where what is on in the layers before is news. It costs evaluations of these layers alone.
    pub fn wander(
        &self,
        neuron: Neuron,
        start: &[f64],
        rng: &mut impl Rng,
        is_news: &dyn Fn(&Mask) -> bool,
    ) -> Vec<Crossing> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let (mut fold, mut x) = (start.to_vec(), start.to_vec());
        for step in 0..WANDERED {
            if found.len() >= PROPOSED || self.deadline().is_past() {
                break;
            }
            if step % HOME == 0 {
                x.clone_from(&fold);
            }
            let d: Vec<f64> = x.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
            let Some(d) = unit(d) else { continue };
            let length = (norm(&x) + 0.01) * 2f64.powf(rng.random_range(-8.0..1.0));
            let y = moved(&x, length.min(0.999 * self.room(&x, &d)), &d);
            let (z, there) = (self.value(neuron, &x), self.value(neuron, &y));
            if (z > 0.0) == (there > 0.0) || z == 0.0 {
                x = y;
                continue;
            }
            let Some(point) = self.zero_between(neuron, (&x, z), (&y, there)) else { continue };
            let before = self.mask_before(neuron.layer, &point);
            if seen.insert(before.clone()) && is_news(&before) {
                let mask = self.mask_at(&point);
                let (_, gradient) = self.gradient(neuron, &point, &mask);
                found.extend(self.across(neuron, &point, &gradient, &mask));
            }
            fold = point;
            x.clone_from(&fold);
        }
        found
    }

    /// The point of a neuron's fold on the line from `x` in the directions `d` and `-d`, not far away.
    fn onto(&self, neuron: Neuron, x: &[f64], d: &[f64], reach: f64) -> Option<Vec<f64>> {
        let z = self.value(neuron, x);
        if z == 0.0 {
            return Some(x.to_vec());
        }
        let mut length = reach / 16.0;
        for _ in 0..EVALUATIONS / 8 {
            for sign in [if z > 0.0 { -1.0 } else { 1.0 }, if z > 0.0 { 1.0 } else { -1.0 }] {
                let y = moved(x, sign * length, d);
                let there = self.value(neuron, &y);
                if (there > 0.0) != (z > 0.0) {
                    return self.zero_between(neuron, (x, z), (&y, there)).filter(|y| self.contains(y));
                }
            }
            length *= 4.0;
        }
        None
    }

    /// The zero of a neuron's pre-activation between two points where its signs differ.
    fn zero_between(
        &self,
        neuron: Neuron,
        (x, z): (&[f64], f64),
        (y, there): (&[f64], f64),
    ) -> Option<Vec<f64>> {
        let at = |t: f64| -> Vec<f64> { x.iter().zip(y).map(|(x, y)| x + t * (y - x)).collect() };
        let ((mut low, mut z_low), (mut high, mut z_high)) = ((0.0, z), (1.0, there));
        for _ in 0..EVALUATIONS {
            let t = low + (high - low) * (z_low / (z_low - z_high)).clamp(0.0, 1.0);
            let point = at(t);
            let value = self.value(neuron, &point);
            // Between two points of one linear piece the first guess is right up to rounding.
            if value.abs() <= 1e-13 * (z.abs() + there.abs()) || t <= low || t >= high {
                return value.is_finite().then_some(point);
            }
            // The weight of an end that stays is halved, so that both come near.
            if (value > 0.0) == (z_low > 0.0) {
                (low, z_low, z_high) = (t, value, z_high / 2.0);
            } else {
                (high, z_high, z_low) = (t, value, z_low / 2.0);
            }
        }
        None
    }
}

fn moved(x: &[f64], length: f64, d: &[f64]) -> Vec<f64> {
    x.iter().zip(d).map(|(x, d)| x + length * d).collect()
}

/// The part of a vector that is orthogonal to a vector of length 1.
fn tangent(mut vector: Vec<f64>, across: &[f64]) -> Vec<f64> {
    let share = dot(&vector, across);
    vector.iter_mut().zip(across).for_each(|(x, a)| *x -= share * a);
    vector
}
