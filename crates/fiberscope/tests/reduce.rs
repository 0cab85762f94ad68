//! Laws of reduction: the chain of moves proves the result, redundancy put in comes out again.

use crate::common;

use common::{add_linear, check_same, edit, insert, permute, r, random_network, rng, scale, split};
use fiberscope::anatomy::examine;
use fiberscope::check::{Outcome, check};
use fiberscope::fiber::Identifiability;
use fiberscope::reduce::{Folding, ReduceOptions, reduce};
use fiberscope::{
    Activation, Certificate, Claim, Deadline, Domain, Evidence, ExactNetwork, Layer, Matrix, Move, MoveChain,
    Network, Rational, Role,
};
use rand::RngExt;

/// Reduces, checks the chain, and checks the certificate if both networks are made of doubles.
fn reduced(seed: u64, network: &ExactNetwork, domain: &Domain, folding: Folding) -> ExactNetwork {
    let reduction = reduce(network, domain, &ReduceOptions::new().folding(folding)).unwrap();
    check_same(&mut rng(seed), network, &reduction.moves, &reduction.network, domain);
    let ((a, exact_a), (b, exact_b)) = (network.to_f64().unwrap(), reduction.network.to_f64().unwrap());
    if exact_a && exact_b {
        let certificate = Certificate::new(
            &a,
            &b,
            domain.clone(),
            Evidence::Moves { a: reduction.moves.clone(), b: MoveChain::default() },
        );
        assert_eq!(check(&certificate, &a, &b), Outcome::Proved(Claim::Equivalent));
    }
    let again = reduce(&reduction.network, domain, &ReduceOptions::new().folding(folding)).unwrap();
    assert!(again.moves.is_empty(), "a reduced network is reduced again: {:?}", again.moves);
    reduction.network
}

/// A network with the given rows and columns, one list `(row, bias, column)` per neuron.
fn one_layer(neurons: &[(&[i64], i64, &[i64])]) -> ExactNetwork {
    let number = |x: &i64| Rational::from(*x);
    let rows: Vec<Vec<_>> = neurons.iter().map(|n| n.0.iter().map(number).collect()).collect();
    let bias = neurons.iter().map(|n| number(&n.1)).collect();
    let columns: Vec<Vec<_>> = neurons.iter().map(|n| n.2.iter().map(number).collect()).collect();
    let outputs = columns[0].len();
    let hidden = Layer::new(Matrix::from_rows(&rows).unwrap(), bias, Activation::Relu);
    let output = Matrix::from_rows(&columns).unwrap().transpose();
    let output = Layer::new(output, vec![Rational::ZERO; outputs], Activation::Identity);
    Network::new(vec![hidden, output]).unwrap()
}

fn widths_after(neurons: &[(&[i64], i64, &[i64])], domain: &Domain) -> Vec<usize> {
    reduced(0, &one_layer(neurons), domain, Folding::default()).widths()
}

#[test]
fn what_was_put_in_comes_out() {
    for seed in 0..60 {
        let rng = &mut rng(seed);
        let widths: &[usize] = [&[3, 4, 2][..], &[3, 3, 4, 2], &[2, 4, 3, 4, 1]][seed as usize % 3];
        let network = random_network(rng, widths);
        let base = reduced(seed, &network, &Domain::Space, Folding::Always);
        let mut larger = network;
        for _ in 0..6 {
            let layer = rng.random_range(0..larger.hidden_depth());
            larger = match rng.random_range(0..5) {
                0 => insert(rng, &larger, layer),
                1 => split(rng, &larger, layer),
                2 => permute(rng, &larger, layer),
                3 => scale(rng, &larger, layer),
                _ if layer > 0 => add_linear(rng, &larger, layer),
                _ => larger,
            };
        }
        let smaller = reduced(seed, &larger, &Domain::Space, Folding::Always);
        assert_eq!(smaller.widths(), base.widths(), "seed {seed}, from {:?}", larger.widths());
    }
}

#[test]
fn nothing_is_taken_from_a_network_without_redundancy() {
    for seed in 0..20 {
        let network = edit(&random_network(&mut rng(seed), &[3, 4, 5, 2]), |l, i, j, x| {
            // Mixed signs in every row, so that no neuron is dead or linear.
            if l == 1 && j < 2 { if (i + j) % 2 == 0 { x.abs() } else { -x.abs() } } else { x }
        });
        // Some neurons are dead all the same: what could turn them on is outweighed.
        let reduction = reduce(&network, &Domain::Space, &ReduceOptions::new().outweigh(false)).unwrap();
        assert!(reduction.moves.is_empty(), "{:?}", reduction.moves);
    }
}

#[test]
fn cancelling_pairs() {
    // relu(x) - relu(-x) - (relu(x - 1) - relu(1 - x)) = x - (x - 1) = 1.
    let constant: &[(&[i64], i64, &[i64])] =
        &[(&[1], 0, &[1]), (&[-1], 0, &[-1]), (&[1], -1, &[-1]), (&[-1], 1, &[1])];
    assert_eq!(widths_after(constant, &Domain::Space), [1, 1]);
    // The identity as a pair folds on every domain.
    let identity = &constant[..2];
    assert_eq!(widths_after(identity, &Domain::Space), [1, 1]);
    assert_eq!(widths_after(identity, &Domain::from_bounds(&[(-1.0, 2.0)]).unwrap()), [1, 1]);
    // Two pairs that bend and whose affine terms cancel: |x| - |x - 1| up to affine terms.
    let bending: &[(&[i64], i64, &[i64])] =
        &[(&[1], 0, &[3]), (&[-1], 0, &[1]), (&[1], -1, &[5]), (&[-1], 1, &[-1])];
    assert_eq!(widths_after(bending, &Domain::Space), [1, 2, 1]);
    // On R^2, (x + y) as a pair, and x and y as pairs that take it up.
    let plane: &[(&[i64], i64, &[i64])] = &[
        (&[1, 1], 0, &[1]),
        (&[-1, -1], 0, &[-1]),
        (&[1, 0], 5, &[-1]),
        (&[-1, 0], -5, &[1]),
        (&[0, 1], 0, &[-1]),
        (&[0, -1], 0, &[1]),
        (&[2, 3], 1, &[1]),
    ];
    assert_eq!(widths_after(plane, &Domain::Space), [2, 1, 1]);
}

#[test]
fn linear_neurons_are_as_few_as_their_rank() {
    let domain = Domain::orthant(3);
    // Four linear neurons of rank 2 and one that bends.
    let neurons: &[(&[i64], i64, &[i64])] = &[
        (&[1, 0, 1], 1, &[1, 2]),
        (&[0, 1, 1], 0, &[0, 1]),
        (&[1, 1, 2], 5, &[3, 1]),
        (&[1, -1, 0], 0, &[1, 1]),
        (&[2, 1, 3], 0, &[1, -1]),
    ];
    assert_eq!(widths_after(neurons, &domain), [3, 3, 2]);
    // Rank 1 behind one output, whatever the rows: -x + y - z needs two neurons on the orthant.
    let neurons: &[(&[i64], i64, &[i64])] =
        &[(&[1, 0, 0], 1, &[-1]), (&[0, 1, 0], 0, &[1]), (&[0, 0, 1], 5, &[-1]), (&[1, -1, 0], 0, &[1])];
    assert_eq!(widths_after(neurons, &domain), [3, 3, 1]);
    let on_box = Domain::from_bounds(&[(0.0, 1.0); 3]).unwrap();
    assert_eq!(widths_after(neurons, &on_box), [3, 2, 1]);
}

#[test]
fn constant_and_linear_layers_fold() {
    for seed in 0..10 {
        let rng = &mut rng(seed);
        let dead =
            edit(&random_network(rng, &[3, 4, 3, 3, 2]), |l, _, _, x| if l == 1 { -x.abs() } else { x });
        assert_eq!(reduced(seed, &dead, &Domain::Space, Folding::default()).widths(), [3, 2]);
        let linear = edit(&random_network(rng, &[3, 4, 3, 2]), |l, _, _, x| if l == 1 { x.abs() } else { x });
        assert_eq!(reduced(seed, &linear, &Domain::Space, Folding::default()).widths(), [3, 4, 2]);
        let never = reduced(seed, &linear, &Domain::Space, Folding::Never).widths();
        assert!(never.len() == 4 && never[2] <= 3, "{never:?}");
    }
    let narrow =
        edit(&random_network(&mut rng(1), &[6, 6, 1, 6]), |l, _, _, x| if l == 1 { x.abs() } else { x });
    assert_eq!(reduced(0, &narrow, &Domain::Space, Folding::default()).widths(), [6, 6, 1, 6]);
    assert_eq!(reduced(0, &narrow, &Domain::Space, Folding::Always).widths(), [6, 6, 6]);
}

#[test]
fn identity_layers_shrink_to_their_rank() {
    let network = random_network(&mut rng(3), &[6, 5, 2, 6]);
    let layers = network.into_layers().into_iter().map(|layer| {
        let (weight, bias, _) = layer.into_parts();
        Layer::new(weight, bias, Activation::Identity)
    });
    let linear = Network::new(layers.collect()).unwrap();
    assert_eq!(reduced(0, &linear, &Domain::Space, Folding::Never).widths(), [6, 2, 2, 6]);
    assert_eq!(reduced(0, &linear, &Domain::Space, Folding::default()).widths(), [6, 2, 6]);
}

#[test]
fn a_box_decides_more_than_signs() {
    let domain = Domain::from_bounds(&[(-1.0, 1.0); 2]).unwrap();
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let network = edit(&random_network(rng, &[2, 6, 4, 1]), |l, i, j, x| match (l, i, j) {
            (0, 0, 2) => r("-100"),
            (0, 1..=3, 2) => r("100"),
            _ => x,
        });
        let small = reduced(seed, &network, &domain, Folding::default());
        // One neuron is dead and the three linear ones have rank 2.
        assert!(small.hidden_depth() < 2 || small.widths()[1] <= 4, "{:?}", small.widths());
    }
}

#[test]
fn tiny_differences_are_kept() {
    // Multiples up to one unit in the last place are not merged; almost dead neurons are not dropped.
    let network = edit(&random_network(&mut rng(9), &[2, 3, 3, 1]), |l, i, j, x| match (l, i) {
        (0, 1) => [r("1/10"), r("3/10"), r("1")][j].clone(),
        (0, 2) => [r("1/10"), &r("3/10") + &Rational::dyadic(1, -60), r("1")][j].clone(),
        (1, 0) if j == 0 => Rational::dyadic(1, -900),
        (1, 0) => -x.abs(),
        (1, _) if j == 0 => -x.abs(),
        (1, _) => x.abs(),
        _ => x,
    });
    assert!(reduce(&network, &Domain::Space, &ReduceOptions::default()).unwrap().moves.is_empty());
}

#[test]
fn a_box_of_another_dimension_is_an_error() {
    let network = random_network(&mut rng(0), &[2, 2, 1]);
    assert!(reduce(&network, &Domain::orthant(3), &ReduceOptions::default()).is_err());
}

/// relu(x + 1) - relu(x - 1) - 3 is negative on [-3, 3], which intervals do not see.
#[test]
fn linear_programmes_show_more_than_intervals() {
    let layer = |rows: &[&[&str]], bias: &[&str], activation| {
        let rows: Vec<Vec<Rational>> = rows.iter().map(|row| row.iter().map(|w| r(w)).collect()).collect();
        Layer::new(Matrix::from_rows(&rows).unwrap(), bias.iter().map(|b| r(b)).collect(), activation)
    };
    let network = Network::new(vec![
        layer(&[&["1"], &["1"]], &["1", "-1"], Activation::Relu),
        layer(&[&["1", "-1"], &["1", "1"]], &["-3", "-1"], Activation::Relu),
        layer(&[&["1", "1"]], &["0"], Activation::Identity),
    ])
    .unwrap();
    let domain = Domain::from_bounds(&[(-3.0, 3.0)]).unwrap();
    let dead = reduce(&network, &domain, &ReduceOptions::default()).unwrap();
    assert!(dead.moves.moves().iter().any(|each| matches!(each, Move::Shift { .. })));
    assert_eq!(dead.network.widths(), [1, 2, 1, 1]);
    check_same(&mut rng(1), &network, &dead.moves, &dead.network, &domain);
    // The other sign: linear on the box, so that the layer folds.
    let turned = edit(&network, |l, i, _, x| if (l, i) == (1, 0) { -x } else { x });
    let turned = edit(&turned, |l, i, j, x| if (l, i, j) == (1, 1, 2) { r("1") } else { x });
    let linear = reduce(&turned, &domain, &ReduceOptions::default()).unwrap();
    assert_eq!(linear.network.widths(), [1, 1, 1]);
    check_same(&mut rng(2), &turned, &linear.moves, &linear.network, &domain);
}

/// Random networks on boxes: what linear programmes remove is proved move by move.
#[test]
fn reductions_on_boxes_keep_the_function() {
    let mut shifted = 0;
    for seed in 0..60 {
        let rng = &mut rng(seed);
        let network = random_network(rng, &[2, 4, 5, 4, 1]);
        let domain = Domain::from_bounds(&[(-0.25, 0.5), (0.0, 0.5)]).unwrap();
        let reduction = reduce(&network, &domain, &ReduceOptions::default()).unwrap();
        shifted += reduction.moves.moves().iter().filter(|each| matches!(each, Move::Shift { .. })).count();
        check_same(rng, &network, &reduction.moves, &reduction.network, &domain);
    }
    assert!(shifted > 10, "{shifted}");
}

/// On all of R^n: neurons whose few small positive weights are outweighed, in the second and the third layer.
#[test]
fn outweighed_neurons_are_removed() {
    let mut muted = [0; 2];
    for seed in 0..30 {
        let rng = &mut rng(seed);
        let layer = 1 + seed as usize % 2;
        let network = random_network(rng, &[3, 10, 8, 4, 1]);
        // Row 0 of the layer: minus its size, but for two entries; the last entry is the bias.
        // What is against it has all slopes: rows of the first layer that are opposite, or one with positive weights.
        let axis = |i: usize| [(0, "1"), (0, "-1"), (1, "1"), (1, "-1"), (2, "1"), (2, "-1")][i];
        let network = edit(&network, |l, i, j, x| match (l, i, j) {
            (0, 1..=3, 0..=2) if axis(i - 1).0 == j => r(axis(i - 1).1),
            (0, 5..=7, 0..=2) if axis(i - 2).0 == j => r(axis(i - 2).1),
            (0, 1..=3 | 5..=7, 0..=2) => Rational::ZERO,
            (1, 1, _) if layer == 2 => &x.abs() + &r("1/16"),
            (l, 0, 0 | 4) if l == layer => &x.abs() * &r("1/256"),
            (l, 0, _) if l == layer => &-x.abs() - &r("1/16"),
            _ => x,
        });
        assert_ne!(network.roles(&Domain::Space)[layer][0], Role::Dead);
        let reduction = reduce(&network, &Domain::Space, &ReduceOptions::default()).unwrap();
        let mutes = |moves: &MoveChain| moves.moves().iter().any(|each| each.name() == "mute");
        check_same(rng, &network, &reduction.moves, &reduction.network, &Domain::Space);
        let plain = reduce(&network, &Domain::Space, &ReduceOptions::new().outweigh(false)).unwrap();
        assert!(!mutes(&plain.moves));
        let seen = examine(&network.to_f64().unwrap().0, &Domain::Space, &Deadline::NEVER);
        if seen.roles[layer][0] == Role::Dead {
            muted[layer - 1] += 1;
            assert!(matches!(seen.identifiability, Identifiability::No { .. }));
            assert!(
                mutes(&reduction.moves)
                    && seen.undecided.iter().all(|each| (each.layer, each.unit) != (layer, 0))
            );
        }
    }
    assert!(muted.iter().all(|&n| n >= 13), "{muted:?}");
}

/// A neuron that is on at one far point is not outweighed, however much speaks against it elsewhere.
#[test]
fn nearly_outweighed_neurons_stay() {
    let network = Network::from_rows(&[
        (&[&[1.0, 0.0], &[-1.0, 0.0], &[0.0, 1.0], &[0.0, -1.0]], &[0.0, -1.0, 0.0, 0.0]),
        (&[&[2f64.powi(-20), -1.0, -1.0, -1.0], &[1.0, 1.0, 1.0, 1.0]], &[-1.0, 0.0]),
        (&[&[1.0, 1.0]], &[0.0]),
    ])
    .unwrap();
    let reduction = reduce(&network.to_exact(), &Domain::Space, &ReduceOptions::default()).unwrap();
    assert_eq!(reduction.network.widths(), network.widths());
    let near = Domain::from_bounds(&[(-1000.0, 1000.0); 2]).unwrap();
    let seen = examine(&network, &Domain::Space, &Deadline::NEVER);
    assert_ne!(seen.roles[1][0], Role::Dead);
    assert_eq!(examine(&network, &near, &Deadline::NEVER).roles[1][0], Role::Dead);
}

#[test]
fn without_time_nothing_is_reduced() {
    let network = split(&mut rng(1), &random_network(&mut rng(2), &[3, 4, 2]), 0);
    let past = Deadline::after(Some(std::time::Duration::ZERO));
    let reduction = reduce(&network, &Domain::Space, &ReduceOptions::new().deadline(past)).unwrap();
    assert_eq!(reduction.network, network);
    assert!(reduction.moves.is_empty());
}
