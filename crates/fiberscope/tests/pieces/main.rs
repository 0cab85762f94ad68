//! The pieces of fibers with linear and dead neurons, against an enumeration that shares no code with the
//! library: orientations, ranks, emptiness, genericity, points.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod oracle;

use std::collections::BTreeMap;

use common::{edit, hiding, permute, r, random, random_network, rng, scale};
use fiberscope::anatomy::examine;
use fiberscope::core::Scalar;
use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::fiber::Identifiability;
use fiberscope::fiber::{
    Fiber, FiberComponent, FiberPath, FiberSampler, Ground, Membership, Orientation, PathError, Piece,
    SamplerError, describe,
};
use fiberscope::{Activation, Deadline, Domain, ExactNetwork, Layer, Matrix, Network, Rational};
use oracle::{Expected, Row, brute, rank};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A bottleneck network whose second layer has the given numbers of nonlinear, linear and dead neurons, in
/// random places.
fn with_roles(rng: &mut ChaCha8Rng, widths: [usize; 3], [r, l, dead]: [usize; 3]) -> ExactNetwork {
    let [n0, n1, n3] = widths;
    let network = random_network(rng, &[n0, n1, r + l + dead, n3]);
    let kinds: Vec<usize> = (0..r + l + dead).map(|_| rng.random_range(0..3)).collect();
    let network = edit(&network, |layer, i, j, x| match (layer, i) {
        (1, i) if i < l => x.abs(),
        (1, i) if i < l + dead => -x.abs(),
        // Nonlinear, and nothing is hidden: a positive weight, a negative one and a positive bias; or weights
        // of one sign and a bias of the other.
        (1, i) => match (kinds[i], j) {
            (1, j) if j == n1 => -x.abs(),
            (1, _) => x.abs(),
            (2, j) if j < n1 => -x.abs(),
            (_, 0) => x.abs(),
            (_, j) if j == n1 => x.abs(),
            (_, 1) => -x.abs(),
            _ => x,
        },
        _ => x,
    });
    permute(rng, &network, 1)
}

fn covered(network: &ExactNetwork) -> Fiber {
    describe(network, Ground::Space).unwrap_or_else(|conditions| panic!("{conditions:?}"))
}

fn own(fiber: &Fiber) -> Piece {
    fiber.own().unwrap_or_else(|violation| panic!("{violation}"))
}

fn facts(component: &FiberComponent) -> Expected {
    Expected {
        linear: component.linear,
        dead: component.dead,
        generic: component.generic.unwrap(),
        dimension: component.dimension,
    }
}

/// What two networks with the same function must share.
fn list(fiber: &Fiber) -> Vec<FiberComponent> {
    fiber.components().collect()
}

/// The library's list by the neurons that are turned, compared with the given ones.
fn by_turned(network: &ExactNetwork, fiber: &Fiber) -> BTreeMap<Vec<usize>, Vec<Expected>> {
    let second = &network.layers()[1];
    let layer = fiber.layer().unwrap();
    let own = own(fiber).orientation;
    // The given neuron on each hyperplane.
    let unit = |h: usize| {
        let plane = &layer.hyperplanes()[h];
        let on = |&unit: &usize| {
            let row: Row = second.weight().row(unit).iter().chain([&second.bias()[unit]]).cloned().collect();
            let other: Row = plane.normal.iter().chain([&plane.offset]).cloned().collect();
            rank(vec![row, other]) == 1
        };
        (0..second.width())
            .filter(|unit| !second.weight().row(*unit).iter().all(Rational::is_zero))
            .find(on)
            .unwrap()
    };
    let units: Vec<usize> = (0..layer.hyperplanes().len()).map(unit).collect();
    let mut found: BTreeMap<Vec<usize>, Vec<Expected>> = BTreeMap::new();
    for component in fiber.components() {
        let differs = |h: &usize| component.orientation.active()[*h] != own.active()[*h];
        let mut turned: Vec<usize> = (0..units.len()).filter(differs).map(|h| units[h]).collect();
        turned.sort_unstable();
        found.entry(turned).or_default().push(facts(&component));
    }
    found
}

fn grouped(pieces: Vec<(Vec<usize>, Expected)>) -> BTreeMap<Vec<usize>, Vec<Expected>> {
    let mut found: BTreeMap<Vec<usize>, Vec<Expected>> = BTreeMap::new();
    pieces.into_iter().for_each(|(turned, piece)| found.entry(turned).or_default().push(piece));
    found
}

fn proved_equal(a: &ExactNetwork, b: &ExactNetwork) -> bool {
    let [(a, exact_a), (b, exact_b)] = [a, b].map(|network| network.to_f64().unwrap());
    assert!(exact_a && exact_b);
    let options = EquivalenceOptions::new().exact(true);
    let decision = decide(&a, &b, &Domain::Space, &options).unwrap();
    matches!(decision.verdict, Verdict::Equivalent { .. })
}

/// A point of a piece whose doubles are exact, if one is drawn soon.
fn exact_point(rng: &mut ChaCha8Rng, fiber: &Fiber, piece: &Piece) -> Option<ExactNetwork> {
    let sampler = FiberSampler::new(fiber, piece).unwrap_or_else(|error| panic!("{error}"));
    (0..100)
        .map(|_| sampler.sample(rng).unwrap())
        .find(|point| point.exact)
        .map(|point| point.network.to_exact())
}

/// Roles `[visible, linear, dead]` and widths `[n_0, n_1, n_3]`.
const CASES: [([usize; 3], [usize; 3]); 18] = [
    ([1, 0, 1], [2, 2, 1]),
    ([2, 0, 1], [2, 2, 1]),
    ([2, 0, 2], [3, 3, 1]),
    ([3, 0, 1], [3, 2, 2]),
    ([2, 0, 3], [2, 2, 2]),
    ([2, 1, 1], [3, 3, 2]),
    ([2, 1, 1], [3, 3, 1]),
    ([1, 1, 2], [3, 3, 3]),
    ([2, 2, 1], [3, 3, 1]),
    ([3, 1, 0], [3, 3, 1]),
    ([2, 2, 2], [2, 2, 2]),
    ([1, 2, 1], [3, 3, 2]),
    ([2, 3, 1], [3, 3, 2]),
    ([2, 0, 2], [2, 2, 3]),
    ([2, 2, 1], [2, 2, 3]),
    ([4, 1, 1], [4, 4, 2]),
    ([3, 2, 0], [4, 4, 2]),
    ([0, 2, 2], [3, 2, 2]),
];

/// Law: the list is that of the enumeration; every piece with points gives one that the exact procedure
/// proves equal, and that is found in this piece; equal networks have the same list.
#[test]
fn the_list_is_that_of_brute_force() {
    let mut rng = rng(21);
    let (mut pieces, mut empty, mut not_generic, mut proved) = (0, 0, 0, 0);
    for (roles, widths) in CASES {
        for round in 0..4 {
            let network = with_roles(&mut rng, widths, roles);
            let fiber = covered(&network);
            let given = own(&fiber);
            assert_eq!((given.linear, fiber.component(&given).unwrap().dead), (roles[1], Some(roles[2])));
            assert_eq!(by_turned(&network, &fiber), grouped(brute(&network)), "{roles:?} {widths:?}");
            let list = list(&fiber);
            for component in &list {
                pieces += 1;
                assert_eq!(fiber.component(&component.piece()).as_ref(), Some(component));
                if component.is_empty() {
                    empty += 1;
                    let refused = FiberSampler::new(&fiber, &component.piece()).unwrap_err();
                    assert_eq!(refused, SamplerError::Empty(component.piece()));
                    continue;
                }
                not_generic += usize::from(component.generic == Some(false));
                let Some(point) = exact_point(&mut rng, &fiber, &component.piece()) else { continue };
                assert_eq!(fiber.contains(&point), Membership::Member(component.piece()));
                // The fiber of the point is the fiber, whatever piece it lies in.
                let there = covered(&point);
                assert_eq!(own(&there), component.piece());
                assert_eq!(
                    self::list(&there).iter().map(shape).collect::<Vec<_>>(),
                    list.iter().map(shape).collect::<Vec<_>>()
                );
                if round == 0 {
                    assert!(proved_equal(&network, &point), "{roles:?} {widths:?} {}", component.piece());
                    proved += 1;
                }
            }
        }
    }
    assert!(
        pieces > 500 && empty > 30 && not_generic > 50 && proved > 80,
        "{pieces} {empty} {not_generic} {proved}"
    );
}

/// Law: the ranks of products without the linear neurons count, too. Two visible neurons are given parallel
/// hyperplanes, or outgoing weights that are multiples of each other, or (last) parallel hyperplanes and
/// opposite outgoing weights, which cancel for one output where both neurons are turned or none is.
#[test]
fn visible_neurons_alone_have_masked_products_too() {
    let mut rng = rng(29);
    let (mut all, mut some, mut none) = (0, 0, 0);
    for (roles, widths) in [
        ([2, 2, 0], [2, 2, 2]),
        ([2, 2, 1], [3, 3, 2]),
        ([3, 2, 0], [3, 3, 2]),
        ([2, 1, 0], [2, 2, 1]),
        ([3, 1, 1], [3, 3, 1]),
        ([3, 1, 0], [3, 2, 2]),
        ([2, 0, 1], [2, 2, 2]),
    ] {
        for kind in 0..4 {
            let network = with_roles(&mut rng, widths, roles);
            let second = network.layers()[1].clone();
            let third = network.layers()[2].clone();
            let signs = |unit: usize| {
                second.weight().row(unit).iter().chain([&second.bias()[unit]]).map(Rational::signum)
            };
            let mut visible =
                (0..second.width()).filter(|&unit| signs(unit).any(|s| s > 0) && signs(unit).any(|s| s < 0));
            let (from, to) = (visible.next().unwrap(), visible.next().unwrap());
            let two = Rational::from(2);
            let changed = edit(&network, |l, i, j, x| match (l, i, j) {
                (1, i, j) if i == to && kind != 1 && kind != 3 => match second.weight().row(from).get(j) {
                    Some(w) => w.clone(),
                    None => &second.bias()[from] * &two,
                },
                (2, o, j) if j == to && kind == 1 => &third.weight()[(o, from)] * &two,
                (2, o, j) if j == to && kind == 2 => -&third.weight()[(o, from)],
                _ => x,
            });
            let fiber = covered(&changed);
            // Where both neurons turned round cancel, the function may be that of networks that hide a
            // hyperplane.
            if fiber.layer().is_none() {
                continue;
            }
            let expected = grouped(brute(&changed));
            assert_eq!(by_turned(&changed, &fiber), expected, "{roles:?} {widths:?} {kind}");
            let generic: Vec<bool> = expected.values().flatten().map(|piece| piece.generic).collect();
            match generic.iter().filter(|generic| **generic).count() {
                0 => none += 1,
                count if count == generic.len() => all += 1,
                _ => some += 1,
            }
        }
    }
    assert!(all > 3 && some > 3 && none > 3, "{all} {some} {none}");
}

/// Two parallel visible hyperplanes and two outputs: the product of these two neurons has rank 1.
#[test]
fn parallel_visible_hyperplanes_are_not_generic() {
    let network = Network::new(vec![
        layer(&[&["1", "1/2"], &["1/4", "-1"]], &["1/2", "1/4"], Activation::Relu),
        layer(
            &[&["1", "-2"], &["1", "-2"], &["1", "3"], &["2", "1"]],
            &["1", "-1/2", "1", "2"],
            Activation::Relu,
        ),
        layer(&[&["1", "2", "-1", "3"], &["2", "-1", "1", "1"]], &["0", "1"], Activation::Identity),
    ])
    .unwrap();
    let fiber = covered(&network);
    assert!(fiber.components().all(|component| component.generic == Some(false)));
    assert_eq!(fiber.count().unwrap().generic, Some(0));
}

/// A piece without the numbers that prove it: functionals and multipliers depend on scales.
fn shape(component: &FiberComponent) -> (Piece, Option<usize>, Option<bool>, Option<usize>, usize) {
    (component.piece(), component.dead, component.generic, component.dimension, component.rank)
}

/// The experiment of the corrected description: one dead neuron beside visible ones. Before, 20 of 30
/// networks had pieces with points that were called empty.
#[test]
fn nothing_that_has_a_point_is_called_empty() {
    let mut rng = rng(22);
    let (mut wrong, mut with_points) = (0, 0);
    for _ in 0..30 {
        let (n1, n3) = (rng.random_range(2..4), rng.random_range(1..3));
        let visible = rng.random_range(1..4);
        let network = with_roles(&mut rng, [3, n1, n3], [visible, 0, 1]);
        let fiber = covered(&network);
        let brute = grouped(brute(&network));
        let has_points = |pieces: &[Expected]| pieces.iter().any(|piece| piece.dimension.is_some());
        for (turned, pieces) in by_turned(&network, &fiber) {
            with_points += usize::from(has_points(&brute[&turned]));
            wrong += usize::from(!has_points(&pieces) && has_points(&brute[&turned]));
        }
    }
    assert!(with_points > 50, "{with_points}");
    assert_eq!(wrong, 0);
}

fn layer(rows: &[&[&str]], bias: &[&str], activation: Activation) -> Layer<Rational> {
    let rows: Vec<Row> = rows.iter().map(|row| row.iter().map(|x| r(x)).collect()).collect();
    Layer::new(Matrix::from_rows(&rows).unwrap(), bias.iter().map(|x| r(x)).collect(), activation)
}

/// The networks A and B of the theory page: a visible and a dead neuron; the same function with the visible
/// neuron turned round and the other one linear.
fn example() -> [ExactNetwork; 2] {
    let first = layer(&[&["1", "1/2"], &["1/4", "-1"]], &["1/2", "1/4"], Activation::Relu);
    let a = [
        layer(&[&["1", "2"], &["-1", "-3"]], &["-1", "-1"], Activation::Relu),
        layer(&[&["3", "1"]], &["1/2"], Activation::Identity),
    ];
    let b = [
        layer(&[&["-1", "-2"], &["1", "2"]], &["1", "1/2"], Activation::Relu),
        layer(&[&["3", "3"]], &["-4"], Activation::Identity),
    ];
    [a, b].map(|[second, third]| Network::new(vec![first.clone(), second, third]).unwrap())
}

#[test]
fn a_dead_neuron_may_become_linear() {
    let [a, b] = example();
    assert!(proved_equal(&a, &b));
    let plus = Piece { orientation: Orientation::parse("+").unwrap(), linear: 0 };
    let minus = Piece { orientation: Orientation::parse("-").unwrap(), linear: 1 };
    let fibers = [&a, &b].map(covered);
    assert_eq!([own(&fibers[0]), own(&fibers[1])], [plus.clone(), minus.clone()]);
    for fiber in &fibers {
        let found: Vec<_> = fiber.components().map(|each| (each.piece(), facts(&each))).collect();
        // 3 = n_1 + n_3 for the dead neuron; for the linear one 1.
        let expected = |linear, generic, dimension| Expected {
            linear,
            dead: Some(1 - linear),
            generic,
            dimension: Some(dimension),
        };
        assert_eq!(found, [(plus.clone(), expected(0, true, 3)), (minus.clone(), expected(1, false, 1))]);
        let facts = fiber.facts();
        assert_eq!((facts.dimension, facts.generic_dimension, facts.components), (Some(3), Some(3), Some(2)));
        assert_eq!(fiber.contains(&a), Membership::Member(plus.clone()));
        assert_eq!(fiber.contains(&b), Membership::Member(minus.clone()));
        let Err(PathError::DifferentPieces { .. }) = FiberPath::between(fiber, &a, &b) else { panic!() };
    }
    let anatomies =
        [&a, &b].map(|network| examine(&network.to_f64().unwrap().0, &Domain::Space, &Deadline::NEVER));
    for (anatomy, generic) in anatomies.iter().zip([true, false]) {
        assert!(matches!(anatomy.identifiability, Identifiability::No { .. }));
        assert_eq!(anatomy.fiber.unwrap().components, Some(2));
        assert_eq!(anatomy.conditions.iter().all(|condition| condition.holds), generic);
    }
}

/// Permutations and scalings of both hidden layers do not change the list, and one network's name for a piece
/// is the other's.
#[test]
fn equal_networks_have_the_same_list() {
    let mut rng = rng(23);
    let mut drawn = 0;
    for (roles, widths) in CASES {
        let network = with_roles(&mut rng, widths, roles);
        let mut twin = network.clone();
        for layer in 0..2 {
            twin = permute(&mut rng, &twin, layer);
            twin = scale(&mut rng, &twin, layer);
        }
        let (fiber, other) = (covered(&network), covered(&twin));
        assert_eq!(
            fiber.components().map(|each| shape(&each)).collect::<Vec<_>>(),
            other.components().map(|each| shape(&each)).collect::<Vec<_>>()
        );
        assert_eq!(own(&fiber), own(&other));
        assert_eq!(fiber.contains(&twin), Membership::Member(own(&fiber)));
        assert_eq!(other.contains(&network), Membership::Member(own(&fiber)));
    }
    for (widths, k, dead) in
        [([3, 3, 1, 2], 1, 0), ([3, 3, 2, 1], 0, 1), ([4, 4, 2, 1], 2, 1), ([2, 2, 3, 1], 1, 2)]
    {
        let network = hiding_with_dead(&mut rng, widths, k, dead);
        let mut twin = network.clone();
        for layer in 0..2 {
            twin = permute(&mut rng, &twin, layer);
            twin = scale(&mut rng, &twin, layer);
        }
        let (fiber, other) = (covered(&network), covered(&twin));
        assert_eq!(list(&fiber), list(&other));
        assert_eq!(fiber.contains(&twin), Membership::Member(own(&fiber)));
        for component in fiber.components() {
            // Flips divide by weights.
            let Some(point) = exact_point(&mut rng, &fiber, &component.piece()) else { continue };
            drawn += 1;
            assert_eq!(fiber.contains(&point), Membership::Member(component.piece()));
            let there = covered(&point);
            assert_eq!((own(&there), list(&there)), (component.piece(), list(&fiber)));
            assert!(proved_equal(&network, &point));
        }
    }
    assert!(drawn >= 4, "{drawn}");
}

fn hiding_with_dead(rng: &mut ChaCha8Rng, widths: [usize; 4], k: usize, dead: usize) -> ExactNetwork {
    edit(&hiding(rng, &widths, k), |l, i, _, x| if l == 1 && i < dead { -x.abs() } else { x })
}

/// Hiding with dead neurons: one dimension for the translation, `n_1 + n_3` for each dead neuron; with one
/// live neuron `2^(n_1 - 1)` pieces. Networks with the function that do not hide anything themselves are
/// described by it.
#[test]
fn hiding_networks_with_dead_neurons() {
    let mut rng = rng(24);
    for (widths, k, dead) in [([3, 3, 2, 2], 1, 1), ([3, 2, 3, 1], 0, 2), ([3, 3, 4, 1], 2, 2)] {
        let network = hiding_with_dead(&mut rng, widths, k, dead);
        let fiber = covered(&network);
        let count = fiber.count().unwrap();
        let live = widths[2] - dead;
        let pieces = if live == 1 { 1 << (widths[1] - 1) } else { 1 };
        assert_eq!((count.pieces, count.nonempty, count.generic), (pieces, pieces, Some(pieces)));
        assert_eq!(count.dimension, Some(1 + dead * (widths[1] + widths[3])));
        // Turn a live neuron, with n_1 linear neurons in place of dead ones that undo it, if there are so
        // many.
        if dead < widths[1] {
            continue;
        }
        let turned = turned_with_identity(&network);
        assert!(proved_equal(&network, &turned));
        let there = covered(&turned);
        assert_eq!(list(&there), list(&fiber));
        assert!(there.own().is_err());
        assert!(matches!(fiber.contains(&turned), Membership::Elsewhere(_)));
        assert!(matches!(there.contains(&network), Membership::Member(_)));
    }
}

/// The network with its last live neuron turned round and `n_1` dead neurons made linear:
/// `V relu(z) = V relu(-z) + V z`.
fn turned_with_identity(network: &ExactNetwork) -> ExactNetwork {
    let [first, second, third] = network.layers() else { panic!() };
    let (n1, last) = (first.width(), second.width() - 1);
    let (v, w) = (third.weight().column(last).cloned().collect::<Row>(), second.weight().row(last).to_vec());
    let rows = Matrix::from_fn(second.width(), n1, |j, i| match j {
        j if j == last => -&w[i],
        j if j < n1 => Rational::from(i64::from(i == j)),
        _ => second.weight()[(j, i)].clone(),
    });
    let bias = (0..second.width()).map(|j| match j {
        j if j == last => -&second.bias()[j],
        j if j < n1 => Rational::ZERO,
        _ => second.bias()[j].clone(),
    });
    let out = Matrix::from_fn(third.width(), second.width(), |o, j| match j {
        j if j < n1 => &v[o] * &w[j],
        _ => third.weight()[(o, j)].clone(),
    });
    let constant = third.bias().iter().zip(&v).map(|(e, v)| e + &(v * &second.bias()[last]));
    Network::new(vec![
        first.clone(),
        Layer::new(rows, bias.collect(), Activation::Relu),
        Layer::new(out, constant.collect(), Activation::Identity),
    ])
    .unwrap()
}

/// Law: a piece is called generic iff the product of the masked layers 2 and 3 has the largest possible rank
/// for all masks of the three widths, at random points of the piece.
#[test]
fn generic_pieces_are_those_with_the_largest_ranks() {
    let mut rng = rng(25);
    let (mut yes, mut no) = (0, 0);
    for (roles, widths) in CASES.into_iter().filter(|(roles, _)| roles.iter().sum::<usize>() <= 4) {
        let network = with_roles(&mut rng, widths, roles);
        let fiber = covered(&network);
        for component in fiber.components().filter(|component| !component.is_empty()) {
            let sampler = FiberSampler::new(&fiber, &component.piece()).unwrap();
            // Single points may be degenerate by accident; a piece is generic iff some points are.
            let generic = (0..60).any(|_| {
                let point = sampler.sample(&mut rng).unwrap();
                point.exact && has_largest_ranks(&point.network.to_exact())
            });
            assert_eq!(component.generic, Some(generic), "{roles:?} {widths:?} {}", component.piece());
            if generic { yes += 1 } else { no += 1 }
        }
    }
    assert!(yes > 10 && no > 10, "{yes} {no}");
}

fn has_largest_ranks(network: &ExactNetwork) -> bool {
    let [_, second, third] = network.layers() else { panic!() };
    let (d, n, m) = (second.input_width(), second.width(), third.width());
    let subset = |code: usize, of: usize| (0..of).filter(|k| code >> k & 1 == 1).collect::<Vec<_>>();
    (1usize..1 << n).all(|units| {
        let units = subset(units, n);
        let (left, right) = (third.weight().select_columns(&units), second.weight().select_rows(&units));
        let product = Scalar::product(&left, &right).unwrap();
        (1usize..1 << m).all(|outputs| {
            let outputs = subset(outputs, m);
            (1usize..1 << d).all(|inputs| {
                let inputs = subset(inputs, d);
                let masked = product.select_rows(&outputs).select_columns(&inputs);
                let rows = masked.iter_rows().map(<[Rational]>::to_vec).collect();
                rank(rows) == outputs.len().min(inputs.len()).min(units.len())
            })
        })
    })
}

/// Parameters with the function that lie in no piece are told from parameters without it.
#[test]
fn parameters_in_no_piece_are_described_by_their_function() {
    let mut rng = rng(26);
    for (roles, widths) in [([2, 0, 1], [3, 3, 2]), ([2, 1, 1], [3, 3, 2]), ([1, 2, 1], [3, 2, 1])] {
        let network = with_roles(&mut rng, widths, roles);
        let fiber = covered(&network);
        let signs = |unit: usize| {
            let second = &network.layers()[1];
            second
                .weight()
                .row(unit)
                .iter()
                .chain([&second.bias()[unit]])
                .map(Rational::signum)
                .collect::<Vec<_>>()
        };
        let width = network.layers()[1].width();
        let dead = (0..width).find(|&unit| signs(unit).iter().all(|s| *s <= 0)).unwrap();
        let visible = (0..width).find(|&unit| signs(unit).contains(&1) && signs(unit).contains(&-1)).unwrap();
        let half = Rational::dyadic(1, -1);
        // The dead neuron becomes a copy of a visible one, with half of its outgoing weights.
        let [_, second, third] = network.layers() else { panic!() };
        let shared = edit(&network, |l, i, j, x| match (l, i, j) {
            (1, i, j) if i == dead => {
                if j < widths[1] {
                    second.weight()[(visible, j)].clone()
                } else {
                    second.bias()[visible].clone()
                }
            }
            (2, o, j) if j == dead || j == visible => &third.weight()[(o, visible)] * &half,
            _ => x,
        });
        // Or a neuron without outgoing weights on some other hyperplane.
        let unconnected = edit(&network, |l, i, j, x| match (l, i, j) {
            (1, i, j) if i == dead => Rational::from(if j == 0 { 3 } else { -1 - j as i64 }),
            (2, _, j) if j == dead => Rational::ZERO,
            _ => x,
        });
        for other in [&shared, &unconnected] {
            assert!(proved_equal(&network, other));
            assert!(matches!(fiber.contains(other), Membership::Elsewhere(_)));
            let there = covered(other);
            assert!(there.own().is_err());
            assert_eq!(
                there.components().map(|each| shape(&each)).collect::<Vec<_>>(),
                fiber.components().map(|each| shape(&each)).collect::<Vec<_>>()
            );
            assert_eq!(there.contains(&network), Membership::Member(own(&fiber)));
            for component in there.components().filter(|component| !component.is_empty()) {
                if let Some(point) = exact_point(&mut rng, &there, &component.piece()) {
                    assert_eq!(fiber.contains(&point), Membership::Member(component.piece()));
                }
            }
        }
        let changed =
            edit(&shared, |l, _, j, x| if (l, j) == (2, visible) { &x + &random(&mut rng) } else { x });
        assert!(matches!(fiber.contains(&changed), Membership::Outside(_)));
    }
}

/// Paths inside the pieces with dead neurons stay there.
#[test]
fn paths_with_dead_neurons_stay_in_their_piece() {
    let mut rng = rng(27);
    let mut joined = 0;
    for (roles, widths) in
        [([2, 0, 2], [3, 3, 1]), ([2, 1, 1], [3, 3, 2]), ([1, 2, 2], [3, 3, 1]), ([1, 3, 1], [2, 2, 3])]
    {
        let network = with_roles(&mut rng, widths, roles);
        let fiber = covered(&network);
        for component in fiber.components().filter(|component| !component.is_empty()) {
            let piece = component.piece();
            let ends = [0, 1].map(|_| exact_point(&mut rng, &fiber, &piece));
            let [Some(a), Some(b)] = ends else { continue };
            let path = FiberPath::between(&fiber, &a, &b).unwrap_or_else(|error| panic!("{piece}: {error}"));
            for k in 0..=8 {
                let point = path.at(&Rational::dyadic(k, -3)).unwrap();
                assert_eq!(fiber.contains(&point), Membership::Member(piece.clone()));
            }
            joined += 1;
        }
    }
    assert!(joined > 12, "{joined}");
}

/// One hidden layer on the orthant, where dead and linear neurons exist, and on all of space, where they are
/// refused.
#[test]
fn one_hidden_layer_on_the_orthant() {
    let mut rng = rng(28);
    let wide = with_roles(&mut rng, [3, 3, 2], [2, 1, 1]);
    let network = Network::new(wide.layers()[1..].to_vec()).unwrap();
    let fiber = describe(&network, Ground::Orthant).unwrap();
    assert_eq!(own(&fiber).linear, 1);
    let nonempty = fiber.components().filter(|component| !component.is_empty()).count() as u64;
    assert_eq!(fiber.facts().components, Some(nonempty));
    for component in fiber.components().filter(|component| !component.is_empty()) {
        if let Some(point) = exact_point(&mut rng, &fiber, &component.piece()) {
            assert_eq!(fiber.contains(&point), Membership::Member(component.piece()));
        }
    }
    // On R^3 every neuron is a visible one.
    let space = describe(&network, Ground::Space).unwrap();
    assert_eq!(space.facts().dimension, Some(0));
    let constant = edit(&network, |l, i, j, x| if (l, i) == (0, 0) && j < 3 { Rational::ZERO } else { x });
    let conditions = describe(&constant, Ground::Space).unwrap_err();
    assert!(
        conditions
            .iter()
            .any(|condition| !condition.holds && condition.detail.as_deref() == Some("neuron 1 of layer 1"))
    );
    assert!(describe(&constant, Ground::Orthant).is_ok());
}
