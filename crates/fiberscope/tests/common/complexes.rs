//! Networks and boxes for polyhedral complexes.

use fiberscope::core::{Activation, Domain, Layer, Matrix, Network};
use rand::RngExt;

use super::rng;

/// The box `[-1, 1]^d`.
pub fn cube(d: usize) -> Domain {
    Domain::from_bounds(&vec![(-1.0, 1.0); d]).unwrap()
}

/// A network of random doubles.
pub fn random(widths: &[usize], seed: u64) -> Network {
    let mut rng = rng(seed);
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| rng.random_range(-1.0..1.0));
        let bias = (0..pair[1]).map(|_| rng.random_range(-0.5..0.5)).collect();
        let last = l + 2 == widths.len();
        Layer::new(weight, bias, if last { Activation::Identity } else { Activation::Relu })
    });
    Network::new(layers.collect()).unwrap()
}

/// A network of small integers: coincident hyperplanes, common points, zero rows and duplicates are usual.
pub fn random_degenerate(widths: &[usize], seed: u64) -> Network {
    let mut rng = rng(seed);
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| f64::from(rng.random_range(-1..=1)));
        let bias = (0..pair[1]).map(|_| f64::from(rng.random_range(-1..=1)) / 2.0).collect();
        let last = l + 2 == widths.len();
        Layer::new(weight, bias, if last { Activation::Identity } else { Activation::Relu })
    });
    Network::new(layers.collect()).unwrap()
}
