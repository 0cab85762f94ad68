//! Where two networks are compared: all of `R^n`, or a box whose sides may be unbounded.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Rational;
use crate::strict::read_strictly;

/// A closed interval of real numbers; `None` is no bound on that side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Option<Rational>, Option<Rational>)", into = "(Option<Rational>, Option<Rational>)")]
pub struct Interval {
    /// The lower end.
    pub lower: Option<Rational>,
    /// The upper end.
    pub upper: Option<Rational>,
}

impl Interval {
    /// All real numbers.
    pub const ALL: Interval = Interval { lower: None, upper: None };

    /// The interval from `lower` to `upper`.
    pub fn new(lower: Rational, upper: Rational) -> Self {
        Interval { lower: Some(lower), upper: Some(upper) }
    }

    /// Whether `x` lies in the interval.
    pub fn contains(&self, x: &Rational) -> bool {
        self.lower.as_ref().is_none_or(|lower| lower <= x)
            && self.upper.as_ref().is_none_or(|upper| x <= upper)
    }

    /// The largest absolute value in the interval, if it is bounded.
    pub fn magnitude(&self) -> Option<Rational> {
        Some(self.lower.as_ref()?.abs().max(self.upper.as_ref()?.abs()))
    }
}

impl From<(Option<Rational>, Option<Rational>)> for Interval {
    fn from((lower, upper): (Option<Rational>, Option<Rational>)) -> Self {
        Interval { lower, upper }
    }
}

impl From<Interval> for (Option<Rational>, Option<Rational>) {
    fn from(interval: Interval) -> Self {
        (interval.lower, interval.upper)
    }
}

/// The set of inputs a statement is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", remote = "Self")]
pub enum Domain {
    /// All of `R^n`.
    #[default]
    Space,
    /// A product of intervals, one per input.
    Box(Vec<Interval>),
}

read_strictly!(Domain);

/// Why a box is no domain for a network.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DomainError {
    #[error("expected a box with {expected} intervals (one per input), found {found}")]
    Length { expected: usize, found: usize },
    #[error("input {input}: the interval is empty, from {lower} to {upper}")]
    Empty { input: usize, lower: Rational, upper: Rational },
}

impl Domain {
    /// The box with these sides, given as finite doubles; `None` if one is infinite or NaN.
    pub fn from_bounds(bounds: &[(f64, f64)]) -> Option<Self> {
        let side = |&(lower, upper): &(f64, f64)| {
            Some(Interval::new(Rational::from_f64(lower)?, Rational::from_f64(upper)?))
        };
        bounds.iter().map(side).collect::<Option<_>>().map(Domain::Box)
    }

    /// The nonnegative orthant of `R^n`.
    pub fn orthant(n: usize) -> Self {
        Domain::Box(vec![Interval { lower: Some(Rational::ZERO), upper: None }; n])
    }

    /// Checks that this is a non-empty set of vectors with `inputs` entries.
    pub fn check(&self, inputs: usize) -> Result<(), DomainError> {
        let Domain::Box(sides) = self else { return Ok(()) };
        if sides.len() != inputs {
            return Err(DomainError::Length { expected: inputs, found: sides.len() });
        }
        for (i, side) in sides.iter().enumerate() {
            if let (Some(lower), Some(upper)) = (&side.lower, &side.upper)
                && lower > upper
            {
                let (lower, upper) = (lower.clone(), upper.clone());
                return Err(DomainError::Empty { input: i + 1, lower, upper });
            }
        }
        Ok(())
    }

    /// The interval of every input.
    pub fn sides(&self, inputs: usize) -> Vec<Interval> {
        match self {
            Domain::Space => vec![Interval::ALL; inputs],
            Domain::Box(sides) => sides.clone(),
        }
    }

    /// Whether every point of this domain, of this many inputs, lies in the other. Neither may be empty.
    pub fn is_inside(&self, other: &Domain, inputs: usize) -> bool {
        let (inner, outer) = (self.sides(inputs), other.sides(inputs));
        let from = |inner: &Interval, outer: &Interval| {
            outer.lower.as_ref().is_none_or(|lower| inner.lower.as_ref().is_some_and(|x| x >= lower))
        };
        let to = |inner: &Interval, outer: &Interval| {
            outer.upper.as_ref().is_none_or(|upper| inner.upper.as_ref().is_some_and(|x| x <= upper))
        };
        inner.len() == outer.len() && inner.iter().zip(&outer).all(|(i, o)| from(i, o) && to(i, o))
    }

    /// Whether `x` lies in the domain.
    pub fn contains(&self, x: &[Rational]) -> bool {
        match self {
            Domain::Space => true,
            Domain::Box(sides) => {
                sides.len() == x.len() && sides.iter().zip(x).all(|(side, x)| side.contains(x))
            }
        }
    }
}
