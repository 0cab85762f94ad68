//! How the functional dimension is computed, and within which limits.

use super::device::Device;
use crate::limit::{Deadline, Progress};

/// How the functional dimension is computed. The default takes as many primes as certainty needs, all bounds,
/// at most 12 GiB of memory and no limit of time.
///
/// ```
/// use std::time::Duration;
///
/// use fiberscope::Deadline;
/// use fiberscope::dimension::DimensionOptions;
///
/// let minute = Deadline::after(Some(Duration::from_secs(60)));
/// let options = DimensionOptions::new().generic(true).deadline(minute);
/// assert!(options.layer_bound && options.primes.is_none());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DimensionOptions<'a> {
    /// The seed of the primes, the random directions and the random points.
    pub seed: u64,
    /// The number of primes; `None`: until the probability of an error is below `1e-6`, at most 3.
    pub primes: Option<usize>,
    /// Also the generic rank of the activation cell: at random parameters with the same patterns.
    pub generic: bool,
    /// Also the layer bound, which takes longer than the others.
    pub layer_bound: bool,
    /// Bytes that the elimination may use, on the device and on the host together.
    pub memory: usize,
    /// Where eliminations run; the ranks are the same everywhere.
    pub device: Device,
    /// When to stop with what is known by then.
    pub deadline: Deadline,
    /// Who is told how far an elimination is.
    pub progress: Progress<'a, DimensionProgress>,
}

/// How far an elimination is: pivots found of at most so many.
#[derive(Clone, Copy, Debug)]
pub struct DimensionProgress {
    /// Pivots found.
    pub done: usize,
    /// The least upper bound.
    pub total: usize,
}

impl Default for DimensionOptions<'_> {
    fn default() -> Self {
        DimensionOptions {
            seed: 0,
            primes: None,
            generic: false,
            layer_bound: true,
            memory: 12 << 30,
            device: Device::cpu(),
            deadline: Deadline::NEVER,
            progress: Progress::SILENT,
        }
    }
}

impl<'a> DimensionOptions<'a> {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The seed of all random choices.
    pub fn seed(self, seed: u64) -> Self {
        DimensionOptions { seed, ..self }
    }

    /// The number of primes; `None` for as many as certainty needs.
    pub fn primes(self, primes: impl Into<Option<usize>>) -> Self {
        DimensionOptions { primes: primes.into(), ..self }
    }

    /// Whether the generic rank is wanted, too.
    pub fn generic(self, generic: bool) -> Self {
        DimensionOptions { generic, ..self }
    }

    /// Whether the layer bound is wanted, too.
    pub fn layer_bound(self, layer_bound: bool) -> Self {
        DimensionOptions { layer_bound, ..self }
    }

    /// Bytes that the elimination may use.
    pub fn memory(self, bytes: usize) -> Self {
        DimensionOptions { memory: bytes, ..self }
    }

    /// Where eliminations run.
    pub fn device(self, device: Device) -> Self {
        DimensionOptions { device, ..self }
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        DimensionOptions { deadline, ..self }
    }

    /// Who is told how far an elimination is.
    pub fn progress(self, progress: Progress<'a, DimensionProgress>) -> Self {
        DimensionOptions { progress, ..self }
    }

    /// The bytes that may be taken now.
    pub(super) fn room(&self) -> usize {
        self.deadline.room().map_or(self.memory, |room| room.min(self.memory))
    }
}
