//! Which experiments are run, and how large.

use anyhow::bail;
use serde::{Deserialize, Serialize};

use super::experiment::{Experiment, HIDDEN, NAMES, SWEEP, experiment};

/// The figures of data and functions.
pub const FUNCTIONS: &str = "ntk-functions";
/// Networks from queries.
pub const EXTRACTION: &str = "extraction";

/// Which experiments are run, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReproduceSettings {
    /// The name of an experiment (see [`names`]), or `all`.
    pub name: String,
    /// Seeds per group, where not those of the experiment.
    pub seeds: Option<u64>,
    /// Epochs of training, where not those of the experiment.
    pub epochs: Option<u64>,
    /// The widths of hidden layers, for trainings; every one is an experiment of its own.
    pub widths: Option<Vec<usize>>,
    /// A tenth of the epochs and a third of the seeds.
    pub quick: bool,
    /// The first seed.
    pub seed: u64,
}

/// Everything that can be run again.
pub fn names() -> Vec<&'static str> {
    NAMES.into_iter().chain([FUNCTIONS, EXTRACTION]).collect()
}

impl ReproduceSettings {
    /// The names of the experiments that are asked for; an error if they cannot be run so.
    pub fn asked(&self) -> anyhow::Result<Vec<&str>> {
        let asked = if self.name == "all" { names() } else { vec![self.name.as_str()] };
        if let Some(unknown) = asked.iter().find(|name| !names().contains(name)) {
            bail!("no experiment {unknown:?}; expected all or one of {}", names().join(", "));
        }
        if self.seeds == Some(0) || self.epochs == Some(0) {
            bail!("expected at least one seed and one epoch");
        }
        let wrong = |widths: &Vec<usize>| widths.is_empty() || widths.iter().any(|&w| w == 0 || w > 200);
        if self.widths.as_ref().is_some_and(wrong) {
            bail!("--widths: expected widths of hidden layers from 1 to 200");
        }
        Ok(asked)
    }

    /// The trainings of an experiment, in their sizes.
    pub fn trainings(&self, name: &str) -> Vec<Experiment> {
        let Some(base) = experiment(name) else { return Vec::new() };
        let sweep = if name == "ntk-sweep" { SWEEP.to_vec() } else { vec![HIDDEN] };
        let sized = |width: usize| base.clone().of_width(width).sized(self.seeds, self.epochs, self.quick);
        self.widths.clone().unwrap_or(sweep).into_iter().map(sized).collect()
    }
}
