//! Sums and products of doubles without loss: the rounded result, and what rounding lost.

/// `a + b` as a double and the rest, exactly, unless it overflows.
pub fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let second = sum - a;
    (sum, (a - (sum - second)) + (b - second))
}

/// `a b` as a double and the rest, exactly, unless it overflows or underflows.
pub fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost() {
        assert_eq!(two_sum(1.0, 1e-30), (1.0, 1e-30));
        assert_eq!(two_sum(0.1, 0.2), (0.1 + 0.2, -2f64.powi(-55)));
        let e = 2f64.powi(-30);
        assert_eq!(two_product(1.0 + e, 1.0 + e), (1.0 + 2.0 * e, e * e));
    }
}
