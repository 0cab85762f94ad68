//! Surveys of random networks: a row for each.

use fiberscope_core::Network;
use serde::{Deserialize, Serialize};

use crate::survey::{Plan, Row, Task, rows};
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::Means;

use super::table::Table;

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
}

impl From<Vec<Row>> for Answer {
    fn from(rows: Vec<Row>) -> Self {
        Answer::Survey(rows)
    }
}

impl Table for SurveyQuestion {
    const NAME: &'static str = "survey";
    type Row = Row;

    fn count(&self, _: &[Network]) -> Result<u64, TaskError> {
        self.plan.check().map_err(|error| TaskError::Question(error.to_string()))?;
        let all = self.plan.count.checked_mul(self.plan.widths.len() as u64);
        all.ok_or_else(|| TaskError::Question("more networks than 64 bits count".into()))
    }

    fn row(
        &self,
        _: &[Network],
        number: u64,
        Means { deadline: stop, .. }: &Means,
    ) -> Result<Row, TaskError> {
        let (axis, seed) = (number / self.plan.count, self.plan.seed + number % self.plan.count);
        let one = Task { axis: axis as usize, first: seed, count: 1 };
        let found = rows(&self.plan, &one, stop).and_then(|rows| rows.into_iter().next());
        found.ok_or(TaskError::Stopped)
    }

    fn fits(&self, row: &Row) -> bool {
        row.values.len() == self.plan.measures.len()
    }
}
