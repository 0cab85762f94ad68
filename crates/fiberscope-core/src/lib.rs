//! The nouns of Fiberscope: exact numbers, networks, domains, moves and certificates.
//!
//! There are no files, no search and no printing in this crate.

mod alike;
mod bisection;
mod certificate;
mod content;
mod cover;
pub mod decimal;
mod decision;
mod digest;
mod domain;
mod double;
mod evaluate;
mod exact;
mod hiding;
mod hyperplane;
mod matrix;
mod moves;
mod network;
mod nudge;
mod product;
mod product_sum;
mod range;
mod rank_bounds;
mod rank_evidence;
mod rational;
mod region;
mod relaxation;
pub mod residue;
mod scalar;
mod serde_forms;
mod sparse;
mod sparse_batch;
mod strict;
mod strided;
#[cfg(test)]
mod testing;
mod twofold;
mod weights;
pub mod wide;

pub use bisection::{BoxNode, RowMultipliers};
pub use certificate::{Certificate, CertificateError, CertificatePart, Claim, Evidence, NetworkName};
pub use content::{content, ratio_of};
pub use cover::{CoverNode, Operand};
pub use decision::{DecisionNode, RivalWeights};
pub use digest::Digest;
pub use domain::{Domain, DomainError, Interval};
pub use double::mantissa_and_exponent;
pub use evaluate::InputError;
pub use exact::ExactEvaluator;
pub use hiding::{Sight, Strictness, hidden_unit, least_translation};
pub use hyperplane::{HyperplaneRepresentation, WeightedHyperplane};
pub use matrix::Matrix;
pub use moves::{
    Balance, BiasShift, ChainError, Counterweight, LinearChange, Move, MoveChain, MoveError, Mute,
    NeuronCopy, PlacedNeuron, Rule, Share, ShownRole,
};
pub use network::{
    Activation, ExactNetwork, LARGEST_DENSE, Layer, Network, NetworkError, Neuron, Rows, TooLargeDense,
};
pub use nudge::{Nudge, RoundingStep};
pub use product_sum::ProductSum;
pub use range::{Role, activation_ranges_behind, preactivation_range};
pub use rank_bounds::RankBounds;
pub use rank_evidence::{FoldPair, RankEvidence};
pub use rational::{ParseRationalError, Rational};
pub use region::{AffineMap, ParseSignVectorError, PatternError, Sign, SignVector};
pub use relaxation::relaxed_bound;
pub use scalar::Scalar;
pub use sparse::SparseMatrix;
pub use strided::{Strided, multiply_into};
pub use twofold::{two_product, two_sum};
pub use weights::{RowEntries, Weights, is_stored_by_entries, side_by_side};
