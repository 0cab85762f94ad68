//! Affine functions of one variable and their zeros.

use std::cmp::Ordering;

use fiberscope_core::{ProductSum, Rational};

/// A point of the line, `numerator / denominator`, not in lowest terms; the denominator is positive.
#[derive(Clone, Debug)]
pub(super) struct Fraction {
    numerator: Rational,
    denominator: Rational,
}

impl Fraction {
    pub fn of(value: &Rational) -> Self {
        Fraction { numerator: value.clone(), denominator: Rational::ONE }
    }

    pub fn value(&self) -> Rational {
        &self.numerator / &self.denominator
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        let mut sum = ProductSum::default();
        sum.add(&self.numerator, &other.denominator);
        sum.subtract(&other.numerator, &self.denominator);
        sum.signum().cmp(&0)
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Fraction {}

/// The function `slope t + constant`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Affine {
    pub slope: Rational,
    pub constant: Rational,
}

impl Affine {
    pub fn zero() -> Self {
        Affine { slope: Rational::ZERO, constant: Rational::ZERO }
    }

    pub fn at(&self, t: &Rational) -> Rational {
        &(&self.slope * t) + &self.constant
    }

    /// The sum of multiples of functions.
    pub fn sum<'a>(terms: impl Iterator<Item = (&'a Rational, &'a Affine)>) -> Self {
        let (mut slope, mut constant) = (ProductSum::default(), ProductSum::default());
        for (factor, function) in terms {
            slope.add(factor, &function.slope);
            constant.add(factor, &function.constant);
        }
        Affine { slope: slope.to_rational(), constant: constant.to_rational() }
    }

    /// Where the function is zero, if at one point only.
    pub fn root(&self) -> Option<Fraction> {
        let positive = self.slope.is_positive();
        let numerator = if positive { -&self.constant } else { self.constant.clone() };
        (!self.slope.is_zero()).then(|| Fraction { numerator, denominator: self.slope.abs() })
    }

    pub fn minus(&self, other: &Affine) -> Affine {
        Affine { slope: &self.slope - &other.slope, constant: &self.constant - &other.constant }
    }

    pub fn is_zero(&self) -> bool {
        self.slope.is_zero() && self.constant.is_zero()
    }
}
