//! Why a task is not done, or results are not merged.

use thiserror::Error;

use crate::complex::ComplexError;
use crate::difference::DifferenceError;
use crate::equivalence::EquivalenceError;

/// Why a task is not done, or results are not merged.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TaskError {
    #[error("expected {expected}, found {found}")]
    Format { expected: String, found: String },
    #[error(
        "it was written by fiberscope {found}; this is fiberscope {own}, whose tasks may be cut otherwise"
    )]
    Program { found: String, own: &'static str },
    #[error("it is damaged: {0}")]
    Damaged(String),
    #[error("it belongs to another plan ({found:.12}..; this is {own:.12}..)")]
    OtherPlan { found: String, own: String },
    #[error("it is the result of task {found:.12}.., expected that of {expected:.12}..")]
    OtherTask { found: String, expected: String },
    #[error("the work was stopped before anything was finished")]
    Stopped,
    #[error("{0}")]
    Question(String),
    #[error(transparent)]
    Complex(#[from] ComplexError),
    #[error(transparent)]
    Difference(#[from] DifferenceError),
    #[error(transparent)]
    Equivalence(#[from] EquivalenceError),
    #[cfg(feature = "dense")]
    #[error(transparent)]
    Dimension(#[from] crate::dimension::DimensionError),
    #[cfg(feature = "dense")]
    #[error(transparent)]
    Train(#[from] crate::train::TrainError),
    #[error(transparent)]
    Volume(#[from] crate::fiber::VolumeError),
}
