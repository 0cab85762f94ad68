//! Least squares for the extraction, by the factorisations of `faer`.

use faer::Mat;
use fiberscope_algebra::dense::dot;
use fiberscope_core::Matrix;

/// `A = U diag(s) V^T`, thin, with descending singular values; columns of `u` and `v` as rows.
pub(super) struct Svd {
    /// Left singular vectors.
    pub u: Vec<Vec<f64>>,
    /// Singular values.
    pub s: Vec<f64>,
    /// Right singular vectors.
    pub v: Vec<Vec<f64>>,
}

impl Svd {
    /// The singular value decomposition; `None` if the matrix has entries that are not finite.
    pub fn of(matrix: &Matrix) -> Option<Svd> {
        let (rows, cols) = (matrix.rows(), matrix.cols());
        if rows == 0 || cols == 0 {
            return Some(Svd { u: Vec::new(), s: Vec::new(), v: Vec::new() });
        }
        if matrix.entries().iter().any(|v| !v.is_finite()) {
            return None;
        }
        let svd = Mat::from_fn(rows, cols, |i, j| matrix[(i, j)]).thin_svd().ok()?;
        let count = rows.min(cols);
        let column = |m: faer::MatRef<'_, f64>, k: usize| m.col(k).iter().copied().collect::<Vec<f64>>();
        Some(Svd {
            u: (0..count).map(|k| column(svd.U(), k)).collect(),
            s: svd.S().column_vector().iter().copied().collect(),
            v: (0..count).map(|k| column(svd.V(), k)).collect(),
        })
    }

    /// The number of singular values above `tolerance` times the first.
    pub fn rank(&self, tolerance: f64) -> usize {
        self.s.iter().filter(|&&s| s > tolerance * self.s[0]).count()
    }

    /// The shortest `x` that minimises `|A x - y|`, singular values below `tolerance` times the first taken
    /// for zero.
    pub fn solve(&self, y: &[f64], tolerance: f64) -> Vec<f64> {
        let mut x = vec![0.0; self.v.first().map_or(0, Vec::len)];
        for k in 0..self.rank_or_zero(tolerance) {
            let factor = dot(&self.u[k], y) / self.s[k];
            x.iter_mut().zip(&self.v[k]).for_each(|(x, v)| *x += factor * v);
        }
        x
    }

    fn rank_or_zero(&self, tolerance: f64) -> usize {
        if self.s.is_empty() || self.s[0] == 0.0 { 0 } else { self.rank(tolerance) }
    }
}

/// The shortest least-squares solution of `rows x = y`.
pub(super) fn least_squares(rows: &[Vec<f64>], y: &[f64], tolerance: f64) -> Option<Vec<f64>> {
    let matrix = Matrix::from_rows(rows)?;
    Some(Svd::of(&matrix)?.solve(y, tolerance))
}

/// Least squares for tall systems with several right-hand sides (columns of `y`): columns are scaled to
/// length one, the triangular factor of a QR decomposition is solved by its singular values.
pub(super) fn tall_least_squares(rows: &Matrix, y: &Matrix, tolerance: f64) -> Option<Matrix> {
    let (count, width) = (rows.rows(), rows.cols());
    if rows.entries().iter().chain(y.entries()).any(|v| !v.is_finite()) {
        return None;
    }
    let mut lengths = vec![0.0f64; width];
    for row in rows.iter_rows() {
        lengths.iter_mut().zip(row).for_each(|(length, v)| *length += v * v);
    }
    lengths.iter_mut().for_each(|length| *length = if *length > 0.0 { length.sqrt() } else { 1.0 });
    // The triangular factor of [A, y] holds that of A and Q^T y.
    let joined = Mat::from_fn(count, width + y.cols(), |i, j| {
        if j < width { rows[(i, j)] / lengths[j] } else { y[(i, j - width)] }
    });
    let joined = if count > width { joined.qr().thin_R().to_owned() } else { joined };
    let height = joined.nrows().min(width);
    let small =
        Matrix::from_fn(height, width, |i, j| if i <= j || count <= width { joined[(i, j)] } else { 0.0 });
    let svd = Svd::of(&small)?;
    let mut solution = Matrix::from_fn(width, y.cols(), |_, _| 0.0);
    for k in 0..y.cols() {
        let column: Vec<f64> = (0..height).map(|i| joined[(i, width + k)]).collect();
        for (j, value) in svd.solve(&column, tolerance).into_iter().enumerate() {
            solution[(j, k)] = value / lengths[j];
        }
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use fiberscope_algebra::dense::product;

    use super::*;

    #[test]
    fn tall_systems_are_solved_with_unlike_columns() {
        let rows = Matrix::from_fn(40, 3, |i, j| ((i * (j + 1)) as f64).sin() * [1.0, 1e6, 1e-6][j]);
        let x = Matrix::from_rows(&[[1.0, -2.0], [3e-6, 4e-6], [5e6, -6e6]]).unwrap();
        let found = tall_least_squares(&rows, &product(&rows, &x), 1e-12).unwrap();
        for (a, b) in found.entries().iter().zip(x.entries()) {
            assert!((a - b).abs() < 1e-12 * b.abs());
        }
    }

    #[test]
    fn the_shortest_solution_is_found() {
        let x = least_squares(&[vec![1.0, 1.0]], &[2.0], 1e-12).unwrap();
        assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 1.0).abs() < 1e-15);
    }
}
