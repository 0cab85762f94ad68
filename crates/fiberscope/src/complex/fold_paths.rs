//! Paths in the dependency graph, one for every neuron, without the complex.
//!
//! From the last hidden layer down: neuron `i` of layer `k` is led by a point of [`super::fold_points`] to
//! the neuron of the next layer with the longest path for which there is one. If the path of every neuron of
//! every hidden layer goes down to the last one, the network has the paths of
//! [phuong2020functional, Lemma 4].

use fiberscope_core::{Activation, Domain, ExactNetwork, Neuron};

use super::fold_points::FoldPoint;
use super::point_search::PointSearch;
use crate::limit::Deadline;

/// Points that prove paths of the dependency graph, for all neurons or as many as were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldPaths {
    /// For every hidden layer and neuron its point, if one was found.
    pub points: Vec<Vec<Option<FoldPoint>>>,
    /// How many linear programs looked for them.
    pub programs: usize,
    /// Whether a limit ended the search.
    pub is_stopped: bool,
}

impl FoldPaths {
    /// Looks for the points by linear programs.
    ///
    /// ```
    /// use fiberscope::complex::{ConstructOptions, FoldPaths, construct_identifiable};
    /// use fiberscope::limit::Deadline;
    ///
    /// let built = construct_identifiable(&[3, 3, 2, 1], &ConstructOptions::new()).unwrap();
    /// let found = FoldPaths::find(&built.network.to_exact(), &built.domain, &Deadline::NEVER);
    /// assert!(found.is_complete());
    /// assert_eq!(found.path(0, 1).unwrap().len(), 2);
    /// ```
    pub fn find(network: &ExactNetwork, domain: &Domain, deadline: &Deadline) -> Self {
        let hidden = network.hidden_layers();
        let mut found = FoldPaths { points: vec![Vec::new(); hidden.len()], ..FoldPaths::default() };
        if hidden.iter().any(|layer| layer.activation() != Activation::Relu) {
            found.points = hidden.iter().map(|layer| vec![None; layer.width()]).collect();
            return found;
        }
        let search = PointSearch::new(network, domain, deadline);
        for (layer, rows) in hidden.iter().enumerate().rev() {
            let above = found.candidates(layer);
            for unit in 0..rows.width() {
                let mut point = None;
                for &next in &above {
                    found.is_stopped |= deadline.is_past();
                    if found.is_stopped {
                        break;
                    }
                    found.programs += 1;
                    point = search.point(Neuron { layer, unit }, next);
                    if point.is_some() {
                        break;
                    }
                }
                found.points[layer].push(point);
            }
        }
        found
    }

    /// The neurons of the layer above, those with the longest paths first; nothing for the last one.
    fn candidates(&self, layer: usize) -> Vec<Option<usize>> {
        let Some(above) = self.points.get(layer + 1) else { return vec![None] };
        let mut units: Vec<usize> = (0..above.len()).collect();
        units.sort_by_key(|&unit| std::cmp::Reverse(self.path(layer + 1, unit).map_or(0, |path| path.len())));
        units.into_iter().map(Some).collect()
    }

    /// How many neurons of a hidden layer (from 0) start a path down to the last one.
    pub fn count(&self, layer: usize) -> usize {
        let is_whole = |unit: &usize| {
            self.path(layer, *unit).is_some_and(|path| path.len() == self.points.len() - layer)
        };
        (0..self.points[layer].len()).filter(is_whole).count()
    }

    /// Whether all neurons do.
    pub fn is_complete(&self) -> bool {
        (0..self.points.len()).all(|layer| self.count(layer) == self.points[layer].len())
    }

    /// The neurons of the path that starts at a neuron, as far as it goes; `None` if it has no point.
    pub fn path(&self, layer: usize, unit: usize) -> Option<Vec<Neuron>> {
        let mut at = self.points.get(layer)?.get(unit)?.as_ref()?;
        let mut path = vec![at.neuron];
        while let Some(next) = at.next {
            path.push(Neuron { layer: at.neuron.layer + 1, unit: next });
            match self.points[at.neuron.layer + 1].get(next) {
                Some(Some(point)) => at = point,
                _ => break,
            }
        }
        Some(path)
    }

    /// Whether every point that is there proves what it should, exactly.
    pub fn hold(&self, network: &ExactNetwork, domain: &Domain) -> bool {
        let sides = domain.sides(network.input_width());
        self.points.iter().flatten().flatten().all(|point| point.holds(network, &sides))
    }
}
