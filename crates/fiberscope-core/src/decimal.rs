//! Rational numbers in decimal notation, rounded in a stated direction.
//!
//! Whoever prints a bound prints a claim: an upper bound is rounded up and a lower bound down, whatever its
//! size. The digits are computed from the fraction itself, so that numbers beyond the range of doubles, on
//! either side, are shown as they are.

use dashu_int::UBig;
use dashu_int::ops::{BitTest, DivRem, UnsignedAbs};

use crate::Rational;

/// Digits of a printed bound.
const DIGITS: usize = 4;

/// A short decimal number at least as large as `x`, such as `1.234e-9`.
pub fn upper(x: &Rational) -> String {
    rounded(x, DIGITS, Direction::Up)
}

/// A short decimal number at most as large as `x`.
pub fn lower(x: &Rational) -> String {
    rounded(x, DIGITS, Direction::Down)
}

/// The decimal number with so many significant digits that is nearest to `x`.
pub fn nearest(x: &Rational, digits: usize) -> String {
    rounded(x, digits, Direction::Nearest)
}

/// The largest exponent of ten that is read.
const MAX_EXPONENT: i64 = 5000;

/// The exact value of a decimal number such as `0.001`, `-2.5E+1` or `1e-6`.
///
/// ```
/// use fiberscope_core::decimal;
///
/// assert_eq!(decimal::parse("0.1"), "1/10".parse().ok());
/// assert_eq!(decimal::parse("1/10"), None);
/// ```
pub fn parse(text: &str) -> Option<Rational> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{}{fraction}", whole.strip_prefix('+').unwrap_or(whole));
    let plain = digits.strip_prefix('-').unwrap_or(&digits);
    let is_number = !plain.is_empty() && plain.bytes().all(|c| c.is_ascii_digit());
    if !is_number || plain.len() > MAX_EXPONENT as usize || exponent.abs() > MAX_EXPONENT {
        return None;
    }
    let digits: Rational = digits.parse().ok()?;
    let power = exponent - fraction.len() as i64;
    let ten = Rational::from(10);
    let size = (0..power.unsigned_abs()).fold(Rational::ONE, |product, _| &product * &ten);
    Some(if power >= 0 { &digits * &size } else { &digits / &size })
}

/// The least double that is not below `x`; infinite beyond the doubles.
pub fn upper_f64(x: &Rational) -> f64 {
    let nearest = x.to_f64();
    match Rational::from_f64(nearest) {
        Some(value) if value < *x => nearest.next_up(),
        // Below all doubles: the least one is an upper bound.
        None if x.is_negative() => f64::MIN,
        _ => nearest,
    }
}

/// The largest double that is not above `x`; minus infinity below the doubles.
pub fn lower_f64(x: &Rational) -> f64 {
    // Zero has no sign.
    0.0 - upper_f64(&-x)
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Up,
    Down,
    Nearest,
}

fn rounded(x: &Rational, digits: usize, direction: Direction) -> String {
    let digits = digits.max(1);
    if x.is_zero() {
        return format!("{:.*e}", digits - 1, 0.0);
    }
    let away = match direction {
        Direction::Up => Some(x.is_positive()),
        Direction::Down => Some(x.is_negative()),
        Direction::Nearest => None,
    };
    let (mantissa, exponent) = significand(&x.abs(), digits, away);
    let sign = if x.is_negative() { "-" } else { "" };
    let (first, rest) = mantissa.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}e{exponent}")
}

/// The first digits of `x > 0` and the power of ten of the first one, rounded away from zero, towards it, or
/// to the nearest.
fn significand(x: &Rational, digits: usize, away: Option<bool>) -> (String, i64) {
    let (n, d, e) = x.to_big_parts();
    let n = n.unsigned_abs();
    // 2^(bits - 1) < x < 2^(bits + 1), and log10(2) = 0.30103 - 4e-9.
    let bits = n.bit_len() as i64 - d.bit_len() as i64 + e;
    let mut exponent = (i128::from(bits - 1) * 30_103).div_euclid(100_000) as i64;
    loop {
        let scale = digits as i64 - 1 - exponent;
        let power = UBig::from(10u8).pow(scale.unsigned_abs() as usize);
        let (mut top, mut bottom) = (n.clone(), d.clone());
        if scale >= 0 {
            top *= power
        } else {
            bottom *= power
        }
        if e >= 0 {
            top <<= e as usize
        } else {
            bottom <<= e.unsigned_abs() as usize
        }
        let (quotient, rest) = (&top).div_rem(&bottom);
        let up = match away {
            Some(away) => away && rest != UBig::ZERO,
            None => rest << 1usize >= bottom,
        };
        let text = if up { quotient + UBig::ONE } else { quotient }.to_string();
        match text.len() as i64 - digits as i64 {
            0 => return (text, exponent),
            more => exponent += more,
        }
    }
}

/// `x` as a number of JSON: the nearest double, or a text where that would be infinite, or zero for what is
/// not.
pub fn fits_f64(x: &Rational) -> Option<f64> {
    let nearest = x.to_f64();
    (nearest.is_finite() && (nearest != 0.0 || x.is_zero())).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use dashu_int::IBig;

    use super::*;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    /// The number that a text of this module stands for.
    fn value(text: &str) -> Rational {
        let (mantissa, exponent) = text.split_once('e').unwrap();
        let (negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa),
        };
        let decimals = mantissa.split_once('.').map_or(0, |(_, rest)| rest.len()) as i64;
        let power = exponent.parse::<i64>().unwrap() - decimals;
        let digits: IBig = mantissa.replace('.', "").parse().unwrap();
        let ten = UBig::from(10u8).pow(power.unsigned_abs() as usize);
        let size = match power >= 0 {
            true => Rational::from_big_parts(digits * IBig::from(ten), UBig::ONE, 0),
            false => Rational::from_big_parts(digits, ten, 0),
        };
        if negative { -size } else { size }
    }

    #[test]
    fn bounds_are_rounded_to_their_side() {
        let check = |text: &str, down: &str, up: &str| {
            assert_eq!((lower(&r(text)).as_str(), upper(&r(text)).as_str()), (down, up), "{text}");
        };
        check("1", "1.000e0", "1.000e0");
        check("0", "0.000e0", "0.000e0");
        check("1/3", "3.333e-1", "3.334e-1");
        check("-1/3", "-3.334e-1", "-3.333e-1");
        check("99999", "9.999e4", "1.000e5");
        check("1000", "1.000e3", "1.000e3");
        check("1/1024", "9.765e-4", "9.766e-4");
        assert_eq!(nearest(&r("2/3"), 3), "6.67e-1");
        assert_eq!(nearest(&r("2/3"), 1), "7e-1");
        assert_eq!(nearest(&r("-99999"), 2), "-1.0e5");
    }

    #[test]
    fn numbers_beyond_the_doubles_are_shown_as_they_are() {
        assert_eq!(upper(&Rational::dyadic(1, 5000)), "1.413e1505");
        assert_eq!(lower(&Rational::dyadic(1, 5000)), "1.412e1505");
        assert_eq!(upper(&Rational::dyadic(1, -5000)), "7.080e-1506");
        assert_eq!(fits_f64(&Rational::dyadic(1, 5000)), None);
        assert_eq!(fits_f64(&Rational::dyadic(-1, -5000)), None);
        assert_eq!(fits_f64(&Rational::ZERO), Some(0.0));
    }

    /// The decimal of either side lies on it, next to the number; so do the doubles.
    #[test]
    fn every_number_lies_between_its_decimals() {
        let unit = r("1/1000");
        for exponent in (-1200..1200).step_by(7) {
            for mantissa in [1, 3, -7, 999_999_937, -1_000_003] {
                let x = &Rational::dyadic(mantissa, exponent) / &Rational::from(7);
                let (down, up) = (value(&lower(&x)), value(&upper(&x)));
                assert!(down <= x && x <= up, "{x}");
                assert!(&up - &down <= &x.abs() * &unit, "{x}");
                let near = value(&nearest(&x, 4));
                assert!(near == down || near == up, "{x}");
                assert!(Rational::from_f64(upper_f64(&x)).is_none_or(|up| up >= x));
                assert!(Rational::from_f64(lower_f64(&x)).is_none_or(|down| down <= x));
            }
        }
        assert_eq!(
            (upper_f64(&Rational::dyadic(-1, 5000)), lower_f64(&Rational::dyadic(1, 5000))),
            (f64::MIN, f64::MAX)
        );
        assert!(upper_f64(&Rational::dyadic(1, -5000)) > 0.0);
    }
}
