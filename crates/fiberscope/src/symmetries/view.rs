//! Which neurons are on in each region, and on which of them the outputs depend there.

use fiberscope_check::rank::{Pattern, ResidueNetwork};
use fiberscope_core::{Network, Neuron};

use super::layout::Layout;
use crate::limit::Deadline;

/// A list of regions, by their patterns.
pub struct View {
    /// The network modulo a prime.
    pub residues: ResidueNetwork,
    /// Where parameters lie.
    pub layout: Layout,
    /// The patterns, no two of them equal.
    pub patterns: Vec<Pattern>,
    /// For each region and neuron, whether the outputs depend on its activation: a change of it changes them.
    seen: Vec<Pattern>,
}

impl View {
    /// Looks at these regions; `None` when it is late.
    pub fn new(network: &Network, patterns: Vec<Pattern>, deadline: &Deadline) -> Option<Self> {
        let mut view = View {
            residues: ResidueNetwork::new(network),
            layout: Layout::of(network),
            patterns: Vec::new(),
            seen: Vec::new(),
        };
        for pattern in patterns {
            if deadline.is_past() {
                return None;
            }
            view.add(pattern);
        }
        Some(view)
    }

    /// Adds a region.
    pub fn add(&mut self, pattern: Pattern) {
        let units = |l: usize| {
            let seen = |unit: usize| self.residues.reaches_output(&pattern, l, unit);
            (0..pattern[l].len()).map(seen).collect()
        };
        self.seen.push((0..pattern.len()).map(units).collect());
        self.patterns.push(pattern);
    }

    /// The hidden neurons, layer by layer.
    pub fn hidden(&self) -> impl Iterator<Item = Neuron> + '_ {
        (0..self.layout.last()).flat_map(|layer| self.of_layer(layer))
    }

    /// The neurons of a layer.
    pub fn of_layer(&self, layer: usize) -> impl Iterator<Item = Neuron> + use<> {
        (0..self.layout.widths[layer + 1]).map(move |unit| Neuron { layer, unit })
    }

    /// Whether a hidden neuron is on in a region.
    pub fn is_on(&self, region: usize, neuron: Neuron) -> bool {
        self.patterns[region][neuron.layer][neuron.unit]
    }

    /// Whether the outputs depend on a hidden neuron's activation in a region.
    pub fn is_seen(&self, region: usize, neuron: Neuron) -> bool {
        self.seen[region][neuron.layer][neuron.unit]
    }

    /// The regions in which the outputs depend on a neuron's row: it is on and seen, or of the last layer.
    pub fn where_used(&self, neuron: Neuron) -> Vec<usize> {
        let last = neuron.layer == self.layout.last();
        let used = |&r: &usize| last || self.is_on(r, neuron) && self.is_seen(r, neuron);
        (0..self.patterns.len()).filter(used).collect()
    }

    /// Whether something holds in all regions.
    pub fn always(&self, holds: impl Fn(usize) -> bool) -> bool {
        (0..self.patterns.len()).all(holds)
    }
}
