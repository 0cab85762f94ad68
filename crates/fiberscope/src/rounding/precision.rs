//! The precision of parameters, read off the numbers themselves.
//!
//! A file may store the numbers of single precision as doubles, or those of half precision as single ones;
//! the numbers, and so the answers, are the same. A network counts as rounded to a format if three quarters of its
//! parameters that are not 0 or 1 (which pass values on) fit into the significand of the format, and at least half of
//! them, and a quarter of those that are not 0, need more than half of it. The others are what exact rewriting makes of
//! such numbers: the bias `b - 6` of a clipped neuron, the ninth of an average. Small numbers made by hand (`3`, `-1/4`) need a few bits only: they say nothing about
//! rounding, and count as doubles.

use fiberscope_core::Network;

/// Significands of bfloat16, half, single and double precision, with the leading bit.
const SIGNIFICANDS: [u32; 4] = [8, 11, 24, 53];

/// Fewer bits of a significand are no sign of rounding.
const FEW: u32 = 6;

/// The distance from 1 to the next number of the coarser of the formats to which the networks' parameters are
/// rounded.
///
/// ```
/// use fiberscope::Network;
/// use fiberscope::equivalence::coarser_precision;
///
/// let exact = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.5]), (&[&[1.0, 3.0]], &[0.0])]).unwrap();
/// let tenth = f64::from(0.1f32);
/// let single = Network::from_rows(&[(&[&[tenth], &[-tenth]], &[0.0, 0.5]), (&[&[1.0, tenth]], &[0.0])]).unwrap();
/// assert_eq!(coarser_precision(&exact, &exact), f64::EPSILON);
/// assert_eq!(coarser_precision(&exact, &single), f64::from(f32::EPSILON));
/// ```
pub fn coarser_precision(a: &Network, b: &Network) -> f64 {
    let bits = significand(a).min(significand(b));
    2f64.powi(1 - bits as i32)
}

/// The significand of the format to which the parameters are rounded.
fn significand(network: &Network) -> u32 {
    let mut needed = [0usize; 54];
    let mut ones = 0;
    for layer in network.layers() {
        for &x in layer.weights().stored().iter().chain(layer.bias()).filter(|x| **x != 0.0) {
            match x.abs() == 1.0 {
                true => ones += 1,
                false => needed[bits(x) as usize] += 1,
            }
        }
    }
    let all: usize = needed.iter().sum();
    let fitting = |format: u32| needed[..=format as usize].iter().sum::<usize>();
    let format = SIGNIFICANDS.into_iter().find(|&format| 4 * fitting(format) >= 3 * all).unwrap_or(53);
    let short = fitting((format / 2).max(FEW - 1));
    let long = fitting(format) - short;
    if long > 0 && long >= short && 4 * long >= short + long + ones { format } else { 53 }
}

/// The bits of the significand that a double needs.
fn bits(x: f64) -> u32 {
    let fraction = x.to_bits() & ((1 << 52) - 1);
    // Numbers below the normal ones have no leading bit; it makes no difference here.
    53 - fraction.trailing_zeros().min(52)
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Activation, Layer, Matrix};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn network(number: impl FnMut(usize, usize) -> f64) -> Network {
        let layer = Layer::new(Matrix::from_fn(4, 5, number), vec![0.0; 4], Activation::Identity);
        Network::new(vec![layer]).unwrap()
    }

    /// A number cut to so many bits.
    fn cut(x: f64, bits: i32) -> f64 {
        let unit = 2f64.powi(x.abs().log2().floor() as i32 + 1 - bits);
        (x / unit).trunc() * unit
    }

    #[test]
    fn random_numbers_show_to_how_many_bits_they_were_rounded() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for bits in [8, 11, 24, 53] {
            for _ in 0..50 {
                let rounded = network(|_, _| cut(rng.random_range(-1.0..1.0), bits));
                assert_eq!(significand(&rounded), bits as u32);
            }
        }
    }

    #[test]
    fn numbers_made_by_hand_are_doubles() {
        assert_eq!(significand(&network(|i, j| (i * 5 + j) as f64 - 8.0)), 53);
        assert_eq!(significand(&network(|i, j| (i + j) as f64 / 8.0)), 53);
        assert_eq!(significand(&network(|_, _| 0.0)), 53);
        // One that was nudged, among others that were not.
        let nudged = |i: usize, j: usize| if i + j == 0 { 5.0 + 2f64.powi(-20) } else { 1.0 };
        assert_eq!(significand(&network(nudged)), 53);
    }
}
