//! Networks over the integers.
//!
//! Let `D_l` be a common denominator of `(W_l, b_l)` and `S_l = D_1 ... D_l`. With integer layers
//! `W'_l = D_l W_l`, `b'_l = S_l b_l` the pre-activations are `z'_l = S_l z_l`: integers in, integers out, no
//! fractions to reduce. Identity layers and inputs with a single value are multiplied out first.

use dashu_int::ops::{BitTest, Gcd};
use dashu_int::{IBig, Sign, UBig};
use fiberscope_algebra::rational::dot;
use fiberscope_core::{Activation, ExactNetwork, Interval, Matrix, ProductSum, Rational, Scalar};

use super::residue::{Number, Scale, power_of_two};

/// An affine function of the free inputs over the integers, and its approximation.
#[derive(Clone, Debug)]
pub struct Form {
    /// Gradient, then constant.
    pub exact: Box<[IBig]>,
    /// `exact * 2^-exponent`, the largest entry of the gradient in `[1/2, 1]`.
    pub approximate: Box<[f64]>,
    /// See `approximate`.
    pub exponent: i64,
}

impl Form {
    /// The function with these coefficients.
    pub fn new(exact: Vec<IBig>) -> Self {
        let gradient = &exact[..exact.len() - 1];
        let length = gradient.iter().map(IBig::bit_len).max().unwrap_or(0);
        let exponent = if length == 0 { exact[exact.len() - 1].bit_len() } else { length } as i64;
        let approximate = exact.iter().map(|x| scaled(x, exponent)).collect();
        Form { exact: exact.into(), approximate, exponent }
    }

    /// The constant.
    pub fn constant(&self) -> &IBig {
        &self.exact[self.exact.len() - 1]
    }

    /// Whether the gradient is zero.
    pub fn is_constant(&self) -> bool {
        self.exact[..self.exact.len() - 1].iter().all(IBig::is_zero)
    }
}

/// `x * 2^-exponent` to about 60 bits, kept within the doubles.
fn scaled(x: &IBig, exponent: i64) -> f64 {
    let (sign, words) = x.as_sign_words();
    let Some((&top, rest)) = words.split_last() else { return 0.0 };
    let next = rest.last().copied().unwrap_or(0);
    let top_exponent = 64 * rest.len() as i64 - exponent;
    let magnitude = top as f64 * power_of_two(top_exponent) + next as f64 * power_of_two(top_exponent - 64);
    let magnitude = magnitude.min(1e300);
    if sign == Sign::Negative { -magnitude } else { magnitude }
}

/// A ReLU layer, or the output layer, over the integers.
#[derive(Clone, Debug)]
pub struct IntegerLayer {
    /// One row per neuron.
    weight: Vec<Box<[IBig]>>,
    bias: Vec<IBig>,
    /// `S_l`.
    pub scale: IBig,
    /// The layer of the network that this is.
    pub source: usize,
}

impl IntegerLayer {
    /// The number of neurons.
    pub fn width(&self) -> usize {
        self.bias.len()
    }

    /// The weights and biases of the network, and the scale of functions of this layer.
    pub fn numbers(&self, before: Option<&IntegerLayer>) -> LayerNumbers {
        let scale = Scale::new(&self.scale);
        let of = |scale: &Scale, x: &IBig| {
            let length = x.bit_len() as i64;
            scale.times(x, scaled(x, length), length)
        };
        let denominator = match before {
            Some(before) => Scale::new(&(&self.scale / &before.scale)),
            None => scale,
        };
        LayerNumbers {
            weight: self.weight.iter().map(|row| row.iter().map(|w| of(&denominator, w)).collect()).collect(),
            bias: self.bias.iter().map(|b| of(&scale, b)).collect(),
            scale,
        }
    }

    /// The pre-activations of the first layer.
    pub fn input_forms(&self) -> Vec<Form> {
        let rows = self.weight.iter().zip(&self.bias);
        rows.map(|(row, bias)| Form::new(row.iter().chain([bias]).cloned().collect())).collect()
    }

    /// The pre-activations of this layer behind masked functions of the layer before.
    pub fn forms(&self, before: &[Form], on: &[bool]) -> Vec<Form> {
        let active: Vec<(usize, &Form)> = before.iter().enumerate().filter(|(i, _)| on[*i]).collect();
        let length = before.first().map_or(1, |form| form.exact.len());
        let mut sums = vec![ProductSum::of_integers(); length];
        let form = |unit: usize| {
            sums.fill_with(ProductSum::of_integers);
            for (i, form) in active.iter().filter(|(i, _)| !self.weight[unit][*i].is_zero()) {
                let weight = &self.weight[unit][*i];
                sums.iter_mut()
                    .zip(form.exact.iter())
                    .for_each(|(sum, x)| sum.add_integers(weight, x, false));
            }
            let mut exact: Vec<IBig> = sums.iter().map(ProductSum::to_integer).collect();
            exact[length - 1] += &self.bias[unit];
            Form::new(exact)
        };
        (0..self.width()).map(form).collect()
    }
}

/// A layer by residues and doubles.
#[derive(Clone, Debug)]
pub struct LayerNumbers {
    /// One row per neuron.
    pub weight: Vec<Vec<Number>>,
    /// One number per neuron.
    pub bias: Vec<Number>,
    /// What functions of the layer are divided by.
    pub scale: Scale,
}

/// A network over the integers: ReLU layers, then the output layer.
#[derive(Clone, Debug)]
pub struct IntegerNetwork {
    /// The layers.
    pub layers: Vec<IntegerLayer>,
}

impl IntegerNetwork {
    /// The network as a function of the inputs of the domain that are not fixed to one value.
    pub fn new(network: &ExactNetwork, sides: &[Interval]) -> Self {
        let mut pending = sides.iter().any(is_fixed).then(|| substitution(sides));
        let mut scale = IBig::ONE;
        let mut layers = Vec::new();
        for (source, layer) in network.layers().iter().enumerate() {
            let (weight, bias) = match pending.take() {
                Some((inner_weight, inner_bias)) => (
                    Scalar::product(layer.weight(), &inner_weight).expect("layers chain"),
                    (0..layer.width())
                        .map(|i| &dot(layer.weight().row(i), &inner_bias) + &layer.bias()[i])
                        .collect(),
                ),
                None => (layer.weight().clone(), layer.bias().to_vec()),
            };
            let last = source + 1 == network.depth();
            if layer.activation() == Activation::Identity && !last {
                pending = Some((weight, bias));
            } else {
                layers.push(integer_layer(&weight, &bias, &mut scale, source));
            }
        }
        IntegerNetwork { layers }
    }

    /// The number of ReLU layers.
    pub fn depth(&self) -> usize {
        self.layers.len() - 1
    }
}

/// Whether the interval is a single point.
pub fn is_fixed(side: &Interval) -> bool {
    side.lower.is_some() && side.lower == side.upper
}

/// The inputs as an affine map of the free ones.
fn substitution(sides: &[Interval]) -> (Matrix<Rational>, Vec<Rational>) {
    let free: Vec<usize> = (0..sides.len()).filter(|&i| !is_fixed(&sides[i])).collect();
    let entry = |i: usize, j: usize| if free[j] == i { Rational::ONE } else { Rational::ZERO };
    let fixed = |side: &Interval| match &side.lower {
        Some(value) if is_fixed(side) => value.clone(),
        _ => Rational::ZERO,
    };
    (Matrix::from_fn(sides.len(), free.len(), entry), sides.iter().map(fixed).collect())
}

fn integer_layer(
    weight: &Matrix<Rational>,
    bias: &[Rational],
    scale: &mut IBig,
    source: usize,
) -> IntegerLayer {
    let denominator = common_denominator(weight.entries().iter().chain(bias));
    let before = scale.clone();
    *scale = &*scale * &denominator;
    let row = |i: usize| weight.row(i).iter().map(|w| times(w, &denominator)).collect();
    let weight: Vec<Box<[IBig]>> = (0..weight.rows()).map(row).collect();
    IntegerLayer {
        weight,
        bias: bias.iter().map(|b| times(b, &denominator) * &before).collect(),
        scale: scale.clone(),
        source,
    }
}

/// A positive integer whose product with each of the numbers is an integer.
pub fn common_denominator<'a>(numbers: impl Iterator<Item = &'a Rational>) -> IBig {
    let (mut odd, mut shift) = (UBig::ONE, 0i64);
    for number in numbers {
        let (n, d, e) = number.to_big_parts();
        if !n.is_zero() {
            if d != UBig::ONE {
                let common = (&odd).gcd(&d);
                odd *= d / common;
            }
            shift = shift.max(-e);
        }
    }
    IBig::from(odd) << shift as usize
}

/// The integer `number * factor`.
pub fn times(number: &Rational, factor: &IBig) -> IBig {
    let (n, d, e) = number.to_big_parts();
    let product = n * factor;
    let product = if d == UBig::ONE { product } else { product / IBig::from(d) };
    if e >= 0 { product << e as usize } else { product >> -e as usize }
}
