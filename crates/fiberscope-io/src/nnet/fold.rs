//! The normalisation as part of the first and last layer.
//!
//! ```text
//! W_1 ((x - m) / r) + b_1 = (W_1 / r) x + (b_1 - W_1 (m / r))      (m / r and W_1 / r per input)
//! s (W_L a + b_L) + t     = (s W_L) a + (s b_L + t)
//! ```
//!
//! Every parameter is the exact value, rounded once to the nearest double. Where the exact value is
//! one operation away, the IEEE operation does just that. The sum in `b_1` is a fraction with all the
//! `r` in its denominator; it is first computed in double-double arithmetic with a bound on the error,
//! which decides unless the sum is almost the middle of two doubles. Then the fraction decides.

use fiberscope_core::{Matrix, Rational, two_product, two_sum};

use super::Normalizer;
use crate::FormatError;

/// The most distinct pairs `(m, r)` for which a sum is computed as a fraction.
const MAX_FRACTIONS: usize = 64;

/// Makes the normalisation part of the layers.
pub(super) fn fold(layers: &mut [(Matrix, Vec<f64>)], normalizer: &Normalizer) -> Result<(), FormatError> {
    let (scale, shift) = (normalizer.output_range, normalizer.output_mean);
    match layers {
        [] => {}
        [only] => fold_input(only, normalizer, scale, shift)?,
        [first, .., last] => {
            fold_input(first, normalizer, 1.0, 0.0)?;
            // One rounding each: a product, and a fused product and sum.
            last.0.entries_mut().iter_mut().for_each(|w| *w *= scale);
            last.1.iter_mut().for_each(|b| *b = b.mul_add(scale, shift));
        }
    }
    Ok(())
}

/// Replaces `(W, b)` by `x -> scale (W ((x - m) / r) + b) + shift`.
fn fold_input(
    (weight, bias): &mut (Matrix, Vec<f64>),
    normalizer: &Normalizer,
    scale: f64,
    shift: f64,
) -> Result<(), FormatError> {
    let exact_scale = exact(scale);
    for (i, b) in bias.iter_mut().enumerate() {
        let row = weight.row_mut(i);
        let sum = Sum { row, normalizer, bias: *b, scale, shift };
        *b = sum.nearly().or_else(|| sum.exactly()).ok_or_else(|| {
            FormatError::unsupported(format!(
                "layer 1: bias[{}] with the normalisation folded in is too near the middle of two doubles to round \
                 it; expected at most {MAX_FRACTIONS} distinct means and ranges; leave the normalisation out",
                i + 1
            ))
        })?;
        for (w, &range) in row.iter_mut().zip(&normalizer.ranges) {
            *w = if scale == 1.0 { *w / range } else { (&exact_scale * &exact(*w) / &exact(range)).to_f64() };
        }
    }
    Ok(())
}

fn exact(value: f64) -> Rational {
    Rational::from_f64(value).expect("the numbers of the file are finite")
}

/// `scale (bias - sum_j row[j] m_j / r_j) + shift`, to be rounded to the nearest double.
struct Sum<'a> {
    row: &'a [f64],
    normalizer: &'a Normalizer,
    bias: f64,
    scale: f64,
    shift: f64,
}

impl Sum<'_> {
    /// Decides with an error bound, or not at all.
    ///
    /// With all numbers 0 or between `2^-200` and `2^200`, products and their errors neither overflow
    /// nor underflow. Then every step adds an error below `2^-101` times the sum of absolute values:
    /// `two_sum` and `two_product` are exact, and what is rounded is at most `2^-51` times as large as
    /// that sum.
    fn nearly(&self) -> Option<f64> {
        let tame = |x: f64| x == 0.0 || (2f64.powi(-200)..2f64.powi(200)).contains(&x.abs());
        let (mut high, mut low, mut size) = (self.bias, 0.0, self.bias.abs());
        for ((&w, &mean), &range) in self.row.iter().zip(&self.normalizer.means).zip(&self.normalizer.ranges)
        {
            if !(tame(w) && tame(mean) && tame(range)) {
                return None;
            }
            let quotient = mean / range;
            let remainder = (-quotient).mul_add(range, mean) / range;
            let (term, error) = two_product(-w, quotient);
            let (sum, lost) = two_sum(high, term);
            (high, low) = two_sum(sum, low + (lost + (error - w * remainder)));
            size += term.abs();
        }
        if !(tame(self.bias) && tame(self.scale) && tame(self.shift)) {
            return None;
        }
        let (product, error) = two_product(high, self.scale);
        let (sum, lost) = two_sum(product, self.shift);
        (high, low) = two_sum(sum, lost + (error + low * self.scale));
        size = size * self.scale.abs() + self.shift.abs();
        let error = size * (self.row.len() + 8) as f64 * 2f64.powi(-98);
        let (least, most) = (high + (low - error), high + (low + error));
        // A zero of either sign becomes +0.
        (least == most).then_some(least + 0.0)
    }

    /// The fraction, if it has few enough terms.
    fn exactly(&self) -> Option<f64> {
        let columns = self.normalizer.means.iter().zip(&self.normalizer.ranges).zip(self.row);
        let nonzero = columns.filter(|((mean, _), w)| **mean != 0.0 && **w != 0.0);
        let mut terms: Vec<_> = nonzero.map(|((m, r), &w)| ((m.to_bits(), r.to_bits()), w)).collect();
        terms.sort_unstable_by_key(|term| term.0);
        let mut sum = exact(self.bias);
        for (count, group) in terms.chunk_by(|a, b| a.0 == b.0).enumerate() {
            if count == MAX_FRACTIONS {
                return None;
            }
            let (mean, range) = group[0].0;
            let factor = group.iter().map(|term| exact(term.1)).sum::<Rational>();
            sum -= &(factor * exact(f64::from_bits(mean)) / &exact(f64::from_bits(range)));
        }
        Some((exact(self.scale) * sum + exact(self.shift)).to_f64() + 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers with full mantissas and exponents between -16 and 15.
    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let bits = *state ^ *state >> 29;
        let exponent = 1007 + (bits >> 58 & 31);
        f64::from_bits(bits & 0x800f_ffff_ffff_ffff | exponent << 52)
    }

    fn normalizer(state: &mut u64, inputs: usize, scale: f64, shift: f64) -> Normalizer {
        let mut numbers = || (0..inputs).map(|_| random(state)).collect::<Vec<f64>>();
        Normalizer { means: numbers(), ranges: numbers(), output_mean: shift, output_range: scale }
    }

    /// `scale (W ((x - m) / r) + b) + shift` term by term, each parameter one fraction.
    fn slow(
        (weight, bias): &(Matrix, Vec<f64>),
        n: &Normalizer,
        scale: f64,
        shift: f64,
    ) -> (Matrix, Vec<f64>) {
        let entry = |i, j| exact(scale) * exact(weight[(i, j)]) / &exact(n.ranges[j]);
        let new_bias = |i| {
            let terms = (0..weight.cols()).map(|j| entry(i, j) * exact(n.means[j])).sum::<Rational>();
            (exact(scale) * exact(bias[i]) + exact(shift) - terms).to_f64()
        };
        let new_weight = Matrix::from_fn(weight.rows(), weight.cols(), |i, j| entry(i, j).to_f64());
        (new_weight, (0..bias.len()).map(new_bias).collect())
    }

    #[test]
    fn every_parameter_is_the_exact_one_rounded_once() {
        let state = &mut 7;
        for inputs in [1, 2, 5, 9, 100] {
            let first = (Matrix::from_fn(4, inputs, |_, _| random(state)), vec![random(state); 4]);
            let last = (Matrix::from_fn(2, 4, |_, _| random(state)), vec![random(state); 2]);
            let (scale, shift) = (random(state), random(state));
            let mut n = normalizer(state, inputs, scale, shift);
            n.means[0] = 0.0;

            let mut alone = [first.clone()];
            fold(&mut alone, &n).unwrap();
            assert_eq!(alone[0], slow(&first, &n, scale, shift));

            let mut both = [first.clone(), last.clone()];
            fold(&mut both, &n).unwrap();
            assert_eq!(both[0], slow(&first, &n, 1.0, 0.0));
            let identity = Normalizer { means: vec![0.0; 4], ranges: vec![1.0; 4], ..n };
            assert_eq!(both[1], slow(&last, &identity, scale, shift));
        }
    }

    #[test]
    fn ties_need_fractions_and_are_refused_where_there_are_too_many() {
        // 1 - 3 (1 / 3) + sum_j (j - j) = 0.
        let tie = |pairs: u32| {
            let signed = |pair: u32| [f64::from(pair), -f64::from(pair)];
            let means: Vec<f64> = std::iter::once(1.0).chain((1..=pairs).flat_map(signed)).collect();
            let ranges: Vec<f64> =
                means.iter().enumerate().map(|(j, _)| if j == 0 { 3.0 } else { 1.0 }).collect();
            let row = ranges.clone();
            let n = Normalizer { means, ranges, output_mean: 0.0, output_range: 1.0 };
            let mut layers = [(Matrix::from_entries(1, row.len(), row).unwrap(), vec![1.0])];
            fold(&mut layers, &n).map(|()| layers[0].1[0])
        };
        assert_eq!(tie(0).unwrap(), 0.0);
        assert_eq!(tie(31).unwrap(), 0.0);
        let refused = tie(32).unwrap_err().to_string();
        assert!(
            refused.starts_with("layer 1: bias[1] with the normalisation folded in is too near"),
            "{refused}"
        );
    }

    #[test]
    fn rounding_is_right_at_the_ends_of_the_doubles() {
        // Half of the least double and a little more: up; exactly half: to even, that is to zero.
        let fold_bias = |w: f64, m: f64, r: f64| {
            let n = Normalizer { means: vec![m], ranges: vec![r], output_mean: 0.0, output_range: 1.0 };
            let mut layers = [(Matrix::from_entries(1, 1, vec![w]).unwrap(), vec![0.0])];
            fold(&mut layers, &n).unwrap();
            layers[0].1[0]
        };
        assert_eq!(fold_bias(-5e-324, 1.0, 2.0), 0.0);
        assert_eq!(fold_bias(-5e-324, 1.5, 2.0), 5e-324);
        assert_eq!(fold_bias(-5e-324, 1.0, 1.9), 5e-324);
        assert_eq!(fold_bias(-5e-324, 5.0, 2.0), 1e-323);
        assert_eq!(fold_bias(-2e-308, 1.0, 3.0), 2e-308 / 3.0);
        assert_eq!(fold_bias(1e308, -1e308, 1e308), 1e308);
        assert_eq!(fold_bias(1e308, -1e308, 1.0), f64::INFINITY);
    }
}
