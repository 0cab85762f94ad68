//! What may be asked of a search, and what it says while it works.

use fiberscope_core::Rational;

use super::state::State;
use crate::limit::{Deadline, Progress};

/// How close the bounds come without a question of their own: the upper one at most 1.1 times the lower one.
pub const GAP: f64 = 0.1;

/// How [`measure`](super::measure) goes about its work.
///
/// ```
/// use fiberscope::difference::DifferenceOptions;
///
/// let options = DifferenceOptions::new().gap(0.05).seed(7);
/// assert_eq!(options.epsilon, None);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DifferenceOptions<'a> {
    /// Decide whether the largest difference is at most this, instead of bringing the bounds together.
    pub epsilon: Option<Rational>,
    /// Without `epsilon`: the search ends when the upper bound is at most `1 + gap` times the lower one.
    pub gap: f64,
    /// Whether the second network may be permuted and scaled towards the first.
    pub align: bool,
    /// Whether networks of different widths that look alike are first matched up to rounding: the bound that the
    /// matching proves is seldom reached by a search, and may answer a question with an `epsilon` before one.
    pub rounding: bool,
    /// Points that are looked at first.
    pub points: Vec<Vec<f64>>,
    /// A search that is to be continued.
    pub resume: Option<State>,
    /// The most boxes that are bounded: a limit that does not depend on the machine. Points are then looked at
    /// on the way only, not before.
    pub boxes: Option<usize>,
    /// The seed of random points.
    pub seed: u64,
    /// When to stop with the best bounds that are known by then.
    pub deadline: Deadline,
    /// Is told from time to time how far the search is.
    pub progress: Progress<'a, DifferenceProgress>,
}

impl Default for DifferenceOptions<'_> {
    fn default() -> Self {
        DifferenceOptions {
            epsilon: None,
            gap: GAP,
            align: true,
            rounding: true,
            points: Vec::new(),
            resume: None,
            boxes: None,
            seed: 0,
            deadline: Deadline::NEVER,
            progress: Progress::SILENT,
        }
    }
}

impl<'a> DifferenceOptions<'a> {
    /// Bounds within a tenth of each other, without a limit.
    pub fn new() -> Self {
        DifferenceOptions::default()
    }

    /// Sets [`DifferenceOptions::epsilon`].
    pub fn epsilon(self, epsilon: Rational) -> Self {
        DifferenceOptions { epsilon: Some(epsilon), ..self }
    }

    /// Sets [`DifferenceOptions::gap`].
    pub fn gap(self, gap: f64) -> Self {
        DifferenceOptions { gap, ..self }
    }

    /// Sets [`DifferenceOptions::align`].
    pub fn align(self, align: bool) -> Self {
        DifferenceOptions { align, ..self }
    }

    /// Sets [`DifferenceOptions::rounding`].
    pub fn rounding(self, rounding: bool) -> Self {
        DifferenceOptions { rounding, ..self }
    }

    /// Sets [`DifferenceOptions::points`].
    pub fn points(self, points: Vec<Vec<f64>>) -> Self {
        DifferenceOptions { points, ..self }
    }

    /// Sets [`DifferenceOptions::resume`].
    pub fn resume(self, state: State) -> Self {
        DifferenceOptions { resume: Some(state), ..self }
    }

    /// Sets [`DifferenceOptions::boxes`].
    pub fn boxes(self, boxes: impl Into<Option<usize>>) -> Self {
        DifferenceOptions { boxes: boxes.into(), ..self }
    }

    /// Sets [`DifferenceOptions::seed`].
    pub fn seed(self, seed: u64) -> Self {
        DifferenceOptions { seed, ..self }
    }

    /// Sets [`DifferenceOptions::deadline`].
    pub fn deadline(self, deadline: Deadline) -> Self {
        DifferenceOptions { deadline, ..self }
    }

    /// Sets [`DifferenceOptions::progress`].
    pub fn progress(self, progress: Progress<'a, DifferenceProgress>) -> Self {
        DifferenceOptions { progress, ..self }
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DifferenceProgress {
    /// The largest difference that was seen, in doubles.
    pub lower: f64,
    /// The upper bound that is proved by now; infinite if there is none.
    pub upper: f64,
    /// The number of boxes that were bounded.
    pub cells: usize,
    /// The number of boxes that are to be bisected.
    pub open: usize,
}
