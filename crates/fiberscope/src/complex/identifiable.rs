//! Networks that their function identifies among general ones.
//!
//! **Theorem** [phuong2020functional, Theorem 1 and its proof]. Let a network with widths
//! `n_0 >= n_1 >= ... >= n_{L-1}`, `n_0 >= 2` and `n_L = 1` be general and transparent on an open domain, and
//! for every hidden layer `l` let the fold-set of layers `l..L`, on the interior of the set of activations
//! that the layers before reach, have a dependency graph with `n_l` directed paths of length `L-1-l`
//! (counting layers from 1) with distinct starts. Then every general network of the same architecture with
//! the same function has the same parameters up to permutation and positive scaling of neurons.
//!
//! For layer `l` this module takes the open convex set of inputs on which all neurons of the layers before
//! are on: there these layers are affine and onto an open set of activations, and the fold-set of `f` is the
//! preimage of that of the layers from `l` on. The smaller set is enough for the proof
//! (`docs/theory/identifiable.md`); a larger one may have more paths, so that "not certified" is no proof of
//! the contrary.

use std::fmt::{self, Display, Formatter};

use fiberscope_core::Network;

use super::breakpoints::BreakpointComplex;
use super::folds::FoldSet;
use super::genericity::Genericity;
use super::options::ComplexOptions;
use super::polyhedral::PolyhedralComplex;
use crate::limit::LimitReached;

/// The paths of one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerPaths {
    /// The hidden layer, from 0.
    pub layer: usize,
    /// How many paths are wanted: the width of the layer.
    pub wanted: usize,
    /// Their length in edges.
    pub length: usize,
    /// Paths with distinct starts, as numbers of pieces of the layer's fold-set.
    pub paths: Vec<Vec<usize>>,
}

/// Whether the condition of the theorem holds, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct IdentifiabilityCertificate {
    /// Whether the network has one output.
    pub scalar: bool,
    /// Whether it has two inputs or more and widths that do not increase.
    pub narrowing: bool,
    /// Whether it is general.
    pub general: bool,
    /// Whether it is transparent.
    pub transparent: bool,
    /// The paths of every hidden layer.
    pub layers: Vec<LayerPaths>,
}

impl IdentifiabilityCertificate {
    /// Looks for the paths, unless the deadline of the options comes first.
    pub fn new(
        network: &Network,
        complex: &PolyhedralComplex,
        breakpoints: &BreakpointComplex,
        genericity: &Genericity,
        options: &ComplexOptions,
    ) -> Result<Self, LimitReached> {
        let depth = network.hidden_depth();
        let layers = (0..depth).map(|layer| {
            let folds = FoldSet::new(complex, &breakpoints.facets, layer, options)?;
            let graph = folds.dependencies(complex, &breakpoints.facets, layer);
            let length = depth - 1 - layer;
            let wanted = network.layers()[layer].width();
            let mut paths = graph.paths(length);
            paths.truncate(wanted);
            Ok(LayerPaths { layer, wanted, length, paths })
        });
        Ok(IdentifiabilityCertificate {
            scalar: network.output_width() == 1,
            narrowing: network.input_width() >= 2 && network.widths().windows(2).all(|w| w[0] >= w[1]),
            general: genericity.is_general(),
            transparent: genericity.is_transparent(),
            layers: layers.collect::<Result<_, LimitReached>>()?,
        })
    }

    /// Whether the function identifies the network among general ones of its architecture.
    pub fn holds(&self) -> bool {
        let enough = |layer: &LayerPaths| layer.paths.len() >= layer.wanted;
        self.scalar && self.narrowing && self.general && self.transparent && self.layers.iter().all(enough)
    }

    /// The first condition that fails.
    pub fn missing(&self) -> Option<MissingCondition> {
        if !self.scalar {
            return Some(MissingCondition::Scalar);
        }
        if !self.narrowing {
            return Some(MissingCondition::Narrowing);
        }
        if !self.transparent {
            return Some(MissingCondition::Transparent);
        }
        if !self.general {
            return Some(MissingCondition::General);
        }
        let short = self.layers.iter().find(|layer| layer.paths.len() < layer.wanted)?;
        let LayerPaths { layer, wanted, length, ref paths } = *short;
        Some(MissingCondition::Paths { layer, found: paths.len(), wanted, length })
    }
}

/// A condition of the theorem that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingCondition {
    /// The network has more than one output.
    Scalar,
    /// The widths increase somewhere, or there is one input only.
    Narrowing,
    /// A hidden layer is off somewhere.
    Transparent,
    /// The network is not general.
    General,
    /// A hidden layer has too few paths.
    Paths {
        /// The layer, from 0.
        layer: usize,
        /// Its paths.
        found: usize,
        /// As many are needed.
        wanted: usize,
        /// Their length.
        length: usize,
    },
}

impl Display for MissingCondition {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            MissingCondition::Scalar => f.write_str("the network has more than one output"),
            MissingCondition::Narrowing => {
                f.write_str("the widths increase somewhere, or there is one input only")
            }
            MissingCondition::Transparent => f.write_str("the network is not transparent"),
            MissingCondition::General => f.write_str("the network is not general"),
            MissingCondition::Paths { layer, found, wanted, length } => {
                write!(f, "layer {} has {found} of {wanted} paths of length {length}", layer + 1)
            }
        }
    }
}
