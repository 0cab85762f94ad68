//! Softmax probabilities and leads, rounded to the safe side.
//!
//! Let `p = exp(A_i) / sum_l exp(A_l)`. Then `sum_{l != i} exp(A_l - A_i) = (1 - p) / p`, so `p >= D` implies
//! `exp(A_l - A_i) <= (1 - D) / D` for every other class, that is, a lead of at least `log(D / (1 - D))`. For
//! `D <= 1/2` that is no lead, and the margin of a proof is 0.
//!
//! The logarithm of `r >= 1` is `e log 2 + log m` with `r = m 2^e`, `1 <= m < 2`, and
//!
//! ```text
//! log m = 2 (t + t^3 / 3 + t^5 / 5 + ...),   t = (m - 1) / (m + 1) < 1/3,
//! ```
//!
//! where all terms are positive: every partial sum is a lower bound. For `0 <= u <= 1/2` the terms of
//! `exp(-u) = 1 - u + u^2 / 2 - ...` alternate and decrease, so a partial sum that ends with an even power is
//! an upper bound; `exp(-y) = exp(-y / 2^k)^(2^k)`, and products of upper bounds of positive numbers are upper
//! bounds.

use fiberscope_core::Rational;

/// Mantissas on the way.
const BITS: u32 = 160;
/// The mantissa of a margin.
const MARGIN_BITS: u32 = 48;
/// Terms of the logarithm: what is left out is below `3^-100`.
const TERMS: i64 = 50;
/// The last power of the exponential, an even one.
const LAST_POWER: i64 = 24;
/// Beyond this the exponential is as small as any.
const FAR: i64 = 1 << 12;

/// At most the lead that a softmax probability of at least `confidence`, between 0 and 1, implies.
///
/// ```
/// use fiberscope::difference::least_lead;
///
/// let lead = least_lead(&"9/10".parse().unwrap()).to_f64();
/// assert!(lead <= 9f64.ln() && lead > 9f64.ln() - 1e-12);
/// assert!(least_lead(&"1/3".parse().unwrap()).is_zero());
/// ```
pub fn least_lead(confidence: &Rational) -> Rational {
    let rest = &Rational::ONE - confidence;
    if !rest.is_positive() || *confidence <= rest {
        return Rational::ZERO;
    }
    let odds = down(&(confidence / &rest), BITS);
    let two = Rational::from(2);
    let (mut mantissa, mut doublings) = (odds, 0);
    while mantissa >= two {
        mantissa = &mantissa * &Rational::dyadic(1, -1);
        doublings += 1;
    }
    let lead = &(&Rational::from(doublings) * &logarithm(&two)) + &logarithm(&mantissa);
    down(&lead, MARGIN_BITS).max(Rational::ZERO)
}

/// At most the softmax probability of a class.
///
/// ```
/// use fiberscope::difference::probability;
/// use fiberscope::Rational;
///
/// let p = probability(&[Rational::from(1), Rational::ZERO], 0).to_f64();
/// let exact = 1f64.exp() / (1.0 + 1f64.exp());
/// assert!(p <= exact && p > exact - 1e-15);
/// ```
pub fn probability(outputs: &[Rational], class: usize) -> Rational {
    let mut sum = Rational::ONE;
    for (l, output) in outputs.iter().enumerate() {
        if l != class {
            let ahead = output - &outputs[class];
            if ahead > Rational::from(FAR) {
                return Rational::ZERO;
            }
            sum = (&sum + &exponential(&ahead)).round_up(BITS);
        }
    }
    down(&(&Rational::ONE / &sum), BITS)
}

fn down(x: &Rational, bits: u32) -> Rational {
    -(-x).round_up(bits)
}

/// At most the logarithm of a number between 1 and 2.
fn logarithm(m: &Rational) -> Rational {
    let t = down(&(&(m - &Rational::ONE) / &(m + &Rational::ONE)), BITS);
    let square = down(&(&t * &t), BITS);
    let (mut power, mut sum) = (t, Rational::ZERO);
    for k in 0..TERMS {
        sum = down(&(&sum + &(&power / &Rational::from(2 * k + 1))), BITS);
        power = down(&(&power * &square), BITS);
    }
    &sum * &Rational::from(2)
}

/// At least the exponential of a number that is not very large.
fn exponential(x: &Rational) -> Rational {
    if x.is_positive() {
        // exp(x) = 1 / exp(-x), from below.
        let below = small_exponential(x, false);
        return (&Rational::ONE / &below).round_up(BITS);
    }
    small_exponential(&-x, true)
}

/// `exp(-y)` for `y >= 0`, from above or from below.
fn small_exponential(y: &Rational, above: bool) -> Rational {
    // What is beyond is not larger, and not as small as 0.
    let far = Rational::from(FAR);
    let y = if above && *y > far { &far } else { y };
    let (half, mut u, mut halvings) = (Rational::dyadic(1, -1), y.clone(), 0);
    while u > half {
        u = &u * &half;
        halvings += 1;
    }
    let rounded = |x: Rational| if above { x.round_up(BITS) } else { down(&x, BITS) };
    // Larger numbers have smaller exponentials.
    let u = if above { down(&u, BITS) } else { u.round_up(BITS) };
    let (mut term, mut sum) = (Rational::ONE, Rational::ONE);
    for k in 1..=if above { LAST_POWER } else { LAST_POWER + 1 } {
        // The terms are exact; the sum is rounded.
        term = -(&(&term * &u) / &Rational::from(k));
        sum = rounded(&sum + &term);
    }
    for _ in 0..halvings {
        sum = rounded(&sum * &sum);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_bounded_closely() {
        for (text, value) in
            [("0", 1.0), ("-1", (-1f64).exp()), ("-37/10", (-3.7f64).exp()), ("5/2", 2.5f64.exp())]
        {
            let x: Rational = text.parse().unwrap();
            let found = exponential(&x).to_f64();
            assert!((found / value - 1.0).abs() < 1e-14, "{text}: {found} {value}");
        }
        assert!(exponential(&Rational::from(-1_000_000)).is_positive());
        assert!(exponential(&Rational::from(-1_000_000)).to_f64() < 1e-300);
    }

    /// A formula of its own: `(1 + x/n)^n <= exp(x)` for `x > 0`.
    #[test]
    fn bounds_are_on_the_safe_side() {
        let one = &Rational::ONE;
        for numerator in 1..40 {
            let x = &Rational::from(numerator) / &Rational::from(7);
            // exp(x) exp(-x) = 1: both are from above.
            let product = &exponential(&x) * &exponential(&-&x);
            assert!(product >= *one && product.to_f64() < 1.0 + 1e-14);
            let n = Rational::from(1 << 12);
            let base = &(one + &(&x / &n));
            let mut power = base.clone();
            for _ in 0..12 {
                power = down(&(&power * &power), 200);
            }
            assert!(power <= exponential(&x), "{x}");
        }
    }

    #[test]
    fn leads_are_lower_bounds() {
        for (text, odds) in [("3/5", 1.5f64), ("9/10", 9.0), ("999/1000", 999.0), ("2/3", 2.0)] {
            let lead = least_lead(&text.parse().unwrap()).to_f64();
            assert!(lead <= odds.ln() * (1.0 + 1e-15) && lead > odds.ln() - 1e-13, "{text} {lead}");
            // At this lead of two classes the probability is at most what was asked.
            let p = probability(&[Rational::from_f64(lead).unwrap(), Rational::ZERO], 0);
            assert!(p <= text.parse().unwrap());
        }
        assert!(least_lead(&"1/2".parse().unwrap()).is_zero());
        let sure = &Rational::ONE - &Rational::dyadic(1, -200);
        assert!((least_lead(&sure).to_f64() - 200.0 * 2f64.ln()).abs() < 1e-10);
    }
}
