//! Sums over rows, with the vector instructions that the processor has. Neither the order of a sum nor whether a product and a sum are
//! rounded once or twice matters to the lemmas.
//!
//! What is to run with these instructions is inlined into what is compiled for each kind of them ([`fiberscope_core::wide`]).

use fiberscope_core::wide::Simd;

pub(super) const LANES: usize = 8;

/// The sum of all lanes.
#[inline(always)]
pub(super) fn total(lanes: [f64; LANES]) -> f64 {
    lanes.iter().sum()
}

/// The sum of absolute values.
#[inline(always)]
pub(super) fn abs_sum<S: Simd>(simd: S, x: &[f64]) -> f64 {
    let (blocks, rest) = S::as_simd_f64s(x);
    let mut sum = simd.abs_f64s(simd.partial_load_f64s(rest));
    for x in blocks {
        sum = simd.add_f64s(sum, simd.abs_f64s(*x));
    }
    simd.reduce_sum_f64s(sum)
}

/// The sums of `abs(z)`, `abs(d)` and `abs(z + d)`.
#[inline(always)]
pub(super) fn abs_sums<S: Simd>(simd: S, z: &[f64], d: &[f64]) -> [f64; 3] {
    let ((z_blocks, z_rest), (d_blocks, d_rest)) = (S::as_simd_f64s(z), S::as_simd_f64s(&d[..z.len()]));
    let (z, d) = (simd.partial_load_f64s(z_rest), simd.partial_load_f64s(d_rest));
    // No closures: they would not be compiled for these instructions.
    let (mut sum_z, mut sum_d) = (simd.abs_f64s(z), simd.abs_f64s(d));
    let mut sum_y = simd.abs_f64s(simd.add_f64s(z, d));
    for (z, d) in z_blocks.iter().zip(d_blocks) {
        sum_z = simd.add_f64s(sum_z, simd.abs_f64s(*z));
        sum_d = simd.add_f64s(sum_d, simd.abs_f64s(*d));
        sum_y = simd.add_f64s(sum_y, simd.abs_f64s(simd.add_f64s(*z, *d)));
    }
    [simd.reduce_sum_f64s(sum_z), simd.reduce_sum_f64s(sum_d), simd.reduce_sum_f64s(sum_y)]
}

/// The sum of `abs(w) t`.
#[inline(always)]
pub(super) fn abs_dot<S: Simd>(simd: S, w: &[f64], t: &[f64]) -> f64 {
    let ((w_blocks, w_rest), (t_blocks, t_rest)) = (S::as_simd_f64s(w), S::as_simd_f64s(&t[..w.len()]));
    let rest = (simd.partial_load_f64s(w_rest), simd.partial_load_f64s(t_rest));
    let mut sum = simd.mul_f64s(simd.abs_f64s(rest.0), rest.1);
    for (w, t) in w_blocks.iter().zip(t_blocks) {
        sum = simd.mul_add_e_f64s(simd.abs_f64s(*w), *t, sum);
    }
    simd.reduce_sum_f64s(sum)
}

/// The sum of `x y`.
#[inline(always)]
pub(super) fn dot<S: Simd>(simd: S, x: &[f64], y: &[f64]) -> f64 {
    let ((x_blocks, x_rest), (y_blocks, y_rest)) = (S::as_simd_f64s(x), S::as_simd_f64s(&y[..x.len()]));
    let mut sum = simd.mul_f64s(simd.partial_load_f64s(x_rest), simd.partial_load_f64s(y_rest));
    for (x, y) in x_blocks.iter().zip(y_blocks) {
        sum = simd.mul_add_e_f64s(*x, *y, sum);
    }
    simd.reduce_sum_f64s(sum)
}

/// `out += factor * row`.
#[inline(always)]
pub(super) fn add_scaled(out: &mut [f64], factor: f64, row: &[f64]) {
    out.iter_mut().zip(row).for_each(|(out, x)| *out += factor * x);
}

#[cfg(test)]
mod tests {
    use fiberscope_core::wide::{WithSimd, wide};

    use super::*;

    /// All sums of two rows.
    struct Sums<'s>(&'s [f64], &'s [f64]);

    impl WithSimd for Sums<'_> {
        type Output = ([f64; 3], f64, f64, f64);

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let Sums(z, d) = self;
            (abs_sums(simd, z, d), abs_sum(simd, z), abs_dot(simd, z, d), dot(simd, z, d))
        }
    }

    #[test]
    fn sums_have_all_their_terms() {
        for n in [0, 1, 7, 8, 9, 30] {
            let z: Vec<f64> =
                (0..n).map(|i| (i as f64 - 3.5) * if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
            let d: Vec<f64> = (0..n).map(|i| 2.0 - i as f64).collect();
            let sum = |f: &dyn Fn(f64, f64) -> f64| z.iter().zip(&d).map(|(&z, &d)| f(z, d)).sum::<f64>();
            let expected = [sum(&|z, _| z.abs()), sum(&|_, d| d.abs()), sum(&|z, d| (z + d).abs())];
            let products = (sum(&|z, d| z.abs() * d), sum(&|z, d| z * d));
            assert_eq!(wide(Sums(&z, &d)), (expected, expected[0], products.0, products.1));
            let mut out = z.clone();
            add_scaled(&mut out, 2.0, &d);
            assert!(out.iter().zip(z.iter().zip(&d)).all(|(out, (z, d))| *out == z + 2.0 * d));
        }
    }
}
