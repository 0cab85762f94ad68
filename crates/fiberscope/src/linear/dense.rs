//! Floating-point linear algebra on matrices of the core, by `faer`. One thread, so that results do not
//! depend on the number of threads.

use faer::{Mat, MatRef, Side};
use fiberscope_core::Matrix;

pub(super) fn to_faer(matrix: &Matrix) -> Mat<f64> {
    Mat::from_fn(matrix.rows(), matrix.cols(), |i, j| matrix[(i, j)])
}

pub(super) fn from_faer(matrix: MatRef<'_, f64>) -> Matrix {
    Matrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)])
}

/// The product `W_L ... W_1`; the empty product is the identity on `width`.
pub(super) fn product(weights: &[Mat<f64>], width: usize) -> Mat<f64> {
    weights.iter().fold(Mat::identity(width, width), |product, weight| weight * &product)
}

/// `U`, the singular values and `V`, with `U` and `V` wide enough for the matrix; `None` if the iteration
/// does not converge.
pub(super) struct Svd {
    pub u: Mat<f64>,
    pub values: Vec<f64>,
    pub v: Mat<f64>,
}

/// The singular value decomposition with square `V`; `U` is square too if `full`.
pub(super) fn svd(matrix: &Mat<f64>, full: bool) -> Option<Svd> {
    let (rows, cols) = (matrix.nrows(), matrix.ncols());
    if rows == 0 || cols == 0 {
        return Some(Svd { u: Mat::identity(rows, rows), values: Vec::new(), v: Mat::identity(cols, cols) });
    }
    let svd = if full || cols > rows { matrix.svd() } else { matrix.thin_svd() }.ok()?;
    let values: Vec<f64> = svd.S().column_vector().iter().copied().collect();
    let finite = values.iter().all(|value| value.is_finite());
    finite.then(|| Svd { u: svd.U().to_owned(), values, v: svd.V().to_owned() })
}

/// The largest singular value; `None` if the matrix is not finite.
pub(super) fn spectral_norm(matrix: &Mat<f64>) -> Option<f64> {
    if matrix.nrows() == 0 || matrix.ncols() == 0 {
        return Some(0.0);
    }
    let values = matrix.singular_values().ok()?;
    values.first().copied().filter(|value| value.is_finite())
}

/// The inverse of a square matrix; `None` if it is singular to rounding.
pub(super) fn inverse(matrix: &Mat<f64>) -> Option<Mat<f64>> {
    use faer::linalg::solvers::DenseSolveCore;
    if matrix.nrows() == 0 {
        return Some(Mat::zeros(0, 0));
    }
    let inverse = matrix.partial_piv_lu().inverse();
    is_finite(&inverse).then_some(inverse)
}

pub(super) fn is_finite(matrix: &Mat<f64>) -> bool {
    (0..matrix.ncols()).all(|j| (0..matrix.nrows()).all(|i| matrix[(i, j)].is_finite()))
}

/// An orthonormal basis of the complement of orthonormal columns.
pub(super) fn complement(columns: MatRef<'_, f64>) -> Mat<f64> {
    let (rows, cols) = (columns.nrows(), columns.ncols());
    if cols == 0 || rows == cols {
        return Mat::from_fn(rows, rows - cols, |i, j| if i == j { 1.0 } else { 0.0 });
    }
    columns.qr().compute_Q().subcols(cols, rows - cols).to_owned()
}

/// The eigenvalues of a symmetric matrix in rising order; `None` if the iteration does not converge.
pub(super) fn symmetric_eigenvalues(matrix: &Mat<f64>) -> Option<Vec<f64>> {
    matrix.self_adjoint_eigenvalues(Side::Lower).ok()
}

/// Whether the determinant is negative, by elimination with row pivots; no overflow.
pub(super) fn has_negative_determinant(matrix: &Mat<f64>) -> bool {
    let n = matrix.nrows();
    let mut rows: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| matrix[(i, j)]).collect()).collect();
    let mut negative = false;
    for col in 0..n {
        let pivot = (col..n).max_by(|&a, &b| rows[a][col].abs().total_cmp(&rows[b][col].abs()));
        let pivot = pivot.expect("the range is not empty");
        if pivot != col {
            rows.swap(pivot, col);
            negative = !negative;
        }
        let (done, rest) = rows.split_at_mut(col + 1);
        let pivot_row = &done[col];
        negative ^= pivot_row[col] < 0.0;
        for row in rest {
            let factor = row[col] / pivot_row[col];
            if factor != 0.0 {
                row[col..].iter_mut().zip(&pivot_row[col..]).for_each(|(x, p)| *x -= factor * p);
            }
        }
    }
    negative
}

/// The exponential of a square matrix, by scaling, Taylor's series and squaring.
pub(super) fn exponential(matrix: &Mat<f64>) -> Mat<f64> {
    let n = matrix.nrows();
    let norm = matrix.norm_l2();
    let squarings = if norm > 0.25 { (norm / 0.25).log2().ceil().min(1000.0) as i32 } else { 0 };
    let scaled = faer::Scale(2f64.powi(-squarings)) * matrix;
    let mut term: Mat<f64> = Mat::identity(n, n);
    let mut sum = term.clone();
    // 0.25^14 / 14! is below the rounding error.
    for k in 1..=14 {
        term = faer::Scale(1.0 / f64::from(k)) * (&term * &scaled);
        sum += &term;
    }
    for _ in 0..squarings {
        sum = &sum * &sum;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_of_a_rotation_generator_is_a_rotation() {
        let generator = Mat::from_fn(2, 2, |i, j| (j as f64 - i as f64) * 3.0);
        let rotation = exponential(&generator);
        assert!((rotation[(0, 0)] - 3f64.cos()).abs() < 1e-14);
        assert!((rotation[(0, 1)] - 3f64.sin()).abs() < 1e-14);
    }

    #[test]
    fn signs_of_determinants() {
        let permutation = Mat::from_fn(3, 3, |i, j| f64::from(u8::from((i + 1) % 3 == j)));
        assert!(!has_negative_determinant(&permutation));
        let reflected = Mat::from_fn(3, 3, |i, j| if i == 0 { -1e200 } else { 1e200 } * permutation[(i, j)]);
        assert!(has_negative_determinant(&reflected));
    }
}
