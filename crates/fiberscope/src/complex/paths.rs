//! Sums over paths through the neurons that are on: decided exactly, computed in doubles.
//!
//! `W_m D_{m-1} ... W_{l+2} D_{l+1} W_{l+1} e_i` leads from neuron `i` of layer `l` to the units of layer `m`; with
//! the masks `D` of a facet of that neuron, and `m` the outputs, it is the weight of the facet but for the length of
//! a gradient ([`super::weights`]). Doubles decide where a sum exceeds its rounding or has no terms; rational numbers
//! decide the rest.

use fiberscope_core::{Activation, Network, Rational};

use super::flat::{SAFE, TINY};
use super::frame::Frame;
use super::sums::add_rows_and_sizes;

/// What paths from a neuron to the outputs come to.
pub(crate) struct Look {
    /// Whether they do not add up to zero.
    pub visible: bool,
    /// Whether they add up to zero although there are some.
    pub cancels: bool,
    /// What they add up to, output by output.
    pub paths: Vec<f64>,
}

/// Looks at the paths from a neuron to the outputs through the neurons with a bit in `positive`.
pub(crate) fn look(frame: &Frame, neuron: usize, positive: &[u64]) -> Look {
    let (paths, terms) = path_sum(frame, neuron, positive, None);
    let visible = decide(frame, neuron, positive, None, &paths, &terms);
    Look { visible, cancels: !visible && terms.iter().any(|&t| t > 0.0), paths }
}

/// Whether the paths from a neuron to another of a higher layer do not add up to zero, exactly.
pub(crate) fn reaches(frame: &Frame, from: usize, to: usize, positive: &[u64]) -> bool {
    let flat = &frame.flat;
    let [a, b] = [from, to].map(|neuron| flat.layer_of[neuron] as usize);
    if b == a + 1 {
        let layer = &flat.layers[b];
        return layer.weight[(to - layer.first) * layer.inputs + from - flat.layers[a].first] != 0.0;
    }
    let (paths, terms) = path_sum(frame, from, positive, Some(to));
    decide(frame, from, positive, Some(to), &paths, &terms)
}

/// For every neuron what the rounding of a sum over paths to an output may be at most, whatever the signs.
pub(crate) fn largest_paths(frame: &Frame) -> Vec<f64> {
    let (network, flat) = (&frame.network, &frame.flat);
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

/// What rounding does to a sum over paths, relative to the sum of their absolute values, in any order of summation.
pub(crate) fn rounding(network: &Network) -> f64 {
    let widest = network.widths().into_iter().max().unwrap_or(1) as f64;
    4.0 * (widest + 2.0) * network.depth() as f64 * f64::EPSILON
}

/// Which units of the layers behind a neuron its paths lead through.
struct Paths<'a> {
    frame: &'a Frame,
    positive: &'a [u64],
    /// The layer and the unit where they end; the outputs if there is none.
    end: Option<(usize, usize)>,
}

impl<'a> Paths<'a> {
    fn new(frame: &'a Frame, positive: &'a [u64], to: Option<usize>) -> Self {
        let flat = &frame.flat;
        let end = |to: usize| {
            let layer = flat.layer_of[to] as usize;
            (layer, to - flat.layers[layer].first)
        };
        Paths { frame, positive, end: to.map(end) }
    }

    /// The layers behind that of a neuron.
    fn layers(&self, neuron: usize) -> std::ops::Range<usize> {
        let last = self.end.map_or(self.frame.network.depth(), |(layer, _)| layer + 1);
        self.frame.flat.layer_of[neuron] as usize + 1..last
    }

    fn lead_through(&self, l: usize, unit: usize) -> bool {
        if let Some((_, end)) = self.end.filter(|(layer, _)| *layer == l) {
            return unit == end;
        }
        let identity = self.frame.network.layers()[l].activation() == Activation::Identity;
        identity || self.frame.flat.is_on(self.positive, self.frame.flat.layers[l].first + unit)
    }
}

/// The sum in doubles, and the same sum of absolute values.
fn path_sum(frame: &Frame, neuron: usize, positive: &[u64], to: Option<usize>) -> (Vec<f64>, Vec<f64>) {
    let flat = &frame.flat;
    let paths = Paths::new(frame, positive, to);
    let layers = paths.layers(neuron);
    let unit = neuron - flat.layers[flat.layer_of[neuron] as usize].first;
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
    let last = frame.network.layers()[layers.end - 1].weight();
    let add = |(v, s): (f64, f64), (w, value, size): (f64, f64, f64)| (v + w * value, s + w.abs() * size);
    let arrive = |row: &[f64]| sums.iter().map(|&(j, v, s)| (row[j], v, s)).fold((0.0, 0.0), add);
    let ends = (0..last.rows()).filter(|&i| paths.lead_through(layers.end - 1, i));
    ends.map(|i| arrive(last.row(i))).unzip()
}

/// Whether the sum over paths is not zero.
fn decide(
    frame: &Frame,
    neuron: usize,
    positive: &[u64],
    to: Option<usize>,
    sums: &[f64],
    terms: &[f64],
) -> bool {
    let rounding = rounding(&frame.network);
    if sums.iter().zip(terms).any(|(p, t)| p.abs() > rounding * t) {
        return true;
    }
    if terms.iter().all(|&t| t == 0.0) {
        return false;
    }
    let paths = Paths::new(frame, positive, to);
    let exact = frame.arbiter.network();
    let unit = neuron - frame.flat.layers[frame.flat.layer_of[neuron] as usize].first;
    let mut sums = vec![(unit, Rational::ONE)];
    for l in paths.layers(neuron) {
        let layer = &exact.layers()[l];
        let sum =
            |i: usize| -> Rational { sums.iter().map(|(j, value)| &layer.weight()[(i, *j)] * value).sum() };
        sums = (0..layer.width()).filter(|&i| paths.lead_through(l, i)).map(|i| (i, sum(i))).collect();
    }
    sums.iter().any(|(_, value)| !value.is_zero())
}
