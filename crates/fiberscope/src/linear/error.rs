//! What can be wrong with a question about linear networks.

use dashu_int::UBig;
use fiberscope_core::NetworkError;
use thiserror::Error;

use super::Bar;
use crate::limit::LimitReached;

/// Why a question about linear networks has no answer. Layers of a file are printed counting from 1;
/// layers of bars count from 0, the input.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum LinearError {
    #[error("expected at least two widths (input and output), found {found}")]
    TooFewWidths { found: usize },
    #[error("width {position} is 0; expected at least 1")]
    ZeroWidth { position: usize },
    #[error("width {position} is {found}; expected at most {most}")]
    TooWide { position: usize, found: usize, most: usize },
    #[error("{found} matrices are more than the {most} that are supported")]
    TooDeep { found: usize, most: usize },
    #[error("rank {rank} is larger than the smallest width {width}; no product of these widths has it")]
    RankTooLarge { rank: usize, width: usize },
    #[error("the fiber has {count} strata, more than the limit of {limit}")]
    TooManyStrata { count: String, limit: usize },
    #[error("{0}")]
    Limit(#[from] LimitReached),
    #[error("counting the strata needs {states} states, more than the limit of {limit}")]
    TooManyStates { states: UBig, limit: usize },
    #[error(
        "a rank list for {depth} matrices has {depth} rows of lengths 1 to {depth}; row {row} has {found}"
    )]
    RankListShape { depth: usize, row: usize, found: usize },
    #[error("no network has these ranks: they need {count} bars [{start}, {end}]", start = .bar.start, end = .bar.end)]
    NegativeMultiplicity { bar: Bar, count: i64 },
    #[error("[{start}, {end}] is no bar of a network with layers 0 to {depth}")]
    BarOutside { start: usize, end: usize, depth: usize },
    #[error("the bars alive at layer {layer} are {found}; expected its width {expected}")]
    BarsAndWidths { layer: usize, expected: usize, found: usize },
    #[error("the barcode has no bar {bar}")]
    NoSuchBar { bar: Bar },
    #[error(
        "bars {source_bar} and {target} allow no rank-increasing move: expected [h,k] and [i,l] with h < i <= k+1 <= l"
    )]
    NoUpMove { source_bar: Bar, target: Bar },
    #[error(
        "bars {outer} and {inner} allow no rank-decreasing move: expected the second strictly inside the first"
    )]
    NoDownMove { outer: Bar, inner: Bar },
    #[error("bar {bar} cannot be cut after layer {after}")]
    NoCut { bar: Bar, after: usize },
    #[error("the move on bar [{start}, {end}] would change the product; it leaves the fiber", start = .bar.start, end = .bar.end)]
    LeavesFiber { bar: Bar },
    #[error(
        "layer {layer} has activation relu; expected a linear network (identity activations). The always-active \
         neurons of a ReLU layer on a box form a linear block that can be examined instead"
    )]
    NotLinear { layer: usize },
    #[error("layers {first} to {last} are no part of a network with {depth} layers")]
    NoSuchLayers { first: usize, last: usize, depth: usize },
    #[error("layer {layer} is no hidden ReLU layer")]
    NoReluLayer { layer: usize },
    #[error("layer {layer} has no neuron that is always active on the domain")]
    NoActiveNeuron { layer: usize },
    #[error("the domain is unbounded in the input direction of layer {layer}; the block needs a box")]
    Unbounded { layer: usize },
    #[error("expected widths {expected:?}, found {found:?}")]
    WidthsDiffer { expected: Vec<usize>, found: Vec<usize> },
    #[error("the product has shape {rows} x {cols}; expected {expected_rows} x {expected_cols}")]
    ProductShape { rows: usize, cols: usize, expected_rows: usize, expected_cols: usize },
    #[error("the product has rank {found}; expected {expected}")]
    ProductRank { expected: usize, found: usize },
    #[error("the velocity is no tangent of the stratum: its generator misses it by {defect:.1e}")]
    NotTangent { defect: f64 },
    #[error("the tolerance is {tolerance}; expected a number from 0 to 1")]
    BadTolerance { tolerance: f64 },
    #[error("floating point overflowed or did not converge in layer {layer}; rescale the weights")]
    Numerical { layer: usize },
    #[error("exact ranks need {needed} operations on rationals, more than the limit of {limit}")]
    ExactTooLarge { needed: usize, limit: usize },
    #[error(transparent)]
    Network(#[from] NetworkError),
}
