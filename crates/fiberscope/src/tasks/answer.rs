//! The answers that merges give.

use crate::complex::{CellCounts, CellMethod};
use crate::difference::Difference;
#[cfg(feature = "dense")]
use crate::dimension::FunctionalDimension;
use crate::equivalence::Decision;
use crate::fiber::MonteCarlo;
#[cfg(feature = "dense")]
use crate::train::TrainRun;

/// The answer to a question that was cut into tasks.
#[derive(Debug)]
#[non_exhaustive]
pub enum Answer {
    /// The cells of a complex, and how they were found.
    Cells(CellCounts, CellMethod),
    /// How far apart two networks are.
    Difference(Box<Difference>),
    /// Whether two networks are equal.
    Equivalence(Box<Decision>),
    /// Functional dimensions: network by network, on every data set.
    #[cfg(feature = "dense")]
    Dimensions(Vec<FunctionalDimension>),
    /// Trainings, seed by seed, each at its end.
    #[cfg(feature = "dense")]
    Trainings(Vec<TrainRun>),
    /// An estimate by random signs.
    Volume(MonteCarlo),
}
