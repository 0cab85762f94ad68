//! Linear expressions in variables, with exact coefficients.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use fiberscope_core::residue::{inverse, multiply};
use fiberscope_core::{Interval, Rational};

/// `sum c_v v + constant`; no coefficient is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expression {
    /// The variables in increasing order, with their coefficients.
    pub terms: Vec<(usize, Rational)>,
    /// The constant.
    pub constant: Rational,
}

impl Expression {
    /// The affine function with this gradient and constant.
    pub fn affine(form: &[Rational]) -> Self {
        let (constant, gradient) = form.split_last().expect("a form has a constant");
        let terms = gradient.iter().cloned().enumerate().filter(|(_, c)| !c.is_zero());
        Expression { terms: terms.collect(), constant: constant.clone() }
    }

    /// A variable.
    pub fn variable(variable: usize) -> Self {
        Expression { terms: vec![(variable, Rational::ONE)], constant: Rational::ZERO }
    }

    /// `sum c e + constant`, over pairs of a coefficient and an expression.
    pub fn combination<'a>(
        constant: Rational,
        parts: impl IntoIterator<Item = (&'a Rational, &'a Expression)>,
    ) -> Self {
        let mut constant = constant;
        let mut sums: BTreeMap<usize, Rational> = BTreeMap::new();
        for (factor, part) in parts.into_iter().filter(|(factor, _)| !factor.is_zero()) {
            if !part.constant.is_zero() {
                constant += &(factor * &part.constant);
            }
            for (variable, coefficient) in &part.terms {
                *sums.entry(*variable).or_default() += &(factor * coefficient);
            }
        }
        let mut terms: Vec<(usize, Rational)> = sums.into_iter().collect();
        terms.retain(|(_, coefficient)| !coefficient.is_zero());
        Expression { terms, constant }
    }

    /// The expression times a number.
    pub fn times(&self, factor: &Rational) -> Self {
        Expression::combination(Rational::ZERO, [(factor, self)])
    }

    /// The sum of two expressions.
    pub fn plus(&self, other: &Expression) -> Self {
        Expression::combination(Rational::ZERO, [(&Rational::ONE, self), (&Rational::ONE, other)])
    }

    /// The factor `s` with `terms = s * others`, if there is one.
    pub fn ratio(&self, others: &[(usize, Rational)]) -> Option<Rational> {
        let ((_, first), (_, other)) = (self.terms.first()?, others.first()?);
        let ratio = if first == other { Rational::ONE } else { first / other };
        let equal = |((v, c), (w, d)): (&(usize, Rational), &(usize, Rational))| {
            v == w && if ratio == Rational::ONE { c == d } else { *c == &ratio * d }
        };
        (self.terms.len() == others.len() && self.terms.iter().zip(others).all(equal)).then_some(ratio)
    }

    /// A number that is the same for all multiples of the terms; different terms may have the same.
    pub fn direction(&self) -> u64 {
        let residue = |number: &Rational| number.residue().unwrap_or(0);
        let scale = self.terms.first().map_or(0, |(_, first)| inverse(residue(first)));
        let mut hasher = DefaultHasher::new();
        for (variable, coefficient) in &self.terms {
            (variable, multiply(scale, residue(coefficient))).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The end of its variable's range (`None` for no bound) where each term, or its negative, is largest.
    pub fn ends<'a>(
        &'a self,
        ranges: &'a [Interval],
        negative: bool,
    ) -> impl Iterator<Item = (&'a Rational, Option<&'a Rational>)> {
        self.terms.iter().map(move |(variable, coefficient)| {
            let Interval { lower, upper } = &ranges[*variable];
            let end = if coefficient.is_positive() != negative { upper } else { lower };
            (coefficient, end.as_ref())
        })
    }
}
