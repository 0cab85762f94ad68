//! Linear networks: the fiber of a matrix, cut into strata by rank [shewchuk2024geometry, Abstract].
//!
//! A linear network of widths `d = (d_0, ..., d_L)` has matrices `theta = (W_1, ..., W_L)`, `W_j` of shape
//! `d_j x d_{j-1}`, and computes `mu(theta) = W_L ... W_1`. The *fiber* of `W` is `mu^{-1}(W)`. Write
//!
//! ```text
//! W_{k~i} = W_k ... W_{i+1},   r_{k~i} = rk W_{k~i}  (r_{i~i} = d_i),   rho = rk W = r_{L~0}.
//! ```
//!
//! The *rank list* `r = (r_{k~i})` cuts the fiber into finitely many smooth *strata*. A rank list is the same
//! as a *barcode*: `omega_{ki}` bars `[i, k]`, directions that are born at layer `i` and last seen at layer
//! `k`. A stratum lies in the closure of another iff its rank list is entrywise smaller or equal; the
//! covering relations are the edges of the *stratum dag*. Each edge is a rank-1 move that connects two bars,
//! or swaps their ends.
//!
//! | question | answer |
//! |---|---|
//! | which strata does a fiber have, of what dimension? | [`StratumDag::build`], [`count_strata`] |
//! | where in its fiber is this network? | [`FlowBases::compute`], [`exact_rank_list`] |
//! | which directions of a layer come from where, and are lost where? | [`Subspaces`] |
//! | how far is it from strata of smaller ranks? | [`Neighbourhood`] |
//! | in which directions can it move? | [`TangentSpace`] |
//! | how does it get to another stratum? | [`Displacement`] |
//! | how does it get to another point? | [`StratumPath`] |
//! | what does training keep? | [`Conserved`] |
//!
//! ```
//! use fiberscope::linear::{ProductFiber, StratumDag, StratumOptions};
//!
//! let fiber = ProductFiber::new(vec![4, 6, 5], 1)?;
//! let dag = StratumDag::build(&fiber, &StratumOptions::new())?;
//! assert_eq!((dag.len(), dag.edge_count(), dag.fiber_dimension()), (17, 25, 35));
//! # Ok::<(), fiberscope::linear::LinearError>(())
//! ```

mod bar;
mod barcode;
mod block;
mod canonical;
mod conserved;
mod count;
mod dag;
mod dense;
mod enumerate;
mod error;
mod exact;
mod fiber;
mod flow;
mod general_linear;
mod hidden_orbit;
mod local;
mod moves;
mod neighbours;
mod network;
mod path;
mod rank_list;
mod sample;
mod signs;
mod stratum;
mod subspaces;
mod tangent;
mod walk;
mod widths;

pub use bar::{Bar, MoveKind};
pub use barcode::Barcode;
pub use block::{ActiveBlock, compress_block};
pub use canonical::{canonical_weights, point_over};
pub use conserved::{Conserved, Inertia};
pub use count::count_strata;
pub use dag::{Edge, StratumDag};
pub use enumerate::{StratumOptions, StratumTable};
pub use error::LinearError;
pub use exact::exact_rank_list;
pub use fiber::ProductFiber;
pub use flow::{FlowBases, Tolerance};
pub use hidden_orbit::same_hidden_orbit;
pub use moves::{Displacement, cuts_to_minimum};
pub use neighbours::{Neighbourhood, RankGap};
pub use network::LinearNetwork;
pub use path::{Connection, ProductFiberPath, StratumPath};
pub use rank_list::RankList;
pub use sample::{random_tangent, sample_integer, sample_over, sample_stratum};
pub use stratum::{DownMove, Stratum, UpMove};
pub use subspaces::{Family, SubspaceDefects, Subspaces};
pub use tangent::{NormalKind, TangentSpace};
pub use walk::Walk;
