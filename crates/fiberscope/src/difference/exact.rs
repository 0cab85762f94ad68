//! Exact values at points of the domain.

use fiberscope_core::{Domain, ExactEvaluator, Interval, Network, Rational};

/// A point of the domain and the exact outputs there.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The point.
    pub x: Vec<Rational>,
    /// The outputs of the first network.
    pub a: Vec<Rational>,
    /// The outputs of the second network.
    pub b: Vec<Rational>,
}

impl Point {
    /// `abs(A_k - B_k)`.
    pub fn difference(&self, output: usize) -> Rational {
        (&self.a[output] - &self.b[output]).abs()
    }

    /// The output with the largest difference, from 0, and that difference.
    pub fn largest(&self) -> (usize, Rational) {
        let all = (0..self.a.len()).map(|k| (k, self.difference(k)));
        // The first of the largest ones.
        all.reduce(|best, next| if next.1 > best.1 { next } else { best }).unwrap_or((0, Rational::ZERO))
    }
}

/// Both networks, prepared for exact evaluation at many points.
pub struct Exact {
    a: ExactEvaluator,
    b: ExactEvaluator,
    sides: Vec<Interval>,
}

impl Exact {
    /// The evaluators of two networks with the same numbers of inputs, on a domain.
    pub fn new(a: &Network, b: &Network, domain: &Domain) -> Self {
        Exact { a: ExactEvaluator::new(a), b: ExactEvaluator::new(b), sides: domain.sides(a.input_width()) }
    }

    /// The exact outputs at the point of the domain nearest to `x`; `None` if `x` is no point.
    pub fn at(&self, x: &[f64]) -> Option<Point> {
        let inside = |(x, side): (&f64, &Interval)| {
            let mut x = Rational::from_f64(*x)?;
            if let Some(lower) = side.lower.as_ref().filter(|lower| x < **lower) {
                x = lower.clone();
            }
            if let Some(upper) = side.upper.as_ref().filter(|upper| x > **upper) {
                x = upper.clone();
            }
            Some(x)
        };
        let x: Vec<Rational> = x.iter().zip(&self.sides).map(inside).collect::<Option<_>>()?;
        let (a, b) = (self.a.evaluate(&x).ok()?, self.b.evaluate(&x).ok()?);
        Some(Point { x, a, b })
    }
}
