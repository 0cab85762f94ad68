//! Activation patterns of points, exactly.
//!
//! The pre-activations are computed in doubles with an error bound: with `u = 2^-53`,
//! `g = (n+2) u / (1 - (n+2) u)` and a layer input known up to `d`,
//!
//! ```text
//! |z^_i - z_i| <= |w_i|_1 (d + g |h^|_max) + g |b_i| + underflow,
//! ```
//!
//! in whatever order the sums are taken [higham2002accuracy, Section 3.1]. A point with a pre-activation that
//! is not larger than its bound is evaluated again in exact arithmetic. A neuron whose pre-activation is zero
//! counts as inactive, as in automatic differentiation.

use fiberscope_core::{Activation, ExactEvaluator, Layer, Matrix, Network, Rational, Sign};
use ndarray::{ArrayView2, linalg::general_mat_mul};
use rayon::prelude::*;

use super::options::DimensionOptions;
use crate::limit::{Deadline, LimitReached};

/// The activation patterns of points: which hidden neurons are active at which point.
///
/// Neurons of identity layers are active everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patterns {
    widths: Vec<usize>,
    /// Of every point one bit per hidden neuron, layer after layer, each layer in words of its own.
    bits: Vec<u64>,
    words: Vec<usize>,
    count: usize,
    /// Points at which exact arithmetic decided.
    settled: usize,
    /// Pre-activations of ReLU neurons that are exactly zero.
    zeros: usize,
}

/// Points evaluated at a time.
const BLOCK: usize = 256;

impl Patterns {
    /// The patterns of the rows of `points`, which have as many columns as the network has inputs, unless the
    /// deadline of the options comes first.
    pub fn of(network: &Network, points: &Matrix, options: &DimensionOptions) -> Result<Self, LimitReached> {
        let deadline = &options.deadline;
        let mut patterns = Patterns::empty(network, points.rows());
        let stride = patterns.stride();
        let bounds: Vec<LayerBound> = network.hidden_layers().iter().map(LayerBound::new).collect();
        let blocks: Vec<(Vec<usize>, usize)> = patterns
            .bits
            .par_chunks_mut(BLOCK * stride.max(1))
            .zip(points.entries().par_chunks(BLOCK * points.cols()))
            .enumerate()
            .map(|(block, (bits, points))| {
                if deadline.is_past() {
                    return (Vec::new(), 0);
                }
                let (near, zeros) = forward(network, &bounds, points, bits);
                (near.into_iter().map(|i| block * BLOCK + i).collect(), zeros)
            })
            .collect();
        patterns.zeros = blocks.iter().map(|(_, zeros)| zeros).sum();
        let near: Vec<usize> = blocks.into_iter().flat_map(|(near, _)| near).collect();
        patterns.settle(network, points, &near, deadline);
        deadline.check("before the activation patterns of the points were known")?;
        Ok(patterns)
    }

    /// The patterns given by sign vectors, one list of signs per ReLU layer.
    pub fn from_signs<'a>(
        network: &Network,
        patterns: impl ExactSizeIterator<Item = &'a fiberscope_core::SignVector>,
    ) -> Self {
        let mut found = Patterns::empty(network, patterns.len());
        for (i, signs) in patterns.enumerate() {
            found.set_signs(network, i, signs);
            found.zeros += signs.signs().filter(|&sign| sign == Sign::Zero).count();
        }
        found
    }

    fn empty(network: &Network, count: usize) -> Self {
        let widths: Vec<usize> = network.hidden_layers().iter().map(Layer::width).collect();
        let words: Vec<usize> = widths.iter().map(|width| width.div_ceil(64)).collect();
        let stride: usize = words.iter().sum();
        Patterns { widths, bits: vec![0; count * stride], words, count, settled: 0, zeros: 0 }
    }

    /// Decides the patterns of some points exactly; unfinished if the deadline is past then.
    fn settle(&mut self, network: &Network, points: &Matrix, near: &[usize], deadline: &Deadline) {
        if near.is_empty() || deadline.is_past() {
            return;
        }
        let evaluator = ExactEvaluator::new(network);
        let signs: Vec<_> = near
            .par_iter()
            .map(|&i| {
                if deadline.is_past() {
                    return None;
                }
                let x: Vec<Rational> =
                    points.row(i).iter().map(|&x| Rational::from_f64(x).expect("data are finite")).collect();
                Some(evaluator.sign_vector(&x).expect("the width was checked"))
            })
            .collect();
        for (&i, signs) in near.iter().zip(&signs) {
            let Some(signs) = signs else { continue };
            self.set_signs(network, i, signs);
            self.zeros += signs.signs().filter(|&sign| sign == Sign::Zero).count();
        }
        self.settled = near.len();
    }

    fn set_signs(&mut self, network: &Network, i: usize, signs: &fiberscope_core::SignVector) {
        let stride = self.stride();
        let bits = &mut self.bits[i * stride..(i + 1) * stride];
        let (mut from, mut relu) = (0, signs.layers());
        for (l, layer) in network.hidden_layers().iter().enumerate() {
            let words = &mut bits[from..from + self.words[l]];
            words.fill(0);
            let signs = match layer.activation() {
                Activation::Relu => relu.next(),
                Activation::Identity => None,
            };
            for unit in 0..layer.width() {
                let active = signs.is_none_or(|signs| signs[unit] == Sign::Positive);
                words[unit / 64] |= u64::from(active) << (unit % 64);
            }
            from += self.words[l];
        }
    }

    /// The number of points.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The first `count` of the patterns.
    pub(super) fn first(&self, count: usize) -> Self {
        let count = count.min(self.count);
        let bits = self.bits[..count * self.stride()].to_vec();
        Patterns { bits, count, widths: self.widths.clone(), words: self.words.clone(), ..*self }
    }

    /// How many points were evaluated exactly because a pre-activation was near zero.
    pub fn settled(&self) -> usize {
        self.settled
    }

    /// How many pre-activations of ReLU neurons are exactly zero.
    pub fn zeros(&self) -> usize {
        self.zeros
    }

    /// Whether hidden neuron `unit` of layer `layer` is active at point `i`.
    pub fn is_active(&self, i: usize, layer: usize, unit: usize) -> bool {
        self.layer(i, layer)[unit / 64] >> (unit % 64) & 1 == 1
    }

    /// The bits of one layer at point `i`.
    pub(super) fn layer(&self, i: usize, layer: usize) -> &[u64] {
        let from: usize = self.words[..layer].iter().sum();
        &self.bits[i * self.stride() + from..][..self.words[layer]]
    }

    /// The bits of the layers from `layer` on.
    fn layers_from(&self, i: usize, layer: usize) -> &[u64] {
        let from: usize = self.words[..layer].iter().sum();
        &self.bits[i * self.stride()..(i + 1) * self.stride()][from..]
    }

    fn stride(&self) -> usize {
        self.words.iter().sum()
    }

    /// The places of a list of points in groups with the same pattern from hidden layer `layer` on; groups in
    /// the order of their first place.
    pub fn groups(&self, points: &[usize], layer: usize) -> Vec<Vec<usize>> {
        let key = |place: usize| self.layers_from(points[place], layer);
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_unstable_by(|&i, &j| key(i).cmp(key(j)).then(i.cmp(&j)));
        let mut groups: Vec<Vec<usize>> =
            order.chunk_by(|&i, &j| key(i) == key(j)).map(<[usize]>::to_vec).collect();
        groups.sort_unstable_by_key(|group| group[0]);
        groups
    }

    /// The points in groups with the same pattern: the regions that they sample.
    pub fn regions(&self) -> Vec<Vec<usize>> {
        self.groups(&(0..self.count).collect::<Vec<_>>(), 0)
    }

    /// The last hidden layer without an active neuron at point `i`.
    pub fn last_dead_layer(&self, i: usize) -> Option<usize> {
        (0..self.widths.len()).rev().find(|&l| self.layer(i, l).iter().all(|&word| word == 0))
    }

    /// How many hidden neurons of each layer are active at all points, at none, and at some.
    pub fn states(&self) -> Vec<LayerStates> {
        let all = |l: usize| {
            let mut any = vec![0u64; self.words[l]];
            let mut every = vec![u64::MAX; self.words[l]];
            for i in 0..self.count {
                for ((any, every), &word) in any.iter_mut().zip(&mut every).zip(self.layer(i, l)) {
                    *any |= word;
                    *every &= word;
                }
            }
            let bit = |words: &[u64], unit: usize| words[unit / 64] >> (unit % 64) & 1 == 1;
            let state = |unit| match (bit(&any, unit), bit(&every, unit)) {
                (false, _) => NeuronState::Inactive,
                (true, true) => NeuronState::Active,
                (true, false) => NeuronState::Switching,
            };
            LayerStates { neurons: (0..self.widths[l]).map(state).collect() }
        };
        (0..self.widths.len()).map(all).collect()
    }
}

/// What a neuron does on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum NeuronState {
    /// Active at some points and inactive at others.
    Switching,
    /// Active at every point: it acts linearly.
    Active,
    /// Inactive at every point: it is dead on the batch.
    Inactive,
}

impl NeuronState {
    /// `switching`, `active` or `inactive`.
    pub fn name(self) -> &'static str {
        match self {
            NeuronState::Switching => "switching",
            NeuronState::Active => "active",
            NeuronState::Inactive => "inactive",
        }
    }
}

/// The states of the neurons of a hidden layer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LayerStates {
    /// One state per neuron.
    pub neurons: Vec<NeuronState>,
}

impl LayerStates {
    /// The number of neurons in a state.
    pub fn count(&self, state: NeuronState) -> usize {
        self.neurons.iter().filter(|&&each| each == state).count()
    }
}

/// What the error bound needs to know of a layer: upper bounds of `|w_i|_1` and of `|b_i|`.
struct LayerBound {
    row_sums: Vec<f64>,
    gamma: f64,
    underflow: f64,
}

impl LayerBound {
    fn new(layer: &Layer) -> Self {
        let n = layer.input_width() as f64 + 2.0;
        let gamma = n * f64::EPSILON;
        let sum = |row: &[f64]| row.iter().map(|w| w.abs()).sum::<f64>() * (1.0 + gamma);
        LayerBound {
            row_sums: layer.weight().iter_rows().map(sum).collect(),
            gamma,
            underflow: n * f64::MIN_POSITIVE,
        }
    }
}

/// Sets the bits of a block of points. Names the points whose pattern rounding might have changed, and counts
/// the zeros of the others.
fn forward(
    network: &Network,
    bounds: &[LayerBound],
    points: &[f64],
    bits: &mut [u64],
) -> (Vec<usize>, usize) {
    let rows = points.len() / network.input_width();
    let stride = bits.len() / rows;
    let mut input = points.to_vec();
    let mut error = vec![0.0; rows];
    let mut near = vec![false; rows];
    let mut zeros = vec![0; rows];
    let mut from = 0;
    for (layer, bound) in network.hidden_layers().iter().zip(bounds) {
        let (width, inputs) = (layer.width(), layer.input_width());
        let mut output = ndarray::Array2::zeros((rows, width));
        let view = ArrayView2::from_shape((rows, inputs), &input).expect("one row per point");
        let weight =
            ArrayView2::from_shape((width, inputs), layer.weight().entries()).expect("the weight's shape");
        general_mat_mul(1.0, &view, &weight.t(), 0.0, &mut output);
        for i in 0..rows {
            let size = input[i * inputs..(i + 1) * inputs].iter().fold(0.0, |most: f64, h| most.max(h.abs()));
            let exact = size == 0.0 && error[i] == 0.0;
            let slope = error[i] + bound.gamma * size;
            let words = &mut bits[i * stride + from..][..width.div_ceil(64)];
            let mut worst: f64 = 0.0;
            for (unit, z) in output.row_mut(i).iter_mut().enumerate() {
                let b = layer.bias()[unit];
                *z += b;
                let doubt = if exact {
                    0.0
                } else {
                    (bound.row_sums[unit] * slope + bound.gamma * b.abs()) * 1.000_001 + bound.underflow
                };
                worst = worst.max(doubt);
                let active = match layer.activation() {
                    Activation::Identity => true,
                    Activation::Relu => {
                        // Written so that NaN and infinity are in doubt.
                        near[i] |= !(exact || z.abs() > doubt && z.is_finite());
                        zeros[i] += usize::from(*z == 0.0);
                        *z > 0.0
                    }
                };
                words[unit / 64] |= u64::from(active) << (unit % 64);
                if !active {
                    *z = 0.0;
                }
            }
            error[i] = if worst.is_finite() { worst } else { f64::INFINITY };
        }
        input = output.into_raw_vec_and_offset().0;
        from += width.div_ceil(64);
    }
    let zeros = zeros.iter().zip(&near).filter(|(_, near)| !**near).map(|(zeros, _)| zeros).sum();
    ((0..rows).filter(|&i| near[i]).collect(), zeros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimension::testing::{random_network, random_points};

    fn exact_bits(network: &Network, x: &[f64]) -> Vec<bool> {
        let x: Vec<_> = x.iter().map(|&x| Rational::from_f64(x).unwrap()).collect();
        network.sign_vector_exact(&x).unwrap().signs().map(|sign| sign == Sign::Positive).collect()
    }

    #[test]
    fn patterns_agree_with_exact_evaluation_also_on_the_boundary() {
        for seed in 0..30 {
            let network = random_network(&[3, 70, 4, 2], seed);
            let mut points = random_points(20, 3, seed);
            // The origin, and a point on the hyperplane of neuron 1, where rounding has to be settled.
            points.row_mut(0).fill(0.0);
            let row = network.layers()[0].weight().row(0).to_vec();
            let at = -network.layers()[0].bias()[0] / row[0];
            points.row_mut(1).copy_from_slice(&[at, 0.0, 0.0]);
            let patterns = Patterns::of(&network, &points, &DimensionOptions::new()).unwrap();
            assert!(patterns.settled() >= 1);
            for i in 0..20 {
                let found: Vec<bool> = [(0, 70), (1, 4)]
                    .iter()
                    .flat_map(|&(l, n)| (0..n).map(move |u| (l, u)))
                    .map(|(l, u)| patterns.is_active(i, l, u))
                    .collect();
                assert_eq!(found, exact_bits(&network, points.row(i)), "seed {seed}, point {i}");
            }
        }
    }

    #[test]
    fn zeros_count_as_inactive() {
        let network = random_network(&[2, 3, 1], 1).map(|_| 0.0).unwrap();
        let patterns = Patterns::of(&network, &random_points(4, 2, 1), &DimensionOptions::new()).unwrap();
        assert_eq!((patterns.zeros(), patterns.last_dead_layer(2)), (12, Some(0)));
        assert_eq!(patterns.states()[0].count(NeuronState::Inactive), 3);
    }

    #[test]
    fn overflow_is_settled_exactly() {
        let network = random_network(&[1, 2, 2, 1], 5).map(|&w| w.signum() * 1e200).unwrap();
        let points = Matrix::from_entries(2, 1, vec![1e200, -1e200]).unwrap();
        let patterns = Patterns::of(&network, &points, &DimensionOptions::new()).unwrap();
        assert_eq!(patterns.settled(), 2);
        for i in 0..2 {
            let found: Vec<bool> = (0..2)
                .flat_map(|l| (0..2).map(move |u| (l, u)))
                .map(|(l, u)| patterns.is_active(i, l, u))
                .collect();
            assert_eq!(found, exact_bits(&network, points.row(i)));
        }
    }
}
