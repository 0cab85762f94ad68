//! Paths from the identity to a matrix of positive determinant.
//!
//! Givens rotations `G` by angles `theta` turn the matrix into an upper triangular `R` with positive
//! diagonal; scaling the angles by `t` and replacing `R` by `(1 - t) I + t R` is a path of invertible
//! matrices.

use faer::Mat;

#[derive(Clone, Debug)]
pub(super) struct GeneralLinearPath {
    /// Planes `(p, q)` and angles, in the order in which they were taken off from the left.
    rotations: Vec<(usize, usize, f64)>,
    upper: Mat<f64>,
}

impl GeneralLinearPath {
    /// The path to `matrix`, whose determinant must be positive.
    pub fn new(matrix: &Mat<f64>) -> Self {
        let n = matrix.nrows();
        let mut upper = matrix.clone();
        let mut rotations = Vec::new();
        for p in 0..n {
            for q in p + 1..n {
                let angle = upper[(q, p)].atan2(upper[(p, p)]);
                if angle != 0.0 {
                    rotate(&mut upper, p, q, -angle);
                    upper[(q, p)] = 0.0;
                    rotations.push((p, q, angle));
                }
            }
        }
        GeneralLinearPath { rotations, upper }
    }

    /// The matrix at time `t`: the identity at 0.
    pub fn at(&self, t: f64) -> Mat<f64> {
        let n = self.upper.nrows();
        let mut matrix =
            Mat::from_fn(n, n, |i, j| t * self.upper[(i, j)] + if i == j { 1.0 - t } else { 0.0 });
        for &(p, q, angle) in self.rotations.iter().rev() {
            rotate(&mut matrix, p, q, t * angle);
        }
        matrix
    }
}

/// Turns rows `p` and `q` by an angle.
fn rotate(matrix: &mut Mat<f64>, p: usize, q: usize, angle: f64) {
    let (sin, cos) = angle.sin_cos();
    for j in 0..matrix.ncols() {
        let (x, y) = (matrix[(p, j)], matrix[(q, j)]);
        matrix[(p, j)] = cos * x - sin * y;
        matrix[(q, j)] = sin * x + cos * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::dense;

    #[test]
    fn the_path_ends_at_the_matrix_and_stays_invertible() {
        let matrix = Mat::from_fn(4, 4, |i, j| {
            ((3 * i + 5 * j * j + 1) % 7) as f64 - 3.0 + if i == j { 0.5 } else { 0.0 }
        });
        let matrix = if dense::has_negative_determinant(&matrix) { -matrix.clone() } else { matrix };
        let matrix = if dense::has_negative_determinant(&matrix) {
            Mat::from_fn(4, 4, |i, j| if i == 0 { -matrix[(i, j)] } else { matrix[(i, j)] })
        } else {
            matrix
        };
        let path = GeneralLinearPath::new(&matrix);
        assert!((path.at(1.0) - &matrix).norm_max() < 1e-12);
        assert!((path.at(0.0) - Mat::<f64>::identity(4, 4)).norm_max() < 1e-15);
        assert!((0..=20).all(|step| !dense::has_negative_determinant(&path.at(f64::from(step) / 20.0))));
    }
}
