//! Rules of the region tree, each with a tree that breaks it.

use CoverNode::{Empty, Equal, None as Never, Same};

use super::*;
use crate::Refusal;
use crate::testing::network;

fn verify(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain, tree: &[CoverNode]) -> Result<(), Refusal> {
    let check = || {
        let mut walk = Walk::new(a, b, domain, &|| false)?;
        tree.iter().try_for_each(|node| walk.next(node))?;
        walk.finish()
    };
    check().map_err(|end| match end {
        End::Refused(refusal) => refusal,
        End::Stopped => panic!("nobody stops it"),
    })
}

/// `relu(x) + relu(-x)`.
fn absolute() -> ExactNetwork {
    network(&[(&[&[1], &[-1]], &[0, 0]), (&[&[1, 1]], &[0])])
}

/// `relu(2 relu(x) + 2 relu(-x)) / 2` with a dead neuron and one that is always 3.
fn deep() -> ExactNetwork {
    network(&[
        (&[&[-2], &[2], &[0]], &[0, 0, 3]),
        (&[&[1, 1, 0], &[-1, -1, -1]], &[0, -1]),
        (&[&[1, 5]], &[0]),
        (&[&[1]], &[0]),
    ])
}

fn a(layer: usize, unit: usize) -> CoverNode {
    CoverNode::Split(Operand::A, Neuron { layer: layer - 1, unit: unit - 1 })
}

fn b(layer: usize, unit: usize) -> CoverNode {
    CoverNode::Split(Operand::B, Neuron { layer: layer - 1, unit: unit - 1 })
}

/// Constraints count from 1 here, as in print.
fn empty(terms: &[(usize, i64)]) -> CoverNode {
    Empty(terms.iter().map(|&(c, m)| (c - 1, Rational::from(m))).collect())
}

/// `|x|` against itself with the neurons exchanged.
fn valid() -> Vec<CoverNode> {
    let pair = |first: [CoverNode; 3], last: [CoverNode; 2]| first.into_iter().chain(last);
    let mut tree = vec![a(1, 1)];
    // x > 0: -x > 0 is empty for A's second and B's first neuron, B's second is on.
    tree.extend(pair([a(1, 2), empty(&[(1, 1), (2, 1)]), b(1, 1)], [empty(&[(1, 1), (3, 1)]), b(1, 2)]));
    tree.extend([Equal, empty(&[(1, 1), (4, 1)])]);
    // x < 0.
    tree.extend([a(1, 2), b(1, 1), b(1, 2), empty(&[(1, 1), (4, 1)]), Equal]);
    tree.extend([empty(&[(2, 1), (3, 1)]), empty(&[(1, 1), (2, 1)])]);
    tree
}

fn exchanged() -> ExactNetwork {
    network(&[(&[&[-1], &[1]], &[0, 0]), (&[&[1, 1]], &[0])])
}

fn refused(tree: &[CoverNode], expected: &str) {
    let refusal = verify(&absolute(), &exchanged(), &Domain::Space, tree).unwrap_err();
    assert!(refusal.to_string().contains(expected), "{refusal}");
}

#[test]
fn a_complete_tree_is_accepted() {
    verify(&absolute(), &exchanged(), &Domain::Space, &valid()).unwrap();
}

#[test]
fn every_rule_is_enforced() {
    let with = |place: usize, node: CoverNode| {
        let mut tree = valid();
        tree[place] = node;
        tree
    };
    refused(&[], "node 1 (the root): the tree ends too early");
    refused(&valid()[..5], "the tree ends too early");
    refused(&[valid(), vec![Equal]].concat(), "node 16: the tree ends before this node");
    refused(&with(0, Equal), "layer 1 of A is not decided");
    refused(&with(1, Equal), "node 2 (A 1.1 on): layer 1 of A is not decided");
    refused(&with(0, Never), "\"none\" stands only for");
    refused(&with(0, a(2, 1)), "A has no hidden layer 2");
    refused(&with(0, a(1, 3)), "A has no neuron 3 of layer 1");
    refused(&with(1, a(1, 1)), "neuron 1 of layer 1 of A is already decided");
    refused(&with(2, empty(&[])), "at least one constraint");
    refused(&with(2, empty(&[(3, 1), (2, 1)])), "constraint 3 does not exist; the last is 2");
    refused(&with(2, empty(&[(1, 1), (2, 0)])), "multiplier of constraint 2 must be a positive integer");
    refused(&with(2, empty(&[(1, -1), (2, -1)])), "constraint 1 must be a positive integer");
    refused(&with(2, Empty(vec![(0, Rational::dyadic(1, -1))])), "must be a positive integer");
    refused(&with(2, empty(&[(1, 1), (2, 2)])), "gradients with their multipliers must add up to zero");
    refused(&with(5, a(1, 2)), "already decided");
    refused(&with(6, empty(&[(1, 1), (2, 1)])), "gradients");
}

#[test]
fn a_positive_sum_of_constants_is_refused() {
    // x + 1 and 1 - x are both positive around 0.
    let bump = network(&[(&[&[1], &[-1]], &[1, 1]), (&[&[1, 1]], &[0])]);
    let tree = [a(1, 1), a(1, 2), empty(&[(1, 1), (2, 1)])];
    let refusal = verify(&bump, &bump, &Domain::Space, &tree).unwrap_err();
    assert!(refusal.rule.contains("constants with their multipliers"), "{refusal}");
}

#[test]
fn maps_that_differ_are_refused() {
    let twice = network(&[(&[&[-1], &[1]], &[0, 0]), (&[&[1, 2]], &[0])]);
    let refusal = verify(&absolute(), &twice, &Domain::Space, &valid()).unwrap_err();
    assert!(refusal.rule.contains("output 1 is not the same affine function"), "{refusal}");
}

#[test]
fn constants_layers_and_boxes() {
    let half = Domain::from_bounds(&[(0.0, 4.0)]).unwrap();
    let same = network(&[(&[&[2]], &[0]), (&[&[1]], &[0])]);
    // On [0, 4]: A's neuron is on, the deep network's first is off, its second on, its third constant.
    let tree = vec![
        a(1, 1),
        b(1, 3),
        b(1, 1),
        empty(&[(1, 2), (4, 1)]),
        b(1, 2),
        b(2, 2),
        empty(&[(1, 2), (6, 1)]),
        b(2, 1),
        b(3, 1),
        Equal,
        empty(&[(1, 2), (8, 1)]),
        empty(&[(1, 2), (7, 1)]),
        empty(&[(1, 2), (5, 1)]),
        Never,
        empty(&[(1, 2), (3, 1)]),
    ];
    verify(&same, &deep(), &half, &tree).unwrap();
    let check = |place: usize, node: CoverNode, expected: &str| {
        let mut tree = tree.clone();
        tree[place] = node;
        let refusal = verify(&same, &deep(), &half, &tree).unwrap_err();
        assert!(refusal.to_string().contains(expected), "{refusal}");
    };
    check(13, Equal, "this side must be \"none\"");
    check(4, b(2, 1), "neuron 1 of layer 2 of B is split before layer 1 is decided");
    check(3, Never, "\"none\" stands only for");
    check(9, empty(&[(2, 1)]), "gradients");
    // The same on [0, 0]: every pre-activation is constant and there are no constraints.
    let point = Domain::from_bounds(&[(0.0, 0.0)]).unwrap();
    let tree = [a(1, 1), b(1, 1), b(1, 2), b(1, 3), b(2, 1), b(2, 2), Never, b(3, 1), Equal];
    let tree = [&tree[..], &vec![Never; 6]].concat();
    verify(&same, &deep(), &point, &tree).unwrap();
}

#[test]
fn what_is_not_decided_may_be_the_same() {
    verify(&absolute(), &exchanged(), &Domain::Space, &[Same]).unwrap();
    let mut tree = valid();
    tree[6] = Same;
    verify(&absolute(), &exchanged(), &Domain::Space, &tree).unwrap();
    let half = Domain::from_bounds(&[(0.0, 4.0)]).unwrap();
    let line = network(&[(&[&[2]], &[0]), (&[&[1]], &[0])]);
    verify(&line, &deep(), &half, &[Same]).unwrap();
    let refusal = verify(&line, &deep(), &Domain::Space, &[Same]).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "region tree, node 1 (the root): output 1 is not the same expression in A and B"
    );
    let twice = network(&[(&[&[-1], &[1]], &[0, 0]), (&[&[1, 2]], &[0])]);
    assert!(verify(&absolute(), &twice, &Domain::Space, &[Same]).is_err());
}

/// The larger of two affine functions of two inputs, `a + relu(b - a)`, with `a` carried as
/// `relu(a) - relu(-a)`.
fn maximum(a: [i64; 2], b: [i64; 2]) -> ExactNetwork {
    let difference = [b[0] - a[0], b[1] - a[1]];
    network(&[(&[&a, &[-a[0], -a[1]], &difference], &[0, 0, 0]), (&[&[1, -1, 1]], &[0])])
}

#[test]
fn opposite_expressions_have_one_atom() {
    let (a, b) = (maximum([1, 2], [3, -1]), maximum([3, -1], [1, 2]));
    verify(&a, &b, &Domain::Space, &[Same]).unwrap();
    assert!(verify(&a, &maximum([3, -1], [1, 1]), &Domain::Space, &[Same]).is_err());
}

#[test]
fn a_relu_under_a_larger_one_is_absorbed() {
    // relu(relu(x) - relu(y) - 1) and relu(x - relu(y) - 1).
    let both = network(&[(&[&[1, 0], &[0, 1]], &[0, 0]), (&[&[1, -1]], &[-1]), (&[&[1]], &[0])]);
    let one =
        network(&[(&[&[1, 0], &[-1, 0], &[0, 1]], &[0, 0, 0]), (&[&[1, -1, -1]], &[-1]), (&[&[1]], &[0])]);
    verify(&both, &one, &Domain::Space, &[Same]).unwrap();
    // With + 1 in place of - 1 the rest is not negative: at x = -1, y = 0 the values are 1 and 0.
    let both = network(&[(&[&[1, 0], &[0, 1]], &[0, 0]), (&[&[1, -1]], &[1]), (&[&[1]], &[0])]);
    let one =
        network(&[(&[&[1, 0], &[-1, 0], &[0, 1]], &[0, 0, 0]), (&[&[1, -1, -1]], &[1]), (&[&[1]], &[0])]);
    assert!(verify(&both, &one, &Domain::Space, &[Same]).is_err());
}

#[test]
fn constraints_of_the_path_are_used() {
    // relu(relu(x)) on the side where the first neuron is on, against x.
    let deep = network(&[(&[&[1]], &[0]), (&[&[1]], &[2]), (&[&[1]], &[-2])]);
    let line = network(&[(&[&[1], &[-1]], &[0, 0]), (&[&[1, -1]], &[0])]);
    let refusal = verify(&line, &deep, &Domain::Space, &[b(1, 1), Same, Same]).unwrap_err();
    assert!(refusal.to_string().contains("node 3 (B 1.1 off): output 1 is not the same"), "{refusal}");
    let relu = network(&[(&[&[2]], &[0]), (&[&[3]], &[0]), (&[&[1]], &[0])]);
    let six = network(&[(&[&[6]], &[0]), (&[&[1]], &[0])]);
    verify(&relu, &six, &Domain::Space, &[a(1, 1), Same, Same]).unwrap();
}

#[test]
fn same_on_a_path_is_same_in_a_tree() {
    let on = |on| [(Operand::A, Neuron { layer: 0, unit: 0 }, on)];
    let bump = network(&[(&[&[1], &[1]], &[0, -1]), (&[&[1, -1]], &[0])]);
    let line = network(&[(&[&[1]], &[0]), (&[&[1]], &[0])]);
    assert!(!same_on_path(&bump, &line, &Domain::Space, on(true), &|| false));
    assert!(same_on_path(&bump, &bump, &Domain::Space, on(true), &|| false));
    let unit = Domain::from_bounds(&[(-1.0, 1.0)]).unwrap();
    assert!(same_on_path(&bump, &line, &unit, [], &|| false));
    assert!(!same_on_path(&bump, &line, &unit, [on(true), on(true)].concat(), &|| false));
}

#[test]
fn hostile_trees_end() {
    let deep_tree = vec![a(1, 1); 100_000];
    refused(&deep_tree, "already decided");
    refused(&vec![Equal; 100_000], "not decided");
    refused(&[a(1, 1), empty(&[(usize::MAX, 1)])], "does not exist");
    refused(&vec![Same; 100_000], "node 2: the tree ends before this node");
}

/// Leaves `same` rest on equal last layers where what comes before is the same, and on the outputs otherwise.
#[test]
fn equal_last_layers_need_equal_values_before_them() {
    type Rows<'a> = (&'a [&'a [i64]], &'a [i64]);
    let tail: [Rows; 2] = [(&[&[1, 2], &[-3, 1]], &[1, -2]), (&[&[1, -1]], &[4])];
    let with = |first: Rows, tail: [Rows; 2]| network(&[first, tail[0], tail[1]]);
    let first: Rows = (&[&[1, 2], &[3, -1]], &[0, 5]);
    let space = Domain::Space;
    let plain = with(first, tail);
    assert_eq!(verify(&plain, &plain, &space, &[Same]), Ok(()));
    // Neurons exchanged: the output layer is equal, what stands before it is not, and the outputs differ.
    let exchanged = with(first, [(&[&[-3, 1], &[1, 2]], &[-2, 1]), tail[1]]);
    let refused = verify(&plain, &exchanged, &space, &[Same]).unwrap_err();
    assert!(refused.to_string().contains("output 1 is not the same expression"), "{refused}");
    // Exchanged where the last layer does not tell them apart: other values before it, the same outputs.
    let sum: [Rows; 2] = [tail[0], (&[&[2, 2]], &[4])];
    let turned = with(first, [(&[&[-3, 1], &[1, 2]], &[-2, 1]), sum[1]]);
    assert_eq!(verify(&with(first, sum), &turned, &space, &[Same]), Ok(()));
    // Any change behind equal layers, or before them, is seen.
    for changed in [
        with((&[&[1, 2], &[3, -1]], &[0, 6]), tail),
        with(first, [(&[&[1, 2], &[-3, 1]], &[1, -1]), tail[1]]),
        with(first, [tail[0], (&[&[1, -1]], &[5])]),
        with(first, [tail[0], (&[&[1, 1]], &[4])]),
    ] {
        assert!(verify(&plain, &changed, &space, &[Same]).is_err());
        assert!(verify(&changed, &plain, &space, &[Same]).is_err());
    }
}
