//! How far a count of cells is, and where one that was stopped goes on.

use fiberscope_core::Domain;
use serde::{Deserialize, Serialize};

use super::count::Tally;
use super::frame::Frame;
use super::tile::{Tile, is_box};

/// How far a count is.
#[derive(Clone, Copy, Debug)]
pub struct CountProgress {
    /// The part of the domain's volume that is finished.
    pub explored: f64,
    /// The regions counted so far, roughly.
    pub regions: u64,
}

/// A count that was stopped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CountState {
    pub(super) network: String,
    pub(super) domain: Domain,
    pub(super) sides: Vec<[f64; 2]>,
    pub(super) pending: Vec<Tile>,
    pub(super) tally: Tally,
}

impl CountState {
    /// Whether nothing is left to do.
    pub fn is_complete(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether all lists have the right lengths and all boxes are boxes: the state may come from a file.
    pub(super) fn fits(&self, dimension: usize) -> bool {
        is_box(&self.sides, dimension)
            && self.pending.iter().all(|tile| tile.fits(dimension))
            && [&self.tally.all, &self.tally.bounded].iter().all(|counts| counts.len() == dimension + 1)
    }

    /// The part of the domain's volume that is finished.
    pub(super) fn explored(&self, frame: &Frame) -> f64 {
        let open: f64 = self.pending.iter().map(|tile| tile.share(frame)).sum();
        // Shares may add up to a little more or less than one, and what is left of that is no part of the domain.
        let rounding = 4.0 * (self.pending.len() + frame.dimension()) as f64 * f64::EPSILON;
        if 1.0 - open > rounding || self.is_complete() { 1.0 - open } else { 0.0 }
    }
}
