//! Random networks, and words about them.

use fiberscope::core::{Activation, Layer, Matrix, Network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Weights from N(0, 2 / inputs of the layer), biases from N(0, 1/4).
#[must_use]
pub fn random(widths: &[usize], seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = |deviation: f64| {
        let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
        deviation * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let deviation = (2.0 / pair[0] as f64).sqrt();
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| normal(deviation));
        let bias = (0..pair[1]).map(|_| normal(0.5)).collect();
        let last = l + 2 == widths.len();
        Layer::new(weight, bias, if last { Activation::Identity } else { Activation::Relu })
    });
    Network::new(layers.collect()).expect("the widths chain")
}

/// The upper one of two in the middle.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// `10-8-3`.
#[must_use]
pub fn name(widths: &[usize]) -> String {
    widths.iter().map(usize::to_string).collect::<Vec<_>>().join("-")
}
