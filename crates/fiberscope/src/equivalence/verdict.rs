//! What is said about two networks, and how it was found.

use std::fmt;
use std::str::FromStr;

use fiberscope_core::{Certificate, Rational};
use thiserror::Error;

use super::regions::SearchState;
use crate::limit::Limit;

/// A point with different outputs, evaluated exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where.
    pub x: Vec<Rational>,
    /// The first network's value there.
    pub a: Vec<Rational>,
    /// The second network's value there.
    pub b: Vec<Rational>,
}

impl Difference {
    /// The largest difference of an output.
    pub fn size(&self) -> Rational {
        size_of(&self.a, &self.b)
    }
}

/// The largest difference of two vectors of the same length, entry by entry.
pub(crate) fn size_of(a: &[Rational], b: &[Rational]) -> Rational {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).max().unwrap_or_default()
}

/// In what sense networks that are not proved equal agree.
#[derive(Clone, Debug, PartialEq)]
pub enum Agreement {
    /// The outputs differ by at most a bound on the domain, which is a bounded box.
    Outputs {
        /// The bound.
        bound: Rational,
        /// An absolute value that an output of the first network takes on the domain: the bound is small
        /// beside it. `None` where a tolerance was asked for, which the bound does not exceed.
        size: Option<Rational>,
    },
    /// After moves that keep both functions on the domain, the parameters agree one by one. Nothing is known
    /// about the outputs.
    Parameters {
        /// To this relative difference.
        relative: Rational,
    },
}

impl Agreement {
    /// The bound for the difference of the outputs, if there is one.
    pub fn bound(&self) -> Option<&Rational> {
        match self {
            Agreement::Outputs { bound, .. } => Some(bound),
            Agreement::Parameters { .. } => None,
        }
    }
}

/// The answer.
#[derive(Clone, Debug)]
#[must_use]
pub enum Verdict {
    /// The networks are equal on the domain.
    Equivalent {
        /// The proof.
        certificate: Certificate,
    },
    /// The networks are not proved equal, but agree on the domain up to rounding, or up to the tolerance.
    EquivalentUpToRounding {
        /// In what sense.
        agreement: Agreement,
        /// The proof of it.
        certificate: Certificate,
        /// A point where they differ, if one is known.
        differ_at: Option<Difference>,
    },
    /// The networks differ; where a tolerance was asked for, by more than that.
    Different {
        /// Where.
        x: Vec<Rational>,
        /// The first network's value there.
        a: Vec<Rational>,
        /// The second network's value there.
        b: Vec<Rational>,
        /// The best certified bound for the difference on the domain, if one is known.
        bound: Option<Rational>,
        /// The proof.
        certificate: Certificate,
    },
    /// A limit was reached first, or nothing was found that decides.
    Undecided {
        /// The part of the search that is finished.
        explored: f64,
        /// How many cells, each of one joint linear region or more, were found on which the networks agree.
        cells: u64,
        /// Where to go on; `None` if the search was not begun.
        state: Option<Box<SearchState>>,
        /// The limit that was reached, if one was.
        limit: Option<Limit>,
        /// The best certified bound for the difference on the domain, if one is known.
        bound: Option<Rational>,
        /// The point with the largest difference that was seen; only where a tolerance was asked for, which
        /// it does not exceed.
        difference: Option<Difference>,
    },
}

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The parameters are equal, number by number.
    Identical,
    /// Moves lead to the same network.
    Moves,
    /// The networks were evaluated at a few points.
    Evaluation,
    /// Both are affine.
    AffineMaps,
    /// Hyperplane representations were compared.
    Hyperplanes,
    /// A walk over the breakpoints of functions of one variable.
    Breakpoints,
    /// The procedure for three layers with a bottleneck.
    Bottleneck,
    /// What is behind equal first layers was compared, on a box around what these compute.
    Tails,
    /// The networks were aligned up to rounding.
    Rounding,
    /// The largest difference of the outputs on a box was bounded.
    Difference,
    /// Points near boundaries were tried.
    Falsification,
    /// All joint linear regions were searched.
    Regions,
    /// The networks are too large for a search whose result the checker could read.
    TooLarge,
    /// The time was up before any of them.
    None,
}

/// A name that is no method's.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{name:?} is no method; expected one of {}", Method::ALL.map(Method::word).join(", "))]
pub struct UnknownMethod {
    /// What was given.
    pub name: String,
}

impl FromStr for Method {
    type Err = UnknownMethod;

    /// Reads a name, or its word.
    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let found = Method::ALL.into_iter().find(|method| method.name() == name || method.word() == name);
        found.ok_or_else(|| UnknownMethod { name: name.to_owned() })
    }
}

impl Method {
    /// The methods that can be chosen, in the order in which they are first tried: those of
    /// [`METHODS`](super::METHODS).
    pub const ALL: [Method; 12] = [
        Method::Identical,
        Method::Moves,
        Method::Evaluation,
        Method::AffineMaps,
        Method::Hyperplanes,
        Method::Breakpoints,
        Method::Bottleneck,
        Method::Rounding,
        Method::Difference,
        Method::Tails,
        Method::Falsification,
        Method::Regions,
    ];

    /// The name without spaces, for the command line.
    pub fn word(self) -> &'static str {
        match self {
            Method::AffineMaps => "affine-maps",
            Method::TooLarge => "too-large",
            _ => self.name(),
        }
    }

    /// The name in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Method::Identical => "identical",
            Method::Moves => "moves",
            Method::Evaluation => "evaluation",
            Method::AffineMaps => "affine maps",
            Method::Hyperplanes => "hyperplanes",
            Method::Breakpoints => "breakpoints",
            Method::Bottleneck => "bottleneck",
            Method::Tails => "tails",
            Method::Rounding => "rounding",
            Method::Difference => "difference",
            Method::Falsification => "falsification",
            Method::Regions => "regions",
            Method::TooLarge => "too large",
            Method::None => "none",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The answer and how it was found.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// How it was found.
    pub method: Method,
    /// The difference of the outputs that was asked about; `None` if the question was equality.
    pub tolerance: Option<Rational>,
}
