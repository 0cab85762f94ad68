//! Arithmetic with doubles that notices rounding.
//!
//! `a + b` and `a b` are exact iff the error of the rounded result, which is itself a double unless it
//! underflows, is zero [higham2002accuracy, Section 4.3].

use fiberscope_core::{two_product, two_sum};

/// Numbers below this (other than zero) count as rounded: their errors might underflow.
const TINY: f64 = 1e-280;

/// Whether everything computed so far was exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exactness(pub bool);

impl Exactness {
    /// `a + b`.
    pub fn add(&mut self, a: f64, b: f64) -> f64 {
        let (sum, error) = two_sum(a, b);
        self.0 &= error == 0.0;
        sum
    }

    /// `a b`.
    pub fn multiply(&mut self, a: f64, b: f64) -> f64 {
        let (product, error) = two_product(a, b);
        self.0 &= error == 0.0 && (product.abs() > TINY || a == 0.0 || b == 0.0);
        product
    }

    /// `x += a b`.
    pub fn add_product(&mut self, x: &mut f64, a: f64, b: f64) {
        if a != 0.0 && b != 0.0 {
            let product = self.multiply(a, b);
            *x = self.add(*x, product);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_noticed() {
        let exact = |work: &dyn Fn(&mut Exactness) -> f64| {
            let mut exactness = Exactness(true);
            work(&mut exactness);
            exactness.0
        };
        assert!(exact(&|e| e.add(0.5, 1e15)) && !exact(&|e| e.add(0.1, 0.2)));
        assert!(exact(&|e| e.multiply(0.1, 4.0)) && !exact(&|e| e.multiply(0.1, 3.0)));
        assert!(!exact(&|e| e.multiply(1e-200, 1e-200)) && exact(&|e| e.multiply(0.0, 1e-300)));
        assert!(!exact(&|e| e.multiply(1e300, 1e300)));
    }
}
