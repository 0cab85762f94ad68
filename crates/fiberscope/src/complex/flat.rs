//! The hidden layers of a network in flat arrays of doubles, with what bounds their rounding.
//!
//! For a point `x` of doubles, let `z~_l` be the pre-activations computed in doubles and `z_l` their exact
//! values. With `u = 2^-53`, `n` the longest row and row-sum norms,
//!
//! ```text
//! |z~_l - z_l| <= |W_l| e_{l-1} + g (|W_l| A_{l-1} + |b_l|) =: e_l,     A_l = |W_l| A_{l-1} + |b_l|,   A_0 = |x|,
//! ```
//!
//! `g = 4 (n + 2) u`. Both sequences are affine in `|x|`, so a layer needs two numbers for each.

use fiberscope_core::{Activation, Layer, Network, Neuron, Sign};
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};

/// Numbers that are worked on together.
pub(crate) const LANES: usize = 8;

/// Room for the rounding of the bounds themselves.
pub(crate) const SAFE: f64 = 1.0 + 1e-9;
/// Added to bounds, for underflow.
pub(crate) const TINY: f64 = 1e-290;

/// The places of the ones in a word.
#[inline(always)]
pub(crate) fn bits_of(word: u64) -> impl Iterator<Item = u32> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let bit = (rest != 0).then(|| rest.trailing_zeros());
        rest &= rest.wrapping_sub(1);
        bit
    })
}

/// The larger of two numbers.
#[inline(always)]
pub(crate) fn larger(m: f64, x: f64) -> f64 {
    if x > m { x } else { m }
}

/// The largest absolute value.
#[inline(always)]
pub(crate) fn largest(row: &[f64]) -> f64 {
    let mut size = [0.0f64; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        (0..LANES).for_each(|i| size[i] = larger(size[i], chunk[i].abs()));
    }
    rest.iter().map(|x| x.abs()).chain(size).fold(0.0, larger)
}

/// A hidden layer.
pub(crate) struct FlatLayer {
    pub width: usize,
    pub inputs: usize,
    /// Row after row.
    pub weight: Vec<f64>,
    /// Column after column, each filled up with zeros to [`FlatLayer::stride`].
    pub columns: Vec<f64>,
    pub bias: Vec<f64>,
    pub relu: bool,
    /// The number of the layer's first ReLU neuron.
    pub first: usize,
    /// The place of the layer's first word in a sign vector.
    pub word: usize,
    /// The row-sum norm of the weights, and the largest bias.
    pub norm: f64,
    pub bias_size: f64,
    /// A bound on the change of a pre-activation per change of the input.
    pub lipschitz: f64,
    /// `e_l = error[0] + error[1] |x|`.
    pub error: [f64; 2],
}

impl FlatLayer {
    /// The number of words for the layer's signs.
    pub fn words(&self) -> usize {
        if self.relu { self.width.div_ceil(64) } else { 0 }
    }

    /// The distance of columns.
    pub fn stride(&self) -> usize {
        self.width.next_multiple_of(LANES)
    }

    /// The pre-activations of points whose activations of the layer before are `a`.
    pub fn forward(&self, a: &[f64], z: &mut Vec<f64>) {
        let count = a.len() / self.inputs;
        z.resize(count * self.width, 0.0);
        z.chunks_exact_mut(self.width).for_each(|row| row.copy_from_slice(&self.bias));
        let weight = ArrayView2::from_shape((self.width, self.inputs), &self.weight)
            .expect("the weights fill the shape");
        let a = ArrayView2::from_shape((count, self.inputs), a).expect("the activations fill the shape");
        let mut z = ArrayViewMut2::from_shape((count, self.width), z).expect("the results fill the shape");
        general_mat_mul(1.0, &a, &weight.t(), 1.0, &mut z);
    }
}

/// Numbers that are known up to errors.
#[derive(Clone, Default)]
pub(crate) struct Bounded {
    pub values: Vec<f64>,
    pub errors: Vec<f64>,
}

impl Bounded {
    /// The pre-activations of a layer with these activations: `e_i = sum_j |w_ij| e_j` and the rounding,
    /// which may be much less than norms say.
    pub fn forward(&self, layer: &FlatLayer) -> Bounded {
        let rounding = (layer.inputs as f64 + 3.0) * f64::EPSILON;
        let mut next = Bounded {
            values: layer.bias.clone(),
            errors: layer.bias.iter().map(|b| rounding * b.abs() + f64::MIN_POSITIVE).collect(),
        };
        let inputs = self.values.iter().zip(&self.errors).zip(layer.columns.chunks_exact(layer.stride()));
        for ((a, e), column) in inputs.filter(|((a, e), _)| **a != 0.0 || **e != 0.0) {
            let share = (e + rounding * a.abs()) * (1.0 + 1e-9);
            for ((value, error), w) in next.values.iter_mut().zip(&mut next.errors).zip(column) {
                *value += w * a;
                *error += w.abs() * share;
            }
        }
        next.errors.iter_mut().for_each(|error| *error *= 1.0 + 1e-9);
        next
    }

    /// The activations of a ReLU layer: what is negative for certain is zero.
    pub fn rectify(&mut self) {
        for (value, error) in self.values.iter_mut().zip(&mut self.errors) {
            if *value < -*error {
                (*value, *error) = (0.0, 0.0);
            }
            *value = value.max(0.0);
        }
    }
}

/// The hidden layers of a network.
pub(crate) struct FlatNetwork {
    pub layers: Vec<FlatLayer>,
    /// The number of ReLU neurons.
    pub neurons: usize,
    /// The number of words of a sign vector.
    pub words: usize,
    /// The longest row.
    pub widest: usize,
    /// The layer of every ReLU neuron.
    pub layer_of: Vec<u32>,
    /// The word and the bit of every ReLU neuron in a sign vector.
    places: Vec<(u32, u64)>,
}

impl FlatNetwork {
    pub fn new(network: &Network) -> Self {
        let mut flat = FlatNetwork {
            layers: Vec::new(),
            neurons: 0,
            words: 0,
            widest: 0,
            layer_of: Vec::new(),
            places: Vec::new(),
        };
        let (mut size, mut error, mut lipschitz) = ([0.0, 1.0], [0.0, 0.0], 1.0);
        for (l, layer) in network.hidden_layers().iter().enumerate() {
            let (norm, bias) = norms(layer);
            let g = 4.0 * (layer.input_width() as f64 + 2.0) * f64::EPSILON;
            for ((error, size), constant) in error.iter_mut().zip(&mut size).zip([bias, 0.0]) {
                *error = (norm * *error + g * (norm * *size + constant)) * (1.0 + 1e-9);
                *size = (norm * *size + constant) * (1.0 + 1e-9);
            }
            error[0] += f64::MIN_POSITIVE;
            lipschitz *= norm * (1.0 + 1e-9);
            flat.widest = flat.widest.max(layer.input_width());
            let relu = layer.activation() == Activation::Relu;
            let stride = layer.width().next_multiple_of(LANES);
            let mut columns = vec![0.0; stride * layer.input_width()];
            for (unit, row) in layer.weight().iter_rows().enumerate() {
                row.iter().enumerate().for_each(|(j, w)| columns[j * stride + unit] = *w);
            }
            let flat_layer = FlatLayer {
                columns,
                width: layer.width(),
                inputs: layer.input_width(),
                weight: layer.weight().entries().to_vec(),
                bias: layer.bias().to_vec(),
                relu,
                first: flat.neurons,
                word: flat.words,
                norm,
                bias_size: bias,
                lipschitz,
                error,
            };
            if relu {
                flat.neurons += layer.width();
                flat.words += flat_layer.words();
                flat.layer_of.extend(std::iter::repeat_n(l as u32, layer.width()));
                let place = |unit: usize| ((flat_layer.word + unit / 64) as u32, 1 << (unit % 64));
                flat.places.extend((0..layer.width()).map(place));
            }
            flat.layers.push(flat_layer);
        }
        flat
    }

    /// The layer and the unit of a ReLU neuron.
    #[inline]
    pub fn neuron(&self, number: usize) -> Neuron {
        let layer = self.layer_of[number] as usize;
        Neuron { layer, unit: number - self.layers[layer].first }
    }

    /// Whether a neuron is one of the positive ones.
    #[inline]
    pub fn is_on(&self, positive: &[u64], neuron: usize) -> bool {
        let (word, bit) = self.place(neuron);
        positive[word] & bit != 0
    }

    /// The positive ones of these signs, added to words.
    pub fn add_positive(&self, signs: &[Sign], words: &mut Vec<u64>) {
        for layer in self.layers.iter().filter(|layer| layer.relu) {
            let own = signs[layer.first..layer.first + layer.width].chunks(64);
            let word =
                |word: u64, (bit, sign): (usize, &Sign)| word | u64::from(*sign == Sign::Positive) << bit;
            words.extend(own.map(|block| block.iter().enumerate().fold(0, word)));
        }
    }

    /// The word and the bit of a neuron in a sign vector.
    #[inline]
    pub fn place(&self, neuron: usize) -> (usize, u64) {
        let (word, bit) = self.places[neuron];
        (word as usize, bit)
    }
}

/// The row-sum norm of the weights and the largest bias.
fn norms(layer: &Layer) -> (f64, f64) {
    let sum = |row: &[f64]| row.iter().map(|w| w.abs()).sum::<f64>();
    let norm = layer.weight().iter_rows().map(sum).fold(0.0, f64::max);
    let bias = layer.bias().iter().fold(0.0f64, |m, b| m.max(b.abs()));
    (norm * (1.0 + 1e-9), bias)
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Matrix;

    use super::*;

    /// Errors go through active neurons only, with the weights on the way.
    #[test]
    fn errors_follow_the_weights() {
        let layer = |rows: &[[f64; 2]], bias: Vec<f64>| {
            Layer::new(Matrix::from_rows(rows).unwrap(), bias, Activation::Relu)
        };
        let network = Network::new(vec![
            layer(&[[1.0, -2.0], [0.5, 0.5]], vec![0.0, -9.0]),
            layer(&[[3.0, 100.0]], vec![1.0]),
            Layer::new(Matrix::from_rows(&[[1.0]]).unwrap(), vec![0.0], Activation::Identity),
        ]);
        let flat = FlatNetwork::new(&network.unwrap());
        let close = |x: f64, y: f64| (x - y).abs() < 1e-8;
        let mut a = Bounded { values: vec![3.0, 1.0], errors: vec![1e-3, 1e-3] }.forward(&flat.layers[0]);
        assert!(a.values == [1.0, -7.0] && close(a.errors[0], 3e-3) && close(a.errors[1], 1e-3));
        a.rectify();
        assert_eq!((a.values[1], a.errors[1]), (0.0, 0.0));
        let a = a.forward(&flat.layers[1]);
        assert!(a.values == [4.0] && close(a.errors[0], 9e-3));
    }
}
