//! All parameters together against all answers: Gauss-Newton with the stored queries.
//!
//! Scaling a neuron leaves the function alone, so one weight per hidden neuron (its largest) is held fixed and the
//! Jacobian has full rank. It hardly changes from the start on, so its Gram matrix is factored once; residuals are
//! what has to be exact. Large networks are improved by conjugate gradients on the normal equations instead.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use fiberscope_core::Matrix;

use super::fit::weights;
use super::inquiry::Inquiry;
use super::prefix::Rows;

/// The most parameters for which the Gram matrix is factored.
const DENSE_PARAMETERS: usize = 5_000;

/// Multiplications for a Gram matrix that are worth their while.
const WORK: usize = 20_000_000_000;

/// Steps of conjugate gradients for larger networks.
const CONJUGATE_STEPS: usize = 60;

/// Improves the layers (the last one without a ReLU) by the stored answers; gives the root mean square of the
/// weighted residuals before and after, in units of the noise.
pub(super) fn polish(inquiry: &Inquiry<'_>, layers: &mut Vec<Rows>, reach: f64) -> (f64, f64) {
    let total: usize = layers.iter().map(|layer| layer.len() * (layer.weight.cols() + 1)).sum();
    let most = (WORK / (total * total)).clamp(3 * total, 60_000.max(3 * total)) / inquiry.outputs;
    let (points, answers) = inquiry.recent(reach, most);
    let problem = Problem { weights: weights(&points), points, answers, fixed: fixed_parameters(layers) };
    let before = problem.root_mean_square(layers) / inquiry.eta;
    let mut best = (before, layers.clone());
    let mut factor = None;
    for _ in 0..8 {
        let Some(step) = problem.step(layers, total, &mut factor) else { break };
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
    (before, best.0)
}

struct Problem {
    points: Matrix,
    answers: Matrix,
    weights: Vec<f64>,
    fixed: Vec<bool>,
}

struct Factor {
    gram: faer::linalg::solvers::Llt<f64>,
    lengths: Vec<f64>,
    free: Vec<usize>,
    jacobian: Mat<f64>,
}

impl Problem {
    fn root_mean_square(&self, layers: &[Rows]) -> f64 {
        let residuals = self.residuals(layers);
        (residuals.iter().map(|r| r * r).sum::<f64>() / residuals.len().max(1) as f64).sqrt()
    }

    /// Weighted residuals, output by output for each point.
    fn residuals(&self, layers: &[Rows]) -> Vec<f64> {
        let mut residuals = Vec::with_capacity(self.answers.entries().len());
        for (i, x) in self.points.iter_rows().enumerate() {
            let mut h = x.to_vec();
            for (l, layer) in layers.iter().enumerate() {
                h = layer.at(&h);
                if l + 1 < layers.len() {
                    h.iter_mut().for_each(|z| *z = z.max(0.0));
                }
            }
            residuals.extend(self.answers.row(i).iter().zip(&h).map(|(y, f)| (y - f) * self.weights[i]));
        }
        residuals
    }

    /// The Gauss-Newton step, one entry per parameter.
    fn step(&self, layers: &[Rows], total: usize, factor: &mut Option<Factor>) -> Option<Vec<f64>> {
        if total > DENSE_PARAMETERS {
            return self.conjugate_gradients(layers, total);
        }
        if factor.is_none() {
            *factor = Some(self.factor(layers, total)?);
        }
        let factor = factor.as_ref()?;
        let residuals = self.residuals(layers);
        let right = Mat::from_fn(residuals.len(), 1, |i, _| residuals[i]);
        let gradient = factor.jacobian.transpose() * &right;
        let solution = factor.gram.solve(&gradient);
        let mut step = vec![0.0; total];
        for (k, &p) in factor.free.iter().enumerate() {
            step[p] = solution[(k, 0)] / factor.lengths[k];
        }
        Some(step)
    }

    fn factor(&self, layers: &[Rows], total: usize) -> Option<Factor> {
        let free: Vec<usize> = (0..total).filter(|&p| !self.fixed[p]).collect();
        let outputs = self.answers.cols();
        let mut jacobian = Mat::zeros(self.points.rows() * outputs, free.len());
        for i in 0..self.points.rows() {
            for o in 0..outputs {
                let row = self.derivative(layers, i, o, total);
                for (k, &p) in free.iter().enumerate() {
                    jacobian[(i * outputs + o, k)] = row[p];
                }
            }
        }
        let mut lengths = vec![1.0; free.len()];
        for (k, length) in lengths.iter_mut().enumerate() {
            let size = jacobian.col(k).iter().map(|v| v * v).sum::<f64>().sqrt();
            if size > 0.0 {
                *length = size;
                jacobian.col_mut(k).iter_mut().for_each(|v| *v /= size);
            }
        }
        let mut gram = jacobian.transpose() * &jacobian;
        for k in 0..free.len() {
            gram[(k, k)] += 1e-13;
        }
        let gram = gram.llt(Side::Lower).ok()?;
        Some(Factor { gram, lengths, free, jacobian })
    }

    /// The weighted derivative of one output at one point by all parameters, layer by layer, weights before biases.
    fn derivative(&self, layers: &[Rows], i: usize, o: usize, total: usize) -> Vec<f64> {
        let mut inputs = vec![self.points.row(i).to_vec()];
        for layer in &layers[..layers.len() - 1] {
            let h = layer.at(inputs.last().expect("the input itself"));
            inputs.push(h.into_iter().map(|z| z.max(0.0)).collect());
        }
        let mut back = vec![0.0; layers.last().map_or(0, Rows::len)];
        back[o] = self.weights[i];
        let mut row = vec![0.0; total];
        let mut end = total;
        for (l, layer) in layers.iter().enumerate().rev() {
            let (count, width) = (layer.len(), layer.weight.cols());
            let start = end - count * (width + 1);
            for (j, &d) in back.iter().enumerate().filter(|(_, d)| **d != 0.0) {
                let weights = &mut row[start + j * width..start + (j + 1) * width];
                weights.iter_mut().zip(&inputs[l]).for_each(|(r, h)| *r = d * h);
                row[start + count * width + j] = d;
            }
            if l > 0 {
                back = super::algebra::row_times(&back, &layer.weight);
                back.iter_mut().zip(&inputs[l]).for_each(|(d, &h)| {
                    if h <= 0.0 {
                        *d = 0.0;
                    }
                });
            }
            end = start;
        }
        row
    }

    /// Conjugate gradients on the normal equations with the diagonal as preconditioner.
    fn conjugate_gradients(&self, layers: &[Rows], total: usize) -> Option<Vec<f64>> {
        let outputs = self.answers.cols();
        let rows = self.points.rows() * outputs;
        let derivative = |r: usize| {
            let mut row = self.derivative(layers, r / outputs, r % outputs, total);
            row.iter_mut().zip(&self.fixed).filter(|(_, fixed)| **fixed).for_each(|(v, _)| *v = 0.0);
            row
        };
        let mut diagonal = vec![0.0f64; total];
        let mut residual = self.residuals(layers);
        let mut gradient = vec![0.0; total];
        for r in 0..rows {
            let row = derivative(r);
            for (k, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                diagonal[k] += v * v;
                gradient[k] += v * residual[r];
            }
        }
        diagonal.iter_mut().for_each(|d| *d = if *d > 0.0 { 1.0 / *d } else { 0.0 });
        let mut step = vec![0.0; total];
        let mut z: Vec<f64> = gradient.iter().zip(&diagonal).map(|(g, d)| g * d).collect();
        let mut search = z.clone();
        let mut power = super::algebra::dot(&gradient, &z);
        let start = power;
        for _ in 0..CONJUGATE_STEPS {
            if !(power > 1e-24 * start) {
                break;
            }
            let mut image = vec![0.0; rows];
            let mut back = vec![0.0; total];
            for r in 0..rows {
                let row = derivative(r);
                image[r] = super::algebra::dot(&row, &search);
                back.iter_mut().zip(&row).for_each(|(b, v)| *b += v * image[r]);
            }
            let length = power / super::algebra::dot(&image, &image);
            step.iter_mut().zip(&search).for_each(|(s, p)| *s += length * p);
            residual.iter_mut().zip(&image).for_each(|(r, p)| *r -= length * p);
            gradient.iter_mut().zip(&back).for_each(|(g, b)| *g -= length * b);
            z = gradient.iter().zip(&diagonal).map(|(g, d)| g * d).collect();
            let next = super::algebra::dot(&gradient, &z);
            search = super::algebra::along(&z, next / power, &search);
            power = next;
        }
        Some(step)
    }
}

/// The largest weight of every hidden neuron is held fixed.
fn fixed_parameters(layers: &[Rows]) -> Vec<bool> {
    let mut fixed = Vec::new();
    for (l, layer) in layers.iter().enumerate() {
        let hidden = l + 1 < layers.len();
        for row in layer.weight.iter_rows() {
            let largest = super::algebra::peak(row);
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
