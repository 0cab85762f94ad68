//! Masked products and their ranks, held against their definition.
use fiberscope::complex::MaskedRanks;
use fiberscope::limit::Deadline;
use fiberscope::{Activation, Layer, Matrix, Network};
use fiberscope_algebra::elimination::rank;
use fiberscope_core::{Rational, Scalar};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Every mask by itself, over the rationals.
fn by_definition(network: &Network) -> MaskedRanks {
    let weights: Vec<Matrix<Rational>> =
        network.layers().iter().map(|layer| layer.weight().map(Scalar::to_rational)).collect();
    let hidden = weights.len() - 1;
    let bits: usize = weights[..hidden].iter().map(Matrix::rows).sum();
    let mut deficient = 0;
    for set in 0..1usize << bits {
        let mut at = 0;
        let masked: Vec<(Matrix<Rational>, usize)> = weights
            .iter()
            .enumerate()
            .map(|(l, weight)| {
                let on: Vec<bool> =
                    (0..weight.rows()).map(|i| l == hidden || set >> (at + i) & 1 == 1).collect();
                at += weight.rows();
                let kept = Matrix::from_fn(weight.rows(), weight.cols(), |i, j| {
                    if on[i] { weight[(i, j)].clone() } else { Rational::ZERO }
                });
                (kept, on.iter().filter(|on| **on).count())
            })
            .collect();
        let is_deficient = (0..=hidden).any(|first| {
            let mut product = masked[first].0.clone();
            let mut most = product.cols().min(masked[first].1);
            (first..=hidden).any(|k| {
                if k > first {
                    product = Rational::product(&masked[k].0, &product).unwrap();
                    most = most.min(masked[k].1);
                }
                rank(&product) < most
            })
        });
        deficient += usize::from(is_deficient);
    }
    MaskedRanks { checked: 1 << bits, is_complete: true, deficient }
}

fn random(widths: &[usize], size: i32, rng: &mut ChaCha8Rng) -> Network {
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| f64::from(rng.random_range(-size..=size)));
        let activation = if l + 2 == widths.len() { Activation::Identity } else { Activation::Relu };
        Layer::new(weight, vec![0.5; pair[1]], activation)
    });
    Network::new(layers.collect()).unwrap()
}

#[test]
fn all_masks_are_those_of_the_definition() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut found = [0, 0];
    for widths in [&[2, 2, 2, 1][..], &[2, 3, 1], &[3, 3, 2, 2], &[1, 2, 2, 2, 1], &[3, 2, 2, 2, 1]] {
        // Small integers make many products deficient, large ones few.
        for size in [1, 2, 3, 9, 1000, 1_000_000] {
            for _ in 0..4 {
                let network = random(widths, size, &mut rng);
                let ranks = MaskedRanks::new(&network, 0, &Deadline::NEVER).unwrap();
                let expected = by_definition(&network);
                // With one hidden layer the rows of W_1 tell it of all masks at once.
                match ranks.checked {
                    1 => assert_eq!(ranks.deficient == 0, expected.deficient == 0, "{network:?}"),
                    _ => assert_eq!(ranks, expected, "{network:?}"),
                }
                found[usize::from(ranks.deficient > 0)] += 1;
            }
        }
    }
    assert!(found[0] > 20 && found[1] > 20, "{found:?}");
}

#[test]
fn many_masks_are_all_looked_at_and_too_many_are_not() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let large = random(&[4, 4, 4, 4, 4, 1], 1_000_000, &mut rng);
    let ranks = MaskedRanks::new(&large, 0, &Deadline::NEVER).unwrap();
    assert_eq!(ranks, MaskedRanks { checked: 1 << 16, is_complete: true, deficient: 0 });
    let larger = random(&[20, 20, 10, 1], 1_000_000, &mut rng);
    let ranks = MaskedRanks::new(&larger, 0, &Deadline::NEVER).unwrap();
    assert!(!ranks.is_complete && ranks.checked == 128 && ranks.deficient == 0, "{ranks:?}");
    // Equal rows: half of the masks are enough to tell.
    let twice = large.map(|w: &f64| w.signum()).unwrap();
    let ranks = MaskedRanks::new(&twice, 0, &Deadline::NEVER).unwrap();
    assert!(ranks.deficient >= 512 && ranks.checked <= 1 << 16, "{ranks:?}");
    assert!(MaskedRanks::new(&larger, 0, &Deadline::after(Some(std::time::Duration::ZERO))).is_err());
}
