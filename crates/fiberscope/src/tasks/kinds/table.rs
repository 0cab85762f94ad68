//! Tables: rows that have nothing to do with each other. A piece is a range of rows.

use fiberscope_core::Network;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::rows::Rows;
use crate::limit::Deadline;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Known, Means, Merging, Question, Worked};

/// A question whose answer is a table: [`Question`] follows.
pub(in crate::tasks) trait Table: Serialize + DeserializeOwned + Send + Sync {
    /// The name of the kind in files.
    const NAME: &'static str;
    /// A row of the answer.
    type Row: Clone + Serialize + DeserializeOwned + Send + Sync;

    /// The number of rows.
    fn count(&self, networks: &[Network]) -> Result<u64, TaskError>;

    /// Computes a row, whose number is below the count; the deadline is past only if the whole work must end.
    fn row(&self, networks: &[Network], number: u64, means: &Means) -> Result<Self::Row, TaskError>;

    /// Whether a row of a file has the form of this question's rows.
    fn fits(&self, _: &Self::Row) -> bool {
        true
    }
}

impl<Q: Table> Question for Q {
    const KIND: &'static str = Q::NAME;
    type Piece = Rows;
    type Part = Vec<(u64, Q::Row)>;
    type Answer = Vec<Q::Row>;

    fn whole(&self, networks: &[Network], pieces: usize) -> Result<Rows, TaskError> {
        Ok(Rows::whole(self.count(networks)?, pieces))
    }

    fn work(&self, networks: &[Network], piece: &Rows, means: &Means) -> Result<Worked<Self>, TaskError> {
        if piece.is_cut() {
            return Ok(Worked { part: Vec::new(), left: piece.cut() });
        }
        let (first, end) = piece.ends();
        if end > self.count(networks)? {
            return Err(TaskError::Damaged("there is no such row".into()));
        }
        let own = Means { deadline: means.deadline.endless(), device: means.device.clone() };
        let mut part = Vec::new();
        for number in first..end {
            if number > first && means.deadline.is_past() {
                break;
            }
            part.push((number, self.row(networks, number, &own)?));
        }
        let left = piece.rest(first + part.len() as u64).into_iter().collect();
        Ok(Worked { part, left })
    }

    fn merge(
        &self,
        networks: &[Network],
        known: &Known<'_, Self>,
        _: &Deadline,
    ) -> Result<Merging<Self>, TaskError> {
        let gathered = known.gather_all()?;
        if !gathered.missing.is_empty() {
            return Ok(Merging::Missing(gathered.missing));
        }
        let mut rows: Vec<&(u64, Q::Row)> = gathered.parts.iter().flat_map(|(part, _)| part.iter()).collect();
        rows.sort_by_key(|(number, _)| *number);
        let numbered = rows.iter().zip(0..).all(|((number, _), expected)| *number == expected);
        if rows.len() as u64 != self.count(networks)? || !numbered {
            return Err(TaskError::Damaged("the results do not have every row once".into()));
        }
        if !rows.iter().all(|(_, row)| self.fits(row)) {
            return Err(TaskError::Damaged("a row has another form than the plan says".into()));
        }
        Ok(Merging::Answer(Box::new(rows.into_iter().map(|(_, row)| row.clone()).collect())))
    }
}
