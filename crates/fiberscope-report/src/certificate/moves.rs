//! Moves as sentences, for lists of what was done to a network.
//!
//! ```
//! use fiberscope_core::{Move, Rational};
//! use fiberscope_report::certificate::moves::describe;
//!
//! let translation = Move::Translate { layer: 0, unit: 1, amount: Rational::from(-1) };
//! assert_eq!(describe(&translation), "translate the hidden hyperplane of neuron 2 of layer 1 by -1");
//! ```

use fiberscope_core::{LinearChange, Move, NeuronCopy, Rational};

use crate::number::short;
use crate::words::{LISTED, enumeration};

/// The move as a sentence without capital and full stop. Layers and neurons count from 1; integers and
/// fractions are exact, decimals are rounded to 4 digits.
pub fn describe(each: &Move) -> String {
    let layer = nth(each.layer());
    match each {
        Move::Permute { order, .. } => {
            let order: Vec<_> = order.iter().map(|&unit| nth(unit).to_string()).collect();
            format!("swap the neurons of layer {layer} into the order {}", sequence(&order))
        }
        Move::Scale { factors, .. } => describe_scale(layer, factors),
        Move::Drop { units, .. } => {
            let effect = if units.len() == 1 { "has" } else { "have" };
            format!("remove {} of layer {layer}, which {effect} no effect", neurons(units))
        }
        Move::Insert { neurons, .. } => {
            let units: Vec<_> = neurons.iter().map(|neuron| neuron.unit).collect();
            format!("insert {} without effect into layer {layer}", new_neurons("", &units))
        }
        Move::Merge { pairs, .. } => {
            let one = |&(keep, drop): &(usize, usize)| format!("neuron {} into {}", nth(drop), nth(keep));
            let pairs: Vec<_> = pairs.iter().map(one).collect();
            format!("in layer {layer}, merge {}", enumeration(&pairs))
        }
        Move::Split { copies, .. } => {
            let copies: Vec<_> = copies.iter().map(describe_copy).collect();
            format!("in layer {layer}, split off {}", enumeration(&copies))
        }
        Move::Cancel { keep, drop, linear, .. } => {
            let (keep, drop) = (nth(*keep), nth(*drop));
            let start =
                format!("remove neuron {drop} of layer {layer}, a negative multiple of neuron {keep}");
            format!("{start}{}", describe_absorption(linear))
        }
        Move::Refactor { linear, .. } => format!("in layer {layer}, {}", describe_change(linear)),
        Move::Reorient { units, linear, .. } => {
            let start = format!("reverse the sign of {} of layer {layer}", neurons(units));
            format!("{start}{}", describe_absorption(linear))
        }
        Move::Translate { unit, amount, .. } => {
            let neuron = nth(*unit);
            format!(
                "translate the hidden hyperplane of neuron {neuron} of layer {layer} by {}",
                short(amount)
            )
        }
        Move::Flip { unit, flips, .. } => {
            let flipped = neurons(flips);
            format!("flip {flipped} of layer {layer} across the hidden hyperplane of neuron {}", nth(*unit))
        }
        Move::Shift { shifts, .. } => {
            let units: Vec<_> = shifts.iter().map(|shift| shift.unit).collect();
            let shown = neurons(&units);
            format!(
                "shift the bias of {shown} of layer {layer}, shown to be dead or linear by linear programmes"
            )
        }
        Move::Mute { neurons: muted, .. } => {
            let units: Vec<_> = muted.iter().map(|each| each.unit).collect();
            let (shown, they) = (neurons(&units), if units.len() == 1 { "is" } else { "are" });
            format!(
                "change the outgoing weights of {shown} of layer {layer}, which {they} dead: what could turn one on \
                 is outweighed"
            )
        }
        Move::Fold { pairs, .. } => {
            let linear = match pairs.len() {
                0 => "which is linear".into(),
                n => format!("{} of whose neurons cancel", count(n, "pair")),
            };
            format!("multiply layer {layer}, {linear}, into layer {}", layer.saturating_add(1))
        }
        Move::Unfold { weight, .. } => {
            let count = count(weight.len(), "linear neuron");
            format!("factor layer {layer} into two layers, the first of {count}")
        }
        _ => format!("{} on layer {layer}", each.name()),
    }
}

fn describe_scale(layer: usize, factors: &[Rational]) -> String {
    let changed: Vec<_> = (0..factors.len()).filter(|&i| factors[i] != Rational::ONE).collect();
    match changed[..] {
        [] => format!("scale the neurons of layer {layer} by 1"),
        [unit] => format!("scale neuron {} of layer {layer} by {}", nth(unit), short(&factors[unit])),
        _ if factors.iter().all(|factor| *factor == factors[0]) => {
            format!("scale every neuron of layer {layer} by {}", short(&factors[0]))
        }
        _ => {
            let factors: Vec<_> = factors.iter().map(short).collect();
            format!("scale the neurons of layer {layer} by {}", sequence(&factors))
        }
    }
}

fn describe_copy(copy: &NeuronCopy) -> String {
    format!("{} times neuron {} as neuron {}", short(&copy.factor), nth(copy.of), nth(copy.unit))
}

/// What happens to the linear neurons, as the end of a sentence.
fn describe_absorption(linear: &LinearChange) -> String {
    if linear.remove.is_empty() && linear.insert.is_empty() {
        ", the affine rest being constant".into()
    } else {
        format!(", and {} to make up for it", describe_change(linear))
    }
}

fn describe_change(linear: &LinearChange) -> String {
    let inserted: Vec<_> = linear.insert.iter().map(|neuron| neuron.unit).collect();
    match (linear.remove.is_empty(), inserted.is_empty()) {
        (true, true) => "change no linear neuron".into(),
        (true, false) => format!("insert {}", new_neurons("linear ", &inserted)),
        (false, true) => format!("remove linear {}", neurons(&linear.remove)),
        (false, false) if linear.remove == inserted => {
            format!("give linear {} new weights", neurons(&linear.remove))
        }
        (false, false) => {
            format!("replace linear {} by new {}", neurons(&linear.remove), neurons(&inserted))
        }
    }
}

fn nth(index: usize) -> usize {
    index.saturating_add(1)
}

/// `neuron 2`, `neurons 1 and 3`.
fn neurons(units: &[usize]) -> String {
    let numbers: Vec<_> = units.iter().map(|&unit| nth(unit).to_string()).collect();
    match numbers.len() {
        0 => "no neuron".into(),
        1 => format!("neuron {}", numbers[0]),
        _ => format!("neurons {}", enumeration(&numbers)),
    }
}

/// `a new neuron 2`, `new neurons 1 and 3`, with an adjective.
fn new_neurons(adjective: &str, units: &[usize]) -> String {
    let article = if units.len() == 1 { "a new" } else { "new" };
    format!("{article} {adjective}{}", neurons(units))
}

/// `1 neuron`, `2 neurons`.
fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// `3, 1, 2`, or the first items and how many there are.
fn sequence(items: &[String]) -> String {
    if items.len() > LISTED {
        format!("{}, ... ({} in all)", items[..LISTED].join(", "), items.len())
    } else {
        items.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Activation, PlacedNeuron};

    use super::*;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    fn placed(unit: usize) -> PlacedNeuron {
        PlacedNeuron { unit, weight: vec![r("1")], bias: r("0"), out: vec![r("0")] }
    }

    fn linear(remove: &[usize], insert: &[usize]) -> LinearChange {
        LinearChange { remove: remove.to_vec(), insert: insert.iter().map(|&unit| placed(unit)).collect() }
    }

    #[test]
    fn every_move_has_its_sentence() {
        let check = |each: Move, expected: &str| assert_eq!(describe(&each), expected);
        check(
            Move::Permute { layer: 0, order: vec![2, 0, 1] },
            "swap the neurons of layer 1 into the order 3, 1, 2",
        );
        check(
            Move::Scale { layer: 1, factors: vec![r("2"), r("1/3")] },
            "scale the neurons of layer 2 by 2, 1/3",
        );
        check(Move::Scale { layer: 1, factors: vec![r("1"), r("1/3")] }, "scale neuron 2 of layer 2 by 1/3");
        check(Move::Scale { layer: 1, factors: vec![r("4"), r("4")] }, "scale every neuron of layer 2 by 4");
        check(Move::Scale { layer: 0, factors: vec![r("1")] }, "scale the neurons of layer 1 by 1");
        check(Move::Drop { layer: 0, units: vec![1] }, "remove neuron 2 of layer 1, which has no effect");
        check(
            Move::Drop { layer: 0, units: vec![1, 3, 4] },
            "remove neurons 2, 4 and 5 of layer 1, which have no effect",
        );
        check(
            Move::Insert { layer: 0, neurons: vec![placed(1)] },
            "insert a new neuron 2 without effect into layer 1",
        );
        check(Move::Merge { layer: 0, pairs: vec![(0, 1)] }, "in layer 1, merge neuron 2 into 1");
        let copy = NeuronCopy { of: 0, unit: 1, factor: r("1/2"), out: vec![] };
        check(
            Move::Split { layer: 0, copies: vec![copy] },
            "in layer 1, split off 1/2 times neuron 1 as neuron 2",
        );
        check(
            Move::Cancel { layer: 1, keep: 0, drop: 1, linear: linear(&[2, 3], &[1, 2]) },
            "remove neuron 2 of layer 2, a negative multiple of neuron 1, and replace linear neurons 3 and 4 by \
             new neurons 2 and 3 to make up for it",
        );
        check(
            Move::Refactor { layer: 1, linear: linear(&[0, 1], &[0, 1]) },
            "in layer 2, give linear neurons 1 and 2 new weights",
        );
        check(
            Move::Refactor { layer: 1, linear: linear(&[], &[0]) },
            "in layer 2, insert a new linear neuron 1",
        );
        check(
            Move::Reorient { layer: 1, units: vec![2], linear: linear(&[0], &[]) },
            "reverse the sign of neuron 3 of layer 2, and remove linear neuron 1 to make up for it",
        );
        check(
            Move::Reorient { layer: 1, units: vec![2], linear: linear(&[], &[]) },
            "reverse the sign of neuron 3 of layer 2, the affine rest being constant",
        );
        check(
            Move::Translate { layer: 0, unit: 1, amount: r("-1") },
            "translate the hidden hyperplane of neuron 2 of layer 1 by -1",
        );
        check(
            Move::Flip { layer: 0, unit: 0, flips: vec![1, 2] },
            "flip neurons 2 and 3 of layer 1 across the hidden hyperplane of neuron 1",
        );
        check(Move::Fold { layer: 0, pairs: vec![] }, "multiply layer 1, which is linear, into layer 2");
        check(
            Move::Fold { layer: 0, pairs: vec![(0, 1), (2, 3)] },
            "multiply layer 1, 2 pairs of whose neurons cancel, into layer 2",
        );
        let unfold = Move::Unfold {
            layer: 2,
            weight: vec![vec![r("1")]; 2],
            bias: vec![],
            activation: Activation::Identity,
            next_weight: vec![],
            next_bias: vec![],
            pairs: vec![],
        };
        check(unfold, "factor layer 3 into two layers, the first of 2 linear neurons");
    }

    #[test]
    fn long_lists_are_cut_and_large_numbers_do_not_overflow() {
        let order: Vec<_> = (0..512).collect();
        assert_eq!(
            describe(&Move::Permute { layer: 0, order: order.clone() }),
            "swap the neurons of layer 1 into the order 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ... (512 in all)"
        );
        assert!(describe(&Move::Drop { layer: 0, units: order }).contains("11, 12 and 500 more of layer 1"));
        assert!(describe(&Move::Fold { layer: usize::MAX, pairs: vec![] }).contains(&usize::MAX.to_string()));
    }
}
