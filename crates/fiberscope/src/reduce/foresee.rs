//! What will a product of exact matrices cost, how large will it be, and will it end in time?
//!
//! A fold is one step of [`fiberscope_core::Move`], and the mathematics of moves knows no clock. So its time
//! is measured beforehand: a few rows of the product tell how long all of them take, whatever the size of the
//! numbers.

use fiberscope_core::{Layer, Rational, Weights, is_stored_by_entries};

use crate::clock::Instant;
use crate::limit::Deadline;

/// Products of fewer multiplications are not measured.
const SHORT: usize = 1 << 16;

/// The most multiplications that folding a layer may cost.
const MOST: usize = 1 << 27;

/// Whether the product of the weights of two layers may be computed: by the entries that are not zero, however they
/// are stored.
pub fn is_affordable(first: &Layer<Rational>, second: &Layer<Rational>) -> bool {
    let sizes: Vec<usize> = first.weights().iter_rows().map(Iterator::count).collect();
    let mut terms = 0usize;
    second.weights().iter().all(|(_, k, _)| {
        terms = terms.saturating_add(sizes[k]);
        terms <= MOST
    })
}

/// Whether one layer that does what the two do has no more parameters than they have together. A matrix that is worth
/// storing by its entries counts with these, however it is stored.
pub fn is_smaller(first: &Layer<Rational>, second: &Layer<Rational>) -> bool {
    let size = |layer: &Layer<Rational>| {
        let (rows, columns, entries) = (layer.width(), layer.input_width(), layer.weights().iter().count());
        rows + if is_stored_by_entries(rows, columns, entries) { entries } else { rows * columns }
    };
    let (rows, columns) = (second.width(), first.input_width());
    let most = size(first) + size(second);
    if rows.saturating_mul(columns).saturating_add(rows) <= most {
        return true;
    }
    if !is_stored_by_entries(rows, columns, 0) {
        return false;
    }
    // The places that some product of two entries reaches.
    let mut reached = vec![usize::MAX; columns];
    let mut found = 0;
    for (i, row) in second.weights().iter_rows().enumerate() {
        for (j, _) in row.flat_map(|(k, _)| first.weights().row(k)) {
            found += usize::from(std::mem::replace(&mut reached[j], i) != i);
        }
        if found + rows > most {
            return false;
        }
    }
    is_stored_by_entries(rows, columns, found)
}

/// Whether the product of the weights of two layers is likely to end before the deadline; certain without
/// one.
pub fn ends_in_time(first: &Layer<Rational>, second: &Layer<Rational>, deadline: &Deadline) -> bool {
    let rows = second.width();
    let work = Weights::product_terms(second.weights(), first.weights()).unwrap_or(0);
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

    use fiberscope_core::{Activation, Matrix, SparseMatrix};

    use super::*;

    #[test]
    fn convolutions_are_counted_by_their_entries() {
        // A row of 3 taps for each of 4,000 places, and pairs of places put together again.
        let banded = |rows: usize, columns: usize, taps: usize| {
            let mut matrix = SparseMatrix::new(columns);
            for i in 0..rows {
                let start = (i * columns / rows).min(columns - taps);
                matrix.push_row((start..start + taps).map(|j| (j, Rational::from(1 + j as i64))));
            }
            matrix
        };
        let layer = |matrix: Weights<Rational>| {
            let bias = vec![Rational::ZERO; matrix.rows()];
            Layer::new(matrix, bias, Activation::Identity)
        };
        let [first, second] = [banded(4_000, 4_000, 3), banded(2_000, 4_000, 2)].map(|m| layer(m.into()));
        assert!(is_affordable(&first, &second) && is_smaller(&first, &second));
        // An average before a dense layer: folded, it would have many times the entries, in either storage.
        let (average, full) = (banded(250, 4_000, 16), Matrix::from_fn(40, 250, |_, _| Rational::ONE));
        let dense = Weights::Dense(average.to_dense());
        for average in [average.into(), dense] {
            assert!(!is_smaller(&layer(average), &layer(full.clone().into())));
        }
    }

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
