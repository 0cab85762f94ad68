//! Random networks and points for tests.

use fiberscope_core::{Activation, Layer, Matrix, Network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A ReLU network with parameters in `[-1, 1)`.
pub(crate) fn random_network(widths: &[usize], seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| rng.random_range(-1.0..1.0));
        let bias = (0..pair[1]).map(|_| rng.random_range(-1.0..1.0)).collect();
        let last = l + 2 == widths.len();
        Layer::new(weight, bias, if last { Activation::Identity } else { Activation::Relu })
    });
    Network::new(layers.collect()).unwrap()
}

/// Points with coordinates in `[-2, 2)`.
pub(crate) fn random_points(count: usize, width: usize, seed: u64) -> Matrix {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
    Matrix::from_fn(count, width, |_, _| rng.random_range(-2.0..2.0))
}
