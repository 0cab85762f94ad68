//! Fingerprints: moves never change them inside the covered class, changes of the function do.

use crate::common;

use common::{
    add_linear, apply, check_same, edit, hiding, insert, permute, r, random, random_network, rng, scale,
    split,
};
use fiberscope::canonical::{
    Canonical, CoveredClass, FingerprintVersion, Representative, canonicalize, canonicalize_exact,
};
use fiberscope::core::{LinearChange, PlacedNeuron};
use fiberscope::{Activation, Deadline, Domain, ExactNetwork, Layer, Matrix, Move, Network, Rational};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

fn canonical(seed: u64, network: &ExactNetwork, domain: &Domain) -> Canonical {
    let canonical = canonicalize_exact(network, domain, &Deadline::NEVER).unwrap();
    check_same(&mut rng(seed), network, &canonical.moves, &canonical.network.to_exact(), domain);
    let again = canonicalize_exact(&canonical.network.to_exact(), domain, &Deadline::NEVER).unwrap();
    assert_eq!(again.fingerprint, canonical.fingerprint);
    assert_eq!(again.network, canonical.network);
    canonical
}

/// Rewrites a network at random by moves that are valid on all of `R^n`.
fn shake(rng: &mut ChaCha8Rng, network: &ExactNetwork, steps: usize) -> ExactNetwork {
    let mut network = network.clone();
    for _ in 0..steps {
        let layer = rng.random_range(0..network.hidden_depth());
        network = match rng.random_range(0..6) {
            0 => insert(rng, &network, layer),
            1 => split(rng, &network, layer),
            2 => permute(rng, &network, layer),
            3 => scale(rng, &network, layer),
            4 if layer > 0 => add_linear(rng, &network, layer),
            _ if layer > 0 => reorient(rng, &network, layer),
            _ => network,
        };
    }
    network
}

/// Turns a neuron around; new linear neurons `w+` and `w-` take up its affine term.
fn reorient(rng: &mut ChaCha8Rng, network: &ExactNetwork, layer: usize) -> ExactNetwork {
    let (rows, columns) = (&network.layers()[layer], network.layers()[layer + 1].weight());
    let unit = rng.random_range(0..rows.width());
    let part = |sign: i64, place: usize| PlacedNeuron {
        unit: rows.width() + place,
        weight: rows
            .weight()
            .row(unit)
            .iter()
            .map(|w| (w * &Rational::from(sign)).max(Rational::ZERO))
            .collect(),
        bias: r("1/2"),
        out: columns.column(unit).map(|v| v * &Rational::from(sign)).collect(),
    };
    let linear = LinearChange { remove: vec![], insert: vec![part(1, 0), part(-1, 1)] };
    apply(network, &Domain::Space, Move::Reorient { layer, units: vec![unit], linear })
}

fn check_invariant(seed: u64, network: &ExactNetwork, other: &ExactNetwork, class: CoveredClass) {
    let (first, second) = (canonical(seed, network, &Domain::Space), canonical(seed, other, &Domain::Space));
    assert_eq!(first.class, class, "seed {seed}");
    assert_eq!(second.class, class, "seed {seed}");
    assert_eq!(first.fingerprint, second.fingerprint, "seed {seed}");
}

#[test]
fn one_hidden_layer() {
    for seed in 0..60 {
        let rng = &mut rng(seed);
        let network = random_network(rng, &[3, 4, 2]);
        let other = shake(rng, &network, 6);
        check_invariant(seed, &network, &other, CoveredClass::OneHiddenLayer);
    }
}

#[test]
fn bottleneck_networks_that_hide_nothing() {
    let mut covered = 0;
    for seed in 0..100 {
        let rng = &mut rng(seed);
        let widths: &[usize] = [&[4, 3, 4, 2][..], &[3, 3, 2, 1], &[5, 2, 5, 3]][seed as usize % 3];
        let network = random_network(rng, widths);
        let first = canonical(seed, &network, &Domain::Space);
        if first.class != CoveredClass::Bottleneck {
            continue;
        }
        covered += 1;
        let other = shake(rng, &network, 8);
        check_invariant(seed, &network, &other, CoveredClass::Bottleneck);
    }
    assert!(covered > 60, "{covered}");
}

#[test]
fn hidden_hyperplanes_translate() {
    for seed in 0..60 {
        let rng = &mut rng(seed);
        let network = hiding(rng, &[4, 3, 3, 2], seed as usize % 3);
        let unit = seed as usize % 3;
        let next = &network.layers()[1];
        let t_min = (0..3).map(|j| &next.bias()[j] / &next.weight()[(j, unit)]).max().unwrap();
        for amount in [t_min.clone(), &t_min * &r("1/3"), random(rng).abs()] {
            let moved = apply(&network, &Domain::Space, Move::Translate { layer: 0, unit, amount });
            let moved = permute(rng, &moved, 0);
            let moved = scale(rng, &moved, 1);
            let moved = insert(rng, &moved, 1);
            check_invariant(seed, &network, &moved, CoveredClass::Bottleneck);
        }
        // A little beyond t_min the function changes.
        let beyond = &t_min - &r("1/1000000");
        let too_far = edit(&network, |l, i, j, x| match (l, i) {
            (0, i) if i == unit && j == 4 => &x + &beyond,
            (1, i) if j == 3 => &x - &(&beyond * &next.weight()[(i, unit)]),
            _ => x,
        });
        let [a, b] = [&network, &too_far]
            .map(|net| canonicalize_exact(net, &Domain::Space, &Deadline::NEVER).unwrap().fingerprint);
        assert_ne!(a, b, "seed {seed}");
    }
}

#[test]
fn hidden_hyperplanes_flip() {
    for seed in 0..60 {
        let rng = &mut rng(seed);
        let unit = seed as usize % 4;
        let network = hiding(rng, &[5, 4, 1, 2], unit);
        let flips = (0..4).filter(|&i| i != unit && rng.random()).collect();
        let flipped = apply(&network, &Domain::Space, Move::Flip { layer: 0, unit, flips });
        let moved =
            apply(&flipped, &Domain::Space, Move::Translate { layer: 0, unit, amount: random(rng).abs() });
        let moved = permute(rng, &moved, 0);
        let moved = scale(rng, &moved, 0);
        check_invariant(seed, &network, &moved, CoveredClass::Bottleneck);
    }
}

#[test]
fn deep_networks_up_to_permutation_scaling_and_reduction() {
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let network = random_network(rng, &[3, 5, 4, 4, 2]);
        let mut other = network.clone();
        for layer in 0..3 {
            other = permute(rng, &other, layer);
            other = scale(rng, &other, layer);
            other = split(rng, &other, layer);
            other = insert(rng, &other, layer);
        }
        let [a, b] = [&network, &other].map(|net| canonical(seed, net, &Domain::Space));
        assert_eq!(a.fingerprint, b.fingerprint, "seed {seed}");
    }
}

#[test]
fn one_neuron_in_front_is_a_function_of_one_variable() {
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let network = edit(&random_network(rng, &[3, 1, 4, 2]), |l, i, j, x| match (l, j) {
            // Neurons that bend behind the first one.
            (1, 0) => x.abs(),
            (1, _) => Rational::dyadic(-(i as i128) - 1, 0),
            _ => x,
        });
        // The same function with one hidden layer: relu(c relu(z) - b) = relu(c z - b).
        let (first, second, last) = (&network.layers()[0], &network.layers()[1], &network.layers()[2]);
        let flat = |i: usize, j: usize| &second.weight()[(i, 0)] * &first.weight()[(0, j)];
        let bias =
            (0..4).map(|i| &(&second.weight()[(i, 0)] * &first.bias()[0]) + &second.bias()[i]).collect();
        let hidden = Layer::new(Matrix::from_fn(4, 3, flat), bias, Activation::Relu);
        let flat = Network::new(vec![hidden, last.clone()]).unwrap();
        check_invariant(seed, &network, &flat, CoveredClass::OneHiddenLayer);
    }
}

#[test]
fn affine_functions_in_disguise() {
    let rng = &mut rng(1);
    let affine = random_network(rng, &[3, 2]);
    let layer = &affine.layers()[0];
    // x as relu(x) - relu(-x), coordinate by coordinate.
    let rows = Matrix::from_fn(6, 3, |i, j| {
        if i % 3 != j {
            Rational::ZERO
        } else if i < 3 {
            Rational::ONE
        } else {
            Rational::from(-1)
        }
    });
    let columns = Matrix::from_fn(2, 6, |o, i| {
        let v = layer.weight()[(o, i % 3)].clone();
        if i < 3 { v } else { -v }
    });
    let hidden = Layer::new(rows, vec![Rational::ZERO; 6], Activation::Relu);
    let output = Layer::new(columns, layer.bias().to_vec(), Activation::Identity);
    let disguised = Network::new(vec![hidden, output]).unwrap();
    check_invariant(1, &affine, &disguised, CoveredClass::Affine);
}

#[test]
fn every_number_counts() {
    for seed in 0..20 {
        let rng = &mut rng(seed);
        let network = edit(&random_network(rng, &[4, 3, 3, 2]), |l, i, j, x| {
            // Mixed signs: no neuron is dead or linear, so that every parameter matters.
            if l == 1 && j == 0 {
                x.abs()
            } else if l == 1 && j == 1 + i % 2 {
                -x.abs()
            } else {
                x
            }
        });
        let fingerprint = canonical(seed, &network, &Domain::Space).fingerprint;
        for (l, layer) in network.layers().iter().enumerate() {
            let (row, column) =
                (rng.random_range(0..layer.width()), rng.random_range(0..=layer.input_width()));
            let changed = edit(&network, |m, i, j, x| {
                if (m, i, j) == (l, row, column) { &x + &Rational::dyadic(1, -50) } else { x }
            });
            assert_ne!(
                canonicalize_exact(&changed, &Domain::Space, &Deadline::NEVER).unwrap().fingerprint,
                fingerprint,
                "layer {l}"
            );
        }
    }
}

#[test]
fn the_domain_counts() {
    let network = random_network(&mut rng(0), &[2, 3, 1]);
    let on_box = Domain::from_bounds(&[(-1.0, 1.0); 2]).unwrap();
    let [a, b] = [&Domain::Space, &on_box].map(|domain| canonical(0, &network, domain).fingerprint);
    assert_ne!(a, b);
    assert!(canonicalize_exact(&network, &Domain::orthant(5), &Deadline::NEVER).is_err());
}

/// Networks of doubles get in doubles what they get in rational numbers, or no answer there.
#[test]
fn doubles_give_what_rational_numbers_give() {
    let mut in_doubles = 0;
    for seed in 0..400 {
        let rng = &mut rng(seed);
        let widths: &[usize] =
            [&[4, 6, 3][..], &[3, 5, 4, 2], &[5, 4, 4, 3, 1], &[2, 1, 3, 1], &[1, 4, 2], &[3, 2]]
                [seed as usize % 6];
        // Few different numbers make zeros, multiples, common divisors and neurons that can go.
        let kind = seed / 6 % 4;
        let network = Network::from_widths(widths, || match kind {
            0 => rng.random_range(-1.0..1.0),
            1 => f64::from(rng.random_range(-1.0..1.0f32)),
            2 => f64::from(rng.random_range(-40..=40i32)) * 0.3,
            _ => rng.random_range(-1.0..1.0) * 2f64.powi(rng.random_range(-540..540)),
        });
        let network = network.unwrap();
        let found = canonicalize(&network, &Domain::Space, &Deadline::NEVER).unwrap();
        let exact = canonicalize_exact(&network.to_exact(), &Domain::Space, &Deadline::NEVER).unwrap();
        assert_eq!(found, exact, "seed {seed}");
        let version =
            |of: &Canonical, version| of.fingerprint_of(version, &Domain::Space, &Deadline::NEVER).unwrap();
        assert_eq!(version(&found, FingerprintVersion::V1), version(&exact, FingerprintVersion::V1));
        assert_eq!(version(&found, FingerprintVersion::V1).len(), 64);
        assert_eq!(version(&found, FingerprintVersion::V2), found.fingerprint);
        in_doubles += usize::from(matches!(found.network, Representative::Doubles(_)));
    }
    assert!(in_doubles > 80, "{in_doubles}");
}
