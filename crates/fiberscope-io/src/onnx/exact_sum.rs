//! Exact sums of products of doubles.
//!
//! A product of two doubles is `p 2^e` with `|p| < 2^106` and `-2148 <= e <= 1942`. Its low and high
//! halves are added, as integers, to the bins of their exponents; bin `k` counts multiples of
//! `2^(32 k - 2176)`. An entry is below `2^95`, so `2^32` terms fit before an `i128` could overflow.

use fiberscope_core::{Rational, mantissa_and_exponent};

const BIN_BITS: i32 = 32;
const LOWEST: i32 = -2176;
const BINS: usize = 136;

/// A sum of products of doubles, without rounding.
pub(super) struct ExactSum {
    bins: [i128; BINS],
}

impl ExactSum {
    pub(super) fn new() -> Self {
        ExactSum { bins: [0; BINS] }
    }

    /// Adds `a * b`, for finite `a` and `b`.
    pub(super) fn add_product(&mut self, a: f64, b: f64) {
        if a == 0.0 || b == 0.0 {
            return;
        }
        let ((m, e), (n, f)) = (mantissa_and_exponent(a), mantissa_and_exponent(b));
        let product = i128::from(m) * i128::from(n);
        let offset = e + f - LOWEST;
        let (bin, shift) = ((offset / BIN_BITS) as usize, offset % BIN_BITS);
        self.bins[bin] += (product & i128::from(u64::MAX)) << shift;
        self.bins[bin + 2] += (product >> 64) << shift;
    }

    /// The sum.
    pub(super) fn total(&self) -> Rational {
        let nonzero = self.bins.iter().enumerate().filter(|(_, bin)| **bin != 0);
        nonzero.map(|(k, &bin)| Rational::dyadic(bin, i64::from(LOWEST + BIN_BITS * k as i32))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_agree_with_rational_arithmetic() {
        let samples =
            [1.0, -1.0, 0.1, -0.3, 1e300, f64::MAX, -f64::MAX, 5e-324, f64::MIN_POSITIVE, 1e-310, 0.0];
        let mut sum = ExactSum::new();
        let mut expected = Rational::ZERO;
        for a in samples {
            for b in samples.iter().rev().skip(1) {
                sum.add_product(a, *b);
                expected += &(&Rational::from_f64(a).unwrap() * &Rational::from_f64(*b).unwrap());
                assert_eq!(sum.total(), expected, "{a} {b}");
            }
        }
    }
}
