//! Products of matrices that lie in larger arrays.
//!
//! A matrix here is a slice and a stride: row `i` begins at entry `i * stride`. The product is one call of
//! the processor's matrix kernel; the order in which products are added is its own, and a multiplication may
//! be fused with an addition. Nothing is flushed to zero.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder};

/// The rows of a matrix inside a slice: the entries and the distance from one row to the next.
pub type Strided<'a> = (&'a [f64], usize);

/// `out = left right`, or `out += left right`, for `left` of `rows x inner` and `right` of `inner x columns`
/// entries.
///
/// # Panics
///
/// If a slice is too short for its rows.
pub fn multiply_into(
    (rows, inner, columns): (usize, usize, usize),
    left: Strided,
    right: Strided,
    out: (&mut [f64], usize),
    add: bool,
) {
    if rows == 0 || columns == 0 {
        return;
    }
    if inner == 0 {
        if !add {
            out.0.chunks_mut(out.1).take(rows).for_each(|row| row[..columns].fill(0.0));
        }
        return;
    }
    let fits = "the entries fill the shape";
    let left = ArrayView2::from_shape((rows, inner).strides((left.1, 1)), left.0).expect(fits);
    let right = ArrayView2::from_shape((inner, columns).strides((right.1, 1)), right.0).expect(fits);
    let mut out = ArrayViewMut2::from_shape((rows, columns).strides((out.1, 1)), out.0).expect(fits);
    general_mat_mul(1.0, &left, &right, if add { 1.0 } else { 0.0 }, &mut out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_arrays_are_multiplied_and_the_rest_stays() {
        for (rows, inner, columns) in [(1, 1, 1), (3, 4, 5), (20, 9, 17), (2, 0, 3), (1, 30, 1), (30, 2, 1)] {
            let (left_stride, right_stride, stride) = (inner + 2, columns + 1, columns + 3);
            let number = |i: usize| (i * 7 % 11) as f64 - 5.0;
            let left: Vec<f64> = (0..rows * left_stride).map(number).collect();
            let right: Vec<f64> = (0..inner * right_stride).map(|i| number(i + 3)).collect();
            for add in [false, true] {
                let mut out = vec![1.0; rows * stride];
                let parts = ((&left[..], left_stride), (&right[..], right_stride));
                multiply_into((rows, inner, columns), parts.0, parts.1, (&mut out, stride), add);
                for i in 0..rows {
                    for j in 0..stride {
                        let term = |k: usize| left[i * left_stride + k] * right[k * right_stride + j];
                        let before = if add || j >= columns { 1.0 } else { 0.0 };
                        let product = if j < columns { (0..inner).map(term).sum() } else { 0.0 };
                        assert_eq!(out[i * stride + j], before + product);
                    }
                }
            }
        }
    }
}
