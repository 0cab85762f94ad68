//! The canonical polyhedral complex of a ReLU network.
//!
//! Start with the domain and cut every cell, layer by layer, by the zero sets of the neurons, which are
//! affine on the cells so far. Cells are indexed by sign vectors in `{-1, 0, +1}^N` over all hidden neurons;
//! full-dimensional cells are the regions on which the network is affine. [`count_cells`] counts the cells,
//! [`PolyhedralComplex`] lists them, [`BreakpointComplex`] weighs the facets, [`FoldSet`] and
//! [`DependencyGraph`] describe where the function bends, [`Genericity`] tells what is special, and
//! [`construct_identifiable`] builds networks that their function determines. [`FoldPaths`] proves paths of
//! the dependency graph without the complex.
//!
//! Two algorithms give the regions. Edges are subdivided in doubles with bounds on all errors and rational
//! numbers in doubt (`skeleton`, `rows`, `faces`, `vertex`, `settle`), and all cells are counted or listed
//! from the vertices (`count`, `listing`); where the complex is not simple, all cells are subdivided in exact
//! arithmetic instead (`lattice`). [`walk_regions`] goes from region to region across facets by linear
//! programs and shares nothing with the first; it needs no corners of a box and is meant for many inputs.

mod affine;
mod arbiter;
mod breakpoints;
mod cells;
mod collinear;
mod construct;
mod count;
mod count_state;
mod errors;
mod exact_points;
mod exploration;
mod faces;
mod flat;
mod fold_match;
mod fold_paths;
mod fold_points;
mod folds;
mod frame;
mod genericity;
mod identifiable;
mod join;
mod lattice;
mod layerwise;
mod levels;
mod listing;
mod masked_ranks;
mod newton;
mod numbers;
mod options;
mod paths;
mod pieces;
mod point_search;
mod polyhedral;
mod region_maps;
mod relaxed;
mod ridge_tally;
mod ridges;
mod rows;
mod settle;
mod skeleton;
mod slice;
mod stream;
mod subdivide;
mod sums;
mod surfaces;
mod tile;
mod tops;
mod transparency;
mod vertex;
mod walk;
mod weights;
mod work;

use fiberscope_core::DomainError;
use thiserror::Error;

pub use breakpoints::{BreakpointComplex, unseen_neurons};
pub use construct::{
    ConstructOptions, ConstructProgress, Generality, IdentifiableError, IdentifiableNetwork, Rejection,
    construct_identifiable,
};
pub use count::CellCounts;
pub use count_state::{CountProgress, CountState};
pub use exact_points::lineality;
pub use exploration::{Exploration, explore_breakpoints, explore_cells, explore_in_tiles};
pub use fold_match::{FoldMatch, match_folds};
pub use fold_paths::FoldPaths;
pub use fold_points::FoldPoint;
pub use folds::{DependencyGraph, FoldPiece, FoldSet};
pub use genericity::Genericity;
pub use identifiable::{IdentifiabilityCertificate, LayerPaths, MissingCondition, WidthCondition};
pub use masked_ranks::MaskedRanks;
pub use numbers::BreakpointNumbers;
pub use options::{ComplexOptions, Keeper};
pub use pieces::{CountPart, CountPiece, CountSum, count_piece, count_pieces};
pub use polyhedral::{BentHyperplane, Built, Cell, PolyhedralComplex, Region};
pub use slice::on_plane;
pub use stream::{CellMethod, CountOutcome, count_cells};
pub use transparency::{LayerTransparency, Transparency, TransparencyOptions};
pub use walk::{Walked, exact_region_bound, region_bound, walk_regions};
pub use weights::{WeightedFacet, weigh_by_paths};

/// Why a complex is not computed.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ComplexError {
    #[error(transparent)]
    Domain(#[from] DomainError),
    #[error("input {input}: the box is flat, from {lower} to {upper}; expected lo < hi")]
    Flat { input: usize, lower: f64, upper: f64 },
    #[error("input {input}: the box is bounded on one side only; expected a bounded box or the whole space")]
    HalfBounded { input: usize },
    #[error("input {input}: an end of the box is no double")]
    NotDouble { input: usize },
    #[error(
        "{dimensions} dimensions: a box of that many has 2^{dimensions} corners; at most {most} are possible here"
    )]
    TooManyDimensions { dimensions: usize, most: usize },
    #[error("the state belongs to another network or domain, or is damaged")]
    OtherState,
    #[error(
        "{attempts} times cuts of the domain met a vertex of the complex, or a box that stands for the space was too small; no more are tried"
    )]
    NoCut { attempts: u32 },
    #[error("there are cells farther out than {reach:e}, which are not looked for; expected a bounded box")]
    TooFar { reach: f64 },
}
