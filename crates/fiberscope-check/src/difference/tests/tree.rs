//! Rules of the tree of boxes, each with a tree that breaks it.

use std::sync::atomic::{AtomicUsize, Ordering};

use fiberscope_core::{
    BoxNode, Certificate, Domain, Evidence, Interval, Layer, Matrix, Move, MoveChain, Network, NetworkName,
};

use super::*;
use crate::{Checker, Outcome};

/// `relu(x - y) + relu(y)` with some parameters changed by `change`.
pub(super) fn network(change: f64) -> Network {
    let hidden = [[1.0 + change, -1.0], [0.0, 1.0 - change], [0.5, 0.5]];
    let output = [[1.0, 1.0 + change, -0.25], [0.5, -1.0, change]];
    Network::new(vec![
        Layer::new(Matrix::from_rows(&hidden).unwrap(), vec![0.0, change, -0.1], Activation::Relu),
        Layer::new(Matrix::from_rows(&output).unwrap(), vec![0.0, 0.25], Activation::Identity),
    ])
    .unwrap()
}

pub(super) fn domain() -> Domain {
    Domain::from_bounds(&[(-1.0, 1.0), (-0.5, 1.5)]).unwrap()
}

pub(super) fn certificate(
    networks: [&Network; 2],
    domain: Domain,
    moves: [MoveChain; 2],
    bounds: &[Rational],
    tree: &[BoxNode],
) -> Certificate {
    let [a, b] = networks.map(NetworkName::of);
    let [of_a, of_b] = moves;
    let evidence = Evidence::Difference { a: of_a, b: of_b, bounds: bounds.to_vec(), tree: tree.to_vec() };
    Certificate { a, b, domain, evidence }
}

fn nodes(numbers: &[u32]) -> Vec<BoxNode> {
    numbers.iter().map(|&n| n.checked_sub(1).map_or(BoxNode::Leaf, BoxNode::Bisect)).collect()
}

/// The tree of the tests: five leaves.
const TREE: [u32; 9] = [1, 0, 2, 1, 0, 0, 2, 0, 0];

/// The least bounds in doubles that the tree proves.
fn least(a: &Network, b: &Network) -> Vec<f64> {
    let pair = Pair::new(&a.to_exact(), &b.to_exact()).unwrap();
    let mut bounder = Bounder::new(&pair);
    let mut least = vec![0.0f64; 2];
    let boxes = [
        ([-1.0, -0.5], [0.0, 1.5]),
        ([0.0, -0.5], [0.5, 0.5]),
        ([0.5, -0.5], [1.0, 0.5]),
        ([0.0, 0.5], [1.0, 1.0]),
        ([0.0, 1.0], [1.0, 1.5]),
    ];
    for (lo, hi) in boxes {
        assert!(bounder.run(&lo, &hi));
        for (k, least) in least.iter_mut().enumerate() {
            let (lower, upper) = (bounder.output_bounds().0[k], bounder.output_bounds().1[k]);
            *least = least.max(upper.min(bounder.tighten(k, 1))).max((-lower).min(bounder.tighten(k, -1)));
        }
    }
    least
}

fn both(certificate: &Certificate, a: &Network, b: &Network) -> [Outcome; 2] {
    [Arithmetic::Doubles, Arithmetic::Exact].map(|how| Checker::new(a, b).arithmetic(how).check(certificate))
}

#[test]
fn a_tree_proves_its_bounds_and_not_one_unit_less() {
    let (a, b) = (network(0.0), network(1e-3));
    let least = least(&a, &b);
    let bounds: Vec<Rational> = least.iter().map(|&x| exact(x)).collect();
    let valid = certificate([&a, &b], domain(), Default::default(), &bounds, &nodes(&TREE));
    for outcome in both(&valid, &a, &b) {
        assert_eq!(outcome, Outcome::Proved(valid.claim()));
    }
    assert_eq!(valid.claim().bound(), bounds.iter().max());
    for k in 0..2 {
        let mut less = bounds.clone();
        less[k] = exact(least[k].next_down());
        let invalid = certificate([&a, &b], domain(), Default::default(), &less, &nodes(&TREE));
        let [doubles, _] = both(&invalid, &a, &b);
        let Outcome::Refused(refusal) = doubles else { panic!("{doubles:?}") };
        assert!(refusal.rule.contains(&format!("output {} differs by at most", k + 1)), "{refusal}");
        // Exact bounds are a little better, but not by a millionth.
        less[k] = exact(least[k] * (1.0 - 1e-6));
        let invalid = certificate([&a, &b], domain(), Default::default(), &less, &nodes(&TREE));
        assert!(both(&invalid, &a, &b).iter().all(|outcome| matches!(outcome, Outcome::Refused(_))));
    }
}

#[test]
fn every_rule_is_kept() {
    let (a, b) = (network(0.0), network(1e-3));
    let bounds = vec![Rational::ONE; 2];
    let check = |change: &dyn Fn(&mut Certificate), networks: [&Network; 2], expected: &str| {
        let mut changed = certificate([&a, &b], domain(), Default::default(), &bounds, &nodes(&TREE));
        change(&mut changed);
        for outcome in both(&changed, networks[0], networks[1]) {
            let Outcome::Refused(refusal) = outcome else { panic!("{expected}: {outcome:?}") };
            assert!(refusal.to_string().contains(expected), "{refusal}");
        }
    };
    let tree = |change: &'static dyn Fn(&mut Vec<BoxNode>)| {
        move |certificate: &mut Certificate| {
            let Evidence::Difference { tree, .. } = &mut certificate.evidence else { panic!() };
            change(tree);
        }
    };
    let missing = "tree of boxes, node 8: the tree ends here; 1 or more nodes are missing";
    check(&tree(&|tree| tree.truncate(8)), [&a, &b], missing);
    check(&tree(&|tree| tree.clear()), [&a, &b], "the tree ends here");
    check(&tree(&|tree| tree.push(BoxNode::Leaf)), [&a, &b], "node 10: the tree ends before this node");
    check(&tree(&|tree| tree[2] = BoxNode::Bisect(2)), [&a, &b], "node 3: there are 2 inputs, no input 3");
    // A box of another shape: the tree no longer fits.
    check(&tree(&|tree| tree[1] = BoxNode::Bisect(0)), [&a, &b], "nodes are missing");
    check(&tree(&|tree| *tree = vec![BoxNode::Bisect(0); 2000]), [&a, &b], "cannot be bisected between");
    check(&|_| {}, [&b, &a], "network A");
    check(&|_| {}, [&a, &network(2e-3)], "network B");
    let bounds_of = |change: &'static dyn Fn(&mut Vec<Rational>)| {
        move |certificate: &mut Certificate| {
            let Evidence::Difference { bounds, .. } = &mut certificate.evidence else { panic!() };
            change(bounds);
        }
    };
    check(&bounds_of(&|bounds| drop(bounds.pop())), [&a, &b], "bounds: expected 2 (one per output), found 1");
    check(&bounds_of(&|bounds| bounds[1] = exact(-1.0)), [&a, &b], "output 2 must not be negative");
    check(&bounds_of(&|bounds| bounds[0] = Rational::ZERO), [&a, &b], "output 1 differs by at most");
    check(&|certificate| certificate.domain = Domain::Space, [&a, &b], "domain: a bound on the difference");
    check(&|certificate| certificate.domain = Domain::orthant(2), [&a, &b], "needs a box that is bounded");
    // A larger box than the one that the tree was made for.
    let wider = |certificate: &mut Certificate| {
        certificate.domain = Domain::from_bounds(&[(-1.0, 1.0), (-0.5, 1e7)]).unwrap();
    };
    check(&wider, [&a, &b], "differs by at most");
    let dropped = |certificate: &mut Certificate| {
        let Evidence::Difference { a, .. } = &mut certificate.evidence else { panic!() };
        *a = MoveChain::from(vec![Move::Drop { layer: 0, units: vec![0] }]);
    };
    check(&dropped, [&a, &b], "move 1 on A");
}

#[test]
fn moves_with_fractions_align_the_networks() {
    // B with its neurons in another order and scaled by thirds.
    let (a, b) = (network(0.0), network(1e-3));
    let moves = vec![
        Move::Permute { layer: 0, order: vec![2, 0, 1] },
        Move::Scale { layer: 0, factors: ["1/3", "7", "2/5"].map(|c| c.parse().unwrap()).to_vec() },
    ];
    let chains = || [MoveChain::from(moves.clone()), MoveChain::from(moves.clone())];
    let bounds = vec![exact(0.05); 2];
    let valid = certificate([&a, &b], domain(), chains(), &bounds, &nodes(&TREE));
    for outcome in both(&valid, &a, &b) {
        assert_eq!(outcome, Outcome::Proved(valid.claim()));
    }
    let [moved, _] = chains();
    let apart = certificate([&a, &b], domain(), [moved, MoveChain::default()], &bounds, &nodes(&TREE));
    assert!(both(&apart, &a, &b).iter().all(|outcome| matches!(outcome, Outcome::Refused(_))));
}

#[test]
fn a_box_with_fractions_is_rounded_outward() {
    let (a, b) = (network(0.0), network(1e-3));
    let third: Rational = "1/3".parse().unwrap();
    let sides = vec![Interval::new(-&third, third.clone()), Interval::new(third.clone(), third)];
    let bounds = vec![exact(0.01); 2];
    let valid = certificate([&a, &b], Domain::Box(sides), Default::default(), &bounds, &nodes(&[1, 0, 0]));
    for outcome in both(&valid, &a, &b) {
        assert_eq!(outcome, Outcome::Proved(valid.claim()));
    }
}

#[test]
fn parameters_beyond_the_doubles_are_refused() {
    let a = network(0.0);
    let factors = vec![Rational::dyadic(1, 2000), Rational::ONE, Rational::ONE];
    let moves = MoveChain::from(vec![Move::Scale { layer: 0, factors }]);
    let bounds = vec![Rational::ONE; 2];
    let invalid = certificate([&a, &a], domain(), [moves.clone(), moves], &bounds, &nodes(&[0]));
    for outcome in both(&invalid, &a, &a) {
        let Outcome::Refused(refusal) = outcome else { panic!("{outcome:?}") };
        assert!(refusal.rule.contains("beyond the doubles"), "{refusal}");
    }
}

#[test]
fn paths_are_not_endless() {
    let layer = Layer::new(Matrix::from_rows(&[[1.0; 5]]).unwrap(), vec![0.0], Activation::Identity);
    let a = Network::new(vec![layer]).unwrap();
    let domain = Domain::from_bounds(&[(0.0, 1.0); 5]).unwrap();
    let tree: Vec<BoxNode> = (0..5000).map(|i| BoxNode::Bisect(i % 5)).collect();
    let invalid = certificate([&a, &a], domain, Default::default(), &[Rational::ONE], &tree);
    for outcome in both(&invalid, &a, &a) {
        let Outcome::Refused(refusal) = outcome else { panic!("{outcome:?}") };
        let expected = "tree of boxes, node 4097: a path has more than 4096 bisections and splits";
        assert_eq!(refusal.to_string(), expected);
    }
}

#[test]
fn a_check_stops_when_told() {
    let a = network(0.0);
    let valid = certificate([&a, &a], domain(), Default::default(), &[exact(1.0), exact(1.0)], &nodes(&TREE));
    for how in [Arithmetic::Doubles, Arithmetic::Exact] {
        let asked = AtomicUsize::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= 3;
        assert_eq!(Checker::new(&a, &a).arithmetic(how).stop(&stop).check(&valid), Outcome::Stopped);
    }
}

/// A leaf holds by what a closer look finds, where the first look does not suffice, and not by less.
#[test]
fn a_leaf_may_need_a_closer_look() {
    let mut needed = 0;
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let mut numbers = |n: usize| (0..n).map(|_| dice.short(8)).collect::<Vec<f64>>();
        let widths = [2, 5, 5, 1];
        let layers: Vec<_> =
            (0..3).map(|l| (numbers(widths[l] * widths[l + 1]), numbers(widths[l + 1]))).collect();
        let network = |change: f64| {
            let layer = |(l, (weight, bias)): (usize, &(Vec<f64>, Vec<f64>))| {
                let weight = weight.iter().map(|w| w * (1.0 + change)).collect();
                let weight = Matrix::from_entries(widths[l + 1], widths[l], weight).unwrap();
                let activation = if l == 2 { Activation::Identity } else { Activation::Relu };
                Layer::new(weight, bias.clone(), activation)
            };
            Network::new(layers.iter().enumerate().map(layer).collect()).unwrap()
        };
        let (a, b) = (network(0.0), network(0.125));
        let domain = Domain::from_bounds(&[(-1.0, 1.0); 2]).unwrap();
        let pair = Pair::new(&a.to_exact(), &b.to_exact()).unwrap();
        let mut bounder = Bounder::new(&pair);
        let most = |bounder: &mut Bounder| {
            let (lower, upper) = (bounder.output_bounds().0[0], bounder.output_bounds().1[0]);
            upper.min(bounder.tighten(0, 1)).max((-lower).min(bounder.tighten(0, -1)))
        };
        assert!(bounder.run(&[-1.0; 2], &[1.0; 2]));
        let first = most(&mut bounder);
        assert_eq!(bounder.run_closely(&[-1.0; 2], &[1.0; 2], &[]), Ran::Bounded);
        let close = most(&mut bounder);
        if close > first * 0.99 {
            continue;
        }
        needed += 1;
        let stating = |bound: f64| {
            certificate([&a, &b], domain.clone(), Default::default(), &[exact(bound)], &[BoxNode::Leaf])
        };
        let valid = stating(close * (1.0 + 1e-9));
        for outcome in both(&valid, &a, &b) {
            assert_eq!(outcome, Outcome::Proved(valid.claim()), "{seed}");
        }
        let invalid = stating(close * (1.0 - 1e-4));
        assert!(
            both(&invalid, &a, &b).iter().all(|outcome| matches!(outcome, Outcome::Refused(_))),
            "{seed}"
        );
    }
    assert!(needed > 50, "{needed}");
}
