//! Certificates of differences: trees of boxes and of signs of neurons on generated pairs.

use fiberscope::check::difference::{Bounder, Pair, Ran, Sign, middle, outward};
use fiberscope::core::{
    Activation, BoxNode, Certificate, Domain, Evidence, Interval, Layer, Matrix, Move, MoveChain, Network,
    NetworkName, Neuron, Operand, Rational, RowMultipliers,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::common::rng;
use super::second::Cases;

/// A pair of one shape whose parameters differ by little, or not so little; with short numbers bounds of neurons
/// are often 0, or equal, by construction.
pub fn pair(rng: &mut ChaCha8Rng, short: bool) -> [Network; 2] {
    let depth = rng.random_range(1..4);
    let widths: Vec<usize> = (0..=depth).map(|_| rng.random_range(1..5)).collect();
    let apart = if short { [0.0625, 0.25, 0.5] } else { [1e-6, 1e-2, 0.5] }[rng.random_range(0..3)];
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for l in 0..depth {
        let linear = l + 1 == depth || rng.random_range(0..6) == 0;
        let activation = if linear { Activation::Identity } else { Activation::Relu };
        let (rows, columns) = (widths[l + 1], widths[l]);
        let mut number = |i: usize| match short {
            true if i >= rows * columns && rng.random_range(0..2) == 0 => 0.0,
            true => f64::from(rng.random_range(-4..5)) / 4.0,
            false => rng.random_range(-1.0..1.0),
        };
        let numbers: Vec<f64> = (0..rows * (columns + 1)).map(&mut number).collect();
        let mut change =
            || if short { f64::from(rng.random_range(-1..2)) } else { rng.random_range(-1.0..1.0) };
        let near: Vec<f64> = numbers.iter().map(|x| x + apart * change()).collect();
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

/// The part of a node: its box and its signs.
#[derive(Clone)]
struct Part {
    lo: Vec<f64>,
    hi: Vec<f64>,
    signs: Vec<Sign>,
    /// Whether it may be cut at neurons.
    splits: bool,
}

/// A tree on a box, and the least bounds in doubles that it proves.
fn tree(
    rng: &mut ChaCha8Rng,
    bounder: &mut Bounder,
    part: Part,
    depth: usize,
    (tree, bounds): (&mut Vec<BoxNode>, &mut [f64]),
) {
    let cut = if depth == 0 { 0 } else { rng.random_range(0..4) };
    let input = rng.random_range(0..part.lo.len());
    if (1..3).contains(&cut)
        && let Some(c) = middle(part.lo[input], part.hi[input])
    {
        tree.push(BoxNode::Bisect(input as u32));
        let (mut below, mut above) = (part.clone(), part);
        (below.hi[input], above.lo[input]) = (c, c);
        self::tree(rng, bounder, below, depth - 1, (tree, bounds));
        self::tree(rng, bounder, above, depth - 1, (tree, bounds));
        return;
    }
    let layers = bounder.pair().layers();
    let layer = rng.random_range(0..layers.len());
    let neuron = Neuron { layer, unit: rng.random_range(0..layers[layer].rows) };
    let operand = [Operand::A, Operand::B][rng.random_range(0..2)];
    let hidden = layer + 1 < layers.len() && layers[layer].activation == Activation::Relu;
    if cut == 3 && part.splits && hidden && !part.signs.iter().any(|sign| sign.is_about(operand, neuron)) {
        tree.push(BoxNode::Split(operand, neuron));
        for on in [true, false] {
            let mut side = part.clone();
            side.signs.push(Sign { operand, neuron, on });
            self::tree(rng, bounder, side, depth - 1, (tree, bounds));
        }
        return;
    }
    let closely = rng.random_range(0..3) == 0;
    let look = if closely { Bounder::run_closely } else { Bounder::run_where };
    let ran = look(bounder, &part.lo, &part.hi, &part.signs);
    assert_ne!(ran, Ran::Beyond);
    if ran == Ran::Empty {
        tree.push(BoxNode::Leaf);
        return;
    }
    let mut rows = Vec::new();
    for (k, bound) in bounds.iter_mut().enumerate() {
        let (lower, upper) = (bounder.output_bounds().0[k], bounder.output_bounds().1[k]);
        for (row, sign, form) in [(2 * k, 1, upper), (2 * k + 1, -1, -lower)] {
            let numbers: Vec<f64> = part.signs.iter().map(|_| rng.random_range(0.0..0.5)).collect();
            let weighted = RowMultipliers::nearest(row, &numbers)
                .filter(|_| !numbers.is_empty() && rng.random_range(0..2) == 0);
            bounder.multiply(weighted.iter().flat_map(RowMultipliers::values));
            *bound = bound.max(form.min(bounder.tighten(k, sign)));
            rows.extend(weighted);
        }
    }
    tree.push(if rows.is_empty() { BoxNode::Leaf } else { BoxNode::Weighted(rows) });
}

pub fn domain(rng: &mut ChaCha8Rng, inputs: usize, short: bool) -> Domain {
    let mut side = || {
        let lower: f64 = if short { f64::from(rng.random_range(-1..1)) } else { rng.random_range(-1.0..1.0) };
        let lower = Rational::from_f64(lower).unwrap();
        let width = [Rational::ZERO, "1/3".parse().unwrap(), Rational::ONE][rng.random_range(0..3)].clone();
        let upper = &lower + &width;
        Interval::new(lower, upper)
    };
    Domain::Box((0..inputs).map(|_| side()).collect())
}

/// A pair and a certificate with the least bounds that its tree proves in doubles, and a little more.
fn certified(rng: &mut ChaCha8Rng, short: bool, splits: bool) -> (Network, Network, Certificate) {
    let [a, b] = pair(rng, short);
    let domain = domain(rng, a.input_width(), short);
    let chain = moves(rng, &a);
    let [moved_a, moved_b] = [&a, &b].map(|network| {
        let mut moved = network.to_exact();
        chain.moves().iter().for_each(|each| each.apply(&mut moved, &domain).unwrap());
        moved
    });
    let stored = Pair::new(&moved_a, &moved_b).unwrap();
    let (mut nodes, mut bounds) = (Vec::new(), vec![0.0; a.output_width()]);
    let (lo, hi) = outward(&domain).unwrap();
    let root = Part { lo, hi, signs: Vec::new(), splits };
    tree(rng, &mut Bounder::new(&stored), root, 4, (&mut nodes, &mut bounds));
    let margin = 1.0 + 2f64.powi(-20);
    let bounds = bounds.iter().map(|bound| Rational::from_f64(bound * margin).unwrap()).collect();
    let evidence = Evidence::Difference { a: chain.clone(), b: chain, bounds, tree: nodes };
    let [name_a, name_b] = [&a, &b].map(NetworkName::of);
    (a, b, Certificate { a: name_a, b: name_b, domain, evidence })
}

#[test]
fn trees_of_boxes() {
    let mut cases = Cases::default();
    let rng = &mut rng(20);
    for round in 0..100 {
        let (a, b, certificate) = certified(rng, false, true);
        super::add_with_changes(&mut cases, rng, &format!("difference {round}"), &certificate, &a, &b);
    }
    let answers = cases.compare();
    assert!(
        answers["proved"] >= 100 && answers["refused"] > 100 && answers["unreadable"] > 30,
        "{answers:?}"
    );
}

/// Where bounds of neurons on boxes are 0 or equal, rounding must not make two checkers choose differently: what the
/// first one proves, the second one proves. (The other way round a bound that is met exactly is proved by exact numbers
/// and not by doubles, so nothing is changed here.)
#[test]
fn choices_do_not_hang_on_rounding() {
    let mut cases = Cases::default();
    let rng = &mut rng(20);
    for round in 0..1000 {
        let (a, b, certificate) = certified(rng, true, false);
        cases.add(&format!("difference {round}"), certificate.to_json().as_bytes(), &a, &b);
    }
    assert_eq!(cases.compare()["proved"], 1000);
}
