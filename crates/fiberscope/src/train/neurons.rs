//! Neurons in training: what they do on the data, and what gradient flow conserves of them.
//!
//! Along gradient flow `|w_out|^2 - |w_in|^2 - b^2` of a hidden neuron is constant [`crate::linear::Conserved`].
//! A step of gradient descent with rate `h` and gradient `g` adds `h^2 (|g_out|^2 - |g_in|^2 - g_b^2)` to it and
//! nothing else, as the quantity is a quadratic form whose derivative along `g` vanishes: steps of half the size,
//! twice as many, drift half as far. Momentum, weight decay and Adam follow other flows, that do not conserve it.

use crate::dimension::{LayerStates, NeuronState};
use crate::linear::Conserved;

/// The sign of a state in records: `~` active at some inputs, `+` at all, `0` at none.
pub fn state_sign(state: NeuronState) -> char {
    match state {
        NeuronState::Switching => '~',
        NeuronState::Active => '+',
        NeuronState::Inactive => '0',
    }
}

/// One text per layer, one sign per neuron.
pub fn state_signs(states: &[LayerStates]) -> Vec<String> {
    states.iter().map(|layer| layer.neurons.iter().copied().map(state_sign).collect()).collect()
}

/// The change of the diagonal, which ReLU networks conserve, neuron by neuron.
pub(super) fn changes(start: &Conserved, now: &Conserved) -> Vec<Vec<f64>> {
    let pairs = start.matrices().iter().zip(now.matrices());
    pairs.map(|(x, y)| (0..x.rows()).map(|i| y[(i, i)] - x[(i, i)]).collect()).collect()
}
