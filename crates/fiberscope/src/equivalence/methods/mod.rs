//! The methods, in the order in which they are tried.
//!
//! Cheap proofs come first, then attempts to refute, then the complete search. A method is a file with one
//! function, which makes a [`Step`] of a [`Question`], and a line of [`METHODS`]. The command's `--method`
//! and the guide show the list.

mod affine;
mod bottleneck;
mod breakpoints;
mod difference;
mod evaluation;
mod falsification;
mod hyperplanes;
mod identical;
mod matching;
mod regions;
mod relabelling;
mod rounding;
mod tails;

use super::options::EquivalenceError;
use super::question::{Question, Step};
use super::verdict::Method;

/// A method and its place in the order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Procedure {
    /// How answers name it.
    pub method: Method,
    /// What it does, in a line.
    pub about: &'static str,
    /// Whether it writes out the zeros of layers that are stored by their entries.
    pub needs_dense: bool,
    pub(super) run: fn(&Question) -> Result<Step, EquivalenceError>,
}

/// The methods of [`decide`](super::decide), in the order in which they are tried.
///
/// ```
/// use fiberscope::equivalence::{METHODS, Method};
///
/// assert_eq!(METHODS[0].method, Method::Identical);
/// assert_eq!(METHODS[METHODS.len() - 1].method, Method::Regions);
/// ```
pub const METHODS: &[Procedure] = &[
    procedure(Method::Identical, "the parameters are equal, number by number", identical::run),
    procedure(Method::Moves, "the neurons are the same up to order and scales, as given", relabelling::run),
    procedure(
        Method::Evaluation,
        "both networks at a few points: of the data, corners of the box, random ones",
        evaluation::run,
    ),
    procedure(
        Method::Moves,
        "the neurons are the same up to order and scales, after both networks are reduced",
        matching::run,
    ),
    procedure(Method::AffineMaps, "both networks reduce to affine maps", affine::run),
    procedure(
        Method::Hyperplanes,
        "one hidden layer is left behind equal ones: its weighted hyperplanes are compared",
        hyperplanes::run,
    ),
    procedure(
        Method::Breakpoints,
        "functions of one variable: a walk over their breakpoints",
        breakpoints::run,
    ),
    procedure(
        Method::Bottleneck,
        "two hidden layers, the first weights of full row rank: decided for generic parameters",
        bottleneck::run,
    ),
    procedure(
        Method::Rounding,
        "agreement up to rounding or within the tolerance, by a certified bound or parameter by parameter",
        rounding::run,
    ),
    procedure(
        Method::Difference,
        "with a tolerance on a bounded box: the largest difference is bounded box by box until it is decided",
        difference::run,
    ),
    procedure(
        Method::Tails,
        "what is behind equal first layers, as functions of anything that these may compute",
        tails::run,
    ),
    procedure(
        Method::Falsification,
        "points on and beside the boundaries of both networks",
        falsification::run,
    ),
    procedure(
        Method::Regions,
        "all joint linear regions are searched, which decides if no limit is reached",
        regions::run,
    ),
];

const fn procedure(
    method: Method,
    about: &'static str,
    run: fn(&Question) -> Result<Step, EquivalenceError>,
) -> Procedure {
    let by_entries = matches!(
        method,
        Method::Identical
            | Method::Moves
            | Method::Evaluation
            | Method::AffineMaps
            | Method::Rounding
            | Method::Falsification
    );
    Procedure { method, about, needs_dense: !by_entries, run }
}
