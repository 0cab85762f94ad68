//! The facets around every ridge: how their weights balance, which of them continue each other, and what that says
//! about layers ([`super::breakpoints`]).

use fiberscope_algebra::dense::{dot, minus, norm, reject};
use fiberscope_core::Sign;
use rayon::prelude::*;

use super::collinear::are_collinear;
use super::polyhedral::{Cell, PolyhedralComplex};
use super::stream::CellMethod;
use super::surfaces::Surfaces;
use super::weights::{WHEN, WeightedFacet, reaches};
use crate::limit::{Deadline, LimitReached};

/// What ridges ask of the facets, side by side in memory.
pub(crate) struct Sheets<'a> {
    complex: &'a PolyhedralComplex,
    facets: &'a [WeightedFacet],
    sheets: Vec<Sheet>,
    /// The normals, facet after facet.
    normals: Vec<f64>,
    /// The weights, facet after facet.
    weights: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Sheet {
    /// The neuron that vanishes there, if it is one.
    neuron: Option<u32>,
    layer: u32,
    visible: bool,
    /// Whether the normal points to where the neuron is positive.
    rises: bool,
    size: f64,
}

impl<'a> Sheets<'a> {
    pub fn new(complex: &'a PolyhedralComplex, facets: &'a [WeightedFacet]) -> Self {
        let d = complex.factor_dimension();
        let sheet = |facet: &WeightedFacet| {
            let first = facet.neurons[0];
            let [p, q] = facet.regions.map(|r| complex.level(d).signs(r)[first]);
            Sheet {
                neuron: (facet.neurons.len() == 1).then_some(first as u32),
                layer: facet.layer as u32,
                visible: facet.visible,
                rises: q > p,
                size: facet.size(),
            }
        };
        Sheets {
            complex,
            facets,
            sheets: facets.iter().map(sheet).collect(),
            normals: facets.iter().flat_map(|facet| &facet.normal).copied().collect(),
            weights: facets.iter().flat_map(|facet| &facet.weight).copied().collect(),
        }
    }

    fn is_visible(&self, at: u32) -> bool {
        self.sheets[at as usize].visible
    }

    fn normal(&self, at: u32) -> &[f64] {
        let d = self.complex.factor_dimension();
        &self.normals[at as usize * d..(at as usize + 1) * d]
    }

    fn weight(&self, at: u32) -> &[f64] {
        let outputs = self.complex.frame.network.output_width();
        &self.weights[at as usize * outputs..(at as usize + 1) * outputs]
    }

    fn signs(&self, at: u32) -> &'a [Sign] {
        let d = self.complex.factor_dimension();
        self.complex.level(d - 1).signs(self.facets[at as usize].facet)
    }
}

/// A facet at a ridge.
#[derive(Clone, Copy)]
pub(crate) struct Blade {
    /// Its place in the list of weighted facets.
    at: u32,
    /// The place in the list of weighted facets of the one that continues it in its hyperplane.
    opposite: Option<u32>,
}

/// Ridges that are looked at before the clock is.
const CHUNK: usize = 1 << 10;

/// The facets around every ridge inside the domain.
#[derive(Default)]
pub(crate) struct Around {
    /// The facets, ridge after ridge.
    blades: Vec<Blade>,
    /// Where the facets of each ridge end.
    ends: Vec<usize>,
    /// The largest error of the balance, relative to the weights around the ridge.
    imbalance: f64,
}

impl Around {
    pub fn new(sheets: &Sheets, deadline: &Deadline) -> Result<Self, LimitReached> {
        let complex = sheets.complex;
        let Some(ridges) = complex.factor_dimension().checked_sub(2) else { return Ok(Around::default()) };
        let mut place = vec![None; complex.cells(ridges + 1).len()];
        sheets.facets.iter().enumerate().for_each(|(at, facet)| place[facet.facet] = Some(at as u32));
        let count = complex.cells(ridges).len();
        let chunk = |first: usize| {
            deadline.check(WHEN)?;
            let mut around = Around::default();
            let mut inward = Vec::new();
            for number in first..(first + CHUNK).min(count) {
                let ridge = complex.cell(ridges, number);
                if !ridge.is_on_boundary() {
                    around.add(sheets, &place, &ridge, &mut inward);
                }
            }
            Ok(around)
        };
        let chunks = (0..count.div_ceil(CHUNK)).into_par_iter().map(|c| chunk(c * CHUNK));
        let chunks = chunks.collect::<Result<Vec<_>, LimitReached>>()?;
        let mut all = Around::default();
        all.blades.reserve(chunks.iter().map(|chunk| chunk.blades.len()).sum());
        for chunk in chunks {
            let first = all.blades.len();
            all.ends.extend(chunk.ends.iter().map(|end| first + end));
            all.blades.extend(chunk.blades);
            all.imbalance = all.imbalance.max(chunk.imbalance);
        }
        Ok(all)
    }

    /// The largest error of the balance, relative to the weights around the ridge.
    pub fn imbalance(&self) -> f64 {
        self.imbalance
    }

    /// Adds a ridge; `inward` is room for the unit vectors normal to the ridge that point into the facets.
    fn add(&mut self, sheets: &Sheets, place: &[Option<u32>], ridge: &Cell, inward: &mut Vec<f64>) {
        let first = self.blades.len();
        let around = ridge.cofacets().iter().filter_map(|&f| place[f as usize]);
        self.blades.extend(around.map(|at| Blade { at, opposite: None }));
        let blades = &mut self.blades[first..];
        inward.clear();
        match Crossing::new(sheets, blades) {
            Some(crossing) => crossing.settle(blades, inward),
            None => settle(sheets, ridge, blades, inward),
        }
        self.imbalance = self.imbalance.max(imbalance(sheets, blades, inward));
        self.ends.push(self.blades.len());
    }

    /// The facets at each ridge.
    pub fn ridges(&self) -> impl Iterator<Item = &[Blade]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.blades[start..end])
    }

    /// The number of ridges where a visible facet bends, and of those where layers meet without bending.
    pub fn bends(&self, sheets: &Sheets) -> (usize, usize) {
        let (mut bending, mut dishonest) = (0, 0);
        for blades in self.ridges() {
            let visible = blades.iter().filter(|b| sheets.is_visible(b.at)).count();
            let bends = bent(sheets, blades).next().is_some();
            bending += usize::from(bends && visible > 2);
            let layer = |b: &Blade| sheets.sheets[b.at as usize].layer;
            let several = blades.iter().any(|b| layer(b) != layer(&blades[0]));
            dishonest += usize::from(!bends && several && visible == blades.len());
        }
        (bending, dishonest)
    }

    /// The layers that the function tells.
    pub fn recover(&self, sheets: &Sheets, constant: &[bool]) -> Vec<Option<usize>> {
        let facets = sheets.facets;
        if sheets.complex.factor_dimension() < 2 {
            return vec![None; facets.len()];
        }
        let mut surfaces = Surfaces::new(facets.len());
        let mut below = Vec::new();
        for blades in self.ridges() {
            let visible = || blades.iter().filter(|b| sheets.is_visible(b.at));
            for blade in visible() {
                if let Some(other) = blade.opposite.filter(|&other| sheets.is_visible(other)) {
                    surfaces.join(blade.at as usize, other as usize);
                }
            }
            let mut bending = bent(sheets, blades).map(|at| at as usize);
            let bent: [Option<usize>; 4] = std::array::from_fn(|_| bending.next());
            match (visible().count(), bent) {
                (4, [Some(a), Some(b), None, _]) => {
                    surfaces.join(a, b);
                    let mut others = visible().map(|blade| blade.at as usize);
                    let straight = others.find(|&at| at != a && at != b);
                    below.extend(straight.map(|straight| (straight, a)));
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
fn imbalance(sheets: &Sheets, blades: &[Blade], inward: &[f64]) -> f64 {
    let Some(first) = blades.first() else { return 0.0 };
    let d = inward.len() / blades.len();
    let sizes = blades.iter().map(|b| sheets.sheets[b.at as usize].size);
    let size = sizes.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut worst = 0.0f64;
    for o in 0..sheets.weight(first.at).len() {
        for i in 0..d {
            let terms = blades.iter().zip(inward.chunks_exact(d)).map(|(b, n)| sheets.weight(b.at)[o] * n[i]);
            worst = worst.max(terms.sum::<f64>().abs());
        }
    }
    worst / size
}

/// A ridge of a simple complex: the bent hyperplanes of two neurons cross there, and four facets meet, two on
/// each. The sign vectors of the two on one differ in the sign of the other neuron only.
struct Crossing<'a> {
    sheets: &'a Sheets<'a>,
    neurons: [u32; 2],
}

impl<'a> Crossing<'a> {
    fn new(sheets: &'a Sheets, blades: &[Blade]) -> Option<Self> {
        let neuron = |blade: &Blade| sheets.sheets[blade.at as usize].neuron;
        let first = neuron(blades.first()?)?;
        let second = blades.iter().map(neuron).find(|&h| h != Some(first))??;
        let crosses = sheets.complex.method() == CellMethod::Edges && blades.len() == 4;
        crosses.then_some(Crossing { sheets, neurons: [first, second] })
    }

    /// Which of the two neurons a facet lies on.
    fn side(&self, at: u32) -> usize {
        usize::from(self.sheets.sheets[at as usize].neuron != Some(self.neurons[0]))
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
                None => inward.extend(self.sheets.normal(own).iter().map(|_| 0.0)),
            }
            blades[i].opposite = opposite;
        }
    }

    /// Whether the facets of a neuron lie in one hyperplane: they do unless the other neuron is below it and
    /// paths lead from there to this one.
    fn is_straight(&self, blades: &[Blade], side: usize) -> bool {
        let Some(facet) = blades.iter().map(|b| b.at).find(|&at| self.side(at) == side) else { return false };
        let [h, g] = [side, 1 - side].map(|side| self.neurons[side] as usize);
        let complex = self.sheets.complex;
        let layer = |neuron: usize| complex.neuron(neuron).layer;
        layer(g) >= layer(h) || !reaches(complex, g, h, self.sheets.signs(facet))
    }

    /// Adds the unit vector in the facet that is normal to the ridge and points inwards: along the gradient
    /// of the neuron `g` of a facet across, or against it.
    fn point_into(&self, facet: u32, across: u32, g: u32, inward: &mut Vec<f64>) {
        let rises = self.sheets.sheets[across as usize].rises;
        let forwards = rises == (self.sheets.signs(facet)[g as usize] == Sign::Positive);
        let (own, other) = (self.sheets.normal(facet), self.sheets.normal(across));
        let along = dot(own, other);
        let first = inward.len();
        inward.extend(other.iter().zip(own).map(|(b, a)| b - along * a));
        let length = norm(&inward[first..]).max(f64::MIN_POSITIVE);
        let scale = if forwards { length.recip() } else { -length.recip() };
        inward[first..].iter_mut().for_each(|x| *x *= scale);
    }
}

/// Any ridge: directions from the vertices, equations in rational numbers.
fn settle(sheets: &Sheets, ridge: &Cell, blades: &mut [Blade], inward: &mut Vec<f64>) {
    let (complex, facets) = (sheets.complex, sheets.facets);
    let frame = Span::new(complex, &ridge.vertices());
    for i in 0..blades.len() {
        let own = &facets[blades[i].at as usize];
        let facet = complex.cell(complex.factor_dimension() - 1, own.facet);
        inward.extend(frame.inward(complex, &facet.vertices()));
        let mut others = blades.iter().map(|b| b.at).filter(|&at| at != blades[i].at);
        blades[i].opposite = others.find(|&other| are_collinear(complex, own, &facets[other as usize]));
    }
}

/// The visible facets at a ridge that no visible one continues in their hyperplanes.
fn bent(sheets: &Sheets, blades: &[Blade]) -> impl Iterator<Item = u32> {
    let continued = |b: &&Blade| b.opposite.is_some_and(|other| sheets.is_visible(other));
    blades.iter().filter(|b| sheets.is_visible(b.at)).filter(move |b| !continued(b)).map(|b| b.at)
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
