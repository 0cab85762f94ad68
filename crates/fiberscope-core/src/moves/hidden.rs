//! The moves of a hidden hyperplane: translation and flips.
//!
//! The definition and the lemma stand in the module `hiding`; the rules and proofs of the two moves in
//! `docs/formats/certificate-v1.md`.

use super::surgery::check_units;
use super::{MoveError, Rule};
use crate::{Activation, ExactNetwork, Rational, Sight};

pub fn translate(
    network: &mut ExactNetwork,
    layer: usize,
    unit: usize,
    amount: &Rational,
) -> Result<(), MoveError> {
    let mut live = live_neurons(network, layer, unit)?;
    live.retain(|&j| !network.layers()[layer + 1].weights().get(j, unit).is_zero());
    require_hidden(network, layer, unit, &live)?;
    let next = &network.layers()[layer + 1];
    let shifts: Vec<_> = live.iter().map(|&j| amount * &next.weights().get(j, unit)).collect();
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
    let columns = network.layers()[layer + 1].weights();
    let own = columns.get(j, unit);
    let ratios: Vec<_> = flips.iter().map(|&i| &columns.get(j, i) / &own).collect();
    let (rows, bias) = network.layers_mut()[layer].parts_mut();
    let mut row: Vec<_> = rows.row(unit).map(|(column, w)| (column, w.clone())).collect();
    let mut changed = Vec::with_capacity(flips.len() + 1);
    for (&i, ratio) in flips.iter().zip(&ratios) {
        row.extend(rows.row(i).map(|(column, w)| (column, ratio * w)));
        changed.push((i, rows.row(i).map(|(column, w)| (column, -w)).collect()));
        let term = ratio * &bias[i];
        bias[unit] += &term;
        bias[i] = -&bias[i];
    }
    changed.push((unit, row));
    rows.replace_rows(changed);
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
    Ok((0..next.width()).filter(|&j| Sight::of(next, j) != Sight::Dead).collect())
}

/// Checks that these neurons of the next layer hide neuron `unit`.
fn require_hidden(network: &ExactNetwork, layer: usize, unit: usize, by: &[usize]) -> Result<(), MoveError> {
    let next = &network.layers()[layer + 1];
    for &j in by {
        Rule::Hides.require(Sight::of(next, j) == Sight::Hides(unit), || {
            format!("neuron {} of layer {} sees neuron {} of layer {}", j + 1, layer + 2, unit + 1, layer + 1)
        })?;
    }
    Ok(())
}
