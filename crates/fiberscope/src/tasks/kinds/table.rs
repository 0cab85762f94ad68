//! Tables: rows that have nothing to do with each other. A piece is a range of rows.

use serde::{Deserialize, Serialize};

use crate::limit::Deadline;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Known, Merging, Question, Worked};

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

/// Computes rows until the deadline, at least one.
pub fn work_rows<T, Q: Question<Piece = Rows, Part = Vec<(u64, T)>>>(
    piece: &Rows,
    deadline: &Deadline,
    mut row: impl FnMut(u64) -> Result<T, TaskError>,
) -> Result<Worked<Q>, TaskError> {
    if piece.is_cut() {
        return Ok(Worked { part: Vec::new(), left: piece.cut() });
    }
    let (first, end) = piece.ends();
    let mut part = Vec::new();
    for number in first..end {
        if number > first && deadline.is_past() {
            break;
        }
        part.push((number, row(number)?));
    }
    let left = piece.rest(first + part.len() as u64).into_iter().collect();
    Ok(Worked { part, left })
}

/// All rows in their order, or the pieces that are missing.
pub fn merge_rows<T: Clone, Q: Question<Piece = Rows, Part = Vec<(u64, T)>, Answer = Vec<T>>>(
    known: &Known<'_, Q>,
    count: u64,
) -> Result<Merging<Q>, TaskError> {
    let gathered = known.gather_all()?;
    if !gathered.missing.is_empty() {
        return Ok(Merging::Missing(gathered.missing));
    }
    let mut rows: Vec<&(u64, T)> = gathered.parts.iter().flat_map(|(part, _)| part.iter()).collect();
    rows.sort_by_key(|(number, _)| *number);
    if rows.len() as u64 != count || rows.iter().zip(0..).any(|((number, _), expected)| *number != expected) {
        return Err(TaskError::Damaged("the results do not have every row once".into()));
    }
    Ok(Merging::Answer(Box::new(rows.into_iter().map(|(_, row)| row.clone()).collect())))
}
