//! Surveys of random networks: a row for each.

use fiberscope_core::Network;
use serde::{Deserialize, Serialize};

use crate::limit::Deadline;
use crate::survey::{Plan, Row, Task, rows};
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Known, Merging, Question, Worked};

use super::rows::Rows;
use super::table::{merge_rows, work_rows};

/// What is usual among random networks?
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurveyQuestion {
    plan: Plan,
}

impl SurveyQuestion {
    /// The rows of [`survey::rows`](crate::survey::rows), of all lists of widths.
    pub fn new(plan: Plan) -> Self {
        SurveyQuestion { plan }
    }

    fn count(&self) -> Result<u64, TaskError> {
        self.plan.check().map_err(|error| TaskError::Question(error.to_string()))?;
        let all = self.plan.count.checked_mul(self.plan.widths.len() as u64);
        all.ok_or_else(|| TaskError::Question("more networks than 64 bits count".into()))
    }
}

impl From<Vec<Row>> for Answer {
    fn from(rows: Vec<Row>) -> Self {
        Answer::Survey(rows)
    }
}

impl Question for SurveyQuestion {
    const KIND: &'static str = "survey";
    type Piece = Rows;
    type Part = Vec<(u64, Row)>;
    type Answer = Vec<Row>;

    fn whole(&self, _: &[Network], pieces: usize) -> Result<Rows, TaskError> {
        Ok(Rows::whole(self.count()?, pieces))
    }

    fn work(&self, _: &[Network], piece: &Rows, deadline: &Deadline) -> Result<Worked<Self>, TaskError> {
        let count = self.count()?;
        let stop = deadline.endless();
        work_rows(piece, deadline, |number| {
            if number >= count {
                return Err(TaskError::Damaged("there is no such row".into()));
            }
            let (axis, seed) = (number / self.plan.count, self.plan.seed + number % self.plan.count);
            let one = Task { axis: axis as usize, first: seed, count: 1 };
            let found = rows(&self.plan, &one, &stop).and_then(|rows| rows.into_iter().next());
            found.ok_or(TaskError::Stopped)
        })
    }

    fn merge(
        &self,
        _: &[Network],
        known: &Known<'_, Self>,
        _: &Deadline,
    ) -> Result<Merging<Self>, TaskError> {
        let merged = merge_rows(known, self.count()?)?;
        if let Merging::Answer(rows) = &merged {
            let fits = |row: &Row| row.values.len() == self.plan.measures.len();
            if !rows.iter().all(fits) {
                return Err(TaskError::Damaged("a row has other measures than the plan".into()));
            }
        }
        Ok(merged)
    }
}
