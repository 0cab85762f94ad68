//! Evaluation in double precision.
//!
//! A batch of points is a matrix `X` with one row per point; a layer turns it into
//! `act(X W^T + b)`. The batch is cut into blocks of points, so that the activations of a block stay
//! in the cache from one layer to the next; every block is one matrix product per layer and one pass
//! that adds the bias and applies the activation.
//!
//! The blocks depend on the network only and each is computed by one thread, so the result does not
//! depend on the number of threads. It may depend on the processor (fused multiplication) and, in
//! the last bits, on the size of the batch.

use ndarray::ArrayView1;
use ndarray::linalg::general_mat_mul;
#[cfg(feature = "parallel")]
use rayon::prelude::*;
use thiserror::Error;

use crate::product::{view, view_mut};
use crate::{Activation, Layer, Matrix, Network, Weights, sparse_batch};

/// A point does not have as many coordinates as the network or the affine map has inputs.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("expected {expected} inputs, found {found}")]
pub struct InputError {
    /// The number of inputs of the network or the map.
    pub expected: usize,
    /// The number of coordinates of the point.
    pub found: usize,
}

/// The most points in a block.
const BLOCK_ROWS: usize = 256;

/// Layers so wide that a block of activations would have more entries get smaller blocks.
const BLOCK_ENTRIES: usize = 1 << 20;

impl Network {
    /// `f(x)` in double precision. What overflows becomes infinite or NaN and stays so.
    pub fn evaluate(&self, x: &[f64]) -> Result<Vec<f64>, InputError> {
        check_width(self.input_width(), x.len())?;
        let mut values = vec![0.0; self.output_width()];
        evaluate_block(self, x, &mut values);
        Ok(values)
    }

    /// `f` at every row of `points`, in double precision: one row of outputs per point.
    ///
    /// With the feature `parallel` the work is done by the threads of the current rayon pool; the
    /// caller decides how many by installing one.
    ///
    /// ```
    /// use fiberscope_core::{Activation, Layer, Matrix, Network};
    ///
    /// let hidden = Layer::new(Matrix::from_rows(&[[1.0], [-1.0]]).unwrap(), vec![0.0, 0.0], Activation::Relu);
    /// let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
    /// let absolute_value = Network::new(vec![hidden, output]).unwrap();
    ///
    /// let points = Matrix::from_rows(&[[-3.0], [0.0], [0.5]]).unwrap();
    /// assert_eq!(absolute_value.evaluate_batch(&points).unwrap().entries(), [3.0, 0.0, 0.5]);
    /// ```
    pub fn evaluate_batch(&self, points: &Matrix) -> Result<Matrix, InputError> {
        check_width(self.input_width(), points.cols())?;
        let values = self.evaluate_rows(points.entries())?;
        Ok(Matrix::from_entries(points.rows(), self.output_width(), values)
            .expect("a row of outputs per point"))
    }

    /// The same for points stored one after the other, without a copy of them: as many outputs per point, in
    /// the same order. What is left over at the end is refused.
    pub fn evaluate_rows(&self, points: &[f64]) -> Result<Vec<f64>, InputError> {
        let (count, rest) = (points.len() / self.input_width(), points.len() % self.input_width());
        if rest > 0 {
            return Err(InputError { expected: self.input_width(), found: rest });
        }
        let mut values = vec![0.0; count * self.output_width()];
        // A single point is summed up as a single point is.
        let is_sparse = count > 1 && self.layers().iter().any(|layer| layer.weights().is_sparse());
        let block = if is_sparse { sparse_batch::block(self) } else { block_rows(self) };
        let (inputs, outputs) = (block * self.input_width(), block * self.output_width());
        let room = || is_sparse.then(|| sparse_batch::Room::new(self));
        let one = |room: &mut Option<sparse_batch::Room>, (points, values): (&[f64], &mut [f64])| match room {
            Some(room) => sparse_batch::evaluate_block(self, points, values, room),
            None => evaluate_block(self, points, values),
        };
        #[cfg(feature = "parallel")]
        points.par_chunks(inputs).zip(values.par_chunks_mut(outputs)).for_each_init(room, one);
        #[cfg(not(feature = "parallel"))]
        {
            let mut room = room();
            points.chunks(inputs).zip(values.chunks_mut(outputs)).for_each(|block| one(&mut room, block));
        }
        Ok(values)
    }
}

pub(crate) fn check_width(expected: usize, found: usize) -> Result<(), InputError> {
    if expected == found { Ok(()) } else { Err(InputError { expected, found }) }
}

fn block_rows(network: &Network) -> usize {
    let widest = network.layers().iter().map(Layer::width).max().expect("a network has a layer");
    (BLOCK_ENTRIES / widest).clamp(16, BLOCK_ROWS)
}

/// Evaluates the points, stored row by row, into `values`.
fn evaluate_block(network: &Network, points: &[f64], values: &mut [f64]) {
    let rows = points.len() / network.input_width();
    let (output, hidden) = network.layers().split_last().expect("a network has a layer");
    let (mut current, mut next) = (Vec::new(), Vec::new());
    for (l, layer) in hidden.iter().enumerate() {
        next.resize(rows * layer.width(), 0.0);
        let input = if l == 0 { points } else { &current };
        match layer.activation() {
            Activation::Relu => forward(layer, input, &mut next, relu),
            Activation::Identity => forward(layer, input, &mut next, |z| z),
        }
        std::mem::swap(&mut current, &mut next);
    }
    let input = if hidden.is_empty() { points } else { &current };
    forward(output, input, values, |z| z);
}

/// `max(z, 0)`, NaN for NaN.
pub(crate) fn relu(z: f64) -> f64 {
    if z <= 0.0 { 0.0 } else { z }
}

/// `output = activate(input W^T + b)` for points stored row by row; `activate` meets the
/// pre-activations in the order of storage.
pub(crate) fn forward(
    layer: &Layer,
    input: &[f64],
    output: &mut [f64],
    mut activate: impl FnMut(f64) -> f64,
) {
    let (width, input_width) = (layer.width(), layer.input_width());
    let matrix = match layer.weights() {
        Weights::Dense(matrix) => matrix,
        Weights::Sparse(matrix) => {
            for (point, z) in input.chunks_exact(input_width).zip(output.chunks_exact_mut(width)) {
                for (i, z) in z.iter_mut().enumerate() {
                    let (columns, entries) = matrix.row(i);
                    let terms = columns.iter().zip(entries).map(|(&j, w)| w * point[j as usize]);
                    *z = activate(terms.sum::<f64>() + layer.bias()[i]);
                }
            }
            return;
        }
    };
    if input.len() == input_width {
        let input = ArrayView1::from(input);
        for (z, row) in output.iter_mut().zip(matrix.iter_rows()) {
            *z = ArrayView1::from(row).dot(&input);
        }
    } else {
        let rows = input.len() / input_width;
        // Transposed, with the weight on the left: that takes a sixth less time.
        let points = view(rows, input_width, input).reversed_axes();
        let mut product = view_mut(rows, width, output).reversed_axes();
        general_mat_mul(1.0, &view(width, input_width, matrix.entries()), &points, 0.0, &mut product);
    }
    for point in output.chunks_exact_mut(width) {
        for (z, b) in point.iter_mut().zip(layer.bias()) {
            *z = activate(*z + b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random_network, random_points};

    /// The definition, one sum at a time.
    fn slow(network: &Network, x: &[f64]) -> Vec<f64> {
        network.layers().iter().fold(x.to_vec(), |a, layer| {
            let z = layer.weight().iter_rows().zip(layer.bias());
            let z = z.map(|(row, b)| row.iter().zip(&a).map(|(w, a)| w * a).sum::<f64>() + b);
            match layer.activation() {
                Activation::Relu => z.map(|z| z.max(0.0)).collect(),
                Activation::Identity => z.collect(),
            }
        })
    }

    fn assert_close(a: &[f64], b: &[f64]) {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= 1e-10 * (1.0 + b.abs()), "{a} {b}");
        }
    }

    #[test]
    fn batches_and_single_points_follow_the_definition() {
        for widths in [&[3, 1][..], &[1, 1, 1], &[2, 7, 5, 3], &[20, 33, 1, 17, 2]] {
            let network = random_network(widths, 1);
            for count in [0, 1, 2, BLOCK_ROWS, 2 * BLOCK_ROWS + 3] {
                let points = random_points(count, widths[0], 2);
                let values = network.evaluate_batch(&points).unwrap();
                assert_eq!((values.rows(), values.cols()), (count, network.output_width()));
                for (x, y) in points.iter_rows().zip(values.iter_rows()) {
                    assert_close(y, &slow(&network, x));
                    assert_close(&network.evaluate(x).unwrap(), y);
                }
            }
        }
    }

    #[test]
    fn wide_layers_get_smaller_blocks() {
        let network = random_network(&[1, 10_000, 1], 3);
        assert!(block_rows(&network) < BLOCK_ROWS);
        let points = random_points(block_rows(&network) + 1, 1, 4);
        let values = network.evaluate_batch(&points).unwrap();
        for (x, y) in points.iter_rows().zip(values.iter_rows()) {
            assert_close(y, &slow(&network, x));
        }
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn the_number_of_threads_changes_nothing() {
        let network = random_network(&[11, 40, 30, 3], 5);
        let points = random_points(5 * BLOCK_ROWS + 77, 11, 6);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| network.evaluate_batch(&points).unwrap())
        };
        let one = on(1);
        for threads in [2, 3, 8] {
            assert_eq!(one, on(threads));
        }
    }

    #[test]
    fn the_wrong_number_of_inputs_is_refused() {
        let network = random_network(&[3, 2], 7);
        let error = network.evaluate(&[1.0]).unwrap_err();
        assert_eq!(error.to_string(), "expected 3 inputs, found 1");
        assert_eq!(network.evaluate_batch(&random_points(2, 4, 8)).unwrap_err().found, 4);
        assert_eq!(network.evaluate_rows(&[1.0; 7]).unwrap_err().found, 1);
    }

    #[test]
    fn overflow_is_not_hidden() {
        let layer =
            |w: f64, activation| Layer::new(Matrix::from_rows(&[[w, -w]]).unwrap(), vec![0.0], activation);
        let relu = layer(1e300, Activation::Relu);
        let output = Layer::new(Matrix::from_rows(&[[1.0]]).unwrap(), vec![0.0], Activation::Identity);
        let network = Network::new(vec![relu, output]).unwrap();
        assert!(network.evaluate(&[1e300, 1e300]).unwrap()[0].is_nan());
    }
}
