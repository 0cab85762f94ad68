//! What elimination and the simplex method need of numbers.

use std::fmt::Debug;

use fiberscope_core::Rational;

/// A number of a field: exact ([`Rational`], [`crate::modular::Residue`]) or nearly so (doubles).
pub trait Number: Clone + Debug + PartialEq {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// Whether this is zero, exactly.
    fn is_zero(&self) -> bool;

    /// `self + a b`, in place.
    fn add_product(&mut self, a: &Self, b: &Self);

    /// `self - a b`, in place.
    fn subtract_product(&mut self, a: &Self, b: &Self);

    /// `self` minus the sum of `factor * row[place]`, in place.
    fn subtract_products(&mut self, terms: &[(Self, &[Self])], place: usize) {
        terms.iter().for_each(|(factor, row)| self.subtract_product(factor, &row[place]));
    }

    /// Subtracts the rows, each times its factor, from a row of the same length.
    fn subtract_rows(row: &mut [Self], terms: &[(Self, &[Self])]) {
        row.iter_mut().enumerate().for_each(|(place, x)| x.subtract_products(terms, place));
    }

    /// `self - other`.
    fn minus(&self, other: &Self) -> Self;

    /// `self * other`.
    fn times(&self, other: &Self) -> Self;

    /// `self / other`, for `other` that is not zero.
    fn quotient(&self, other: &Self) -> Self;

    /// `-self`.
    fn negated(&self) -> Self;

    /// Which of the entries of a column is the best pivot; `None` if all are zero. In exact arithmetic any
    /// will do, so the first is taken; doubles take the largest.
    fn pivot<'a>(column: impl Iterator<Item = &'a Self>) -> Option<usize>
    where
        Self: 'a,
    {
        column.enumerate().find(|(_, x)| !x.is_zero()).map(|(place, _)| place)
    }
}

/// A number of an ordered field.
pub trait Ordered: Number + PartialOrd {
    /// Whether nothing is rounded, so that ties are ties.
    const IS_EXACT: bool;

    /// 1, 0 or -1; for doubles 0 where rounding may have decided.
    fn sign(&self) -> i8;
}

impl Number for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;

    fn is_zero(&self) -> bool {
        *self == 0.0
    }

    fn add_product(&mut self, a: &f64, b: &f64) {
        *self += a * b;
    }

    fn subtract_product(&mut self, a: &f64, b: &f64) {
        *self -= a * b;
    }

    fn minus(&self, other: &f64) -> f64 {
        self - other
    }

    fn times(&self, other: &f64) -> f64 {
        self * other
    }

    fn quotient(&self, other: &f64) -> f64 {
        self / other
    }

    fn negated(&self) -> f64 {
        -self
    }

    fn pivot<'a>(column: impl Iterator<Item = &'a f64>) -> Option<usize> {
        let largest = column.enumerate().max_by(|(_, x), (_, y)| x.abs().total_cmp(&y.abs()))?;
        (*largest.1 != 0.0).then_some(largest.0)
    }
}

impl Ordered for f64 {
    const IS_EXACT: bool = false;

    fn sign(&self) -> i8 {
        const NOISE: f64 = 1e-11;
        i8::from(*self > NOISE) - i8::from(*self < -NOISE)
    }
}

impl Number for Rational {
    const ZERO: Rational = Rational::ZERO;
    const ONE: Rational = Rational::ONE;

    fn is_zero(&self) -> bool {
        Rational::is_zero(self)
    }

    fn add_product(&mut self, a: &Rational, b: &Rational) {
        if !a.is_zero() && !b.is_zero() {
            *self += &(a * b);
        }
    }

    fn subtract_product(&mut self, a: &Rational, b: &Rational) {
        if !a.is_zero() && !b.is_zero() {
            *self -= &(a * b);
        }
    }

    fn minus(&self, other: &Rational) -> Rational {
        self - other
    }

    fn times(&self, other: &Rational) -> Rational {
        self * other
    }

    fn quotient(&self, other: &Rational) -> Rational {
        self / other
    }

    fn negated(&self) -> Rational {
        -self
    }
}

impl Ordered for Rational {
    const IS_EXACT: bool = true;

    fn sign(&self) -> i8 {
        self.signum()
    }
}
