//! What may be asked about classes, and what is said while the search works.

use fiberscope_core::Rational;

use super::super::DifferenceError;
use super::confidence::least_lead;
use crate::limit::{Deadline, Progress};

/// When the first network is sure of its class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sureness {
    /// It leads all others by at least this; if this is 0, by more than that.
    Margin(Rational),
    /// It leads all others, and its softmax probability `exp(A_i) / sum_l exp(A_l)` is at least this, above
    /// `1 / m` for `m` classes and below 1.
    Confidence(Rational),
}

impl Sureness {
    /// The lead that a proof is about: at most what sureness implies.
    pub(super) fn margin(&self, classes: usize) -> Result<Rational, DifferenceError> {
        match self {
            Sureness::Margin(margin) if margin.is_negative() => Err(DifferenceError::Margin(margin.clone())),
            Sureness::Margin(margin) => Ok(margin.clone()),
            Sureness::Confidence(confidence) => {
                let uniform = &Rational::ONE / &Rational::from(classes as i64);
                if *confidence <= uniform || *confidence >= Rational::ONE {
                    return Err(DifferenceError::Confidence { found: confidence.clone(), classes });
                }
                Ok(least_lead(confidence))
            }
        }
    }
}

/// How [`decide`](super::decide) goes about its work.
///
/// ```
/// use fiberscope::difference::{Sureness, Top1Options};
///
/// let options = Top1Options::new().sureness(Sureness::Confidence("9/10".parse().unwrap())).seed(7);
/// assert!(options.align);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Top1Options<'a> {
    /// When the first network is sure of its class.
    pub sureness: Sureness,
    /// Whether the second network may be permuted and scaled towards the first.
    pub align: bool,
    /// Points that are looked at first.
    pub points: Vec<Vec<f64>>,
    /// The seed of random points.
    pub seed: u64,
    /// When to stop.
    pub deadline: Deadline,
    /// Is told from time to time how far the search is.
    pub progress: Progress<'a, Top1Progress>,
}

impl Default for Top1Options<'_> {
    fn default() -> Self {
        Top1Options {
            sureness: Sureness::Margin(Rational::ZERO),
            align: true,
            points: Vec::new(),
            seed: 0,
            deadline: Deadline::NEVER,
            progress: Progress::SILENT,
        }
    }
}

impl<'a> Top1Options<'a> {
    /// Any lead counts, and there is no limit.
    pub fn new() -> Self {
        Top1Options::default()
    }

    /// Sets [`Top1Options::sureness`].
    pub fn sureness(self, sureness: Sureness) -> Self {
        Top1Options { sureness, ..self }
    }

    /// Sets [`Top1Options::align`].
    pub fn align(self, align: bool) -> Self {
        Top1Options { align, ..self }
    }

    /// Sets [`Top1Options::points`].
    pub fn points(self, points: Vec<Vec<f64>>) -> Self {
        Top1Options { points, ..self }
    }

    /// Sets [`Top1Options::seed`].
    pub fn seed(self, seed: u64) -> Self {
        Top1Options { seed, ..self }
    }

    /// Sets [`Top1Options::deadline`].
    pub fn deadline(self, deadline: Deadline) -> Self {
        Top1Options { deadline, ..self }
    }

    /// Sets [`Top1Options::progress`].
    pub fn progress(self, progress: Progress<'a, Top1Progress>) -> Self {
        Top1Options { progress, ..self }
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Top1Progress {
    /// The number of classes that are settled.
    pub settled: usize,
    /// The number of classes.
    pub classes: usize,
    /// The number of boxes that were bounded.
    pub cells: usize,
    /// The number of boxes that are to be bisected.
    pub open: usize,
}
