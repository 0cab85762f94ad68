//! All parameters together against all answers: Gauss-Newton with the stored queries.
//!
//! Scaling a neuron leaves the function alone, so one weight per hidden neuron (its largest) is held fixed and the
//! Jacobian `J` has full rank. It hardly changes from the start on, so `J^T J` is factored once; it is the residuals
//! `r` in `J^T J s = J^T r` that have to be exact.

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::solvers::{Llt, Solve};
use faer::{Accum, Mat, Par, Side};
use fiberscope_core::Matrix;

use super::algebra::{dot, peak, row_times};
use super::fit::weights;
use super::inquiry::Inquiry;
use super::prefix::Rows;

/// The most parameters for which a Gram matrix is factored.
pub(super) const DENSE_PARAMETERS: usize = 5_000;

/// Multiplications that a Gram matrix is worth.
const WORK: usize = 20_000_000_000;

/// Improves the layers (the last one without a ReLU) by the stored answers within `reach` radii.
pub(super) fn polish(inquiry: &Inquiry<'_>, layers: &mut Vec<Rows>, reach: f64) {
    let total: usize = layers.iter().map(|layer| layer.len() * (layer.weight.cols() + 1)).sum();
    let most = (WORK / (total * total)).clamp(3 * total, 60_000.max(3 * total)) / inquiry.outputs;
    let (points, answers) = inquiry.recent(reach, most);
    let problem =
        Problem { weights: weights(&points), points, answers, fixed: fixed_parameters(layers), total };
    let before = problem.root_mean_square(layers) / inquiry.eta;
    let mut best = (before, layers.clone());
    let Some(gram) = problem.gram(layers) else { return };
    for _ in 0..8 {
        let step = gram.solve(&problem.transposed(layers, &problem.residuals(layers)));
        apply(layers, &step);
        let now = problem.root_mean_square(layers) / inquiry.eta;
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
    fn root_mean_square(&self, layers: &[Rows]) -> f64 {
        let residuals = self.residuals(layers);
        (dot(&residuals, &residuals) / residuals.len().max(1) as f64).sqrt()
    }

    /// Weighted residuals, output by output for each point.
    fn residuals(&self, layers: &[Rows]) -> Vec<f64> {
        let mut residuals = Vec::with_capacity(self.answers.entries().len());
        for (i, x) in self.points.iter_rows().enumerate() {
            let inputs = inputs_of(layers, x);
            let output = layers.last().expect("an output layer").at(inputs.last().expect("the input itself"));
            residuals.extend(self.answers.row(i).iter().zip(&output).map(|(y, f)| (y - f) * self.weights[i]));
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

    fn gram(&self, layers: &[Rows]) -> Option<Gram> {
        let free: Vec<usize> = (0..self.total).filter(|&p| !self.fixed[p]).collect();
        let outputs = self.answers.cols();
        let count = self.points.rows();
        let mut jacobian = Mat::<f64>::zeros(count * outputs, free.len());
        let mut next = 0;
        self.derivatives(layers, count, |row| {
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

    /// Rows of the Jacobian at `count` points spread over all of them.
    fn derivatives(&self, layers: &[Rows], count: usize, mut take: impl FnMut(&[f64])) {
        let rows = self.points.rows();
        for k in 0..count.min(rows) {
            let i = k * rows / count.min(rows);
            let inputs = inputs_of(layers, self.points.row(i));
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

/// The input of every layer.
fn inputs_of(layers: &[Rows], x: &[f64]) -> Vec<Vec<f64>> {
    let mut inputs = vec![x.to_vec()];
    for layer in &layers[..layers.len() - 1] {
        let z = layer.at(inputs.last().expect("the input itself"));
        inputs.push(z.into_iter().map(|z| z.max(0.0)).collect());
    }
    inputs
}

/// Adds the derivative of `back . f` by all parameters to `result`: layer by layer, weights before biases.
fn backward(layers: &[Rows], inputs: &[Vec<f64>], mut back: Vec<f64>, result: &mut [f64]) {
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
