//! Multipliers for the signs of neurons.
//!
//! The bound `v(beta)` of a row is convex in its multipliers, and its derivatives are the values of what they
//! multiply where the bound is attained. Polyak's steps go down to the level that is asked for:
//!
//! ```text
//! beta -= r (v - level) / |g|^2 g,   then beta = max(0, beta),
//! ```
//!
//! where derivatives that only keep a multiplier at 0 are left out. Every `beta` gives a bound; the best one is
//! kept, rounded as the certificate has it.

use fiberscope_core::RowMultipliers;

use super::rows::{output, sign};
use super::worker::Worker;

/// The steps for a row.
const STEPS: usize = 12;
/// The part of the way to the level that a step goes, by the slopes.
const PART: f64 = 0.7;
/// So much below the level is aimed at, relatively.
const BELOW: f64 = 0.02;
/// Derivatives this small lead nowhere.
const FLAT: f64 = 1e-30;

impl Worker<'_> {
    /// The bound of a row by going backwards, with the best multipliers that are found for it. The last row
    /// of the bounder is the one that has this bound.
    pub(super) fn tighten(&mut self, row: usize, level: f64, known: &[RowMultipliers]) -> f64 {
        let ask =
            |worker: &mut Self| worker.bounder.tighten(output(row), if sign(row) > 0.0 { 1 } else { -1 });
        let count = self.part.signs.len();
        self.bounder.multiply([]);
        if count == 0 {
            return ask(self);
        }
        let start = known.iter().find(|known| known.row() == row);
        let mut beta: Vec<f64> = start.into_iter().flat_map(RowMultipliers::values).take(count).collect();
        beta.resize(count, 0.0);
        let (mut best, mut last) = (f64::INFINITY, f64::INFINITY);
        let mut kept: Option<RowMultipliers> = None;
        let mut slopes = Vec::new();
        for step in 0..STEPS {
            let Some(stored) = RowMultipliers::nearest(row, &beta) else { break };
            self.bounder.multiply(stored.values());
            last = ask(self);
            if last < best || kept.is_none() {
                (best, kept) = (last, Some(stored));
            }
            if best <= level || step + 1 == STEPS || !last.is_finite() {
                break;
            }
            self.bounder.derivatives(&mut slopes);
            for (slope, beta) in slopes.iter_mut().zip(&beta) {
                if *beta <= 0.0 && *slope > 0.0 {
                    *slope = 0.0;
                }
            }
            let square: f64 = slopes.iter().map(|slope| slope * slope).sum();
            let gap = last - level + BELOW * level.abs();
            if square.is_nan() || square <= FLAT * gap * gap {
                break;
            }
            let length = PART * gap / square;
            beta.iter_mut().zip(&slopes).for_each(|(beta, slope)| *beta = (*beta - length * slope).max(0.0));
        }
        if let Some(kept) = kept {
            if best < last {
                self.bounder.multiply(kept.values());
                ask(self);
            }
            self.weights.retain(|old| old.row() != row);
            if kept.parts.iter().any(|part| *part > 0) {
                let place = self.weights.partition_point(|old| old.row() < row);
                self.weights.insert(place, kept);
            }
        }
        best
    }
}
