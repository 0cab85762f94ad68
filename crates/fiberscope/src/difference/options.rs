//! What may be asked of a search, and what it says while it works.

use std::fmt;

use fiberscope_core::Rational;

use super::state::State;
use crate::limit::Deadline;

/// How close the bounds come without a question of their own: the upper one at most 1.1 times the lower one.
pub const GAP: f64 = 0.1;

/// How [`measure`](super::measure) goes about its work.
///
/// ```
/// use fiberscope::difference::Options;
///
/// let options = Options::new().gap(0.05).seed(7);
/// assert_eq!(options.epsilon, None);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Options<'a> {
    /// Decide whether the largest difference is at most this, instead of bringing the bounds together.
    pub epsilon: Option<Rational>,
    /// Without `epsilon`: the search ends when the upper bound is at most `1 + gap` times the lower one.
    pub gap: f64,
    /// Whether the second network may be permuted and scaled towards the first.
    pub align: bool,
    /// Points that are looked at first.
    pub points: Vec<Vec<f64>>,
    /// A search that is to be continued.
    pub resume: Option<State>,
    /// The seed of random points.
    pub seed: u64,
    /// When to stop with the best bounds that are known by then.
    pub deadline: Deadline,
    /// Is told from time to time how far the search is.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            epsilon: None,
            gap: GAP,
            align: true,
            points: Vec::new(),
            resume: None,
            seed: 0,
            deadline: Deadline::NEVER,
            progress: None,
        }
    }
}

impl<'a> Options<'a> {
    /// Bounds within a tenth of each other, without a limit.
    pub fn new() -> Self {
        Options::default()
    }

    /// Sets [`Options::epsilon`].
    pub fn epsilon(self, epsilon: Rational) -> Self {
        Options { epsilon: Some(epsilon), ..self }
    }

    /// Sets [`Options::gap`].
    pub fn gap(self, gap: f64) -> Self {
        Options { gap, ..self }
    }

    /// Sets [`Options::align`].
    pub fn align(self, align: bool) -> Self {
        Options { align, ..self }
    }

    /// Sets [`Options::points`].
    pub fn points(self, points: Vec<Vec<f64>>) -> Self {
        Options { points, ..self }
    }

    /// Sets [`Options::resume`].
    pub fn resume(self, state: State) -> Self {
        Options { resume: Some(state), ..self }
    }

    /// Sets [`Options::seed`].
    pub fn seed(self, seed: u64) -> Self {
        Options { seed, ..self }
    }

    /// Sets [`Options::deadline`].
    pub fn deadline(self, deadline: Deadline) -> Self {
        Options { deadline, ..self }
    }

    /// Sets [`Options::progress`].
    pub fn progress(self, progress: &'a (dyn Fn(&Progress) + Sync)) -> Self {
        Options { progress: Some(progress), ..self }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Options")
            .field("epsilon", &self.epsilon)
            .field("gap", &self.gap)
            .field("align", &self.align)
            .field("points", &self.points.len())
            .field("seed", &self.seed)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The largest difference that was seen, in doubles.
    pub lower: f64,
    /// The upper bound that is proved by now; infinite if there is none.
    pub upper: f64,
    /// The number of boxes that were bounded.
    pub cells: usize,
    /// The number of boxes that are to be bisected.
    pub open: usize,
}
