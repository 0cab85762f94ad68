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

use fiberscope_core::{Activation, Matrix, Rational, Sign};
use rayon::prelude::*;

use super::flat::FlatLayer;
use super::polyhedral::{PolyhedralComplex, Region};
use super::sums::{Terms, add_rows, add_rows_and_sizes};
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
    let regions = complex.regions().len();
    let jacobian = |number: usize| {
        deadline.check(WHEN)?;
        Ok(jacobian(complex, number))
    };
    let jacobians = (0..regions).into_par_iter().map(jacobian).collect::<Result<Vec<_>, LimitReached>>()?;
    let constant = jacobians.iter().map(|jacobian| jacobian.entries().iter().all(|&x| x == 0.0)).collect();
    Ok((weigh_each(complex, Some(&jacobians), deadline)?, constant))
}

/// The Jacobian of a region, from the side of the network that has fewer ends.
fn jacobian(complex: &PolyhedralComplex, number: usize) -> Matrix {
    let (network, flat) = (&complex.frame.network, &complex.frame.flat);
    let (d, outputs) = (network.input_width(), network.output_width());
    let cell = complex.cell(complex.factor_dimension(), number);
    if outputs > d {
        return Region::of(cell).affine_map().into_parts().0;
    }
    let signs = cell.signs();
    let mut rows = network.layers()[network.depth() - 1].weight().entries().to_vec();
    let (mut below, mut terms) = (Vec::new(), Terms::new());
    for layer in flat.layers.iter().rev() {
        below.clear();
        below.resize(outputs * layer.inputs, 0.0);
        for (row, sums) in rows.chunks_exact(layer.width).zip(below.chunks_exact_mut(layer.inputs)) {
            terms.clear();
            terms.extend(passed_on(layer, signs, row));
            add_rows(&terms, &layer.weight, layer.inputs, sums);
        }
        std::mem::swap(&mut rows, &mut below);
    }
    Matrix::from_entries(outputs, d, rows).expect("there is a row for every output")
}

/// The units of a layer that are on, with the entries of a row behind them that are not zero.
fn passed_on(layer: &FlatLayer, signs: &[Sign], row: &[f64]) -> impl Iterator<Item = (usize, f64)> {
    let on = |i: usize| !layer.relu || signs[layer.first + i] == Sign::Positive;
    row.iter().copied().enumerate().filter(move |&(i, w)| w != 0.0 && on(i))
}

/// When a limit ends the weighing.
pub(crate) const WHEN: &str = "before the facets of the complex were weighed";

/// The weights of all facets between regions, by the sum over paths where one neuron vanishes: less work than
/// a Jacobian for every region.
pub fn weigh_by_paths(complex: &PolyhedralComplex) -> Vec<WeightedFacet> {
    weigh_each(complex, None, &Deadline::NEVER).expect("there is no limit")
}

fn weigh_each(
    complex: &PolyhedralComplex,
    jacobians: Option<&[Matrix]>,
    deadline: &Deadline,
) -> Result<Vec<WeightedFacet>, LimitReached> {
    let weigh = |(p, q, facet)| {
        deadline.check(WHEN)?;
        Ok(weigh_facet(complex, jacobians, [p, q], facet))
    };
    complex.adjacency().into_par_iter().map(weigh).collect()
}

fn weigh_facet(
    complex: &PolyhedralComplex,
    jacobians: Option<&[Matrix]>,
    regions: [usize; 2],
    facet: usize,
) -> WeightedFacet {
    let d = complex.factor_dimension();
    let signs = complex.level(d - 1).signs(facet);
    let [p, q] = regions.map(|r| complex.level(d).signs(r));
    let neurons: Vec<usize> = (0..signs.len())
        .filter(|&h| signs[h] == Sign::Zero && !(p[h] == Sign::Zero && q[h] == Sign::Zero))
        .collect();
    let first = neurons[0];
    let (mut normal, mut offset) = gradient(complex, first, signs);
    let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
    // The neuron grows towards the region where it is positive.
    let towards = if p[first] > q[first] { -length } else { length };
    normal.iter_mut().for_each(|x| *x /= towards);
    offset /= towards;
    let jump = |[from, to]: [&Matrix; 2]| -> Vec<f64> {
        let along = |o: usize| {
            let pairs = from.row(o).iter().zip(to.row(o)).zip(&normal);
            pairs.map(|((a, b), u)| (b - a) * u).sum()
        };
        (0..from.rows()).map(along).collect()
    };
    let jumped = jacobians.map(|jacobians| jump(regions.map(|r| &jacobians[r])));
    let (visible, cancels, by_paths, weight) = if neurons.len() == 1 {
        let (paths, terms) = path_sum(complex, first, signs, None);
        let decided = decide(complex, first, signs, None, &paths, &terms);
        let by_paths: Vec<f64> = paths.iter().map(|w| w * length).collect();
        let weight = jumped.unwrap_or_else(|| by_paths.clone());
        (decided, !decided && terms.iter().any(|&t| t > 0.0), Some(by_paths), weight)
    } else {
        let [from, to] = regions.map(|r| Region::of(complex.cell(d, r)).jacobian_exact());
        let rounded = |exact: &Matrix<Rational>| exact.map(Rational::to_f64);
        let weight = jumped.unwrap_or_else(|| jump([&rounded(&from), &rounded(&to)]));
        (from != to, false, None, weight)
    };
    let layer = complex.neuron(first).layer;
    let weight = if visible { weight } else { vec![0.0; weight.len()] };
    WeightedFacet { facet, regions, neurons, layer, normal, offset, weight, by_paths, visible, cancels }
}

/// The gradient and the constant of a neuron where the neurons with sign + are on.
fn gradient(complex: &PolyhedralComplex, neuron: usize, signs: &[Sign]) -> (Vec<f64>, f64) {
    let flat = &complex.frame.flat;
    let top = flat.layer_of[neuron] as usize;
    let layer = &flat.layers[top];
    let unit = neuron - layer.first;
    let mut row = layer.weight[unit * layer.inputs..(unit + 1) * layer.inputs].to_vec();
    let mut constant = layer.bias[unit];
    let (mut below, mut terms) = (Vec::new(), Terms::new());
    for layer in flat.layers[..top].iter().rev() {
        terms.clear();
        terms.extend(passed_on(layer, signs, &row));
        terms.iter().for_each(|&(i, w)| constant += w * layer.bias[i]);
        below.clear();
        below.resize(layer.inputs, 0.0);
        add_rows(&terms, &layer.weight, layer.inputs, &mut below);
        std::mem::swap(&mut row, &mut below);
    }
    (row, constant)
}

/// Whether the paths from a neuron to another of a higher layer, through neurons with sign +, do not add up
/// to zero, exactly.
pub(crate) fn reaches(complex: &PolyhedralComplex, from: usize, to: usize, signs: &[Sign]) -> bool {
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

/// Whether the sum over paths is not zero.
fn decide(
    complex: &PolyhedralComplex,
    neuron: usize,
    signs: &[Sign],
    to: Option<usize>,
    sums: &[f64],
    terms: &[f64],
) -> bool {
    let network = &complex.frame.network;
    let widest = network.widths().into_iter().max().unwrap_or(1) as f64;
    let rounding = 4.0 * (widest + 2.0) * network.depth() as f64 * f64::EPSILON;
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
