//! Will a product of exact matrices end in time?
//!
//! A fold is one step of [`fiberscope_core::Move`], and the mathematics of moves knows no clock. So its time
//! is measured beforehand: a few rows of the product tell how long all of them take, whatever the size of the
//! numbers.

use fiberscope_core::{Layer, Rational, Weights};

use crate::clock::Instant;
use crate::limit::Deadline;

/// Products of fewer multiplications are not measured.
const SHORT: usize = 1 << 16;

/// Whether the product of the weights of two layers is likely to end before the deadline; certain without
/// one.
pub fn ends_in_time(first: &Layer<Rational>, second: &Layer<Rational>, deadline: &Deadline) -> bool {
    let rows = second.width();
    let work = rows.saturating_mul(second.input_width()).saturating_mul(first.input_width());
    let Some(left) = deadline.left() else { return true };
    if work <= SHORT {
        return !left.is_zero();
    }
    let tried = (1 + rows / 64).min(rows);
    let start = Instant::now();
    let sample = second.weights().select_rows(&(0..tried).collect::<Vec<_>>());
    if Weights::product(&sample, first.weights()).is_none() {
        return true;
    }
    // The move is applied once here and once by whoever checks it.
    start.elapsed().mul_f64(2.0 * rows as f64 / tried as f64) <= left
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fiberscope_core::{Activation, Matrix};

    use super::*;

    #[test]
    fn large_products_do_not_end_in_no_time() {
        let layer = |n: usize| {
            let weight = Matrix::from_fn(n, n, |i, j| Rational::from((i * n + j) as i64));
            Layer::new(weight, vec![Rational::ZERO; n], Activation::Identity)
        };
        let soon = Deadline::after(Some(Duration::from_micros(1)));
        assert!(!ends_in_time(&layer(64), &layer(64), &soon));
        assert!(ends_in_time(&layer(64), &layer(64), &Deadline::NEVER));
        assert!(ends_in_time(&layer(4), &layer(4), &Deadline::after(Some(Duration::from_secs(3600)))));
    }
}
