//! Parts of boxes: signs of neurons, multipliers, and trees that break a rule of theirs.

use fiberscope_core::{
    BoxNode, Certificate, Domain, Evidence, Interval, Network, NetworkName, Neuron, Operand, RowMultipliers,
};

use super::*;
use crate::{Checker, Outcome};

/// Signs of some hidden ReLU neurons at a point, and multipliers for the rows.
fn signs(
    dice: &mut Dice,
    of_a: &[Vec<Rational>],
    of_b: &[Vec<Rational>],
    network: &ExactNetwork,
) -> Vec<Sign> {
    let mut signs = Vec::new();
    for (l, layer) in network.layers()[..of_a.len() - 1].iter().enumerate() {
        for unit in 0..layer.width() {
            for (operand, z) in [(Operand::A, &of_a[l][unit]), (Operand::B, &of_b[l][unit])] {
                if layer.activation() == Activation::Relu && dice.below(3) == 0 {
                    // At 0 both signs are right.
                    let on = if z.is_zero() { dice.below(2) == 0 } else { z.is_positive() };
                    signs.push(Sign { operand, neuron: Neuron { layer: l, unit }, on });
                }
            }
        }
    }
    signs
}

/// Multipliers from 2^-20 to 2^20, some of them 0.
fn random_multipliers(dice: &mut Dice, row: usize, count: usize) -> RowMultipliers {
    let exponent = dice.below(40) as i16 - 32;
    let parts = (0..count).map(|_| if dice.below(3) == 0 { 0 } else { dice.below(4096) as u32 }).collect();
    RowMultipliers { output: (row / 2) as u32, above: row.is_multiple_of(2), exponent, parts }
}

#[test]
fn no_exact_value_of_a_part_lies_beyond_its_bounds() {
    let mut split = 0;
    for seed in 0..1500 {
        let mut dice = Dice(seed);
        let Case { a, b, lo, hi } = case(&mut dice);
        let pair = Pair::new(&a, &b).unwrap();
        let mut bounder = Bounder::new(&pair);
        // The point first: the part is one that contains it.
        let x = point(&mut dice, &lo, &hi);
        let (of_a, of_b) = (truth(&a, &x), truth(&b, &x));
        let signs = signs(&mut dice, &of_a, &of_b, &a);
        let ran = bounder.run_where(&lo, &hi, &signs);
        assert_ne!(ran, Ran::Empty, "{seed}: there is a point");
        if ran == Ran::Beyond {
            continue;
        }
        split += usize::from(!signs.is_empty());
        holds(&mut bounder, &a, &b, &x, &mut dice);
        let exactly = (seed < 400).then(|| {
            let networks = [a.clone(), b.clone()];
            let mut exactly = ExactBounder::new(&networks);
            assert!(exactly.run((&lo, &hi), &signs, &mut bounder, &|| false).unwrap(), "{seed}");
            exactly
        });
        let outputs = of_a[of_a.len() - 1].iter().zip(&of_b[of_b.len() - 1]);
        for (k, (z, y)) in outputs.enumerate() {
            for sign in [1, -1] {
                let row = 2 * k + usize::from(sign < 0);
                let multipliers = random_multipliers(&mut dice, row, signs.len());
                let value = &(y - z) * &Rational::from(i64::from(sign));
                bounder.multiply(multipliers.values());
                let bound = bounder.tighten(k, sign);
                assert!(
                    bound == f64::INFINITY || value <= exact(bound),
                    "{seed} {k} {sign}: {value} {bound}"
                );
                if let Some(exactly) = &exactly {
                    let given = (&signs[..], Some(&multipliers));
                    let found = exactly.tighten((k, sign), given, &mut bounder, &|| false).unwrap();
                    assert!(value <= found, "{seed} {k} {sign}: exactly {value} {found}");
                    let near = exact(bound.min(f64::MAX));
                    assert!(bound == f64::INFINITY || found <= near, "{seed} {k} {sign}: {found} {bound}");
                }
            }
        }
    }
    assert!(split > 600, "{split}");
}

/// A part without a point is seen to be empty where the bounds show it, and proves nothing wrong otherwise.
#[test]
fn contradictions_are_empty() {
    let a = relu_network(&[(&[&[1.0], &[1.0]], &[2.0, -2.0]), (&[&[1.0, 1.0]], &[0.0])]);
    let pair = Pair::new(&a, &a).unwrap();
    let mut bounder = Bounder::new(&pair);
    let sign = |operand, unit, on| Sign { operand, neuron: Neuron { layer: 0, unit }, on };
    // On [-3, 3] the first neuron is on from -2 on, and A and B have the same signs.
    let ran = bounder.run_where(&[-1.0], &[3.0], &[sign(Operand::A, 0, false)]);
    assert_eq!(ran, Ran::Empty);
    let ran = bounder.run_where(&[-3.0], &[3.0], &[sign(Operand::A, 0, true), sign(Operand::B, 0, false)]);
    assert_eq!(ran, Ran::Bounded, "-2 has both signs");
    let shifted = relu_network(&[(&[&[1.0], &[1.0]], &[3.0, -2.0]), (&[&[1.0, 1.0]], &[0.0])]);
    let pair = Pair::new(&a, &shifted).unwrap();
    let mut bounder = Bounder::new(&pair);
    let ran = bounder.run_where(&[-4.0], &[3.0], &[sign(Operand::A, 0, true), sign(Operand::B, 0, false)]);
    assert_eq!(ran, Ran::Empty, "B is at least 1 where A is on");
}

fn network(rows: &[(&[&[f64]], &[f64])]) -> Network {
    Network::from_rows(rows).unwrap()
}

/// `A = relu(x + y)`, `B = relu(x + y) + relu(x + y) - relu(x + y + 1/4) + 1/4`: where `x + y >= 0` they are equal, and
/// they differ by at most 1/4 elsewhere.
fn pair_of_networks() -> [Network; 2] {
    let hidden: &[&[f64]] = &[&[1.0, 1.0], &[1.0, 1.0], &[1.0, 1.0]];
    let bias = &[0.0, 0.0, 0.25];
    [
        network(&[(hidden, bias), (&[&[1.0, 0.0, 0.0]], &[0.0])]),
        network(&[(hidden, bias), (&[&[1.0, 1.0, -1.0]], &[0.25])]),
    ]
}

fn split(operand: Operand, layer: usize, unit: usize) -> BoxNode {
    BoxNode::Split(operand, Neuron { layer, unit })
}

fn certificate(a: &Network, b: &Network, bound: f64, tree: Vec<BoxNode>) -> Certificate {
    let sides = vec![Interval::new(exact(-1.0), exact(1.0)); 2];
    let [name_a, name_b] = [a, b].map(NetworkName::of);
    let evidence = Evidence::Difference {
        a: Default::default(),
        b: Default::default(),
        bounds: vec![exact(bound)],
        tree,
    };
    Certificate { a: name_a, b: name_b, domain: Domain::Box(sides), evidence }
}

fn both(certificate: &Certificate, a: &Network, b: &Network) -> [Outcome; 2] {
    [Arithmetic::Doubles, Arithmetic::Exact].map(|how| Checker::new(a, b).arithmetic(how).check(certificate))
}

/// Splits at both neurons; the multipliers of the four leaves, for the row from above and from below.
fn valid_tree() -> Vec<BoxNode> {
    let weighted = |above: &[f64], below: &[f64]| {
        let rows =
            [(0, above), (1, below)].map(|(row, numbers)| RowMultipliers::nearest(row, numbers).unwrap());
        BoxNode::Weighted(rows.to_vec())
    };
    vec![
        split(Operand::A, 0, 1),
        split(Operand::A, 0, 2),
        BoxNode::Leaf,
        weighted(&[0.0, 1.0], &[1.0, 0.0]),
        split(Operand::A, 0, 2),
        weighted(&[0.0, 1.0], &[1.0, 0.0]),
        BoxNode::Leaf,
    ]
}

#[test]
fn splits_with_multipliers_prove_what_a_box_cannot() {
    let [a, b] = pair_of_networks();
    let proved = certificate(&a, &b, 0.2501, valid_tree());
    for outcome in both(&proved, &a, &b) {
        assert_eq!(outcome, Outcome::Proved(proved.claim()));
    }
    let refused = |tree: Vec<BoxNode>, expected: &str| {
        for outcome in both(&certificate(&a, &b, 0.2501, tree), &a, &b) {
            let Outcome::Refused(refusal) = outcome else { panic!("{expected}: {outcome:?}") };
            assert!(refusal.to_string().contains(expected), "{refusal}");
        }
    };
    refused(vec![BoxNode::Leaf], "output 1 differs by at most");
    let change = |change: &dyn Fn(&mut Vec<BoxNode>)| {
        let mut tree = valid_tree();
        change(&mut tree);
        tree
    };
    refused(change(&|tree| tree[5] = BoxNode::Leaf), "output 1 differs by at most");
    refused(change(&|tree| drop(tree.pop())), "node 6: the tree ends here; 1 or more nodes are missing");
    refused(
        change(&|tree| tree[1] = split(Operand::B, 0, 3)),
        "there is no hidden ReLU neuron 4 of layer 1 of B",
    );
    refused(
        change(&|tree| tree[1] = split(Operand::A, 1, 0)),
        "there is no hidden ReLU neuron 1 of layer 2 of A",
    );
    refused(
        change(&|tree| tree[1] = split(Operand::A, usize::MAX - 1, usize::MAX - 1)),
        "there is no hidden ReLU neuron",
    );
    refused(change(&|tree| tree[4] = split(Operand::A, 0, 1)), "was asked for before on this path");
    let rows = |change: &dyn Fn(&mut Vec<RowMultipliers>)| {
        let mut tree = valid_tree();
        let BoxNode::Weighted(rows) = &mut tree[5] else { panic!() };
        change(rows);
        tree
    };
    refused(rows(&|rows| rows[0].parts[1] = 0), "output 1 differs by at most");
    refused(rows(&|rows| rows[0].exponent += 3), "output 1 differs by at most");
    refused(rows(&|rows| rows[0].parts.truncate(1)), "expected 2 multipliers (one per split above), found 1");
    refused(rows(&|rows| rows.swap(0, 1)), "rows of multipliers stand in their order, each once");
    refused(rows(&|rows| rows[1] = rows[0].clone()), "rows of multipliers stand in their order, each once");
    refused(rows(&|rows| rows[1].output = 1), "there are 1 outputs, no output 2");
    refused(rows(&|rows| rows[0].exponent = 900), "output 1 differs by at most");
}
