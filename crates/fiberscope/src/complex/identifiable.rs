//! Networks that their function identifies among general ones.
//!
//! **Theorem** [phuong2020functional, Theorem 1 and its proof]. Let a network with widths `n_0 >= n_1 >= ... >= n_{L-1}`, `n_0 >= 2` and `n_L = 1` be general and transparent on an open domain, and for every hidden layer `l` let the fold-set of layers `l..L`, on the interior of the set of
//! activations that the layers before reach, have a dependency graph with `n_l` directed paths of length `L-1-l` (counting layers from 1) with distinct starts. Then every general network of the same
//! architecture with the same function has the same parameters up to permutation and positive scaling of neurons.
//!
//! For layer `l` this module takes the open convex set of inputs on which all neurons of the layers before are on: there these layers are affine and onto an open set of activations, and the fold-set of `f` is the preimage of that of the layers
//! from `l` on. The smaller set is enough for the proof (`docs/theory/identifiable.md`); a larger one may have more paths, so that "not certified" is no proof of the contrary.

use fiberscope_core::Network;

use super::breakpoints::BreakpointComplex;
use super::folds::FoldSet;
use super::genericity::Genericity;
use super::polyhedral::PolyhedralComplex;
use crate::limit::{Deadline, LimitReached};

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
    /// Looks for the paths.
    pub fn new(
        network: &Network,
        complex: &PolyhedralComplex,
        breakpoints: &BreakpointComplex,
        genericity: &Genericity,
    ) -> Self {
        IdentifiabilityCertificate::until(network, complex, breakpoints, genericity, &Deadline::NEVER)
            .expect("there is no limit")
    }

    /// The same, unless the deadline comes first.
    pub fn until(
        network: &Network,
        complex: &PolyhedralComplex,
        breakpoints: &BreakpointComplex,
        genericity: &Genericity,
        deadline: &Deadline,
    ) -> Result<Self, LimitReached> {
        let depth = network.hidden_depth();
        let layers = (0..depth).map(|layer| {
            let folds = FoldSet::until(complex, &breakpoints.facets, layer, deadline)?;
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

    /// The first condition that fails, in words.
    pub fn reason(&self) -> Option<String> {
        if !self.scalar {
            return Some("the network has more than one output".into());
        }
        if !self.narrowing {
            return Some("the widths increase somewhere, or there is one input only".into());
        }
        if !self.transparent {
            return Some("the network is not transparent".into());
        }
        if !self.general {
            return Some("the network is not general".into());
        }
        let short = self.layers.iter().find(|layer| layer.paths.len() < layer.wanted)?;
        Some(format!(
            "layer {} has {} of {} paths of length {}",
            short.layer + 1,
            short.paths.len(),
            short.wanted,
            short.length
        ))
    }
}
