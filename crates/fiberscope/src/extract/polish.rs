//! All parameters together against all answers: Gauss-Newton with the stored queries.
//!
//! Scaling a neuron leaves the function alone, so one weight per hidden neuron (its largest) is held fixed
//! and the Jacobian `J` has full rank. It hardly changes from the start on, so `J^T J` is factored once; it
//! is the residuals `r` in `J^T J s = J^T r` that have to be exact. In large networks the Gram matrix is that
//! of the last answers only; then all answers follow by conjugate gradients, which need only products with
//! `J`, with that matrix as their preconditioner.

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::solvers::{Llt, Solve};
use faer::{Accum, Mat, Par, Side};
use fiberscope_algebra::dense::{dot, peak, row_times};
use fiberscope_core::{Matrix, two_product, two_sum};

use super::inquiry::Inquiry;
use super::prefix::Rows;

/// The most parameters for which a Gram matrix is factored.
pub(super) const DENSE_PARAMETERS: usize = 5_000;

/// Multiplications that a Gram matrix is worth.
const GRAM_WORK: usize = 20_000_000_000;

/// Multiplications that a product with the Jacobian is worth.
const PRODUCT_WORK: usize = 500_000_000;

/// The most steps with one Gram matrix.
const ROUNDS: usize = 8;

/// The most steps of conjugate gradients.
const MOST_STEPS: usize = 24;

/// Improves the layers (the last one without a ReLU) by the stored answers within `reach` radii.
pub(super) fn polish(inquiry: &Inquiry<'_>, layers: &mut Vec<Rows>, reach: f64) {
    let total: usize = layers.iter().map(|layer| layer.len() * (layer.weight.cols() + 1)).sum();
    let answers_worth = |work: usize| (work / total).max(3 * total) / inquiry.outputs;
    let last = Problem::new(inquiry, layers, reach, answers_worth(GRAM_WORK / total));
    let Some(gram) = last.gram(layers) else { return };
    last.improve(layers, ROUNDS, |layers| gram.solve(&last.transposed(layers, &last.residuals(layers))));
    let all = Problem::new(inquiry, layers, reach, answers_worth(PRODUCT_WORK));
    if all.points.rows() > last.points.rows() {
        all.improve(layers, 1, |layers| all.solve(layers, &gram));
    }
}

struct Problem {
    points: Matrix,
    answers: Matrix,
    weights: Vec<f64>,
    fixed: Vec<bool>,
    total: usize,
}

/// The factored Gram matrix of the free parameters, scaled to a unit diagonal.
struct Gram {
    factor: Llt<f64>,
    lengths: Vec<f64>,
    free: Vec<usize>,
}

impl Gram {
    fn solve(&self, gradient: &[f64]) -> Vec<f64> {
        let right = Mat::from_fn(self.free.len(), 1, |k, _| gradient[self.free[k]] / self.lengths[k]);
        let solution = self.factor.solve(&right);
        let mut result = vec![0.0; gradient.len()];
        for (k, &p) in self.free.iter().enumerate() {
            result[p] = solution[(k, 0)] / self.lengths[k];
        }
        result
    }
}

impl Problem {
    /// The last answers, at most so many.
    fn new(inquiry: &Inquiry<'_>, layers: &[Rows], reach: f64, most: usize) -> Self {
        let (points, answers) = inquiry.recent(reach, most);
        let fixed = fixed_parameters(layers);
        // Where the noise is that of doubles, the larger part by far is the first one.
        let noise = |x: &[f64]| f64::EPSILON * rounding(layers, x) + inquiry.noise_at(x) / 16.0;
        let weights = points.iter_rows().map(|x| 1.0 / noise(x)).collect();
        Problem { weights, points, answers, total: fixed.len(), fixed }
    }

    /// Goes steps while they make the residuals clearly smaller.
    fn improve(&self, layers: &mut Vec<Rows>, rounds: usize, step: impl Fn(&[Rows]) -> Vec<f64>) {
        let mut best = (self.root_mean_square(layers), layers.clone());
        for _ in 0..rounds {
            let change = step(layers);
            apply(layers, &change);
            let now = self.root_mean_square(layers);
            let gain = now < 0.7 * best.0;
            if now < best.0 {
                best = (now, layers.clone());
            }
            if !gain {
                break;
            }
        }
        *layers = best.1;
    }

    fn root_mean_square(&self, layers: &[Rows]) -> f64 {
        let residuals = self.residuals(layers);
        (dot(&residuals, &residuals) / residuals.len().max(1) as f64).sqrt()
    }

    /// Weighted residuals, output by output for each point.
    fn residuals(&self, layers: &[Rows]) -> Vec<f64> {
        let mut residuals = Vec::with_capacity(self.answers.entries().len());
        for (i, x) in self.points.iter_rows().enumerate() {
            let output = output(layers, x);
            residuals.extend(
                self.answers
                    .row(i)
                    .iter()
                    .zip(&output)
                    .map(|(y, (high, low))| ((y - high) - low) * self.weights[i]),
            );
        }
        residuals
    }

    /// `J^T u`, zero for parameters that are held fixed.
    fn transposed(&self, layers: &[Rows], u: &[f64]) -> Vec<f64> {
        let outputs = self.answers.cols();
        let mut result = vec![0.0; self.total];
        for (i, u) in u.chunks_exact(outputs).enumerate() {
            let inputs = inputs_of(layers, self.points.row(i));
            let back = u.iter().map(|u| u * self.weights[i]).collect();
            backward(layers, &inputs, back, &mut result);
        }
        result.iter_mut().zip(&self.fixed).filter(|(_, fixed)| **fixed).for_each(|(v, _)| *v = 0.0);
        result
    }

    /// The least-squares solution of `J s = r`.
    fn solve(&self, layers: &[Rows], gram: &Gram) -> Vec<f64> {
        let mut rest = self.residuals(layers);
        let mut solution = vec![0.0; self.total];
        let gradient = self.transposed(layers, &rest);
        let mut direction = gram.solve(&gradient);
        let mut size = dot(&gradient, &direction);
        let enough = 1e-12 * size;
        for _ in 0..MOST_STEPS {
            let image = self.along(layers, &direction);
            let length = size / dot(&image, &image);
            if !length.is_finite() {
                break;
            }
            solution.iter_mut().zip(&direction).for_each(|(s, d)| *s += length * d);
            rest.iter_mut().zip(&image).for_each(|(r, i)| *r -= length * i);
            let gradient = self.transposed(layers, &rest);
            let next = gram.solve(&gradient);
            let left = dot(&gradient, &next);
            if left <= enough {
                break;
            }
            let share = left / size;
            direction.iter_mut().zip(&next).for_each(|(d, n)| *d = n + share * *d);
            size = left;
        }
        solution
    }

    /// `J s`.
    fn along(&self, layers: &[Rows], step: &[f64]) -> Vec<f64> {
        let mut result = Vec::with_capacity(self.answers.entries().len());
        for (x, weight) in self.points.iter_rows().zip(&self.weights) {
            let inputs = inputs_of(layers, x);
            result.extend(forward(layers, &inputs, step).iter().map(|v| v * weight));
        }
        result
    }

    fn gram(&self, layers: &[Rows]) -> Option<Gram> {
        let free: Vec<usize> = (0..self.total).filter(|&p| !self.fixed[p]).collect();
        let outputs = self.answers.cols();
        let count = self.points.rows();
        let mut jacobian = Mat::<f64>::zeros(count * outputs, free.len());
        let mut next = 0;
        self.derivatives(layers, |row| {
            for (k, &p) in free.iter().enumerate() {
                jacobian[(next, k)] = row[p];
            }
            next += 1;
        });
        let mut lengths = vec![1.0; free.len()];
        for (k, length) in lengths.iter_mut().enumerate() {
            let size = jacobian.col(k).iter().map(|v| v * v).sum::<f64>().sqrt();
            if size > 0.0 {
                *length = size;
                jacobian.col_mut(k).iter_mut().for_each(|v| *v /= size);
            }
        }
        let mut gram = Mat::<f64>::zeros(free.len(), free.len());
        let full = BlockStructure::Rectangular;
        matmul(
            gram.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Replace,
            jacobian.transpose(),
            full,
            jacobian.as_ref(),
            full,
            1.0,
            Par::Seq,
        );
        for k in 0..free.len() {
            gram[(k, k)] += 1e-13;
        }
        let factor = gram.llt(Side::Lower).ok()?;
        Some(Gram { factor, lengths, free })
    }

    /// Rows of the Jacobian.
    fn derivatives(&self, layers: &[Rows], mut take: impl FnMut(&[f64])) {
        for (i, x) in self.points.iter_rows().enumerate() {
            let inputs = inputs_of(layers, x);
            for o in 0..self.answers.cols() {
                let mut back = vec![0.0; self.answers.cols()];
                back[o] = self.weights[i];
                let mut row = vec![0.0; self.total];
                backward(layers, &inputs, back, &mut row);
                take(&row);
            }
        }
    }
}

/// The outputs with twice the digits of a double: the rounding of the answers is noise enough.
fn output(layers: &[Rows], x: &[f64]) -> Vec<(f64, f64)> {
    let mut h: Vec<(f64, f64)> = x.iter().map(|&v| (v, 0.0)).collect();
    for (l, layer) in layers.iter().enumerate() {
        let neuron = |(w, b): (&[f64], f64)| {
            let (mut high, mut low) = (b, 0.0);
            for (w, (h, rest)) in w.iter().zip(&h).filter(|(_, (h, _))| *h != 0.0) {
                let (product, lost) = two_product(*w, *h);
                let (sum, lost_too) = two_sum(high, product);
                high = sum;
                low += lost + lost_too + w * rest;
            }
            if l + 1 < layers.len() && high + low <= 0.0 { (0.0, 0.0) } else { two_sum(high, low) }
        };
        h = layer.iter().map(neuron).collect();
    }
    h
}

/// How large the rounding of an answer is, up to a factor: in a sum of `n` terms of size `s` that of about
/// `n s / 2`.
fn rounding(layers: &[Rows], x: &[f64]) -> f64 {
    let mut h = x.to_vec();
    let mut errors = vec![0.0; x.len()];
    for (l, layer) in layers.iter().enumerate() {
        let next: Vec<(f64, f64)> = layer
            .iter()
            .map(|(w, b)| {
                let z = dot(w, &h) + b;
                let terms: f64 = w.iter().zip(&h).map(|(w, h)| (w * h).powi(2)).sum();
                let carried: f64 = w.iter().zip(&errors).map(|(w, e)| w * w * e).sum();
                let error = carried + 0.5 * w.len() as f64 * terms + z * z;
                if l + 1 < layers.len() && z <= 0.0 { (0.0, 0.0) } else { (z, error) }
            })
            .collect();
        (h, errors) = next.into_iter().unzip();
    }
    errors.iter().copied().fold(1e-6, f64::max).sqrt()
}

/// The input of every layer.
pub(super) fn inputs_of(layers: &[Rows], x: &[f64]) -> Vec<Vec<f64>> {
    let mut inputs = vec![x.to_vec()];
    for layer in &layers[..layers.len() - 1] {
        let z = layer.at(inputs.last().expect("the input itself"));
        inputs.push(z.into_iter().map(|z| z.max(0.0)).collect());
    }
    inputs
}

/// Adds the derivative of `back . f` by all parameters to `result`: layer by layer, weights before biases.
pub(super) fn backward(layers: &[Rows], inputs: &[Vec<f64>], mut back: Vec<f64>, result: &mut [f64]) {
    let mut end = result.len();
    for (l, layer) in layers.iter().enumerate().rev() {
        let (count, width) = (layer.len(), layer.weight.cols());
        let start = end - count * (width + 1);
        for (j, &d) in back.iter().enumerate().filter(|(_, d)| **d != 0.0) {
            let weights = &mut result[start + j * width..start + (j + 1) * width];
            weights.iter_mut().zip(&inputs[l]).for_each(|(r, h)| *r += d * h);
            result[start + count * width + j] += d;
        }
        if l > 0 {
            back = row_times(&back, &layer.weight);
            back.iter_mut().zip(&inputs[l]).filter(|(_, h)| **h <= 0.0).for_each(|(d, _)| *d = 0.0);
        }
        end = start;
    }
}

/// The derivative of `f` along `step`.
fn forward(layers: &[Rows], inputs: &[Vec<f64>], step: &[f64]) -> Vec<f64> {
    let mut moved: Vec<f64> = Vec::new();
    let mut start = 0;
    for (l, layer) in layers.iter().enumerate() {
        let (count, width) = (layer.len(), layer.weight.cols());
        let (weights, rest) = step[start..].split_at(count * width);
        let mut next: Vec<f64> =
            weights.chunks_exact(width).zip(rest).map(|(w, b)| dot(w, &inputs[l]) + b).collect();
        if l > 0 {
            next.iter_mut().zip(layer.weight.iter_rows()).for_each(|(n, w)| *n += dot(w, &moved));
        }
        if let Some(hidden) = inputs.get(l + 1) {
            next.iter_mut().zip(hidden).filter(|(_, h)| **h <= 0.0).for_each(|(n, _)| *n = 0.0);
        }
        moved = next;
        start += count * (width + 1);
    }
    moved
}

/// The largest weight of every hidden neuron is held fixed.
fn fixed_parameters(layers: &[Rows]) -> Vec<bool> {
    let mut fixed = Vec::new();
    for (l, layer) in layers.iter().enumerate() {
        let hidden = l + 1 < layers.len();
        for row in layer.weight.iter_rows() {
            let largest = peak(row);
            let held = row.iter().position(|w| w.abs() == largest).filter(|_| hidden && largest > 0.0);
            fixed.extend((0..row.len()).map(|k| Some(k) == held));
        }
        fixed.extend(layer.bias.iter().map(|_| false));
    }
    fixed
}

fn apply(layers: &mut [Rows], step: &[f64]) {
    let mut step = step.iter();
    for layer in layers {
        for value in layer.weight.entries_mut().iter_mut().chain(&mut layer.bias) {
            *value += step.next().expect("one entry per parameter");
        }
    }
}
