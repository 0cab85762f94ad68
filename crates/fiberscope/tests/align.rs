//! Alignment: exact inside an orbit, never farther away, proved by the checker.

use crate::common;

use common::{permute, random_network, rng, scale};
use fiberscope::align::{AlignError, AlignOptions, Alignment, Scaling, align, interpolation_barrier};
use fiberscope::check::{Outcome, check};
use fiberscope::{Certificate, Claim, Domain, Evidence, Layer, Matrix, MoveChain, Network};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

fn network(rng: &mut ChaCha8Rng, widths: &[usize]) -> Network {
    random_network(rng, widths).to_f64().unwrap().0
}

/// Permutes and scales every hidden layer at random.
fn shaken(rng: &mut ChaCha8Rng, network: &Network) -> Network {
    let mut exact = network.to_exact();
    for layer in 0..network.hidden_depth() {
        exact = permute(rng, &exact, layer);
        exact = scale(rng, &exact, layer);
    }
    exact.to_f64().unwrap().0
}

fn noisy(rng: &mut ChaCha8Rng, network: &Network, size: f64) -> Network {
    network.map(|&w| w + rng.random_range(-size..size)).unwrap()
}

fn check_certificate(b: &Network, alignment: &Alignment) {
    let certificate = Certificate::new(
        b,
        &alignment.network,
        Domain::Space,
        Evidence::Moves { a: alignment.moves.clone(), b: MoveChain::default() },
    );
    assert_eq!(check(&certificate, b, &alignment.network), Outcome::Proved(Claim::Equivalent));
}

#[test]
fn networks_of_one_orbit_become_equal() {
    for seed in 0..20 {
        let rng = &mut rng(seed);
        let a = network(rng, &[3, 8, 7, 6, 2]);
        let b = shaken(rng, &a);
        let alignment = align(&a, &b, &AlignOptions::default()).unwrap();
        assert_eq!(alignment.network, a);
        assert_eq!(alignment.distance_after, 0.0);
        assert!(alignment.exact && alignment.distance_before > 0.0);
        check_certificate(&b, &alignment);
    }
}

#[test]
fn noise_is_all_that_is_left() {
    for seed in 0..10 {
        let rng = &mut rng(seed);
        let a = network(rng, &[6, 20, 16, 4]);
        let near = noisy(rng, &a, 0.01);
        let noise = align(&a, &near, &AlignOptions::new().starts(0)).unwrap().distance_before;
        let b = shaken(rng, &near);
        let alignment = align(&a, &b, &AlignOptions::default()).unwrap();
        check_certificate(&b, &alignment);
        assert!(alignment.distance_after <= noise * 1.000001, "{} > {noise}", alignment.distance_after);
    }
}

#[test]
fn the_distance_never_grows() {
    for seed in 0..10 {
        let rng = &mut rng(seed);
        let (a, b) = (network(rng, &[4, 9, 5, 2]), network(rng, &[4, 9, 5, 2]));
        let mut distances = Vec::new();
        for scaling in [Scaling::None, Scaling::PowersOfTwo, Scaling::Doubles] {
            let options = AlignOptions::new().scaling(scaling).seed(seed);
            let alignment = align(&a, &b, &options).unwrap();
            assert!(alignment.distance_after < alignment.distance_before, "{scaling:?}");
            assert!(alignment.exact || scaling == Scaling::Doubles);
            if alignment.exact {
                check_certificate(&b, &alignment);
            }
            let again = align(&a, &b, &options).unwrap();
            assert_eq!((again.network, again.moves), (alignment.network, alignment.moves));
            distances.push(alignment.distance_after);
        }
        assert!(distances[2] <= distances[0] * 1.05, "{distances:?}");
    }
}

#[test]
fn one_layer_is_aligned_by_the_best_permutation() {
    // Four hidden neurons: all 24 permutations are tried.
    for seed in 0..20 {
        let rng = &mut rng(seed);
        let (a, b) = (network(rng, &[2, 4, 2]), network(rng, &[2, 4, 2]));
        let options = AlignOptions::new().scaling(Scaling::None);
        let found = align(&a, &b, &options).unwrap().distance_after;
        let mut best = f64::INFINITY;
        for code in 0..256usize {
            let order: Vec<usize> = (0..4).map(|i| code >> (2 * i) & 3).collect();
            if (0..4).all(|i| order.contains(&i)) {
                let [hidden, output] = [0, 1].map(|l| &b.layers()[l]);
                let bias = order.iter().map(|&i| hidden.bias()[i]).collect();
                let hidden = Layer::new(hidden.weight().select_rows(&order), bias, hidden.activation());
                let columns = output.weight().select_columns(&order);
                let output = Layer::new(columns, output.bias().to_vec(), output.activation());
                let permuted = Network::new(vec![hidden, output]).unwrap();
                let none = options.clone().starts(0);
                best = best.min(align(&a, &permuted, &none).unwrap().distance_before);
            }
        }
        assert!((found - best).abs() <= 1e-9 * best, "{found} {best}");
    }
}

#[test]
fn alignment_lowers_the_barrier() {
    let rng = &mut rng(7);
    let a = network(rng, &[3, 12, 10, 2]);
    let near = noisy(rng, &a, 0.01);
    let b = shaken(rng, &near);
    let points = Matrix::from_fn(50, 3, |_, _| rng.random_range(-2.0..2.0));
    let aligned = align(&a, &b, &AlignOptions::default()).unwrap().network;
    let before = interpolation_barrier(&a, &b, &points, None, 10).unwrap();
    let after = interpolation_barrier(&a, &aligned, &points, None, 10).unwrap();
    assert_eq!(before.losses.len(), 11);
    assert!(before.height > 100.0 * after.height, "{} {}", before.height, after.height);
    let itself = interpolation_barrier(&a, &a, &points, None, 4).unwrap();
    assert!(itself.height <= 1e-20 && itself.losses[0] == 0.0);
    let targets = a.evaluate_batch(&points).unwrap();
    let given = interpolation_barrier(&a, &b, &points, Some(&targets), 4).unwrap();
    assert_eq!(given.losses[0], 0.0);
}

/// Neurons that do the same on data are matched whatever their weights, and the function is kept.
#[test]
fn activations_match_neurons_by_what_they_do() {
    for seed in 0..10 {
        let rng = &mut rng(100 + seed);
        let a = network(rng, &[4, 10, 8, 2]);
        let near = noisy(rng, &a, 0.02);
        let b = shaken(rng, &near);
        let points = Matrix::from_fn(300, 4, |_, _| rng.random_range(-2.0..2.0));
        let options = AlignOptions::new().activations(points.clone());
        let found = align(&a, &b, &options).unwrap();
        check_certificate(&b, &found);
        let before = interpolation_barrier(&a, &b, &points, None, 10).unwrap();
        let after = interpolation_barrier(&a, &found.network, &points, None, 10).unwrap();
        assert!(10.0 * after.height < before.height, "seed {seed}: {} {}", before.height, after.height);
        let none = align(&a, &b, &options.clone().scaling(Scaling::None)).unwrap();
        assert!(none.moves.moves().iter().all(|each| matches!(each, fiberscope::Move::Permute { .. })));
    }
    let rng = &mut rng(1);
    let (a, b) = (network(rng, &[3, 4, 2]), network(rng, &[3, 4, 2]));
    let wrong = AlignOptions::new().activations(Matrix::from_fn(2, 5, |_, _| 0.0));
    assert!(matches!(align(&a, &b, &wrong).unwrap_err(), AlignError::Points(_)));
    // Constant values correlate with nothing; there is still an answer.
    let same = AlignOptions::new().activations(Matrix::from_fn(3, 3, |_, _| 1.0));
    check_certificate(&b, &align(&a, &b, &same).unwrap());
}

#[test]
fn shapes_must_agree() {
    let rng = &mut rng(1);
    let (a, b) = (network(rng, &[3, 4, 2]), network(rng, &[3, 5, 2]));
    let error = align(&a, &b, &AlignOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "expected networks of the same widths, found [3, 4, 2] and [3, 5, 2]");
    let points = Matrix::from_fn(5, 3, |_, _| 0.0);
    let targets = Matrix::from_fn(5, 1, |_, _| 0.0);
    let error = interpolation_barrier(&a, &a, &points, Some(&targets), 4).unwrap_err();
    assert_eq!(error, AlignError::Targets { expected: [5, 2], found: [5, 1] });
    let narrow = Matrix::from_fn(5, 2, |_, _| 0.0);
    assert!(interpolation_barrier(&a, &a, &narrow, None, 4).is_err());
}
