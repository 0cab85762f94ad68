//! Fibers: components, dimensions, membership, samples and paths.
use crate::common;

use common::{edit, hiding, random, random_network, rng};
use fiberscope::algebra::never;
use fiberscope::core::HyperplaneRepresentation;
use fiberscope::dimension::DimensionOptions;
use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::fiber::Identifiability;
use fiberscope::fiber::{
    Existence, Fiber, FiberPath, FiberPoint, FiberSampler, Ground, LayerFiber, Membership, Piece,
    Pointedness, SignVerdict, Symmetry, Violation, construct_nonlocal, describe, local_dimension,
    pointedness, symmetries,
};
use fiberscope::{Activation, Domain, ExactNetwork, Layer, Network, Rational};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A bottleneck network whose second layer has the given numbers of nonlinear, linear and dead neurons.
fn with_roles(
    rng: &mut ChaCha8Rng,
    n0: usize,
    n1: usize,
    [nonlinear, linear, dead]: [usize; 3],
    n3: usize,
) -> ExactNetwork {
    let network = random_network(rng, &[n0, n1, nonlinear + linear + dead, n3]);
    edit(&network, |l, i, j, x| match (l, i) {
        (1, i) if i < linear => x.abs(),
        (1, i) if i < linear + dead => -x.abs(),
        // Mixed signs: the first weight positive, the second negative, the bias positive, so that nothing is
        // hidden.
        (1, _) if j == 0 || j == n1 => x.abs(),
        (1, _) if j == 1 => -x.abs(),
        _ => x,
    })
}

/// `D` minus the rank of the parameter Jacobian on a decisive set of all linear regions.
fn jacobian_dimension(network: &ExactNetwork) -> usize {
    let (network, exact) = network.to_f64().unwrap();
    assert!(exact);
    local_dimension(&network, 3000, 20_000, &DimensionOptions::default()).dimension
}

fn bottleneck(network: &ExactNetwork) -> Fiber {
    describe(network, Ground::Space).unwrap_or_else(|conditions| panic!("{conditions:?}"))
}

fn own(fiber: &Fiber) -> Piece {
    fiber.own().unwrap_or_else(|violation| panic!("{violation}"))
}

fn dimension(fiber: &Fiber) -> usize {
    fiber.own_dimension().unwrap()
}

/// The next point whose doubles are exact.
fn exact_point(rng: &mut ChaCha8Rng, sampler: &FiberSampler) -> FiberPoint {
    (0..200).map(|_| sampler.sample(rng).unwrap()).find(|point| point.exact).unwrap()
}

/// Exact points are compared everywhere; for rounded ones a bound needs a box.
fn compared_on(exact: bool, inputs: usize) -> Domain {
    if exact { Domain::Space } else { Domain::from_bounds(&vec![(-1.0, 1.0); inputs]).unwrap() }
}

/// The table of dimensions of `2.3`, from Jacobian ranks: every case, the borders `l = m + 1` and `l = d`
/// included.
#[test]
fn dimensions_are_those_of_jacobian_ranks() {
    let mut rng = rng(1);
    let cases: &[([usize; 3], usize, usize, Option<usize>)] = &[
        // roles, n_1 = d, n_3 = m, the dimension of the table for minimal networks
        ([2, 0, 0], 2, 1, Some(0)),
        ([2, 1, 0], 3, 2, Some(1)),
        ([1, 2, 0], 3, 3, Some(4)),
        ([1, 2, 0], 2, 2, Some(4)),
        ([1, 2, 0], 2, 3, Some(4)),
        ([2, 1, 0], 2, 1, Some(1)),
        ([1, 2, 0], 3, 2, Some(4)),
        ([1, 2, 0], 3, 1, Some(5)),
        ([1, 2, 0], 2, 1, Some(4)),
        ([1, 3, 0], 3, 2, Some(9)),
        // beyond minimal networks
        ([1, 3, 0], 2, 1, None),
        ([1, 3, 0], 2, 3, None),
        ([1, 4, 0], 3, 2, None),
        // dead neurons add n_1 + n_3 each
        ([2, 0, 1], 2, 1, Some(3)),
        ([1, 1, 2], 3, 2, Some(1 + 2 * 5)),
    ];
    for &(roles, n1, n3, expected) in cases {
        for n0 in [n1, n1 + 1] {
            let network = with_roles(&mut rng, n0, n1, roles, n3);
            let fiber = bottleneck(&network);
            let scalings = n1 + roles.iter().sum::<usize>();
            assert_eq!(jacobian_dimension(&network), dimension(&fiber) + scalings, "{roles:?} {n1} {n3}");
            if let Some(expected) = expected {
                assert_eq!(dimension(&fiber), expected, "{roles:?} {n1} {n3}");
            }
        }
    }
}

#[test]
fn hiding_networks_have_a_half_line_and_flips() {
    let mut rng = rng(2);
    for (widths, k) in
        [(vec![3, 2, 1, 1], 0), (vec![3, 3, 1, 2], 2), (vec![3, 3, 2, 1], 1), (vec![2, 2, 3, 2], 0)]
    {
        let network = hiding(&mut rng, &widths, k);
        let fiber = bottleneck(&network);
        let Fiber::Bottleneck(inner) = &fiber else { panic!() };
        let hidden = inner.hidden().unwrap();
        assert_eq!((hidden.unit, hidden.flips), (k, widths[2] == 1));
        assert_eq!(dimension(&fiber), 1);
        let expected = if widths[2] == 1 { 1 << (widths[1] - 1) } else { 1 };
        assert_eq!(fiber.components().count(), expected);
        assert_eq!(jacobian_dimension(&network), 1 + widths[1] + widths[2], "{widths:?}");
        for component in fiber.components() {
            check_samples(&mut rng, &fiber, &network, &component.piece(), 3);
        }
    }
}

/// Samples lie in the fiber, in their component, and compute the function; dyadic ones exactly.
fn check_samples(
    rng: &mut ChaCha8Rng,
    fiber: &Fiber,
    network: &ExactNetwork,
    piece: &Piece,
    count: usize,
) -> usize {
    let sampler = FiberSampler::new(fiber, piece).unwrap();
    let mut exact = 0;
    for _ in 0..count {
        let point = sampler.sample(rng).unwrap();
        assert_eq!(point.network.widths(), network.widths());
        if point.exact {
            exact += 1;
            let sampled = point.network.to_exact();
            assert_eq!(fiber.contains(&sampled), Membership::Member(piece.clone()));
            check_same_values(rng, network, &sampled);
        }
    }
    exact
}

fn check_same_values(rng: &mut ChaCha8Rng, a: &ExactNetwork, b: &ExactNetwork) {
    for _ in 0..5 {
        let x: Vec<Rational> = (0..a.input_width()).map(|_| random(rng)).collect();
        assert_eq!(a.evaluate_exact(&x).unwrap(), b.evaluate_exact(&x).unwrap());
    }
}

/// Thousands of random maps with one hidden layer on the orthant, of all cases: emptiness agrees with the
/// nonnegative column rank, samples are points, empty components are proved empty.
#[test]
fn random_layers_of_all_cases() {
    let mut rng = rng(3);
    let (mut empty, mut full, mut exact, mut sampled) = (0, 0, 0, 0);
    for _ in 0..2500 {
        let (d, m) = (rng.random_range(1..5), rng.random_range(1..4));
        let (s, l) = (rng.random_range(0..4), rng.random_range(0..=(m + 1).min(d)));
        if s + l == 0 {
            continue;
        }
        let network = edit(&random_network(&mut rng, &[d, s + l, m]), |layer, i, j, x| match (layer, i, j) {
            (0, i, _) if i < l => x.abs(),
            (0, _, 0) => x.abs(),
            (0, _, j) if j == d => -x.abs(),
            _ => x,
        });
        let [hidden, output] = network.layers() else { panic!() };
        let Ok(fiber) = LayerFiber::new(hidden, output, Ground::Orthant, 0) else { continue };
        let representation = HyperplaneRepresentation::new(hidden, output, &Ground::Orthant.sides(d));
        let whole = Fiber::OneHiddenLayer(fiber.clone());
        let orientations: std::collections::BTreeSet<_> =
            fiber.components().map(|component| component.orientation).collect();
        assert_eq!(orientations.len(), 1 << fiber.hyperplanes().len());
        let others = fiber.others();
        for component in fiber.components() {
            let (matrix, _) = fiber.affine_rest(&component.orientation);
            assert_eq!(fiber.component(&component.piece()).as_ref(), Some(&component));
            if component.is_empty() {
                empty += 1;
                if let Existence::NotPointed(combination) = &component.existence {
                    assert!(Pointedness::NotPointed { combination: combination.clone() }.proves(&matrix));
                }
                assert!(FiberSampler::new(&whole, &component.piece()).is_err());
                continue;
            }
            full += 1;
            let pointed = matches!(pointedness(&matrix, &never), Some(Pointedness::Pointed { .. }));
            assert!(component.rank + usize::from(!pointed) <= component.linear && component.linear <= others);
            let factors = fiber.factors(&component).unwrap();
            assert_eq!(fiberscope::core::Scalar::product(&factors.left, &factors.right).unwrap(), matrix);
            assert!(factors.right.entries().iter().all(|x| !x.is_negative()));
            let sampler = FiberSampler::new(&whole, &component.piece()).unwrap();
            let point = sampler.sample(&mut rng).unwrap();
            sampled += 1;
            if point.exact {
                exact += 1;
                let [hidden, output] = [0, 1].map(|k| point.network.to_exact().layers()[k].clone());
                let found = HyperplaneRepresentation::new(&hidden, &output, &Ground::Orthant.sides(d));
                assert!(found.same_map(&representation));
                assert_eq!(fiber.contains(&hidden, &output), Membership::Member(component.piece()));
            }
        }
    }
    assert!(empty > 500 && full > 2000 && exact * 10 > sampled * 9, "{empty} {full} {exact} {sampled}");
}

/// The emptiness table of minimal networks.
#[test]
fn which_orientations_exist() {
    let mut rng = rng(4);
    for (l, d, m) in
        [(1, 3, 2), (2, 3, 3), (2, 2, 2), (2, 2, 3), (1, 3, 1), (2, 3, 2), (2, 3, 1), (3, 3, 2), (3, 4, 2)]
    {
        for _ in 0..5 {
            let network = with_roles(&mut rng, d, d, [3, l, 0], m);
            let fiber = bottleneck(&network);
            let layer = fiber.layer().unwrap();
            for component in fiber.components() {
                let given = component.orientation == own(&fiber).orientation;
                let pieces = fiber.components_of(&component.orientation);
                let (matrix, _) = layer.affine_rest(&component.orientation);
                let expected = if l < m.min(d) {
                    given
                } else if l == d || l == m + 1 {
                    true
                } else {
                    matches!(pointedness(&matrix, &never), Some(Pointedness::Pointed { .. }))
                };
                let points = pieces.iter().any(|component| !component.is_empty());
                assert_eq!(points, expected, "l = {l}, d = {d}, m = {m}");
            }
        }
    }
}

#[test]
fn on_all_of_space_only_the_given_orientation_exists() {
    let mut rng = rng(5);
    for _ in 0..50 {
        let widths = [rng.random_range(2..4), rng.random_range(1..5), rng.random_range(1..3)];
        let network = random_network(&mut rng, &widths);
        let fiber = bottleneck(&network);
        assert_eq!(dimension(&fiber), 0);
        assert_eq!(fiber.components().filter(|component| !component.is_empty()).count(), 1);
        assert_eq!(check_samples(&mut rng, &fiber, &network, &own(&fiber), 3), 3);
        assert_eq!(jacobian_dimension(&network), widths[1]);
    }
    // |x| = relu(x) + relu(-x), where the neurons share a hyperplane, is not generic.
    let absolute = edit(&random_network(&mut rng, &[1, 2, 1]), |l, i, j, _| match (l, i, j) {
        (0, 1, 0) => -Rational::ONE,
        (_, _, 1) if l == 0 => Rational::ZERO,
        _ => Rational::ONE,
    });
    let conditions = describe(&absolute, Ground::Space).unwrap_err();
    let failing = conditions.iter().find(|condition| !condition.holds).unwrap();
    assert_eq!(failing.detail.as_deref(), Some("neurons 1 and 2 of layer 1"));
}

#[test]
fn samples_of_bottleneck_fibers_are_equivalent() {
    let mut rng = rng(6);
    let cases = [
        ([2, 1, 0], 2, 1),
        ([2, 2, 1], 3, 1),
        ([1, 3, 0], 3, 2),
        ([1, 2, 0], 2, 2),
        ([2, 1, 1], 3, 2),
        ([2, 2, 0], 3, 2),
    ];
    for (roles, n1, n3) in cases {
        let network = with_roles(&mut rng, n1 + 1, n1, roles, n3);
        let fiber = bottleneck(&network);
        let (given, _) = network.to_f64().unwrap();
        for component in fiber.components().filter(|component| !component.is_empty()) {
            check_samples(&mut rng, &fiber, &network, &component.piece(), 4);
            let point = FiberSampler::new(&fiber, &component.piece()).unwrap().sample(&mut rng).unwrap();
            let decision = decide(
                &given,
                &point.network,
                &compared_on(point.exact, given.input_width()),
                &EquivalenceOptions::new().exact(point.exact),
            )
            .unwrap();
            match decision.verdict {
                Verdict::Equivalent { .. } => {}
                Verdict::EquivalentUpToRounding { .. } if !point.exact => {}
                other => panic!("{roles:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn membership_names_the_equation_that_fails() {
    let mut rng = rng(7);
    let network = with_roles(&mut rng, 2, 2, [1, 1, 1], 1);
    let fiber = bottleneck(&network);
    assert_eq!(fiber.contains(&network), Membership::Member(own(&fiber)));
    // layer, row, column (the bias is the last) -> the failure
    let check = |l: usize, i: usize, j: usize, expected: &str| {
        let changed = edit(
            &network,
            |a, b, c, x| if (a, b, c) == (l, i, j) { &x + &Rational::dyadic(1, -30) } else { x },
        );
        let Membership::Outside(violation) = fiber.contains(&changed) else {
            panic!("{expected}: still a member")
        };
        assert!(violation.to_string().contains(expected), "{violation}");
    };
    check(0, 0, 0, "no row is a positive multiple of row 1");
    check(1, 0, 0, "V_Lin W_Lin = M_S fails");
    check(1, 0, 2, "e = beta_S - V_Lin c_Lin fails");
    check(1, 2, 0, "neither on a hyperplane of the function nor linear");
    check(2, 0, 0, "V_Lin W_Lin = M_S fails");
    check(2, 0, 2, "|s| V = a fails");
    check(2, 0, 3, "e = beta_S - V_Lin c_Lin fails");
    // The dead neuron is free.
    let changed = edit(&network, |l, i, _, x| if (l, i) == (1, 1) { &x - &Rational::ONE } else { x });
    assert_eq!(fiber.contains(&changed), Membership::Member(own(&fiber)));

    let network = hiding(&mut rng, &[3, 3, 2, 1], 1);
    let fiber = bottleneck(&network);
    let Fiber::Bottleneck(inner) = &fiber else { panic!() };
    let far = &inner.hidden().unwrap().least - &Rational::ONE;
    let moved = edit(&network, |l, i, j, x| match (l, i, j) {
        (0, 1, 3) => &x + &far,
        (1, _, 3) => &x - &(&far * &network.layers()[1].weight()[(i, 1)]),
        _ => x,
    });
    let Membership::Outside(Violation::Hidden(reason)) = fiber.contains(&moved) else { panic!() };
    assert!(reason.contains("is below t_min"), "{reason}");
}

/// Paths between two random points of every component of every case stay in the fiber, begin and end where
/// they should.
#[test]
fn paths_stay_in_the_fiber() {
    let mut rng = rng(8);
    let mut joined = 0;
    for (roles, n1, n3) in [
        ([2, 0, 0], 2, 1),
        ([2, 1, 1], 3, 2),
        ([1, 2, 0], 3, 2),
        ([1, 2, 0], 2, 2),
        ([1, 2, 0], 3, 1),
        ([1, 3, 0], 3, 2),
        ([1, 4, 0], 3, 2),
    ] {
        let network = with_roles(&mut rng, n1, n1, roles, n3);
        let fiber = bottleneck(&network);
        for component in fiber.components().filter(|component| !component.is_empty()) {
            let sampler = FiberSampler::new(&fiber, &component.piece()).unwrap();
            let mut exact = || exact_point(&mut rng, &sampler).network.to_exact();
            let (a, b) = (exact(), exact());
            let path =
                FiberPath::between(&fiber, &a, &b).unwrap_or_else(|error| panic!("{roles:?}: {error}"));
            joined += 1;
            assert_eq!(path.at(&Rational::ZERO).unwrap(), a);
            for k in 0..=16 {
                let point =
                    path.at(&Rational::dyadic(k, -4)).unwrap_or_else(|error| panic!("{roles:?}: {error}"));
                assert_eq!(fiber.contains(&point), Membership::Member(component.piece()));
            }
            let end = path.at(&Rational::ONE).unwrap();
            assert_eq!(sorted(&end), sorted(&b));
        }
    }
    let network = hiding(&mut rng, &[3, 3, 1, 2], 1);
    let fiber = bottleneck(&network);
    let sampler = FiberSampler::new(&fiber, &own(&fiber)).unwrap();
    let [a, b] = [0, 1].map(|_| exact_point(&mut rng, &sampler).network.to_exact());
    let path = FiberPath::between(&fiber, &a, &b).unwrap();
    (0..=8).for_each(|k| check_same_values(&mut rng, &network, &path.at(&Rational::dyadic(k, -3)).unwrap()));
    assert!(joined >= 12, "{joined}");
}

/// All numbers of the first hidden layer, sorted: equal for networks that differ by the order of its neurons.
fn sorted(network: &ExactNetwork) -> Vec<Rational> {
    let mut numbers: Vec<Rational> = network
        .layers()
        .iter()
        .flat_map(|layer| layer.weight().entries().iter().chain(layer.bias()).cloned())
        .collect();
    numbers.sort();
    numbers
}

#[test]
fn networks_outside_the_theory_are_told_why() {
    let mut rng = rng(9);
    let check = |network: &ExactNetwork, expected: &str| {
        let conditions = describe(network, Ground::Space).unwrap_err();
        let failing: Vec<String> = conditions
            .iter()
            .filter(|condition| !condition.holds)
            .map(|condition| {
                format!("{}: {}", condition.statement, condition.detail.clone().unwrap_or_default())
            })
            .collect();
        assert!(failing.iter().any(|text| text.contains(expected)), "{failing:?}");
    };
    check(&random_network(&mut rng, &[2, 3, 2, 1]), "layer 1 is wider (3) than the input (2)");
    check(&random_network(&mut rng, &[2, 2, 2, 2, 1]), "3 hidden layers");
    let flat =
        edit(
            &random_network(&mut rng, &[3, 2, 2, 1]),
            |l, _, j, x| if l == 0 && j < 3 { Rational::ONE } else { x },
        );
    check(&flat, "W_1 has rank 1, expected 2");
    let dead = edit(&random_network(&mut rng, &[2, 2, 2, 1]), |l, _, _, x| if l == 1 { -x.abs() } else { x });
    check(&dead, "all 2 neurons of layer 2 are dead");
    let weak =
        edit(
            &hiding(&mut rng, &[3, 3, 2, 1], 0),
            |l, i, j, x| if (l, i, j) == (1, 1, 2) { Rational::ZERO } else { x },
        );
    check(&weak, "neuron 2 of layer 2: its weight on input 3 is 0");
    let unconnected =
        edit(
            &random_network(&mut rng, &[2, 2, 1]),
            |l, _, j, x| if (l, j) == (1, 0) { Rational::ZERO } else { x },
        );
    check(&unconnected, "every nonlinear neuron has outgoing weights: neuron 1 of layer 1");
}

/// The lower bound from symmetries is never above the Jacobian's dimension, and meets it where the theory is
/// complete.
#[test]
fn known_symmetries_bound_the_dimension() {
    let mut rng = rng(10);
    for (roles, n1, n3) in [
        ([2, 0, 0], 2, 1),
        ([2, 1, 0], 3, 2),
        ([1, 2, 0], 3, 1),
        ([1, 3, 0], 3, 2),
        ([2, 0, 1], 2, 1),
        ([1, 3, 1], 2, 2),
    ] {
        let network = with_roles(&mut rng, n1, n1, roles, n3);
        let known = symmetries(&network, &Domain::Space);
        assert_eq!(known.scalings, n1 + roles.iter().sum::<usize>());
        assert_eq!(known.dimension, jacobian_dimension(&network), "{roles:?} {n1} {n3}");
    }
    let network = hiding(&mut rng, &[3, 3, 1, 2], 1);
    let known = symmetries(&network, &Domain::Space);
    assert_eq!(known.dimension, jacobian_dimension(&network));
    assert!(known.symmetries.iter().any(|each| matches!(each, Symmetry::Translation { .. })));
    assert!(known.symmetries.iter().any(|each| matches!(each, Symmetry::Flips { count: 2, .. })));
    for widths in [vec![2, 3, 3, 1], vec![2, 3, 3, 2, 1], vec![3, 2, 4, 2, 2], vec![1, 4, 1]] {
        for _ in 0..3 {
            let network = random_network(&mut rng, &widths);
            let known = symmetries(&network, &Domain::Space);
            assert!(known.dimension <= jacobian_dimension(&network), "{widths:?}");
            assert!(known.dimension >= widths[1..widths.len() - 1].iter().sum::<usize>());
        }
    }
    // Layer 3 of a nonlocal network acts linearly on the box that layer 2 maps into.
    let nonlocal = construct_nonlocal(&[3, 2, 2, 2, 1], 0).unwrap().network;
    let known = symmetries(&nonlocal.to_exact(), &Domain::Space);
    assert!(known.symmetries.contains(&Symmetry::LinearNeurons { layer: 2, units: vec![0, 1] }));
    assert!(known.dimension > known.scalings);
}

/// Signs and the fiber agree on random bottleneck networks.
#[test]
fn signs_decide_identifiability() {
    let mut rng = rng(11);
    let (mut yes, mut no) = (0, 0);
    for _ in 0..300 {
        let widths = [3, rng.random_range(2..4), rng.random_range(1..4), 1];
        let network = random_network(&mut rng, &widths);
        let Ok(fiber) = describe(&network, Ground::Space) else { continue };
        let Fiber::Bottleneck(inner) = &fiber else { panic!() };
        match fiber.identifiability() {
            Identifiability::Yes { .. } => {
                yes += 1;
                assert_eq!(inner.signs(), SignVerdict::Identifiable);
                let facts = fiber.facts();
                assert_eq!((facts.dimension, facts.components), (Some(0), Some(1)));
            }
            Identifiability::No { .. } => {
                no += 1;
                // More hyperplanes than a_i u_i^T have entries may have other orientations by accident; short
                // numbers do.
                assert!(inner.signs() != SignVerdict::Identifiable || fiber.facts().components > Some(1));
            }
            Identifiability::Unknown { reason } => panic!("{reason}"),
        }
    }
    assert!(yes > 50 && no > 50, "{yes} {no}");
}

/// Full-size doubles: samples round, and the bound says by how much.
#[test]
fn rounded_samples_are_equivalent_up_to_rounding() {
    let mut rng = rng(12);
    let mut layer = |rows: usize, cols: usize, activation| {
        let weight = fiberscope::Matrix::from_fn(rows, cols, |i, _| {
            let x: f64 = rng.random_range(-1.0..1.0);
            if (rows, i) == (5, 0) || (rows, i) == (5, 1) { x.abs() } else { x }
        });
        let bias = (0..rows).map(|_| rng.random_range(0.0..1.0)).collect();
        Layer::new(weight, bias, activation)
    };
    let network = Network::new(vec![
        layer(4, 4, Activation::Relu),
        layer(5, 4, Activation::Relu),
        layer(2, 5, Activation::Identity),
    ])
    .unwrap();
    let fiber = describe(&network.to_exact(), Ground::Space).unwrap();
    let sampler = FiberSampler::new(&fiber, &own(&fiber)).unwrap();
    let mut rng = common::rng(13);
    for _ in 0..5 {
        let point = sampler.sample(&mut rng).unwrap();
        let options = EquivalenceOptions::new();
        let domain = compared_on(point.exact, 4);
        let decision = decide(&network, &point.network, &domain, &options).unwrap();
        match decision.verdict {
            Verdict::Equivalent { .. } => {}
            Verdict::EquivalentUpToRounding { agreement, .. } => {
                assert!(!point.exact && *agreement.bound().unwrap() < Rational::dyadic(1, -30))
            }
            other => panic!("{other:?}"),
        }
    }
}
