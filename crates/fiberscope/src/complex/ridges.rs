//! The facets around every ridge of a listed complex: which of them continue each other, and where they point
//! ([`super::ridge_tally`] adds up what that says).

use fiberscope_algebra::dense::{minus, norm, reject};
use fiberscope_core::Sign;
use rayon::prelude::*;

use super::collinear::are_collinear;
use super::paths::reaches;
use super::polyhedral::{Cell, PolyhedralComplex};
use super::ridge_tally::{Blade, RidgeTally, Sheet, Sheets, point_along};
use super::stream::CellMethod;
use super::weights::{WHEN, WeightedFacet};
use crate::limit::{Deadline, LimitReached};

/// The facets of a listed complex.
pub(crate) struct Facets<'a> {
    complex: &'a PolyhedralComplex,
    facets: &'a [WeightedFacet],
    pub sheets: Sheets,
    sides: Vec<Side>,
}

/// What vanishes on a facet.
#[derive(Clone, Copy)]
struct Side {
    /// The neuron, if it is one.
    neuron: Option<u32>,
    /// Whether the normal points to where it is positive.
    rises: bool,
}

/// Ridges that are looked at before the clock is.
const CHUNK: usize = 1 << 10;

impl<'a> Facets<'a> {
    /// Facets, and for every region whether the function is constant there.
    pub fn new(complex: &'a PolyhedralComplex, facets: &'a [WeightedFacet], constant: &[bool]) -> Self {
        let d = complex.factor_dimension();
        let sheet = |facet: &WeightedFacet| Sheet {
            layer: facet.layer as u32,
            visible: facet.visible,
            beside_constant: facet.regions.iter().any(|&r| constant[r]),
            size: facet.size(),
        };
        let side = |facet: &WeightedFacet| {
            let first = facet.neurons[0];
            let [p, q] = facet.regions.map(|r| complex.level(d).signs(r)[first]);
            Side { neuron: (facet.neurons.len() == 1).then_some(first as u32), rises: q > p }
        };
        let sheets = Sheets {
            sheets: facets.iter().map(sheet).collect(),
            normals: facets.iter().flat_map(|facet| &facet.normal).copied().collect(),
            weights: facets.iter().flat_map(|facet| &facet.weight).copied().collect(),
            shape: [d, complex.frame.network.output_width()],
        };
        Facets { complex, facets, sheets, sides: facets.iter().map(side).collect() }
    }

    fn signs(&self, at: u32) -> &'a [Sign] {
        let d = self.complex.factor_dimension();
        self.complex.level(d - 1).signs(self.facets[at as usize].facet)
    }

    /// What holds at the ridges inside the domain.
    pub fn ridges(&self, deadline: &Deadline) -> Result<RidgeTally, LimitReached> {
        let complex = self.complex;
        let Some(ridges) = complex.factor_dimension().checked_sub(2) else {
            return Ok(RidgeTally::default());
        };
        let mut place = vec![None; complex.cells(ridges + 1).len()];
        self.facets.iter().enumerate().for_each(|(at, facet)| place[facet.facet] = Some(at as u32));
        let count = complex.cells(ridges).len();
        let chunk = |first: usize| {
            deadline.check(WHEN)?;
            let mut tally = RidgeTally::default();
            let (mut blades, mut inward) = (Vec::new(), Vec::new());
            for number in first..(first + CHUNK).min(count) {
                let ridge = complex.cell(ridges, number);
                if !ridge.is_on_boundary() {
                    blades.clear();
                    inward.clear();
                    let around = ridge.cofacets().iter().filter_map(|&f| place[f as usize]);
                    blades.extend(around.map(|at| Blade { at, opposite: None }));
                    match Crossing::new(self, &blades) {
                        Some(crossing) => crossing.settle(&mut blades, &mut inward),
                        None => settle(self, &ridge, &mut blades, &mut inward),
                    }
                    tally.add(&self.sheets, &blades, &inward);
                }
            }
            Ok(tally)
        };
        let chunks = (0..count.div_ceil(CHUNK)).into_par_iter().map(|c| chunk(c * CHUNK));
        let chunks = chunks.collect::<Result<Vec<_>, LimitReached>>()?;
        let mut all = RidgeTally::default();
        chunks.into_iter().for_each(|chunk| all.append(chunk));
        Ok(all)
    }
}

/// A ridge of a simple complex: the bent hyperplanes of two neurons cross there, and four facets meet, two on
/// each. The sign vectors of the two on one differ in the sign of the other neuron only.
struct Crossing<'a> {
    facets: &'a Facets<'a>,
    neurons: [u32; 2],
}

impl<'a> Crossing<'a> {
    fn new(facets: &'a Facets, blades: &[Blade]) -> Option<Self> {
        let neuron = |blade: &Blade| facets.sides[blade.at as usize].neuron;
        let first = neuron(blades.first()?)?;
        let second = blades.iter().map(neuron).find(|&h| h != Some(first))??;
        let crosses = facets.complex.method() == CellMethod::Edges && blades.len() == 4;
        crosses.then_some(Crossing { facets, neurons: [first, second] })
    }

    /// Which of the two neurons a facet lies on.
    fn side(&self, at: u32) -> usize {
        usize::from(self.facets.sides[at as usize].neuron != Some(self.neurons[0]))
    }

    fn settle(&self, blades: &mut [Blade], inward: &mut Vec<f64>) {
        let straight = [0, 1].map(|side| self.is_straight(blades, side));
        for i in 0..blades.len() {
            let own = blades[i].at;
            let side = self.side(own);
            let others = || blades.iter().map(|b| b.at).filter(|&at| at != own);
            let across = others().find(|&at| self.side(at) != side);
            let opposite = others().find(|&at| straight[side] && self.side(at) == side);
            match across {
                Some(across) => self.point_into(own, across, self.neurons[1 - side], inward),
                None => inward.extend(self.facets.sheets.normal(own).iter().map(|_| 0.0)),
            }
            blades[i].opposite = opposite;
        }
    }

    /// Whether the facets of a neuron lie in one hyperplane: they do unless the other neuron is below it and
    /// paths lead from there to this one.
    fn is_straight(&self, blades: &[Blade], side: usize) -> bool {
        let Some(facet) = blades.iter().map(|b| b.at).find(|&at| self.side(at) == side) else { return false };
        let [h, g] = [side, 1 - side].map(|side| self.neurons[side] as usize);
        let complex = self.facets.complex;
        let layer = |neuron: usize| complex.neuron(neuron).layer;
        if layer(g) >= layer(h) {
            return true;
        }
        let mut positive = Vec::new();
        complex.frame.flat.add_positive(self.facets.signs(facet), &mut positive);
        !reaches(&complex.frame, g, h, &positive)
    }

    /// Adds the unit vector in the facet that is normal to the ridge and points inwards: along the gradient
    /// of the neuron `g` of a facet across, or against it.
    fn point_into(&self, facet: u32, across: u32, g: u32, inward: &mut Vec<f64>) {
        let rises = self.facets.sides[across as usize].rises;
        let forwards = rises == (self.facets.signs(facet)[g as usize] == Sign::Positive);
        let sheets = &self.facets.sheets;
        point_along(sheets.normal(facet), sheets.normal(across), forwards, inward);
    }
}

/// Any ridge: directions from the vertices, equations in rational numbers.
fn settle(facets: &Facets, ridge: &Cell, blades: &mut [Blade], inward: &mut Vec<f64>) {
    let (complex, facets) = (facets.complex, facets.facets);
    let frame = Span::new(complex, &ridge.vertices());
    for i in 0..blades.len() {
        let own = &facets[blades[i].at as usize];
        let facet = complex.cell(complex.factor_dimension() - 1, own.facet);
        inward.extend(frame.inward(complex, &facet.vertices()));
        let mut others = blades.iter().map(|b| b.at).filter(|&at| at != blades[i].at);
        blades[i].opposite = others.find(|&other| are_collinear(complex, own, &facets[other as usize]));
    }
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
