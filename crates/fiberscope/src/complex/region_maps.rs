//! What a network does on a region, in doubles: gradients of its neurons, paths to its outputs, its Jacobian.
//!
//! With the masks `D` of a region, the pre-activations of layer `l` are the affine map
//! `Z_l = W_l D_{l-1} Z_{l-1} + b_l`, and what the outputs owe to the activations of layer `l` is
//! `Y_l = Y_{l+1} D_{l+1} W_{l+1}`. The first depends on the signs of the layers before, the second on those
//! behind. Who goes through regions in an order in which neighbours agree in their first layers
//! ([`shared_order`]) computes few of the maps anew. A number does not depend on the way to its region.

use fiberscope_algebra::dense::fast_dot;
use fiberscope_core::Sign;

use super::faces::scramble;
use super::flat::FlatLayer;
use super::polyhedral::PolyhedralComplex;
use super::sums::{Terms, add_rows};

/// The maps of one region after the other.
pub(crate) struct RegionMaps<'a> {
    complex: &'a PolyhedralComplex,
    /// The weights of the outputs, row after row.
    last: &'a [f64],
    /// The number of inputs, and of outputs.
    shape: [usize; 2],
    /// The signs of the region; none at first.
    signs: Option<Vec<Sign>>,
    /// The layers whose pre-activations are computed for all units: all, or for few outputs, whose paths to the
    /// last layer but one cost little, all but the last. Of that one single units are looked at.
    full: usize,
    /// The pre-activations of these layers: coefficients of one input after the other, constants last.
    before: Vec<Vec<f64>>,
    /// The same of the activations.
    after: Vec<Vec<f64>>,
    /// `Y_l`, one row for each output.
    paths: Vec<Vec<f64>>,
    /// The first layer whose `Y_l` is that of the region.
    known: usize,
    terms: Terms,
}

impl<'a> RegionMaps<'a> {
    pub fn new(complex: &'a PolyhedralComplex) -> Self {
        let (network, flat) = (&complex.frame.network, &complex.frame.flat);
        let (inputs, outputs) = (network.input_width(), network.output_width());
        let hidden = flat.layers.len();
        let few = outputs <= inputs + 1;
        let full = if few { hidden.saturating_sub(1).max(1) } else { hidden }.min(hidden);
        let plane = |layer: &FlatLayer| vec![0.0; (inputs + 1) * layer.stride()];
        let rows = |layer: &FlatLayer| vec![0.0; outputs * layer.width];
        let mut maps = RegionMaps {
            complex,
            last: network.layers()[hidden].weight().entries(),
            shape: [inputs, outputs],
            signs: None,
            full,
            before: flat.layers[..full].iter().map(plane).collect(),
            after: flat.layers[..full].iter().map(plane).collect(),
            paths: flat.layers.iter().map(rows).collect(),
            known: hidden,
            terms: Terms::new(),
        };
        if let (Some(first), Some(before)) = (flat.layers.first(), maps.before.first_mut()) {
            let columns = inputs * first.stride();
            before[..columns].copy_from_slice(&first.columns);
            before[columns..columns + first.width].copy_from_slice(&first.bias);
        }
        if let Some(paths) = maps.paths.last_mut() {
            paths.copy_from_slice(maps.last);
            maps.known = hidden - 1;
        }
        maps
    }

    /// Whether the outputs are so few that [`RegionMaps::paths`] cost no more than a gradient.
    pub fn has_few_outputs(&self) -> bool {
        self.shape[1] <= self.shape[0] + 1
    }

    /// Goes to the region with these signs.
    pub fn enter(&mut self, signs: &[Sign]) {
        let layers = &self.complex.frame.flat.layers;
        let own = |layer: &FlatLayer| layer.first..layer.first + if layer.relu { layer.width } else { 0 };
        let old = self.signs.as_deref();
        let changed = |layer: &FlatLayer| old.is_none_or(|old| old[own(layer)] != signs[own(layer)]);
        let Some(first) = layers.iter().position(changed) else { return };
        let last = layers.iter().rposition(changed).unwrap_or(first);
        self.known = self.known.max(last);
        for l in first..self.full {
            if l > first {
                self.forward(l);
            }
            self.activate(l, signs);
        }
        match &mut self.signs {
            Some(old) => old.copy_from_slice(signs),
            None => self.signs = Some(signs.to_vec()),
        }
    }

    /// The pre-activations of a layer from the activations before it.
    fn forward(&mut self, l: usize) {
        let [inputs, _] = self.shape;
        let layers = &self.complex.frame.flat.layers;
        let (layer, stride) = (&layers[l], layers[l - 1].stride());
        for k in 0..=inputs {
            let from = &self.after[l - 1][k * stride..k * stride + layer.inputs];
            let nonzero = from.iter().copied().enumerate().filter(|(_, x)| *x != 0.0);
            self.terms.clear();
            self.terms.extend(nonzero);
            let to = &mut self.before[l][k * layer.stride()..(k + 1) * layer.stride()];
            add_rows(&self.terms, &layer.columns, layer.stride(), to);
        }
        let constants = &mut self.before[l][inputs * layer.stride()..];
        constants.iter_mut().zip(&layer.bias).for_each(|(z, b)| *z += b);
    }

    fn activate(&mut self, l: usize, signs: &[Sign]) {
        let layer = &self.complex.frame.flat.layers[l];
        if !layer.relu {
            return self.after[l].copy_from_slice(&self.before[l]);
        }
        let on = &signs[layer.first..layer.first + layer.width];
        let planes = self.before[l].chunks_exact(layer.stride());
        for (z, a) in planes.zip(self.after[l].chunks_exact_mut(layer.stride())) {
            for ((a, z), sign) in a.iter_mut().zip(z).zip(on) {
                // Signs look random: without a branch, this takes a fraction of the time.
                let kept = u64::from(*sign == Sign::Positive).wrapping_neg();
                *a = f64::from_bits(z.to_bits() & kept);
            }
        }
    }

    /// The gradient and the constant of a unit of a hidden layer, in room for one number more than there are
    /// inputs.
    pub fn function(&self, l: usize, unit: usize, to: &mut [f64]) {
        let layers = &self.complex.frame.flat.layers;
        let layer = &layers[l];
        if l < self.full {
            let entries = self.before[l].chunks_exact(layer.stride()).map(|plane| plane[unit]);
            to.iter_mut().zip(entries).for_each(|(to, entry)| *to = entry);
            return;
        }
        let row = &layer.weight[unit * layer.inputs..(unit + 1) * layer.inputs];
        let planes = self.after[l - 1].chunks_exact(layers[l - 1].stride());
        for (to, plane) in to.iter_mut().zip(planes) {
            *to = fast_dot(row, &plane[..layer.inputs]);
        }
        if let Some(constant) = to.last_mut() {
            *constant += layer.bias[unit];
        }
    }

    /// What the outputs owe to the activation of a unit of a hidden layer, one after the other.
    pub fn paths(&mut self, l: usize, unit: usize) -> impl Iterator<Item = f64> {
        self.backward(l);
        let width = self.complex.frame.flat.layers[l].width;
        self.paths[l].chunks_exact(width).map(move |row| row[unit])
    }

    /// Computes `Y_l` down to a layer.
    fn backward(&mut self, l: usize) {
        let layers = &self.complex.frame.flat.layers;
        while self.known > l {
            let layer = &layers[self.known];
            let (lower, upper) = self.paths.split_at_mut(self.known);
            let (from, to) = (&upper[0], &mut lower[self.known - 1]);
            let signs = self.signs.as_deref().expect("a region was entered");
            for (row, to) in from.chunks_exact(layer.width).zip(to.chunks_exact_mut(layer.inputs)) {
                pass_on(layer, signs, row, &mut self.terms);
                add_rows(&self.terms, &layer.weight, layer.inputs, to);
            }
            self.known -= 1;
        }
    }

    /// The Jacobian, output after output.
    pub fn jacobian(&mut self, to: &mut [f64]) {
        let [inputs, outputs] = self.shape;
        let Some(l) = self.full.checked_sub(1) else { return to.copy_from_slice(self.last) };
        self.backward(l);
        let layer = &self.complex.frame.flat.layers[l];
        for o in 0..outputs {
            let row = &self.paths[l][o * layer.width..(o + 1) * layer.width];
            for k in 0..inputs {
                to[o * inputs + k] = fast_dot(row, &self.after[l][k * layer.stride()..][..layer.width]);
            }
        }
    }
}

/// The units of a layer that are on, with the entries of a row behind them.
fn pass_on(layer: &FlatLayer, signs: &[Sign], row: &[f64], terms: &mut Terms) {
    terms.clear();
    if !layer.relu {
        return terms.extend(row.iter().copied().enumerate());
    }
    // Again without a branch.
    terms.resize(layer.width, (0, 0.0));
    let mut count = 0;
    for (i, (&w, sign)) in row.iter().zip(&signs[layer.first..]).enumerate() {
        terms[count] = (i, w);
        count += usize::from(*sign == Sign::Positive);
    }
    terms.truncate(count);
}

/// Layers whose signs the order of regions follows, and bits of a word for each.
const SHARED: (usize, u32) = (3, 21);

/// The regions in an order in which those with the same signs in the first layers follow one another.
pub(crate) fn shared_order(complex: &PolyhedralComplex) -> Vec<u32> {
    let regions = complex.level(complex.factor_dimension());
    let (most, bits) = SHARED;
    let layers: Vec<&FlatLayer> = complex.frame.flat.layers.iter().filter(|l| l.relu).take(most).collect();
    let key = |region: u32| {
        let signs = regions.signs(region as usize);
        let mut key = 0u64;
        let mut sum = 0u64;
        for layer in &layers {
            let own = &signs[layer.first..layer.first + layer.width];
            sum = own.iter().fold(sum, |sum, sign| sum.wrapping_mul(3).wrapping_add(*sign as u64));
            key = key << bits | scramble(sum) >> (64 - bits);
        }
        key
    };
    let mut order: Vec<(u64, u32)> = (0..regions.len() as u32).map(|region| (key(region), region)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, region)| region).collect()
}
