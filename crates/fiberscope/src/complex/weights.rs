//! Weights of facets by two formulas, exactly decided.
//!
//! Across the facet `F` between regions `P` and `Q`, with unit normal `u` from `P` to `Q`, the Jacobian jumps
//! by `weight(F) u^T`. If `F` lies on the bent hyperplane of neuron `i` of layer `l` alone, then with the
//! masks `D` on `F` and the gradient `v` of the neuron there
//!
//! ```text
//! weight(F) = W_L D_{L-1} ... W_{l+2} D_{l+1} W_{l+1} e_i |v|.
//! ```
//!
//! [threelayer2026, Proposition 17]. `F` is visible iff its weight is not zero ([`super::paths`] decides).

use fiberscope_core::{Neuron, Rational, Sign};
use rayon::prelude::*;

use super::frame::Frame;
use super::paths::{largest_paths, look};
use super::polyhedral::{PolyhedralComplex, Region};
use super::region_maps::{RegionMaps, shared_order};
use crate::limit::{Deadline, LimitReached};

/// A facet between two regions with its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedFacet {
    /// The facet's number among the cells of codimension one.
    pub facet: usize,
    /// The regions on its two sides.
    pub regions: [usize; 2],
    /// The neurons (by place in sign vectors) that vanish on it and not on both sides.
    pub neurons: Vec<usize>,
    /// The hidden layer of the first of them, counted from 0.
    pub layer: usize,
    /// The unit normal from the first region to the second.
    pub normal: Vec<f64>,
    /// The offset: `normal x + offset = 0` on the facet.
    pub offset: f64,
    /// The weight, one entry per output, from the jump of the Jacobian.
    pub weight: Vec<f64>,
    /// The weight from the sum over paths; only if one neuron vanishes on the facet.
    pub by_paths: Option<Vec<f64>>,
    /// Whether the weight is not zero.
    pub visible: bool,
    /// Whether it is zero although paths lead from the neuron to an output: they cancel.
    pub cancels: bool,
}

impl WeightedFacet {
    /// The Euclidean length of the weight.
    pub fn size(&self) -> f64 {
        self.weight.iter().map(|w| w * w).sum::<f64>().sqrt()
    }
}

/// The weights of all facets between regions, by the jump of the Jacobian; and for every region whether the
/// function is constant there, as far as doubles tell.
pub(crate) fn weigh(
    complex: &PolyhedralComplex,
    deadline: &Deadline,
) -> Result<(Vec<WeightedFacet>, Vec<bool>), LimitReached> {
    let network = &complex.frame.network;
    let size = network.input_width() * network.output_width();
    let (jacobians, mut facets) = weigh_each(complex, size, deadline)?;
    let jacobians: Vec<&[f64]> = jacobians.chunks_exact(size).collect();
    facets.par_chunks_mut(CHUNK).for_each(|chunk| {
        let visible = chunk.iter_mut().filter(|facet| facet.visible);
        for WeightedFacet { regions, normal, weight, .. } in visible {
            weight
                .iter_mut()
                .zip(jump(regions.map(|r| jacobians[r]), normal))
                .for_each(|(w, jump)| *w = jump);
        }
    });
    Ok((facets, jacobians.iter().map(|jacobian| jacobian.iter().all(|&x| x == 0.0)).collect()))
}

/// The jump between Jacobians, row by row, along a normal.
pub(crate) fn jump<'a>([from, to]: [&'a [f64]; 2], normal: &'a [f64]) -> impl Iterator<Item = f64> + use<'a> {
    let rows = from.chunks_exact(normal.len()).zip(to.chunks_exact(normal.len()));
    rows.map(move |(from, to)| from.iter().zip(to).zip(normal).map(|((a, b), u)| (b - a) * u).sum())
}

/// When a limit ends the weighing.
pub(crate) const WHEN: &str = "before the facets of the complex were weighed";

/// Regions and facets that are worked on before the clock is looked at.
pub(crate) const CHUNK: usize = 1 << 8;

/// The weights of all facets between regions, by the sum over paths where one neuron vanishes: less work than
/// a Jacobian for every region.
pub fn weigh_by_paths(complex: &PolyhedralComplex) -> Vec<WeightedFacet> {
    weigh_each(complex, 0, &Deadline::NEVER).expect("there is no limit").1
}

/// The Jacobians of all regions, unless their size is given as zero, and all facets between regions with their
/// weights as sums over paths.
fn weigh_each(
    complex: &PolyhedralComplex,
    jacobian: usize,
    deadline: &Deadline,
) -> Result<(Vec<f64>, Vec<WeightedFacet>), LimitReached> {
    let d = complex.factor_dimension();
    let regions = complex.level(d);
    let frame = &complex.frame;
    let (largest, words) = (largest_paths(frame), frame.flat.words);
    let mut positive = Vec::with_capacity(regions.len() * words);
    (0..regions.len()).for_each(|region| frame.flat.add_positive(regions.signs(region), &mut positive));
    let chunk = |order: &[u32]| {
        deadline.check(WHEN)?;
        let mut maps = RegionMaps::new(frame);
        let mut jacobians = vec![0.0; order.len() * jacobian];
        let mut facets = Vec::new();
        let between = |facet: &u32, region: u32| {
            let around = complex.level(d - 1).cofacets(*facet as usize);
            matches!(around, [p, _] if *p == region)
        };
        for (at, &region) in order.iter().enumerate() {
            let positive = &positive[region as usize * words..(region as usize + 1) * words];
            maps.enter(positive);
            if jacobian > 0 {
                maps.jacobian(&mut jacobians[at * jacobian..(at + 1) * jacobian]);
            }
            let own = complex.facets(d, region as usize).iter().filter(|facet| between(facet, region));
            let weigh =
                |&facet: &u32| Some(weigh_facet(complex, &mut maps, &largest, positive, facet as usize));
            facets.extend(own.map(weigh));
        }
        Ok((jacobians, facets))
    };
    let order = shared_order(&frame.flat, regions.len(), &positive);
    let mut chunks = order.par_chunks(CHUNK).map(chunk).collect::<Result<Vec<_>, LimitReached>>()?;
    let mut jacobians = vec![0.0; regions.len() * jacobian];
    // Where every facet is: chunk and place.
    let mut places = vec![None; complex.level(d.saturating_sub(1)).len()];
    for (c, (order, (own, facets))) in order.chunks(CHUNK).zip(&chunks).enumerate() {
        for (&region, own) in order.iter().zip(own.chunks_exact(jacobian.max(1))) {
            let region = region as usize;
            jacobians[region * jacobian..(region + 1) * jacobian].copy_from_slice(own);
        }
        for (i, facet) in facets.iter().flatten().enumerate() {
            places[facet.facet] = Some((c as u32, i as u32));
        }
    }
    let mut facets = Vec::with_capacity(places.iter().flatten().count());
    facets.extend(places.into_iter().flatten().filter_map(|(c, i)| chunks[c as usize].1[i as usize].take()));
    Ok((jacobians, facets))
}

/// Whether a facet of the region that was entered, on which one neuron alone vanishes, is visible, and whether paths
/// from the neuron to the outputs cancel there; what they add up to goes to `paths`.
pub(crate) fn see(
    frame: &Frame,
    maps: &mut RegionMaps,
    largest: &[f64],
    positive: &[u64],
    neuron: usize,
    paths: &mut Vec<f64>,
) -> [bool; 2] {
    paths.clear();
    // All other neurons have on the facet the signs that they have on the region.
    if maps.has_few_outputs() {
        let layer = frame.flat.layer_of[neuron] as usize;
        paths.extend(maps.paths(layer, neuron - frame.flat.layers[layer].first));
        if paths.iter().any(|p| p.abs() > largest[neuron]) {
            return [true, false];
        }
    }
    let found = look(frame, neuron, positive);
    if paths.is_empty() {
        *paths = found.paths;
    }
    [found.visible, found.cancels]
}

/// A facet between two regions, the maps being those of the first, whose positive neurons are given.
fn weigh_facet(
    complex: &PolyhedralComplex,
    maps: &mut RegionMaps,
    largest: &[f64],
    positive: &[u64],
    facet: usize,
) -> WeightedFacet {
    let d = complex.factor_dimension();
    let (signs, around) = (complex.level(d - 1).signs(facet), complex.level(d - 1).cofacets(facet));
    let regions = [around[0] as usize, around[1] as usize];
    let [p, q] = regions.map(|r| complex.level(d).signs(r));
    let vanishes_beside = |h: &usize| p[*h] == Sign::Zero && q[*h] == Sign::Zero;
    let neurons: Vec<usize> = zeros(signs).filter(|h| !vanishes_beside(h)).collect();
    let first = neurons[0];
    let Neuron { layer, unit } = complex.neuron(first);
    // Neurons below the first have on the facet the signs that they have on both sides.
    let mut normal = vec![0.0; complex.frame.network.input_width() + 1];
    maps.function(layer, unit, &mut normal);
    let offset = normal.pop().expect("there is a constant");
    let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
    // The neuron grows towards the region where it is positive.
    let towards = if p[first] > q[first] { -length } else { length };
    normal.iter_mut().for_each(|x| *x /= towards);
    let (visible, cancels, by_paths, weight) = if neurons.len() == 1 {
        let mut paths = Vec::new();
        let [visible, cancels] = see(&complex.frame, maps, largest, positive, first, &mut paths);
        paths.iter_mut().for_each(|w| *w *= length);
        (visible, cancels, Some(paths.clone()), paths)
    } else {
        let [from, to] = regions.map(|r| Region::of(complex.cell(d, r)).jacobian_exact());
        let rounded = [&from, &to].map(|exact| exact.map(Rational::to_f64));
        let weight = jump([rounded[0].entries(), rounded[1].entries()], &normal).collect();
        (from != to, false, None, weight)
    };
    let weight = if visible { weight } else { vec![0.0; weight.len()] };
    let offset = offset / towards;
    WeightedFacet { facet, regions, neurons, layer, normal, offset, weight, by_paths, visible, cancels }
}

/// The places of zeros, which are few.
fn zeros(signs: &[Sign]) -> impl Iterator<Item = usize> {
    const BLOCK: usize = 32;
    let any = |block: &[Sign]| block.iter().fold(false, |any, sign| any | (*sign == Sign::Zero));
    let blocks = signs.chunks(BLOCK).enumerate().filter(move |(_, block)| any(block));
    blocks.flat_map(|(b, block)| {
        let places = block.iter().enumerate().filter(|(_, sign)| **sign == Sign::Zero);
        places.map(move |(place, _)| b * BLOCK + place)
    })
}
