//! How many parameters are identifiable: the fraction, exactly.
//!
//! For widths `(n_0, n_1, n_2, n_3)` with `n_0 >= n_1 >= 2` and any distribution of parameters that is
//! symmetric under sign changes, the fraction of identifiable ones is
//!
//! ```text
//! P = (1 - 2^-n_1)^n_2 - n_1 2^(-(n_1 + 1) n_2):
//! ```
//!
//! each of `n_2` rows of `n_1 + 1` signs is neither all positive nor all negative, less the `n_1` patterns
//! that hide a hyperplane. Bounds [threelayer2026, Section 6]:
//! `1 - n_2 2^-n_1 - n_1 2^(-(n_1 + 1) n_2) <= P <= (1 - 2^-(n_1 + 1))^n_2`.

use std::ops::Range;

use fiberscope_core::Rational;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use thiserror::Error;

use super::identifiable::{SignVerdict, by_signs};
use crate::limit::Deadline;

/// The fraction of identifiable parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// The fraction.
    pub exact: Rational,
    /// The lower bound.
    pub lower: Rational,
    /// The upper bound.
    pub upper: Rational,
}

/// An estimate by random signs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonteCarlo {
    /// The share of identifiable parameters.
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
    /// The number of parameters drawn.
    pub samples: u64,
}

/// Why there is no volume.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VolumeError {
    #[error("expected four widths n_0,n_1,n_2,n_3, found {0}")]
    Count(usize),
    #[error("expected n_0 >= n_1 >= 2 and n_2, n_3 >= 1, found {0:?}")]
    Widths(Vec<usize>),
    #[error("the fraction has a denominator of 2^{0}; at most 2^{limit} is computed", limit = MOST_BITS)]
    TooLong(u128),
}

/// The longest denominator, in bits.
const MOST_BITS: u128 = 1 << 24;

/// The fraction of identifiable parameters among those of the given widths.
///
/// ```
/// let volume = fiberscope::fiber::volume(&[3, 3, 2, 1]).unwrap();
/// assert_eq!(volume.exact.to_string(), "193/256");
/// ```
pub fn volume(widths: &[usize]) -> Result<Volume, VolumeError> {
    let (n1, n2) = check(widths)?;
    let bits = (n1 as u128 + 1) * n2 as u128;
    if bits > MOST_BITS {
        return Err(VolumeError::TooLong(bits));
    }
    let half = |exponent: usize| Rational::dyadic(1, -(exponent as i64));
    let less = |exponent: usize| &Rational::ONE - &half(exponent);
    let hiding = &Rational::from(n1 as i64) * &half((n1 + 1) * n2);
    let dead = &Rational::from(n2 as i64) * &half(n1);
    Ok(Volume {
        exact: &power(&less(n1), n2) - &hiding,
        lower: &(&Rational::ONE - &dead) - &hiding,
        upper: power(&less(n1 + 1), n2),
    })
}

/// Draws the signs of `[W_2 | b_2]` at random and looks at each whether they make the parameter identifiable;
/// fewer than asked for if the time is up.
///
/// ```
/// use fiberscope::Deadline;
/// use fiberscope::fiber::{monte_carlo, volume};
///
/// let found = monte_carlo(&[3, 3, 2, 1], 10_000, 0, &Deadline::NEVER).unwrap();
/// let exact = volume(&[3, 3, 2, 1]).unwrap().exact.to_f64();
/// assert!((found.estimate - exact).abs() < 5.0 * found.error);
/// ```
pub fn monte_carlo(
    widths: &[usize],
    samples: u64,
    seed: u64,
    deadline: &Deadline,
) -> Result<MonteCarlo, VolumeError> {
    let (hits, samples) = draw_signs(widths, samples, seed, 0..samples.div_ceil(SIGN_BLOCK), deadline)?;
    Ok(MonteCarlo::of(hits, samples))
}

/// How many draws are made from one stream of random numbers.
pub(crate) const SIGN_BLOCK: u64 = 1024;

/// Some blocks of the draws of [`monte_carlo`]: how many are identifiable, and how many there are.
pub(crate) fn draw_signs(
    widths: &[usize],
    samples: u64,
    seed: u64,
    blocks: Range<u64>,
    deadline: &Deadline,
) -> Result<(u64, u64), VolumeError> {
    let (n1, n2) = check(widths)?;
    let block = |number: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number + 1);
        let mut signs = vec![false; (n1 + 1) * n2];
        let count = SIGN_BLOCK.min(samples.saturating_sub(number.saturating_mul(SIGN_BLOCK)));
        let hits = (0..count).filter(|_| is_identifiable(&mut signs, n1 + 1, &mut rng)).count() as u64;
        (hits, count)
    };
    let add = |(hits, count): (u64, u64), (more, further): (u64, u64)| (hits + more, count + further);
    let blocks = blocks.into_par_iter().take_any_while(|_| !deadline.is_past());
    Ok(blocks.map(block).reduce(|| (0, 0), add))
}

impl MonteCarlo {
    /// The estimate from hits among draws.
    pub(crate) fn of(hits: u64, samples: u64) -> Self {
        let estimate = hits as f64 / samples.max(1) as f64;
        let error = (estimate * (1.0 - estimate) / samples.max(1) as f64).sqrt();
        MonteCarlo { estimate, error, samples }
    }
}

fn is_identifiable(signs: &mut [bool], row: usize, rng: &mut impl Rng) -> bool {
    for chunk in signs.chunks_mut(64) {
        let bits = rng.next_u64();
        chunk.iter_mut().enumerate().for_each(|(k, sign)| *sign = bits >> k & 1 == 1);
    }
    by_signs(signs.chunks(row)) == SignVerdict::Identifiable
}

/// Whether these are widths for which there is a formula.
pub fn check_widths(widths: &[usize]) -> Result<(), VolumeError> {
    check(widths).map(drop)
}

fn check(widths: &[usize]) -> Result<(usize, usize), VolumeError> {
    let &[n0, n1, n2, n3] = widths else { return Err(VolumeError::Count(widths.len())) };
    if n0 < n1 || n1 < 2 || n2 < 1 || n3 < 1 {
        return Err(VolumeError::Widths(widths.to_vec()));
    }
    Ok((n1, n2))
}

fn power(base: &Rational, mut exponent: usize) -> Rational {
    let (mut square, mut result) = (base.clone(), Rational::ONE);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= &square;
        }
        exponent >>= 1;
        if exponent > 0 {
            square = &square * &square;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_paper() {
        let check = |n1: usize, n2: usize, expected: &str| {
            let volume = volume(&[n1, n1, n2, 1]).unwrap();
            assert_eq!(volume.exact, expected.parse().unwrap());
            assert!(volume.lower <= volume.exact && volume.exact <= volume.upper);
        };
        check(2, 1, "1/2");
        check(2, 2, "17/32");
        check(3, 2, "193/256");
        let four = volume(&[2, 2, 4, 1]).unwrap().exact;
        assert_eq!(four.to_f64(), 0.31591796875);
    }

    /// All sign patterns, one by one.
    #[test]
    fn the_formula_counts_the_patterns() {
        for (n1, n2) in [(2, 1), (2, 2), (3, 2), (2, 3), (4, 2), (3, 3)] {
            let bits = (n1 + 1) * n2;
            let identifiable = (0u32..1 << bits).filter(|pattern| {
                let signs: Vec<bool> = (0..bits).map(|k| pattern >> k & 1 == 1).collect();
                by_signs(signs.chunks(n1 + 1)) == SignVerdict::Identifiable
            });
            let expected = Rational::dyadic(identifiable.count() as i128, -(bits as i64));
            assert_eq!(volume(&[n1, n1, n2, 1]).unwrap().exact, expected, "{n1} {n2}");
        }
    }

    #[test]
    fn large_widths_do_not_overflow() {
        let large = volume(&[500, 500, 500, 10]).unwrap();
        assert!(large.lower <= large.exact && large.exact < Rational::ONE && large.exact <= large.upper);
        assert!(
            volume(&[2, 3, 1, 1]).is_err() && volume(&[2, 2, 1]).is_err() && volume(&[3, 1, 1, 1]).is_err()
        );
        assert!(volume(&[1 << 40, 1 << 40, 1 << 40, 1]).is_err());
    }

    #[test]
    fn random_signs_agree() {
        let estimate = monte_carlo(&[3, 3, 2, 1], 20_000, 1, &Deadline::NEVER).unwrap();
        assert!((estimate.estimate - 193.0 / 256.0).abs() < 5.0 * estimate.error);
        assert_eq!(estimate, monte_carlo(&[3, 3, 2, 1], 20_000, 1, &Deadline::NEVER).unwrap());
    }
}
