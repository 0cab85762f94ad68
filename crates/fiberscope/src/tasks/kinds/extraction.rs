//! Rates of extraction: networks from queries, each beside the truth.

use fiberscope_core::Network;
use serde::{Deserialize, Serialize};

use crate::extract::{ExtractOptions, ExtractTrial, extract_trial};
use crate::limit::Deadline;
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Known, Merging, Question, Worked};

use super::rows::Rows;
use super::table::{merge_rows, work_rows};

/// How well are these networks recovered from queries?
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtractionQuestion {
    /// The seed of the extraction of each network.
    seeds: Vec<u64>,
}

impl ExtractionQuestion {
    /// One extraction of every network of the plan, with its seed.
    pub fn new(seeds: Vec<u64>) -> Self {
        ExtractionQuestion { seeds }
    }
}

impl From<Vec<ExtractTrial>> for Answer {
    fn from(trials: Vec<ExtractTrial>) -> Self {
        Answer::Extractions(trials)
    }
}

impl Question for ExtractionQuestion {
    const KIND: &'static str = "extraction";
    type Piece = Rows;
    type Part = Vec<(u64, ExtractTrial)>;
    type Answer = Vec<ExtractTrial>;

    fn whole(&self, networks: &[Network], pieces: usize) -> Result<Rows, TaskError> {
        let (expected, found) = (self.seeds.len(), networks.len());
        if expected != found {
            return Err(TaskError::Question(format!("expected {expected} networks, found {found}")));
        }
        Ok(Rows::whole(found as u64, pieces))
    }

    fn work(
        &self,
        networks: &[Network],
        piece: &Rows,
        deadline: &Deadline,
    ) -> Result<Worked<Self>, TaskError> {
        let stop = deadline.endless();
        work_rows(piece, deadline, |row| {
            let pair = networks.get(row as usize).zip(self.seeds.get(row as usize));
            let (network, seed) = pair.ok_or_else(|| TaskError::Damaged("there is no such row".into()))?;
            let options = ExtractOptions::new().seed(*seed).deadline(stop.clone());
            let trial =
                extract_trial(network, &options).map_err(|error| TaskError::Question(error.to_string()))?;
            trial.ok_or(TaskError::Stopped)
        })
    }

    fn merge(
        &self,
        networks: &[Network],
        known: &Known<'_, Self>,
        _: &Deadline,
    ) -> Result<Merging<Self>, TaskError> {
        merge_rows(known, networks.len() as u64)
    }
}
