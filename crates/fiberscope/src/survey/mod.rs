//! Statistics over random or trained networks: what is usual, and how often?
//!
//! A survey is a [`Plan`]: lists of widths, an initialisation, seeds, and what is measured. Network `k` of a list of
//! widths is the one that [`crate::train`] starts with from seed `seed + k`, or with a [`Training`] the one that it
//! ends with, so that every row can be looked at again. A [`Task`] is a range of seeds of one list of widths, and [`rows`] a function of plan and task alone: the
//! same on every machine and for every number of threads. What is not decided is `None`, never a guess.

mod measure;
mod training;

use fiberscope_core::{Domain, Network};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use measure::Measure;
pub use training::Training;

use crate::limit::Deadline;
use crate::train::{Initialization, initial_network};
use training::Trained;

/// What is surveyed.
///
/// ```
/// use fiberscope::survey::{Measure, Plan};
///
/// let plan = Plan::new(vec![vec![3, 3, 2, 1]], 1000, vec![Measure::Identifiable]).unwrap();
/// assert_eq!(plan.tasks().iter().map(|task| task.count).sum::<u64>(), 1000);
/// assert!(Plan::new(vec![vec![3]], 10, vec![Measure::Dead]).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Plan {
    /// Lists of widths, from inputs to outputs.
    pub widths: Vec<Vec<usize>>,
    /// Networks for each list.
    pub count: u64,
    /// What is measured.
    pub measures: Vec<Measure>,
    /// How parameters are drawn.
    pub init: Initialization,
    /// Whether all biases are zero.
    pub no_bias: bool,
    /// The first seed.
    pub seed: u64,
    /// The interval of every input; without it all of `R^n`.
    pub interval: Option<(f64, f64)>,
    /// The most regions of a network that are listed.
    pub regions: u64,
    /// What networks are trained on first; without it they are as they were drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
}

/// Why there is no survey.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum PlanError {
    #[error("there are no widths")]
    NoWidths,
    #[error("the widths {0:?}: expected at least two, each at least 1")]
    Widths(Vec<usize>),
    #[error("widths {0:?} have more than {LARGEST} parameters")]
    TooLarge(Vec<usize>),
    #[error("nothing is measured")]
    NoMeasures,
    #[error("the seeds {0} and the next {1} do not all fit into 64 bits")]
    Seeds(u64, u64),
    #[error("expected an interval with low < high, found {0},{1}")]
    Interval(f64, f64),
    #[error("no task {0:?}; expected f1, f2, f3, g1, g2, g3, heating or cooling (also -minmax, -raw)")]
    Task(String),
    #[error("task {0} has {1} input(s) and 1 output; the widths {2:?} do not fit")]
    TaskWidths(String, usize, Vec<usize>),
    #[error("{0}")]
    Training(String),
}

/// The most parameters of a network that is surveyed.
const LARGEST: usize = 1 << 20;
/// Networks in a task: of a survey whose measures are read off signs, and of others.
const MANY: u64 = 4096;
const FEW: u64 = 64;

/// A range of seeds of one list of widths: a unit of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Task {
    /// Which list of widths, counted from 0.
    pub axis: usize,
    /// The first seed.
    pub first: u64,
    /// How many seeds.
    pub count: u64,
}

/// What was measured of one network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The seed of the network.
    pub seed: u64,
    /// A number per measure of the plan; `None` where it was not decided.
    pub values: Vec<Option<f64>>,
}

impl Plan {
    /// A plan with the usual initialisation on all of `R^n`.
    pub fn new(widths: Vec<Vec<usize>>, count: u64, measures: Vec<Measure>) -> Result<Self, PlanError> {
        let init = Initialization::He;
        let plan = Plan {
            widths,
            count,
            measures,
            init,
            no_bias: false,
            seed: 0,
            interval: None,
            regions: 20_000,
            training: None,
        };
        plan.check()?;
        Ok(plan)
    }

    /// Whether it can be carried out.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.widths.is_empty() {
            return Err(PlanError::NoWidths);
        }
        for widths in &self.widths {
            if widths.len() < 2 || widths.contains(&0) {
                return Err(PlanError::Widths(widths.clone()));
            }
            let layers = widths.windows(2).map(|pair| pair[1].saturating_mul(pair[0].saturating_add(1)));
            if layers.fold(0, usize::saturating_add) > LARGEST {
                return Err(PlanError::TooLarge(widths.clone()));
            }
            if let Some(training) = &self.training {
                training.check(widths)?;
            }
        }
        if self.measures.is_empty() {
            return Err(PlanError::NoMeasures);
        }
        if self.seed.checked_add(self.count).is_none() {
            return Err(PlanError::Seeds(self.seed, self.count));
        }
        match self.interval {
            Some((low, high)) if !(low < high && low.is_finite() && high.is_finite()) => {
                Err(PlanError::Interval(low, high))
            }
            _ => Ok(()),
        }
    }

    /// The tasks, in order; they depend on nothing but the plan.
    pub fn tasks(&self) -> Vec<Task> {
        let quick = self.training.is_none() && self.measures.iter().all(|measure| measure.is_quick());
        let size = if quick { MANY } else { FEW };
        let of_axis = |axis: usize| {
            let starts = (0..self.count.div_ceil(size)).map(move |part| part * size);
            starts.map(move |at| Task { axis, first: self.seed + at, count: size.min(self.count - at) })
        };
        (0..self.widths.len()).flat_map(of_axis).collect()
    }

    /// The network of a seed, as it is drawn.
    pub fn network(&self, axis: usize, seed: u64) -> Network {
        initial_network(&self.widths[axis], self.init, self.no_bias, seed)
    }

    /// The inputs that roles, regions and functions are about.
    pub fn domain(&self, axis: usize) -> Domain {
        let side = |interval: (f64, f64)| Domain::from_bounds(&vec![interval; self.widths[axis][0]]);
        self.interval.and_then(side).unwrap_or(Domain::Space)
    }
}

/// Measures the networks of a task; `None` if the deadline comes first.
///
/// ```
/// use fiberscope::Deadline;
/// use fiberscope::survey::{Measure, Plan, rows};
///
/// let plan = Plan::new(vec![vec![2, 2, 2, 1]], 50, vec![Measure::Identifiable, Measure::Dead])?;
/// let found = rows(&plan, &plan.tasks()[0], &Deadline::NEVER).unwrap();
/// assert_eq!(found.len(), 50);
/// assert_eq!(found[7].seed, 7);
/// // A network with a dead neuron is not identifiable.
/// assert!(found.iter().all(|row| row.values[1] == Some(0.0) || row.values[0] == Some(0.0)));
/// # Ok::<(), fiberscope::survey::PlanError>(())
/// ```
pub fn rows(plan: &Plan, task: &Task, deadline: &Deadline) -> Option<Vec<Row>> {
    let domain = plan.domain(task.axis);
    // A plan that was checked has a course.
    let course = plan.training.as_ref().map(|training| training.course(plan, task.axis)).transpose().ok()?;
    let row = |seed: u64| {
        if deadline.is_past() {
            return None;
        }
        let network = match course.as_ref().map(|course| course.network(seed, deadline)) {
            None => plan.network(task.axis, seed),
            Some(Trained::Done(network)) => network,
            Some(Trained::Diverged) => return Some(Row { seed, values: vec![None; plan.measures.len()] }),
            Some(Trained::Late) => return None,
        };
        let values = measure::measured(plan, &network, &domain, deadline);
        (!deadline.is_past()).then_some(Row { seed, values })
    };
    (task.first..task.first + task.count).into_par_iter().map(row).collect()
}
