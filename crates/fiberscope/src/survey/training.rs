//! Networks that are trained before they are measured.

use fiberscope_core::Network;
use serde::{Deserialize, Serialize};

use super::{Plan, PlanError};
use crate::limit::Deadline;
use crate::train::{Samples, Task, TrainOptions, Trainer};

/// What the networks of a survey are trained on before they are measured, with the settings of
/// [`TrainOptions::paper`], in single precision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// The name of a [`Task`]. A network of fewer inputs is given the first ones.
    pub task: String,
    /// Passes over the samples.
    pub epochs: u64,
}

/// What the networks of one list of widths are trained with.
pub(super) struct Course {
    options: TrainOptions,
    samples: Samples<f32>,
}

/// What became of a network.
pub(super) enum Trained {
    /// The network at the end.
    Done(Network),
    /// A parameter is not finite any more.
    Diverged,
    /// The deadline came first.
    Late,
}

impl Training {
    fn task(&self) -> Result<Task, PlanError> {
        Task::from_name(&self.task).ok_or_else(|| PlanError::Task(self.task.clone()))
    }

    /// Whether networks of these widths can be trained on the task.
    pub(super) fn check(&self, widths: &[usize]) -> Result<(), PlanError> {
        let most = self.task()?.inputs();
        match (widths.first(), widths.last()) {
            (Some(&inputs), Some(1)) if inputs <= most => Ok(()),
            _ => Err(PlanError::TaskWidths(self.task.clone(), most, widths.to_vec())),
        }
    }

    /// What the networks of a list of widths are trained with.
    pub(super) fn course(&self, plan: &Plan, axis: usize) -> Result<Course, PlanError> {
        let widths = &plan.widths[axis];
        self.check(widths)?;
        let (inputs, targets) = self.task()?.samples();
        let inputs = inputs.select_columns(&(0..widths[0]).collect::<Vec<_>>());
        let options = TrainOptions::paper(widths, self.epochs).init(plan.init).no_bias(plan.no_bias);
        options.check(&inputs, &targets).map_err(|error| PlanError::Training(error.to_string()))?;
        Ok(Course { options, samples: Samples::new(&inputs, &targets) })
    }
}

impl Course {
    /// The network of a seed after its training.
    pub(super) fn network(&self, seed: u64, deadline: &Deadline) -> Trained {
        let mut trainer = Trainer::new(&self.options, &self.samples, seed);
        for _ in 0..self.options.epochs {
            if trainer.run_epoch(deadline).is_none() {
                return Trained::Late;
            }
        }
        trainer.network().map_or(Trained::Diverged, Trained::Done)
    }
}
