//! Doubles that know how far they are off.

use fiberscope_core::Rational;

/// A double with a bound for its distance from the number that it stands for.
///
/// An overflow leaves a bound that is infinite or not a number, and then no sign is certain.
#[derive(Clone, Copy, Debug)]
pub struct Approximate {
    value: f64,
    error: f64,
}

impl Approximate {
    /// A double that stands for itself.
    pub fn exact(value: f64) -> Self {
        Approximate { value, error: 0.0 }
    }

    /// Whether the number is surely greater than zero.
    pub fn is_surely_positive(self) -> bool {
        self.value > self.error
    }

    /// Whether the number is surely less than zero.
    pub fn is_surely_negative(self) -> bool {
        self.value < -self.error
    }

    /// The greater one of the number and zero, which is off by no more.
    pub fn or_zero(self) -> Self {
        Approximate { value: self.value.max(0.0), ..self }
    }
}

impl From<&Rational> for Approximate {
    fn from(number: &Rational) -> Self {
        let value = number.to_f64();
        Approximate { value, error: value.abs() * f64::EPSILON + f64::MIN_POSITIVE }
    }
}

/// A sum of products of known factors with [`Approximate`] ones, in the making.
#[derive(Clone, Copy, Debug)]
pub struct ApproximateSum {
    value: f64,
    /// The sum of the sizes of the terms.
    size: f64,
    /// What the terms are off by before they are rounded.
    carried: f64,
    terms: f64,
}

impl ApproximateSum {
    /// The sum of one number.
    pub fn new(first: Approximate) -> Self {
        ApproximateSum { value: first.value, size: first.value.abs(), carried: first.error, terms: 1.0 }
    }

    /// Adds a product. The factor may be rounded to the nearest double, which is off by less than the least normal number
    /// if that is subnormal.
    pub fn add(&mut self, factor: f64, number: Approximate) {
        let term = factor * number.value;
        self.value += term;
        self.size += term.abs();
        self.carried += factor.abs() * number.error + f64::MIN_POSITIVE * (number.value.abs() + number.error);
        self.terms += 1.0;
    }

    /// The sum.
    ///
    /// With `n` terms each of them is rounded at most `n + 2` times, for its factor, the product and the sums, by a
    /// relative `2^-53`; a product that underflows is off by less than the least normal number. Both are counted twice and
    /// more, which covers the rounding of these bounds themselves as long as `n` is below `2^40`.
    pub fn total(self) -> Approximate {
        let rounding = (self.terms + 4.0) * (f64::EPSILON * (self.size + self.carried) + f64::MIN_POSITIVE);
        Approximate { value: self.value, error: 1.001 * (self.carried + rounding) }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn rational(x: f64) -> Rational {
        Rational::from_f64(x).expect("a finite number")
    }

    #[test]
    fn the_bound_holds_for_numbers_of_all_sizes() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut sure = 0;
        for case in 0..2000 {
            let reach = [0, 3, 60, 500][case % 4];
            let mut number = || {
                let (mantissa, size) = (rng.random_range(-1.0..1.0), rng.random_range(-reach..=reach));
                rational(mantissa) * rational(2f64.powi(size)) / rational(3.0)
            };
            let first = number();
            let (mut exact, mut sum) = (first.clone(), ApproximateSum::new(Approximate::from(&first)));
            for _ in 0..case % 7 {
                let (factor, x) = (number(), number());
                sum.add(factor.to_f64(), Approximate::from(&x));
                exact = exact + factor * x;
            }
            let found = sum.total();
            let apart = exact - rational(found.value);
            assert!(apart.abs() <= rational(found.error), "case {case}: {found:?}");
            sure += usize::from(found.is_surely_positive() || found.is_surely_negative());
        }
        assert!(sure > 1900, "{sure}");
    }

    #[test]
    fn factors_that_vanish_as_doubles_count() {
        // 2^-1100 is 0 as a double, and 2^200 times as much is 2^-900.
        let mut sum = ApproximateSum::new(Approximate::exact(-(2f64.powi(-950))));
        sum.add(0.0, Approximate::exact(2f64.powi(200)));
        assert!(!sum.total().is_surely_negative());
    }

    #[test]
    fn overflow_decides_nothing() {
        let mut sum = ApproximateSum::new(Approximate::exact(1.0));
        sum.add(f64::MAX, Approximate::exact(2.0));
        assert!(!sum.total().is_surely_positive() && !sum.total().is_surely_negative());
    }
}
