//! Canonical weights: matrices of zeros and ones with a given barcode, and a point of any fiber over them.
//!
//! `I~_j` has a row per bar copy alive at `j` and a column per copy alive at `j - 1`, with 1 where they are
//! the same copy. For `W = U diag(sigma) V^T` the point
//! `(I~_1 V^T, I~_2, ..., I~_{L-1}, U diag(sigma_1, ..., sigma_rho, 1, ..., 1) I~_L)` has product `W` and the
//! given barcode.

use faer::Mat;
use fiberscope_core::Matrix;

use super::{Bar, Barcode, FlowBases, LinearError, LinearNetwork, dense};

/// The canonical weights `I~_1, ..., I~_L` of a barcode.
pub fn canonical_weights(barcode: &Barcode) -> Vec<Matrix> {
    let copies = barcode.copies();
    let alive = |layer: usize| -> Vec<usize> {
        (0..copies.len()).filter(|&copy| copies[copy].contains(layer)).collect()
    };
    let weight = |layer: usize| {
        let (rows, columns) = (alive(layer), alive(layer - 1));
        Matrix::from_fn(rows.len(), columns.len(), |i, j| if rows[i] == columns[j] { 1.0 } else { 0.0 })
    };
    (1..=barcode.depth()).map(weight).collect()
}

/// The canonical point with product `W` and this barcode. Singular values of `W` up to `negligible` count as
/// zero.
pub fn point_over(
    barcode: &Barcode,
    product: &Matrix,
    negligible: f64,
) -> Result<LinearNetwork, LinearError> {
    if barcode.depth() == 1 {
        flow_over(barcode, product, negligible)?;
        return LinearNetwork::from_weights(vec![product.clone()]);
    }
    let flow = flow_over(barcode, product, negligible)?;
    let depth = barcode.depth();
    let mut weights: Vec<Mat<f64>> = canonical_weights(barcode).iter().map(dense::to_faer).collect();
    weights[0] = &weights[0] * flow.dense_inverse(0);
    weights[depth - 1] = flow.dense_basis(depth) * &weights[depth - 1];
    LinearNetwork::from_weights(weights.iter().map(|weight| dense::from_faer(weight.as_ref())).collect())
}

/// The flow bases `V, I, ..., I, U diag(sigma_1, ..., sigma_rho, 1, ..., 1)` of the canonical point.
pub(super) fn flow_over(
    barcode: &Barcode,
    product: &Matrix,
    negligible: f64,
) -> Result<FlowBases, LinearError> {
    let depth = barcode.depth();
    let widths = barcode.widths();
    let (expected_rows, expected_cols) = (widths[depth], widths[0]);
    let (rows, cols) = (product.rows(), product.cols());
    if (rows, cols) != (expected_rows, expected_cols) {
        return Err(LinearError::ProductShape { rows, cols, expected_rows, expected_cols });
    }
    let svd = dense::svd(&dense::to_faer(product), true).ok_or(LinearError::Numerical { layer: depth })?;
    let found = svd.values.iter().filter(|&&value| value > negligible).count();
    let expected = barcode.get(Bar { start: 0, end: depth });
    if found != expected {
        return Err(LinearError::ProductRank { expected, found });
    }
    let factor = |j: usize| if j < expected { svd.values[j] } else { 1.0 };
    let mut bases: Vec<Mat<f64>> = widths.iter().map(|&width| Mat::identity(width, width)).collect();
    bases[depth] = Mat::from_fn(rows, rows, |i, j| svd.u[(i, j)] * factor(j));
    bases[0] = svd.v;
    FlowBases::from_parts(barcode.clone(), bases)
}
