//! Ascents, in doubles: to where the pre-activation of a neuron is greatest while another neuron stays on.
//!
//! A climb along the gradient ends at the first ridge, where the regions on both sides lead back to the fold between
//! them. An ascent goes on along the ridge: it holds the neurons of such folds at zero and follows the gradient on
//! all of their folds, down to a vertex. There the gradient is a sum `mu_e n_e` of the normals of the folds held. With
//! neuron `e` on, the way off its fold leads up if `mu_e > 0`; with it off, if `mu_e < 0`, where `mu_e` is that of the
//! region on this side. The two differ by what the value that ascends owes to the activation of `e` along the way that
//! leaves the other folds alone. An ascent that ends has found a point from which no edge of the linear regions leads
//! up.

use fiberscope_core::Neuron;

use super::walker::{Mask, Walker, dot, norm, unit};

/// The most steps of an ascent.
const STEPS: usize = 400;
/// A direction counts as none if what is left of the gradient is a smaller part of it than this.
const FLAT: f64 = 1e-9;
/// How often a step off the folds is halved.
const NUDGES: usize = 40;

/// What holds an ascent back.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    /// The fold of a neuron.
    Fold(Neuron),
    /// The side of the domain in a coordinate, the upper one or not.
    Side(usize, bool),
}

/// A point on the way.
struct Place {
    x: Vec<f64>,
    mask: Mask,
    held: Vec<Held>,
}

/// The normals of what is held, with an orthonormal basis of their span.
struct Normals {
    basis: Vec<Vec<f64>>,
    /// Row `k`: the `k`-th normal in terms of the basis.
    coordinates: Vec<Vec<f64>>,
}

impl Walker<'_> {
    /// Ascends from `x`, where neuron `with` is on, to where `goal` is on, too. `None` if no edge leads up any more.
    pub fn ascend(&self, goal: Neuron, with: Neuron, x: &[f64]) -> Option<Vec<f64>> {
        let depth = goal.layer.max(with.layer);
        let mut place = Place { x: x.to_vec(), mask: self.mask_before(depth + 1, x), held: Vec::new() };
        if !place.mask[with.layer][with.unit] {
            return None;
        }
        for _ in 0..STEPS {
            if self.deadline().is_past() {
                return None;
            }
            let (value, gradient) = self.gradient(goal, &place.x, &place.mask);
            if value > 0.0 {
                return self.off_the_folds(goal, with, &place);
            }
            let Some(d) = self.uphill(&gradient, &place) else {
                self.let_go(goal, with, &gradient, &mut place)?;
                continue;
            };
            let (distance, met) = self.next_of(&place, &d, (goal, with));
            let needed = -value / dot(&d, &gradient);
            if 2.0 * needed <= distance {
                move_along(&mut place.x, 2.0 * needed, &d);
                continue;
            }
            move_along(&mut place.x, distance, &d);
            self.meet(met?, (goal, with), &gradient, &mut place);
        }
        None
    }

    /// The part of the gradient along all that is held, of length 1.
    fn uphill(&self, gradient: &[f64], place: &Place) -> Option<Vec<f64>> {
        let normals = self.normals(place);
        let mut d = gradient.to_vec();
        for _ in 0..2 {
            normals.basis.iter().for_each(|b| reject(&mut d, b));
        }
        if norm(&d) <= FLAT * norm(gradient) { None } else { unit(d) }
    }

    /// Crosses a fold that was met if the other side leads on, and holds it otherwise.
    fn meet(&self, met: Held, (goal, with): (Neuron, Neuron), gradient: &[f64], place: &mut Place) {
        if let Held::Fold(neuron) = met
            && neuron != with
        {
            let was_on = place.mask[neuron.layer][neuron.unit];
            place.mask[neuron.layer][neuron.unit] = !was_on;
            let (_, beyond) = self.gradient(goal, &place.x, &place.mask);
            let (_, normal) = self.gradient(neuron, &place.x, &place.mask);
            let leads_on = self.uphill(&beyond, place).is_some_and(|d| (dot(&d, &normal) > 0.0) != was_on);
            if leads_on {
                return;
            }
            place.mask[neuron.layer][neuron.unit] = was_on;
        }
        let normals = self.normals(place);
        let mut normal = self.normal(met, place);
        let size = norm(&normal);
        normals.basis.iter().for_each(|b| reject(&mut normal, b));
        // A fold that is parallel to those held cannot be met but by rounding.
        if norm(&normal) > FLAT * size && norm(gradient) > 0.0 {
            place.held.push(met);
        }
    }

    /// At a vertex: leaves one fold for the side that leads up most; `None` if none does.
    fn let_go(&self, goal: Neuron, with: Neuron, gradient: &[f64], place: &mut Place) -> Option<()> {
        let normals = self.normals(place);
        let multipliers = normals.multipliers(gradient)?;
        let owed = self.owed(goal, &multipliers, place);
        let mut best: Option<(f64, usize, bool)> = None;
        for (at, (&held, &own)) in place.held.iter().zip(&multipliers).enumerate() {
            let size = norm(&self.normal(held, place));
            let sides = match held {
                Held::Side(_, upper) => [(if upper { -own } else { own }, upper), (0.0, upper)],
                Held::Fold(neuron) if neuron == with => [(own, true), (0.0, true)],
                Held::Fold(neuron) => {
                    let is_on = place.mask[neuron.layer][neuron.unit];
                    let other = if is_on { own - owed[at] } else { own + owed[at] };
                    let (on, off) = if is_on { (own, other) } else { (other, own) };
                    [(on, true), (-off, false)]
                }
            };
            for (slope, side) in sides {
                if slope * size > best.map_or(FLAT * norm(gradient), |best| best.0) {
                    best = Some((slope * size, at, side));
                }
            }
        }
        let (_, at, side) = best?;
        if let Held::Fold(neuron) = place.held.remove(at) {
            place.mask[neuron.layer][neuron.unit] = side;
        }
        Some(())
    }

    /// For each fold held: by how much its multiplier is greater where its neuron is on.
    fn owed(&self, goal: Neuron, multipliers: &[f64], place: &Place) -> Vec<f64> {
        let mut owed = vec![0.0; place.held.len()];
        let mut add = |neuron: Neuron, factor: f64| {
            let signals = self.signals(neuron, &place.mask);
            for (owed, held) in owed.iter_mut().zip(&place.held) {
                if let Held::Fold(source) = held
                    && source.layer < neuron.layer
                {
                    *owed += factor * signals[source.layer][source.unit];
                }
            }
        };
        add(goal, 1.0);
        for (held, &multiplier) in place.held.iter().zip(multipliers) {
            if let Held::Fold(neuron) = held
                && neuron.layer > 0
            {
                add(*neuron, -multiplier);
            }
        }
        owed
    }

    /// The derivatives of a pre-activation by the activations of the layers before.
    fn signals(&self, neuron: Neuron, mask: &Mask) -> Vec<Vec<f64>> {
        let layers = self.network().layers();
        let mut all = vec![Vec::new(); neuron.layer];
        let mut signal = layers[neuron.layer].weight().row(neuron.unit).to_vec();
        for l in (0..neuron.layer).rev() {
            let weight = layers[l].weight();
            let mut before = vec![0.0; weight.cols()];
            for (k, &s) in signal.iter().enumerate().filter(|(k, s)| mask[l][*k] && **s != 0.0) {
                before.iter_mut().zip(weight.row(k)).for_each(|(sum, w)| *sum += s * w);
            }
            all[l] = std::mem::replace(&mut signal, before);
        }
        all
    }

    fn normal(&self, held: Held, place: &Place) -> Vec<f64> {
        match held {
            Held::Fold(neuron) if neuron.layer == 0 => {
                self.network().layers()[0].weight().row(neuron.unit).to_vec()
            }
            Held::Fold(neuron) => self.gradient(neuron, &place.x, &place.mask).1,
            Held::Side(at, _) => (0..place.x.len()).map(|j| if j == at { 1.0 } else { 0.0 }).collect(),
        }
    }

    fn normals(&self, place: &Place) -> Normals {
        let mut normals = Normals { basis: Vec::new(), coordinates: Vec::new() };
        place.held.iter().for_each(|&held| normals.push(self.normal(held, place)));
        normals
    }

    /// How far a direction leads until something that is not held is met, and what.
    fn next_of(&self, place: &Place, d: &[f64], (goal, with): (Neuron, Neuron)) -> (f64, Option<Held>) {
        let mut next = (f64::INFINITY, None);
        let mut look = |distance: f64, what: Held| {
            if distance < next.0 && !place.held.contains(&what) {
                next = (distance.max(0.0), Some(what));
            }
        };
        for (at, ((&x, &d), &(low, high))) in place.x.iter().zip(d).zip(self.sides()).enumerate() {
            let (end, upper) = if d > 0.0 { (high, true) } else { (low, false) };
            if d != 0.0 && end.is_finite() {
                look((end - x) / d, Held::Side(at, upper));
            }
        }
        let flow = self.flow(&place.x, d, &place.mask);
        for (layer, on) in place.mask.iter().enumerate() {
            for (unit, &on) in on.iter().enumerate() {
                let (z, slope) = (flow.z[layer][unit], flow.slope[layer][unit]);
                let neuron = Neuron { layer, unit };
                let counts = neuron == with || layer + 1 < place.mask.len();
                if (on && slope < 0.0 || !on && slope > 0.0) && counts && neuron != goal {
                    look(-z / slope, Held::Fold(neuron));
                }
            }
        }
        next
    }

    /// A point near by off all folds, where both neurons are on.
    fn off_the_folds(&self, goal: Neuron, with: Neuron, place: &Place) -> Option<Vec<f64>> {
        let mut d = vec![0.0; place.x.len()];
        for (at, &held) in place.held.iter().enumerate() {
            let Some(normal) = unit(self.normal(held, place)) else { continue };
            let is_wall = held == Held::Fold(with);
            // Different lengths, so that what is held does not cancel.
            let share = if is_wall { 2.0 } else { 1.0 / (3.0 + at as f64) };
            let inwards = if matches!(held, Held::Side(_, true)) { -share } else { share };
            d.iter_mut().zip(&normal).for_each(|(d, n)| *d += inwards * n);
        }
        let mut length = 0.25 * (1.0 + norm(&place.x));
        for _ in 0..NUDGES {
            let y: Vec<f64> = place.x.iter().zip(&d).map(|(x, d)| x + length * d).collect();
            if self.contains(&y) && self.value(goal, &y) > 0.0 && self.value(with, &y) > 0.0 {
                return Some(y);
            }
            length /= 2.0;
        }
        None
    }
}

impl Normals {
    fn push(&mut self, normal: Vec<f64>) {
        let mut rest = normal.clone();
        for _ in 0..2 {
            self.basis.iter().for_each(|b| reject(&mut rest, b));
        }
        self.basis.extend(unit(rest));
        self.coordinates.push(self.basis.iter().map(|b| dot(b, &normal)).collect());
    }

    /// The numbers `mu` with `gradient = sum mu_k n_k`, for a gradient in the span; `None` if the normals depend on
    /// each other.
    fn multipliers(&self, gradient: &[f64]) -> Option<Vec<f64>> {
        if self.basis.len() < self.coordinates.len() {
            return None;
        }
        let mut rest: Vec<f64> = self.basis.iter().map(|b| dot(b, gradient)).collect();
        let mut found = vec![0.0; rest.len()];
        for k in (0..rest.len()).rev() {
            let row = &self.coordinates[k];
            found[k] = rest[k] / row[k];
            rest[..k].iter_mut().zip(row).for_each(|(r, c)| *r -= found[k] * c);
        }
        found.iter().all(|mu| mu.is_finite()).then_some(found)
    }
}

fn move_along(x: &mut [f64], distance: f64, d: &[f64]) {
    x.iter_mut().zip(d).for_each(|(x, d)| *x += distance * d);
}

/// Takes off the part along a vector of length 1.
fn reject(vector: &mut [f64], unit: &[f64]) {
    let share = dot(vector, unit);
    vector.iter_mut().zip(unit).for_each(|(x, u)| *x -= share * u);
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Domain, Network};

    use super::*;
    use crate::limit::Deadline;

    /// A ridge along which the value rises slowly, between slopes on which the gradient leads across.
    #[test]
    fn ridges_are_followed() {
        let first: &[&[f64]] = &[&[1.0, 0.0], &[1.0, 0.0], &[0.0, 1.0]];
        let network = Network::from_rows(&[
            (first, &[0.0, 10.0, 0.0]),
            (&[&[-1000.0, 500.0, 1.0]], &[-5008.0]),
            (&[&[1.0]], &[0.0]),
        ])
        .unwrap();
        let walker = Walker::new(&network, &Domain::Space, &Deadline::NEVER);
        let (goal, with) = (Neuron { layer: 1, unit: 0 }, Neuron { layer: 0, unit: 2 });
        let x = walker.ascend(goal, with, &[0.7, 0.1]).unwrap();
        assert!(walker.value(goal, &x) > 0.0 && walker.value(with, &x) > 0.0, "{x:?}");
        // In a box that ends before, there is nothing to find.
        let small = Domain::from_bounds(&[(-1.0, 1.0), (-1.0, 7.0)]).unwrap();
        assert_eq!(Walker::new(&network, &small, &Deadline::NEVER).ascend(goal, with, &[0.7, 0.1]), None);
        let large = Domain::from_bounds(&[(-1.0, 1.0), (-1.0, 9.0)]).unwrap();
        let walker = Walker::new(&network, &large, &Deadline::NEVER);
        let x = walker.ascend(goal, with, &[0.7, 0.1]).unwrap();
        assert!(walker.contains(&x) && walker.value(goal, &x) > 0.0, "{x:?}");
    }
}
