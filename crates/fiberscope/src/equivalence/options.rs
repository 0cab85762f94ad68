//! What is asked about two networks, and within which limits.

use fiberscope_check::Refusal;
use fiberscope_core::Rational;
use thiserror::Error;

use super::regions::{SearchError, SearchProgress, SearchState};
use super::verdict::Method;
use crate::difference::DifferenceProgress;
use crate::limit::{Deadline, Progress};

/// How to go about the question. The default asks for equality, or agreement up to the rounding of doubles,
/// by all methods and without a limit.
///
/// ```
/// use std::time::Duration;
///
/// use fiberscope::Deadline;
/// use fiberscope::equivalence::{EquivalenceOptions, Method};
///
/// let options = EquivalenceOptions::new()
///     .exact(true)
///     .deadline(Deadline::after(Some(Duration::from_secs(60))))
///     .without(Method::Evaluation);
/// assert!(options.methods.contains(&Method::Regions) && !options.methods.contains(&Method::Evaluation));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EquivalenceOptions<'a> {
    /// Refuse the answer "up to rounding".
    pub exact: bool,
    /// The question is whether the outputs differ by at most this much on the domain, instead of equality.
    pub tolerance: Option<f64>,
    /// The distance from 1 to the next number of the coarser of the formats to which the parameters are rounded, that of
    /// doubles by default; `None` for the one that the numbers show ([`coarser_precision`](super::coarser_precision)).
    pub precision: Option<f64>,
    /// Points of interest, which are tried first.
    pub data: Vec<Vec<Rational>>,
    /// The methods that may be used; their order is that of [`METHODS`](super::METHODS) all the same.
    pub methods: Vec<Method>,
    /// When it is past, the step at hand is finished and the answer is "undecided".
    pub deadline: Deadline,
    /// The seed of random points.
    pub seed: u64,
    /// Where to go on with an earlier search.
    pub resume: Option<SearchState>,
    /// Who is told how far the search over regions is.
    pub progress: Progress<'a, SearchProgress>,
    /// Who is told how far the search for the largest difference is.
    pub apart: Progress<'a, DifferenceProgress>,
}

impl Default for EquivalenceOptions<'_> {
    fn default() -> Self {
        EquivalenceOptions {
            exact: false,
            tolerance: None,
            precision: Some(f64::EPSILON),
            data: Vec::new(),
            methods: Method::ALL.to_vec(),
            deadline: Deadline::NEVER,
            seed: 0,
            resume: None,
            progress: Progress::SILENT,
            apart: Progress::SILENT,
        }
    }
}

impl<'a> EquivalenceOptions<'a> {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the answer "up to rounding" is refused.
    pub fn exact(self, exact: bool) -> Self {
        EquivalenceOptions { exact, ..self }
    }

    /// The difference of the outputs that is asked about; `None` asks for equality.
    pub fn tolerance(self, tolerance: impl Into<Option<f64>>) -> Self {
        EquivalenceOptions { tolerance: tolerance.into(), ..self }
    }

    /// The distance from 1 to the next number of the coarser format of the parameters; `None`: the numbers show it.
    pub fn precision(self, precision: impl Into<Option<f64>>) -> Self {
        EquivalenceOptions { precision: precision.into(), ..self }
    }

    /// Points that are tried first.
    pub fn data(self, data: Vec<Vec<Rational>>) -> Self {
        EquivalenceOptions { data, ..self }
    }

    /// Only these methods.
    pub fn only(self, methods: impl IntoIterator<Item = Method>) -> Self {
        EquivalenceOptions { methods: methods.into_iter().collect(), ..self }
    }

    /// Not this method.
    pub fn without(mut self, method: Method) -> Self {
        self.methods.retain(|each| *each != method);
        self
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        EquivalenceOptions { deadline, ..self }
    }

    /// The seed of random points.
    pub fn seed(self, seed: u64) -> Self {
        EquivalenceOptions { seed, ..self }
    }

    /// The search to go on with, if there is one.
    pub fn resume(self, state: impl Into<Option<SearchState>>) -> Self {
        EquivalenceOptions { resume: state.into(), ..self }
    }

    /// Who is told how far the search over regions is.
    pub fn progress(self, progress: Progress<'a, SearchProgress>) -> Self {
        EquivalenceOptions { progress, ..self }
    }

    /// Who is told how far the search for the largest difference is.
    pub fn apart(self, apart: Progress<'a, DifferenceProgress>) -> Self {
        EquivalenceOptions { apart, ..self }
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Goal {
    /// Equality.
    Exact,
    /// Equality, or agreement up to rounding.
    Rounding,
    /// A difference of at most so much.
    Within(Rational),
}

impl Goal {
    /// The goal of the options.
    pub fn of(options: &EquivalenceOptions) -> Result<Goal, EquivalenceError> {
        match options.tolerance {
            _ if options.exact => Ok(Goal::Exact),
            None => Ok(Goal::Rounding),
            Some(tolerance) => match Rational::from_f64(tolerance).filter(Rational::is_positive) {
                Some(exact) => Ok(Goal::Within(exact)),
                None => Err(EquivalenceError::Tolerance(tolerance)),
            },
        }
    }

    /// The difference that was asked about.
    pub fn tolerance(&self) -> Option<&Rational> {
        match self {
            Goal::Within(tolerance) => Some(tolerance),
            Goal::Exact | Goal::Rounding => None,
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum EquivalenceError {
    #[error("the networks have {a} and {b} inputs; expected the same number")]
    Inputs { a: usize, b: usize },
    #[error("the networks have {a} and {b} outputs; expected the same number")]
    Outputs { a: usize, b: usize },
    #[error("tolerance {0}: expected a positive number")]
    Tolerance(f64),
    #[error(transparent)]
    Domain(#[from] fiberscope_core::DomainError),
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error(
        "the checker refused what the search found ({0}); this is a bug in fiberscope, or the file of the search was edited"
    )]
    Refused(Refusal),
}

impl EquivalenceError {
    /// A point that the search found and that shows no difference.
    pub(super) fn no_witness(rule: &str) -> Self {
        EquivalenceError::Refused(Refusal { step: "witness".into(), rule: rule.into() })
    }
}
