//! Parameters that agree one by one, after moves that keep both functions on the domain.
//!
//! What rescaling in floating point leaves: with `u` half a unit in the last place, a weight `w` of a twin is
//! stored as `w c_i / c_j (1 + e)`, `abs(e) <= 2u` (a product and a quotient), or `4u` if the factors are
//! applied in two passes. The factor that brings a row back is the middle of the quotients of its entries, so
//! it errs by no more than they do; an entry is then off by its own error and those of the factors of its row
//! and its column: at most `3 * 4u = 6` units, and a little more because the factors of a layer see those of
//! the layer before. So [`UNITS`] is 12; on 40 random networks of 2 to 8 layers with real factors between
//! 1/20 and 20, in single precision, the largest was 1.5.
//!
//! Moves that add rows or biases up (flips, translations, folds, ...) may make a difference small beside what
//! was added: a row that differs in the fourth digit, flipped onto one that is hundreds of times as large,
//! agrees with the other to six. So parameters that are not equal count as close only after moves that
//! reorder, scale, drop or merge neurons.

use fiberscope_core::{Domain, Evidence, ExactNetwork, Move, MoveChain, Network, Rational, side_by_side};

use super::snap::settle;
use super::{AFTER_REDUCTION, relabel_closely};
use crate::limit::Deadline;
use crate::orbit::lines::nonzero;

/// Parameters may differ by so many units in the last place of the coarser precision, each relative to
/// itself.
const UNITS: f64 = 12.0;

/// The largest relative difference that the certificate knows.
const LARGEST: f64 = 1.0 / 1024.0;

/// Evidence that the parameters agree one by one to a few units in the last place, as the networks are or
/// after reduction on the domain.
pub fn parameters_agree(
    a: &Network,
    b: &Network,
    domain: &Domain,
    precision: f64,
    deadline: &Deadline,
) -> Option<Evidence> {
    let limit = Rational::from_f64((UNITS * precision).min(LARGEST))?;
    let closeness = super::UNITS * precision;
    let (a, b) = (a.to_exact(), b.to_exact());
    if let Some((moves, relative)) = agree(&a, &b, &limit, closeness, deadline) {
        return Some(Evidence::Close { a: MoveChain::default(), b: moves, relative });
    }
    let (a, b) = (settle(a, domain, deadline)?, settle(b, domain, deadline)?);
    let closeness = closeness * AFTER_REDUCTION;
    let (moves, relative) = agree(&a.network, &b.network, &limit, closeness, deadline)?;
    let (of_a, of_b) = (a.moves()?, b.moves()?);
    let telling = [&of_a, &of_b].into_iter().all(keeps_differences);
    (relative.is_zero() || telling).then(|| Evidence::Close { a: of_a, b: of_b.compose(moves), relative })
}

/// Whether all moves leave the numbers of neurons side by side.
fn keeps_differences(moves: &MoveChain) -> bool {
    moves.moves().iter().all(|each| {
        matches!(each, Move::Permute { .. } | Move::Scale { .. } | Move::Drop { .. } | Move::Merge { .. })
    })
}

/// The moves that bring `B` close to `A`, and the largest relative difference of two parameters, unless it
/// exceeds the limit.
fn agree(
    a: &ExactNetwork,
    b: &ExactNetwork,
    limit: &Rational,
    closeness: f64,
    deadline: &Deadline,
) -> Option<(MoveChain, Rational)> {
    let (moves, aligned) = relabel_closely(a, b, closeness, deadline)?;
    let mut largest = 0.0f64;
    for (of_a, of_b) in a.layers().iter().zip(aligned.layers()) {
        for i in 0..of_a.width() {
            for (_, p, q) in side_by_side(nonzero(of_a, i), nonzero(of_b, i)) {
                // A number that only one of the two has differs by all of itself.
                largest = largest.max(p.zip(q).map_or(1.0, |(p, q)| relative(p, q)));
            }
        }
    }
    // A little more, for the rounding here; the checker compares exactly.
    let relative = Rational::from_f64(largest * (1.0 + 2f64.powi(-40)))?;
    (relative <= *limit).then_some((moves, relative))
}

/// `abs(p - q) / max(abs(p), abs(q))`; 1 if one of them is zero.
fn relative(p: &Rational, q: &Rational) -> f64 {
    if p == q { 0.0 } else { (p - q).to_f64().abs() / p.to_f64().abs().max(q.to_f64().abs()) }
}
