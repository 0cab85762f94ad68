//! The same bounds in numbers of about 200 bits.
//!
//! The forms are those of the forward pass; a sum of products is taken exactly and then shortened to a
//! mantissa of [`BITS`] bits, which changes it by at most `2^-200` of itself, so by at most `D = 2^-199` of
//! what is stored. Parameters are stored likewise. All else is exact, but for errors and bounds, which are
//! rounded outward. With the words of lemma E1,
//!
//! ```text
//! E_z = sum_k abs(W_A) (E_a + D (N_a + E_a)) + D abs(b_A) + D N_z,
//! E_d = sum_k abs(dW) (E_a + D (N_a + E_a)) + abs(W_B) (E_e + D (N_e + E_e)) + D abs(db) + D N_d,
//! ```
//!
//! where the last term is for the shortening of the layer's own coefficients, and behind a ReLU
//! `E_a = slope E_z` and so on, as nothing is rounded there. Whether a neuron is off, on or open is decided
//! by these bounds. Which slopes an open neuron has, and which form its `e`, are proposals of the doubles:
//! every slope between 0 and 1 is as true as any other (R4, R5).

mod decision;
mod inner;
mod phases;
mod row;

use fiberscope_core::{Activation as Function, ExactNetwork, Layer, ProductSum, Rational};

use super::relax::{self, Change, Phase};
use super::{Bounder, LayerBounds, Sign, region};
use crate::{End, Stop, go_on};

/// The length of a mantissa, of an error, and of a bound.
const BITS: u32 = 202;
const ERROR_BITS: u32 = 64;
const BOUND_BITS: u32 = 128;

/// A layer of both networks: matrices by rows.
struct ExactLayer {
    weight_a: Vec<Vec<Rational>>,
    weight_b: Vec<Vec<Rational>>,
    weight_d: Vec<Vec<Rational>>,
    bias_a: Vec<Rational>,
    bias_d: Vec<Rational>,
    activation: Function,
}

/// An affine form: centre and coefficients of symbols (zero beyond the end), its error `E` and a bound `N` of
/// the sum of its coefficients.
#[derive(Clone, Default)]
struct Form {
    terms: Vec<Rational>,
    error: Rational,
    norm: Rational,
}

/// Bounds of a neuron.
#[derive(Clone)]
pub(super) struct Bounds {
    pub z: (Rational, Rational),
    pub d: (Rational, Rational),
    pub y: (Rational, Rational),
}

/// Exact bounds for a pair, box after box.
pub(super) struct ExactBounder {
    layers: Vec<ExactLayer>,
    pub(super) bounds: Vec<Vec<Bounds>>,
    lo: Vec<Rational>,
    hi: Vec<Rational>,
}

/// A number that differs from this one by at most `D` of itself.
fn shorten(x: &Rational) -> Rational {
    x.round_up(BITS)
}

/// `D`.
fn unit() -> Rational {
    Rational::dyadic(1, -199)
}

fn up(x: Rational, bits: u32) -> Rational {
    x.round_up(bits)
}

fn down(x: Rational, bits: u32) -> Rational {
    -(-x).round_up(bits)
}

/// The exact value of a double of a box or of a slope, which are finite.
fn number(x: f64) -> Rational {
    Rational::from_f64(x).expect("ends of boxes and slopes are finite")
}

fn half() -> Rational {
    Rational::dyadic(1, -1)
}

fn phase((lower, upper): &(Rational, Rational)) -> Phase {
    match () {
        () if !upper.is_positive() => Phase::Off,
        () if !lower.is_negative() => Phase::On,
        () => Phase::Open,
    }
}

/// R4: the largest value of `relu(t) - slope t`.
fn relu_band(slope: &Rational, (lower, upper): &(Rational, Rational)) -> Rational {
    (-(slope * lower)).max(&(&Rational::ONE - slope) * upper)
}

/// R5: `(H, Q)`.
fn difference_band(slope: &Rational, (lower, upper): &(Rational, Rational)) -> (Rational, Rational) {
    let other = &Rational::ONE - slope;
    let above = (&other * upper).max(-(slope * lower)).max(Rational::ZERO);
    let below = (-(&other * lower)).max(slope * upper).max(Rational::ZERO);
    (above, below)
}

impl ExactLayer {
    fn new(a: &Layer<Rational>, b: &Layer<Rational>) -> Self {
        let rows = |layer: &Layer<Rational>| -> Vec<Vec<Rational>> {
            layer.weight().iter_rows().map(|row| row.iter().map(shorten).collect()).collect()
        };
        let difference = |(b, a): (&Rational, &Rational)| shorten(&(b - a));
        let weights = b.weight().iter_rows().zip(a.weight().iter_rows());
        ExactLayer {
            weight_a: rows(a),
            weight_b: rows(b),
            weight_d: weights.map(|(b, a)| b.iter().zip(a).map(difference).collect()).collect(),
            bias_a: a.bias().iter().map(shorten).collect(),
            bias_d: b.bias().iter().zip(a.bias()).map(difference).collect(),
            activation: a.activation(),
        }
    }
}

/// The sum of `abs(w) t`.
fn abs_dot<'x>(terms: impl Iterator<Item = (&'x Rational, &'x Rational)>) -> Rational {
    let mut sum = ProductSum::default();
    for (w, t) in terms.filter(|(w, t)| !w.is_zero() && !t.is_zero()) {
        if w.is_negative() { sum.subtract(w, t) } else { sum.add(w, t) }
    }
    sum.to_rational()
}

fn abs_sum<'x>(terms: impl Iterator<Item = &'x Rational>) -> Rational {
    abs_dot(terms.map(|x| (x, &Rational::ONE)))
}

impl ExactBounder {
    pub fn new([a, b]: &[ExactNetwork; 2]) -> Self {
        let layers = a.layers().iter().zip(b.layers()).map(|(a, b)| ExactLayer::new(a, b)).collect();
        ExactBounder { layers, bounds: Vec::new(), lo: Vec::new(), hi: Vec::new() }
    }

    /// An upper bound of `sign (f_B - f_A)` of an output.
    pub fn output_bound(&self, output: usize, sign: i8) -> Rational {
        let (lower, upper) = &self.bounds[self.bounds.len() - 1][output].d;
        if sign < 0 { -lower } else { upper.clone() }
    }

    /// Bounds all layers on a box with signs which the doubles have bounded before, with rows for open neurons
    /// if they have done that; false if no input has these signs.
    pub fn run(
        &mut self,
        (lo, hi): (&[f64], &[f64]),
        signs: &[Sign],
        proposals: &mut Bounder,
        stop: Stop,
    ) -> Result<bool, End> {
        let exact = |ends: &[f64]| ends.iter().map(|&x| number(x)).collect::<Vec<_>>();
        (self.lo, self.hi) = (exact(lo), exact(hi));
        let (mut a, mut columns) = inputs(lo, hi);
        let mut e = vec![Form::default(); a.len()];
        self.bounds.clear();
        for l in 0..self.layers.len() {
            let layer = &self.layers[l];
            let (mut z, mut d) = (Vec::new(), Vec::new());
            for i in 0..layer.bias_a.len() {
                go_on(stop)?;
                z.push(dense(&[(&layer.weight_a[i], &a)], &layer.bias_a[i], columns));
                let parts = [(&layer.weight_d[i], &a), (&layer.weight_b[i], &e)];
                d.push(dense(&parts, &layer.bias_d[i], columns));
            }
            let mut bounds: Vec<Bounds> = z.iter().zip(&d).map(|(z, d)| bounds(z, d)).collect();
            if !phases::clip(&mut bounds, l, signs) {
                return Ok(false);
            }
            if l + 1 < self.layers.len() {
                if proposals.is_close() && !self.look_closely((&mut bounds, l), proposals, stop)? {
                    return Ok(false);
                }
                let proposed = proposals.layer(l);
                (a, e) = (Vec::new(), Vec::new());
                for (i, (z, d)) in z.iter().zip(&d).enumerate() {
                    let (of_a, of_e) = match layer.activation {
                        Function::Identity => (z.clone(), d.clone()),
                        Function::Relu => activate((z, d), &bounds[i], (&proposed, i), &mut columns),
                    };
                    a.push(of_a);
                    e.push(of_e);
                }
            }
            self.bounds.push(bounds);
        }
        Ok(true)
    }
}

/// The forms of the inputs, and how many columns there are.
fn inputs(lo: &[f64], hi: &[f64]) -> (Vec<Form>, usize) {
    let mut columns = 1;
    let form = |(&lo, &hi): (&f64, &f64)| {
        let c = region::centre(lo, hi).filter(|_| lo < hi).unwrap_or(lo);
        let [from, c, to] = [lo, c, hi].map(number);
        let radius = (&to - &c).max(&c - &from);
        let norm = up(&c.abs() + &radius, ERROR_BITS);
        let mut terms = vec![c];
        if !radius.is_zero() {
            terms.resize(columns, Rational::ZERO);
            terms.push(radius);
            columns += 1;
        }
        Form { terms, error: Rational::ZERO, norm }
    };
    (lo.iter().zip(hi).map(form).collect(), columns)
}

/// The form of `sum W f + b` for one row of each matrix.
fn dense(parts: &[(&Vec<Rational>, &Vec<Form>)], bias: &Rational, columns: usize) -> Form {
    let mut sums = vec![ProductSum::default(); columns];
    let (mut error, unit) = (ProductSum::default(), unit());
    sums[0].add(bias, &Rational::ONE);
    error.add(&bias.abs(), &unit);
    for (w, form) in parts.iter().flat_map(|(row, forms)| row.iter().zip(*forms)) {
        if w.is_zero() {
            continue;
        }
        for (sum, term) in sums.iter_mut().zip(&form.terms).filter(|(_, term)| !term.is_zero()) {
            sum.add(w, term);
        }
        let size = &form.error + &(&unit * &(&form.norm + &form.error));
        error.add(&w.abs(), &up(size, ERROR_BITS));
    }
    let terms: Vec<Rational> = sums.iter().map(|sum| shorten(&sum.to_rational())).collect();
    let norm = up(abs_sum(terms.iter()), ERROR_BITS);
    error.add(&norm, &unit);
    Form { error: up(error.to_rational(), ERROR_BITS), terms, norm }
}

fn bounds(z: &Form, d: &Form) -> Bounds {
    let around = |centre: &Rational, spread: Rational| {
        (down(centre - &spread, BOUND_BITS), up(centre + &spread, BOUND_BITS))
    };
    let spread = |form: &Form| &abs_sum(form.terms[1..].iter()) + &form.error;
    let sums: Vec<Rational> = z.terms.iter().zip(&d.terms).map(|(z, d)| z + d).collect();
    let of_y = &(&abs_sum(sums[1..].iter()) + &z.error) + &d.error;
    Bounds { z: around(&z.terms[0], spread(z)), d: around(&d.terms[0], spread(d)), y: around(&sums[0], of_y) }
}

/// `factor form`, with its error and norm.
fn scaled(form: &Form, factor: &Rational) -> Form {
    Form {
        terms: form.terms.iter().map(|x| x * factor).collect(),
        error: up(&form.error * factor, ERROR_BITS),
        norm: up(&form.norm * factor, ERROR_BITS),
    }
}

impl Form {
    /// Adds `offset + radius s` with the symbol of column `column`.
    fn widen(&mut self, offset: &Rational, radius: &Rational, column: usize) {
        if self.terms.is_empty() {
            self.terms.push(Rational::ZERO);
        }
        self.terms[0] += offset;
        self.terms.resize(column, Rational::ZERO);
        self.terms.push(radius.clone());
        self.norm = up(&(&self.norm + &offset.abs()) + radius, ERROR_BITS);
    }

    /// Adds another form, or subtracts it.
    fn combine(&mut self, other: &Form, subtract: bool) {
        if self.terms.len() < other.terms.len() {
            self.terms.resize(other.terms.len(), Rational::ZERO);
        }
        for (x, y) in self.terms.iter_mut().zip(&other.terms) {
            if subtract { *x -= y } else { *x += y }
        }
        self.error = up(&self.error + &other.error, ERROR_BITS);
        self.norm = up(&self.norm + &other.norm, ERROR_BITS);
    }
}

/// The forms of `a` and `e` of a ReLU neuron.
fn activate(
    (z, d): (&Form, &Form),
    bounds: &Bounds,
    (proposed, i): (&LayerBounds, usize),
    columns: &mut usize,
) -> (Form, Form) {
    let mut symbol = || {
        *columns += 1;
        *columns - 1
    };
    let doubles = |lower: &[f64], upper: &[f64]| (lower[i], upper[i]);
    let (z_near, y_near) = (doubles(proposed.zl, proposed.zu), doubles(proposed.yl, proposed.yu));
    let (of_a, of_b) = (phase(&bounds.z), phase(&bounds.y));
    let a = match of_a {
        Phase::Off => Form::default(),
        Phase::On => z.clone(),
        Phase::Open => {
            let slope = number(relax::chord(z_near.0, z_near.1));
            let radius = &relu_band(&slope, &bounds.z) * &half();
            let mut a = scaled(z, &slope);
            a.widen(&radius, &radius, symbol());
            a
        }
    };
    let d_near = doubles(proposed.dl, proposed.du);
    let band = match (of_a, of_b) {
        (Phase::Off, Phase::Off) => return (a, Form::default()),
        (Phase::On, Phase::On) => return (a, d.clone()),
        (Phase::Off, Phase::On) | (Phase::On, Phase::Off) => None,
        _ => match relax::change(&relax::activation(z_near.0, z_near.1), d_near, y_near) {
            Change::Band { slope, .. } => Some(slope),
            Change::Apart { .. } => None,
            Change::Zero | Change::Same => Some(0.5),
        },
    };
    let mut e;
    if let Some(near) = band {
        let slope = number(near);
        let (above, below) = difference_band(&slope, &bounds.d);
        e = scaled(d, &slope);
        e.widen(&(&(&above - &below) * &half()), &(&(&above + &below) * &half()), symbol());
    } else {
        let mut y = z.clone();
        y.combine(d, false);
        e = match of_b {
            Phase::Off => Form::default(),
            Phase::On => y,
            Phase::Open => {
                let slope = number(relax::chord(y_near.0, y_near.1));
                let radius = &relu_band(&slope, &bounds.y) * &half();
                let mut e = scaled(&y, &slope);
                e.widen(&radius, &radius, symbol());
                e
            }
        };
        e.combine(&a, true);
    }
    (a, e)
}
