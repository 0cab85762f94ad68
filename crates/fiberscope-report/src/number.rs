//! Numbers as readers like them: short, and exact where that is short.

use fiberscope_core::Rational;
use fiberscope_core::decimal::nearest;

/// The most digits of a numerator or a denominator that is shown.
const DIGITS: usize = 4;

/// An integer or a fraction if that is short; otherwise a decimal with 4 significant digits.
pub fn short(x: &Rational) -> String {
    exact_if(x, |part| part.len() <= DIGITS).unwrap_or_else(|| decimal(x, 4))
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
        (true, _) if (1e-5..1e16).contains(&value.abs()) => value.to_string(),
        (true, _) => format!("{value:e}"),
        (false, fraction) if fraction.len() <= 60 => fraction,
        (false, _) => format!("about {}", decimal(x, 17)),
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

fn decimal(x: &Rational, digits: usize) -> String {
    let value = x.to_f64();
    match (value == 0.0, value.is_infinite()) {
        (true, _) if x.is_zero() => "0".into(),
        (true, _) | (_, true) => nearest(x, digits),
        _ => significant(value, digits),
    }
}

/// A finite double with so many significant digits, trailing zeros left out.
pub fn significant(value: f64, digits: usize) -> String {
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..=digits.clamp(5, 15) as i32).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        trim_zeros(&format!("{value:.decimals$}")).into()
    } else {
        format!("{}e{exponent}", trim_zeros(mantissa))
    }
}

/// An upper bound with so many significant digits, or one more unit in the last of them: never below the
/// bound.
pub fn significant_upper(bound: f64, digits: usize) -> String {
    let nearest = significant(bound, digits);
    if nearest.parse::<f64>().is_ok_and(|shown| shown >= bound) {
        return nearest;
    }
    // The bound lies within half a unit of the last digit above what was shown.
    let unit = 10f64.powi(bound.abs().log10().floor() as i32 + 1 - digits as i32);
    significant(bound + 0.5 * unit, digits)
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
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
        assert_eq!(short(&Rational::dyadic(1, -5000)), "7.080e-1506");
        assert_eq!(short(&Rational::dyadic(-1, -5000)), "-7.080e-1506");
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
