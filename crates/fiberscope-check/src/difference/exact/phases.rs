//! Signs of hidden neurons, exactly.

use fiberscope_core::{Operand, Rational, RowMultipliers};

use super::super::Sign;
use super::Bounds;

/// Ends the bounds of layer `l` at 0 where signs are known, and lets `z + d = y` tighten them; false if no
/// input is left.
pub fn clip(bounds: &mut [Bounds], l: usize, signs: &[Sign]) -> bool {
    let here = || signs.iter().filter(|sign| sign.neuron.layer == l);
    for sign in here() {
        let Bounds { z, y, .. } = &mut bounds[sign.neuron.unit];
        let (lower, upper) = if sign.operand == Operand::A { z } else { y };
        let end = if sign.on { lower } else { upper };
        if end.is_negative() == sign.on {
            *end = Rational::ZERO;
        }
    }
    here().all(|sign| agree(&mut bounds[sign.neuron.unit]))
}

/// Lets `z + d = y` tighten the bounds of a neuron; false if none of its values is left.
pub fn agree(Bounds { z, d, y }: &mut Bounds) -> bool {
    meet(d, &y.0 - &z.1, &y.1 - &z.0);
    meet(z, &y.0 - &d.1, &y.1 - &d.0);
    meet(y, &z.0 + &d.0, &z.1 + &d.1);
    [z, d, y].iter().all(|ends| ends.0 <= ends.1)
}

fn meet(ends: &mut (Rational, Rational), lower: Rational, upper: Rational) {
    if lower > ends.0 {
        ends.0 = lower;
    }
    if upper < ends.1 {
        ends.1 = upper;
    }
}

/// Gives a row of layer `l` the terms of its signs.
pub fn weigh(
    (signs, multipliers): (&[Sign], Option<&RowMultipliers>),
    l: usize,
    (c_z, c_d): (&mut [Rational], &mut [Rational]),
) {
    let Some(multipliers) = multipliers else { return };
    for (sign, &part) in signs.iter().zip(&multipliers.parts).filter(|(sign, _)| sign.neuron.layer == l) {
        let part = if sign.on { i128::from(part) } else { -i128::from(part) };
        let beta = Rational::dyadic(part, i32::from(multipliers.exponent).into());
        c_z[sign.neuron.unit] += &beta;
        if sign.operand == Operand::B {
            c_d[sign.neuron.unit] += &beta;
        }
    }
}
