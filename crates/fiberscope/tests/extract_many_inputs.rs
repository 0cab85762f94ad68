//! Extraction with many inputs, where hyperplanes lie far from the centre of the domain, as in trained networks.

use fiberscope::core::{Activation, Layer, Matrix, Network};
use fiberscope::extract::{ExtractOptions, ExtractOutcome, NetworkOracle, compare, extract};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Random rows; those of the first layer are up to `farthest` radii from the centre of inputs between 0 and 1.
fn far_out(widths: &[usize], farthest: f64, seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let last = widths.len() - 2;
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let scale = (6.0 / pair[0] as f64).sqrt();
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| scale * rng.random_range(-1.0..1.0));
        let bias = weight
            .iter_rows()
            .map(|w| match l {
                0 => {
                    let length = w.iter().map(|v| v * v).sum::<f64>().sqrt();
                    0.5 * (length * farthest * rng.random_range(-1.0..1.0) - w.iter().sum::<f64>())
                }
                _ => 0.5 * rng.random_range(-1.0..1.0),
            })
            .collect();
        Layer::new(weight, bias, if l < last { Activation::Relu } else { Activation::Identity })
    });
    Network::new(layers.collect()).expect("widths chain")
}

#[test]
fn hyperplanes_far_from_the_centre_of_many_inputs_are_found() {
    for (widths, farthest, seed) in [(&[200, 6, 5, 1][..], 8.0, 1), (&[150, 12, 2], 10.0, 0)] {
        let network = far_out(widths, farthest, seed);
        let options = ExtractOptions::new().domain(0.0, 1.0).seed(seed);
        let found =
            extract(&mut NetworkOracle::new(network.clone()), &options).expect("an oracle without fault");
        assert_eq!(found.outcome, ExtractOutcome::Verified, "{widths:?}, seed {seed}");
        let found = compare(&network, &found.network.expect("a network")).expect("the widths of the truth");
        assert!(found.max_error < 1e-6, "{widths:?}, seed {seed}: {}", found.max_error);
    }
}
