//! Backward rows in exact numbers.
//!
//! As lemma E4, with the coefficients behind a layer shortened: `F` grows by
//! `D (abs(c_z) . v_A + abs(c_d) . v_D)` for the stored parameters and by
//! `D (abs(c_a) . alpha + abs(c_e) . eps)` for the shortening, and by nothing else; `kappa` is rounded up. The
//! terms of signs are added exactly.

use fiberscope_core::{Activation as Function, ProductSum, Rational, RowMultipliers};

use super::super::Sign;
use super::super::relax::{Lines, Phase};
use super::{
    BOUND_BITS, Bounder, Bounds, ERROR_BITS, ExactBounder, ExactLayer, abs_dot, difference_band, number,
    phase, phases, relu_band, shorten, unit, up,
};
use crate::{End, Stop, go_on};

/// `z_slope z + d_slope d + offset`.
struct Line {
    z: Rational,
    d: Rational,
    offset: Rational,
}

impl ExactBounder {
    /// An upper bound of `sign (f_B - f_A)` of an output on the box of the last run, with multipliers of its
    /// signs.
    pub fn tighten(
        &self,
        (output, sign): (usize, i8),
        signs: (&[Sign], Option<&RowMultipliers>),
        proposals: &mut Bounder,
        stop: Stop,
    ) -> Result<Rational, End> {
        let outputs = self.layers[self.layers.len() - 1].bias_a.len();
        let c_z = vec![Rational::ZERO; outputs];
        let mut c_d = c_z.clone();
        c_d[output] = Rational::from(i64::from(sign.signum()));
        self.descend(self.layers.len() - 1, (c_z, c_d, Rational::ZERO), signs, proposals, stop)
    }

    /// An upper bound of `c_z . z + c_d . d + kappa` of layer `top` on the box of the last run, with multipliers
    /// of its signs.
    pub(super) fn descend(
        &self,
        top: usize,
        (mut c_z, mut c_d, mut kappa): (Vec<Rational>, Vec<Rational>, Rational),
        signs: (&[Sign], Option<&RowMultipliers>),
        proposals: &mut Bounder,
        stop: Stop,
    ) -> Result<Rational, End> {
        let mut error = Rational::ZERO;
        for (l, layer) in self.layers[..=top].iter().enumerate().rev() {
            go_on(stop)?;
            phases::weigh(signs, l, (&mut c_z, &mut c_d));
            let (alpha, eps) = self.sizes(l);
            let c_a = behind(&[(&c_z, &layer.weight_a), (&c_d, &layer.weight_d)]);
            let c_e = behind(&[(&c_d, &layer.weight_b)]);
            let mut constant = ProductSum::default();
            let terms = c_z.iter().zip(&layer.bias_a).chain(c_d.iter().zip(&layer.bias_d));
            terms.for_each(|(c, b)| constant.add(c, b));
            kappa = up(&kappa + &constant.to_rational(), BOUND_BITS);
            let stored = stored_error((&c_z, &c_d), layer, (&alpha, &eps));
            let shortened = &abs_dot(c_a.iter().zip(&alpha)) + &abs_dot(c_e.iter().zip(&eps));
            error = up(&error + &(&unit() * &(&stored + &shortened)), ERROR_BITS);
            if l == 0 {
                let ends = c_a.iter().zip(self.lo.iter().zip(&self.hi));
                let value: Rational = ends.map(|(c, (lo, hi))| (c * lo).max(c * hi)).sum();
                return Ok(&(&value + &kappa) + &error);
            }
            let lines = proposals.lines(l - 1).to_vec();
            let before = &self.layers[l - 1];
            let mut offset = Rational::ZERO;
            (c_z, c_d) = (Vec::new(), Vec::new());
            for (i, (a, e)) in c_a.iter().zip(&c_e).enumerate() {
                let (bounds, near) = (&self.bounds[l - 1][i], &lines[i]);
                let (of_a, of_e) = match before.activation {
                    Function::Identity => identity_lines(),
                    Function::Relu => {
                        (line_of_a(a.is_positive(), bounds, near), line_of_e(e.is_positive(), bounds, near))
                    }
                };
                c_z.push(&(a * &of_a.z) + &(e * &of_e.z));
                c_d.push(e * &of_e.d);
                offset += &(a * &of_a.offset);
                offset += &(e * &of_e.offset);
            }
            kappa = up(&kappa + &offset, BOUND_BITS);
        }
        unreachable!("a network has a first layer")
    }

    /// `alpha >= abs(a)` and `eps >= abs(e)` of the inputs of layer `l`.
    fn sizes(&self, l: usize) -> (Vec<Rational>, Vec<Rational>) {
        let size = |(lower, upper): &(Rational, Rational)| lower.abs().max(upper.abs());
        let Some(before) = l.checked_sub(1) else {
            let alpha = self.lo.iter().zip(&self.hi).map(|(lo, hi)| lo.abs().max(hi.abs())).collect();
            return (alpha, vec![Rational::ZERO; self.lo.len()]);
        };
        let alpha = |bounds: &Bounds| match self.layers[before].activation {
            Function::Relu => bounds.z.1.clone().max(Rational::ZERO),
            Function::Identity => size(&bounds.z),
        };
        let bounds = &self.bounds[before];
        (bounds.iter().map(alpha).collect(), bounds.iter().map(|bounds| size(&bounds.d)).collect())
    }
}

/// `sum c M` over these rows and matrices, shortened.
fn behind(parts: &[(&Vec<Rational>, &Vec<Vec<Rational>>)]) -> Vec<Rational> {
    let columns = parts[0].1[0].len();
    let mut sums = vec![ProductSum::default(); columns];
    for (c, row) in parts.iter().flat_map(|(c, matrix)| c.iter().zip(*matrix)) {
        if !c.is_zero() {
            sums.iter_mut().zip(row).for_each(|(sum, w)| sum.add(c, w));
        }
    }
    sums.iter().map(|sum| shorten(&sum.to_rational())).collect()
}

/// `abs(c_z) . v_A + abs(c_d) . v_D`.
fn stored_error(
    (c_z, c_d): (&[Rational], &[Rational]),
    layer: &ExactLayer,
    (alpha, eps): (&[Rational], &[Rational]),
) -> Rational {
    let mut sum = Rational::ZERO;
    for i in 0..c_z.len() {
        if !c_z[i].is_zero() {
            let v = &abs_dot(layer.weight_a[i].iter().zip(alpha)) + &layer.bias_a[i].abs();
            sum += &(&c_z[i].abs() * &v);
        }
        if !c_d[i].is_zero() {
            let from_a = abs_dot(layer.weight_d[i].iter().zip(alpha));
            let from_e = abs_dot(layer.weight_b[i].iter().zip(eps));
            let v = &(&from_a + &from_e) + &layer.bias_d[i].abs();
            sum += &(&c_d[i].abs() * &v);
        }
        sum = up(sum, ERROR_BITS);
    }
    sum
}

fn identity_lines() -> (Line, Line) {
    let (zero, one) = (Rational::ZERO, Rational::ONE);
    let a = Line { z: one.clone(), d: zero.clone(), offset: zero.clone() };
    (a, Line { z: zero.clone(), d: one, offset: zero })
}

/// Slope and height of an upper line of relu, and the slope of a lower line through 0; an open neuron takes
/// the slopes that are proposed.
fn triangle(bounds: &(Rational, Rational), (chord, flat): (f64, f64)) -> (Rational, Rational, Rational) {
    match phase(bounds) {
        Phase::Off => (Rational::ZERO, Rational::ZERO, Rational::ZERO),
        Phase::On => (Rational::ONE, Rational::ZERO, Rational::ONE),
        Phase::Open => {
            let chord = number(chord);
            let height = relu_band(&chord, bounds);
            (chord, height, number(flat))
        }
    }
}

fn line_of_a(upper: bool, bounds: &Bounds, near: &Lines) -> Line {
    let (chord, height, flat) = triangle(&bounds.z, near.triangle_a);
    let (z, offset) = if upper { (chord, height) } else { (flat, Rational::ZERO) };
    Line { z, d: Rational::ZERO, offset }
}

fn line_of_e(upper: bool, bounds: &Bounds, near: &Lines) -> Line {
    let (chord_a, height_a, flat_a) = triangle(&bounds.z, near.triangle_a);
    let (chord_b, height_b, flat_b) = triangle(&bounds.y, near.triangle_b);
    match (upper, near.band) {
        (true, (false, _)) => Line { z: &chord_b - &flat_a, d: chord_b, offset: height_b },
        (false, (_, false)) => Line { z: &flat_b - &chord_a, d: flat_b, offset: -height_a },
        (true, _) => {
            let slope = number(near.e_upper.d);
            Line { offset: difference_band(&slope, &bounds.d).0, z: Rational::ZERO, d: slope }
        }
        (false, _) => {
            let slope = number(near.e_lower.d);
            Line { offset: -difference_band(&slope, &bounds.d).1, z: Rational::ZERO, d: slope }
        }
    }
}
