//! Tables: rows that have nothing to do with each other. A piece is a range of rows.

use super::rows::Rows;
use crate::limit::Deadline;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Known, Merging, Question, Worked};

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
