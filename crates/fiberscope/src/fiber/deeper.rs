//! What is rigid in the fiber of a network with more than three layers.
//!
//! Three layers with a bottleneck are understood completely; beyond, breakpoints need not tell their layer
//! [threelayer2026, Appendix G.2]. Its lemmas still say something. Let `theta` be generic, and let neuron `i`
//! of layer `k` and neuron `j` of layer `k+1` meet at a point as in [`crate::complex::FoldPoint`], with a
//! neuron on in every later layer. Around the point the breakpoints bend, so that in *every* generic
//! parameter with the same function the facet of `i` belongs to an earlier layer than that of `j`
//! (Proposition 10 and Lemmas 13, 16 and 18 there). A chain of `m` such meetings, each reached from the one
//! before along a visible part of the fold, puts the first facet into a layer of number at most `L - 1 - m`:
//!
//! - `m = L - 2` from a neuron of the first layer: its hyperplane is one of the first layer in all generic
//!   parameters with this function. With three layers this is [threelayer2026, Section 3].
//! - If all neurons of the layers up to `l` have chains down to the last hidden layer and the widths do not
//!   increase, these layers are fixed up to permutation and positive scaling; with `l = L - 1` so is the
//!   network.
//!
//! A shorter chain leaves a gap: the hyperplane may belong to a later layer in another parameter. The proofs
//! are in `docs/theory/identifiable.md`.

use fiberscope_algebra::modular::independent_rows;
use fiberscope_algebra::rational::dot;
use fiberscope_core::{Domain, ExactNetwork, Matrix, Rational, Scalar};

use crate::complex::{FoldPaths, FoldPoint};
use crate::limit::Deadline;

/// What is known about the layers of all generic parameters with the function of a network that is generic
/// itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeeperFacts {
    /// The number of hidden layers.
    pub depth: usize,
    /// For every neuron of the first layer the latest hidden layer (from 1) to which its hyperplane can
    /// belong; `None` if no chain was found.
    pub latest: Vec<Option<usize>>,
    /// How many layers, from the first on, are fixed up to permutation and positive scaling.
    pub fixed: usize,
    /// Whether a limit ended the search.
    pub is_stopped: bool,
}

impl DeeperFacts {
    /// Looks for chains on all of the input space.
    ///
    /// ```
    /// use fiberscope::complex::{ConstructOptions, construct_identifiable};
    /// use fiberscope::fiber::DeeperFacts;
    /// use fiberscope::limit::Deadline;
    ///
    /// let built = construct_identifiable(&[3, 3, 3, 2, 1], &ConstructOptions::new()).unwrap();
    /// let facts = DeeperFacts::new(&built.network.to_exact(), &Deadline::NEVER);
    /// assert_eq!((facts.latest, facts.fixed), (vec![Some(1); 3], 3));
    /// ```
    pub fn new(network: &ExactNetwork, deadline: &Deadline) -> Self {
        let depth = network.hidden_depth();
        if network.input_width() < 2 {
            // With one input no two folds meet in a ridge, and breakpoints do not tell their layer.
            let latest = network.hidden_layers().first().map_or(0, |layer| layer.width());
            return DeeperFacts { depth, latest: vec![None; latest], fixed: 0, is_stopped: false };
        }
        let paths = FoldPaths::find(network, &Domain::Space, deadline);
        let chain = |layer: usize, unit: usize| visible_length(network, &paths, layer, unit);
        let width = |layer: usize| network.layers()[layer].width();
        let latest = (0..depth.min(1)).flat_map(|layer| (0..width(layer)).map(move |unit| (layer, unit)));
        let latest =
            latest.map(|(layer, unit)| Some(depth - chain(layer, unit)?).filter(|&at| at < depth)).collect();
        let is_fixed = |layer: usize| {
            let rows = &network.layers()[layer];
            rows.width() <= rows.input_width()
                && (0..rows.width()).all(|unit| chain(layer, unit) == Some(depth - 1 - layer))
        };
        let mut product = Matrix::from_fn(network.input_width(), network.input_width(), |i, j| {
            if i == j { Rational::ONE } else { Rational::ZERO }
        });
        let mut fixed = 0;
        for layer in (0..depth).take_while(|&layer| is_fixed(layer)) {
            let Some(next) = Scalar::product(network.layers()[layer].weight(), &product) else { break };
            product = next;
            if independent_rows(&product).len() < width(layer) || deadline.is_past() {
                break;
            }
            fixed += 1;
        }
        DeeperFacts { depth, latest, fixed, is_stopped: paths.is_stopped || deadline.is_past() }
    }

    /// Whether every generic parameter with this function is a permutation and scaling of this one.
    pub fn is_identifiable(&self) -> bool {
        self.depth > 0 && self.fixed == self.depth
    }
}

/// The number of meetings of the longest visible chain that starts at a neuron and was found; `None` if its
/// fold was not found.
fn visible_length(network: &ExactNetwork, paths: &FoldPaths, layer: usize, unit: usize) -> Option<usize> {
    let mut at: &FoldPoint = paths.points.get(layer)?.get(unit)?.as_ref()?;
    let mut length = 0;
    loop {
        let (Some(next), x) = (at.next, at.point()) else { return Some(length) };
        let later = at.neuron.layer + 2;
        if !is_seen(network, &x, &x, later) {
            return Some(length);
        }
        length += 1;
        let Some(reached) = paths.points[at.neuron.layer + 1][next].as_ref() else { return Some(length) };
        // The next meeting is reached inside the fold of the neuron that both share.
        if !is_seen(network, &x, &reached.point(), later) {
            return Some(length);
        }
        at = reached;
    }
}

/// Whether on a segment every hidden layer from `later` on has a neuron that is positive, except at single
/// points.
fn is_seen(network: &ExactNetwork, from: &[Rational], to: &[Rational], later: usize) -> bool {
    // Pieces on which all layers so far are affine: the activations at both ends.
    let mut pieces = vec![[from.to_vec(), to.to_vec()]];
    for (l, layer) in network.hidden_layers().iter().enumerate() {
        let mut next = Vec::new();
        for ends in &pieces {
            let value = |a: &[Rational]| -> Vec<Rational> {
                layer.weight().iter_rows().zip(layer.bias()).map(|(row, b)| dot(row, a) + b).collect()
            };
            let [z, y] = [value(&ends[0]), value(&ends[1])];
            let mut cuts: Vec<Rational> = z
                .iter()
                .zip(&y)
                .filter(|(z, y)| z.signum() * y.signum() < 0)
                .map(|(z, y)| z / &(z - y))
                .collect();
            cuts.extend([Rational::ZERO, Rational::ONE]);
            cuts.sort();
            cuts.dedup();
            let at = |t: &Rational| -> Vec<Rational> {
                let mixed = z.iter().zip(&y).map(|(z, y)| z + &(&(y - z) * t));
                mixed.map(|z| if z.is_positive() { z } else { Rational::ZERO }).collect()
            };
            for pair in cuts.windows(2) {
                let ends = [at(&pair[0]), at(&pair[1])];
                let is_on = ends[0].iter().zip(&ends[1]).any(|(a, b)| a.is_positive() || b.is_positive());
                if l >= later && !is_on {
                    return false;
                }
                next.push(ends);
            }
        }
        pieces = next;
    }
    true
}
