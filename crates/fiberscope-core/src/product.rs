//! Products of matrices: of doubles, and of rational numbers.
//!
//! Rational numbers are brought to integers over one common scale first, so that no fraction is brought to
//! lowest terms before the result.

use dashu_int::ops::Gcd;
use dashu_int::{IBig, UBig};
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};

use crate::{Matrix, ProductSum, Rational};

/// `left right` in double precision; `None` if the shapes do not fit.
pub fn of_doubles(left: &Matrix, right: &Matrix) -> Option<Matrix> {
    if left.cols() != right.rows() {
        return None;
    }
    let mut result = Matrix::from_fn(left.rows(), right.cols(), |_, _| 0.0);
    let (rows, cols) = (result.rows(), result.cols());
    general_mat_mul(
        1.0,
        &view(left.rows(), left.cols(), left.entries()),
        &view(right.rows(), right.cols(), right.entries()),
        0.0,
        &mut view_mut(rows, cols, result.entries_mut()),
    );
    Some(result)
}

/// Rows of numbers as a matrix.
pub fn view(rows: usize, cols: usize, entries: &[f64]) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((rows, cols), entries).expect("the entries fill the shape")
}

/// The same, to be written.
pub fn view_mut(rows: usize, cols: usize, entries: &mut [f64]) -> ArrayViewMut2<'_, f64> {
    ArrayViewMut2::from_shape((rows, cols), entries).expect("the entries fill the shape")
}

/// `left right`; `None` if the shapes do not fit.
pub fn of_rationals(left: &Matrix<Rational>, right: &Matrix<Rational>) -> Option<Matrix<Rational>> {
    if left.cols() != right.rows() {
        return None;
    }
    let (rows, cols) = (left.rows(), right.cols());
    let a = Integers::new(left.entries().iter().cloned());
    let b = Integers::new(right.transpose().into_entries().into_iter());
    let inner = left.cols();
    let columns: Vec<_> = (0..cols).map(|j| nonzero(&b.numerators[j * inner..(j + 1) * inner])).collect();
    let entry = |i: usize, j: usize| dot(&a.numerators[i * inner..(i + 1) * inner], &columns[j]);
    let numerators = Matrix::from_fn(rows, cols, entry).into_entries();
    let (denominator, exponent) = (a.denominator * b.denominator, a.exponent + b.exponent);
    Matrix::from_entries(rows, cols, Integers { numerators, denominator, exponent }.into_rationals())
}

/// The numbers `numerators[i] * 2^exponent / denominator`; the exponent is at most 0.
#[derive(Clone, Debug)]
pub struct Integers {
    /// See there.
    pub numerators: Vec<IBig>,
    /// See there.
    pub denominator: UBig,
    /// See there.
    pub exponent: i64,
}

impl Integers {
    /// These numbers over a common scale.
    pub fn new(values: impl Iterator<Item = Rational>) -> Self {
        let parts: Vec<_> = values.map(|value| value.to_big_parts()).collect();
        let exponent = parts.iter().map(|(_, _, e)| *e).min().unwrap_or(0).min(0);
        let mut denominator = UBig::ONE;
        for (_, d, _) in parts.iter().filter(|(_, d, _)| *d != UBig::ONE) {
            let common = (&denominator).gcd(d);
            denominator *= d / common;
        }
        let scale = |(n, d, e): (IBig, UBig, i64)| {
            let n = if d == denominator { n } else { n * IBig::from(&denominator / d) };
            n << (e - exponent) as usize
        };
        let numerators = parts.into_iter().map(scale).collect();
        Integers { numerators, denominator, exponent }
    }

    /// The numbers themselves.
    pub fn into_rationals(self) -> Vec<Rational> {
        let Integers { numerators, denominator, exponent } = self;
        let rational = |n| Rational::from_big_parts(n, denominator.clone(), exponent);
        numerators.into_iter().map(rational).collect()
    }
}

/// The entries that are not zero, with their places.
pub fn nonzero(vector: &[IBig]) -> Vec<(usize, &IBig)> {
    vector.iter().enumerate().filter(|(_, n)| !n.is_zero()).collect()
}

/// The product of a row with such entries.
pub fn dot(row: &[IBig], nonzero: &[(usize, &IBig)]) -> IBig {
    let mut sum = ProductSum::of_integers();
    nonzero.iter().for_each(|&(j, n)| sum.add_integers(&row[j], n, false));
    sum.to_integer()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random_exact_point, random_points};

    #[test]
    fn products_of_odd_shapes() {
        let a = random_points(3, 4, 9);
        assert_eq!(of_doubles(&a, &a), None);
        let empty = Matrix::from_fn(3, 0, |_, _| 0.0);
        let zero = of_doubles(&empty, &Matrix::from_fn(0, 2, |_, _| 1.0)).unwrap();
        assert_eq!(zero, Matrix::from_fn(3, 2, |_, _| 0.0));
    }

    #[test]
    fn products_are_sums_of_products() {
        let a = Matrix::from_entries(2, 3, random_exact_point(6, 1)).unwrap();
        let b = Matrix::from_entries(3, 2, random_exact_point(6, 2)).unwrap();
        let sum = |i, j| (0..3).map(|k| &a[(i, k)] * &b[(k, j)]).sum::<Rational>();
        assert_eq!(of_rationals(&a, &b), Some(Matrix::from_fn(2, 2, sum)));
        assert_eq!(of_rationals(&a, &a), None);
        let none = Matrix::from_fn(2, 0, |_, _| Rational::ONE);
        assert_eq!(
            of_rationals(&none, &none.transpose()),
            Some(Matrix::from_fn(2, 2, |_, _| Rational::ZERO))
        );
    }
}
