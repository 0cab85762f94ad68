//! Ranges of the rows of a table.

use serde::{Deserialize, Serialize};

/// A range of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    first: u64,
    end: u64,
    /// The piece is only cut, into so many; 0 if its rows are computed.
    divide: u64,
}

impl Rows {
    /// All rows of a table, to be cut into at most so many pieces.
    pub fn whole(count: u64, pieces: usize) -> Self {
        Rows { first: 0, end: count, divide: pieces.max(1) as u64 }
    }

    /// Whether this is to be cut only.
    pub fn is_cut(&self) -> bool {
        self.divide > 0
    }

    /// The rows in at most so many pieces of about equal length.
    pub fn cut(&self) -> Vec<Rows> {
        let count = self.end.saturating_sub(self.first);
        let pieces = self.divide.min(count);
        let place =
            |piece: u64| self.first + (u128::from(count) * u128::from(piece) / u128::from(pieces)) as u64;
        (0..pieces).map(|piece| Rows { first: place(piece), end: place(piece + 1), divide: 0 }).collect()
    }

    /// The first row and the one behind the last.
    pub fn ends(&self) -> (u64, u64) {
        (self.first, self.end)
    }

    /// What is left from a row on.
    pub fn rest(&self, first: u64) -> Option<Rows> {
        (first < self.end).then_some(Rows { first, end: self.end, divide: 0 })
    }
}
