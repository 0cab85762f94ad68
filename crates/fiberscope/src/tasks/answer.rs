//! The answers that merges give.

use crate::complex::{CellCounts, CellMethod};
use crate::difference::Difference;
#[cfg(feature = "dense")]
use crate::dimension::FunctionalDimension;
use crate::equivalence::Decision;
#[cfg(feature = "dense")]
use crate::extract::ExtractTrial;
use crate::fiber::MonteCarlo;
#[cfg(feature = "dense")]
use crate::survey::Row;
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
    /// Extractions of known networks, in the order of the plan.
    #[cfg(feature = "dense")]
    Extractions(Vec<ExtractTrial>),
    /// What was measured of random networks: for every list of widths, seed by seed.
    #[cfg(feature = "dense")]
    Survey(Vec<Row>),
    /// Trainings, group by group and seed by seed, each at its end.
    #[cfg(feature = "dense")]
    Trainings(Vec<TrainRun>),
    /// An estimate by random signs.
    Volume(MonteCarlo),
}
