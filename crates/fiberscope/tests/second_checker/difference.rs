//! Certificates of differences: trees of boxes on generated pairs.

use fiberscope::check::difference::{Bounder, Pair, middle, outward};
use fiberscope::core::{
    Activation, BoxNode, Certificate, Domain, Evidence, Interval, Layer, Matrix, Move, MoveChain, Network,
    NetworkName, Rational,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::common::rng;
use crate::second::Cases;

/// A pair of one shape whose parameters differ by little, or not so little.
pub fn pair(rng: &mut ChaCha8Rng) -> [Network; 2] {
    let depth = rng.random_range(1..4);
    let widths: Vec<usize> = (0..=depth).map(|_| rng.random_range(1..5)).collect();
    let apart = [1e-6, 1e-2, 0.5][rng.random_range(0..3)];
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for l in 0..depth {
        let linear = l + 1 == depth || rng.random_range(0..6) == 0;
        let activation = if linear { Activation::Identity } else { Activation::Relu };
        let (rows, columns) = (widths[l + 1], widths[l]);
        let numbers: Vec<f64> = (0..rows * (columns + 1)).map(|_| rng.random_range(-1.0..1.0)).collect();
        let near: Vec<f64> = numbers.iter().map(|x| x + apart * rng.random_range(-1.0..1.0)).collect();
        let layer = |numbers: &[f64]| {
            let (weight, bias) = numbers.split_at(rows * columns);
            Layer::new(
                Matrix::from_entries(rows, columns, weight.to_vec()).unwrap(),
                bias.to_vec(),
                activation,
            )
        };
        a.push(layer(&numbers));
        b.push(layer(&near));
    }
    [a, b].map(|layers| Network::new(layers).unwrap())
}

/// The same moves for both: neurons in another order, scaled by fractions.
fn moves(rng: &mut ChaCha8Rng, network: &Network) -> MoveChain {
    if network.depth() < 2 || rng.random_range(0..2) == 0 {
        return MoveChain::default();
    }
    let width = network.layers()[0].width();
    let factor = |_| &Rational::from(rng.random_range(1..9)) / &Rational::from(rng.random_range(1..9));
    let factors = (0..width).map(factor).collect();
    let order = (0..width).rev().collect();
    MoveChain::from(vec![Move::Permute { layer: 0, order }, Move::Scale { layer: 0, factors }])
}

/// A tree on a box, and the least bounds in doubles that it proves.
fn tree(
    rng: &mut ChaCha8Rng,
    bounder: &mut Bounder,
    (lo, hi): (Vec<f64>, Vec<f64>),
    depth: usize,
    (tree, bounds): (&mut Vec<BoxNode>, &mut [f64]),
) {
    let input = rng.random_range(0..lo.len());
    if depth > 0
        && rng.random_range(0..4) > 0
        && let Some(c) = middle(lo[input], hi[input])
    {
        tree.push(BoxNode::Bisect(input as u32));
        let (mut below, mut above) = (hi.clone(), lo.clone());
        (below[input], above[input]) = (c, c);
        self::tree(rng, bounder, (lo, below), depth - 1, (tree, bounds));
        self::tree(rng, bounder, (above, hi), depth - 1, (tree, bounds));
        return;
    }
    tree.push(BoxNode::Leaf);
    assert!(bounder.run(&lo, &hi));
    for (k, bound) in bounds.iter_mut().enumerate() {
        let (lower, upper) = (bounder.output_bounds().0[k], bounder.output_bounds().1[k]);
        let (up, down) = (upper.min(bounder.tighten(k, 1)), (-lower).min(bounder.tighten(k, -1)));
        *bound = bound.max(up).max(down);
    }
}

pub fn domain(rng: &mut ChaCha8Rng, inputs: usize) -> Domain {
    let mut side = || {
        let lower = Rational::from_f64(rng.random_range(-1.0..1.0)).unwrap();
        let width = [Rational::ZERO, "1/3".parse().unwrap(), Rational::ONE][rng.random_range(0..3)].clone();
        let upper = &lower + &width;
        Interval::new(lower, upper)
    };
    Domain::Box((0..inputs).map(|_| side()).collect())
}

#[test]
fn trees_of_boxes() {
    let mut cases = Cases::default();
    let rng = &mut rng(20);
    for round in 0..60 {
        let [a, b] = pair(rng);
        let domain = domain(rng, a.input_width());
        let chain = moves(rng, &a);
        let [moved_a, moved_b] = [&a, &b].map(|network| {
            let mut moved = network.to_exact();
            chain.moves().iter().for_each(|each| each.apply(&mut moved, &domain).unwrap());
            moved
        });
        let stored = Pair::new(&moved_a, &moved_b).unwrap();
        let (mut nodes, mut bounds) = (Vec::new(), vec![0.0; a.output_width()]);
        let root = outward(&domain).unwrap();
        tree(rng, &mut Bounder::new(&stored), root, 3, (&mut nodes, &mut bounds));
        let margin = 1.0 + 2f64.powi(-20);
        let bounds = bounds.iter().map(|bound| Rational::from_f64(bound * margin).unwrap()).collect();
        let evidence = Evidence::Difference { a: chain.clone(), b: chain, bounds, tree: nodes };
        let [name_a, name_b] = [&a, &b].map(NetworkName::of);
        let certificate = Certificate { a: name_a, b: name_b, domain, evidence };
        super::add_with_changes(&mut cases, rng, &format!("difference {round}"), &certificate, &a, &b);
    }
    let answers = cases.compare();
    assert!(answers["proved"] >= 60 && answers["refused"] > 60 && answers["unreadable"] > 20, "{answers:?}");
}
