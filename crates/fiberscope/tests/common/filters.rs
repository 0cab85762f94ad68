//! Convolutions written out as layers.

use fiberscope::{Activation, Layer, SparseMatrix};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Filters `[output][input][3 x 3]` on square images.
#[derive(Clone)]
pub struct Filters {
    pub kernel: Vec<Vec<[f64; 9]>>,
    pub bias: Vec<f64>,
}

impl Filters {
    /// Random numbers of single precision.
    pub fn random(outputs: usize, inputs: usize, rng: &mut ChaCha8Rng) -> Self {
        let mut number = || f64::from(rng.random_range(-1.0f32..1.0));
        let kernel =
            (0..outputs).map(|_| (0..inputs).map(|_| [(); 9].map(|()| number())).collect()).collect();
        Filters { kernel, bias: (0..outputs).map(|_| number()).collect() }
    }

    /// The convolution with padding 1 as a layer, from images of `size` to images of `size / stride`.
    pub fn layer(&self, size: usize, stride: usize) -> Layer {
        let (inputs, out) = (self.kernel[0].len(), size / stride);
        let mut weight = SparseMatrix::new(inputs * size * size);
        let mut bias = Vec::new();
        for (filter, &b) in self.kernel.iter().zip(&self.bias) {
            for (y, x) in (0..out).flat_map(|y| (0..out).map(move |x| (y, x))) {
                let mut row = Vec::new();
                for (c, taps) in filter.iter().enumerate() {
                    for (k, &w) in taps.iter().enumerate() {
                        let (v, u) = (y * stride + k / 3, x * stride + k % 3);
                        if (1..=size).contains(&v) && (1..=size).contains(&u) {
                            row.push((c * size * size + (v - 1) * size + u - 1, w));
                        }
                    }
                }
                weight.push_row(row);
                bias.push(b);
            }
        }
        Layer::new(weight, bias, Activation::Relu)
    }
}
