//! Signs of hidden neurons on the path to a leaf.
//!
//! Below a question for the sign of `t = z` (a neuron of A) or `t = z + d` (of B) all that is said holds for
//! the inputs with that sign only. There the bounds of `t` end at 0, so the neuron is on or off; and with any
//! `beta >= 0` a row may be given the term `+ beta t` (where `t >= 0`) or `- beta t` (where `t <= 0`), which
//! is not negative: the row stays an upper bound. Rounding the sum `c + beta` costs `u abs(fl(c + beta))` times a
//! bound of what it multiplies (E5).

use fiberscope_core::{Neuron, Operand};

use super::U;
use super::products::Kept;

/// What is known about the sign of a hidden neuron's pre-activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sign {
    /// Whose neuron it is.
    pub operand: Operand,
    /// The neuron; the layer is a hidden one with ReLU.
    pub neuron: Neuron,
    /// Whether the pre-activation is `>= 0`; otherwise it is `<= 0`.
    pub on: bool,
}

impl Sign {
    /// Whether this is about the same pre-activation.
    pub fn is_about(&self, operand: Operand, neuron: Neuron) -> bool {
        self.operand == operand && self.neuron == neuron
    }

    /// The sign as a factor.
    pub fn factor(&self) -> f64 {
        if self.on { 1.0 } else { -1.0 }
    }
}

/// Ends the bounds of layer `l` at 0 where signs are known, and lets `z + d = y` tighten them; false if no
/// input is left.
pub(super) fn clip(kept: &mut Kept, l: usize, signs: &[Sign]) -> bool {
    let mut possible = true;
    for sign in signs.iter().filter(|sign| sign.neuron.layer == l) {
        let i = sign.neuron.unit;
        let (lower, upper) = match sign.operand {
            Operand::A => (&mut kept.zl[i], &mut kept.zu[i]),
            Operand::B => (&mut kept.yl[i], &mut kept.yu[i]),
        };
        if sign.on {
            *lower = lower.max(0.0);
        } else {
            *upper = upper.min(0.0);
        }
    }
    for sign in signs.iter().filter(|sign| sign.neuron.layer == l) {
        possible &= agree(kept, sign.neuron.unit);
    }
    possible
}

/// Lets `z + d = y` tighten the bounds of a neuron; false if none of its values is left.
pub(super) fn agree(kept: &mut Kept, i: usize) -> bool {
    // Sums and differences are within half a unit of what is rounded.
    let (down, up) = (f64::next_down, f64::next_up);
    let Kept { zl, zu, dl, du, yl, yu, .. } = kept;
    (dl[i], du[i]) = (dl[i].max(down(yl[i] - zu[i])), du[i].min(up(yu[i] - zl[i])));
    (zl[i], zu[i]) = (zl[i].max(down(yl[i] - du[i])), zu[i].min(up(yu[i] - dl[i])));
    (yl[i], yu[i]) = (yl[i].max(down(zl[i] + dl[i])), yu[i].min(up(zu[i] + du[i])));
    zl[i] <= zu[i] && dl[i] <= du[i] && yl[i] <= yu[i]
}

/// Gives a row of layer `l` the terms of its signs, and says how much rounding may have cost.
pub(super) fn weigh(
    (signs, multipliers): (&[Sign], &[f64]),
    l: usize,
    (c_z, c_d): (&mut [f64], &mut [f64]),
    kept: &Kept,
) -> f64 {
    let mut sum = 0.0;
    for (sign, beta) in signs.iter().zip(multipliers).filter(|(sign, _)| sign.neuron.layer == l) {
        let i = sign.neuron.unit;
        c_z[i] += sign.factor() * beta;
        sum += c_z[i].abs() * kept.zl[i].abs().max(kept.zu[i].abs());
        if sign.operand == Operand::B {
            c_d[i] += sign.factor() * beta;
            sum += c_d[i].abs() * kept.dl[i].abs().max(kept.du[i].abs());
        }
    }
    U * sum
}
