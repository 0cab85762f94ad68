//! Visible hyperplanes of a map with one hidden layer.

use fiberscope_algebra::rational::dot;
use fiberscope_core::{Layer, Rational, ratio_of};

use crate::orbit::lines::entries;

/// A hyperplane of the function with its weight, oriented towards the base point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrientedHyperplane {
    /// The normal `u`.
    pub normal: Vec<Rational>,
    /// The offset `t`; `u x_0 + t > 0`.
    pub offset: Rational,
    /// The weight `a`, one entry per output.
    pub weight: Vec<Rational>,
}

impl OrientedHyperplane {
    /// `u x + t`.
    pub(super) fn value(&self, x: &[Rational]) -> Rational {
        &dot(&self.normal, x) + &self.offset
    }
    /// Turns it round: the other side is positive.
    pub(super) fn turn(&mut self) {
        self.normal.iter_mut().for_each(|u| *u = -&*u);
        self.offset = -&self.offset;
    }
}

/// Whether a row and bias lie on a hyperplane: the factor.
pub(super) fn factor_on(
    hyperplane: &OrientedHyperplane,
    hidden: &Layer<Rational>,
    unit: usize,
) -> Option<Rational> {
    let own = hyperplane.normal.iter().chain(std::iter::once(&hyperplane.offset));
    ratio_of(own, entries(hidden, unit))
}
