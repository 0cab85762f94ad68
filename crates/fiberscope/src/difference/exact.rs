//! Exact values at points of the domain.

use fiberscope_core::{Domain, ExactEvaluator, Interval, Network, Rational};
use rayon::prelude::*;

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

/// The first of these points, so many, with their exact outputs: evaluated on all threads, in their order.
pub fn first_points(
    points: &[Vec<f64>],
    most: usize,
    at: impl Fn(&[f64]) -> Option<Point> + Sync,
) -> Vec<Point> {
    let found: Vec<_> = points[..most.min(points.len())].par_iter().map(|x| at(x)).collect();
    found.into_iter().flatten().collect()
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

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    use super::*;

    #[test]
    fn points_are_evaluated_on_all_threads_in_their_order() {
        let points: Vec<Vec<f64>> = (0..9).map(|i| vec![f64::from(i)]).collect();
        // The first evaluations wait for each other.
        let (at_work, more) = (Mutex::new(0), Condvar::new());
        let at = |x: &[f64]| {
            *at_work.lock().unwrap() += 1;
            more.notify_all();
            let alone = |at_work: &mut i32| *at_work < 2;
            let waited = more.wait_timeout_while(at_work.lock().unwrap(), Duration::from_secs(30), alone);
            assert!(!waited.unwrap().1.timed_out(), "one evaluation at a time");
            let x = Rational::from_f64(x[0])?;
            (x != Rational::from(3)).then(|| Point { x: vec![x], a: Vec::new(), b: Vec::new() })
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let found = pool.install(|| first_points(&points, 6, at));
        let found: Vec<f64> = found.iter().map(|point| point.x[0].to_f64()).collect();
        assert_eq!(found, [0.0, 1.0, 2.0, 4.0, 5.0]);
        assert_eq!(*at_work.lock().unwrap(), 6);
    }
}
