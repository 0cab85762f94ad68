//! Functional dimension: how many independent parameter perturbations change a network's outputs.
//!
//! For a batch of `m` points and `n_out` outputs the *batch functional dimension* is the rank of the
//! parameter Jacobian `J` of the `m n_out` outputs, which is the rank of the empirical neural tangent kernel
//! `K = J J^T` [ntk2026complexity, Section 4]. The (full) functional dimension is the rank on a decisive set:
//! `n_0 + 1` affinely independent points of every linear region [grigsby2022functional, Section 3].
//!
//! The rank is taken over the rationals, weights and inputs being the dyadic numbers that doubles are. Modulo
//! a prime a rank can only drop, so the rank modulo a prime is a certified *lower* bound; [`Bounds`] gives
//! certified *upper* bounds from the activation patterns. Where they meet, the rank is proved; where they do
//! not, the modular rank is too low with a probability of about `rank * 2 L / p`, and independent primes
//! multiply these.
//!
//! 1. [`Patterns`]: which neurons are active where, exactly.
//! 2. In a region the rows of `J` are linear in `(x, 1)`, so as many points per region are kept as are
//!    independent.
//! 3. `J` times random directions of rank one, block by block, eliminated modulo `p < 2^23` (`jacobian`,
//!    `elimination`, `field`); or, if the rank is near the number of rows, the kernel with random weights,
//!    eliminated symmetrically (`symmetric`).
//! 4. If all points are affinely independent, a change of basis of the inputs makes the first layer's part of
//!    `J` block diagonal, and the ranks of the blocks add up to a lower bound without any elimination.
//!
//! Eliminations run on the processor or on a GPU ([`Device`]), with the same result.
//!
//! [`orbit_dimension`] has the orbits and stabilisers of the symmetry groups.
//! [`ntk`] has the kernel itself and the ranks that floating-point tools report.

mod batch;
mod blocked;
mod bounds;
mod data_rank;
mod decisive;
mod device;
mod elimination;
mod field;
mod independent;
mod inertia;
mod jacobian;
mod modular;
pub mod ntk;
mod options;
mod pattern;
mod stabiliser;
mod symmetric;
#[cfg(test)]
pub(crate) mod testing;

use thiserror::Error;

use crate::limit::LimitReached;

pub use batch::{FunctionalDimension, RankInterval, functional_dimension};
pub(crate) use bounds::parameters as parameter_count;
pub use bounds::{Bounds, Deficit, ReducedArchitecture, StateCounts, theorem_1};
pub use decisive::{
    Coverage, FullDimension, RegionSample, full_functional_dimension, list_regions, sample_regions,
};
pub use device::{Device, DeviceChoice, DeviceError, DeviceUse};
pub(crate) use independent::are_surely_independent;
pub use options::{DimensionOptions, DimensionProgress};
pub use pattern::{LayerStates, NeuronState, Patterns};
pub use stabiliser::{HiddenGroup, OrbitDimension, orbit_dimension, roughly_monotonic};

/// Columns that are eliminated at a time.
const PANEL: usize = 256;

/// Why there is no functional dimension.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum DimensionError {
    /// The batch has no points.
    #[error("the data have no rows; expected at least one point")]
    NoPoints,
    /// The points do not fit the network.
    #[error("expected {expected} columns, as the network has inputs, found {found}")]
    Columns {
        /// The network's number of inputs.
        expected: usize,
        /// The number of columns.
        found: usize,
    },
    /// A coordinate is no number.
    #[error("row {row}, column {column} is {value}; expected a finite number")]
    NotFinite {
        /// The row, from 1.
        row: usize,
        /// The column, from 1.
        column: usize,
        /// What stands there.
        value: f64,
    },
    /// A limit came before anything was known, or the work does not fit into the memory that was allowed.
    #[error("{0}")]
    Limit(#[from] LimitReached),
    /// The device that was asked for cannot do it.
    #[error("{0}")]
    Device(#[from] DeviceError),
    /// The eigenvalue iteration failed: numbers beyond the doubles.
    #[error("{0} cannot be computed in doubles: numbers overflow")]
    Overflow(&'static str),
}

/// Whether points can be given to the network, one per row.
pub fn check_points(
    network: &fiberscope_core::Network,
    points: &fiberscope_core::Matrix,
) -> Result<(), DimensionError> {
    if points.rows() == 0 {
        return Err(DimensionError::NoPoints);
    }
    let (expected, found) = (network.input_width(), points.cols());
    if expected != found {
        return Err(DimensionError::Columns { expected, found });
    }
    match points.entries().iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let value = points.entries()[at];
            Err(DimensionError::NotFinite { row: at / found + 1, column: at % found + 1, value })
        }
    }
}
