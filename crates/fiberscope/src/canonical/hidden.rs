//! Hidden hyperplanes in normal form.
//!
//! If layer `l+1` hides neuron `k` of layer `l` and none of its neurons is dead, neuron `k` may be translated
//! by any `t >= t_min`, and if layer `l+1` has one neuron only, the other neurons of layer `l` may be flipped
//! ([`fiberscope_core::Strictness`], [threelayer2026, Section 5]). The normal form has `t_min = 0` and, of
//! each neuron and its flip, the one that is dead by signs or else the one whose first nonzero entry is
//! positive.

use fiberscope_core::{Activation, ExactNetwork, Layer, Move, Rational, Strictness, least_translation};

use crate::orbit::lines::nonzero;

/// The moves that bring the hyperplane of a neuron of this layer, if the next layer hides one, into
/// normal form.
pub fn normalize(network: &ExactNetwork, layer: usize) -> Vec<Move> {
    let [rows, next] = [layer, layer + 1].map(|l| &network.layers()[l]);
    let Some(unit) = network.hidden_unit(layer, Strictness::Alive) else { return Vec::new() };
    let mut moves = Vec::new();
    let column = next.weights().dense_column(unit);
    let least = least_translation(next.bias().iter().zip(&column));
    if let Some(amount) = least.filter(|amount| !amount.is_zero()) {
        moves.push(Move::Translate { layer, unit, amount });
    }
    if next.width() == 1 {
        let behind_relu = layer > 0 && network.layers()[layer - 1].activation() == Activation::Relu;
        let wrong =
            |&i: &usize| i != unit && !next.weights().get(0, i).is_zero() && wrong_sign(rows, i, behind_relu);
        let flips: Vec<_> = (0..rows.width()).filter(wrong).collect();
        if !flips.is_empty() {
            moves.push(Move::Flip { layer, unit, flips });
        }
    }
    moves
}

fn wrong_sign(layer: &Layer<Rational>, unit: usize, nonnegative_inputs: bool) -> bool {
    let has = |sign: i8| nonzero(layer, unit).any(|(_, x)| x.signum() == sign);
    if nonnegative_inputs && !(has(1) && has(-1)) {
        return has(1);
    }
    nonzero(layer, unit).next().is_some_and(|(_, x)| x.is_negative())
}
