//! The empirical neural tangent kernel in doubles, and the ranks that floating-point tools report.
//!
//! With `B_l` and `H_{l-1}` as in the exact computation, one row per point and output,
//!
//! ```text
//! K = J J^T = sum_l (B_l B_l^T) o (H_{l-1} H_{l-1}^T + 1 1^T)        (o entrywise),
//! ```
//!
//! so the Jacobian is not formed. The kernel is made in blocks of rows that fit a memory budget. Its
//! *effective rank* is `exp(- sum_i p_i log p_i)` with `p_i` the eigenvalues divided by their sum
//! [roy2007effective, Definition 1].
//!
//! `torch.linalg.matrix_rank` counts singular values of `J` above `max(rows, cols) sigma_max eps`. With the
//! `eps` of single precision that threshold, squared, is far above the rounding errors of a kernel in
//! doubles, so the count is made on eigenvalues of the smaller of `J J^T` and `J^T J` (`inertia`). With the `eps` of
//! doubles it is not, and the singular values of `J` itself are computed.

use faer::{Mat, Side};
use fiberscope_core::{Activation, Matrix, Network};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, s};
use rayon::prelude::*;

use super::inertia::count_above;
use super::options::DimensionOptions;
use super::pattern::Patterns;
use super::{DimensionError, check_points};
use crate::limit::{Limit, LimitReached};

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelKind {
    /// One row per point and output.
    Full,
    /// One row per point: the sum over the outputs.
    Trace,
}

/// A network's kernel on a batch, ready to be computed.
#[derive(Clone, Debug)]
pub struct Kernel {
    outputs: usize,
    points: usize,
    parameters: usize,
    /// `(h_{l-1}, 1)`, one row per point.
    inputs: Vec<Array2<f64>>,
    /// `B_l` of the hidden layers, one row per point and output.
    signals: Vec<Array2<f64>>,
}

impl Kernel {
    /// The kernel of a network at the rows of `points`.
    pub fn new(network: &Network, points: &Matrix) -> Result<Self, DimensionError> {
        check_points(network, points)?;
        let patterns = Patterns::of(network, points, &DimensionOptions::new())?;
        let (inputs, signals) = (forward(network, points, &patterns), backward(network, &patterns));
        let finite = |all: &[Array2<f64>]| all.iter().all(|matrix| matrix.iter().all(|x| x.is_finite()));
        if !finite(&inputs) || !finite(&signals) {
            return Err(DimensionError::Overflow("the kernel"));
        }
        let (outputs, parameters) = (network.output_width(), network.parameter_count());
        Ok(Kernel { outputs, points: points.rows(), parameters, inputs, signals })
    }

    /// The number of rows (and columns) of the kernel.
    pub fn size(&self, kind: KernelKind) -> usize {
        match kind {
            KernelKind::Full => self.points * self.outputs,
            KernelKind::Trace => self.points,
        }
    }

    /// Computes the kernel in blocks of rows, each given to `take` (row by row) in order, using about
    /// `memory` bytes beyond the factors.
    pub fn blocks<E>(
        &self,
        kind: KernelKind,
        memory: usize,
        mut take: impl FnMut(&[f64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let rows = self.points * self.outputs;
        let per_point = 8 * self.outputs * (2 * rows + self.points);
        let step = (memory / per_point.max(1)).clamp(1, self.points);
        for first in (0..self.points).step_by(step) {
            let count = step.min(self.points - first);
            let block = self.block(first, count, self.points);
            match kind {
                KernelKind::Full => take(block.as_slice().expect("a new matrix is contiguous"))?,
                KernelKind::Trace => take(&self.trace(&block))?,
            }
        }
        Ok(())
    }

    /// The rows of the full kernel that belong to some points, up to the columns of the first points.
    fn block(&self, first: usize, count: usize, columns: usize) -> Array2<f64> {
        let (outputs, rows) = (self.outputs, columns * self.outputs);
        let mut block = Array2::zeros((count * outputs, rows));
        let mut left = Array2::zeros((count * outputs, rows));
        let mut right = Array2::zeros((count, columns));
        for (l, input) in self.inputs.iter().enumerate() {
            product(input.slice(s![first..first + count, ..]), input.slice(s![..columns, ..]), &mut right);
            let signal = self.signals.get(l);
            if let Some(signal) = signal {
                let part = signal.slice(s![first * outputs..(first + count) * outputs, ..]);
                product(part, signal.slice(s![..rows, ..]), &mut left);
            }
            let out = block.as_slice_mut().expect("contiguous").par_chunks_mut(rows).enumerate();
            out.for_each(|(i, out)| {
                let (left, right) = (left.row(i), right.row(i / outputs));
                let (left, right) = (left.as_slice().expect("a row"), right.as_slice().expect("a row"));
                match signal {
                    Some(_) if outputs == 1 => {
                        out.iter_mut().zip(left).zip(right).for_each(|((out, b), h)| *out += b * h);
                    }
                    Some(_) => {
                        let pairs = out.chunks_exact_mut(outputs).zip(left.chunks_exact(outputs));
                        for ((out, b), h) in pairs.zip(right) {
                            out.iter_mut().zip(b).for_each(|(out, b)| *out += b * h);
                        }
                    }
                    None => {
                        let own = out.iter_mut().skip(i % outputs).step_by(outputs);
                        own.zip(right).for_each(|(out, h)| *out += h);
                    }
                }
            });
        }
        block
    }

    fn trace(&self, block: &Array2<f64>) -> Vec<f64> {
        let n = self.outputs;
        let entry = |i: usize, j: usize| (0..n).map(|o| block[(i * n + o, j * n + o)]).sum();
        (0..block.nrows() / n)
            .flat_map(|i| (0..self.points).map(move |j| (i, j)))
            .map(|(i, j)| entry(i, j))
            .collect()
    }

    /// The eigenvalues of the kernel, largest first. Needs the kernel in memory, twice.
    pub fn spectrum(&self, kind: KernelKind, memory: usize) -> Result<Vec<f64>, DimensionError> {
        eigenvalues(&self.matrix(kind, memory)?)
    }

    /// The kernel in memory. There is room for it twice.
    fn matrix(&self, kind: KernelKind, memory: usize) -> Result<Mat<f64>, DimensionError> {
        let size = self.size(kind);
        within("the spectrum of the kernel", 16 * size * size, memory)?;
        if kind == KernelKind::Full {
            return Ok(self.whole());
        }
        let mut entries = Vec::with_capacity(size * size);
        let taken: Result<(), std::convert::Infallible> = self.blocks(kind, memory / 4, |block| {
            entries.extend_from_slice(block);
            Ok(())
        });
        let Ok(()) = taken;
        Ok(Mat::from_fn(size, size, |i, j| entries[i.max(j) * size + i.min(j)]))
    }

    /// The full kernel, strip after strip: what is below the diagonal is computed, what is above is the same.
    fn whole(&self) -> Mat<f64> {
        /// Points of a strip, whose rows stay in the cache.
        const STEP: usize = 64;
        const TILE: usize = 32;
        let size = self.size(KernelKind::Full);
        let mut matrix = Mat::zeros(size, size);
        for first in (0..self.points).step_by(STEP) {
            let count = STEP.min(self.points - first);
            let block = self.block(first, count, first + count);
            for (i, row) in block.rows().into_iter().enumerate() {
                let i = first * self.outputs + i;
                let to = &mut matrix.col_as_slice_mut(i)[..=i];
                to.iter_mut().zip(row).for_each(|(to, entry)| *to = *entry);
            }
        }
        for (top, left) in
            (0..size).step_by(TILE).flat_map(|top| (0..=top).step_by(TILE).map(move |left| (top, left)))
        {
            for j in left..(left + TILE).min(size) {
                for i in top.max(j + 1)..(top + TILE).min(size) {
                    matrix[(i, j)] = matrix[(j, i)];
                }
            }
        }
        matrix
    }

    /// The singular values of the parameter Jacobian, largest first, computed from the Jacobian itself.
    pub fn singular_values(&self, memory: usize) -> Result<Vec<f64>, DimensionError> {
        let rows = self.size(KernelKind::Full);
        within("the singular values of the Jacobian", 24 * rows * self.parameters, memory)?;
        let jacobian = self.jacobian(0, self.points);
        let matrix = Mat::from_fn(rows, self.parameters, |i, j| jacobian[(i, j)]);
        matrix.singular_values().map_err(|_| DimensionError::Overflow("the singular values"))
    }

    /// The rank that `torch.linalg.matrix_rank` gives for the Jacobian in single precision, up to its
    /// rounding errors: the number of singular values above `max(rows, cols) sigma_max 2^-23`.
    pub fn rank_float32(&self, memory: usize) -> Result<usize, DimensionError> {
        let (rows, cols) = (self.size(KernelKind::Full), self.parameters);
        let gram = if rows <= cols {
            self.matrix(KernelKind::Full, memory)?
        } else {
            within("the rank with the float32 threshold", 24 * cols * cols, memory)?;
            self.inner_gram()
        };
        let threshold = rows.max(cols) as f64 * f64::from(f32::EPSILON);
        count_large(gram, threshold * threshold)
    }

    /// `J^T J`.
    fn inner_gram(&self) -> Mat<f64> {
        const STEP: usize = 256;
        let n = self.parameters;
        let mut sum = Array2::zeros((n, n));
        for first in (0..self.points).step_by(STEP) {
            let part = self.jacobian(first, STEP.min(self.points - first));
            general_mat_mul(1.0, &part.t(), &part, 1.0, &mut sum);
        }
        Mat::from_fn(n, n, |i, j| sum[(i.max(j), i.min(j))])
    }

    /// The rows of the Jacobian that belong to some points: layer after layer, weights row by row with the
    /// bias as last column.
    pub fn jacobian(&self, first: usize, count: usize) -> Array2<f64> {
        let outputs = self.outputs;
        let mut jacobian = Array2::zeros((count * outputs, self.parameters));
        for (row, mut out) in jacobian.rows_mut().into_iter().enumerate() {
            let (point, output) = (first + row / outputs, row % outputs);
            let mut at = 0;
            for (l, input) in self.inputs.iter().enumerate() {
                let width = self.signals.get(l).map_or(outputs, Array2::ncols);
                let inputs = input.ncols();
                for unit in 0..width {
                    let b = match self.signals.get(l) {
                        Some(signal) => signal[(point * outputs + output, unit)],
                        None => f64::from(u8::from(unit == output)),
                    };
                    if b != 0.0 {
                        for (j, &h) in input.row(point).iter().enumerate() {
                            out[at + unit * inputs + j] = b * h;
                        }
                    }
                }
                at += width * inputs;
            }
        }
        jacobian
    }
}

/// The number of singular values above the usual threshold `max(rows, cols) sigma_max eps` of doubles.
pub fn rank_float64(singular_values: &[f64], rows: usize, cols: usize) -> usize {
    let largest = singular_values.first().copied().unwrap_or(0.0);
    let threshold = rows.max(cols) as f64 * largest * f64::EPSILON;
    singular_values.iter().filter(|&&value| value > threshold).count()
}

/// `exp` of the entropy of the eigenvalues divided by their sum; 0 for the zero kernel.
pub fn effective_rank(eigenvalues: &[f64]) -> f64 {
    let sum: f64 = eigenvalues.iter().filter(|value| **value > 0.0).sum();
    if sum == 0.0 {
        return 0.0;
    }
    let entropy = |&value: &f64| if value > 0.0 { -(value / sum) * (value / sum).ln() } else { 0.0 };
    eigenvalues.iter().map(entropy).sum::<f64>().exp()
}

fn within(what: &'static str, needed: usize, memory: usize) -> Result<(), DimensionError> {
    if needed <= memory {
        return Ok(());
    }
    let when = format!("by {what}: {} MB are needed, {} MB allowed", needed.div_ceil(1 << 20), memory >> 20);
    Err(DimensionError::Limit(LimitReached { limit: Limit::Memory, when }))
}

/// All eigenvalues are computed of matrices up to this size: that takes a few milliseconds.
const SMALL: usize = 160;

/// The number of eigenvalues of a Gram matrix above `part` of the largest.
fn count_large(gram: Mat<f64>, part: f64) -> Result<usize, DimensionError> {
    let finite = gram.norm_max().is_finite();
    let gram = match finite && gram.nrows() > SMALL {
        true => match count_above(gram, part) {
            Ok(count) => return Ok(count),
            Err(gram) => gram,
        },
        false => gram,
    };
    let squares = eigenvalues(&gram)?;
    let largest = squares.first().copied().unwrap_or(0.0);
    Ok(squares.iter().filter(|&&square| square > part * largest).count())
}

/// The eigenvalues of a symmetric matrix, largest first.
fn eigenvalues(matrix: &Mat<f64>) -> Result<Vec<f64>, DimensionError> {
    let overflow = DimensionError::Overflow("the eigenvalues");
    if !matrix.norm_max().is_finite() {
        return Err(overflow);
    }
    let mut values = matrix.self_adjoint_eigenvalues(Side::Lower).map_err(|_| overflow)?;
    values.reverse();
    Ok(values)
}

/// `out = left right^T`.
fn product(left: ArrayView2<f64>, right: ArrayView2<f64>, out: &mut Array2<f64>) {
    general_mat_mul(1.0, &left, &right.t(), 0.0, out);
}

fn forward(network: &Network, points: &Matrix, patterns: &Patterns) -> Vec<Array2<f64>> {
    let count = points.rows();
    let first = Array2::from_shape_fn((count, points.cols() + 1), |(i, j)| {
        if j < points.cols() { points[(i, j)] } else { 1.0 }
    });
    let mut inputs = vec![first];
    for (l, layer) in network.hidden_layers().iter().enumerate() {
        let (width, before) = (layer.width(), layer.input_width());
        let weight = ArrayView2::from_shape((width, before), layer.weight().entries()).expect("its shape");
        let mut z = Array2::zeros((count, width));
        product(inputs[l].slice(s![.., ..before]), weight, &mut z);
        let next = Array2::from_shape_fn((count, width + 1), |(i, unit)| match unit {
            _ if unit == width => 1.0,
            _ if layer.activation() == Activation::Identity || patterns.is_active(i, l, unit) => {
                z[(i, unit)] + layer.bias()[unit]
            }
            _ => 0.0,
        });
        inputs.push(next);
    }
    inputs
}

fn backward(network: &Network, patterns: &Patterns) -> Vec<Array2<f64>> {
    let (outputs, count) = (network.output_width(), patterns.count());
    let mut signals: Vec<Array2<f64>> = Vec::new();
    for l in (0..network.hidden_depth()).rev() {
        let next = &network.layers()[l + 1];
        let shape = (next.width(), next.input_width());
        let weight = ArrayView2::from_shape(shape, next.weight().entries()).expect("its shape");
        let mut signal = match signals.last() {
            Some(later) => later.dot(&weight),
            None => {
                Array2::from_shape_fn((count * outputs, shape.1), |(row, unit)| weight[(row % outputs, unit)])
            }
        };
        for ((row, unit), x) in signal.indexed_iter_mut() {
            if !patterns.is_active(row / outputs, l, unit) {
                *x = 0.0;
            }
        }
        signals.push(signal);
    }
    signals.reverse();
    signals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimension::testing::{random_network, random_points};

    #[test]
    fn the_kernel_is_the_gram_matrix_of_the_jacobian_in_blocks_of_any_size() {
        let network = random_network(&[3, 5, 4, 2], 1);
        let kernel = Kernel::new(&network, &random_points(7, 3, 1)).unwrap();
        let jacobian = kernel.jacobian(0, 7);
        assert_eq!(jacobian.ncols(), network.parameter_count());
        let gram = jacobian.dot(&jacobian.t());
        for memory in [1, 3000, 1 << 20] {
            let mut rows = Vec::new();
            let done: Result<(), ()> = kernel.blocks(KernelKind::Full, memory, |block| {
                rows.extend_from_slice(block);
                Ok(())
            });
            done.unwrap();
            assert_eq!(rows.len(), 14 * 14);
            assert!(rows.iter().zip(&gram).all(|(x, y)| (x - y).abs() < 1e-12));
            let mut trace = Vec::new();
            let done: Result<(), ()> = kernel.blocks(KernelKind::Trace, memory, |block| {
                trace.extend_from_slice(block);
                Ok(())
            });
            done.unwrap();
            assert!((trace[1] - gram[(0, 2)] - gram[(1, 3)]).abs() < 1e-12);
        }
    }

    #[test]
    fn the_jacobian_is_the_derivative() {
        let network = random_network(&[2, 4, 3, 2], 3);
        let points = random_points(5, 2, 3);
        let jacobian = Kernel::new(&network, &points).unwrap().jacobian(0, 5);
        let step = 1e-6;
        for parameter in 0..network.parameter_count() {
            let moved = |by: f64| {
                let mut at = 0;
                let mut layers = Vec::new();
                for layer in network.layers() {
                    let inputs = layer.input_width();
                    let mut weight = layer.weight().clone();
                    let mut bias = layer.bias().to_vec();
                    if (at..at + weight.rows() * (inputs + 1)).contains(&parameter) {
                        let (i, j) = ((parameter - at) / (inputs + 1), (parameter - at) % (inputs + 1));
                        if j < inputs { weight[(i, j)] += by } else { bias[i] += by }
                    }
                    at += weight.rows() * (inputs + 1);
                    layers.push(fiberscope_core::Layer::new(weight, bias, layer.activation()));
                }
                Network::new(layers).unwrap().evaluate_batch(&points).unwrap()
            };
            let (up, down) = (moved(step), moved(-step));
            for row in 0..10 {
                let slope = (up.entries()[row] - down.entries()[row]) / (2.0 * step);
                assert!((slope - jacobian[(row, parameter)]).abs() < 1e-6, "{row} {parameter}");
            }
        }
    }

    #[test]
    fn spectra_and_ranks() {
        let network = random_network(&[2, 5, 5, 1], 2);
        for count in [12, 90] {
            let kernel = Kernel::new(&network, &random_points(count, 2, 2)).unwrap();
            let singular = kernel.singular_values(1 << 30).unwrap();
            let spectrum = kernel.spectrum(KernelKind::Full, 1 << 30).unwrap();
            for (s, e) in singular.iter().zip(&spectrum) {
                assert!((s * s - e).abs() < 1e-9 * spectrum[0]);
            }
            let threshold = count.max(51) as f64 * f64::from(f32::EPSILON) * singular[0];
            let expected = singular.iter().filter(|&&value| value > threshold).count();
            assert_eq!(kernel.rank_float32(1 << 30).unwrap(), expected);
            let effective = effective_rank(&spectrum);
            assert!(effective > 1.0 && effective <= count as f64);
            let refused = kernel.spectrum(KernelKind::Full, 10).unwrap_err().to_string();
            assert!(refused.contains("1 MB are needed, 0 MB allowed"), "{refused}");
        }
        assert_eq!(effective_rank(&[1.0, 1.0, 0.0]), 2.0);
    }
}
