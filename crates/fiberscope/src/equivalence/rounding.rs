//! Networks that agree up to rounding.
//!
//! Neurons are matched by nearly equal directions; `B` is permuted and scaled (exactly, by rational
//! factors) to lie as close to `A` as rounding allows, and the checker's lemma bounds what is left. If
//! the widths differ, or the neurons do not match, both networks are first reduced as far as rounding
//! allows (module `snap`): what is almost a multiple is made one, at a price that the lemma bounds too, and
//! hidden hyperplanes are brought to their fixed place. On an unbounded domain the bound is for the box
//! `[-1, 1]^n`, and the certificate says so.

mod near;
mod snap;

use fiberscope_check::rounding_bound;
use fiberscope_core::{
    Activation, Domain, Evidence, ExactNetwork, Layer, MoveChain, Network, Rational, RoundingStep,
};

use super::EquivalenceOptions;
use crate::limit::Deadline;
use near::{Directions, rows};
use snap::{Snapped, snap};

/// Parameters may differ by this many units in the last place, relative to the largest of their row.
const UNITS: f64 = 64.0;

/// Where neurons were merged and layers folded, errors have added up: so many times more.
const AFTER_REDUCTION: f64 = 16.0;

/// Evidence that the networks differ by rounding only, and the box it is about.
pub fn align(
    a: &Network,
    b: &Network,
    domain: &Domain,
    options: &EquivalenceOptions,
    deadline: &Deadline,
) -> Option<(Evidence, Domain)> {
    let closeness = match options.tolerance {
        Some(tolerance) => tolerance.max(UNITS * options.precision),
        None => UNITS * options.precision,
    };
    let bounded = bounded(domain, a.input_width());
    let within = |bound: &Rational| options.tolerance.is_none_or(|tolerance| bound.to_f64() <= tolerance);
    let (exact_a, exact_b) = (a.to_exact(), b.to_exact());
    if let Some((moves, bound)) = match_closely(&exact_a, &exact_b, &bounded, closeness, deadline)
        && within(&bound)
    {
        return Some((Evidence::Rounding { a: MoveChain::default(), b: moves, bound }, bounded));
    }
    // What holds everywhere holds on the box; fewer moves leave more of the neurons recognisable.
    [&Domain::Space, &bounded].into_iter().find_map(|reduced_on| {
        let snapped = |network: &ExactNetwork| {
            let domains = (reduced_on, &bounded);
            snap(network.clone(), domains, closeness, options.precision, deadline)
        };
        let (a, mut b) = (snapped(&exact_a)?, snapped(&exact_b)?);
        let closeness = closeness * AFTER_REDUCTION;
        let (moves, rest) = match_closely(&a.network, &b.network, &bounded, closeness, deadline)?;
        b.steps.push(RoundingStep::Moves(moves));
        let bound = &(&a.change + &b.change) + &rest;
        within(&bound).then(|| (evidence(a, b, bound), bounded.clone()))
    })
}

/// Chains without nudges need only the simpler kind of certificate.
fn evidence(a: Snapped, b: Snapped, bound: Rational) -> Evidence {
    let moves = |steps: &[RoundingStep]| {
        steps.iter().try_fold(MoveChain::default(), |chain, step| match step {
            RoundingStep::Moves(moves) => Some(chain.compose(moves.clone())),
            RoundingStep::Nudge(_) => None,
        })
    };
    match (moves(&a.steps), moves(&b.steps)) {
        (Some(a), Some(b)) => Evidence::Rounding { a, b, bound },
        _ => Evidence::Nudged { a: a.steps, b: b.steps, bound },
    }
}

/// The moves that bring `B` close to `A`, and the bound for what is left.
fn match_closely(
    a: &ExactNetwork,
    b: &ExactNetwork,
    domain: &Domain,
    closeness: f64,
    deadline: &Deadline,
) -> Option<(MoveChain, Rational)> {
    if a.widths() != b.widths() {
        return None;
    }
    let mut aligned = b.clone();
    let mut moves = MoveChain::default();
    for layer in 0..a.hidden_depth() {
        if deadline.is_past() {
            return None;
        }
        let (order, factors) = close_rows(&a.layers()[layer], &aligned.layers()[layer], closeness)?;
        moves = moves.compose(super::matching::relabel_layer(&mut aligned, layer, order, factors));
    }
    if deadline.is_past() || !close_outputs(a, &aligned, closeness) {
        return None;
    }
    Some((moves, rounding_bound(a, &aligned, domain).ok()?))
}

/// Whether the last layers agree up to `closeness` times their largest entry.
fn close_outputs(a: &ExactNetwork, b: &ExactNetwork, closeness: f64) -> bool {
    let entries = |network: &ExactNetwork| -> Vec<Rational> {
        let last = &network.layers()[network.depth() - 1];
        last.weight().entries().iter().chain(last.bias()).cloned().collect()
    };
    let (of_a, of_b) = (entries(a), entries(b));
    let size = of_a.iter().map(|w| w.to_f64().abs()).fold(0.0, f64::max);
    of_a.iter().zip(&of_b).all(|(x, y)| (x - y).to_f64().abs() <= closeness * size)
}

/// The domain, or the unit box if it is unbounded.
fn bounded(domain: &Domain, inputs: usize) -> Domain {
    let finite = |sides: &[fiberscope_core::Interval]| sides.iter().all(|side| side.magnitude().is_some());
    match domain {
        Domain::Box(sides) if finite(sides) => domain.clone(),
        _ => Domain::from_bounds(&vec![(-1.0, 1.0); inputs]).expect("finite bounds"),
    }
}

/// For every row of `A` the row of `B` with nearly the same direction, and the factor between them.
fn close_rows(
    a: &Layer<Rational>,
    b: &Layer<Rational>,
    closeness: f64,
) -> Option<(Vec<usize>, Vec<Rational>)> {
    if a.activation() != b.activation() || a.activation() != Activation::Relu {
        return None;
    }
    let directions = Directions::new(rows(b));
    let mut taken = vec![false; b.width()];
    let (mut order, mut factors) = (Vec::new(), Vec::new());
    for (i, row) in rows(a).iter().enumerate() {
        let near = directions.near(row, closeness);
        let (j, _) = near.into_iter().find(|&(j, factor)| !taken[j] && factor > 0.0)?;
        taken[j] = true;
        order.push(j);
        factors.push(factor(a, i, b, j));
    }
    Some((order, factors))
}

/// The factor between the largest entries of two rows; 1 if they are equal as they are.
fn factor(a: &Layer<Rational>, i: usize, b: &Layer<Rational>, j: usize) -> Rational {
    let entries = || crate::lines::entries(a, i).zip(crate::lines::entries(b, j));
    let largest = entries().max_by_key(|(x, _)| x.abs());
    largest.and_then(|(x, y)| Some(x * &y.recip()?)).unwrap_or(Rational::ONE)
}
