//! Vectors and small matrices of doubles. Whatever comes out of here is a proposal or a numerical result.
//!
//! Vectors are slices. [`dot`] adds up in order, so that its result does not depend on the length of
//! registers; [`fast_dot`] adds up eight sums side by side, which is several times as fast for long vectors
//! and the same on every machine. Special loops remain where they are measured: groups of training examples
//! (`train/perceptron`), panels of a finite field (`dimension/field`), and the buffers of `complex/newton`
//! that are used again for every vertex.

mod inverse;

use fiberscope_core::Matrix;

pub use inverse::{invert, regular_columns, solve};

/// `a . b`, added up in order.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `a . b` for long vectors of one length: eight sums side by side.
pub fn fast_dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = dot(a_chunks.remainder(), b_chunks.remainder());
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// The value of an affine function, its constant last, at a point.
pub fn value_at(form: &[f64], point: &[f64]) -> f64 {
    dot(form, point) + form[point.len()]
}

/// The Euclidean length.
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// The largest absolute entry.
pub fn peak(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |most, v| f64::max(most, v.abs()))
}

/// `a + t b`.
pub fn along(a: &[f64], t: f64, b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x + t * y).collect()
}

/// `a - b`.
pub fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x - y).collect()
}

/// `t a`.
pub fn scaled(a: &[f64], t: f64) -> Vec<f64> {
    a.iter().map(|x| t * x).collect()
}

/// `a / |a|`; `None` for zero.
pub fn direction(a: &[f64]) -> Option<Vec<f64>> {
    let length = norm(a);
    (length > 0.0 && length.is_finite()).then(|| scaled(a, 1.0 / length))
}

/// Makes a vector orthogonal to a unit vector.
pub fn reject(a: &mut [f64], unit: &[f64]) {
    let part = dot(a, unit);
    a.iter_mut().zip(unit).for_each(|(x, u)| *x -= part * u);
}

/// `A x`.
pub fn times(matrix: &Matrix, x: &[f64]) -> Vec<f64> {
    matrix.iter_rows().map(|row| dot(row, x)).collect()
}

/// `w A` for a row vector `w`.
pub fn row_times(w: &[f64], matrix: &Matrix) -> Vec<f64> {
    let mut result = vec![0.0; matrix.cols()];
    for (&factor, row) in w.iter().zip(matrix.iter_rows()) {
        if factor != 0.0 {
            result.iter_mut().zip(row).for_each(|(r, v)| *r += factor * v);
        }
    }
    result
}

/// The product of two matrices.
pub fn product(left: &Matrix, right: &Matrix) -> Matrix {
    let entries = left.iter_rows().flat_map(|row| row_times(row, right)).collect();
    Matrix::from_entries(left.rows(), right.cols(), entries).expect("one row of the right width per row")
}

/// The rows side by side: `[A, B]`.
pub fn beside(left: &Matrix, right: &Matrix) -> Matrix {
    let cols = left.cols();
    Matrix::from_fn(left.rows(), cols + right.cols(), |i, j| {
        if j < cols { left[(i, j)] } else { right[(i, j - cols)] }
    })
}
