//! Random networks and points for tests, the same for the same seed.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{ExactNetwork, Matrix, Network, Rational};

/// A double in `[-1, 1)`.
fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / 2f64.powi(52) - 1.0
}

/// A fraction in `[-100, 100]` with a denominator of at most 30.
fn fraction(rng: &mut ChaCha8Rng) -> Rational {
    let numerator = i64::from(rng.next_u32() % 201) - 100;
    let denominator = i64::from(rng.next_u32() % 30) + 1;
    &Rational::from(numerator) / &Rational::from(denominator)
}

/// A ReLU network of doubles.
pub(crate) fn random_network(widths: &[usize], seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Network::from_widths(widths, || uniform(&mut rng)).unwrap()
}

/// A ReLU network of fractions.
pub(crate) fn random_exact_network(widths: &[usize], seed: u64) -> ExactNetwork {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Network::from_widths(widths, || fraction(&mut rng)).unwrap()
}

/// `count` points, one per row.
pub(crate) fn random_points(count: usize, width: usize, seed: u64) -> Matrix {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Matrix::from_fn(count, width, |_, _| uniform(&mut rng))
}

/// A point with dyadic coordinates of different exponents and some other fractions.
pub(crate) fn random_exact_point(width: usize, seed: u64) -> Vec<Rational> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut coordinate = |j: usize| match j % 3 {
        2 => fraction(&mut rng),
        _ => {
            &Rational::from_f64(uniform(&mut rng)).unwrap()
                * &Rational::dyadic(1, i64::from(rng.next_u32() % 9) - 4)
        }
    };
    (0..width).map(&mut coordinate).collect()
}
