//! Pieces of special networks: hiding ones, those of the largest ranks, those whose parameters lie in no piece,
//! and one hidden layer on the orthant.

use fiberscope::core::Scalar;
use fiberscope::fiber::{FiberPath, FiberSampler, Ground, Membership, describe};
use fiberscope::{Activation, ExactNetwork, Layer, Matrix, Network, Rational};
use rand_chacha::ChaCha8Rng;

use super::common::{edit, hiding, random, rng};
use super::oracle::{Row, rank};
use super::{CASES, covered, exact_point, list, own, proved_equal, shape, with_roles};

pub fn hiding_with_dead(rng: &mut ChaCha8Rng, widths: [usize; 4], k: usize, dead: usize) -> ExactNetwork {
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
