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
//! [threelayer2026, Lemma 18]. Facets joined at ridges form surfaces, and one more than the longest chain of lower
//! surfaces is the layer recovered from the function. With one input there are no ridges, and the function
//! does not tell the layers: `relu(x - 1)` is `relu(relu(x + 5) - 6)`, where the breakpoint belongs to the
//! second layer, and `relu(relu(x - 1) + 1) - 1`, where it belongs to the first; both stay so, with equal
//! functions, on open sets of parameters.

use std::collections::BTreeMap;

use fiberscope_algebra::dense::{minus, norm, reject};
use fiberscope_core::Neuron;

use super::collinear::are_collinear;
use super::options::ComplexOptions;
use super::polyhedral::PolyhedralComplex;
use super::weights::{WHEN, WeightedFacet, weigh};
use crate::limit::{Deadline, LimitReached};

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
        let facets = weigh(complex, deadline)?;
        let around = Around::new(complex, &facets, deadline)?;
        let relative = |facet: &WeightedFacet| {
            let paths = facet.by_paths.as_ref()?;
            let apart =
                facet.weight.iter().zip(paths).map(|(a, b)| (a.abs() - b.abs()).abs()).fold(0.0, f64::max);
            Some(apart / facet.size().max(f64::MIN_POSITIVE))
        };
        let disagreement = facets.iter().filter(|f| f.visible).filter_map(relative).fold(0.0, f64::max);
        let recovered = around.recover(complex, &facets);
        let (bending_ridges, dishonest_ridges) = around.bends(&facets);
        Ok(BreakpointComplex {
            ridges: around.ridges.len(),
            imbalance: around.imbalance(&facets),
            disagreement,
            bending_ridges,
            dishonest_ridges,
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
    let mut seen: BTreeMap<usize, bool> = BTreeMap::new();
    for facet in facets {
        for &h in &facet.neurons {
            *seen.entry(h).or_default() |= facet.visible;
        }
    }
    seen.into_iter().filter(|(_, visible)| !visible).map(|(h, _)| complex.neuron(h)).collect()
}

/// A facet at a ridge.
struct Blade {
    /// Its place in the list of weighted facets.
    at: usize,
    /// The unit vector normal to the ridge that points into the facet.
    inward: Vec<f64>,
    /// The place in the list of weighted facets of the one that continues it in its hyperplane.
    opposite: Option<usize>,
}

/// The facets around every ridge inside the domain.
struct Around {
    ridges: Vec<Vec<Blade>>,
    constant: Vec<bool>,
}

impl Around {
    fn new(
        complex: &PolyhedralComplex,
        facets: &[WeightedFacet],
        deadline: &Deadline,
    ) -> Result<Self, LimitReached> {
        let d = complex.factor_dimension();
        let constant = complex
            .regions()
            .map(|region| region.affine_map().matrix().entries().iter().all(|&x| x == 0.0))
            .collect();
        if d < 2 {
            return Ok(Around { ridges: Vec::new(), constant });
        }
        let place: BTreeMap<usize, usize> = facets.iter().enumerate().map(|(at, f)| (f.facet, at)).collect();
        let inside = |ridge: &super::Cell| !ridge.is_on_boundary();
        let ridges = complex.cells(d - 2).filter(inside).map(|ridge| {
            deadline.check(WHEN)?;
            let frame = Span::new(complex, &ridge.vertices());
            let around: Vec<usize> =
                ridge.cofacets().iter().filter_map(|&f| place.get(&(f as usize)).copied()).collect();
            let blade = |&at: &usize| {
                let facet = complex.cell(d - 1, facets[at].facet);
                let collinear =
                    |&&other: &&usize| other != at && are_collinear(complex, &facets[at], &facets[other]);
                Blade {
                    at,
                    inward: frame.inward(complex, &facet.vertices()),
                    opposite: around.iter().find(collinear).copied(),
                }
            };
            Ok(around.iter().map(blade).collect())
        });
        Ok(Around { ridges: ridges.collect::<Result<_, LimitReached>>()?, constant })
    }

    fn imbalance(&self, facets: &[WeightedFacet]) -> f64 {
        let ridge = |blades: &Vec<Blade>| {
            let Some(first) = blades.first() else { return 0.0 };
            let (d, outputs) = (first.inward.len(), facets[first.at].weight.len());
            let mut worst = 0.0f64;
            let size = blades.iter().map(|b| facets[b.at].size()).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
            for o in 0..outputs {
                for i in 0..d {
                    let sum: f64 = blades.iter().map(|b| facets[b.at].weight[o] * b.inward[i]).sum();
                    worst = worst.max(sum.abs() / size);
                }
            }
            worst
        };
        self.ridges.iter().map(ridge).fold(0.0, f64::max)
    }

    /// The number of ridges where a visible facet bends, and of those where layers meet without bending.
    fn bends(&self, facets: &[WeightedFacet]) -> (usize, usize) {
        let (mut bending, mut dishonest) = (0, 0);
        for blades in &self.ridges {
            let visible: Vec<&Blade> = blades.iter().filter(|b| facets[b.at].visible).collect();
            let bends = visible.iter().any(|b| opposite(b, &visible).is_none());
            bending += usize::from(bends && visible.len() > 2);
            let mut layers: Vec<usize> = blades.iter().map(|b| facets[b.at].layer).collect();
            layers.sort_unstable();
            layers.dedup();
            dishonest += usize::from(!bends && layers.len() > 1 && visible.len() == blades.len());
        }
        (bending, dishonest)
    }

    fn recover(&self, complex: &PolyhedralComplex, facets: &[WeightedFacet]) -> Vec<Option<usize>> {
        if complex.factor_dimension() < 2 {
            return vec![None; facets.len()];
        }
        let mut surfaces = Surfaces::new(facets.len());
        let mut below = Vec::new();
        for blades in &self.ridges {
            let visible: Vec<&Blade> = blades.iter().filter(|b| facets[b.at].visible).collect();
            let bent: Vec<usize> =
                visible.iter().filter(|b| opposite(b, &visible).is_none()).map(|b| b.at).collect();
            for blade in &visible {
                if let Some(other) = opposite(blade, &visible) {
                    surfaces.join(blade.at, other);
                }
            }
            match (visible.len(), bent.len()) {
                (4, 2) => {
                    surfaces.join(bent[0], bent[1]);
                    let straight = visible.iter().find(|b| !bent.contains(&b.at));
                    below.extend(straight.map(|s| (s.at, bent[0])));
                }
                (3, 3) => {
                    let lower =
                        bent.iter().find(|&&at| !facets[at].regions.iter().any(|&r| self.constant[r]));
                    if let Some(&lower) = lower {
                        let rest: Vec<usize> = bent.iter().copied().filter(|&at| at != lower).collect();
                        surfaces.join(rest[0], rest[1]);
                        below.push((lower, rest[0]));
                    }
                }
                (2, 2) => surfaces.join(bent[0], bent[1]),
                _ => {}
            }
        }
        surfaces.levels(facets, &below)
    }
}

/// The visible facet that continues this one in its hyperplane.
fn opposite(blade: &Blade, visible: &[&Blade]) -> Option<usize> {
    blade.opposite.filter(|&at| visible.iter().any(|other| other.at == at))
}

/// An orthonormal basis of the directions of a cell, and a point of it.
struct Span {
    origin: Vec<f64>,
    basis: Vec<Vec<f64>>,
}

impl Span {
    fn new(complex: &PolyhedralComplex, vertices: &[u32]) -> Self {
        let origin = mean(complex, vertices);
        let mut span = Span { origin, basis: Vec::new() };
        for &v in vertices {
            let direction = span.reject(complex.point(v as usize));
            let length = norm(&direction);
            let scale = norm(&minus(complex.point(v as usize), &span.origin));
            if length > 1e-9 * scale.max(f64::MIN_POSITIVE) && length > 0.0 {
                span.basis.push(direction.iter().map(|x| x / length).collect());
            }
        }
        span
    }

    /// The part of `x - origin` that is normal to the cell.
    fn reject(&self, x: &[f64]) -> Vec<f64> {
        let mut rest = minus(x, &self.origin);
        for _ in 0..2 {
            self.basis.iter().for_each(|b| reject(&mut rest, b));
        }
        rest
    }

    /// The unit vector normal to the cell towards a larger cell with these vertices.
    fn inward(&self, complex: &PolyhedralComplex, vertices: &[u32]) -> Vec<f64> {
        let farthest = vertices
            .iter()
            .map(|&v| self.reject(complex.point(v as usize)))
            .max_by(|a, b| norm(a).total_cmp(&norm(b)))
            .unwrap_or_else(|| vec![0.0; self.origin.len()]);
        let length = norm(&farthest).max(f64::MIN_POSITIVE);
        farthest.iter().map(|x| x / length).collect()
    }
}

fn mean(complex: &PolyhedralComplex, vertices: &[u32]) -> Vec<f64> {
    let d = complex.factor_dimension();
    let sum = |i: usize| vertices.iter().map(|&v| complex.point(v as usize)[i]).sum::<f64>();
    (0..d).map(|i| sum(i) / vertices.len().max(1) as f64).collect()
}

/// Sets of facets that are known to be one surface.
struct Surfaces(Vec<usize>);

impl Surfaces {
    fn new(count: usize) -> Self {
        Surfaces((0..count).collect())
    }

    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }

    /// The longest chains of lower surfaces; contradictory relations are cut off at the number of surfaces.
    fn levels(mut self, facets: &[WeightedFacet], below: &[(usize, usize)]) -> Vec<Option<usize>> {
        let below: Vec<(usize, usize)> = below.iter().map(|&(a, b)| (self.find(a), self.find(b))).collect();
        let mut level = vec![0usize; facets.len()];
        for _ in 0..64 {
            let mut changed = false;
            for &(low, high) in below.iter().filter(|(low, high)| low != high) {
                if level[high] <= level[low] && level[low] < 63 {
                    level[high] = level[low] + 1;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        (0..facets.len()).map(|at| facets[at].visible.then(|| level[self.find(at)])).collect()
    }
}
