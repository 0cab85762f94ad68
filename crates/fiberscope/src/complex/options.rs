//! Within which limits a complex is computed, and who is told.

use std::fmt::{self, Debug, Formatter};

use super::count_state::{CountProgress, CountState};
use crate::limit::{Deadline, Progress};

/// How a complex is counted, listed, walked through or analysed. The default has no limits and tells nobody.
///
/// ```
/// use std::time::Duration;
///
/// use fiberscope::Deadline;
/// use fiberscope::complex::ComplexOptions;
///
/// let minute = Deadline::after(Some(Duration::from_secs(60)));
/// let options = ComplexOptions::new().regions(1_000_000).deadline(minute);
/// assert_eq!(options.regions, Some(1_000_000));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ComplexOptions<'a> {
    /// When to stop.
    pub deadline: Deadline,
    /// The most regions.
    pub regions: Option<u64>,
    /// List only the cells of at most this codimension at once, and the others when they are first looked at;
    /// all at once by default.
    pub codimension: Option<usize>,
    /// The seed of the masks by which the genericity of large networks is checked.
    pub seed: u64,
    /// The count to go on with ([`count_cells`](super::count_cells)).
    pub resume: Option<CountState>,
    /// Who is told how far the work is.
    pub progress: Progress<'a, CountProgress>,
    /// Who keeps the state of a count, so that one that is killed can go on.
    pub keeper: Keeper<'a>,
}

/// Who is shown the state of a count every few tiles; by default nobody.
#[derive(Clone, Copy, Default)]
pub struct Keeper<'a>(Option<&'a (dyn Fn(&CountState) + Sync)>);

impl<'a> Keeper<'a> {
    /// Whoever stands behind a function.
    pub fn to(listener: &'a (dyn Fn(&CountState) + Sync)) -> Self {
        Keeper(Some(listener))
    }

    /// Shows a state.
    pub fn keep(&self, state: &CountState) {
        if let Some(listener) = self.0 {
            listener(state);
        }
    }
}

impl Debug for Keeper<'_> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Keeper(to a listener)" } else { "Keeper(nobody)" })
    }
}

impl<'a> ComplexOptions<'a> {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        ComplexOptions { deadline, ..self }
    }

    /// The most regions; `None` for any number.
    pub fn regions(self, regions: impl Into<Option<u64>>) -> Self {
        ComplexOptions { regions: regions.into(), ..self }
    }

    /// The largest codimension of the cells that are listed at once: 2 is enough for weights and balance. The
    /// others are listed when they are first looked at, and no limit holds then.
    pub fn codimension(self, codimension: impl Into<Option<usize>>) -> Self {
        ComplexOptions { codimension: codimension.into(), ..self }
    }

    /// The seed of random choices.
    pub fn seed(self, seed: u64) -> Self {
        ComplexOptions { seed, ..self }
    }

    /// The count to go on with, if there is one.
    pub fn resume(self, state: impl Into<Option<CountState>>) -> Self {
        ComplexOptions { resume: state.into(), ..self }
    }

    /// Who is told how far the work is.
    pub fn progress(self, progress: Progress<'a, CountProgress>) -> Self {
        ComplexOptions { progress, ..self }
    }

    /// Who keeps the state of a count.
    pub fn keeper(self, keeper: Keeper<'a>) -> Self {
        ComplexOptions { keeper, ..self }
    }
}
