//! Evaluation of many points by a network with sparse layers.
//!
//! The points of a block stand side by side: number `j` of a layer is a run of [`POINTS`] doubles, one for each point.
//! A stored weight `w` in column `j` then adds `w` times a run to the run of its row, which stays in registers
//! until the row is done. Dense layers of the same network are a matrix product on the same runs.
//!
//! The numbers of one point are added in the order of the columns, whatever the other points of its block are.

use ndarray::linalg::general_mat_mul;

use crate::product::{view, view_mut};
use crate::{Activation, Layer, Network, SparseMatrix, Weights};

/// The points of a block.
pub(crate) const POINTS: usize = 32;

/// The runs that one pass over a row makes, in vectors of the machine.
const VECTORS: usize = 4;

/// Evaluates at most [`POINTS`] points, stored row by row, into `values`.
pub(crate) fn evaluate_block(network: &Network, points: &[f64], values: &mut [f64]) {
    let (inputs, outputs) = (network.input_width(), network.output_width());
    let mut current = vec![0.0; inputs * POINTS];
    for (p, point) in points.chunks_exact(inputs).enumerate() {
        point.iter().enumerate().for_each(|(j, &x)| current[j * POINTS + p] = x);
    }
    let mut next = Vec::new();
    for layer in network.layers() {
        next.resize(layer.width() * POINTS, 0.0);
        forward(layer, &current, &mut next);
        std::mem::swap(&mut current, &mut next);
    }
    for (p, value) in values.chunks_exact_mut(outputs).enumerate() {
        value.iter_mut().enumerate().for_each(|(i, y)| *y = current[i * POINTS + p]);
    }
}

fn forward(layer: &Layer, input: &[f64], output: &mut [f64]) {
    let (width, inputs) = (layer.width(), layer.input_width());
    let is_relu = layer.activation() == Activation::Relu;
    let matrix = match layer.weights() {
        Weights::Dense(matrix) => matrix,
        Weights::Sparse(matrix) => {
            pulp::Arch::new().dispatch(Runs { matrix, bias: layer.bias(), is_relu, input, output });
            return;
        }
    };
    let mut product = view_mut(width, POINTS, output);
    let points = view(inputs, POINTS, &input[..inputs * POINTS]);
    general_mat_mul(1.0, &view(width, inputs, matrix.entries()), &points, 0.0, &mut product);
    for (run, b) in output.chunks_exact_mut(POINTS).zip(layer.bias()) {
        run.iter_mut().for_each(|z| *z = layer.activation().apply(*z + b));
    }
}

/// `output = act(W input + b)` on runs.
struct Runs<'a> {
    matrix: &'a SparseMatrix,
    bias: &'a [f64],
    is_relu: bool,
    input: &'a [f64],
    output: &'a mut [f64],
}

impl pulp::WithSimd for Runs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let Runs { matrix, bias, is_relu, input, output } = self;
        // Vectors in a run: a power of two from 4 (eight lanes) to 32 (one lane).
        let vectors = POINTS / S::F64_LANES;
        let (input, _) = S::as_simd_f64s(input);
        let (output, _) = S::as_mut_simd_f64s(output);
        for (i, &b) in bias.iter().enumerate() {
            let (columns, entries) = matrix.row(i);
            let run = &mut output[i * vectors..(i + 1) * vectors];
            for (part, out) in run.chunks_exact_mut(VECTORS).enumerate() {
                let zero = simd.splat_f64s(0.0);
                let mut sums = [zero; VECTORS];
                for (&j, &w) in columns.iter().zip(entries) {
                    let start = j as usize * vectors + part * VECTORS;
                    let (w, x) = (simd.splat_f64s(w), &input[start..start + VECTORS]);
                    for (sum, &x) in sums.iter_mut().zip(x) {
                        *sum = simd.mul_add_e_f64s(w, x, *sum);
                    }
                }
                let b = simd.splat_f64s(b);
                for (out, sum) in out.iter_mut().zip(sums) {
                    let z = simd.add_f64s(sum, b);
                    // As `relu`: NaN stays.
                    let is_off = simd.less_than_or_equal_f64s(z, zero);
                    *out = if is_relu { simd.select_f64s(is_off, zero, z) } else { z };
                }
            }
        }
    }
}
