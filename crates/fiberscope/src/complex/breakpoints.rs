//! The breakpoint complex: where the function bends, with weights, balance and layers.
//!
//! The visible facets with their faces depend on the function alone (for generic parameters). Around every
//! ridge `R` inside the domain
//!
//! ```text
//! sum over facets F at R of weight(F) (x) n_{F,R} = 0,      n_{F,R} the unit vector normal to R that points into F,
//! ```
//!
//! because the Jacobian comes back to itself on the way around `R` [threelayer2026, Lemma 7]. Two facets at
//! `R` are collinear if they lie in one hyperplane. At a ridge where four visible facets meet and exactly two
//! are collinear, these two belong to a lower layer than the other two, which are one bent hyperplane; where
//! three meet, the one that touches no region on which `f` is constant belongs to the lower layer
//! [threelayer2026, Lemma 18]. Facets joined at ridges form surfaces, and one more than the longest chain of
//! lower surfaces is the layer recovered from the function. With one input there are no ridges, and the
//! function does not tell the layers: `relu(x - 1)` is `relu(relu(x + 5) - 6)`, where the breakpoint belongs
//! to the second layer, and `relu(relu(x - 1) + 1) - 1`, where it belongs to the first; both stay so, with
//! equal functions, on open sets of parameters.

use fiberscope_core::Neuron;

use super::options::ComplexOptions;
use super::polyhedral::PolyhedralComplex;
use super::ridges::Facets;
use super::weights::{WeightedFacet, weigh};
use crate::limit::LimitReached;

/// The facets of the complex with weights, and what holds at its ridges.
#[derive(Clone, Debug)]
pub struct BreakpointComplex {
    /// All facets between regions, visible or not.
    pub facets: Vec<WeightedFacet>,
    /// How many ridges inside the domain were checked for balance.
    pub ridges: usize,
    /// The largest error of the balance, relative to the weights around the ridge.
    pub imbalance: f64,
    /// The largest difference of the two formulas, relative to the weight.
    pub disagreement: f64,
    /// Ridges at which a visible facet bends.
    pub bending_ridges: usize,
    /// Ridges on bent hyperplanes of two layers, all facets visible, at which nothing bends: 0 for honest
    /// parameters.
    pub dishonest_ridges: usize,
    /// Invisible facets from which paths lead to an output and cancel: 0 for cancellation-free parameters.
    pub cancelling_facets: usize,
    /// For every facet the layer recovered from the function alone, counted from 0; `None` for invisible
    /// ones, and for all with one input.
    pub recovered: Vec<Option<usize>>,
}

impl BreakpointComplex {
    /// The breakpoint complex of a network, from its polyhedral complex, unless the deadline of the options
    /// comes first.
    ///
    /// ```
    /// use fiberscope::complex::{BreakpointComplex, Built, ComplexOptions, PolyhedralComplex};
    /// use fiberscope::{Activation, Domain, Layer, Matrix, Network};
    ///
    /// // The second neuron bends nothing: its output weight is zero.
    /// let rows = Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0]]).unwrap();
    /// let hidden = Layer::new(rows, vec![0.0, 0.5], Activation::Relu);
    /// let output = Layer::new(Matrix::from_rows(&[[1.0, 0.0]]).unwrap(), vec![0.0], Activation::Identity);
    /// let network = Network::new(vec![hidden, output]).unwrap();
    /// let options = ComplexOptions::new();
    /// let built = PolyhedralComplex::build(&network, &Domain::Space, &options).unwrap();
    /// let Built::Complete(complex) = built else { panic!("there was no limit") };
    /// let breakpoints = BreakpointComplex::new(&complex, &options).unwrap();
    /// assert_eq!((breakpoints.facets.len(), breakpoints.visible_facets()), (4, 2));
    /// ```
    pub fn new(complex: &PolyhedralComplex, options: &ComplexOptions) -> Result<Self, LimitReached> {
        let deadline = &options.deadline;
        let (facets, constant) = weigh(complex, deadline)?;
        let all = Facets::new(complex, &facets, &constant);
        let tally = all.ridges(deadline)?;
        let relative = |facet: &WeightedFacet| {
            let paths = facet.by_paths.as_ref()?;
            let apart =
                facet.weight.iter().zip(paths).map(|(a, b)| (a.abs() - b.abs()).abs()).fold(0.0, f64::max);
            Some(apart / facet.size().max(f64::MIN_POSITIVE))
        };
        let disagreement = facets.iter().filter(|f| f.visible).filter_map(relative).fold(0.0, f64::max);
        let recovered = tally.recover(&all.sheets);
        Ok(BreakpointComplex {
            ridges: tally.ridges,
            imbalance: tally.imbalance,
            disagreement,
            bending_ridges: tally.bending,
            dishonest_ridges: tally.dishonest,
            cancelling_facets: facets.iter().filter(|facet| facet.cancels).count(),
            recovered,
            facets,
        })
    }

    /// The number of visible facets.
    pub fn visible_facets(&self) -> usize {
        self.facets.iter().filter(|facet| facet.visible).count()
    }

    /// How many visible facets have the recovered layer that they truly belong to.
    pub fn recovered_rightly(&self) -> usize {
        let pairs = self.facets.iter().zip(&self.recovered);
        pairs.filter(|(facet, layer)| facet.visible && **layer == Some(facet.layer)).count()
    }

    /// Neurons none of whose facets is visible although they have some.
    pub fn hidden_neurons(&self, complex: &PolyhedralComplex) -> Vec<Neuron> {
        unseen_neurons(complex, &self.facets)
    }
}

/// Neurons none of whose facets is visible although they have some.
pub fn unseen_neurons(complex: &PolyhedralComplex, facets: &[WeightedFacet]) -> Vec<Neuron> {
    let mut seen: Vec<Option<bool>> = vec![None; complex.frame.flat.neurons];
    for facet in facets {
        for &h in &facet.neurons {
            seen[h] = Some(seen[h] == Some(true) || facet.visible);
        }
    }
    let unseen = seen.iter().enumerate().filter(|(_, visible)| **visible == Some(false));
    unseen.map(|(h, _)| complex.neuron(h)).collect()
}
