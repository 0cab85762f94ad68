//! Numbers as readers like them: short, and exact where that is short.

use fiberscope_core::Rational;
use fiberscope_core::decimal::{self, nearest, shortest};

pub use fiberscope_core::decimal::significant;

/// The most digits of a numerator or a denominator that is shown.
const DIGITS: usize = 4;

/// The most characters of an integer that is shown as it is.
const WHOLE: usize = 6;

/// An integer or a fraction if that is short; otherwise a decimal with 4 significant digits.
pub fn short(x: &Rational) -> String {
    let is_whole = |text: &String| text.len() <= WHOLE && !text.contains('/');
    let whole = || Some(x.to_string()).filter(is_whole);
    exact_if(x, |part| part.len() <= DIGITS).or_else(whole).unwrap_or_else(|| rounded(x, 4))
}

/// An integer or a fraction of up to 20 characters; otherwise as [`exact`].
pub fn precise(x: &Rational) -> String {
    exact_if(x, |part| part.len() <= 10).unwrap_or_else(|| exact(x))
}

/// A number that is told apart from every other of its kind: a short fraction, the shortest decimal that
/// determines the double, or the fraction itself; `about` a decimal if that has more than 60 characters.
pub fn exact(x: &Rational) -> String {
    let value = x.to_f64();
    let is_double = Rational::from_f64(value).is_some_and(|double| double == *x);
    exact_if(x, |part| part.len() <= DIGITS).unwrap_or_else(|| match (is_double, x.to_string()) {
        (true, _) => shortest(value),
        (false, fraction) if fraction.len() <= 60 => fraction,
        (false, _) => format!("about {}", rounded(x, 17)),
    })
}

/// A count with its digits in groups of three.
pub fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn exact_if(x: &Rational, short: impl Fn(&str) -> bool) -> Option<String> {
    let text = x.to_string();
    let parts = text.trim_start_matches('-').split('/');
    parts.into_iter().all(short).then_some(text)
}

fn rounded(x: &Rational, digits: usize) -> String {
    let value = x.to_f64();
    match (value == 0.0, value.is_infinite()) {
        (true, _) if x.is_zero() => "0".into(),
        (true, _) | (_, true) => nearest(x, digits),
        _ => significant(value, digits),
    }
}

/// An upper bound with so many significant digits, or one more unit in the last of them: never below the
/// bound. A number that is the double as it is written stays so.
pub fn significant_upper(bound: f64, digits: usize) -> String {
    to_side(bound, digits, f64::ge, decimal::upper_to)
}

/// A lower bound with so many significant digits, or one unit less in the last of them: never above the bound.
pub fn significant_lower(bound: f64, digits: usize) -> String {
    to_side(bound, digits, f64::le, decimal::lower_to)
}

fn to_side(
    bound: f64,
    digits: usize,
    on_its_side: fn(&f64, &f64) -> bool,
    rounded: fn(&Rational, usize) -> String,
) -> String {
    let nearest = significant(bound, digits);
    match Rational::from_f64(bound) {
        Some(exact) if !nearest.parse().is_ok_and(|shown| on_its_side(&shown, &bound)) => {
            rounded(&exact, digits)
        }
        _ => nearest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn short_numbers_are_exact_and_long_ones_rounded() {
        let check = |text: &str, expected: &str| assert_eq!(short(&r(text)), expected, "{text}");
        check("0", "0");
        check("-1", "-1");
        check("2/3", "2/3");
        check("-7/1024", "-7/1024");
        check("12345", "12345");
        check("1234567", "1.235e6");
        check("-1/3000000", "-3.333e-7");
        check("3602879701896397/36028797018963968", "0.1");
        check("1/10000", "0.0001");
        assert_eq!(short(&Rational::dyadic(1, -5000)), "7.08e-1506");
        assert_eq!(short(&Rational::dyadic(-1, -5000)), "-7.08e-1506");
        assert_eq!(short(&Rational::dyadic(1, 5000)), "1.412e1505");
    }

    #[test]
    fn exact_numbers_are_no_others() {
        let check = |text: &str, expected: &str| assert_eq!(exact(&r(text)), expected, "{text}");
        check("1/2", "1/2");
        check("9007199254740993/9007199254740992", "9007199254740993/9007199254740992");
        check("1000001/1000000", "1000001/1000000");
        assert_eq!(exact(&Rational::from_f64(0.99999).unwrap()), "0.99999");
        assert_eq!(exact(&Rational::from_f64(1e300).unwrap()), "1e300");
        assert!(exact(&(&Rational::dyadic(1, -3000) + &Rational::ONE)).starts_with("about 1"));
    }

    #[test]
    fn precise_numbers_tell_neighbours_apart() {
        assert_eq!(precise(&r("7602177/1048576")), "7602177/1048576");
        let (x, y) = (0.1f64, 0.1f64.next_up());
        let show = |x: f64| precise(&Rational::from_f64(x).unwrap());
        assert_ne!(show(x), show(y));
        assert_eq!(show(y).parse::<f64>().unwrap(), y);
    }

    #[test]
    fn printed_upper_bounds_are_upper_bounds() {
        assert_eq!(significant_upper(1e-12, 3), "1e-12");
        assert_eq!(significant_upper(4.4651e-14, 3), "4.47e-14");
        assert_eq!(significant_upper(4.4641e-14, 3), "4.47e-14");
        assert_eq!(significant_upper(9.991, 3), "10");
        for k in 0..2000 {
            let bound = 1.37f64.powi(k % 80 - 40) * (1.0 + f64::from(k) / 700.0);
            let shown: f64 = significant_upper(bound, 3).parse().unwrap();
            assert!(bound <= shown && shown <= 1.02 * bound, "{bound} {shown}");
            let shown: f64 = significant_lower(bound, 3).parse().unwrap();
            assert!(0.98 * bound <= shown && shown <= bound, "{bound} {shown}");
        }
    }

    #[test]
    fn digits_are_grouped() {
        let check = |count: usize, expected: &str| assert_eq!(grouped(count), expected);
        check(0, "0");
        check(999, "999");
        check(1000, "1,000");
        check(13002, "13,002");
        check(100000000, "100,000,000");
    }
}
