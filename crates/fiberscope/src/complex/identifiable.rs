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

use fiberscope_core::Network;
use thiserror::Error;

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
    /// What the theorem asks of the widths and they do not have.
    pub widths: Option<WidthCondition>,
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
            widths: WidthCondition::missing(&network.widths()),
            general: genericity.is_general(),
            transparent: genericity.is_transparent(),
            layers: layers.collect::<Result<_, LimitReached>>()?,
        })
    }

    /// Whether the function identifies the network among general ones of its architecture.
    pub fn holds(&self) -> bool {
        let enough = |layer: &LayerPaths| layer.paths.len() >= layer.wanted;
        self.widths.is_none() && self.general && self.transparent && self.layers.iter().all(enough)
    }

    /// The first condition that fails.
    pub fn missing(&self) -> Option<MissingCondition> {
        if let Some(condition) = self.widths {
            return Some(MissingCondition::Widths(condition));
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
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum MissingCondition {
    /// There is no theorem for the widths.
    #[error("there is no theorem for these widths: {0}")]
    Widths(WidthCondition),
    /// A hidden layer is off somewhere.
    #[error("the network is not transparent")]
    Transparent,
    /// The network is not general.
    #[error("the network is not general")]
    General,
    /// A hidden layer has too few paths.
    #[error("layer {} has {found} of {wanted} paths of length {length}", layer + 1)]
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

/// What the theorem asks of widths and these do not have.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum WidthCondition {
    /// There is no hidden layer.
    #[error("there is no hidden layer")]
    NoHiddenLayer,
    /// There are several outputs, or none.
    #[error("the last width is {0}, not 1")]
    Outputs(usize),
    /// There is one input, or none.
    #[error("there are {0} inputs, not two or more, and on a line breakpoints do not tell their layer")]
    Inputs(usize),
    /// A hidden layer is wider than the layer before it.
    #[error("layer {layer} is wider than the layer before it, so that its image has no interior")]
    Increasing {
        /// The layer, from 1.
        layer: usize,
    },
    /// A hidden layer has one neuron, which would have to be positive everywhere, or none.
    #[error("layer {layer} has fewer than 2 neurons, and a layer of one neuron that bends is off somewhere")]
    Narrow {
        /// The layer, from 1.
        layer: usize,
    },
}

impl WidthCondition {
    /// The first condition `n_0 >= n_1 >= ... >= n_{L-1} >= 2`, `n_L = 1`, `L >= 2` that the widths do not
    /// meet.
    ///
    /// ```
    /// use fiberscope::complex::WidthCondition;
    ///
    /// assert_eq!(WidthCondition::missing(&[3, 3, 2, 1]), None);
    /// assert_eq!(WidthCondition::missing(&[3, 2, 3, 1]), Some(WidthCondition::Increasing { layer: 2 }));
    /// ```
    pub fn missing(widths: &[usize]) -> Option<Self> {
        let Some(last) = widths.len().checked_sub(1).filter(|&last| last >= 2) else {
            return Some(WidthCondition::NoHiddenLayer);
        };
        if widths[last] != 1 {
            return Some(WidthCondition::Outputs(widths[last]));
        }
        if widths[0] < 2 {
            return Some(WidthCondition::Inputs(widths[0]));
        }
        (1..last).find_map(|layer| match (widths[layer - 1], widths[layer]) {
            (before, own) if own > before => Some(WidthCondition::Increasing { layer }),
            (_, 0 | 1) => Some(WidthCondition::Narrow { layer }),
            _ => None,
        })
    }
}
