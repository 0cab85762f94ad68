//! Sums over rows, in lanes that the compiler can keep in vectors. The order of a sum does not matter to the
//! lemmas.

const LANES: usize = 8;

/// The sum of absolute values.
pub(super) fn abs_sum(x: &[f64]) -> f64 {
    let (blocks, rest) = x.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for block in blocks {
        for (sum, x) in sums.iter_mut().zip(block) {
            *sum += x.abs();
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|x| x.abs()).sum::<f64>()
}

/// The sums of `abs(z)`, `abs(d)` and `abs(z + d)`.
pub(super) fn abs_sums(z: &[f64], d: &[f64]) -> [f64; 3] {
    let ((z_blocks, z_rest), (d_blocks, d_rest)) = (z.as_chunks::<LANES>(), d.as_chunks::<LANES>());
    let mut sums = [[0.0; LANES]; 3];
    for (z, d) in z_blocks.iter().zip(d_blocks) {
        for lane in 0..LANES {
            sums[0][lane] += z[lane].abs();
            sums[1][lane] += d[lane].abs();
            sums[2][lane] += (z[lane] + d[lane]).abs();
        }
    }
    let mut totals = sums.map(|lanes| lanes.iter().sum::<f64>());
    for (z, d) in z_rest.iter().zip(d_rest) {
        totals[0] += z.abs();
        totals[1] += d.abs();
        totals[2] += (z + d).abs();
    }
    totals
}

/// The sum of `abs(w) t`.
pub(super) fn abs_dot(w: &[f64], t: &[f64]) -> f64 {
    let ((w_blocks, w_rest), (t_blocks, t_rest)) = (w.as_chunks::<LANES>(), t.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (w, t) in w_blocks.iter().zip(t_blocks) {
        for lane in 0..LANES {
            sums[lane] += w[lane].abs() * t[lane];
        }
    }
    sums.iter().sum::<f64>() + w_rest.iter().zip(t_rest).map(|(w, t)| w.abs() * t).sum::<f64>()
}

/// `out += factor * row`.
pub(super) fn add_scaled(out: &mut [f64], factor: f64, row: &[f64]) {
    out.iter_mut().zip(row).for_each(|(out, x)| *out += factor * x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_all_their_terms() {
        for n in [0, 1, 7, 8, 9, 30] {
            let z: Vec<f64> =
                (0..n).map(|i| (i as f64 - 3.5) * if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
            let d: Vec<f64> = (0..n).map(|i| 2.0 - i as f64).collect();
            let sum = |f: &dyn Fn(f64, f64) -> f64| z.iter().zip(&d).map(|(&z, &d)| f(z, d)).sum::<f64>();
            let expected = [sum(&|z, _| z.abs()), sum(&|_, d| d.abs()), sum(&|z, d| (z + d).abs())];
            assert_eq!(abs_sums(&z, &d), expected);
            assert_eq!(abs_sum(&z), expected[0]);
            assert_eq!(abs_dot(&z, &d), sum(&|z, d| z.abs() * d));
            let mut out = z.clone();
            add_scaled(&mut out, 2.0, &d);
            assert!(out.iter().zip(z.iter().zip(&d)).all(|(out, (z, d))| *out == z + 2.0 * d));
        }
    }
}
