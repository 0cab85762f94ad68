//! Networks that agree up to rounding.
//!
//! Neurons are matched by nearly equal directions; `B` is permuted and scaled (exactly, by rational
//! factors) to lie as close to `A` as rounding allows.
//!
//! On a bounded box the checker's lemma bounds what is left. If the widths differ, or the neurons do not
//! match, both networks are first reduced as far as rounding allows (module `snap`): what is almost a
//! multiple is made one, at a price that the lemma bounds too, and hidden hyperplanes are brought to their
//! fixed place.
//!
//! On an unbounded domain no bound of this kind exists, and no box is assumed. There the parameters
//! themselves are compared, one by one, after moves that keep the functions on that domain (module `close`).

mod close;
mod precision;
mod snap;

use fiberscope_check::rounding_bound;
use fiberscope_core::{
    Activation, Domain, Evidence, ExactNetwork, Layer, MoveChain, Network, Rational, RoundingStep,
    side_by_side,
};

use crate::limit::Deadline;
use crate::orbit::LayerRelabelling;
use crate::orbit::directions::{Directions, rows};
use crate::orbit::lines::nonzero;
use snap::{Snapped, snap};

pub use close::parameters_agree;
pub use precision::coarser_precision;

/// For the search of an alignment, rows count as near whose entries differ by this many units in the last
/// place of the largest one. Nothing that is said rests on this number.
const UNITS: f64 = 64.0;

/// Where neurons were merged and layers folded, errors have added up: so many times more.
const AFTER_REDUCTION: f64 = 16.0;

/// Rows that differ by more are never taken for the same.
const FARTHEST: f64 = 1.0 / 64.0;

/// An alignment on a bounded box, and the bound for the difference of the outputs that it proves.
#[derive(Clone, Debug)]
pub struct Aligned {
    /// The evidence for the bound.
    pub evidence: Evidence,
    /// The bound.
    pub bound: Rational,
}

/// The alignment with the least bound; the first whose bound is at most `enough` ends the search. `tolerance`
/// is the difference that was asked about, if one was: parameters may then differ by as much.
pub fn align(
    (a, b): (&Network, &Network),
    domain: &Domain,
    (precision, tolerance): (f64, Option<f64>),
    enough: &Rational,
    deadline: &Deadline,
) -> Option<Aligned> {
    let (exact_a, exact_b) = (a.to_exact(), b.to_exact());
    let tight = UNITS * precision;
    let loose = tolerance.map(|tolerance| tolerance.min(FARTHEST)).filter(|&loose| loose > tight);
    let mut best: Option<Aligned> = None;
    for closeness in [tight].into_iter().chain(loose) {
        let matched = match_closely(&exact_a, &exact_b, domain, closeness, deadline);
        let direct = matched.map(|(moves, bound)| Aligned {
            evidence: Evidence::Rounding { a: MoveChain::default(), b: moves, bound: bound.clone() },
            bound,
        });
        if keep(&mut best, direct, enough) {
            return best;
        }
        // What holds everywhere holds on the box; fewer moves leave more of the neurons recognisable.
        let found = [&Domain::Space, domain].into_iter().any(|reduced_on| {
            let domains = (reduced_on, domain);
            let aligned = snapped((&exact_a, &exact_b), domains, (closeness, precision), deadline);
            keep(&mut best, aligned, enough)
        });
        if found {
            return best;
        }
    }
    // A tolerance asks for a bound only, however the parameters differ: as they stand.
    let plain =
        tolerance.and_then(|_| rounding_bound(&exact_a, &exact_b, domain).ok()).map(|bound| Aligned {
            evidence: Evidence::Rounding {
                a: MoveChain::default(),
                b: MoveChain::default(),
                bound: bound.clone(),
            },
            bound,
        });
    keep(&mut best, plain, enough);
    best
}

/// Keeps what is better; whether it is good enough.
fn keep(best: &mut Option<Aligned>, found: Option<Aligned>, enough: &Rational) -> bool {
    if let Some(found) = found
        && best.as_ref().is_none_or(|best| found.bound < best.bound)
    {
        *best = Some(found);
    }
    best.as_ref().is_some_and(|best| best.bound <= *enough)
}

/// The alignment of the networks after both are reduced up to rounding by moves that hold on the first
/// domain.
fn snapped(
    (a, b): (&ExactNetwork, &ExactNetwork),
    domains: (&Domain, &Domain),
    (closeness, precision): (f64, f64),
    deadline: &Deadline,
) -> Option<Aligned> {
    let snapped = |network: &ExactNetwork| snap(network.clone(), domains, closeness, precision, deadline);
    let (a, mut b) = (snapped(a)?, snapped(b)?);
    let closeness = closeness * AFTER_REDUCTION;
    let (moves, rest) = match_closely(&a.network, &b.network, domains.1, closeness, deadline)?;
    b.steps.push(RoundingStep::Moves(moves));
    let bound = &(&a.change + &b.change) + &rest;
    Some(Aligned { evidence: evidence(a, b, bound.clone()), bound })
}

/// Chains without nudges need only the simpler kind of certificate.
fn evidence(a: Snapped, b: Snapped, bound: Rational) -> Evidence {
    match (a.moves(), b.moves()) {
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
    let (moves, aligned) = relabel_closely(a, b, closeness, deadline)?;
    let (of_a, of_b) = (&a.layers()[a.depth() - 1], &aligned.layers()[a.depth() - 1]);
    if deadline.is_past() || !close_as_they_stand(of_a, of_b, closeness) {
        return None;
    }
    Some((moves, rounding_bound(a, &aligned, domain).ok()?))
}

/// The order and the scales of the neurons of `B` that bring it close to `A`, and the result.
fn relabel_closely(
    a: &ExactNetwork,
    b: &ExactNetwork,
    closeness: f64,
    deadline: &Deadline,
) -> Option<(MoveChain, ExactNetwork)> {
    if a.widths() != b.widths() {
        return None;
    }
    let mut aligned = b.clone();
    let mut moves = MoveChain::default();
    for layer in 0..a.hidden_depth() {
        if deadline.is_past() {
            return None;
        }
        let (of_a, of_b) = (&a.layers()[layer], &aligned.layers()[layer]);
        if of_a.activation() == Activation::Identity && of_b.activation() == Activation::Identity {
            // Layers that stand between others, such as averages, have their neurons in the order of the file.
            close_as_they_stand(of_a, of_b, closeness).then_some(())?;
            continue;
        }
        let close = close_rows(of_a, of_b, closeness)?;
        moves = moves.compose(close.apply(&mut aligned, layer));
    }
    Some((moves, aligned))
}

/// Whether layers agree up to `closeness` times their largest entry.
fn close_as_they_stand(a: &Layer<Rational>, b: &Layer<Rational>, closeness: f64) -> bool {
    let sizes = (0..a.width()).flat_map(|i| nonzero(a, i)).map(|(_, w)| w.to_f64().abs());
    let size = sizes.fold(0.0, f64::max);
    (0..a.width()).all(|i| {
        let mut pairs = side_by_side(nonzero(a, i), nonzero(b, i));
        pairs.all(|(_, x, y)| {
            let zero = Rational::ZERO;
            (x.unwrap_or(&zero) - y.unwrap_or(&zero)).to_f64().abs() <= closeness * size
        })
    })
}

/// For every row of `A` the row of `B` with nearly the same direction, and the factor between them.
fn close_rows(a: &Layer<Rational>, b: &Layer<Rational>, closeness: f64) -> Option<LayerRelabelling> {
    if a.activation() != b.activation() || a.activation() != Activation::Relu {
        return None;
    }
    let directions = Directions::new(rows(b));
    let mut taken = vec![false; b.width()];
    let mut close = LayerRelabelling::default();
    for (i, row) in rows(a).iter().enumerate() {
        let near = directions.near(row, closeness);
        let (j, _) = near.into_iter().find(|&(j, factor)| !taken[j] && factor > 0.0)?;
        taken[j] = true;
        close.push(j, factor(a, i, b, j));
    }
    Some(close)
}

/// The factor between two rows that are nearly multiples: 1 or the quotient of the largest entries if that
/// makes them equal, otherwise the middle of the quotients of their entries, as a double. (The quotient of
/// one entry would hand the error of that entry on to all others, and from layer to layer.) It is 1 where that is no
/// farther from the quotients than they are from each other: other factors make long numbers, layer by layer.
fn factor(a: &Layer<Rational>, i: usize, b: &Layer<Rational>, j: usize) -> Rational {
    let zero = Rational::ZERO;
    let entries = || {
        let pairs = side_by_side(nonzero(a, i), nonzero(b, j));
        pairs.map(|(_, x, y)| (x.unwrap_or(&zero), y.unwrap_or(&zero)))
    };
    let Some(largest) = entries().max_by_key(|(x, _)| x.abs()) else { return Rational::ONE };
    let Some(quotient) = largest.1.recip().map(|inverse| largest.0 * &inverse) else { return Rational::ONE };
    if entries().all(|(x, y)| *x == y * &quotient) {
        return quotient;
    }
    let size = largest.0.to_f64().abs();
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for (x, y) in entries().map(|(x, y)| (x.to_f64(), y.to_f64())) {
        // Entries below the largest one may have lost their last places to it, where neurons were merged or
        // layers folded.
        let part = x / y;
        if part.is_finite() && part > 0.0 && 4.0 * x.abs() >= size {
            (least, most) = (least.min(part), most.max(part));
        }
    }
    if (least - 1.0).abs().max((most - 1.0).abs()) <= 2.0 * (most - least) {
        return Rational::ONE;
    }
    Rational::from_f64((least + most) / 2.0).filter(Rational::is_positive).unwrap_or(quotient)
}
