//! Random points of a piece.
//!
//! From the factorisation `V W = M_S` of the piece, random moves that keep `V W` and `W >= 0`: adding a row
//! to those that a kernel vector of ones allows, `W_i += c W_j, V_j -= c V_i` with `c >= 0`, and the same
//! with `c < 0` as far as `W >= 0` lets it go; then free biases, free weights of dead neurons, positive
//! scalings and a permutation. Every move is invertible, so that an open set of the piece can be reached; the
//! distribution is spread out but not uniform in any invariant sense (the piece is not compact).
//!
//! All random numbers are short dyadic numbers. The sampler computes in doubles and notices rounding
//! ([`Exactness`]): a point that is said to be exact lies in the fiber exactly.

use fiberscope_core::{Activation, Layer, Matrix, Rational};
use rand::{Rng, RngExt};

use super::component::FiberComponent;
use super::exactly::Exactness;
use super::layer::LayerFiber;

/// A point of a piece: the hidden and the output layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerPoint {
    /// The hidden layer.
    pub hidden: Layer,
    /// The output layer.
    pub output: Layer,
    /// Whether it lies in the fiber exactly; otherwise up to rounding.
    pub exact: bool,
}

/// Draws points of one piece.
#[derive(Clone, Debug)]
pub struct Sampler {
    inputs: usize,
    outputs: usize,
    /// Rows `(w, c)` of the nonlinear neurons, oriented, and their outgoing weights, neuron by neuron.
    rows: Vec<f64>,
    weights: Vec<f64>,
    nonlinear: usize,
    left: Matrix,
    right: Matrix,
    loose: usize,
    used: usize,
    constant: Vec<f64>,
    dead: usize,
    /// The size of typical entries of `W`, a power of two.
    unit: f64,
    exact: bool,
}

impl Sampler {
    /// A sampler for a piece of the fiber; `None` if it is empty, or finding a first point is too much work.
    pub fn new(fiber: &LayerFiber, component: &FiberComponent) -> Option<Self> {
        let factors = fiber.factors(component)?;
        let (_, constant) = fiber.affine_rest(&component.orientation);
        let mut exact = true;
        let mut double = |x: &Rational| {
            exact &= x.is_f64();
            x.to_f64()
        };
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        for (hyperplane, &active) in fiber.hyperplanes().iter().zip(component.orientation.active()) {
            let sign = if active { 1.0 } else { -1.0 };
            rows.extend(hyperplane.normal.iter().chain([&hyperplane.offset]).map(|x| sign * double(x)));
            weights.extend(hyperplane.weight.iter().map(&mut double));
        }
        let (left, right) = (factors.left.map(&mut double), factors.right.map(&mut double));
        let constant = constant.iter().map(&mut double).collect();
        let sizes: Vec<f64> = right.entries().iter().filter(|x| **x > 0.0).map(|x| x.log2()).collect();
        let typical = sizes.iter().sum::<f64>() / sizes.len().max(1) as f64;
        Some(Sampler {
            inputs: fiber.inputs(),
            outputs: fiber.outputs(),
            nonlinear: fiber.hyperplanes().len(),
            rows,
            weights,
            left,
            right,
            loose: factors.loose,
            used: factors.used,
            constant,
            dead: component.dead?,
            unit: 2f64.powi(typical.round().clamp(-200.0, 200.0) as i32),
            exact,
        })
    }

    /// A random point.
    pub fn sample(&self, rng: &mut impl Rng) -> LayerPoint {
        let mut exactness = Exactness(self.exact);
        let (left, right) = self.factors(rng, &mut exactness);
        let linear = right.rows();
        let n = self.nonlinear + linear + self.dead;
        let (d, m) = (self.inputs, self.outputs);
        let order = shuffled(rng, n);
        let mut weight = vec![0.0; n * d];
        let mut bias = vec![0.0; n];
        let mut out = vec![0.0; m * n];
        let mut constant = self.constant.clone();
        for (place, &neuron) in order.iter().enumerate() {
            let exponent = rng.random_range(-2..=2);
            let (scale, inverse) = (2f64.powi(exponent), 2f64.powi(-exponent));
            let row = &mut weight[place * d..(place + 1) * d];
            let (c, v): (f64, Vec<f64>) = if neuron < self.nonlinear {
                let from = &self.rows[neuron * (d + 1)..(neuron + 1) * (d + 1)];
                row.copy_from_slice(&from[..d]);
                (from[d], self.weights[neuron * m..(neuron + 1) * m].to_vec())
            } else if neuron < self.nonlinear + linear {
                let k = neuron - self.nonlinear;
                row.copy_from_slice(right.row(k));
                // A row of zeros stays a linear neuron if its bias is positive.
                let c = self.short(rng) + if row.iter().all(|w| *w == 0.0) { self.unit } else { 0.0 };
                let v: Vec<f64> = left.column(k).copied().collect();
                constant.iter_mut().zip(&v).for_each(|(e, v)| exactness.add_product(e, -v, c));
                (c, v)
            } else {
                row.iter_mut().for_each(|w| *w = -self.short(rng));
                let v = (0..m).map(|_| self.short(rng) - self.short(rng)).collect();
                (-self.short(rng), v)
            };
            row.iter_mut().for_each(|w| *w *= scale);
            bias[place] = c * scale;
            v.iter().enumerate().for_each(|(o, v)| out[o * n + place] = v * inverse);
        }
        let layer = |rows, cols, entries, bias, activation| {
            Layer::new(Matrix::from_entries(rows, cols, entries).expect("its shape"), bias, activation)
        };
        LayerPoint {
            hidden: layer(n, d, weight, bias, Activation::Relu),
            output: layer(m, n, out, constant, Activation::Identity),
            exact: exactness.0,
        }
    }

    /// A short number `>= 0` of typical size.
    fn short(&self, rng: &mut impl Rng) -> f64 {
        f64::from(rng.random_range(0..16)) * (self.unit / 8.0)
    }

    fn factors(&self, rng: &mut impl Rng, exactness: &mut Exactness) -> (Matrix, Matrix) {
        let (mut left, mut right) = (self.left.clone(), self.right.clone());
        let l = right.rows();
        let raised = rng.random_range(0..self.inputs);
        for j in (0..self.inputs).filter(|_| self.loose > 0) {
            // One of them must grow: a row of zeros would be a constant neuron.
            let more = self.short(rng) + if j == raised { self.unit } else { 0.0 };
            (0..self.loose).for_each(|k| right[(k, j)] = exactness.add(right[(k, j)], more));
        }
        for k in self.used..l {
            (0..self.inputs).for_each(|j| right[(k, j)] = self.short(rng));
            // A row of zeros would be a constant neuron.
            right[(k, rng.random_range(0..self.inputs))] += self.unit;
        }
        if l > 1 {
            for _ in 0..2 * l {
                let i = rng.random_range(0..l);
                let j = (i + rng.random_range(1..l)) % l;
                let factor = if rng.random() {
                    f64::from(rng.random_range(1..=4)) / 4.0
                } else {
                    -largest(&right, i, j)
                };
                shear(&mut left, &mut right, (i, j), factor, exactness);
            }
        }
        (left, right)
    }
}

/// `W_i += c W_j`, `V_j -= c V_i`.
fn shear(left: &mut Matrix, right: &mut Matrix, (i, j): (usize, usize), c: f64, exactness: &mut Exactness) {
    if c == 0.0 {
        return;
    }
    for column in 0..right.cols() {
        let from = right[(j, column)];
        exactness.add_product(&mut right[(i, column)], c, from);
    }
    for row in 0..left.rows() {
        let from = left[(row, i)];
        exactness.add_product(&mut left[(row, j)], -c, from);
    }
}

/// A power of two (or zero) `c` such that `W_i - c W_j` stays `>= 0` and is not zero.
fn largest(right: &Matrix, i: usize, j: usize) -> f64 {
    let ratios = right.row(i).iter().zip(right.row(j)).filter(|(_, y)| **y > 0.0).map(|(x, y)| x / y);
    let least = ratios.fold(f64::INFINITY, f64::min);
    if least > 1e-6 && least < 1e6 { 2f64.powi(least.log2().floor() as i32 - 1) } else { 0.0 }
}

/// A random order.
pub(super) fn shuffled(rng: &mut impl Rng, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, rng.random_range(0..=i));
    }
    order
}
