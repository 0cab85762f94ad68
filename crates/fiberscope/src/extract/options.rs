//! What the extraction is told beside the oracle.

use super::{ExtractProgress, ExtractStage, KnownLayer};
use crate::limit::{Deadline, Progress};

/// How a network is extracted. By default nothing is known of its widths, its function is wanted for inputs
/// between -3 and 3, the noise is measured, and neither queries nor time are limited.
///
/// ```
/// use std::time::Duration;
///
/// use fiberscope::Deadline;
/// use fiberscope::extract::ExtractOptions;
///
/// let options = ExtractOptions::new()
///     .domain(0.0, 1.0)
///     .widths(vec![8, 8])
///     .max_queries(100_000)
///     .deadline(Deadline::after(Some(Duration::from_secs(60))));
/// assert_eq!((options.domain, options.noise), ((0.0, 1.0), None));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExtractOptions<'a> {
    /// The widths of the hidden layers, if they are known; it saves queries.
    pub widths: Option<Vec<usize>>,
    /// The interval of every input on which the function is wanted.
    pub domain: (f64, f64),
    /// No more queries than this.
    pub max_queries: Option<u64>,
    /// The noise of one answer; measured if absent.
    pub noise: Option<f64>,
    /// The seed of all random choices.
    pub seed: u64,
    /// When to stop with what is known by then.
    pub deadline: Deadline,
    /// Who is told how far the extraction is.
    pub progress: Progress<'a, ExtractProgress>,
    /// The first hidden layers, from an earlier run or from elsewhere: the extraction goes on behind them. Only
    /// the last one may lack its orientation. They are taken as they are; if they are wrong, the network that
    /// comes out is not verified.
    pub known: Vec<KnownLayer>,
    /// Who is told what is known after every stage that brought more.
    pub stages: Progress<'a, ExtractStage>,
}

impl Default for ExtractOptions<'_> {
    fn default() -> Self {
        ExtractOptions {
            widths: None,
            domain: (-3.0, 3.0),
            max_queries: None,
            noise: None,
            seed: 0,
            deadline: Deadline::NEVER,
            progress: Progress::SILENT,
            known: Vec::new(),
            stages: Progress::SILENT,
        }
    }
}

impl<'a> ExtractOptions<'a> {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The widths of the hidden layers; `None` if they are not known.
    pub fn widths(self, widths: impl Into<Option<Vec<usize>>>) -> Self {
        ExtractOptions { widths: widths.into(), ..self }
    }

    /// The interval of every input on which the function is wanted.
    pub fn domain(self, lower: f64, upper: f64) -> Self {
        ExtractOptions { domain: (lower, upper), ..self }
    }

    /// No more queries than this; `None` for any number.
    pub fn max_queries(self, queries: impl Into<Option<u64>>) -> Self {
        ExtractOptions { max_queries: queries.into(), ..self }
    }

    /// The noise of one answer; `None` to measure it.
    pub fn noise(self, noise: impl Into<Option<f64>>) -> Self {
        ExtractOptions { noise: noise.into(), ..self }
    }

    /// The seed of all random choices.
    pub fn seed(self, seed: u64) -> Self {
        ExtractOptions { seed, ..self }
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        ExtractOptions { deadline, ..self }
    }

    /// Who is told how far the extraction is.
    pub fn progress(self, progress: Progress<'a, ExtractProgress>) -> Self {
        ExtractOptions { progress, ..self }
    }
    /// The first hidden layers.
    pub fn known(self, known: Vec<KnownLayer>) -> Self {
        ExtractOptions { known, ..self }
    }

    /// Who is told what is known after every stage.
    pub fn stages(self, stages: Progress<'a, ExtractStage>) -> Self {
        ExtractOptions { stages, ..self }
    }
}
