//! Matrices on a straight line, and where they are singular.
//!
//! That a determinant has no zero on `[0, 1]` is shown by the signs of its Bernstein coefficients, in
//! rational numbers.

use fiberscope_algebra::elimination::{determinant, inverse};
use fiberscope_algebra::never;
use fiberscope_core::{Matrix, Rational, Scalar};

/// `(1 - s) from + s to`.
pub(super) fn mix(from: &Matrix<Rational>, to: &Matrix<Rational>, s: &Rational) -> Matrix<Rational> {
    Matrix::from_fn(from.rows(), from.cols(), |i, j| between(&from[(i, j)], &to[(i, j)], s))
}

/// `(1 - s) x + s y`.
pub(super) fn between(x: &Rational, y: &Rational, s: &Rational) -> Rational {
    if x == y { x.clone() } else { x + &(s * &(y - x)) }
}

/// Whether `det((1 - s) from + s to)` has no zero for `s` in `[0, 1]`: proved if true.
pub(super) fn never_singular(from: &Matrix<Rational>, to: &Matrix<Rational>) -> bool {
    const DEPTH: u32 = 12;
    let n = from.rows();
    if determinant(from).signum() * determinant(to).signum() != 1 {
        return false;
    }
    // Values at k/n, and from them the Bernstein coefficients.
    let node = |k: usize| &Rational::from(k as i64) / &Rational::from(n as i64);
    let values = Matrix::from_fn(n + 1, 1, |k, _| determinant(&mix(from, to, &node(k))));
    let collocation = Matrix::from_fn(n + 1, n + 1, |k, i| bernstein(n, i, &node(k)));
    let Some(coefficients) =
        inverse(&collocation, &never).and_then(|inverse| Scalar::product(&inverse, &values))
    else {
        return false;
    };
    one_sign(coefficients.into_entries(), DEPTH)
}

fn bernstein(n: usize, i: usize, s: &Rational) -> Rational {
    let power = |x: &Rational, k: usize| (0..k).fold(Rational::ONE, |product, _| &product * x);
    let binomial = (0..i).fold(Rational::ONE, |product, k| {
        &(&product * &Rational::from((n - k) as i64)) / &Rational::from(k as i64 + 1)
    });
    &(&binomial * &power(s, i)) * &power(&(&Rational::ONE - s), n - i)
}

/// Whether a polynomial with these Bernstein coefficients is shown to have no zero on `[0, 1]`.
fn one_sign(coefficients: Vec<Rational>, depth: u32) -> bool {
    let sign = coefficients[0].signum();
    if coefficients.iter().all(|c| c.signum() == sign) {
        return sign != 0;
    }
    if depth == 0 || coefficients.last().is_some_and(|c| c.signum() != sign) {
        return false;
    }
    // De Casteljau at 1/2.
    let half = Rational::dyadic(1, -1);
    let (mut row, mut left, mut right) = (coefficients, Vec::new(), Vec::new());
    while let (Some(first), Some(last)) = (row.first(), row.last()) {
        left.push(first.clone());
        right.push(last.clone());
        row = row.windows(2).map(|pair| &(&pair[0] + &pair[1]) * &half).collect();
    }
    right.reverse();
    one_sign(left, depth - 1) && one_sign(right, depth - 1)
}
