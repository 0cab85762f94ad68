//! Training of dense networks, with the functional dimension tracked on the way, or, of linear networks, the
//! stratum.
//!
//! Networks of the size at which the functional dimension is interesting have tens of neurons; frameworks
//! spend their time on overhead there. The trainer has none: a step is a few loops over one vector of
//! parameters. Seeds are independent and run in parallel.
//!
//! Everything random is drawn from the seed and the number of the epoch, so a run that was interrupted and
//! resumed gives, bit by bit, what an uninterrupted one gives.

mod flow;
mod neurons;
mod optimizer;
mod perceptron;
mod real;
mod statistics;
mod strata;
mod task;
mod track;
mod trainer;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) use flow::FlowField;
pub use neurons::{state_sign, state_signs};
pub use optimizer::{Decay, Optimizer};
pub use perceptron::Loss;
pub use real::Real;
pub use statistics::{Estimate, correlation};
pub use strata::StratumRecord;
pub use task::{ColumnScaling, Task, energy};
pub use track::{TrackOptions, TrainEvent, TrainListener, TrainRecord, TrainRun, TrainStart, train};
pub use trainer::{Initialization, Samples, TrainOptions, Trainer, initial_network};

/// Why there is nothing to train.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TrainError {
    /// Options that make no sense.
    #[error("{0}")]
    Options(String),
    /// Data that do not fit.
    #[error("{0}")]
    Data(String),
    /// A state of another training.
    #[error("the state does not fit: {0}")]
    State(String),
}

/// A training at the end of an epoch: what is needed to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainState {
    /// The seed.
    pub seed: u64,
    /// Epochs done.
    pub epoch: u64,
    /// Steps done.
    pub steps: u64,
    /// `W_1` row by row, `b_1`, `W_2`, ...
    pub parameters: Vec<f64>,
    /// The optimiser's mean of the gradients, or its velocity.
    pub first_moment: Vec<f64>,
    /// The optimiser's mean of their squares.
    pub second_moment: Vec<f64>,
    /// What was recorded so far.
    pub records: Vec<TrainRecord>,
    /// The epoch in which the loss ceased to be finite.
    pub diverged: Option<u64>,
}
