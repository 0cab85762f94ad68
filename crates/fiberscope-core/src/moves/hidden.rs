//! Hyperplanes that the next layer hides: translation and flips.
//!
//! Layer `l+1` *hides* neuron `k` of layer `l` if each of its neurons `j` that is not dead has
//! `W[j,k] > 0`, `W[j,i] <= 0` for `i != k`, and `b[j] <= 0`: neuron `j` can then be active only where
//! `z_k > 0`, so that the bend of neuron `k` is never seen [threelayer2026, Section 5]. For a translation, neurons with
//! `W[j,k] = 0` do not matter: they see nothing of neuron `k`. Proofs that the two
//! moves keep the function stand in `docs/formats/certificate-v1.md`.

use super::surgery::check_units;
use super::{MoveError, Rule};
use crate::{Activation, ExactNetwork, Layer, Rational};

pub fn translate(
    network: &mut ExactNetwork,
    layer: usize,
    unit: usize,
    amount: &Rational,
) -> Result<(), MoveError> {
    let mut live = live_neurons(network, layer, unit)?;
    live.retain(|&j| !network.layers()[layer + 1].weight()[(j, unit)].is_zero());
    require_hidden(network, layer, unit, &live)?;
    let next = &network.layers()[layer + 1];
    let shifts: Vec<_> = live.iter().map(|&j| amount * &next.weight()[(j, unit)]).collect();
    for (&j, shift) in live.iter().zip(&shifts) {
        let translated = &next.bias()[j] - shift;
        let fine = !translated.is_positive();
        Rule::TranslationBound.require(fine, || {
            format!("the bias of neuron {} of layer {} would be {translated}", j + 1, layer + 2)
        })?;
    }
    let layers = network.layers_mut();
    layers[layer].parts_mut().1[unit] += amount;
    let (_, bias) = layers[layer + 1].parts_mut();
    live.iter().zip(&shifts).for_each(|(&j, shift)| bias[j] -= shift);
    Ok(())
}

pub fn flip(network: &mut ExactNetwork, layer: usize, unit: usize, flips: &[usize]) -> Result<(), MoveError> {
    let flipped = check_units(network, layer, flips)?;
    let live = live_neurons(network, layer, unit)?;
    require_hidden(network, layer, unit, &live)?;
    Rule::Distinct
        .require(!flipped[unit], || format!("neuron {} is the hidden one and cannot be flipped", unit + 1))?;
    let &[j] = live.as_slice() else {
        return Err(Rule::OneLiveNeuron.broken(format!(
            "layer {} has {} such neurons",
            layer + 2,
            live.len()
        )));
    };
    let columns = network.layers()[layer + 1].weight();
    let ratios: Vec<_> = flips.iter().map(|&i| &columns[(j, i)] / &columns[(j, unit)]).collect();
    let (rows, bias) = network.layers_mut()[layer].parts_mut();
    for (&i, ratio) in flips.iter().zip(&ratios) {
        for column in 0..rows.cols() {
            let term = ratio * &rows[(i, column)];
            rows[(unit, column)] += &term;
            rows[(i, column)] = -&rows[(i, column)];
        }
        let term = ratio * &bias[i];
        bias[unit] += &term;
        bias[i] = -&bias[i];
    }
    Ok(())
}

/// The neurons of the next layer that are not dead by signs.
fn live_neurons(network: &ExactNetwork, layer: usize, unit: usize) -> Result<Vec<usize>, MoveError> {
    check_units(network, layer, &[unit])?;
    Rule::Exists.require(layer + 1 < network.hidden_depth(), || {
        format!("layer {} is the last hidden layer; another must follow it", layer + 1)
    })?;
    for l in [layer, layer + 1] {
        let relu = network.layers()[l].activation() == Activation::Relu;
        Rule::ReluLayer.require(relu, || format!("layer {} has identity activation", l + 1))?;
    }
    let next = &network.layers()[layer + 1];
    Ok((0..next.width()).filter(|&j| !dead_by_signs(next, j)).collect())
}

/// Checks that these neurons of the next layer hide neuron `unit`.
fn require_hidden(network: &ExactNetwork, layer: usize, unit: usize, by: &[usize]) -> Result<(), MoveError> {
    let next = &network.layers()[layer + 1];
    for &j in by {
        let row = next.weight().row(j);
        let others = row.iter().enumerate().all(|(i, w)| i == unit || !w.is_positive());
        let hides = row[unit].is_positive() && others && !next.bias()[j].is_positive();
        Rule::Hides.require(hides, || {
            format!("neuron {} of layer {} sees neuron {} of layer {}", j + 1, layer + 2, unit + 1, layer + 1)
        })?;
    }
    Ok(())
}

fn dead_by_signs(layer: &Layer<Rational>, unit: usize) -> bool {
    !layer.bias()[unit].is_positive() && layer.weight().row(unit).iter().all(|w| !w.is_positive())
}
