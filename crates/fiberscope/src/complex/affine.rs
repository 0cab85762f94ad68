//! The affine functions of a layer's units around a vertex, at a point: values, gradients, and bounds on the
//! errors of both.
//!
//! The signs of a vertex say which neurons are on, those that are zero being off; with them every
//! pre-activation is an affine function `z_j` on all of `R^d`, right at the vertex. A pass through the
//! network computes `z~_j` at a point `x` of doubles and the gradients `g~_j`, with
//!
//! ```text
//! |z~_j - z_j(x)| <= e_j,       e = |W| (e' + c |a~|) + c |b|,
//! |g~_j - g_j|_1  <= r_j,       r = |W| (r' + c |g~'|_1),
//! ```
//!
//! where `'` marks the layer before, `a~` the values of its neurons that are on, and `c = 2 (n + 3) u` with
//! `u = 2^-53` and `n` inputs. Only neurons that are on carry errors, and with their weights, so that bounds
//! do not multiply the norms of layers.
//!
//! In twofold arithmetic a value is a pair of doubles: what products and sums lose is added up beside them
//! [ogita2005accurate, Section 5]. With `S = |W| |a~| + |b|` the lost parts, and the low halves of `a~`, are
//! at most `(n + 3) u S` together, and adding them takes three roundings each: the error is at most
//! `(3 n + 4) (n + 3) u^2 S`, so that `c^2` takes the place of `c` in the first line.

use fiberscope_core::{two_product, two_sum};

use super::flat::{FlatLayer, LANES, SAFE, TINY, bits_of};

/// The precision of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Double,
    Twofold,
}

/// Slopes that are computed together. Columns beyond the last input are zero.
const GROUP: usize = 4;

/// The functions of the units of a layer: their values at the point, gradients, and bounds on the errors of
/// both.
#[derive(Default)]
pub(crate) struct Columns {
    pub stride: usize,
    pub value: Vec<f64>,
    pub low: Vec<f64>,
    pub error: Vec<f64>,
    pub slope_error: Vec<f64>,
    /// A column for every input.
    pub slope: Vec<f64>,
}

/// The units that are on, and what the sizes of their weights multiply.
#[derive(Default)]
pub(crate) struct Inputs {
    units: Vec<usize>,
    /// In the bounds on the errors of values and of slopes, for all units.
    error: Vec<f64>,
    slope_error: Vec<f64>,
}

/// A layer from the one below; values in twofold arithmetic or not.
struct Pass<'a, const TWOFOLD: bool> {
    layer: &'a FlatLayer,
    below: &'a Columns,
    inputs: &'a mut Inputs,
    own: &'a mut Columns,
    d: usize,
}

impl<const TWOFOLD: bool> pulp::WithSimd for Pass<'_, TWOFOLD> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let c = (self.layer.inputs as f64 + 3.0) * f64::EPSILON;
        let rounding = if TWOFOLD { c * c } else { c };
        self.inputs.weigh(self.below, self.d, [rounding, c]);
        self.own.fill::<TWOFOLD>(self.layer, self.below, self.inputs, self.d, rounding);
    }
}

impl Columns {
    /// The coordinates as functions.
    pub fn start(&mut self, x: &[f64]) {
        let d = x.len();
        self.resize(d.next_multiple_of(LANES), d);
        self.value[..d].copy_from_slice(x);
        for column in [&mut self.low, &mut self.error, &mut self.slope_error, &mut self.slope] {
            column.fill(0.0);
        }
        (0..d).for_each(|i| self.slope[i * self.stride + i] = 1.0);
    }

    fn resize(&mut self, stride: usize, d: usize) {
        self.stride = stride;
        for column in [&mut self.value, &mut self.low, &mut self.error, &mut self.slope_error] {
            column.resize(stride, 0.0);
        }
        self.slope.resize(stride * d.next_multiple_of(GROUP), 0.0);
    }

    /// The units of a layer from those below that are on.
    pub fn pass(
        &mut self,
        layer: &FlatLayer,
        below: &Columns,
        inputs: &mut Inputs,
        d: usize,
        precision: Precision,
    ) {
        self.clear(layer, d);
        let own = self;
        match precision {
            Precision::Double => pulp::Arch::new().dispatch(Pass::<false> { layer, below, inputs, own, d }),
            Precision::Twofold => pulp::Arch::new().dispatch(Pass::<true> { layer, below, inputs, own, d }),
        }
    }

    /// The constants of a layer, where its values start.
    fn clear(&mut self, layer: &FlatLayer, d: usize) {
        self.resize(layer.stride(), d);
        self.value[..layer.width].copy_from_slice(&layer.bias);
        self.value[layer.width..].fill(0.0);
    }

    /// The values of a layer, its gradients, and the bounds on errors.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "the number runs through several lists")]
    fn fill<const TWOFOLD: bool>(
        &mut self,
        layer: &FlatLayer,
        below: &Columns,
        inputs: &Inputs,
        d: usize,
        rounding: f64,
    ) {
        let stride = self.stride;
        for at in (0..stride).step_by(LANES) {
            let mut value = lanes(&self.value[at..]);
            let mut low = [0.0; LANES];
            let mut error = value.map(|b| rounding * b.abs() + TINY);
            let mut slope_error = [TINY; LANES];
            for &unit in &inputs.units {
                let w = lanes(&layer.columns[unit * stride + at..]);
                let (c, c_error, c_slope) = (below.value[unit], inputs.error[unit], inputs.slope_error[unit]);
                let c_low = below.low[unit];
                for i in 0..LANES {
                    if TWOFOLD {
                        let (product, lost) = two_product(c, w[i]);
                        let (sum, lost_too) = two_sum(value[i], product);
                        value[i] = sum;
                        low[i] += w[i].mul_add(c_low, lost + lost_too);
                    } else {
                        value[i] = w[i].mul_add(c, value[i]);
                    }
                    error[i] = w[i].abs().mul_add(c_error, error[i]);
                    slope_error[i] = w[i].abs().mul_add(c_slope, slope_error[i]);
                }
            }
            if TWOFOLD {
                for i in 0..LANES {
                    (value[i], low[i]) = two_sum(value[i], low[i]);
                }
            }
            self.value[at..at + LANES].copy_from_slice(&value);
            self.low[at..at + LANES].copy_from_slice(&low);
            self.error[at..at + LANES].copy_from_slice(&error);
            self.slope_error[at..at + LANES].copy_from_slice(&slope_error);
            for first in (0..d).step_by(GROUP) {
                let mut slopes = [[0.0; LANES]; GROUP];
                for &unit in &inputs.units {
                    let w = lanes(&layer.columns[unit * stride + at..]);
                    for k in 0..GROUP {
                        let c = below.slope[(first + k) * below.stride + unit];
                        for i in 0..LANES {
                            slopes[k][i] = w[i].mul_add(c, slopes[k][i]);
                        }
                    }
                }
                for (k, slope) in slopes.iter().enumerate() {
                    self.slope[(first + k) * stride + at..][..LANES].copy_from_slice(slope);
                }
            }
        }
    }
}

#[inline(always)]
fn lanes(list: &[f64]) -> [f64; LANES] {
    list[..LANES].try_into().expect("a column is filled up")
}

impl Inputs {
    /// The units of the layer before that are on.
    pub fn find(&mut self, layer: &FlatLayer, before: Option<&FlatLayer>, signs: &[u64]) {
        self.units.clear();
        match before.filter(|before| before.relu) {
            None => self.units.extend(0..layer.inputs),
            Some(before) => {
                for (word, &signs) in signs[before.word..before.word + before.words()].iter().enumerate() {
                    self.units.extend(bits_of(signs).map(|bit| 64 * word + bit as usize));
                }
            }
        }
    }

    /// What the sizes of weights multiply.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "the number runs through several lists")]
    fn weigh(&mut self, below: &Columns, d: usize, [rounding, slope_rounding]: [f64; 2]) {
        let stride = below.stride;
        self.error.resize(stride, 0.0);
        self.slope_error.resize(stride, 0.0);
        for at in (0..stride).step_by(LANES) {
            let [value, error, slope_error] =
                [&below.value, &below.error, &below.slope_error].map(|list| lanes(&list[at..]));
            let (mut own, mut own_slope, mut size) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
            for first in 0..d {
                let slope = lanes(&below.slope[first * stride + at..]);
                (0..LANES).for_each(|i| size[i] += slope[i].abs());
            }
            for i in 0..LANES {
                own[i] = (error[i] + rounding * value[i].abs()) * SAFE;
                own_slope[i] = (slope_error[i] + slope_rounding * size[i]) * SAFE;
            }
            self.error[at..at + LANES].copy_from_slice(&own);
            self.slope_error[at..at + LANES].copy_from_slice(&own_slope);
        }
    }
}
