//! Surveys of random and trained networks.

use anyhow::Context;
use fiberscope::survey;
use fiberscope::tasks::{Plan as Tasks, SurveyQuestion};
use fiberscope_report::tasks::Command;
use pyo3::prelude::*;

use crate::tasks::{Plan, note, planned};
use crate::training::read_init;
use crate::work::{Terms, work};

/// What is surveyed.
#[derive(FromPyObject)]
pub struct SurveySettings {
    widths: Vec<Vec<usize>>,
    count: u64,
    measures: Vec<String>,
    init: String,
    no_bias: bool,
    interval: Option<(f64, f64)>,
    regions: u64,
    training: Option<(String, u64)>,
}

impl SurveySettings {
    fn plan(self, seed: u64) -> anyhow::Result<survey::Plan> {
        let measure = |name: &String| {
            let names: Vec<&str> = survey::Measure::ALL.iter().map(|measure| measure.name()).collect();
            survey::Measure::from_name(name)
                .with_context(|| format!("measure {name:?}: expected one of {}", names.join(", ")))
        };
        let measures = self.measures.iter().map(measure).collect::<anyhow::Result<_>>()?;
        let mut plan = survey::Plan::new(self.widths, self.count, measures)?;
        plan.init = read_init(&self.init)?;
        (plan.no_bias, plan.seed, plan.regions, plan.interval) =
            (self.no_bias, seed, self.regions, self.interval);
        plan.training = self.training.map(|(task, epochs)| survey::Training { task, epochs });
        plan.check()?;
        Ok(plan)
    }
}

/// The rows of a survey, as JSON.
#[pyfunction]
pub fn survey_rows(py: Python, settings: SurveySettings, terms: Terms) -> PyResult<String> {
    work(py, &terms, move |watch| {
        let plan = settings.plan(watch.seed)?;
        let tasks = plan.tasks();
        let mut all = Vec::new();
        for (at, task) in tasks.iter().enumerate() {
            watch.say(&format!("task {} of {}", at + 1, tasks.len()));
            let rows = survey::rows(&plan, task, &watch.deadline);
            watch.deadline.check("before all networks were measured")?;
            all.extend(rows.context("a task of the survey has no rows")?);
        }
        Ok(serde_json::json!(all).to_string())
    })
}

/// A plan for a survey.
#[pyfunction]
pub fn plan_survey(py: Python, settings: SurveySettings, tasks: usize, terms: Terms) -> PyResult<Plan> {
    planned(py, &terms, move |watch| {
        let plan = settings.plan(watch.seed)?;
        let note = note(Command::Survey { plan: plan.clone() });
        Ok(Tasks::about(SurveyQuestion::new(plan), &[], tasks, note, &watch.deadline)?)
    })
}
