//! Walks through linear regions, in doubles: along a line, and along the fold of a neuron.
//!
//! A walk keeps the pattern of activity itself and changes it neuron by neuron where pre-activations vanish, so
//! that it never has to tell small numbers from zero. What it finds is proposed; exact arithmetic says later
//! which pattern a point has.

use fiberscope_core::{Domain, Matrix, Network, Neuron};
use ndarray::ArrayView1;

use crate::limit::Deadline;

/// Which neurons of each hidden layer are on.
pub type Mask = Vec<Vec<bool>>;

/// A network that is walked through.
pub struct Walker<'a> {
    network: &'a Network,
    /// The sides of the domain as doubles.
    sides: Vec<(f64, f64)>,
    deadline: Deadline,
}

/// Pre-activations and their slopes in a direction, layer by layer.
pub struct Flow {
    /// The pre-activations.
    pub z: Vec<Vec<f64>>,
    /// Their slopes.
    pub slope: Vec<Vec<f64>>,
}

/// Two points that a walk proposes on two sides of a fold.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// The neuron that changes.
    pub neuron: Neuron,
    /// The pattern on the first side, as the walk sees it.
    pub mask: Mask,
    /// A point before and a point behind the fold.
    pub points: [Vec<f64>; 2],
}

impl<'a> Walker<'a> {
    /// A walker on a domain. When the deadline is past, walks end where they are.
    pub fn new(network: &'a Network, domain: &Domain, deadline: &Deadline) -> Self {
        let end = |end: Option<fiberscope_core::Rational>, other: f64| end.map_or(other, |end| end.to_f64());
        let sides = domain.sides(network.input_width()).into_iter();
        let sides = sides.map(|side| (end(side.lower, f64::NEG_INFINITY), end(side.upper, f64::INFINITY)));
        Walker { network, sides: sides.collect(), deadline: deadline.clone() }
    }

    /// The network.
    pub fn network(&self) -> &'a Network {
        self.network
    }

    /// When walks end.
    pub fn deadline(&self) -> &Deadline {
        &self.deadline
    }

    /// The sides of the domain.
    pub fn sides(&self) -> &[(f64, f64)] {
        &self.sides
    }

    /// The pattern at a point.
    pub fn mask_at(&self, x: &[f64]) -> Mask {
        self.mask_before(self.network.hidden_depth(), x)
    }

    /// The pattern of the layers before a layer.
    pub fn mask_before(&self, layer: usize, x: &[f64]) -> Mask {
        let mut input = x.to_vec();
        let mut mask = Vec::new();
        for layer in &self.network.layers()[..layer] {
            let z = affine(layer.weight(), &input, layer.bias());
            mask.push(z.iter().map(|&z| z > 0.0).collect());
            input = z.into_iter().map(|z| z.max(0.0)).collect();
        }
        mask
    }

    /// The pre-activation of a neuron.
    pub fn value(&self, neuron: Neuron, x: &[f64]) -> f64 {
        let layer = &self.network.layers()[neuron.layer];
        dot(layer.weight().row(neuron.unit), &self.inputs_of(neuron.layer, x)) + layer.bias()[neuron.unit]
    }

    /// What a layer reads.
    pub fn inputs_of(&self, layer: usize, x: &[f64]) -> Vec<f64> {
        let mut input = x.to_vec();
        for layer in &self.network.layers()[..layer] {
            input = affine(layer.weight(), &input, layer.bias()).into_iter().map(|z| z.max(0.0)).collect();
        }
        input
    }

    /// Whether a point lies in the interior of the domain.
    pub fn contains(&self, x: &[f64]) -> bool {
        x.iter().zip(&self.sides).all(|(&x, &(low, high))| low < x && x < high && x.is_finite())
    }

    /// Pre-activations at `x` and their slopes in direction `d`, with the pattern given.
    pub fn flow(&self, x: &[f64], d: &[f64], mask: &Mask) -> Flow {
        let (mut input, mut moved) = (x.to_vec(), d.to_vec());
        let mut flow = Flow { z: Vec::new(), slope: Vec::new() };
        for (layer, on) in self.network.hidden_layers().iter().zip(mask) {
            let z = affine(layer.weight(), &input, layer.bias());
            let slope = linear(layer.weight(), &moved);
            let keep = |xs: &[f64]| xs.iter().zip(on).map(|(&x, &on)| if on { x } else { 0.0 }).collect();
            (input, moved) = (keep(&z), keep(&slope));
            flow.z.push(z);
            flow.slope.push(slope);
        }
        flow
    }

    /// The pre-activation of a neuron at `x` and its gradient, with the pattern given.
    pub fn gradient(&self, neuron: Neuron, x: &[f64], mask: &Mask) -> (f64, Vec<f64>) {
        let layers = self.network.layers();
        let mut signal = layers[neuron.layer].weight().row(neuron.unit).to_vec();
        for l in (0..neuron.layer).rev() {
            let weight = layers[l].weight();
            let mut before = vec![0.0; weight.cols()];
            for (k, &s) in signal.iter().enumerate().filter(|(k, s)| mask[l][*k] && **s != 0.0) {
                before.iter_mut().zip(weight.row(k)).for_each(|(sum, w)| *sum += s * w);
            }
            signal = before;
        }
        let mut input = x.to_vec();
        for l in 0..neuron.layer {
            let z = affine(layers[l].weight(), &input, layers[l].bias());
            input = z.iter().zip(&mask[l]).map(|(&z, &on)| if on { z } else { 0.0 }).collect();
        }
        let row = layers[neuron.layer].weight().row(neuron.unit);
        (dot(row, &input) + layers[neuron.layer].bias()[neuron.unit], signal)
    }

    /// How far one can go from `x` in direction `d` until a neuron other than `except` changes, and which does;
    /// no neuron if the domain ends before, or if nothing changes any more.
    fn next_event(&self, x: &[f64], d: &[f64], mask: &Mask, except: Option<Neuron>) -> (f64, Option<Neuron>) {
        let flow = self.flow(x, d, mask);
        let mut next = (self.room(x, d), None);
        for (layer, on) in mask.iter().enumerate() {
            for (unit, &on) in on.iter().enumerate() {
                let (z, slope) = (flow.z[layer][unit], flow.slope[layer][unit]);
                if (on && slope < 0.0 || !on && slope > 0.0) && except != Some(Neuron { layer, unit }) {
                    let distance = (-z / slope).max(0.0);
                    if distance < next.0 {
                        next = (distance, Some(Neuron { layer, unit }));
                    }
                }
            }
        }
        next
    }

    /// How far the domain goes on.
    pub fn room(&self, x: &[f64], d: &[f64]) -> f64 {
        let side = |((&x, &d), &(low, high)): ((&f64, &f64), &(f64, f64))| match d {
            d if d > 0.0 => (high - x) / d,
            d if d < 0.0 => (low - x) / d,
            _ => f64::INFINITY,
        };
        x.iter().zip(d).zip(&self.sides).map(side).fold(f64::INFINITY, f64::min).max(0.0)
    }

    /// The crossings of a line from `x` in direction `d`, at most so many, over a distance of at most `far`.
    pub fn line(&self, x: &[f64], d: &[f64], far: f64, most: usize) -> Vec<Crossing> {
        let at = |t: f64| -> Vec<f64> { x.iter().zip(d).map(|(x, d)| x + t * d).collect() };
        let far = far.min(self.room(x, d));
        let mut mask = self.mask_at(x);
        let (mut t, mut events): (f64, Vec<(f64, Neuron, Mask)>) = (0.0, Vec::new());
        while events.len() < most && !self.deadline.is_past() {
            let (distance, neuron) = self.next_event(&at(t), d, &mask, None);
            let Some(neuron) = neuron.filter(|_| t + distance < far) else { break };
            t += distance;
            events.push((t, neuron, mask.clone()));
            mask[neuron.layer][neuron.unit] ^= true;
        }
        let size = d.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
        let place = |i: usize| events.get(i).map_or(far, |event| event.0);
        let middle = |from: f64, to: f64| {
            let to = if to.is_finite() { to } else { from + 1.0 + from.abs() };
            rounded(at(from / 2.0 + to / 2.0), (to - from) * size)
        };
        let mut crossings = Vec::with_capacity(events.len());
        let mut before = middle(0.0, place(0));
        for (i, (t, neuron, mask)) in events.iter().enumerate() {
            let behind = middle(*t, place(i + 1));
            crossings.push(Crossing {
                neuron: *neuron,
                mask: mask.clone(),
                points: [before, behind.clone()],
            });
            before = behind;
        }
        crossings
    }

    /// Goes along the fold of a neuron, region by region, and proposes a crossing in each. `aim` says where to:
    /// a direction for each point and pattern.
    pub fn along(
        &self,
        neuron: Neuron,
        (mut x, mut mask): (Vec<f64>, Mask),
        steps: usize,
        aim: &dyn Fn(&[f64], &Mask) -> Vec<f64>,
    ) -> Vec<Crossing> {
        let mut crossings = Vec::new();
        for _ in 0..steps {
            if self.deadline.is_past() {
                break;
            }
            let (z, gradient) = self.gradient(neuron, &x, &mask);
            let square = dot(&gradient, &gradient);
            if square == 0.0 || !square.is_finite() {
                break;
            }
            x.iter_mut().zip(&gradient).for_each(|(x, g)| *x -= z / square * g);
            let mut d = aim(&x, &mask);
            let along = dot(&d, &gradient) / square;
            d.iter_mut().zip(&gradient).for_each(|(d, g)| *d -= along * g);
            let Some(d) = unit(d) else { break };
            let (distance, next) = self.next_event(&x, &d, &mask, Some(neuron));
            let stride = if distance.is_finite() { distance } else { 1.0 + norm(&x) };
            let y: Vec<f64> = x.iter().zip(&d).map(|(x, d)| x + stride / 2.0 * d).collect();
            crossings.extend(self.across(neuron, &y, &gradient, &mask));
            let Some(next) = next else { break };
            x.iter_mut().zip(&d).for_each(|(x, d)| *x += distance * d);
            mask[next.layer][next.unit] ^= true;
        }
        crossings
    }

    /// Points on two sides of the fold of a neuron at `y`, which lies on it.
    pub fn across(&self, neuron: Neuron, y: &[f64], gradient: &[f64], mask: &Mask) -> Option<Crossing> {
        let normal = unit(gradient.to_vec())?;
        let mut sides = mask.clone();
        let mut side = |on: bool| {
            sides[neuron.layer][neuron.unit] = on;
            let d: Vec<f64> = normal.iter().map(|n| if on { *n } else { -n }).collect();
            let (distance, _) = self.next_event(y, &d, &sides, Some(neuron));
            let distance = distance.min(1.0 + norm(y));
            let point = y.iter().zip(&d).map(|(y, d)| y + distance / 2.0 * d).collect();
            rounded(point, distance)
        };
        let points = [side(false), side(true)];
        let mut mask = mask.clone();
        mask[neuron.layer][neuron.unit] = false;
        Some(Crossing { neuron, mask, points })
    }
}

/// The point with few binary digits, moved by a small part of `room`.
fn rounded(point: Vec<f64>, room: f64) -> Vec<f64> {
    let quantum = 2f64.powf((room / 256.0).log2().floor());
    if !quantum.is_normal() {
        return point;
    }
    point.into_iter().map(|x| (x / quantum).round() * quantum).collect()
}

fn affine(weight: &Matrix, x: &[f64], bias: &[f64]) -> Vec<f64> {
    weight.iter_rows().zip(bias).map(|(row, b)| dot(row, x) + b).collect()
}

fn linear(weight: &Matrix, x: &[f64]) -> Vec<f64> {
    weight.iter_rows().map(|row| dot(row, x)).collect()
}

/// The scalar product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    ArrayView1::from(a).dot(&ArrayView1::from(b))
}

/// The length of a vector.
pub fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// The vector of length 1; `None` if there is none.
pub fn unit(mut d: Vec<f64>) -> Option<Vec<f64>> {
    let length = norm(&d);
    if !length.is_normal() {
        return None;
    }
    d.iter_mut().for_each(|d| *d /= length);
    Some(d)
}
