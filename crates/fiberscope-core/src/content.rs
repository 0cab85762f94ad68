//! Multiples of a vector of rationals: the factor between two of them, and one representative on every ray.
//!
//! A vector `x` other than zero is `g 2^k` times a vector `y` of dyadic numbers whose odd parts have no
//! common divisor, with `g > 0` a fraction of odd integers, and `k` such that the largest entry of `y` has
//! absolute value in `[1, 2)`. Both are unique, and `y` is the same for all positive multiples of `x`. For
//! vectors of doubles `g` is nearly always 1: then `y` is `x` times a power of two, and its entries are
//! doubles again.

use dashu_int::ops::{BitTest, Gcd, UnsignedAbs};
use dashu_int::{IBig, UBig};

use crate::Rational;

/// The content `g 2^k` of a vector; `None` if it is zero.
///
/// ```
/// use fiberscope_core::{Rational, content};
///
/// let row = [6, -10, 0].map(Rational::from);
/// let content = content(row.iter()).unwrap();
/// let primitive: Vec<f64> = row.iter().map(|x| (x / &content).to_f64()).collect();
/// assert_eq!(primitive, [0.75, -1.25, 0.0]); // 3 and -5, over 4
/// ```
pub fn content<'a>(numbers: impl Iterator<Item = &'a Rational> + Clone) -> Option<Rational> {
    // The common divisor of the numbers of machine words, zero before the first; and that of the others.
    let mut short = 0;
    let mut common: Option<UBig> = None;
    let mut denominator = UBig::ONE;
    let mut largest: Option<(i64, &Rational)> = None;
    for x in numbers.filter(|x| !x.is_zero()) {
        let size = match x.short() {
            Some((mantissa, exponent)) => {
                let size = mantissa.unsigned_abs();
                // A common divisor of 1 stays 1.
                if short != 1 {
                    short = size.gcd(short);
                }
                exponent + i64::from(size.ilog2())
            }
            None => {
                let (n, d, e) = x.to_big_parts();
                let n = n.unsigned_abs();
                let size = floor_log2(&n, &d, e);
                if d != UBig::ONE {
                    denominator = &denominator / (&denominator).gcd(&d) * d;
                }
                if common.as_ref() != Some(&UBig::ONE) {
                    common = Some(match common {
                        Some(common) => common.gcd(n),
                        None => n,
                    });
                }
                size
            }
        };
        if largest.is_none_or(|(most, y)| size > most || size == most && x.abs() > y.abs()) {
            largest = Some((size, x));
        }
    }
    let common = match (short, common) {
        (0, common) => common,
        (short, None) => Some(UBig::from(short)),
        (short, Some(common)) => Some(common.gcd(UBig::from(short))),
    };
    let odd = Rational::from_big_parts(IBig::from(common?), denominator, 0);
    let (n, d, e) = (&largest?.1.abs() / &odd).to_big_parts();
    Some(&odd * &Rational::dyadic(1, floor_log2(&n.unsigned_abs(), &d, e)))
}

/// The `c` with `other = c base`, entry by entry, if there is one and `base` is not zero.
///
/// ```
/// use fiberscope_core::{Rational, ratio_of};
///
/// let [row, double, other] = [[1, -3], [2, -6], [2, 6]].map(|row| row.map(Rational::from));
/// assert_eq!(ratio_of(row.iter(), double.iter()), Some(Rational::from(2)));
/// assert_eq!(ratio_of(row.iter(), other.iter()), None);
/// ```
pub fn ratio_of<'a>(
    base: impl Iterator<Item = &'a Rational> + Clone,
    other: impl Iterator<Item = &'a Rational> + Clone,
) -> Option<Rational> {
    let (x, y) = base.clone().zip(other.clone()).find(|(x, _)| !x.is_zero())?;
    let factor = y / x;
    base.zip(other).all(|(x, y)| &(x * &factor) == y).then_some(factor)
}

/// The exponent of the largest power of two that is at most `n 2^e / d`.
fn floor_log2(n: &UBig, d: &UBig, e: i64) -> i64 {
    let difference = n.bit_len() as i64 - d.bit_len() as i64;
    let shift = difference.unsigned_abs() as usize;
    let reaches = if difference >= 0 { *n >= d << shift } else { n << shift >= *d };
    e + difference - i64::from(!reaches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(texts: &[&str]) -> Vec<Rational> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn primitive(row: &[Rational]) -> Vec<Rational> {
        let content = content(row.iter()).unwrap();
        row.iter().map(|x| x / &content).collect()
    }

    #[test]
    fn multiples_share_their_primitive_vector() {
        let rows = [
            numbers(&["0", "3", "-5"]),
            numbers(&["1/3", "-2/7", "4"]),
            numbers(&["1", "1", "1"]),
            vec![Rational::from_f64(0.1).unwrap(), Rational::from_f64(-7.3).unwrap()],
        ];
        for row in rows {
            let expected = primitive(&row);
            for factor in numbers(&["1", "1/2", "6", "15/7", "1024", "1/3"]) {
                let multiple: Vec<Rational> = row.iter().map(|x| x * &factor).collect();
                assert_eq!(primitive(&multiple), expected);
            }
            let largest = expected.iter().map(Rational::abs).max().unwrap();
            assert!(largest >= Rational::ONE && largest < Rational::from(2));
        }
    }

    #[test]
    fn long_and_short_numbers_have_one_common_divisor() {
        // 3 * 2^80 is short, 3 * (2^70 + 1) long, 9/2 short.
        let big = &(&Rational::dyadic(1, 70) + &Rational::ONE) * &Rational::from(3);
        for row in [
            [Rational::dyadic(9, -1), big.clone()],
            [big.clone(), Rational::dyadic(9, 80)],
            [big.clone(), big],
        ] {
            let content = content(row.iter()).unwrap();
            let rest: Vec<Rational> = row.iter().map(|x| x / &content).collect();
            let largest = rest.iter().map(Rational::abs).max().unwrap();
            assert!(largest >= Rational::ONE && largest < Rational::from(2), "{rest:?}");
            let third = |x: &Rational| x / &Rational::from(3);
            assert!(
                rest.iter().all(Rational::is_dyadic) && !rest.iter().all(|x| third(x).is_dyadic()),
                "{rest:?}"
            );
        }
    }

    #[test]
    fn doubles_stay_doubles() {
        let row: Vec<Rational> =
            [0.1, 1e-300, -3e5].iter().map(|&x| Rational::from_f64(x).unwrap()).collect();
        assert!(primitive(&row).iter().all(Rational::is_f64));
        assert!(content([Rational::ZERO].iter()).is_none());
    }
}
