//! What the breakpoint complex says in numbers, without its facets one by one where the complex is simple.
//!
//! Regions, facets and ridges are found around the vertices ([`super::tops`]), weighed ([`super::weights`]) and added
//! up ([`super::ridge_tally`]); no sign vector of a cell is kept. At a ridge of a simple complex the bent hyperplanes
//! of two neurons cross. Let `h` be on no higher layer than `g`. The gradient of `h` is the same on both sides of
//! `g`, so that the facets of `h` lie in one hyperplane; those of `g` do unless `h` is below `g` and paths lead from
//! there to `g`.

use fiberscope_algebra::dense::norm;
use fiberscope_core::Neuron;
use rayon::prelude::*;

use super::breakpoints::BreakpointComplex;
use super::flat::TINY;
use super::frame::Frame;
use super::paths::{largest_paths, reaches, rounding};
use super::polyhedral::PolyhedralComplex;
use super::region_maps::{RegionMaps, shared_order};
use super::ridge_tally::{Blade, RidgeTally, Sheet, Sheets, point_along};
use super::skeleton::Skeleton;
use super::tops::{self, Numbers, Top, Tops};
use super::weights::{CHUNK, WHEN, jump, see};
use crate::limit::{Deadline, LimitReached};

/// What the weights of the facets of a complex say.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BreakpointNumbers {
    /// The number of facets between regions.
    pub facets: usize,
    /// The number of those whose weight is not zero.
    pub visible_facets: usize,
    /// How many ridges inside the domain were checked for balance.
    pub ridges: usize,
    /// The largest error of the balance, relative to the weights around the ridge.
    pub imbalance: f64,
    /// The largest difference of the two formulas for weights, relative to the weight.
    pub disagreement: f64,
    /// Ridges at which a visible facet bends.
    pub bending_ridges: usize,
    /// Ridges on bent hyperplanes of two layers, all facets visible, at which nothing bends.
    pub dishonest_ridges: usize,
    /// Invisible facets from which paths lead to an output and cancel.
    pub cancelling_facets: usize,
    /// How many visible facets have the layer that is recovered from the function alone; `None` with one input,
    /// where the function does not tell it.
    pub recovered_rightly: Option<usize>,
    /// Neurons none of whose facets is visible although they have some.
    pub hidden_neurons: Vec<Neuron>,
}

impl BreakpointComplex {
    /// What it says in numbers.
    pub fn numbers(&self, complex: &PolyhedralComplex) -> BreakpointNumbers {
        BreakpointNumbers {
            facets: self.facets.len(),
            visible_facets: self.visible_facets(),
            ridges: self.ridges,
            imbalance: self.imbalance,
            disagreement: self.disagreement,
            bending_ridges: self.bending_ridges,
            dishonest_ridges: self.dishonest_ridges,
            cancelling_facets: self.cancelling_facets,
            recovered_rightly: (complex.factor_dimension() > 1).then(|| self.recovered_rightly()),
            hidden_neurons: self.hidden_neurons(complex),
        }
    }
}

/// The numbers of a simple complex; `None` if hashes do not tell its cells apart.
pub(crate) fn numbers_of(
    frame: &Frame,
    skeleton: &Skeleton,
    deadline: &Deadline,
) -> Result<Option<BreakpointNumbers>, LimitReached> {
    let tops = Tops::new(&frame.flat, skeleton);
    let Some(regions) = Regions::new(frame, &tops, deadline)? else { return Ok(None) };
    let Some(facets) = Facets::new(frame, &tops, &regions, deadline)? else { return Ok(None) };
    let weighed = weigh(frame, &regions, &facets, deadline)?;
    let ridges = Ridges { frame, tops: &tops, regions: &regions, facets: &facets, weighed: &weighed };
    let tally = ridges.tally(skeleton.len(), deadline)?;
    let sheets = &weighed.sheets.sheets;
    let visible = || sheets.iter().filter(|sheet| sheet.visible);
    let recovered = (frame.dimension() > 1).then(|| {
        let recovered = tally.recover(&weighed.sheets);
        let right = |(sheet, layer): &(&Sheet, Option<usize>)| *layer == Some(sheet.layer as usize);
        sheets.iter().zip(recovered).filter(right).count()
    });
    Ok(Some(BreakpointNumbers {
        facets: sheets.len(),
        visible_facets: visible().count(),
        ridges: tally.ridges,
        imbalance: tally.imbalance,
        disagreement: weighed.disagreement,
        bending_ridges: tally.bending,
        dishonest_ridges: tally.dishonest,
        cancelling_facets: weighed.cancelling,
        recovered_rightly: recovered,
        hidden_neurons: facets.hidden(frame, sheets),
    }))
}

/// The regions, neighbours with the same first layers next to each other.
struct Regions {
    count: usize,
    /// The positive neurons, region after region.
    positive: Vec<u64>,
    numbers: Numbers,
}

impl Regions {
    fn new(frame: &Frame, tops: &Tops, deadline: &Deadline) -> Result<Option<Self>, LimitReached> {
        let cells = tops.regions(deadline, WHEN)?;
        let words = frame.flat.words;
        let mut found = Vec::with_capacity(cells.len() * words);
        cells.iter().for_each(|&cell| tops.add_positive(cell, &mut found));
        let order = shared_order(&frame.flat, cells.len(), &found);
        let mut positive = Vec::with_capacity(found.len());
        for region in order.iter().map(|&region| region as usize) {
            positive.extend_from_slice(&found[region * words..(region + 1) * words]);
        }
        let hashes = order.iter().map(|&region| cells[region as usize].hash);
        Ok(Numbers::new(hashes).map(|numbers| Regions { count: order.len(), positive, numbers }))
    }

    fn positive(&self, frame: &Frame, region: u32) -> &[u64] {
        let words = frame.flat.words;
        &self.positive[region as usize * words..(region as usize + 1) * words]
    }
}

/// A facet between two regions.
#[derive(Clone, Copy)]
struct Facet {
    neuron: u32,
    /// The region where the neuron is negative, and that where it is positive.
    regions: [u32; 2],
    hash: u64,
}

/// The facets between regions, those of the same first region together.
struct Facets {
    facets: Vec<Facet>,
    /// Where the facets of every first region end.
    ends: Vec<u32>,
    numbers: Numbers,
}

impl Facets {
    fn new(
        frame: &Frame,
        tops: &Tops,
        regions: &Regions,
        deadline: &Deadline,
    ) -> Result<Option<Self>, LimitReached> {
        let found = tops.facets(deadline, WHEN)?;
        let facet = |&(neuron, Top { hash, .. }): &(u32, Top)| {
            let beside = |positive: bool| regions.numbers.find(tops.beside(hash, neuron, positive));
            Facet { neuron, regions: [beside(false), beside(true)], hash }
        };
        let found: Vec<Facet> = found.iter().map(facet).collect();
        debug_assert!(found.iter().all(|facet| (facet.neuron as usize) < frame.flat.neurons));
        // While the facets are sorted, `ends[r]` is where the next one of region `r` goes.
        let mut ends = vec![0u32; regions.count + 1];
        found.iter().for_each(|facet| ends[facet.regions[0] as usize + 1] += 1);
        for region in 0..regions.count {
            ends[region + 1] += ends[region];
        }
        let mut facets = found.clone();
        for facet in found {
            let end = &mut ends[facet.regions[0] as usize];
            facets[*end as usize] = facet;
            *end += 1;
        }
        ends.truncate(regions.count);
        let numbers = Numbers::new(facets.iter().map(|facet| facet.hash));
        Ok(numbers.map(|numbers| Facets { facets, ends, numbers }))
    }

    /// The numbers of the facets of some first regions, one after the other.
    fn of(&self, regions: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let start = |region: usize| region.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        start(regions.start)..start(regions.end)
    }

    /// Neurons none of whose facets is visible although they have some.
    fn hidden(&self, frame: &Frame, sheets: &[Sheet]) -> Vec<Neuron> {
        let mut seen: Vec<Option<bool>> = vec![None; frame.flat.neurons];
        for (facet, sheet) in self.facets.iter().zip(sheets) {
            let seen = &mut seen[facet.neuron as usize];
            *seen = Some(*seen == Some(true) || sheet.visible);
        }
        let hidden = seen.iter().enumerate().filter(|(_, visible)| **visible == Some(false));
        hidden.map(|(neuron, _)| frame.flat.neuron(neuron)).collect()
    }
}

/// The facets with their weights.
struct Weighed {
    sheets: Sheets,
    /// The lengths of the gradients of the neurons that vanish there.
    lengths: Vec<f64>,
    disagreement: f64,
    cancelling: usize,
}

/// What is found of the facets of some regions.
struct Part {
    jacobians: Vec<f64>,
    normals: Vec<f64>,
    lengths: Vec<f64>,
    /// The sums over paths, times the lengths.
    paths: Vec<f64>,
    visible: Vec<bool>,
    cancelling: usize,
}

fn weigh(
    frame: &Frame,
    regions: &Regions,
    facets: &Facets,
    deadline: &Deadline,
) -> Result<Weighed, LimitReached> {
    let shape @ [d, outputs] = [frame.network.input_width(), frame.network.output_width()];
    let largest = largest_paths(frame);
    let starts: Vec<usize> = (0..regions.count).step_by(CHUNK).collect();
    let part = |&start: &usize| {
        deadline.check(WHEN)?;
        Ok(weigh_part(frame, regions, facets, &largest, start..(start + CHUNK).min(regions.count)))
    };
    let parts = starts.par_iter().map(part).collect::<Result<Vec<Part>, LimitReached>>()?;
    let jacobians = gather(&parts, |part| &part.jacobians);
    let constant = |&region: &u32| {
        let region = region as usize;
        jacobians[region * d * outputs..(region + 1) * d * outputs].iter().all(|&x| x == 0.0)
    };
    let (normals, paths) = (gather(&parts, |part| &part.normals), gather(&parts, |part| &part.paths));
    let mut weights = vec![0.0; paths.len()];
    let mut disagreement = 0.0f64;
    let visible = parts.iter().flat_map(|part| part.visible.iter().copied());
    let mut sheets = Vec::with_capacity(facets.facets.len());
    for (at, (facet, visible)) in facets.facets.iter().zip(visible).enumerate() {
        let (weight, paths) = (at * outputs..(at + 1) * outputs, &paths[at * outputs..(at + 1) * outputs]);
        let weight = &mut weights[weight];
        let mut size = 0.0;
        if visible {
            let beside = facet.regions.map(|r| &jacobians[r as usize * d * outputs..][..d * outputs]);
            let jumps = jump(beside, &normals[at * d..(at + 1) * d]);
            weight.iter_mut().zip(jumps).for_each(|(w, jump)| *w = jump);
            size = norm(weight);
            let apart = weight.iter().zip(paths).map(|(a, b)| (a.abs() - b.abs()).abs());
            disagreement = disagreement.max(apart.fold(0.0, f64::max) / size.max(f64::MIN_POSITIVE));
        }
        sheets.push(Sheet {
            layer: frame.flat.layer_of[facet.neuron as usize],
            visible,
            beside_constant: facet.regions.iter().any(constant),
            size,
        });
    }
    let lengths = gather(&parts, |part| &part.lengths);
    let cancelling = parts.iter().map(|part| part.cancelling).sum();
    Ok(Weighed { sheets: Sheets { sheets, normals, weights, shape }, lengths, disagreement, cancelling })
}

/// One list of the parts, one after the other.
fn gather(parts: &[Part], list: impl Fn(&Part) -> &Vec<f64>) -> Vec<f64> {
    let mut all = Vec::with_capacity(parts.iter().map(|part| list(part).len()).sum());
    parts.iter().for_each(|part| all.extend_from_slice(list(part)));
    all
}

fn weigh_part(
    frame: &Frame,
    regions: &Regions,
    facets: &Facets,
    largest: &[f64],
    range: std::ops::Range<usize>,
) -> Part {
    let [d, outputs] = [frame.network.input_width(), frame.network.output_width()];
    let count = facets.of(range.clone()).len();
    let mut part = Part {
        jacobians: vec![0.0; range.len() * d * outputs],
        normals: Vec::with_capacity(count * d),
        lengths: Vec::with_capacity(count),
        paths: Vec::with_capacity(count * outputs),
        visible: Vec::with_capacity(count),
        cancelling: 0,
    };
    let mut maps = RegionMaps::new(frame);
    let (mut function, mut paths) = (vec![0.0; d + 1], Vec::new());
    for (region, jacobian) in range.zip(part.jacobians.chunks_exact_mut(d * outputs)) {
        let positive = regions.positive(frame, region as u32);
        maps.enter(positive);
        maps.jacobian(jacobian);
        for facet in &facets.facets[facets.of(region..region + 1)] {
            let neuron = facet.neuron as usize;
            let Neuron { layer, unit } = frame.flat.neuron(neuron);
            maps.function(layer, unit, &mut function);
            let length = norm(&function[..d]);
            part.normals.extend(function[..d].iter().map(|x| x / length));
            part.lengths.push(length);
            let [visible, cancels] = see(frame, &mut maps, largest, positive, neuron, &mut paths);
            part.paths.extend(paths.iter().map(|path| path * length));
            part.visible.push(visible);
            part.cancelling += usize::from(cancels);
        }
    }
    part
}

/// The ridges inside the domain.
struct Ridges<'a> {
    frame: &'a Frame,
    tops: &'a Tops<'a>,
    regions: &'a Regions,
    facets: &'a Facets,
    weighed: &'a Weighed,
}

impl Ridges<'_> {
    fn tally(&self, vertices: usize, deadline: &Deadline) -> Result<RidgeTally, LimitReached> {
        let rounding = 4.0 * rounding(&self.frame.network);
        let starts: Vec<usize> = (0..vertices).step_by(tops::CHUNK).collect();
        let chunk = |&start: &usize| {
            deadline.check(WHEN)?;
            let mut tally = RidgeTally::default();
            let mut inward = Vec::new();
            self.tops.ridges(start..(start + tops::CHUNK).min(vertices), |neurons, ridge| {
                self.add(neurons, ridge, rounding, &mut tally, &mut inward);
            });
            Ok(tally)
        };
        let chunks = starts.par_iter().map(chunk).collect::<Result<Vec<_>, LimitReached>>()?;
        let mut all = RidgeTally::default();
        chunks.into_iter().for_each(|chunk| all.append(chunk));
        Ok(all)
    }

    /// Adds a ridge where two neurons vanish, the lower one first.
    fn add(
        &self,
        [h, g]: [u32; 2],
        ridge: Top,
        rounding: f64,
        tally: &mut RidgeTally,
        inward: &mut Vec<f64>,
    ) {
        // The facets of `h` where `g` is negative and positive, and those of `g`.
        let facet = |left: u32, positive: bool| {
            self.facets.numbers.find(self.tops.beside(ridge.hash, left, positive))
        };
        let on_h = [facet(g, false), facet(g, true)];
        let on_g = [facet(h, false), facet(h, true)];
        let sheets = &self.weighed.sheets;
        inward.clear();
        let d = sheets.shape[0];
        point_along(sheets.normal(on_h[0]), sheets.normal(on_g[0]), false, inward);
        inward.extend_from_within(..d);
        inward[d..].iter_mut().for_each(|x| *x = -*x);
        for (facet, forwards) in on_g.into_iter().zip([false, true]) {
            point_along(sheets.normal(facet), sheets.normal(on_h[0]), forwards, inward);
        }
        let straight = self.is_straight([h, g], on_g, rounding);
        let opposite = |other: u32, straight: bool| straight.then_some(other);
        let blades = [
            Blade { at: on_h[0], opposite: opposite(on_h[1], true) },
            Blade { at: on_h[1], opposite: opposite(on_h[0], true) },
            Blade { at: on_g[0], opposite: opposite(on_g[1], straight) },
            Blade { at: on_g[1], opposite: opposite(on_g[0], straight) },
        ];
        tally.add(sheets, &blades, inward);
    }

    /// Whether the facets of the higher neuron lie in one hyperplane.
    fn is_straight(&self, [h, g]: [u32; 2], on_g: [u32; 2], rounding: f64) -> bool {
        let flat = &self.frame.flat;
        let layer = |neuron: u32| flat.layer_of[neuron as usize] as usize;
        if layer(h) == layer(g) {
            return true;
        }
        if layer(g) > layer(h) + 1 {
            // Entries of gradients are sums over paths that come to at most the product of the norms.
            let error = rounding * flat.layers[layer(g)].lipschitz + TINY;
            let [a, b] = on_g.map(|at| self.weighed.sheets.normal(at));
            let [from, to] = on_g.map(|at| self.weighed.lengths[at as usize]);
            if a.iter().zip(b).any(|(a, b)| (a * from - b * to).abs() > error) {
                return false;
            }
        }
        let region = self.facets.facets[on_g[0] as usize].regions[0];
        !reaches(self.frame, h as usize, g as usize, self.regions.positive(self.frame, region))
    }
}
