//! Rates of extraction: networks from queries, each beside the truth.

use fiberscope_core::Network;
use serde::{Deserialize, Serialize};

use crate::extract::{ExtractOptions, ExtractTrial, extract_trial};
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::Means;

use super::table::Table;

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

impl Table for ExtractionQuestion {
    const NAME: &'static str = "extraction";
    type Row = ExtractTrial;

    fn count(&self, networks: &[Network]) -> Result<u64, TaskError> {
        let (expected, found) = (self.seeds.len(), networks.len());
        if expected != found {
            return Err(TaskError::Question(format!("expected {expected} networks, found {found}")));
        }
        Ok(found as u64)
    }

    fn row(
        &self,
        networks: &[Network],
        number: u64,
        Means { deadline: stop, .. }: &Means,
    ) -> Result<ExtractTrial, TaskError> {
        let number = number as usize;
        let options = ExtractOptions::new().seed(self.seeds[number]).deadline(stop.clone());
        let trial = extract_trial(&networks[number], &options)
            .map_err(|error| TaskError::Question(error.to_string()))?;
        trial.ok_or(TaskError::Stopped)
    }
}
