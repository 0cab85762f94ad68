//! Three layers with a bottleneck: complete for generic parameters, sound for all.
//!
//! Let `W_1` of both networks have full row rank, so that `x -> relu(W_1 x + b_1)` is onto the orthant. After
//! reduction and with hidden hyperplanes at their fixed place, equal functions of generic parameters have
//! the same first layer up to permutation and scaling [threelayer2026, Section 6]. If the first layers match,
//! the rest is compared on the orthant by hyperplane representations, which decides. If not, some
//! hyperplane of one network is missing in the other and visible somewhere: points on it and beside it
//! are written down from wanted activations, and exact evaluation shows the difference.

use fiberscope_core::{Domain, ExactNetwork, Interval, MoveChain, Rational};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::matching::{match_rows, partners};
use super::solve::Preimage;
use super::tail::{Tail, difference_points};
use crate::canonical::hidden;

/// What the procedure found.
pub enum Finding {
    /// The networks are equal: after these moves, the first layers are equal and the rest has equal
    /// hyperplane representations.
    Equal {
        /// Moves on the first network.
        a: MoveChain,
        /// Moves on the second network.
        b: MoveChain,
    },
    /// The networks differ at one of these inputs, unless the parameters are not generic or rounding
    /// interfered: whoever uses them evaluates exactly.
    Candidates(Vec<Vec<Rational>>),
}

/// Compares two reduced networks with two hidden ReLU layers and first weights of full row rank on
/// all of `R^n`.
pub fn compare(a: &ExactNetwork, b: &ExactNetwork, seed: u64) -> Finding {
    let (mut a, mut b) = (a.clone(), b.clone());
    let moves_a = fix_hidden(&mut a);
    let mut moves_b = fix_hidden(&mut b);
    let Some((order, factors)) = match_rows(&a.layers()[0], &b.layers()[0]) else {
        return Finding::Candidates(hyperplane_points(&a, &b, seed));
    };
    let relabel = super::matching::relabel_layer(&mut b, 0, order, factors);
    moves_b = moves_b.compose(relabel);
    let orthant = vec![Interval { lower: Some(Rational::ZERO), upper: None }; a.layers()[0].width()];
    match difference_points(&Tail::of(&a), &Tail::of(&b), &orthant, seed) {
        None => Finding::Equal { a: moves_a, b: moves_b },
        Some(activations) => Finding::Candidates(preimages(&a, &activations)),
    }
}

/// Brings a hidden hyperplane of layer 1 to its fixed place.
fn fix_hidden(network: &mut ExactNetwork) -> MoveChain {
    let moves = MoveChain::from(hidden::normalize(network, 0));
    moves.apply(network, &Domain::Space).expect("layer 2 hides the neuron");
    moves
}

/// Inputs of the network whose first-layer pre-activations are the given ones, in floats and (for small
/// layers) exactly.
fn preimages(network: &ExactNetwork, wanted: &[Vec<Rational>]) -> Vec<Vec<Rational>> {
    let Some(preimage) = Preimage::new(&network.layers()[0]) else { return Vec::new() };
    let small = network.layers()[0].width() <= 24;
    let approximate = wanted.iter().filter_map(|z| preimage.approximate(z));
    let exact = wanted.iter().take(if small { wanted.len() } else { 0 }).filter_map(|z| preimage.exact(z));
    approximate.chain(exact).collect()
}

/// Points on and beside the first-layer hyperplanes that the networks do not share.
fn hyperplane_points(a: &ExactNetwork, b: &ExactNetwork, seed: u64) -> Vec<Vec<Rational>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut points = Vec::new();
    for (network, other) in [(a, b), (b, a)] {
        let unmatched = partners(&network.layers()[0], &other.layers()[0]);
        let missing = (0..unmatched.len()).filter(|&unit| unmatched[unit].is_empty());
        let wanted: Vec<_> =
            missing.take(4).flat_map(|unit| visible_activations(network, unit, &mut rng)).collect();
        points.extend(preimages(network, &wanted));
    }
    points
}

/// Pre-activations of the first layer on the hyperplane of `unit` and close to it, with second-layer
/// neurons active there: around a neuron's positive bias, or far along one of its positive weights.
fn visible_activations(network: &ExactNetwork, unit: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<Rational>> {
    let next = &network.layers()[1];
    let inputs = next.input_width();
    let mut random = || Rational::dyadic(rng.random_range(1..1 << 12), -12);
    let mut found = Vec::new();
    for j in 0..next.width() {
        let row = next.weight().row(j);
        let weight: Rational = row.iter().map(Rational::abs).sum::<Rational>() + Rational::ONE;
        let mut push = |base: Option<usize>, size: &Rational, small: &Rational| {
            let mut z: Vec<Rational> = (0..inputs).map(|_| &random() * small).collect();
            if let Some(base) = base {
                z[base] = size.clone();
            }
            let step = small.clone();
            for shift in [None, Some(2), Some(12), Some(30)] {
                let h = shift.map_or(Rational::ZERO, |shift| &step * &Rational::dyadic(1, -shift));
                z[unit] = h.clone();
                found.push(z.clone());
                if !h.is_zero() {
                    z[unit] = -&h;
                    found.push(z.clone());
                }
            }
        };
        if next.bias()[j].is_positive() {
            let small = &next.bias()[j] / &(&weight * &Rational::from(2));
            push(None, &Rational::ZERO, &small);
        }
        for base in (0..inputs).filter(|&base| row[base].is_positive()) {
            // Large enough to outweigh a negative bias, with the others small.
            let size = &(&(next.bias()[j].abs() + Rational::ONE) / &row[base]) * &Rational::from(2);
            let small = &(&size * &row[base]) / &(&weight * &Rational::from(8));
            push(Some(base), &size, &small);
        }
    }
    found.truncate(400);
    found
}
