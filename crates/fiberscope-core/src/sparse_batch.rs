//! Evaluation of many points by a network with sparse layers.
//!
//! The points of a block stand side by side: number `j` of a layer is a run of doubles, one for each point.
//! A stored weight `w` in column `j` then adds `w` times a run to the run of its row, which stays in registers
//! until the row is done. Rows with the same columns are worked off together ([`Alike`](crate::alike::Alike)), so that a
//! run is loaded once for several of them; those of a dense layer all are.
//!
//! The numbers of one point are added in the order of the columns, whatever the other points of its block and the
//! other rows of its group are.

use crate::alike::Own;
use crate::{Activation, Layer, Network, Weights};

/// The points of a block: few enough that what a convolution looks at stays in the nearest cache.
const POINTS: usize = 24;

/// The vectors of a run that one pass over the columns adds up.
const VECTORS: usize = 3;

/// The same for networks with layers so wide that two of them leave the second cache otherwise.
const POINTS_OF_WIDE: usize = 8;
const VECTORS_OF_WIDE: usize = 1;
const WIDE: usize = 8192;

/// Entries that a row must have on average for it to pay to look for the first row with the same ones.
const LONG: usize = 8;

/// Doubles in a line of the cache.
const LINE: usize = 8;

/// Room for the numbers of two layers of a block, to be used again by the next one.
pub(crate) struct Room {
    current: Vec<f64>,
    next: Vec<f64>,
}

impl Room {
    pub(crate) fn new(network: &Network) -> Self {
        let room = || vec![0.0; widest(network) * block(network)];
        Room { current: room(), next: room() }
    }
}

fn widest(network: &Network) -> usize {
    network.layers().iter().map(Layer::width).fold(network.input_width(), usize::max)
}

/// The points of a block.
pub(crate) fn block(network: &Network) -> usize {
    if widest(network) > WIDE { POINTS_OF_WIDE } else { POINTS }
}

/// Evaluates at most as many points as a block has, stored row by row, into `values`.
pub(crate) fn evaluate_block(network: &Network, points: &[f64], values: &mut [f64], room: &mut Room) {
    match block(network) {
        POINTS => evaluate::<POINTS, VECTORS>(network, points, values, room),
        _ => evaluate::<POINTS_OF_WIDE, VECTORS_OF_WIDE>(network, points, values, room),
    }
}

fn evaluate<const POINTS: usize, const VECTORS: usize>(
    network: &Network,
    points: &[f64],
    values: &mut [f64],
    Room { current, next }: &mut Room,
) {
    let (inputs, outputs) = (network.input_width(), network.output_width());
    // Some numbers of all points, then the next ones: what is written stays in the cache until it is full.
    for start in (0..inputs).step_by(LINE) {
        for (p, point) in points.chunks_exact(inputs).enumerate() {
            let numbers = point[start..].iter().take(LINE);
            numbers.enumerate().for_each(|(j, &x)| current[(start + j) * POINTS + p] = x);
        }
    }
    for layer in network.layers() {
        let input = &current[..layer.input_width() * POINTS];
        let output = &mut next[..layer.width() * POINTS];
        pulp::Arch::new().dispatch(Runs::<POINTS, VECTORS> { layer, input, output });
        std::mem::swap(current, next);
    }
    for (p, value) in values.chunks_exact_mut(outputs).enumerate() {
        value.iter_mut().enumerate().for_each(|(i, y)| *y = current[i * POINTS + p]);
    }
}

/// `output = act(W input + b)` on runs.
struct Runs<'a, const POINTS: usize, const VECTORS: usize> {
    layer: &'a Layer,
    input: &'a [f64],
    output: &'a mut [f64],
}

impl<const POINTS: usize, const VECTORS: usize> pulp::WithSimd for Runs<'_, POINTS, VECTORS> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, simd: S) {
        match self.layer.weights() {
            Weights::Sparse(matrix) if matrix.entries().len() < LONG * matrix.rows() => {
                for (rows, own) in matrix.alike().iter() {
                    self.rows(simd, rows, own, |row| matrix.row(row));
                }
            }
            Weights::Sparse(matrix) => {
                let first = matrix.first_equal();
                let entries = |row: usize| (matrix.row(row).0, matrix.row(first[row] as usize).1);
                for (rows, own) in matrix.alike().iter() {
                    self.rows(simd, rows, own, entries);
                }
            }
            Weights::Dense(matrix) => {
                let numbers = |count| (0u32..).take(count).collect::<Vec<_>>();
                let (rows, columns) = (numbers(matrix.rows()), numbers(matrix.cols()));
                self.rows(simd, &rows, &Own::Some(Vec::new()), |row| (&columns, matrix.row(row)));
            }
        }
    }
}

impl<const POINTS: usize, const VECTORS: usize> Runs<'_, POINTS, VECTORS> {
    /// The rows of a group.
    #[inline(always)]
    fn rows<'w, S: pulp::Simd>(
        &mut self,
        simd: S,
        rows: &[u32],
        own: &Own,
        entries: impl Fn(usize) -> (&'w [u32], &'w [f64]),
    ) {
        // The sums of a pass, a run and a weight fit the registers.
        let (eights, rest) = if S::REGISTER_COUNT >= 32 { rows.as_chunks::<8>() } else { (&[][..], rows) };
        let (fours, ones) = rest.as_chunks::<4>();
        // A run has a multiple of the vectors that a pass adds up, whatever the lanes of a vector (1, 2, 4 or 8).
        for part in (0..POINTS / S::F64_LANES).step_by(VECTORS) {
            eights.iter().for_each(|rows| self.pass(simd, part, rows, own, &entries));
            fours.iter().for_each(|rows| self.pass(simd, part, rows, own, &entries));
            ones.iter().for_each(|&row| self.pass(simd, part, &[row], own, &entries));
        }
    }

    /// Some vectors of the runs of some rows of a group.
    #[inline(always)]
    fn pass<'w, S: pulp::Simd, const R: usize>(
        &mut self,
        simd: S,
        part: usize,
        rows: &[u32; R],
        own: &Own,
        of_row: &impl Fn(usize) -> (&'w [u32], &'w [f64]),
    ) {
        let vectors = POINTS / S::F64_LANES;
        let (input, _) = S::as_simd_f64s(self.input);
        let (output, _) = S::as_mut_simd_f64s(self.output);
        let mut columns = [&[][..]; R];
        let mut entries = [&[][..]; R];
        for (r, &row) in rows.iter().enumerate() {
            (columns[r], entries[r]) = of_row(row as usize);
        }
        let length = entries[0].len();
        for r in 0..R {
            (columns[r], entries[r]) = (&columns[r][..length], &entries[r][..length]);
        }
        let zero = simd.splat_f64s(0.0);
        let mut sums = [[zero; VECTORS]; R];
        let run = |column: u32| {
            let start = column as usize * vectors + part;
            &input[start..start + VECTORS]
        };
        let add = |sums: &mut [S::f64s; VECTORS], weight: f64, run: &[S::f64s]| {
            let weight = simd.splat_f64s(weight);
            for (sum, &x) in sums.iter_mut().zip(run) {
                *sum = simd.mul_add_e_f64s(weight, x, *sum);
            }
        };
        match own {
            Own::All => {
                for k in 0..length {
                    (0..R).for_each(|r| add(&mut sums[r], entries[r][k], run(columns[r][k])));
                }
            }
            Own::Some(own) => {
                let mut start = 0;
                for end in own.iter().copied().chain([length]) {
                    for k in start..end {
                        let run = run(columns[0][k]);
                        (0..R).for_each(|r| add(&mut sums[r], entries[r][k], run));
                    }
                    if end < length {
                        (0..R).for_each(|r| add(&mut sums[r], entries[r][end], run(columns[r][end])));
                    }
                    start = end + 1;
                }
            }
        }
        let is_relu = self.layer.activation() == Activation::Relu;
        for (sums, &row) in sums.iter().zip(rows) {
            let bias = simd.splat_f64s(self.layer.bias()[row as usize]);
            let start = row as usize * vectors + part;
            for (out, &sum) in output[start..start + VECTORS].iter_mut().zip(sums) {
                let z = simd.add_f64s(sum, bias);
                // As `relu`: NaN stays.
                let is_off = simd.less_than_or_equal_f64s(z, zero);
                *out = if is_relu { simd.select_f64s(is_off, zero, z) } else { z };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_points;
    use crate::{Matrix, SparseMatrix};

    /// Rows of a convolution over a line with a carried column each, rows with columns of their own, and empty ones.
    fn rows(channels: usize, places: usize, cols: usize, others: usize) -> SparseMatrix {
        let numbers = random_points(channels * places + others, cols, 5);
        let mut matrix = SparseMatrix::new(cols);
        for row in 0..channels * places {
            let (channel, place) = (row / places, row % places);
            let window = (0..3).flat_map(|c| (place..place + 3).map(move |at| c * (places + 2) + at));
            let carried = cols - 1 - channel;
            matrix.push_row(window.chain([carried]).map(|j| (j, numbers[(row, j)])));
        }
        for row in channels * places..numbers.rows() {
            matrix.push_row((row % 5..cols).step_by(7).take(row % 4).map(|j| (j, numbers[(row, j)])));
        }
        matrix
    }

    #[test]
    fn groups_of_rows_give_what_single_points_give() {
        for (channels, others) in [(1, 9), (3, 9), (4, 9), (8, 9), (13, 9), (9, WIDE)] {
            let (places, cols) = (5, 40);
            let first = rows(channels, places, cols, others);
            let width = first.rows();
            let bias = |count: usize| random_points(1, count, 6).into_entries();
            let dense = random_points(3, width, 7);
            let layers = vec![
                Layer::new(Weights::Sparse(first), bias(width), Activation::Relu),
                Layer::new(dense, bias(3), Activation::Identity),
            ];
            let network = Network::new(layers).unwrap();
            let points = random_points(2 * POINTS + 3, cols, 8);
            let values = network.evaluate_batch(&points).unwrap();
            for (x, y) in points.iter_rows().zip(values.iter_rows()) {
                let expected = network.evaluate(x).unwrap();
                assert!(y.iter().zip(&expected).all(|(y, z)| (y - z).abs() <= 1e-10 * (1.0 + z.abs())));
            }
            // A point does not know its neighbours.
            let few = Matrix::from_fn(2, cols, |i, j| points[(i + 7, j)]);
            assert_eq!(network.evaluate_batch(&few).unwrap().entries(), &values.entries()[21..27]);
        }
    }
}
