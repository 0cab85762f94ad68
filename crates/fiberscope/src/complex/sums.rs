//! Sums of multiples of rows, as weights of facets need them by the million.
//!
//! Entries are summed in the order of the rows, one product after another, so that results do not depend on how
//! many are worked on together.

use super::flat::LANES;

/// Rows of a matrix, with what they are multiplied by.
pub(crate) type Terms = Vec<(usize, f64)>;

/// `sum_k factor_k row_k` for rows of this length that lie `stride` numbers apart. The sums are written over.
pub(crate) fn add_rows(terms: &[(usize, f64)], rows: &[f64], stride: usize, sums: &mut [f64]) {
    pulp::Arch::new().dispatch(Rows { terms, rows, stride, sums });
}

struct Rows<'a> {
    terms: &'a [(usize, f64)],
    rows: &'a [f64],
    stride: usize,
    sums: &'a mut [f64],
}

impl pulp::WithSimd for Rows<'_> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "the number runs through several lists")]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Rows { terms, rows, stride, sums } = self;
        let whole = sums.len() / LANES * LANES;
        for at in (0..whole).step_by(LANES) {
            let mut sum = [0.0; LANES];
            for &(row, factor) in terms {
                let entries = lanes(&rows[row * stride + at..]);
                for i in 0..LANES {
                    sum[i] += factor * entries[i];
                }
            }
            sums[at..at + LANES].copy_from_slice(&sum);
        }
        for at in whole..sums.len() {
            let mut sum = 0.0;
            for &(row, factor) in terms {
                sum += factor * rows[row * stride + at];
            }
            sums[at] = sum;
        }
    }
}

/// The same for two factors of each row, the second times the absolute values. The length is a multiple of
/// [`LANES`].
pub(crate) fn add_rows_and_sizes(
    terms: &[(usize, f64, f64)],
    rows: &[f64],
    stride: usize,
    [values, sizes]: [&mut [f64]; 2],
) {
    pulp::Arch::new().dispatch(RowsAndSizes { terms, rows, stride, values, sizes });
}

struct RowsAndSizes<'a> {
    terms: &'a [(usize, f64, f64)],
    rows: &'a [f64],
    stride: usize,
    values: &'a mut [f64],
    sizes: &'a mut [f64],
}

impl pulp::WithSimd for RowsAndSizes<'_> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "the number runs through several lists")]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let RowsAndSizes { terms, rows, stride, values, sizes } = self;
        for at in (0..values.len()).step_by(LANES) {
            let (mut value, mut size) = ([0.0; LANES], [0.0; LANES]);
            for &(row, factor, absolute) in terms {
                let entries = lanes(&rows[row * stride + at..]);
                for i in 0..LANES {
                    value[i] += factor * entries[i];
                    size[i] += absolute * entries[i].abs();
                }
            }
            values[at..at + LANES].copy_from_slice(&value);
            sizes[at..at + LANES].copy_from_slice(&size);
        }
    }
}

#[inline(always)]
fn lanes(entries: &[f64]) -> [f64; LANES] {
    entries[..LANES].try_into().expect("there are that many")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_a_plain_loop_bit_by_bit() {
        let number = |i: usize| ((i * i + 7) as f64).sin() * 1.7f64.powi(i as i32 % 11);
        for (count, length, stride) in [(0, 5, 5), (1, 8, 8), (7, 3, 9), (13, 24, 24), (5, 30, 31)] {
            let rows: Vec<f64> = (0..20 * stride).map(number).collect();
            let terms: Vec<(usize, f64, f64)> =
                (0..count).map(|k| (3 * k % 20, number(k + 500), number(k + 900).abs())).collect();
            let plain = |size: bool| -> Vec<f64> {
                let mut sums = vec![0.0; length];
                for &(row, factor, absolute) in &terms {
                    for (sum, entry) in sums.iter_mut().zip(&rows[row * stride..]) {
                        *sum += if size { absolute * entry.abs() } else { factor * entry };
                    }
                }
                sums
            };
            let mut sums = vec![f64::NAN; length];
            let short: Terms = terms.iter().map(|&(row, factor, _)| (row, factor)).collect();
            add_rows(&short, &rows, stride, &mut sums);
            assert_eq!(sums, plain(false));
            if length % LANES == 0 {
                let [mut values, mut sizes] =
                    [const { Vec::new() }; 2].map(|_: Vec<f64>| vec![f64::NAN; length]);
                add_rows_and_sizes(&terms, &rows, stride, [&mut values, &mut sizes]);
                assert_eq!((values, sizes), (plain(false), plain(true)));
            }
        }
    }
}
