//! The kinds of questions that are cut into tasks: one file and one line of [`KINDS`] each.

mod cells;
mod difference;
#[cfg(feature = "dense")]
mod dimension;
mod equivalence;
#[cfg(feature = "dense")]
mod extraction;
mod rows;
#[cfg(feature = "dense")]
mod survey;
#[cfg(feature = "dense")]
mod table;
#[cfg(feature = "dense")]
mod training;
mod volume;

pub use cells::CellsQuestion;
pub use difference::DifferenceQuestion;
#[cfg(feature = "dense")]
pub use dimension::DimensionQuestion;
pub use equivalence::EquivalenceQuestion;
#[cfg(feature = "dense")]
pub use extraction::ExtractionQuestion;
#[cfg(feature = "dense")]
pub use survey::SurveyQuestion;
#[cfg(feature = "dense")]
pub use training::{TrainingGroup, TrainingQuestion};
pub use volume::VolumeQuestion;

use std::sync::Arc;

use fiberscope_core::Network;

use super::engine::{Engine, read};
use super::error::TaskError;
use super::question::Question;

/// How the body of a plan of a kind is read.
type Reader = fn(&[u8]) -> Result<Arc<dyn Engine>, TaskError>;

/// The kinds by their names in files.
pub(super) const KINDS: &[(&str, Reader)] = &[
    (CellsQuestion::KIND, read::<CellsQuestion>),
    (DifferenceQuestion::KIND, read::<DifferenceQuestion>),
    (EquivalenceQuestion::KIND, read::<EquivalenceQuestion>),
    #[cfg(feature = "dense")]
    (DimensionQuestion::KIND, read::<DimensionQuestion>),
    #[cfg(feature = "dense")]
    (ExtractionQuestion::KIND, read::<ExtractionQuestion>),
    #[cfg(feature = "dense")]
    (SurveyQuestion::KIND, read::<SurveyQuestion>),
    #[cfg(feature = "dense")]
    (TrainingQuestion::KIND, read::<TrainingQuestion>),
    (VolumeQuestion::KIND, read::<VolumeQuestion>),
];

fn one_network(networks: &[Network]) -> Result<&Network, TaskError> {
    match networks {
        [network] => Ok(network),
        _ => Err(TaskError::Question(format!("expected one network, found {}", networks.len()))),
    }
}

fn two_networks(networks: &[Network]) -> Result<(&Network, &Network), TaskError> {
    match networks {
        [a, b] => Ok((a, b)),
        _ => Err(TaskError::Question(format!("expected two networks, found {}", networks.len()))),
    }
}
