//! Bounds on the errors of a layer's values at the vertices of a subdivision, and the signs that they leave
//! no doubt about.
//!
//! With row-sum norms, `u = 2^-53`, `n` inputs and `A` the largest activation, values that are off by `E_l`
//! in one layer are off by
//!
//! ```text
//! E_{l+1} = |W_{l+1}| E_l + 2 (n + 3) u (|W_{l+1}| A + |b_{l+1}|)
//! ```
//!
//! in the next: the rectifier enlarges no error, and a neuron that is off or zero at the vertex has none, so
//! that in deep layers the norm is taken of the columns of the others.

use super::flat::{FlatLayer, SAFE, TINY};
use super::rows::largest;
use super::skeleton::{Signs, Skeleton};

/// The errors of the next layer's values from those of its inputs `a`.
pub(crate) fn layer_errors(layer: &FlatLayer, a: &[f64], error: &mut [f64]) {
    pulp::Arch::new().dispatch(LayerErrors { layer, a, norms: &[layer.norm], error });
}

/// [`layer_errors`] where only neurons that are on count in the norm, which a product of matrices finds;
/// worth its time in deep layers.
pub(crate) fn deep_errors(
    layer: &FlatLayer,
    below: &FlatLayer,
    a: &[f64],
    skeleton: &Skeleton,
    error: &mut [f64],
) {
    let sizes: Vec<f64> = layer.weight.iter().map(|w| w.abs()).collect();
    let (mut on, mut sums, mut norms) = (Vec::new(), Vec::new(), Vec::new());
    for (block, (a, error)) in a.chunks(BLOCK * layer.inputs).zip(error.chunks_mut(BLOCK)).enumerate() {
        on.clear();
        for (i, a) in a.chunks_exact(layer.inputs).enumerate() {
            let signs = &skeleton.signs_of(block * BLOCK + i)[below.word..];
            let is_on = |(unit, a): (usize, &f64)| {
                let is_positive = !below.relu || signs[unit / 64] >> (unit % 64) & 1 == 1;
                f64::from(u8::from(is_positive || *a != 0.0))
            };
            on.extend(a.iter().enumerate().map(is_on));
        }
        sums.clear();
        sums.resize(error.len() * layer.width, 0.0);
        layer.add_products(error.len(), &on, &sizes, &mut sums);
        norms.clear();
        norms.extend(sums.chunks_exact(layer.width).map(|sums| largest(sums) * SAFE));
        pulp::Arch::new().dispatch(LayerErrors { layer, a, norms: &norms, error });
    }
}

/// How many vertices are worked on together.
const BLOCK: usize = 256;

// Loops for `pulp` are types of their own: a closure that may be called again is not inlined there, so that
// it would not get the machine's vectors.

struct LayerErrors<'a> {
    layer: &'a FlatLayer,
    a: &'a [f64],
    /// One for every row, or one for all.
    norms: &'a [f64],
    error: &'a mut [f64],
}

impl pulp::WithSimd for LayerErrors<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let layer = self.layer;
        let rounding = (layer.inputs as f64 + 3.0) * f64::EPSILON;
        let norms = self.norms.iter().cycle();
        for ((row, norm), error) in self.a.chunks_exact(layer.inputs).zip(norms).zip(self.error) {
            let size = largest(row);
            *error = (norm * *error + rounding * (norm * size + layer.bias_size)) * SAFE + TINY;
        }
    }
}

/// The positive values of every row as bits; lists the places (row, word, bits) where the error leaves a sign
/// open.
pub(crate) fn sign_words(
    z: &[f64],
    width: usize,
    error: &[f64],
    signs: &mut [Signs],
    doubtful: &mut Vec<(usize, usize, u64)>,
) {
    pulp::Arch::new().dispatch(SignWords { z, width, error, signs, doubtful });
}

struct SignWords<'a> {
    z: &'a [f64],
    width: usize,
    error: &'a [f64],
    signs: &'a mut [Signs],
    doubtful: &'a mut Vec<(usize, usize, u64)>,
}

impl pulp::WithSimd for SignWords<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let words = self.width.div_ceil(64);
        for (v, (row, &error)) in self.z.chunks_exact(self.width).zip(self.error).enumerate() {
            for (word, part) in row.chunks(64).enumerate() {
                let (mut positive, mut certain) = (0u64, 0u64);
                for (bit, &value) in part.iter().enumerate() {
                    positive |= u64::from(value > error) << bit;
                    certain |= u64::from(value.abs() > error) << bit;
                }
                self.signs[v * words + word] = Signs { positive, zero: 0 };
                let open = !certain & (u64::MAX >> (64 - part.len()));
                if open != 0 {
                    self.doubtful.push((v, word, open));
                }
            }
        }
    }
}

/// Whether a value is positive, if its error leaves no doubt; not a number is in doubt.
#[inline]
pub(crate) fn sure_sign(value: f64, error: f64) -> Option<bool> {
    if value > error {
        Some(true)
    } else if value < -error {
        Some(false)
    } else {
        None
    }
}
