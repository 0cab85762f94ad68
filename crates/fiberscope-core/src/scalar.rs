//! The numbers that networks and matrices are made of: doubles, and rational numbers.

use std::fmt;

use crate::double::mantissa_and_exponent;
use crate::{Matrix, Rational, product, residue};

/// The numbers a network can be made of: what a network and its affine maps need of them.
pub trait Scalar: Clone + PartialEq + fmt::Display + Send + Sync + 'static {
    /// Whether the number is a real number (neither infinite nor NaN).
    fn is_finite(&self) -> bool;

    /// Whether all of these numbers are finite.
    fn all_finite(numbers: &[Self]) -> bool {
        numbers.iter().all(Self::is_finite)
    }

    /// The exact value of a finite number.
    fn to_rational(&self) -> Rational;

    /// Whether a finite number is an integer times a power of two, as all doubles are.
    fn is_dyadic(&self) -> bool;

    /// `(m, e)` where a finite number is `m 2^e`; `None` where it is not, or not with so short an `m`.
    fn short_parts(&self) -> Option<(i64, i64)>;

    /// The number 0.
    fn zero() -> Self;

    /// Whether the number is 0 (NaN is not).
    fn is_zero(&self) -> bool;

    /// -1, 0 or 1.
    fn sign(&self) -> i8;

    /// The residue modulo [`residue::PRIME`](crate::residue::PRIME) of a finite number; `None` if its
    /// denominator is a multiple of the prime.
    fn residue(&self) -> Option<u64> {
        self.to_rational().residue()
    }

    /// `self + other`, rounded for doubles.
    fn plus(&self, other: &Self) -> Self;

    /// `self * other`, rounded for doubles.
    fn times(&self, other: &Self) -> Self;

    /// The matrix product `left right`, rounded for doubles; `None` if `left` has not as many
    /// columns as `right` has rows.
    fn product(left: &Matrix<Self>, right: &Matrix<Self>) -> Option<Matrix<Self>>;
}

impl Scalar for f64 {
    fn is_finite(&self) -> bool {
        f64::is_finite(*self)
    }

    fn all_finite(numbers: &[f64]) -> bool {
        // Counting in blocks lets the compiler use vector instructions; large files are bound by this pass.
        const EXPONENT: u64 = 0x7ff << 52;
        let finite = |block: &[f64]| {
            block.iter().map(|x| u64::from(x.to_bits() & EXPONENT == EXPONENT)).sum::<u64>() == 0
        };
        #[cfg(feature = "parallel")]
        if numbers.len() >= 1 << 20 {
            use rayon::prelude::*;
            return numbers.par_chunks(1 << 18).all(finite);
        }
        numbers.chunks(1 << 14).all(finite)
    }

    fn to_rational(&self) -> Rational {
        Rational::from_f64(*self).expect("only finite numbers have an exact value")
    }

    fn is_dyadic(&self) -> bool {
        true
    }

    fn short_parts(&self) -> Option<(i64, i64)> {
        let (mantissa, exponent) = mantissa_and_exponent(*self);
        Some((mantissa, exponent.into()))
    }

    fn zero() -> Self {
        0.0
    }

    fn is_zero(&self) -> bool {
        *self == 0.0
    }

    fn sign(&self) -> i8 {
        i8::from(*self > 0.0) - i8::from(*self < 0.0)
    }

    #[inline]
    fn residue(&self) -> Option<u64> {
        // 2^61 is 1, and 19 times 61 is more than the exponents of doubles.
        let (mantissa, exponent) = mantissa_and_exponent(*self);
        let rotation = (exponent + 19 * 61) as u32 % 61;
        let size = residue::reduce(u128::from(mantissa.unsigned_abs()) << rotation);
        Some(residue::signed(size, mantissa < 0))
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn times(&self, other: &Self) -> Self {
        self * other
    }

    fn product(left: &Matrix, right: &Matrix) -> Option<Matrix> {
        product::of_doubles(left, right)
    }
}

impl Scalar for Rational {
    fn is_finite(&self) -> bool {
        true
    }

    fn to_rational(&self) -> Rational {
        self.clone()
    }

    fn is_dyadic(&self) -> bool {
        Rational::is_dyadic(self)
    }

    fn short_parts(&self) -> Option<(i64, i64)> {
        Rational::short_parts(self)
    }

    fn zero() -> Self {
        Rational::ZERO
    }

    fn is_zero(&self) -> bool {
        Rational::is_zero(self)
    }

    fn sign(&self) -> i8 {
        self.signum()
    }

    fn residue(&self) -> Option<u64> {
        Rational::residue(self)
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn times(&self, other: &Self) -> Self {
        self * other
    }

    fn product(left: &Matrix<Self>, right: &Matrix<Self>) -> Option<Matrix<Self>> {
        product::of_rationals(left, right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residues_of_doubles_are_those_of_their_values() {
        let edges =
            [0.0, -0.0, 1.0, -0.75, 0.1, -7.3e-200, 1e300, 5e-324, -3e-310, f64::MAX, f64::MIN_POSITIVE];
        for x in edges {
            assert_eq!(Scalar::residue(&x), x.to_rational().residue(), "{x}");
        }
    }
}
