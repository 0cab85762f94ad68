//! The places of a layer whose neurons change: what is permuted and scaled, in place and nothing else.

use fiberscope_core::{Layer, Matrix, Weights};
use rayon::prelude::*;

use crate::orbit::LayerRelabelling;

/// New neuron `to[k]` is old neuron `from[k]` times `factors[k]`; all others stay.
pub(super) struct Moved {
    pub(super) to: Vec<usize>,
    from: Vec<usize>,
    factors: Vec<f64>,
}

impl Moved {
    pub(super) fn of(relabelling: &LayerRelabelling<f64>) -> Self {
        let LayerRelabelling { order, factors } = relabelling;
        let to: Vec<usize> = (0..order.len()).filter(|&i| order[i] != i || factors[i] != 1.0).collect();
        let factors: Vec<f64> = to.iter().map(|&i| factors[i]).collect();
        Moved { from: to.iter().map(|&i| order[i]).collect(), to, factors }
    }

    /// The largest factor of what comes in, and the largest one of what goes out; at least 1.
    pub(super) fn largest_factors(&self) -> [f64; 2] {
        let most = |factors: &mut dyn Iterator<Item = f64>| factors.fold(1.0, f64::max);
        [most(&mut self.factors.iter().copied()), most(&mut self.factors.iter().map(|factor| factor.recip()))]
    }

    /// The same with the reciprocal factors, for what goes out.
    pub(super) fn inverse(&self) -> Self {
        Moved {
            to: self.to.clone(),
            from: self.from.clone(),
            factors: self.factors.iter().map(|factor| factor.recip()).collect(),
        }
    }

    /// A list with one number per neuron, its factors raised to a power.
    pub(super) fn list(&self, numbers: &mut [f64], power: i32) {
        let old: Vec<f64> = self.from.iter().map(|&from| numbers[from]).collect();
        for ((&to, old), factor) in self.to.iter().zip(old).zip(&self.factors) {
            numbers[to] = old * factor.powi(power);
        }
    }

    /// The rows and biases of a layer.
    pub(super) fn rows(&self, layer: Layer) -> Layer {
        let (weights, mut bias, activation) = layer.into_stored_parts();
        self.list(&mut bias, 1);
        let weights = match weights {
            Weights::Dense(mut matrix) => {
                let old = matrix.select_rows(&self.from);
                for ((&to, old), factor) in self.to.iter().zip(old.iter_rows()).zip(&self.factors) {
                    matrix.row_mut(to).iter_mut().zip(old).for_each(|(new, old)| *new = old * factor);
                }
                Weights::Dense(matrix)
            }
            sparse => {
                let (order, factors) = self.all(sparse.rows());
                let mut rows = sparse.select_rows(&order);
                rows.change(|i, _, entry| *entry *= factors[i]);
                // What became zero is no entry any more.
                rows.map(|&entry| entry)
            }
        };
        Layer::new(weights, bias, activation)
    }

    /// The columns of the layer behind it, times the factors.
    pub(super) fn columns(&self, layer: Layer) -> Layer {
        let (weights, bias, activation) = layer.into_stored_parts();
        let weights = match weights {
            Weights::Dense(mut matrix) => {
                self.columns_of(&mut matrix);
                Weights::Dense(matrix)
            }
            sparse => {
                let (order, factors) = self.all(sparse.cols());
                let mut columns = sparse.select_columns(&order);
                columns.change(|_, j, entry| *entry *= factors[j]);
                columns.map(|&entry| entry)
            }
        };
        Layer::new(weights, bias, activation)
    }

    /// The columns of a matrix, times the factors.
    pub(super) fn columns_of(&self, matrix: &mut Matrix) {
        let cols = matrix.cols().max(1);
        let room = || vec![0.0; self.from.len()];
        matrix.entries_mut().par_chunks_mut(cols).with_min_len(64).for_each_init(room, |old, row| {
            old.iter_mut().zip(&self.from).for_each(|(old, &from)| *old = row[from]);
            let moved = self.to.iter().zip(old.iter().zip(&self.factors));
            moved.for_each(|(&to, (old, factor))| row[to] = old * factor);
        });
    }

    /// The order and the factors of all neurons.
    fn all(&self, width: usize) -> (Vec<usize>, Vec<f64>) {
        let (mut order, mut factors): (Vec<usize>, _) = ((0..width).collect(), vec![1.0; width]);
        for ((&to, &from), &factor) in self.to.iter().zip(&self.from).zip(&self.factors) {
            (order[to], factors[to]) = (from, factor);
        }
        (order, factors)
    }
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Activation, SparseMatrix};

    use super::*;

    #[test]
    fn rows_and_columns_move_alike_in_both_storages() {
        let relabelling = LayerRelabelling { order: vec![0, 3, 2, 1], factors: vec![1.0, 2.0, 0.5, 4.0] };
        let moved = Moved::of(&relabelling);
        assert_eq!((&moved.to[..], &moved.from[..]), (&[1, 2, 3][..], &[3, 2, 1][..]));
        assert_eq!(moved.largest_factors(), [4.0, 2.0]);
        let matrix = Matrix::from_fn(4, 4, |i, j| f64::from((i * 4 + j) as u32) - 5.0);
        let dense = Layer::new(matrix.clone(), vec![1.0, 2.0, 3.0, 4.0], Activation::Relu);
        let sparse = Weights::Sparse(SparseMatrix::from_dense(&matrix));
        let sparse = Layer::new(sparse, vec![1.0, 2.0, 3.0, 4.0], Activation::Relu);
        let rows = Matrix::from_fn(4, 4, |i, j| matrix[(relabelling.order[i], j)] * relabelling.factors[i]);
        let columns =
            Matrix::from_fn(4, 4, |i, j| matrix[(i, relabelling.order[j])] / relabelling.factors[j]);
        for layer in [dense, sparse] {
            let made = moved.rows(layer.clone());
            assert_eq!((made.weights().to_dense(), made.bias()), (rows.clone(), &[1.0, 8.0, 1.5, 8.0][..]));
            assert_eq!(moved.inverse().columns(layer).weights().to_dense(), columns);
        }
    }
}
