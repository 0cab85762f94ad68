//! How far apart the parameters of two networks are.

use fiberscope_core::{Layer, Weights, side_by_side};

/// The Euclidean distance of the parameters of two networks of the same shape.
pub(super) fn distance(a: &[Layer], b: &[Layer]) -> f64 {
    let sum = sum_of_gaps(a, b, |gap| gap * gap);
    if sum.is_finite() {
        return sum.sqrt();
    }
    // The squares of large numbers are beyond the doubles.
    let mut largest = 0.0f64;
    sum_of_gaps(a, b, |gap| {
        largest = largest.max(gap.abs());
        0.0
    });
    largest * sum_of_gaps(a, b, |gap| (gap / largest) * (gap / largest)).sqrt()
}

/// The sum of what `f` makes of the differences of the parameters.
fn sum_of_gaps(a: &[Layer], b: &[Layer], mut f: impl FnMut(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for (x, y) in a.iter().zip(b) {
        if let (Weights::Dense(x), Weights::Dense(y)) = (x.weights(), y.weights()) {
            // Sums side by side, which need not wait for each other.
            let mut sums = [0.0; 8];
            for (x, y) in x.entries().chunks(sums.len()).zip(y.entries().chunks(sums.len())) {
                sums.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum += f(x - y));
            }
            sum += sums.iter().sum::<f64>();
        } else {
            for (x, y) in x.weights().iter_rows().zip(y.weights().iter_rows()) {
                let gaps = side_by_side(x, y).map(|(_, x, y)| x.unwrap_or(&0.0) - y.unwrap_or(&0.0));
                sum += gaps.map(&mut f).sum::<f64>();
            }
        }
        sum += x.bias().iter().zip(y.bias()).map(|(x, y)| f(x - y)).sum::<f64>();
    }
    sum
}
