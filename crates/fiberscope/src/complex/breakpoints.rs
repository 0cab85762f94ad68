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

use fiberscope_algebra::dense::{minus, norm, reject};
use fiberscope_core::{Neuron, Sign};
use rayon::prelude::*;

use super::collinear::are_collinear;
use super::options::ComplexOptions;
use super::polyhedral::{Cell, PolyhedralComplex};
use super::stream::CellMethod;
use super::weights::{WHEN, WeightedFacet, reaches, weigh};
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
        let (facets, constant) = weigh(complex, deadline)?;
        let around = Around::new(complex, &facets, deadline)?;
        let relative = |facet: &WeightedFacet| {
            let paths = facet.by_paths.as_ref()?;
            let apart =
                facet.weight.iter().zip(paths).map(|(a, b)| (a.abs() - b.abs()).abs()).fold(0.0, f64::max);
            Some(apart / facet.size().max(f64::MIN_POSITIVE))
        };
        let disagreement = facets.iter().filter(|f| f.visible).filter_map(relative).fold(0.0, f64::max);
        let recovered = around.recover(complex, &facets, &constant);
        let (bending_ridges, dishonest_ridges) = around.bends(&facets);
        Ok(BreakpointComplex {
            ridges: around.ends.len(),
            imbalance: around.imbalance,
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
    let mut seen: Vec<Option<bool>> = vec![None; complex.frame.flat.neurons];
    for facet in facets {
        for &h in &facet.neurons {
            seen[h] = Some(seen[h] == Some(true) || facet.visible);
        }
    }
    let unseen = seen.iter().enumerate().filter(|(_, visible)| **visible == Some(false));
    unseen.map(|(h, _)| complex.neuron(h)).collect()
}

/// A facet at a ridge.
struct Blade {
    /// Its place in the list of weighted facets.
    at: usize,
    /// The place in the list of weighted facets of the one that continues it in its hyperplane.
    opposite: Option<usize>,
}

/// Ridges that are looked at before the clock is.
const CHUNK: usize = 1 << 10;

/// The facets around every ridge inside the domain.
#[derive(Default)]
struct Around {
    /// The facets, ridge after ridge.
    blades: Vec<Blade>,
    /// Where the facets of each ridge end.
    ends: Vec<usize>,
    /// The largest error of the balance, relative to the weights around the ridge.
    imbalance: f64,
}

impl Around {
    fn new(
        complex: &PolyhedralComplex,
        facets: &[WeightedFacet],
        deadline: &Deadline,
    ) -> Result<Self, LimitReached> {
        let Some(ridges) = complex.factor_dimension().checked_sub(2) else { return Ok(Around::default()) };
        let mut place = vec![None; complex.cells(ridges + 1).len()];
        facets.iter().enumerate().for_each(|(at, facet)| place[facet.facet] = Some(at));
        let count = complex.cells(ridges).len();
        let chunk = |first: usize| {
            deadline.check(WHEN)?;
            let mut around = Around::default();
            let mut inward = Vec::new();
            for number in first..(first + CHUNK).min(count) {
                let ridge = complex.cell(ridges, number);
                if !ridge.is_on_boundary() {
                    around.add(complex, facets, &place, &ridge, &mut inward);
                }
            }
            Ok(around)
        };
        let chunks = (0..count.div_ceil(CHUNK)).into_par_iter().map(|c| chunk(c * CHUNK));
        let mut all = Around::default();
        for chunk in chunks.collect::<Result<Vec<_>, LimitReached>>()? {
            let first = all.blades.len();
            all.ends.extend(chunk.ends.iter().map(|end| first + end));
            all.blades.extend(chunk.blades);
            all.imbalance = all.imbalance.max(chunk.imbalance);
        }
        Ok(all)
    }

    /// Adds a ridge; `inward` is room for the unit vectors normal to the ridge that point into the facets.
    fn add(
        &mut self,
        complex: &PolyhedralComplex,
        facets: &[WeightedFacet],
        place: &[Option<usize>],
        ridge: &Cell,
        inward: &mut Vec<f64>,
    ) {
        let first = self.blades.len();
        let around = ridge.cofacets().iter().filter_map(|&f| place[f as usize]);
        self.blades.extend(around.map(|at| Blade { at, opposite: None }));
        let blades = &mut self.blades[first..];
        inward.clear();
        match Crossing::new(complex, facets, blades) {
            Some(crossing) => crossing.settle(blades, inward),
            None => settle(complex, facets, ridge, blades, inward),
        }
        self.imbalance = self.imbalance.max(imbalance(facets, blades, inward));
        self.ends.push(self.blades.len());
    }

    fn ridges(&self) -> impl Iterator<Item = &[Blade]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.blades[start..end])
    }

    /// The number of ridges where a visible facet bends, and of those where layers meet without bending.
    fn bends(&self, facets: &[WeightedFacet]) -> (usize, usize) {
        let (mut bending, mut dishonest) = (0, 0);
        for blades in self.ridges() {
            let visible = blades.iter().filter(|b| facets[b.at].visible).count();
            let bends = bent(facets, blades).next().is_some();
            bending += usize::from(bends && visible > 2);
            let layer = |b: &Blade| facets[b.at].layer;
            let several = blades.iter().any(|b| layer(b) != layer(&blades[0]));
            dishonest += usize::from(!bends && several && visible == blades.len());
        }
        (bending, dishonest)
    }

    fn recover(
        &self,
        complex: &PolyhedralComplex,
        facets: &[WeightedFacet],
        constant: &[bool],
    ) -> Vec<Option<usize>> {
        if complex.factor_dimension() < 2 {
            return vec![None; facets.len()];
        }
        let mut surfaces = Surfaces::new(facets.len());
        let mut below = Vec::new();
        for blades in self.ridges() {
            let visible = || blades.iter().filter(|b| facets[b.at].visible);
            for blade in visible() {
                if let Some(other) = blade.opposite.filter(|&other| facets[other].visible) {
                    surfaces.join(blade.at, other);
                }
            }
            let mut bending = bent(facets, blades);
            let bent: [Option<usize>; 4] = std::array::from_fn(|_| bending.next());
            match (visible().count(), bent) {
                (4, [Some(a), Some(b), None, _]) => {
                    surfaces.join(a, b);
                    let straight = visible().find(|blade| blade.at != a && blade.at != b);
                    below.extend(straight.map(|straight| (straight.at, a)));
                }
                (3, [Some(a), Some(b), Some(c), None]) => {
                    let is_lower = |at: &usize| !facets[*at].regions.iter().any(|&r| constant[r]);
                    if let Some(lower) = [a, b, c].into_iter().find(is_lower) {
                        let [first, second] = match lower {
                            at if at == a => [b, c],
                            at if at == b => [a, c],
                            _ => [a, b],
                        };
                        surfaces.join(first, second);
                        below.push((lower, first));
                    }
                }
                (2, [Some(a), Some(b), None, _]) => surfaces.join(a, b),
                _ => {}
            }
        }
        surfaces.levels(facets, &below)
    }
}

/// The error of the balance at a ridge, relative to the weights around it.
fn imbalance(facets: &[WeightedFacet], blades: &[Blade], inward: &[f64]) -> f64 {
    let Some(first) = blades.first() else { return 0.0 };
    let (d, outputs) = (inward.len() / blades.len(), facets[first.at].weight.len());
    let size = blades.iter().map(|b| facets[b.at].size()).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut worst = 0.0f64;
    for o in 0..outputs {
        for i in 0..d {
            let terms = blades.iter().zip(inward.chunks_exact(d)).map(|(b, n)| facets[b.at].weight[o] * n[i]);
            worst = worst.max(terms.sum::<f64>().abs() / size);
        }
    }
    worst
}

/// A ridge of a simple complex: the bent hyperplanes of two neurons cross there, and four facets meet, two on
/// each. The sign vectors of the two on one differ in the sign of the other neuron only.
struct Crossing<'a> {
    complex: &'a PolyhedralComplex,
    facets: &'a [WeightedFacet],
    neurons: [usize; 2],
}

impl<'a> Crossing<'a> {
    fn new(complex: &'a PolyhedralComplex, facets: &'a [WeightedFacet], blades: &[Blade]) -> Option<Self> {
        let neuron = |blade: &Blade| match facets[blade.at].neurons[..] {
            [h] => Some(h),
            _ => None,
        };
        let first = neuron(blades.first()?)?;
        let second = blades.iter().map(neuron).find(|&h| h != Some(first))??;
        let crosses = complex.method() == CellMethod::Edges && blades.len() == 4;
        crosses.then_some(Crossing { complex, facets, neurons: [first, second] })
    }

    /// The neuron of a facet, and the other one.
    fn pair(&self, facet: &WeightedFacet) -> [usize; 2] {
        let [a, b] = self.neurons;
        if facet.neurons == [a] { [a, b] } else { [b, a] }
    }

    fn settle(&self, blades: &mut [Blade], inward: &mut Vec<f64>) {
        let straight = self.neurons.map(|h| self.is_straight(blades, h));
        for i in 0..blades.len() {
            let own = self.pair(&self.facets[blades[i].at]);
            let on_same = |at: usize| self.pair(&self.facets[at]) == own;
            let straight = straight[usize::from(own[0] != self.neurons[0])];
            let others = || blades.iter().map(|b| b.at).filter(|&at| at != blades[i].at);
            let across = others().find(|&at| !on_same(at));
            let opposite = others().find(|&at| straight && on_same(at));
            self.point_into(&self.facets[blades[i].at], across.map(|at| &self.facets[at]), inward);
            blades[i].opposite = opposite;
        }
    }

    /// Whether the facets of a neuron lie in one hyperplane: they do unless the other neuron is below it and
    /// paths lead from there to this one.
    fn is_straight(&self, blades: &[Blade], h: usize) -> bool {
        let facet = blades.iter().map(|b| &self.facets[b.at]).find(|facet| facet.neurons == [h]);
        let Some(facet) = facet else { return false };
        let [_, g] = self.pair(facet);
        let layer = |neuron: usize| self.complex.neuron(neuron).layer;
        layer(g) >= layer(h) || !reaches(self.complex, g, h, self.signs(facet))
    }

    fn signs(&self, facet: &WeightedFacet) -> &'a [Sign] {
        self.complex.cell(self.complex.factor_dimension() - 1, facet.facet).signs()
    }

    /// Adds the unit vector in the facet that is normal to the ridge and points inwards: along the gradient
    /// of the neuron of a facet across, or against it.
    fn point_into(&self, facet: &WeightedFacet, across: Option<&WeightedFacet>, inward: &mut Vec<f64>) {
        let Some(across) = across else { return inward.extend(facet.normal.iter().map(|_| 0.0)) };
        let [_, g] = self.pair(facet);
        let d = self.complex.factor_dimension();
        let [p, q] = across.regions.map(|r| self.complex.cell(d, r).signs()[g]);
        let forwards = (q > p) == (self.signs(facet)[g] == Sign::Positive);
        let along: f64 = facet.normal.iter().zip(&across.normal).map(|(a, b)| a * b).sum();
        let first = inward.len();
        inward.extend(across.normal.iter().zip(&facet.normal).map(|(b, a)| b - along * a));
        let length = norm(&inward[first..]).max(f64::MIN_POSITIVE);
        let towards = if forwards { length } else { -length };
        inward[first..].iter_mut().for_each(|x| *x /= towards);
    }
}

/// Any ridge: directions from the vertices, equations in rational numbers.
fn settle(
    complex: &PolyhedralComplex,
    facets: &[WeightedFacet],
    ridge: &Cell,
    blades: &mut [Blade],
    inward: &mut Vec<f64>,
) {
    let frame = Span::new(complex, &ridge.vertices());
    for i in 0..blades.len() {
        let own = &facets[blades[i].at];
        let facet = complex.cell(complex.factor_dimension() - 1, own.facet);
        inward.extend(frame.inward(complex, &facet.vertices()));
        let mut others = blades.iter().map(|b| b.at).filter(|&at| at != blades[i].at);
        blades[i].opposite = others.find(|&other| are_collinear(complex, own, &facets[other]));
    }
}

/// The visible facets at a ridge that no visible one continues in their hyperplanes.
fn bent(facets: &[WeightedFacet], blades: &[Blade]) -> impl Iterator<Item = usize> {
    let continued = |b: &&Blade| b.opposite.is_some_and(|other| facets[other].visible);
    blades.iter().filter(|b| facets[b.at].visible).filter(move |b| !continued(b)).map(|b| b.at)
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
