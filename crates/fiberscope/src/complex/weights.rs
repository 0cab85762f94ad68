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
//! [threelayer2026, Proposition 17]. `F` is visible iff its weight is not zero. Doubles decide where the sum
//! of paths exceeds its rounding or has no terms; rational numbers decide the rest.

use fiberscope_core::{Activation, Network, Neuron, Rational, Sign};
use rayon::prelude::*;

use super::flat::{SAFE, TINY};
use super::polyhedral::{PolyhedralComplex, Region};
use super::region_maps::{RegionMaps, shared_order};
use super::sums::add_rows_and_sizes;
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
fn jump<'a>([from, to]: [&'a [f64]; 2], normal: &'a [f64]) -> impl Iterator<Item = f64> + use<'a> {
    let rows = from.chunks_exact(normal.len()).zip(to.chunks_exact(normal.len()));
    rows.map(move |(from, to)| from.iter().zip(to).zip(normal).map(|((a, b), u)| (b - a) * u).sum())
}

/// When a limit ends the weighing.
pub(crate) const WHEN: &str = "before the facets of the complex were weighed";

/// Regions and facets that are worked on before the clock is looked at.
const CHUNK: usize = 1 << 8;

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
    let largest = largest_paths(complex);
    let chunk = |order: &[u32]| {
        deadline.check(WHEN)?;
        let mut maps = RegionMaps::new(complex);
        let mut jacobians = vec![0.0; order.len() * jacobian];
        let mut facets = Vec::new();
        let between = |facet: &u32, region: u32| {
            let around = complex.level(d - 1).cofacets(*facet as usize);
            matches!(around, [p, _] if *p == region)
        };
        for (at, &region) in order.iter().enumerate() {
            maps.enter(regions.signs(region as usize));
            if jacobian > 0 {
                maps.jacobian(&mut jacobians[at * jacobian..(at + 1) * jacobian]);
            }
            let own = complex.facets(d, region as usize).iter().filter(|facet| between(facet, region));
            facets.extend(own.map(|&facet| Some(weigh_facet(complex, &mut maps, &largest, facet as usize))));
        }
        Ok((jacobians, facets))
    };
    let order = shared_order(complex);
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

/// A facet between two regions, the maps being those of the first.
fn weigh_facet(
    complex: &PolyhedralComplex,
    maps: &mut RegionMaps,
    largest: &[f64],
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
        // So have all other neurons: the paths are those of the region.
        let (visible, cancels, mut paths) = if maps.has_few_outputs() {
            let paths: Vec<f64> = maps.paths(layer, unit).collect();
            let plain = paths.iter().any(|p| p.abs() > largest[first]);
            let (visible, cancels) = if plain { (true, false) } else { look(complex, first, signs).0 };
            (visible, cancels, paths)
        } else {
            let ((visible, cancels), paths) = look(complex, first, signs);
            (visible, cancels, paths)
        };
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

/// Whether the paths from a neuron to the outputs do not add up to zero, whether they do although there are some,
/// and what they add up to.
fn look(complex: &PolyhedralComplex, neuron: usize, signs: &[Sign]) -> ((bool, bool), Vec<f64>) {
    let (paths, terms) = path_sum(complex, neuron, signs, None);
    let visible = decide(complex, neuron, signs, None, &paths, &terms);
    ((visible, !visible && terms.iter().any(|&t| t > 0.0)), paths)
}

/// For every neuron what the rounding of a sum over paths to an output may be at most, whatever the signs.
fn largest_paths(complex: &PolyhedralComplex) -> Vec<f64> {
    let (network, flat) = (&complex.frame.network, &complex.frame.flat);
    let mut largest = vec![0.0; flat.neurons];
    let last = network.layers()[flat.layers.len()].weight();
    let column = |j: usize| last.iter_rows().map(|row| row[j].abs()).fold(0.0, f64::max);
    let mut behind: Vec<f64> = (0..last.cols()).map(column).collect();
    for layer in flat.layers.iter().rev() {
        if layer.relu {
            largest[layer.first..layer.first + layer.width].copy_from_slice(&behind);
        }
        let mut next = vec![0.0; layer.inputs];
        for (row, size) in layer.weight.chunks_exact(layer.inputs).zip(&behind) {
            next.iter_mut().zip(row).for_each(|(next, w)| *next += w.abs() * size * SAFE);
        }
        behind = next;
    }
    let rounding = rounding(network) * SAFE;
    largest.iter().map(|size| size * rounding + TINY).collect()
}

/// Whether the paths from a neuron to another of a higher layer, through neurons with sign +, do not add up
/// to zero, exactly.
pub(crate) fn reaches(complex: &PolyhedralComplex, from: usize, to: usize, signs: &[Sign]) -> bool {
    let [a, b] = [from, to].map(|neuron| complex.neuron(neuron));
    if b.layer == a.layer + 1 {
        let layer = &complex.frame.flat.layers[b.layer];
        return layer.weight[b.unit * layer.inputs + a.unit] != 0.0;
    }
    let (paths, terms) = path_sum(complex, from, signs, Some(to));
    decide(complex, from, signs, Some(to), &paths, &terms)
}

/// Which units of the layers behind a neuron its paths lead through.
struct Paths<'a> {
    complex: &'a PolyhedralComplex,
    signs: &'a [Sign],
    /// The layer and the unit where they end; the outputs if there is none.
    end: Option<(usize, usize)>,
}

impl<'a> Paths<'a> {
    fn new(complex: &'a PolyhedralComplex, signs: &'a [Sign], to: Option<usize>) -> Self {
        let flat = &complex.frame.flat;
        let end = |to: usize| {
            let layer = flat.layer_of[to] as usize;
            (layer, to - flat.layers[layer].first)
        };
        Paths { complex, signs, end: to.map(end) }
    }

    /// The layers behind that of a neuron.
    fn layers(&self, neuron: usize) -> std::ops::Range<usize> {
        let last = self.end.map_or(self.complex.frame.network.depth(), |(layer, _)| layer + 1);
        self.complex.frame.flat.layer_of[neuron] as usize + 1..last
    }

    fn lead_through(&self, l: usize, unit: usize) -> bool {
        if let Some((_, end)) = self.end.filter(|(layer, _)| *layer == l) {
            return unit == end;
        }
        let identity = self.complex.frame.network.layers()[l].activation() == Activation::Identity;
        identity || self.signs[self.complex.frame.flat.layers[l].first + unit] == Sign::Positive
    }
}

/// `W_L D ... W_{l+1} e_i` in doubles, and the same sum of absolute values.
fn path_sum(
    complex: &PolyhedralComplex,
    neuron: usize,
    signs: &[Sign],
    to: Option<usize>,
) -> (Vec<f64>, Vec<f64>) {
    let flat = &complex.frame.flat;
    let paths = Paths::new(complex, signs, to);
    let (layers, unit) = (paths.layers(neuron), complex.neuron(neuron).unit);
    // What arrives at the units of a layer; nothing is told of units that no path leads through.
    let mut sums: Vec<(usize, f64, f64)> = vec![(unit, 1.0, 1.0)];
    let (mut values, mut sizes) = (Vec::new(), Vec::new());
    for l in layers.start..layers.end - 1 {
        let layer = &flat.layers[l];
        values.resize(layer.stride(), 0.0);
        sizes.resize(layer.stride(), 0.0);
        add_rows_and_sizes(&sums, &layer.columns, layer.stride(), [&mut values, &mut sizes]);
        let through = (0..layer.width).filter(|&i| sizes[i] != 0.0 && paths.lead_through(l, i));
        sums.clear();
        sums.extend(through.map(|i| (i, values[i], sizes[i])));
    }
    let last = complex.frame.network.layers()[layers.end - 1].weight();
    let add = |(v, s): (f64, f64), (w, value, size): (f64, f64, f64)| (v + w * value, s + w.abs() * size);
    let arrive = |row: &[f64]| sums.iter().map(|&(j, v, s)| (row[j], v, s)).fold((0.0, 0.0), add);
    let ends = (0..last.rows()).filter(|&i| paths.lead_through(layers.end - 1, i));
    ends.map(|i| arrive(last.row(i))).unzip()
}

/// What rounding does to a sum over paths, relative to the sum of their absolute values, in any order of summation.
fn rounding(network: &Network) -> f64 {
    let widest = network.widths().into_iter().max().unwrap_or(1) as f64;
    4.0 * (widest + 2.0) * network.depth() as f64 * f64::EPSILON
}

/// Whether the sum over paths is not zero.
fn decide(
    complex: &PolyhedralComplex,
    neuron: usize,
    signs: &[Sign],
    to: Option<usize>,
    sums: &[f64],
    terms: &[f64],
) -> bool {
    let rounding = rounding(&complex.frame.network);
    if sums.iter().zip(terms).any(|(p, t)| p.abs() > rounding * t) {
        return true;
    }
    if terms.iter().all(|&t| t == 0.0) {
        return false;
    }
    let paths = Paths::new(complex, signs, to);
    let exact = complex.frame.arbiter.network();
    let mut sums = vec![(complex.neuron(neuron).unit, Rational::ONE)];
    for l in paths.layers(neuron) {
        let layer = &exact.layers()[l];
        let sum =
            |i: usize| -> Rational { sums.iter().map(|(j, value)| &layer.weight()[(i, *j)] * value).sum() };
        sums = (0..layer.width()).filter(|&i| paths.lead_through(l, i)).map(|i| (i, sum(i))).collect();
    }
    sums.iter().any(|(_, value)| !value.is_zero())
}
