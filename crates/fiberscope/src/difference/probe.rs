//! Values and slopes of the difference at points, in doubles.
//!
//! With `e = relu(y) - relu(z)` and `d = y - z` per layer, the recursion of the bound computes the difference
//! itself and not two large numbers that nearly cancel. What is found here proposes; what is said is
//! evaluated exactly.

use fiberscope_check::difference::Pair;
use fiberscope_core::Activation;

use crate::difference::rows::{output, sign};
use crate::difference::through::through;

/// Steps of the ascent, as parts of the way to the vertex that the slopes point to.
const STEPS: [f64; 6] = [1.0, 0.5, 0.1, 0.02, 0.004, 0.0008];
/// So few inputs are also moved one by one.
const FEW: usize = 32;

/// The value of a function at a point.
type Valued<'f, 'p> = &'f dyn Fn(&mut Probe<'p>, &[f64]) -> f64;
/// The slopes of a function at the last point.
type Sloped<'f, 'p> = &'f dyn Fn(&mut Probe<'p>) -> Vec<f64>;

/// A workspace for evaluations.
pub struct Probe<'p> {
    pair: &'p Pair,
    /// `z` and `d` of every layer at the last point.
    layers: Vec<(Vec<f64>, Vec<f64>)>,
    a: Vec<f64>,
    e: Vec<f64>,
    slopes: (Vec<f64>, Vec<f64>),
    /// The multiplications of one evaluation, and of all so far.
    cost: usize,
    spent: usize,
}

impl<'p> Probe<'p> {
    /// A workspace for this pair.
    pub fn new(pair: &'p Pair) -> Self {
        let layers = pair.widths()[1..].iter().map(|&n| (vec![0.0; n], vec![0.0; n])).collect();
        let cost = pair.layers().iter().map(|layer| 3 * layer.rows * layer.columns).sum();
        Probe { pair, layers, a: Vec::new(), e: Vec::new(), slopes: Default::default(), cost, spent: 0 }
    }

    /// The multiplications of an evaluation.
    pub fn cost(&self) -> usize {
        self.cost
    }

    /// The multiplications of all evaluations so far.
    pub fn spent(&self) -> usize {
        self.spent
    }

    /// The pair.
    pub(super) fn pair(&self) -> &'p Pair {
        self.pair
    }

    /// `z` and `d` of every layer at the last point.
    pub(super) fn values(&self) -> &[(Vec<f64>, Vec<f64>)] {
        &self.layers
    }

    /// `B - A` at a point, per output.
    pub fn difference(&mut self, x: &[f64]) -> &[f64] {
        self.spent = self.spent.saturating_add(self.cost);
        self.a.clear();
        self.a.extend_from_slice(x);
        self.e.clear();
        self.e.resize(x.len(), 0.0);
        for (l, (z, d)) in self.layers.iter_mut().enumerate() {
            let layer = &self.pair.layers()[l];
            through(layer, &self.a, (l > 0).then_some(&self.e[..]), z, d);
            z.iter_mut().zip(&layer.bias_a).for_each(|(z, bias)| *z += bias);
            d.iter_mut().zip(&layer.bias_d).for_each(|(d, bias)| *d += bias);
            self.a.clear();
            self.e.clear();
            if layer.activation == Activation::Relu {
                self.a.extend(z.iter().map(|z| z.max(0.0)));
                self.e.extend(z.iter().zip(d.iter()).map(|(z, d)| (z + d).max(0.0) - z.max(0.0)));
            } else {
                self.a.extend_from_slice(z);
                self.e.extend_from_slice(d);
            }
        }
        self.layers.last().map_or(&[], |(_, d)| d)
    }

    /// The largest absolute value of an output of `A` at the last point.
    pub fn size(&self) -> f64 {
        self.layers.last().map_or(0.0, |(z, _)| z.iter().fold(0.0, |most, z| most.max(z.abs())))
    }

    /// The outputs of `A` and the differences `B - A` at the last point.
    pub fn outputs(&self) -> (&[f64], &[f64]) {
        self.layers.last().map_or((&[], &[]), |(z, d)| (z, d))
    }

    /// The slopes of a row (`B_k - A_k` or its negative) at the last point.
    pub(super) fn slopes(&mut self, row: usize) -> &[f64] {
        let z = vec![0.0; self.layers.last().map_or(0, |(z, _)| z.len())];
        let mut d = z.clone();
        d[output(row)] = sign(row);
        self.slopes_of(z, d)
    }

    /// The slopes of `z . A + d . (B - A)` at the last point.
    pub fn slopes_of(&mut self, mut z: Vec<f64>, mut d: Vec<f64>) -> &[f64] {
        for l in (0..self.layers.len()).rev() {
            let layer = &self.pair.layers()[l];
            let n = layer.columns;
            let (mut a, mut e) = (vec![0.0; n], vec![0.0; n]);
            for i in 0..z.len() {
                let row = i * n..(i + 1) * n;
                add(&mut a, z[i], &layer.weight_a[row.clone()]);
                add(&mut a, d[i], &layer.weight_d[row.clone()]);
                add(&mut e, d[i], &layer.weight_b[row]);
            }
            if l > 0 && self.pair.layers()[l - 1].activation == Activation::Relu {
                let (before, change) = &self.layers[l - 1];
                for i in 0..n {
                    let on = |positive: bool| if positive { 1.0 } else { 0.0 };
                    let (of_a, of_b) = (on(before[i] > 0.0), on(before[i] + change[i] > 0.0));
                    a[i] = a[i] * of_a + e[i] * (of_b - of_a);
                    e[i] *= of_b;
                }
            }
            (z, d) = (a, e);
        }
        self.slopes.0 = z;
        &self.slopes.0
    }

    /// Climbs from a point of the box: towards the vertex where the slopes point, as long as the row grows.
    /// The value there; `x` is the point.
    pub fn climb(&mut self, x: &mut Vec<f64>, row: usize, lo: &[f64], hi: &[f64], rounds: usize) -> f64 {
        let value = |probe: &mut Self, x: &[f64]| sign(row) * probe.difference(x)[output(row)];
        let slopes = |probe: &mut Self| probe.slopes(row).to_vec();
        self.climb_by(x, (&value, &slopes), (lo, hi), rounds)
    }

    /// The same for any function with its slopes at the last point.
    pub fn climb_by(
        &mut self,
        x: &mut Vec<f64>,
        (value, slopes): (Valued<'_, 'p>, Sloped<'_, 'p>),
        (lo, hi): (&[f64], &[f64]),
        rounds: usize,
    ) -> f64 {
        let mut best = value(self, x);
        for _ in 0..rounds {
            let goal: Vec<f64> = slopes(self);
            let better = STEPS.iter().find_map(|step| {
                let at = |j: usize| {
                    let end = if goal[j] > 0.0 { hi[j] } else { lo[j] };
                    let next = if goal[j] == 0.0 { x[j] } else { x[j] + step * (end - x[j]) };
                    next.clamp(lo[j], hi[j])
                };
                let next: Vec<f64> = (0..x.len()).map(at).collect();
                let found = value(self, &next);
                (found > best).then_some((found, next))
            });
            // Where slopes lead nowhere, on a ridge, an input alone may.
            let better = better.or_else(|| {
                let inputs = if x.len() <= FEW { 0..x.len() } else { 0..0 };
                inputs
                    .flat_map(|j| {
                        [lo[j], hi[j], 0.5 * (x[j] + lo[j]), 0.5 * (x[j] + hi[j])].map(|to| (j, to))
                    })
                    .find_map(|(j, to)| {
                        let mut next = x.clone();
                        next[j] = to.clamp(lo[j], hi[j]);
                        let found = value(self, &next);
                        (found > best).then_some((found, next))
                    })
            });
            let Some((found, next)) = better else { break };
            // The slopes are those of the last point that was looked at, this one.
            best = found;
            *x = next;
        }
        best
    }
}

fn add(sum: &mut [f64], factor: f64, row: &[f64]) {
    if factor != 0.0 {
        sum.iter_mut().zip(row).for_each(|(sum, w)| *sum += factor * w);
    }
}
