//! Exact rational numbers.
//!
//! Every double is a dyadic rational `m * 2^e`, and almost every number of a network or a move is
//! one with a short mantissa. [`Rational`] therefore keeps `m` (odd, 64 bit) and `e` inline, longer
//! mantissas with their exponent (sums and products of dyadic numbers need no common divisors), and
//! falls back to a fraction of big integers for everything else. The representation of a number is
//! unique, so equality is equality of the parts.

mod arithmetic;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use dashu_int::ops::{BitTest, UnsignedAbs};
use dashu_int::{IBig, Sign, UBig};
use dashu_ratio::RBig;
use thiserror::Error;

use crate::double::mantissa_and_exponent;
use crate::residue::{PRIME, inverse, multiply, reduce, signed};

/// An exact rational number.
///
/// ```
/// use fiberscope_core::Rational;
///
/// let tenth = Rational::from_f64(0.1).unwrap();
/// assert_ne!(tenth, "1/10".parse().unwrap()); // the double 0.1 is not one tenth
/// assert_eq!(tenth.to_string(), "3602879701896397/36028797018963968");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Rational(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// `mantissa * 2^exponent`; the mantissa is odd, or zero with exponent zero.
    Dyadic { mantissa: i64, exponent: i32 },
    /// `mantissa * 2^exponent` where that is no `Dyadic`; the mantissa is odd.
    Long(Box<(IBig, i64)>),
    /// Any number that is not dyadic, in lowest terms.
    Big(Box<RBig>),
}

use Repr::{Big, Dyadic, Long};

/// Exponents of the inline form stay in this range, so that sums of two cannot overflow.
const EXPONENT_LIMIT: i64 = 1 << 20;

/// Why a text is no rational number.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected a fraction \"p/q\" in lowest terms or an integer, found {0:?}")]
pub struct ParseRationalError(String);

impl Rational {
    /// Zero.
    pub const ZERO: Rational = Rational(Dyadic { mantissa: 0, exponent: 0 });
    /// One.
    pub const ONE: Rational = Rational(Dyadic { mantissa: 1, exponent: 0 });

    /// The exact value of a double; `None` for infinities and NaN.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let (mantissa, exponent) = mantissa_and_exponent(value);
        if mantissa == 0 {
            return Some(Rational::ZERO);
        }
        // Exponents of doubles are far within the limit.
        let shift = mantissa.trailing_zeros();
        Some(Rational(Dyadic { mantissa: mantissa >> shift, exponent: exponent + shift as i32 }))
    }

    /// `mantissa * 2^exponent`.
    pub fn dyadic(mantissa: i128, exponent: i64) -> Self {
        if mantissa == 0 {
            return Rational::ZERO;
        }
        let shift = mantissa.trailing_zeros();
        let (odd, exponent) = (mantissa >> shift, exponent + i64::from(shift));
        match i64::try_from(odd) {
            Ok(mantissa) if exponent.abs() <= EXPONENT_LIMIT => {
                Rational(Dyadic { mantissa, exponent: exponent as i32 })
            }
            _ => Rational(Long(Box::new((IBig::from(odd), exponent)))),
        }
    }

    /// `mantissa * 2^exponent` for a mantissa of any length.
    fn dyadic_big(mantissa: IBig, exponent: i64) -> Self {
        let zeros = mantissa.trailing_zeros().unwrap_or(0);
        let (odd, exponent) =
            if zeros == 0 { (mantissa, exponent) } else { (mantissa >> zeros, exponent + zeros as i64) };
        match i64::try_from(&odd) {
            Ok(short) => Rational::dyadic(short.into(), exponent),
            Err(_) => Rational(Long(Box::new((odd, exponent)))),
        }
    }

    /// Mantissa and exponent of a dyadic number.
    fn dyadic_parts(&self) -> Option<(Cow<'_, IBig>, i64)> {
        match &self.0 {
            Dyadic { mantissa, exponent } => Some((Cow::Owned(IBig::from(*mantissa)), i64::from(*exponent))),
            Long(parts) => Some((Cow::Borrowed(&parts.0), parts.1)),
            Big(_) => None,
        }
    }

    /// Mantissa and exponent, if the mantissa is a machine integer.
    pub(crate) fn short_parts(&self) -> Option<(i64, i64)> {
        match &self.0 {
            Dyadic { mantissa, exponent } => Some((*mantissa, i64::from(*exponent))),
            Long(_) | Big(_) => None,
        }
    }

    /// Mantissa and exponent of a dyadic number whose mantissa is no machine integer.
    pub(crate) fn long_parts(&self) -> Option<(&IBig, i64)> {
        match &self.0 {
            Long(parts) => Some((&parts.0, parts.1)),
            Dyadic { .. } | Big(_) => None,
        }
    }

    /// `numerator * 2^exponent / denominator`, for a denominator other than zero.
    pub fn from_big_parts(numerator: IBig, denominator: UBig, exponent: i64) -> Self {
        if denominator == UBig::ONE {
            return Rational::dyadic_big(numerator, exponent);
        }
        let power = UBig::ONE << exponent.unsigned_abs() as usize;
        Rational::from_big(if exponent >= 0 {
            RBig::from_parts(numerator * IBig::from(power), denominator)
        } else {
            RBig::from_parts(numerator, denominator * power)
        })
    }

    /// `(n, d, e)` with value `n * 2^e / d`, `d` odd, `n` odd or zero.
    pub fn to_big_parts(&self) -> (IBig, UBig, i64) {
        match &self.0 {
            Dyadic { mantissa, exponent } => (IBig::from(*mantissa), UBig::ONE, i64::from(*exponent)),
            Long(parts) => (parts.0.clone(), UBig::ONE, parts.1),
            Big(value) => {
                let (n, d) = (value.numerator().clone(), value.denominator().clone());
                let (zn, zd) = (n.trailing_zeros().unwrap_or(0), d.trailing_zeros().unwrap_or(0));
                (n >> zn, d >> zd, zn as i64 - zd as i64)
            }
        }
    }

    /// The odd mantissa and the exponent of a dyadic number of machine words.
    pub(crate) fn short(&self) -> Option<(i64, i64)> {
        match self.0 {
            Dyadic { mantissa, exponent } => Some((mantissa, i64::from(exponent))),
            _ => None,
        }
    }

    fn from_big(value: RBig) -> Self {
        let zeros = value.denominator().trailing_zeros().unwrap_or(0);
        if value.denominator().bit_len() == zeros + 1 {
            return Rational::dyadic_big(value.into_parts().0, -(zeros as i64));
        }
        Rational(Big(Box::new(value)))
    }

    fn to_big(&self) -> RBig {
        match &self.0 {
            Dyadic { mantissa, exponent } => dyadic_to_big(IBig::from(*mantissa), i64::from(*exponent)),
            Long(parts) => dyadic_to_big(parts.0.clone(), parts.1),
            Big(value) => (**value).clone(),
        }
    }

    /// The double nearest to the number (ties to even); infinite beyond the doubles.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            // The mantissa converts without loss and the product with a power of two is exact.
            &Dyadic { mantissa, exponent }
                if mantissa.unsigned_abs() < 1 << 53 && (-1000..900).contains(&exponent) =>
            {
                mantissa as f64 * f64::from_bits(((1023 + exponent) as u64) << 52)
            }
            _ => self.to_big().to_f64().value(),
        }
    }

    /// Whether the number is a double.
    pub fn is_f64(&self) -> bool {
        Rational::from_f64(self.to_f64()).as_ref() == Some(self)
    }

    /// Whether the number is zero.
    pub fn is_zero(&self) -> bool {
        matches!(self.0, Dyadic { mantissa: 0, .. })
    }

    /// Whether the number is an integer times a power of two.
    pub fn is_dyadic(&self) -> bool {
        !matches!(self.0, Big(_))
    }

    /// Whether the number is an integer.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Dyadic { exponent, .. } => *exponent >= 0,
            Long(parts) => parts.1 >= 0,
            Big(_) => false,
        }
    }

    /// The sign: -1, 0 or 1.
    pub fn signum(&self) -> i8 {
        match &self.0 {
            Dyadic { mantissa, .. } => mantissa.signum() as i8,
            Long(parts) if parts.0.sign() == Sign::Negative => -1,
            Big(value) if value.sign() == Sign::Negative => -1,
            Long(_) | Big(_) => 1,
        }
    }

    /// Whether the number is greater than zero.
    pub fn is_positive(&self) -> bool {
        self.signum() > 0
    }

    /// Whether the number is less than zero.
    pub fn is_negative(&self) -> bool {
        self.signum() < 0
    }

    /// The absolute value.
    pub fn abs(&self) -> Self {
        if self.is_negative() { -self.clone() } else { self.clone() }
    }

    /// `1 / self`, or `None` for zero.
    pub fn recip(&self) -> Option<Self> {
        match &self.0 {
            Dyadic { mantissa: 0, .. } => None,
            Dyadic { mantissa: m @ (1 | -1), exponent } => {
                Some(Rational::dyadic((*m).into(), -i64::from(*exponent)))
            }
            _ => Some(Rational::from_big(RBig::ONE / self.to_big())),
        }
    }

    /// The lengths of the numerator and the denominator together, in bits, without powers of two.
    pub fn bit_len(&self) -> usize {
        match &self.0 {
            Dyadic { mantissa, .. } => mantissa.unsigned_abs().bit_len() + 1,
            Long(parts) => parts.0.bit_len() + 1,
            Big(value) => value.numerator().bit_len() + value.denominator().bit_len(),
        }
    }

    /// The residue modulo the prime `2^61 - 1`; `None` if the prime divides the denominator. Sums and
    /// products of numbers have the sums and products of the residues, so that residues can refute an
    /// equation, never prove one.
    pub fn residue(&self) -> Option<u64> {
        let of = |n: &UBig| u64::try_from(n % &UBig::from(PRIME)).expect("less than the prime");
        // 2^61 is 1, so powers of two are rotations.
        let shifted = |size: u64, exponent: i64| reduce(u128::from(size) << exponent.rem_euclid(61));
        match &self.0 {
            Dyadic { mantissa, exponent } => {
                let size = reduce(mantissa.unsigned_abs().into());
                Some(signed(shifted(size, (*exponent).into()), *mantissa < 0))
            }
            Long(parts) => {
                let size = of(&parts.0.clone().unsigned_abs());
                Some(signed(shifted(size, parts.1), parts.0.sign() == Sign::Negative))
            }
            Big(value) => {
                let (size, denominator) =
                    (of(&value.numerator().clone().unsigned_abs()), of(value.denominator()));
                let size = multiply(size, inverse(denominator));
                (denominator != 0).then_some(signed(size, value.sign() == Sign::Negative))
            }
        }
    }

    /// A number at least as large, with at most `bits` bits in its mantissa: rounding up. It bounds
    /// the length of numbers in long sums of upper bounds without making them unsound.
    pub fn round_up(&self, bits: u32) -> Self {
        let (n, d, e) = self.to_big_parts();
        let length = n.bit_len() as i64 - d.bit_len() as i64;
        let shift = i64::from(bits) - length;
        if d == UBig::ONE && n.bit_len() <= bits as usize {
            return self.clone();
        }
        let (n, d) = if shift >= 0 {
            (n << shift as usize, IBig::from(d))
        } else {
            (n, IBig::from(d) << (-shift) as usize)
        };
        Rational::from_big_parts(div_ceil(&n, &d), UBig::ONE, e - shift)
    }
}

/// `ceil(n / d)` for `d > 0`.
fn div_ceil(n: &IBig, d: &IBig) -> IBig {
    let quotient = n / d;
    let exact = &quotient * d == *n;
    // Integer division truncates towards zero, which is already upward for negative quotients.
    if exact || n.sign() == Sign::Negative { quotient } else { quotient + IBig::ONE }
}

fn dyadic_to_big(mantissa: IBig, exponent: i64) -> RBig {
    if exponent >= 0 {
        RBig::from(mantissa << exponent as usize)
    } else {
        RBig::from_parts(mantissa, UBig::ONE << (-exponent) as usize)
    }
}

impl From<i64> for Rational {
    fn from(value: i64) -> Self {
        Rational::dyadic(value.into(), 0)
    }
}

impl Default for Rational {
    fn default() -> Self {
        Rational::ZERO
    }
}

/// The longest text that is read as a rational number.
const MAX_TEXT: usize = 1 << 20;

/// The longest text that is read as a number of a certificate.
const MAX_CANONICAL: usize = 1 << 17;

impl Rational {
    /// Reads a number in the one form in which certificates have it, that of `Display`: lowest terms, a
    /// denominator only if it is not 1, no leading zeros.
    pub fn from_canonical(text: &str) -> Result<Self, ParseRationalError> {
        let wrong = || ParseRationalError(text.chars().take(60).collect());
        let plain = |digits: &str| digits == "0" || !digits.starts_with('0');
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        let size = numerator.strip_prefix('-').unwrap_or(numerator);
        let written = plain(size) && plain(denominator) && numerator != "-0";
        let one = text.len() > numerator.len() && denominator == "1";
        if text.len() > MAX_CANONICAL || !written || one {
            return Err(wrong());
        }
        let value: Rational = text.parse()?;
        let reduced = match denominator {
            "1" => false,
            _ => UBig::from_str_radix(denominator, 10).ok().as_ref() != Some(value.to_big().denominator()),
        };
        if reduced { Err(wrong()) } else { Ok(value) }
    }

    /// The lengths of numerator and denominator in lowest terms together, in bits.
    pub fn length(&self) -> u64 {
        let with_power = |bits: usize, exponent: i64| bits as u64 + 1 + exponent.unsigned_abs();
        match &self.0 {
            Dyadic { mantissa, exponent } => {
                with_power(mantissa.unsigned_abs().bit_len(), (*exponent).into())
            }
            Long(parts) => with_power(parts.0.bit_len(), parts.1),
            Big(value) => (value.numerator().bit_len() + value.denominator().bit_len()) as u64,
        }
    }
}

impl FromStr for Rational {
    type Err = ParseRationalError;

    /// Reads `"p"` or `"p/q"` with decimal integers `p` and `q > 0`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseRationalError(text.chars().take(60).collect());
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
        if text.len() > MAX_TEXT {
            return Err(wrong());
        }
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        if !digits(numerator.strip_prefix('-').unwrap_or(numerator)) || !digits(denominator) {
            return Err(wrong());
        }
        let n = IBig::from_str_radix(numerator, 10).map_err(|_| wrong())?;
        let d = UBig::from_str_radix(denominator, 10).map_err(|_| wrong())?;
        if d == UBig::ZERO {
            return Err(wrong());
        }
        Ok(Rational::from_big(RBig::from_parts(n, d)))
    }
}

impl fmt::Display for Rational {
    /// Writes `p` or `p/q` in lowest terms.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // Numbers of machine words are written without big ones: networks have millions of them.
        if let Dyadic { mantissa, exponent } = self.0 {
            match exponent {
                // Words are written in half the time of double words.
                0..=62 if mantissa.unsigned_abs().leading_zeros() as i32 > exponent => {
                    return write!(f, "{}", mantissa << exponent);
                }
                -63..0 => return write!(f, "{mantissa}/{}", 1u64 << -exponent),
                0..=63 => return write!(f, "{}", i128::from(mantissa) << exponent),
                -127..0 => return write!(f, "{mantissa}/{}", 1u128 << -exponent),
                _ => {}
            }
        }
        let value = self.to_big();
        if value.denominator() == &UBig::ONE {
            write!(f, "{}", value.numerator())
        } else {
            write!(f, "{}/{}", value.numerator(), value.denominator())
        }
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    /// Numbers that meet both representations and their borders.
    fn samples() -> Vec<Rational> {
        let floats = [0.0, -0.0, 1.0, -1.5, 0.1, 1e300, -1e-300, 5e-324, f64::MAX, f64::MIN_POSITIVE, 3e15];
        let texts =
            ["1/3", "-22/7", "9223372036854775807", "-9223372036854775808", "18446744073709551617/4", "7"];
        floats.iter().map(|&x| Rational::from_f64(x).unwrap()).chain(texts.iter().map(|t| r(t))).collect()
    }

    #[test]
    fn short_numbers_are_written_like_long_ones() {
        for mantissa in [0, 1, -1, 3, -7, (1 << 53) - 1, i64::MAX, -i64::MAX, i64::MIN + 1] {
            for exponent in [-1074, -128, -127, -126, -64, -1, 0, 1, 62, 63, 64, 65, 1000] {
                let x = Rational::dyadic(i128::from(mantissa), exponent);
                let value = x.to_big();
                let text = match value.denominator() == &UBig::ONE {
                    true => value.numerator().to_string(),
                    false => format!("{}/{}", value.numerator(), value.denominator()),
                };
                assert_eq!(x.to_string(), text, "{mantissa} * 2^{exponent}");
            }
        }
    }

    #[test]
    fn residues_add_and_multiply() {
        const PRIME: u128 = crate::residue::PRIME as u128;
        for x in samples() {
            for y in samples() {
                let of = |z: &Rational| u128::from(z.residue().unwrap());
                assert_eq!(of(&(&x + &y)), (of(&x) + of(&y)) % PRIME, "{x} + {y}");
                assert_eq!(of(&(&x * &y)), of(&x) * of(&y) % PRIME, "{x} * {y}");
            }
        }
        assert_eq!(r("1/2305843009213693951").residue(), None);
        assert_eq!(r("2305843009213693951").residue(), Some(0));
    }

    #[test]
    fn doubles_survive() {
        for x in [0.0, 1.0, -1.5, 0.1, 1e300, -1e-300, 5e-324, f64::MAX, f64::MIN_POSITIVE, 1e-310] {
            assert_eq!(Rational::from_f64(x).unwrap().to_f64(), x);
        }
        assert_eq!(Rational::from_f64(f64::NAN), None);
        assert_eq!(Rational::from_f64(f64::INFINITY), None);
        assert_eq!(Rational::from_f64(-0.0), Some(Rational::ZERO));
    }

    #[test]
    fn rounding_to_doubles_is_to_nearest_even() {
        assert_eq!(r("1/3").to_f64(), 1.0 / 3.0);
        assert_eq!(r("9007199254740993").to_f64(), 9007199254740992.0);
        assert_eq!(r("9007199254740995").to_f64(), 9007199254740996.0);
    }

    #[test]
    fn arithmetic_agrees_with_big_fractions() {
        for a in samples() {
            for b in samples() {
                assert_eq!(&a + &b, Rational::from_big(a.to_big() + b.to_big()));
                assert_eq!(&a - &b, Rational::from_big(a.to_big() - b.to_big()));
                assert_eq!(&a * &b, Rational::from_big(a.to_big() * b.to_big()));
                assert_eq!(a.cmp(&b), a.to_big().cmp(&b.to_big()));
                assert_eq!(a == b, a.to_big() == b.to_big());
                if !b.is_zero() {
                    assert_eq!(&(&a / &b) * &b, a);
                }
            }
        }
    }

    #[test]
    fn text_round_trips_and_bad_text_is_refused() {
        for a in samples() {
            assert_eq!(r(&a.to_string()), a);
            let (n, d, e) = a.to_big_parts();
            assert_eq!(Rational::from_big_parts(n, d, e), a);
        }
        for bad in ["", "-", "1/0", "1/-2", "0.5", "1/2/3", "+1", "NaN", "1e5", " 1"] {
            assert!(bad.parse::<Rational>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn rounding_up_is_close_and_never_below() {
        for a in samples() {
            for bits in [1, 8, 53, 64] {
                let up = a.round_up(bits);
                assert!(up >= a, "{a} {bits}");
                let (n, d, _) = up.to_big_parts();
                assert!(d == UBig::ONE && n.bit_len() <= bits as usize + 1, "{a} {bits} {up}");
                let ulp = Rational::dyadic(1, 2 - i64::from(bits));
                assert!(&up - &a <= &a.abs() * &ulp, "{a} {bits} {up}");
            }
        }
    }
}
