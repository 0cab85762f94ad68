//! What a network does on a region, in doubles: gradients of its neurons, paths to its outputs, its Jacobian.
//!
//! With the masks `D` of a region, the pre-activations of layer `l` are the affine map
//! `Z_l = W_l D_{l-1} Z_{l-1} + b_l`, and what the outputs owe to the activations of layer `l` is
//! `Y_l = Y_{l+1} D_{l+1} W_{l+1}`. The first depends on the signs of the layers before, the second on those
//! behind. Who goes through regions in an order in which neighbours agree in their first layers
//! ([`shared_order`]) computes few of the maps anew. A number does not depend on the way to its region.

use fiberscope_algebra::dense::fast_dot;

use super::faces::scramble;
use super::flat::{FlatLayer, FlatNetwork, bits_of};
use super::frame::Frame;
use super::sums::{Terms, add_rows};

/// The maps of one region after the other.
pub(crate) struct RegionMaps<'a> {
    flat: &'a FlatNetwork,
    /// The weights of the outputs, row after row.
    last: &'a [f64],
    /// The number of inputs, and of outputs.
    shape: [usize; 2],
    /// The positive neurons of the region; none at first.
    positive: Option<Vec<u64>>,
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
    /// A mask for every unit of a layer.
    kept: Vec<u64>,
}

impl<'a> RegionMaps<'a> {
    pub fn new(frame: &'a Frame) -> Self {
        let (network, flat) = (&frame.network, &frame.flat);
        let (inputs, outputs) = (network.input_width(), network.output_width());
        let hidden = flat.layers.len();
        let few = outputs <= inputs + 1;
        let full = if few { hidden.saturating_sub(1).max(1) } else { hidden }.min(hidden);
        let plane = |layer: &FlatLayer| vec![0.0; (inputs + 1) * layer.stride()];
        let rows = |layer: &FlatLayer| vec![0.0; outputs * layer.width];
        let mut maps = RegionMaps {
            flat,
            last: network.layers()[hidden].weight().entries(),
            shape: [inputs, outputs],
            positive: None,
            full,
            before: flat.layers[..full].iter().map(plane).collect(),
            after: flat.layers[..full].iter().map(plane).collect(),
            paths: flat.layers.iter().map(rows).collect(),
            known: hidden,
            terms: Terms::new(),
            kept: Vec::new(),
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

    /// Goes to the region with these positive neurons, a bit each.
    pub fn enter(&mut self, positive: &[u64]) {
        let layers = &self.flat.layers;
        let own = |layer: &FlatLayer| layer.word..layer.word + layer.words();
        let old = self.positive.as_deref();
        let changed = |layer: &FlatLayer| old.is_none_or(|old| old[own(layer)] != positive[own(layer)]);
        let Some(first) = layers.iter().position(changed) else { return };
        let last = layers.iter().rposition(changed).unwrap_or(first);
        self.known = self.known.max(last);
        for l in first..self.full {
            if l > first {
                self.forward(l);
            }
            self.activate(l, positive);
        }
        match &mut self.positive {
            Some(old) => old.copy_from_slice(positive),
            None => self.positive = Some(positive.to_vec()),
        }
    }

    /// The pre-activations of a layer from the activations before it.
    fn forward(&mut self, l: usize) {
        let [inputs, _] = self.shape;
        let layers = &self.flat.layers;
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

    fn activate(&mut self, l: usize, positive: &[u64]) {
        let layer = &self.flat.layers[l];
        if !layer.relu {
            return self.after[l].copy_from_slice(&self.before[l]);
        }
        // Signs look random: without a branch, this takes a fraction of the time.
        let kept = |unit: usize| (positive[layer.word + unit / 64] >> (unit % 64) & 1).wrapping_neg();
        self.kept.clear();
        self.kept.extend((0..layer.width).map(kept));
        let planes = self.before[l].chunks_exact(layer.stride());
        for (z, a) in planes.zip(self.after[l].chunks_exact_mut(layer.stride())) {
            for ((a, z), kept) in a.iter_mut().zip(z).zip(&self.kept) {
                *a = f64::from_bits(z.to_bits() & kept);
            }
        }
    }

    /// The gradient and the constant of a unit of a hidden layer, in room for one number more than there are
    /// inputs.
    pub fn function(&self, l: usize, unit: usize, to: &mut [f64]) {
        let layers = &self.flat.layers;
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
        let width = self.flat.layers[l].width;
        self.paths[l].chunks_exact(width).map(move |row| row[unit])
    }

    /// Computes `Y_l` down to a layer.
    fn backward(&mut self, l: usize) {
        let layers = &self.flat.layers;
        while self.known > l {
            let layer = &layers[self.known];
            let (lower, upper) = self.paths.split_at_mut(self.known);
            let (from, to) = (&upper[0], &mut lower[self.known - 1]);
            let positive = self.positive.as_deref().expect("a region was entered");
            for (row, to) in from.chunks_exact(layer.width).zip(to.chunks_exact_mut(layer.inputs)) {
                pass_on(layer, positive, row, &mut self.terms);
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
        let layer = &self.flat.layers[l];
        for o in 0..outputs {
            let row = &self.paths[l][o * layer.width..(o + 1) * layer.width];
            for k in 0..inputs {
                to[o * inputs + k] = fast_dot(row, &self.after[l][k * layer.stride()..][..layer.width]);
            }
        }
    }
}

/// The units of a layer that are on, with the entries of a row behind them.
fn pass_on(layer: &FlatLayer, positive: &[u64], row: &[f64], terms: &mut Terms) {
    terms.clear();
    if !layer.relu {
        return terms.extend(row.iter().copied().enumerate());
    }
    for (block, &word) in positive[layer.word..layer.word + layer.words()].iter().enumerate() {
        terms.extend(bits_of(word).map(|bit| 64 * block + bit as usize).map(|unit| (unit, row[unit])));
    }
}

/// Layers whose signs the order of regions follows, and bits of a word for each.
const SHARED: (usize, u32) = (3, 21);

/// The order of regions, given by their positive neurons, in which those with the same signs in the first layers
/// follow one another.
pub(crate) fn shared_order(flat: &FlatNetwork, count: usize, regions: &[u64]) -> Vec<u32> {
    let (most, bits) = SHARED;
    let layers: Vec<&FlatLayer> = flat.layers.iter().filter(|l| l.relu).take(most).collect();
    let key = |positive: &[u64]| {
        let (mut key, mut sum) = (0u64, 0u64);
        for layer in &layers {
            let own = &positive[layer.word..layer.word + layer.words()];
            sum = own.iter().fold(sum, |sum, word| scramble(sum ^ word));
            key = key << bits | sum >> (64 - bits);
        }
        key
    };
    let of = |region: usize| key(&regions[region * flat.words..(region + 1) * flat.words]);
    let mut order: Vec<(u64, u32)> = (0..count).map(|region| (of(region), region as u32)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, region)| region).collect()
}
