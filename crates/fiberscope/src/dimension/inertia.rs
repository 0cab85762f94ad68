//! How many eigenvalues of a symmetric matrix lie above a part of the largest one.
//!
//! By Sylvester's law of inertia `K` has as many eigenvalues above `s` as `B` has positive ones in
//! `K - s I = P L B L^T P^T`, where `B` has blocks of size one and two (Bunch and Kaufman's pivots). That takes
//! `n^3 / 3` multiplications in products of blocks; all eigenvalues take four times as many, most of them in
//! products with vectors, which wait for the memory. The largest eigenvalue is found by Lanczos' method with
//! full reorthogonalisation: with the residual `r` of a Ritz value `t` and the distance `g` to the next one, its
//! error is about `r^2 / g`.
//!
//! Both are as exact as the eigenvalues of a usual method: up to a small multiple of `n eps` times the largest.

use faer::{Col, Mat, Side};

/// The most steps of Lanczos' method.
const STEPS: usize = 96;
/// The steps after which its result is looked at.
const LOOK: usize = 8;
/// The error of the largest eigenvalue, relative to it.
const ERROR: f64 = 1e-13;

/// The number of eigenvalues of a positive semidefinite matrix above `part` of the largest. The matrix is
/// handed back if the largest one is not found, or is zero.
pub(super) fn count_above(mut matrix: Mat<f64>, part: f64) -> Result<usize, Mat<f64>> {
    let Some(largest) = largest_eigenvalue(&matrix) else { return Err(matrix) };
    let shift = part * largest;
    (0..matrix.nrows()).for_each(|i| matrix[(i, i)] -= shift);
    let factors = matrix.lblt(Side::Lower);
    let (diagonal, below) = (factors.B_diag().column_vector(), factors.B_subdiag().column_vector());
    let (mut count, mut i) = (0, 0);
    while i < diagonal.nrows() {
        if i + 1 < diagonal.nrows() && below[i] != 0.0 {
            count += positive_of_block(diagonal[i], below[i], diagonal[i + 1]);
            i += 2;
        } else {
            count += usize::from(diagonal[i] > 0.0);
            i += 1;
        }
    }
    Ok(count)
}

/// The number of positive eigenvalues of `(a b; b c)`.
fn positive_of_block(a: f64, b: f64, c: f64) -> usize {
    // Divided by the size of `b`, which is not zero, so that nothing overflows that need not.
    let size = b.abs();
    let (a, c) = (a / size, c / size);
    if a * c < 1.0 { 1 } else { 2 * usize::from(a + c > 0.0) }
}

/// The largest eigenvalue of a positive semidefinite matrix, unless it is zero or the method does not
/// converge.
fn largest_eigenvalue(matrix: &Mat<f64>) -> Option<f64> {
    let n = matrix.nrows();
    // Numbers without a pattern: no eigenvector is likely to be normal to them.
    let start = Col::from_fn(n, |i| 0.5 + (0.618_033_988_749_894_9 * (i as f64 + 1.0)).fract());
    let length = start.norm_l2();
    let mut basis: Vec<Col<f64>> = vec![start * (1.0 / length)];
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    for step in 1..=STEPS.min(n) {
        let last = &basis[step - 1];
        let mut next = matrix * last;
        diagonal.push(last.transpose() * &next);
        for _ in 0..2 {
            for vector in &basis {
                let along = vector.transpose() * &next;
                next -= vector * along;
            }
        }
        let size = next.norm_l2();
        let exhausted = step == n || size <= f64::EPSILON * diagonal[0].abs();
        if exhausted || step % LOOK == 0 {
            let (value, error) = ritz_value(&diagonal, &beside, if exhausted { 0.0 } else { size })?;
            if error <= ERROR * value {
                return (value > 0.0 && value.is_finite()).then_some(value);
            }
        }
        if exhausted {
            return None;
        }
        beside.push(size);
        basis.push(next * (1.0 / size));
    }
    None
}

/// The largest eigenvalue of a tridiagonal matrix, and a bound for its distance from one of the matrix that
/// Lanczos' method was applied to, with this size of the vector that comes next.
fn ritz_value(diagonal: &[f64], beside: &[f64], next: f64) -> Option<(f64, f64)> {
    let k = diagonal.len();
    let entry = |i: usize, j: usize| match i.abs_diff(j) {
        0 => diagonal[i],
        1 => beside[i.min(j)],
        _ => 0.0,
    };
    let small = Mat::from_fn(k, k, entry);
    let eigen = small.self_adjoint_eigen(Side::Lower).ok()?;
    let values = eigen.S().column_vector();
    let residual = next * eigen.U()[(k - 1, k - 1)].abs();
    let gap = if k > 1 { values[k - 1] - values[k - 2] } else { values[k - 1] };
    let error = if gap > 0.0 { residual.min(residual * residual / gap) } else { residual };
    Some((values[k - 1], error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Q diag(values) Q^T` with a reflection `Q`.
    fn with_eigenvalues(values: &[f64]) -> Mat<f64> {
        let n = values.len();
        let u = Col::from_fn(n, |i| 1.0 + ((i * i + 3) as f64).sin());
        let square = u.squared_norm_l2();
        let q = Mat::from_fn(n, n, |i, j| f64::from(u8::from(i == j)) - 2.0 * u[i] * u[j] / square);
        let scaled = Mat::from_fn(n, n, |i, j| q[(i, j)] * values[j]);
        let product = scaled * q.transpose();
        Mat::from_fn(n, n, |i, j| product[(i.max(j), i.min(j))])
    }

    #[test]
    fn eigenvalues_above_a_part_of_the_largest_are_counted() {
        for n in [1, 2, 3, 17, 150] {
            let values: Vec<f64> = (0..n).map(|i| 0.5f64.powi(i / 2) * 3.0).collect();
            for part in [0.9, 0.3, 1e-3, 1e-9] {
                let expected = values.iter().filter(|&&value| value > part * 3.0).count();
                assert_eq!(count_above(with_eigenvalues(&values), part).ok(), Some(expected), "{n} {part}");
            }
        }
    }

    #[test]
    fn matrices_without_a_clear_largest_eigenvalue_are_counted_or_handed_back() {
        assert!(count_above(Mat::zeros(5, 5), 0.1).is_err());
        let equal = vec![2.0; 40];
        assert_eq!(count_above(with_eigenvalues(&equal), 0.5).ok(), Some(40));
        // Either answer is right: these differ by less than the method may see.
        let close: Vec<f64> = (0..300).map(|i| 1.0 + 1e-6 * f64::from(i)).collect();
        assert_eq!(count_above(with_eigenvalues(&close), 0.5).unwrap_or_else(|kept| kept.nrows()), 300);
    }

    #[test]
    fn blocks_of_two() {
        assert_eq!(positive_of_block(1.0, 2.0, 1.0), 1);
        assert_eq!(positive_of_block(3.0, 1.0, 3.0), 2);
        assert_eq!(positive_of_block(-3.0, 1.0, -3.0), 0);
        assert_eq!(positive_of_block(0.0, 1e200, 0.0), 1);
    }
}
