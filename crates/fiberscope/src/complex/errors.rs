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
//! in the next, since the rectifier enlarges no error. In deep networks norms multiply, so that every value has
//! its own bound `e = |W| (e' + c |a'|) + c |b|` there, `c = 2 (n + 3) u`, with the sizes of the weights; a neuron
//! that is off or zero at the vertex has no error.

use super::flat::{FlatLayer, LANES, SAFE, TINY, largest};
use super::skeleton::{Signs, Skeleton};

/// The errors of the next layer's values from those of its inputs `a`.
pub(crate) fn layer_errors(layer: &FlatLayer, a: &[f64], error: &mut [f64]) {
    pulp::Arch::new().dispatch(LayerErrors { layer, a, error });
}

/// The values of the next layer from its inputs, which have these errors, and the errors of all of them. What the
/// lists hold at first is overwritten.
pub(crate) fn forward_with_errors(
    layer: &FlatLayer,
    below: Option<&FlatLayer>,
    skeleton: &Skeleton,
    (a, e): (&[f64], &mut [f64]),
    (z, errors): (&mut Vec<f64>, &mut Vec<f64>),
) {
    let rounding = (layer.inputs as f64 + 3.0) * f64::EPSILON;
    let signs = below.filter(|below| below.relu).map(|below| (skeleton, below.word));
    pulp::Arch::new().dispatch(InputErrors { width: layer.inputs, a, signs, rounding, errors: e });
    let length = a.len() / layer.inputs * layer.width;
    z.resize(length, 0.0);
    errors.resize(length, 0.0);
    pulp::Arch::new().dispatch(Forward { layer, rounding, inputs: [a, e], outputs: [z, errors] });
}

// Loops for `pulp` are types of their own: a closure that may be called again is not inlined there, so that
// it would not get the machine's vectors.

struct LayerErrors<'a> {
    layer: &'a FlatLayer,
    a: &'a [f64],
    error: &'a mut [f64],
}

impl pulp::WithSimd for LayerErrors<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let layer = self.layer;
        let rounding = (layer.inputs as f64 + 3.0) * f64::EPSILON;
        for (row, error) in self.a.chunks_exact(layer.inputs).zip(self.error) {
            let size = layer.norm * largest(row) + layer.bias_size;
            *error = (layer.norm * *error + rounding * size) * SAFE + TINY;
        }
    }
}

/// What the sizes of weights multiply: errors and rounding of inputs, if they are on.
struct InputErrors<'a> {
    width: usize,
    a: &'a [f64],
    /// The skeleton and the first word of the inputs' signs, if they have some.
    signs: Option<(&'a Skeleton, usize)>,
    rounding: f64,
    errors: &'a mut [f64],
}

impl pulp::WithSimd for InputErrors<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let rows = self.a.chunks_exact(self.width).zip(self.errors.chunks_exact_mut(self.width));
        for (v, (a, errors)) in rows.enumerate() {
            let signs = self.signs.map(|(skeleton, word)| &skeleton.signs_of(v)[word..]);
            for (word, (a, errors)) in a.chunks(64).zip(errors.chunks_mut(64)).enumerate() {
                let positive = signs.map_or(u64::MAX, |signs| signs[word]);
                for (bit, (a, error)) in a.iter().zip(errors).enumerate() {
                    let is_on = positive >> bit & 1 == 1 || *a != 0.0;
                    *error = if is_on { (*error + self.rounding * a.abs()) * SAFE } else { 0.0 };
                }
            }
        }
    }
}

/// Sums of columns, and of their sizes. A product of matrices would have to be told both apart, and is slow where
/// layers are narrow.
struct Forward<'a> {
    layer: &'a FlatLayer,
    rounding: f64,
    /// What the weights multiply, and what their sizes multiply.
    inputs: [&'a [f64]; 2],
    outputs: [&'a mut [f64]; 2],
}

impl pulp::WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Forward { layer, rounding, inputs: [a, e], outputs: [z, errors] } = self;
        let (inputs, width, stride) = (layer.inputs, layer.width, layer.stride());
        let rows = a.chunks(2 * inputs).zip(e.chunks(2 * inputs));
        let outputs = z.chunks_mut(2 * width).zip(errors.chunks_mut(2 * width));
        for ((a, e), (z, errors)) in rows.zip(outputs) {
            // Two vertices at a time; the last may be alone.
            let second = a.len() - inputs;
            let (a, b) = (&a[..inputs], &a[second..]);
            let (e, f) = (&e[..inputs], &e[second..]);
            for at in (0..width).step_by(LANES) {
                let part = LANES.min(width - at);
                let (mut value, mut error) = ([0.0; LANES], [0.0; LANES]);
                value.iter_mut().zip(&layer.bias[at..]).for_each(|(value, bias)| *value = *bias);
                for i in 0..LANES {
                    error[i] = rounding * value[i].abs() + TINY;
                }
                let (mut other, mut other_error) = (value, error);
                let columns = layer.columns[at..].chunks(stride);
                for ((((column, a), b), e), f) in columns.zip(a).zip(b).zip(e).zip(f) {
                    let w: &[f64; LANES] = column[..LANES].try_into().expect("a column is filled up");
                    for i in 0..LANES {
                        value[i] = w[i].mul_add(*a, value[i]);
                        other[i] = w[i].mul_add(*b, other[i]);
                        error[i] = w[i].abs().mul_add(*e, error[i]);
                        other_error[i] = w[i].abs().mul_add(*f, other_error[i]);
                    }
                }
                for i in 0..LANES {
                    error[i] *= SAFE;
                    other_error[i] *= SAFE;
                }
                let second = z.len() - width;
                put(&mut z[at..at + part], value);
                put(&mut errors[at..at + part], error);
                put(&mut z[second + at..][..part], other);
                put(&mut errors[second + at..][..part], other_error);
            }
        }
    }
}

/// Writes as many numbers as there is room for; most often all.
#[inline(always)]
fn put(list: &mut [f64], numbers: [f64; LANES]) {
    match list.first_chunk_mut::<LANES>() {
        Some(all) => *all = numbers,
        None => list.iter_mut().zip(numbers).for_each(|(own, number)| *own = number),
    }
}

/// The positive values of every row as bits; lists the places (row, word, bits) where the error leaves a sign
/// open. There is an error for every row, or one for every value.
pub(crate) fn sign_words(
    z: &[f64],
    width: usize,
    error: &[f64],
    signs: &mut [Signs],
    doubtful: &mut Vec<(usize, usize, u64)>,
) {
    match error.len() == z.len() && width > 1 {
        true => pulp::Arch::new().dispatch(SignWords::<true> { z, width, error, signs, doubtful }),
        false => pulp::Arch::new().dispatch(SignWords::<false> { z, width, error, signs, doubtful }),
    }
}

struct SignWords<'a, const EACH: bool> {
    z: &'a [f64],
    width: usize,
    error: &'a [f64],
    signs: &'a mut [Signs],
    doubtful: &'a mut Vec<(usize, usize, u64)>,
}

impl<const EACH: bool> pulp::WithSimd for SignWords<'_, EACH> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let words = self.width.div_ceil(64);
        for (v, row) in self.z.chunks_exact(self.width).enumerate() {
            for (word, part) in row.chunks(64).enumerate() {
                let first = if EACH { v * self.width + 64 * word } else { v };
                let errors = &self.error[first..][..if EACH { part.len() } else { 1 }];
                let (mut positive, mut certain) = (0u64, 0u64);
                for (bit, &value) in part.iter().enumerate() {
                    let error = errors[if EACH { bit } else { 0 }];
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
