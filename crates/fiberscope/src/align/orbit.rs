//! Networks that are related by permutation and scaling exactly.
//!
//! Layer by layer from the first: neuron `j` of `B` is neuron `i` of `A` if the rows `(w, b)` are
//! positive multiples of each other, once the columns of `B` have been permuted and scaled as the layer
//! before was.

use std::collections::BTreeMap;

use fiberscope_core::{Domain, ExactNetwork, Move, MoveChain, Rational};

use crate::lines::{direction, entries, ratio_of};

/// Permutations and scalings that make `A` of `B`, if they were found. Where several neurons of a layer
/// are multiples of each other only one order of them is tried.
pub fn relabelling(a: &ExactNetwork, b: &ExactNetwork) -> Option<MoveChain> {
    let (mut network, mut chain) = (b.clone(), MoveChain::default());
    for layer in 0..a.hidden_depth() {
        let (rows_a, rows_b) = (&a.layers()[layer], &network.layers()[layer]);
        let mut places: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for unit in (0..rows_b.width()).rev() {
            places.entry(direction(rows_b, unit)).or_default().push(unit);
        }
        let (mut order, mut factors) = (Vec::new(), Vec::new());
        for unit in 0..rows_a.width() {
            let candidates = places.get_mut(&direction(rows_a, unit))?;
            let factor = |&other: &usize| {
                // Rows of zeros, which share the direction `None`, need no factor.
                let zeros = entries(rows_b, other).chain(entries(rows_a, unit)).all(Rational::is_zero);
                let factor = ratio_of(entries(rows_b, other), entries(rows_a, unit));
                if zeros { Some(Rational::ONE) } else { factor.filter(Rational::is_positive) }
            };
            let (at, factor) =
                candidates.iter().enumerate().rev().find_map(|(at, other)| Some((at, factor(other)?)))?;
            order.push(candidates.remove(at));
            factors.push(factor);
        }
        for each in [Move::Permute { layer, order }, Move::Scale { layer, factors }] {
            each.apply(&mut network, &Domain::Space).ok()?;
            chain.push(each);
        }
    }
    (network == *a).then_some(chain)
}
