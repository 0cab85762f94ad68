//! Laws of moves: `f(g theta) = f(theta)` exactly, inverses lead back, broken rules are refused.

use fiberscope_core::{
    Activation, BiasShift, Counterweight, Domain, ExactNetwork, Layer, LinearChange, Matrix, Move, MoveChain,
    Mute, Network, NeuronCopy, PlacedNeuron, Rational, Rule, Share, ShownRole,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

fn random(rng: &mut ChaCha8Rng) -> Rational {
    Rational::dyadic(rng.random_range(-64..=64), -4)
}

fn positive(rng: &mut ChaCha8Rng) -> Rational {
    &Rational::from(rng.random_range(1..20)) / &Rational::from(rng.random_range(1..8))
}

fn random_network(rng: &mut ChaCha8Rng, widths: &[usize]) -> ExactNetwork {
    Network::from_widths(widths, || random(rng)).unwrap()
}

/// The network with some entries replaced: `edit(layer, row, column, value)`, the bias as last column.
fn edit(
    network: ExactNetwork,
    mut edit: impl FnMut(usize, usize, usize, Rational) -> Rational,
) -> ExactNetwork {
    let layers = network.into_layers().into_iter().enumerate().map(|(l, layer)| {
        let (weight, bias, activation) = layer.into_parts();
        let cols = weight.cols();
        let weight = Matrix::from_fn(weight.rows(), cols, |i, j| edit(l, i, j, weight[(i, j)].clone()));
        let bias = bias.into_iter().enumerate().map(|(i, b)| edit(l, i, cols, b)).collect();
        Layer::new(weight, bias, activation)
    });
    Network::new(layers.collect()).unwrap()
}

/// Applies the move, compares values at random points exactly, and goes back by the inverse.
fn check_law(
    rng: &mut ChaCha8Rng,
    before: &ExactNetwork,
    chain: &MoveChain,
    domain: &Domain,
) -> ExactNetwork {
    let mut after = before.clone();
    chain.apply(&mut after, domain).unwrap_or_else(|error| panic!("{error}"));
    let sides = domain.sides(before.input_width());
    for _ in 0..12 {
        let x: Vec<_> = sides
            .iter()
            .map(|side| match (&side.lower, &side.upper) {
                (Some(lower), Some(upper)) => {
                    let t = Rational::dyadic(rng.random_range(0..=16), -4);
                    lower + &(&t * &(upper - lower))
                }
                _ => random(rng),
            })
            .collect();
        assert_eq!(before.evaluate_exact(&x), after.evaluate_exact(&x), "{chain:?}");
    }
    let back = chain.inverse(before, domain).unwrap();
    let mut returned = after.clone();
    back.apply(&mut returned, domain).unwrap_or_else(|error| panic!("inverse of {chain:?}: {error}"));
    assert_eq!(&returned, before, "{chain:?}");
    after
}

fn check_one(rng: &mut ChaCha8Rng, before: &ExactNetwork, each: Move) -> ExactNetwork {
    check_law(rng, before, &MoveChain::from(vec![each]), &Domain::Space)
}

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn shuffled(rng: &mut ChaCha8Rng, n: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, rng.random_range(0..=i));
    }
    order
}

#[test]
fn permutation_and_scaling() {
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let net = random_network(rng, &[3, 4, 5, 2]);
        for layer in 0..2 {
            let width = net.layers()[layer].width();
            let order = shuffled(rng, width);
            let net = check_one(rng, &net, Move::Permute { layer, order });
            let factors = (0..width).map(|_| positive(rng)).collect();
            check_one(rng, &net, Move::Scale { layer, factors });
        }
    }
}

#[test]
fn dead_and_unconnected_neurons() {
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let net = edit(random_network(rng, &[3, 4, 5, 2]), |l, i, j, x| match (l, i, j) {
            (1, 1, _) => -x.abs(),
            (2, _, 3) => Rational::ZERO,
            _ => x,
        });
        let net = check_one(rng, &net, Move::Drop { layer: 1, units: vec![3, 1] });
        assert_eq!(net.widths(), [3, 4, 3, 2]);
        let dead = PlacedNeuron {
            unit: 0,
            weight: (0..4).map(|_| -random(rng).abs()).collect(),
            bias: Rational::ZERO,
            out: vec![r("1"), r("-3")],
        };
        let unconnected = PlacedNeuron {
            unit: 4,
            weight: vec![random(rng); 4],
            bias: random(rng),
            out: vec![Rational::ZERO; 2],
        };
        check_one(rng, &net, Move::Insert { layer: 1, neurons: vec![dead, unconnected] });
    }
}

#[test]
fn a_box_makes_neurons_dead_or_linear() {
    let domain = Domain::from_bounds(&[(-1.0, 1.0); 2]).unwrap();
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let net = edit(random_network(rng, &[2, 3, 2]), |l, i, j, x| match (l, i, j) {
            (0, 0, 2) => r("-100"),
            (0, 1, 2) => r("100"),
            _ => x,
        });
        let drop = Move::Drop { layer: 0, units: vec![0] };
        assert_eq!(drop.apply(&mut net.clone(), &Domain::Space).unwrap_err().rule, Rule::Dead);
        let net = check_law(rng, &net, &MoveChain::from(vec![drop]), &domain);
        let old = &net.layers()[0];
        let shifted = PlacedNeuron {
            unit: 1,
            weight: old.weight().row(0).to_vec(),
            bias: r("50"),
            out: net.layers()[1].weight().column(0).cloned().collect(),
        };
        let change = LinearChange { remove: vec![0], insert: vec![shifted] };
        let refactor = Move::Refactor { layer: 0, linear: change };
        assert_eq!(refactor.apply(&mut net.clone(), &Domain::Space).unwrap_err().rule, Rule::Linear);
        check_law(rng, &net, &MoveChain::from(vec![refactor]), &domain);
    }
}

#[test]
fn splitting_and_merging() {
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let net = random_network(rng, &[3, 4, 2]);
        let mut copy = |of, unit| {
            let out = (0..2).map(|_| random(rng)).collect();
            NeuronCopy { of, unit, factor: positive(rng), out }
        };
        let split = Move::Split { layer: 0, copies: vec![copy(1, 0), copy(1, 2), copy(5, 6)] };
        let split = check_one(rng, &net, split);
        assert_eq!(split.widths(), [3, 7, 2]);
        let merged = check_one(rng, &split, Move::Merge { layer: 0, pairs: vec![(1, 2), (1, 0), (5, 6)] });
        assert_eq!(merged, net);
    }
}

/// A network whose second layer has the identity (linear neurons) at `places`, free rows elsewhere.
fn with_identity_block(rng: &mut ChaCha8Rng, n1: usize, n2: usize, first: usize) -> ExactNetwork {
    edit(random_network(rng, &[3, n1, n2, 2]), |l, i, j, x| {
        if l != 1 || i < first || i >= first + n1 {
            x
        } else if j == n1 {
            x.abs()
        } else if i - first == j {
            Rational::ONE
        } else {
            Rational::ZERO
        }
    })
}

/// The change that lets the identity block at `first` take up the affine term of neuron `unit`.
fn absorbing(net: &ExactNetwork, first: usize, unit: usize, shift: usize) -> LinearChange {
    let (rows, columns) = (&net.layers()[1], net.layers()[2].weight());
    let n1 = rows.input_width();
    let insert = (0..n1).map(|k| PlacedNeuron {
        unit: first + k - shift,
        weight: rows.weight().row(first + k).to_vec(),
        bias: &rows.bias()[first + k] + &r("1/2"),
        out: (0..2)
            .map(|o| &columns[(o, first + k)] + &(&columns[(o, unit)] * &rows.weight()[(unit, k)]))
            .collect(),
    });
    LinearChange { remove: (first..first + n1).collect(), insert: insert.collect() }
}

#[test]
fn linear_neurons_take_up_affine_terms() {
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let net = with_identity_block(rng, 3, 6, 2);
        for unit in [0, 5] {
            let linear = absorbing(&net, 2, unit, 0);
            check_one(rng, &net, Move::Reorient { layer: 1, units: vec![unit], linear });
        }
        for (keep, drop) in [(0, 1), (1, 0), (0, 5), (5, 1), (1, 5)] {
            let rows = net.layers()[1].clone();
            let net = edit(net.clone(), |l, i, j, x| {
                if (l, i) != (1, drop) {
                    x
                } else if j == 3 {
                    &rows.bias()[keep] * &r("-3/2")
                } else {
                    &rows.weight()[(keep, j)] * &r("-3/2")
                }
            });
            let linear = absorbing(&net, 2, drop, usize::from(drop < 2));
            let after = check_one(rng, &net, Move::Cancel { layer: 1, keep, drop, linear });
            assert_eq!(after.widths(), [3, 3, 5, 2]);
        }
    }
}

#[test]
fn linear_neurons_mix() {
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let net =
            edit(random_network(rng, &[3, 3, 4, 2]), |l, i, _, x| if l == 1 && i > 1 { x.abs() } else { x });
        // W' = G W with G = [[1, 1], [0, 1]], V' = V G^{-1}.
        let (rows, columns) = (&net.layers()[1], net.layers()[2].weight());
        let (w, v) = (|i: usize| rows.weight().row(i), |j: usize| columns.column(j));
        let sum = PlacedNeuron {
            unit: 0,
            weight: w(2).iter().zip(w(3)).map(|(x, y)| x + y).collect(),
            bias: Rational::ZERO,
            out: v(2).cloned().collect(),
        };
        let second = PlacedNeuron {
            unit: 3,
            weight: w(3).to_vec(),
            bias: r("7"),
            out: v(3).zip(v(2)).map(|(x, y)| x - y).collect(),
        };
        let linear = LinearChange { remove: vec![2, 3], insert: vec![sum, second] };
        check_one(rng, &net, Move::Refactor { layer: 1, linear });
    }
}

/// Widths 4-4-n2-2 where layer 2 hides neuron 3, with a dead neuron in front.
fn hiding(rng: &mut ChaCha8Rng, live: usize) -> ExactNetwork {
    edit(random_network(rng, &[4, 4, live + 1, 2]), |l, i, j, x| match (l, i, j) {
        (1, 0, _) => -x.abs(),
        (1, _, 2) => x.abs() + r("1/16"),
        (1, _, _) => -x.abs() - r("1/16"),
        _ => x,
    })
}

/// Neurons of the next layer that do not see a neuron do not mind its translation.
#[test]
fn what_is_only_passed_on_is_translated() {
    let rng = &mut ChaCha8Rng::seed_from_u64(21);
    for _ in 0..20 {
        let net = random_network(rng, &[2, 3, 3, 1]);
        // Neuron 1 goes to neuron 1 of the next layer and nowhere else, and nothing else goes there with a
        // positive weight.
        let net = edit(net, |l, i, j, x| match (l, i, j) {
            (1, 0, 0) => &x.abs() + &Rational::ONE,
            (1, 0, 3) => -x.abs(),
            (1, 0, _) => -x.abs(),
            (1, _, 0) => Rational::ZERO,
            _ => x,
        });
        check_one(rng, &net, Move::Translate { layer: 0, unit: 0, amount: r("100") });
        let seen = edit(net, |l, i, j, x| if (l, i, j) == (1, 1, 0) { r("-1/64") } else { x });
        let live = seen.layers()[1]
            .weight()
            .row(1)
            .iter()
            .chain([&seen.layers()[1].bias()[1]])
            .any(Rational::is_positive);
        let translated =
            Move::Translate { layer: 0, unit: 0, amount: r("100") }.apply(&mut seen.clone(), &Domain::Space);
        assert_eq!(translated.is_err(), live);
    }
}

#[test]
fn hidden_hyperplanes_translate_and_flip() {
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let net = hiding(rng, 3);
        let next = &net.layers()[1];
        let t_min = (1..4).map(|j| &next.bias()[j] / &next.weight()[(j, 2)]).max().unwrap();
        check_one(rng, &net, Move::Translate { layer: 0, unit: 2, amount: t_min.clone() });
        check_one(rng, &net, Move::Translate { layer: 0, unit: 2, amount: r("100") });
        let too_far = Move::Translate { layer: 0, unit: 2, amount: t_min - r("1/1000000") };
        let error = too_far.apply(&mut net.clone(), &Domain::Space).unwrap_err();
        assert_eq!(error.rule, Rule::TranslationBound);
        let flip = Move::Flip { layer: 0, unit: 2, flips: vec![0] };
        assert_eq!(flip.apply(&mut net.clone(), &Domain::Space).unwrap_err().rule, Rule::OneLiveNeuron);

        let net = hiding(rng, 1);
        for flips in [vec![], vec![0], vec![3, 1], vec![0, 1, 3]] {
            check_one(rng, &net, Move::Flip { layer: 0, unit: 2, flips });
        }
    }
}

#[test]
fn flips_form_a_group() {
    let rng = &mut rng(5);
    let net = hiding(rng, 1);
    let flipped = |flips: &[usize], net: &ExactNetwork| {
        let mut net = net.clone();
        Move::Flip { layer: 0, unit: 2, flips: flips.to_vec() }.apply(&mut net, &Domain::Space).unwrap();
        net
    };
    assert_eq!(flipped(&[1, 3], &flipped(&[0, 1], &net)), flipped(&[0, 3], &net));
}

#[test]
fn folding_a_linear_layer() {
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let net = edit(random_network(rng, &[3, 4, 5, 2]), |l, _, _, x| if l == 1 { x.abs() } else { x });
        let folded = check_one(rng, &net, Move::Fold { layer: 1, pairs: vec![] });
        assert_eq!(folded.widths(), [3, 4, 2]);
    }
}

/// Neurons 0 and 2, 1 and 3 of layer 1 are opposite and cancel, up to a factor on the last one.
fn vanishing_pairs(rng: &mut ChaCha8Rng, factor: &str) -> ExactNetwork {
    let net = random_network(rng, &[3, 4, 5, 2]);
    let (layers, half) = (net.layers().to_vec(), r("1/2"));
    let at = |l: usize, i: usize, j: usize| match j {
        j if j == layers[l].input_width() => layers[l].bias()[i].clone(),
        j => layers[l].weight()[(i, j)].clone(),
    };
    edit(net, |l, i, j, x| match (l, i, j) {
        (0, 2 | 3, _) => -(&at(0, i - 2, j) * &half),
        (1, _, 2) => -(&at(1, i, 0) * &r("2")),
        (1, _, 3) => -(&at(1, i, 1) * &r(factor)),
        _ => x,
    })
}

#[test]
fn folding_pairs_that_cancel() {
    for seed in 0..40 {
        let rng = &mut rng(seed);
        let net = vanishing_pairs(rng, "2");
        let folded = check_one(rng, &net, Move::Fold { layer: 0, pairs: vec![(0, 2), (3, 1)] });
        assert_eq!(folded.widths(), [3, 5, 2]);
        let other = vanishing_pairs(rng, "3");
        let fold = Move::Fold { layer: 0, pairs: vec![(0, 2), (1, 3)] };
        assert_eq!(fold.apply(&mut other.clone(), &Domain::Space).unwrap_err().rule, Rule::Vanishing);
    }
}

/// relu(x + 1) - relu(x - 1) - 3 is negative on [-3, 3]: its bias may fall, not rise by much.
#[test]
fn biases_of_neurons_shown_dead_shift() {
    let layer = |rows: &[Vec<Rational>], bias: &[&str], activation| {
        Layer::new(Matrix::from_rows(rows).unwrap(), bias.iter().map(|b| r(b)).collect(), activation)
    };
    let net = Network::new(vec![
        layer(&[vec![r("1")], vec![r("1")]], &["1", "-1"], Activation::Relu),
        layer(&[vec![r("1"), r("-1")]], &["-3"], Activation::Relu),
        layer(&[vec![r("5")]], &["0"], Activation::Identity),
    ])
    .unwrap();
    let domain = Domain::from_bounds(&[(-3.0, 3.0)]).unwrap();
    let shift = |role, amount: &str, slope: &str| Move::Shift {
        layer: 1,
        shifts: vec![BiasShift { unit: 0, role, amount: r(amount), slopes: vec![vec![r("0"), r(slope)]] }],
    };
    let fall = shift(ShownRole::Dead, "-7", "2/3");
    let mut after = net.clone();
    fall.apply(&mut after, &domain).unwrap();
    for x in -6..=6 {
        let x = [Rational::dyadic(x, -1)];
        assert_eq!(after.evaluate_exact(&x).unwrap(), net.evaluate_exact(&x).unwrap());
    }
    fall.inverse(&net).unwrap().apply(&mut after, &domain).unwrap();
    assert_eq!(after, net);
    for (refused, rule) in [
        (shift(ShownRole::Dead, "1/2", "2/3"), Rule::ShownDead),
        (shift(ShownRole::Dead, "-7", "0"), Rule::ShownDead),
        (shift(ShownRole::Dead, "-7", "3/2"), Rule::ShownDead),
        (shift(ShownRole::Linear, "7", "2/3"), Rule::ShownLinear),
    ] {
        assert_eq!(refused.apply(&mut net.clone(), &domain).unwrap_err().rule, rule);
        assert!(refused.apply(&mut net.clone(), &Domain::Space).is_err());
    }
}

/// relu(x + 1) is outweighed by 2 relu(x + 2) and, together with relu(-x - 3), by what is left and the bias.
#[test]
fn neurons_that_are_outweighed_have_free_outgoing_weights() {
    let layer = |rows: &[Vec<Rational>], bias: &[&str], activation| {
        Layer::new(Matrix::from_rows(rows).unwrap(), bias.iter().map(|b| r(b)).collect(), activation)
    };
    let row = |entries: &[&str]| entries.iter().map(|x| r(x)).collect::<Vec<_>>();
    let net = Network::new(vec![
        layer(
            &[row(&["1"]), row(&["1"]), row(&["-1"]), row(&["-1"])],
            &["1", "2", "-3", "-4"],
            Activation::Relu,
        ),
        layer(&[row(&["1", "-2", "1", "-1"]), row(&["1", "0", "0", "0"])], &["-1", "0"], Activation::Relu),
        layer(&[row(&["5", "1"])], &["0"], Activation::Identity),
    ])
    .unwrap();
    let share = |of, factor: &str, constant: &str, by: &[(usize, &str)]| Share {
        of,
        factor: r(factor),
        constant: r(constant),
        by: by.iter().map(|&(unit, weight)| Counterweight { unit, weight: r(weight) }).collect(),
    };
    let first = || share(0, "1", "0", &[(1, "1")]);
    let second = || share(2, "1", "1", &[(3, "1")]);
    let mute =
        |unit, shares| Move::Mute { layer: 1, neurons: vec![Mute { unit, out: row(&["-7"]), shares }] };
    let right = mute(0, vec![first(), second()]);
    let mut after = net.clone();
    right.apply(&mut after, &Domain::Space).unwrap();
    assert_eq!(after.layers()[2].weight()[(0, 0)], r("-7"));
    for x in -20..=20 {
        let x = [Rational::dyadic(x, -1)];
        assert_eq!(after.evaluate_exact(&x).unwrap(), net.evaluate_exact(&x).unwrap());
    }
    right.inverse(&net).unwrap().apply(&mut after, &Domain::Space).unwrap();
    assert_eq!(after, net);
    // A factor may be larger where that helps, a share may be spread, and the order does not matter.
    let spread = share(0, "3/2", "0", &[(1, "1"), (1, "1/2")]);
    mute(0, vec![second(), spread]).apply(&mut net.clone(), &Domain::Space).unwrap();
    for wrong in [
        vec![first()],
        vec![first(), first(), second()],
        vec![first(), share(2, "1", "1/2", &[(3, "1")])],
        vec![first(), share(2, "1", "3/2", &[(3, "1")])],
        vec![share(0, "1/2", "0", &[(1, "1/2")]), second()],
        vec![share(0, "3", "0", &[(1, "3")]), second()],
        vec![share(0, "1", "-1/4", &[(1, "1")]), second()],
        vec![share(0, "1", "0", &[(1, "2"), (1, "-1")]), second()],
        vec![share(0, "1", "0", &[(1, "1"), (0, "1/8")]), second()],
        vec![first(), second(), share(1, "1", "0", &[])],
        vec![first(), second(), share(9, "1", "0", &[])],
        vec![first(), share(2, "1", "1", &[(9, "1")])],
    ] {
        let refused = mute(0, wrong).apply(&mut net.clone(), &Domain::Space).unwrap_err();
        assert_eq!(refused.rule, Rule::Outweighed);
    }
    assert_eq!(
        mute(1, vec![first()]).apply(&mut net.clone(), &Domain::Space).unwrap_err().rule,
        Rule::Outweighed
    );
    // On a box a neuron that is off there needs no share, and constants replace equal slopes.
    let domain = Domain::from_bounds(&[(-2.0, 2.0)]).unwrap();
    mute(0, vec![first()]).apply(&mut net.clone(), &domain).unwrap();
    mute(0, vec![share(0, "1", "1", &[(1, "1/2")])]).apply(&mut net.clone(), &domain).unwrap();
    assert!(mute(0, vec![share(0, "1", "1/4", &[(1, "1/2")])]).apply(&mut net.clone(), &domain).is_err());
}

#[test]
fn identity_layers_change_basis_freely() {
    let rng = &mut rng(7);
    let layers = random_network(rng, &[3, 2, 2]).into_layers();
    let linear = layers.into_iter().map(|layer| {
        let (weight, bias, _) = layer.into_parts();
        Layer::new(weight, bias, Activation::Identity)
    });
    let net = Network::new(linear.collect()).unwrap();
    check_one(rng, &net, Move::Scale { layer: 0, factors: vec![r("-2"), r("1/3")] });
    check_one(rng, &net, Move::Fold { layer: 0, pairs: vec![] });
    let scale = Move::Scale { layer: 0, factors: vec![r("0"), r("1")] };
    assert_eq!(scale.apply(&mut net.clone(), &Domain::Space).unwrap_err().rule, Rule::Factors);
}

#[test]
fn broken_rules_are_refused_and_leave_the_network_alone() {
    let rng = &mut rng(3);
    let net = random_network(rng, &[2, 3, 3, 1]);
    let neuron = |inputs: usize, unit: usize| PlacedNeuron {
        unit,
        weight: vec![Rational::ONE; inputs],
        bias: Rational::ONE,
        out: vec![Rational::ONE; 3],
    };
    let copy =
        |of, unit, factor: &str| NeuronCopy { of, unit, factor: r(factor), out: vec![Rational::ONE; 3] };
    let remove = |units: &[usize]| LinearChange { remove: units.to_vec(), insert: vec![] };
    let none = LinearChange::default;
    let cases = [
        (Move::Permute { layer: 2, order: vec![0] }, Rule::Exists),
        (Move::Permute { layer: usize::MAX - 1, order: vec![0] }, Rule::Exists),
        (Move::Permute { layer: 0, order: vec![0, 1] }, Rule::Shape),
        (Move::Permute { layer: 0, order: vec![0, 1, 1] }, Rule::Permutation),
        (Move::Permute { layer: 0, order: vec![0, 1, 3] }, Rule::Permutation),
        (Move::Scale { layer: 0, factors: vec![r("1"), r("0"), r("1")] }, Rule::Factors),
        (Move::Scale { layer: 0, factors: vec![r("1"), r("-1"), r("1")] }, Rule::Factors),
        (Move::Scale { layer: 0, factors: vec![r("1")] }, Rule::Shape),
        (Move::Drop { layer: 0, units: vec![0] }, Rule::Dead),
        (Move::Drop { layer: 0, units: vec![3] }, Rule::Exists),
        (Move::Drop { layer: 0, units: vec![0, 0] }, Rule::Distinct),
        (Move::Drop { layer: 0, units: vec![0, 1, 2] }, Rule::NotEmptied),
        (Move::Insert { layer: 0, neurons: vec![neuron(2, 0)] }, Rule::Dead),
        (Move::Insert { layer: 0, neurons: vec![neuron(3, 0)] }, Rule::Shape),
        (Move::Insert { layer: 0, neurons: vec![neuron(2, 5)] }, Rule::Places),
        (Move::Insert { layer: 0, neurons: vec![neuron(2, 1), neuron(2, 1)] }, Rule::Places),
        (Move::Merge { layer: 0, pairs: vec![(0, 1)] }, Rule::Proportional),
        (Move::Merge { layer: 0, pairs: vec![(0, 0)] }, Rule::Distinct),
        (Move::Merge { layer: 0, pairs: vec![(9, 0)] }, Rule::Exists),
        (Move::Split { layer: 0, copies: vec![copy(0, 1, "-1")] }, Rule::Factors),
        (Move::Split { layer: 0, copies: vec![copy(1, 1, "1")] }, Rule::Exists),
        (Move::Split { layer: 0, copies: vec![copy(9, 1, "1")] }, Rule::Exists),
        (Move::Cancel { layer: 0, keep: 0, drop: 1, linear: none() }, Rule::Opposite),
        (Move::Cancel { layer: 0, keep: 0, drop: 0, linear: none() }, Rule::Distinct),
        (Move::Refactor { layer: 0, linear: remove(&[0]) }, Rule::Linear),
        (Move::Reorient { layer: 0, units: vec![0], linear: none() }, Rule::SameLinearMap),
        (Move::Reorient { layer: 0, units: vec![0], linear: remove(&[0]) }, Rule::Distinct),
        (Move::Translate { layer: 0, unit: 0, amount: r("0") }, Rule::Hides),
        (Move::Translate { layer: 1, unit: 0, amount: r("0") }, Rule::Exists),
        (Move::Flip { layer: 0, unit: 0, flips: vec![1] }, Rule::Hides),
        (Move::Fold { layer: 0, pairs: vec![] }, Rule::Linear),
        (Move::Fold { layer: 0, pairs: vec![(0, 1)] }, Rule::Opposite),
        (Move::Fold { layer: 0, pairs: vec![(0, 1), (1, 2)] }, Rule::Distinct),
        (Move::Fold { layer: 0, pairs: vec![(0, 9)] }, Rule::Exists),
        (
            Move::Unfold {
                layer: 2,
                weight: vec![vec![Rational::ONE; 3]],
                bias: vec![Rational::ZERO],
                activation: Activation::Identity,
                next_weight: vec![vec![Rational::ONE]],
                next_bias: vec![Rational::ZERO],
                pairs: vec![],
            },
            Rule::SameProduct,
        ),
    ];
    for (each, rule) in cases {
        let mut after = net.clone();
        let error = each.apply(&mut after, &Domain::Space).unwrap_err();
        assert_eq!(error.rule, rule, "{each:?}: {error}");
        assert_eq!(after, net, "{each:?}");
        let _ = each.inverse(&net);
    }
}
