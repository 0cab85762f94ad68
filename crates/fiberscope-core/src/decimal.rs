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

/// A short decimal number at least as large as `x`, such as `11.56` or `1.234e-9`.
pub fn upper(x: &Rational) -> String {
    upper_to(x, DIGITS)
}

/// A short decimal number at most as large as `x`.
pub fn lower(x: &Rational) -> String {
    lower_to(x, DIGITS)
}

/// The least decimal number with so many significant digits that is not below `x`.
pub fn upper_to(x: &Rational, digits: usize) -> String {
    rounded(x, digits, Direction::Up)
}

/// The largest decimal number with so many significant digits that is not above `x`.
pub fn lower_to(x: &Rational, digits: usize) -> String {
    rounded(x, digits, Direction::Down)
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
    if x.is_zero() {
        return "0".into();
    }
    let away = match direction {
        Direction::Up => Some(x.is_positive()),
        Direction::Down => Some(x.is_negative()),
        Direction::Nearest => None,
    };
    let (significant, exponent) = significand(&x.abs(), digits.max(1), away);
    written(x.is_negative(), &significant, exponent)
}

/// A double with so many significant digits, the nearest number of them.
///
/// ```
/// use fiberscope_core::decimal::significant;
///
/// assert_eq!(significant(11.55781, 4), "11.56");
/// assert_eq!(significant(-0.5, 4), "-0.5");
/// assert_eq!(significant(5.9012e-15, 3), "5.9e-15");
/// ```
pub fn significant(value: f64, digits: usize) -> String {
    of_scientific(value, &format!("{value:.*e}", digits.saturating_sub(1)))
}

/// The shortest decimal number that determines the double.
pub fn shortest(value: f64) -> String {
    of_scientific(value, &format!("{value:e}"))
}

/// The same number as people write it; what is infinite or no number stays as it is.
fn of_scientific(value: f64, scientific: &str) -> String {
    match scientific.split_once('e') {
        Some((mantissa, exponent)) if value.is_finite() => {
            let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
            written(value.is_sign_negative(), &digits, exponent.parse().unwrap_or(0))
        }
        _ => value.to_string(),
    }
}

/// The number with these significant digits whose first one counts `10^exponent`, as people write it: zeros at
/// the end are left out, and there is a power of ten only where the number is small or larger than its digits.
fn written(negative: bool, digits: &str, exponent: i64) -> String {
    let plain = -4..=(digits.len() as i64).clamp(5, 15);
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return "0".into();
    }
    let sign = if negative { "-" } else { "" };
    let pointed = |whole: &str, rest: &str| match rest.is_empty() {
        true => format!("{sign}{whole}"),
        false => format!("{sign}{whole}.{rest}"),
    };
    if !plain.contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        return format!("{}e{exponent}", pointed(first, rest));
    }
    let before = (exponent + 1).max(0) as usize;
    match before {
        0 => pointed("0", &format!("{}{digits}", "0".repeat((-exponent - 1) as usize))),
        _ if before >= digits.len() => pointed(&format!("{digits:0<before$}"), ""),
        _ => pointed(&digits[..before], &digits[before..]),
    }
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
    use super::*;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    /// The number that a text of this module stands for.
    fn value(text: &str) -> Rational {
        parse(text).unwrap()
    }

    #[test]
    fn bounds_are_rounded_to_their_side() {
        let check = |text: &str, down: &str, up: &str| {
            assert_eq!((lower(&r(text)).as_str(), upper(&r(text)).as_str()), (down, up), "{text}");
        };
        check("1", "1", "1");
        check("0", "0", "0");
        check("1/3", "0.3333", "0.3334");
        check("-1/3", "-0.3334", "-0.3333");
        check("99999", "99990", "100000");
        check("1000", "1000", "1000");
        check("-1234567/10", "-123500", "-123400");
        check("1234567", "1.234e6", "1.235e6");
        check("1/1024", "0.0009765", "0.0009766");
        check("1/100000", "1e-5", "1e-5");
        assert_eq!(nearest(&r("2/3"), 3), "0.667");
        assert_eq!(nearest(&r("2/3"), 1), "0.7");
        assert_eq!(nearest(&r("-99999"), 2), "-100000");
    }

    #[test]
    fn doubles_are_written_as_people_write_them() {
        let check = |value: f64, four: &str, all: &str| {
            assert_eq!((significant(value, 4).as_str(), shortest(value).as_str()), (four, all));
        };
        check(11.55781, "11.56", "11.55781");
        check(0.5, "0.5", "0.5");
        check(-0.0, "0", "0");
        check(-20.0, "-20", "-20");
        check(9999.96, "10000", "9999.96");
        check(1e-12, "1e-12", "1e-12");
        check(9.5367431640625e-7, "9.537e-7", "9.5367431640625e-7");
        check(123456789.0, "1.235e8", "123456789");
        check(1e300, "1e300", "1e300");
        check(f64::NEG_INFINITY, "-inf", "-inf");
    }

    #[test]
    fn numbers_beyond_the_doubles_are_shown_as_they_are() {
        assert_eq!(upper(&Rational::dyadic(1, 5000)), "1.413e1505");
        assert_eq!(lower(&Rational::dyadic(1, 5000)), "1.412e1505");
        assert_eq!(upper(&Rational::dyadic(1, -5000)), "7.08e-1506");
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
