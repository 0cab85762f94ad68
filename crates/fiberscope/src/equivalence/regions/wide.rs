//! Sums of products of 128-bit integers, in 256 bits and without allocation.

use dashu_int::{IBig, Sign};

/// Longest sum that [`Wide`] holds, in bits.
pub const WIDE_BITS: usize = 254;

/// A signed integer of 256 bits in two's complement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wide {
    high: i128,
    low: u128,
}

impl Wide {
    /// Adds `a * b`. The sum must fit, see [`WIDE_BITS`].
    pub fn add_product(&mut self, a: i128, b: i128) {
        let (high, low) = magnitude_product(a.unsigned_abs(), b.unsigned_abs());
        let (high, low) = if (a < 0) == (b < 0) { (high, low) } else { negated(high, low) };
        let (sum, carry) = self.low.overflowing_add(low);
        self.low = sum;
        self.high = self.high.wrapping_add(high as i128).wrapping_add(i128::from(carry));
    }

    /// The same number.
    pub fn to_integer(self) -> IBig {
        let negative = self.high < 0;
        let (high, low) =
            if negative { negated(self.high as u128, self.low) } else { (self.high as u128, self.low) };
        let words = [low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64];
        IBig::from_sign_words(if negative { Sign::Negative } else { Sign::Positive }, &words)
    }
}

/// High and low half of a product.
fn magnitude_product(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & HALF, b >> 64, b & HALF);
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let other = a0 * b1 + (middle & HALF);
    (a1 * b1 + (middle >> 64) + (other >> 64), (other << 64) | (low & HALF))
}

/// Two's complement.
fn negated(high: u128, low: u128) -> (u128, u128) {
    let (low, carry) = (!low).overflowing_add(1);
    ((!high).wrapping_add(u128::from(carry)), low)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn sums_agree_with_big_integers() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let edges = [0, 1, -1, i128::MAX, -i128::MAX, 1 << 64, (1 << 64) - 1, -(1 << 64), u64::MAX as i128];
        for round in 0..2000 {
            let mut number = || {
                let random = (rng.random::<u128>() >> rng.random_range(1..128)) as i128;
                match rng.random_range(0..4) {
                    0 => edges[rng.random_range(0..edges.len())],
                    1 => -random,
                    _ => random,
                }
            };
            let (mut wide, mut exact) = (Wide::default(), IBig::ZERO);
            for _ in 0..1 + round % 2 {
                let (a, b) = (number(), number());
                wide.add_product(a, b);
                exact += IBig::from(a) * IBig::from(b);
            }
            assert_eq!(wide.to_integer(), exact);
        }
    }
}
