//! Linear expressions in variables, with exact coefficients.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

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
        let mut terms: BTreeMap<usize, Rational> = BTreeMap::new();
        for (factor, part) in parts.into_iter().filter(|(factor, _)| !factor.is_zero()) {
            constant += &(factor * &part.constant);
            for (variable, coefficient) in &part.terms {
                *terms.entry(*variable).or_default() += &(factor * coefficient);
            }
        }
        Expression { terms: terms.into_iter().filter(|(_, c)| !c.is_zero()).collect(), constant }
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
        const PRIME: u64 = (1 << 61) - 1;
        let product = |x: u64, y: u64| (u128::from(x) * u128::from(y) % u128::from(PRIME)) as u64;
        let residue = |number: &Rational| number.residue().unwrap_or(0);
        let (mut inverse, mut power) = (1, self.terms.first().map_or(0, |(_, first)| residue(first)));
        let mut exponent = PRIME - 2;
        while exponent > 0 {
            if exponent & 1 == 1 {
                inverse = product(inverse, power);
            }
            power = product(power, power);
            exponent >>= 1;
        }
        let mut hasher = DefaultHasher::new();
        for (variable, coefficient) in &self.terms {
            (variable, product(inverse, residue(coefficient))).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// What each term is at most (`None` for no bound) when the variables lie in their ranges.
    pub fn uppers(&self, ranges: &[Interval]) -> Vec<Option<Rational>> {
        let upper = |(variable, coefficient): &(usize, Rational)| {
            let Interval { lower, upper } = &ranges[*variable];
            let end = if coefficient.is_positive() { upper } else { lower };
            end.as_ref().map(|end| coefficient * end)
        };
        self.terms.iter().map(upper).collect()
    }
}
