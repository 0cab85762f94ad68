//! From all layers to the network that is handed over.

use fiberscope_core::{Activation, Layer as NetworkLayer, Network, NetworkError};

use super::ExtractStep;
use super::first::sharpen;
use super::fit::{FIT_REACH, output_layer};
use super::inquiry::{Halt, Inquiry};
use super::polish::{DENSE_PARAMETERS, polish};
use super::prefix::{Prefix, Rows};

/// Makes the parameters as exact as the answers allow: all of them together with random points added, or,
/// in large networks, the rows of the first layer one by one.
pub(super) fn finish(inquiry: &mut Inquiry<'_>, layers: &mut Vec<Rows>) -> Result<(), Halt> {
    let total: usize = layers.iter().map(|layer| layer.len() * (layer.weight.cols() + 1)).sum();
    if total > DENSE_PARAMETERS {
        inquiry.begin(0, ExtractStep::Refinement);
        return refine(inquiry, layers);
    }
    inquiry.begin(layers.len() - 1, ExtractStep::Polish);
    let share = if total <= 1_500 { 1.2 } else { 4.0 };
    let count = (share * total as f64 / inquiry.outputs as f64) as usize + 20;
    let mut questions = Vec::with_capacity(count);
    for k in 0..count {
        let reach = inquiry.uniform(0.3, 3.0);
        questions.push(if k % 2 == 0 { inquiry.point(reach) } else { inquiry.point_of_domain() });
    }
    inquiry.ask(&questions)?;
    polish(inquiry, layers, FIT_REACH);
    Ok(())
}

/// Measures the rows of the first layer again and fits the output layer anew, if there is one hidden layer.
fn refine(inquiry: &mut Inquiry<'_>, layers: &mut Vec<Rows>) -> Result<(), Halt> {
    if layers.len() != 2 {
        return Ok(());
    }
    let mut hidden = Prefix::of(inquiry.inputs, &layers[..1]);
    for j in 0..layers[0].len() {
        if let Some((w, b)) = sharpen(inquiry, &hidden, j)? {
            let rows = &mut hidden.layers[0];
            rows.weight.row_mut(j).copy_from_slice(&w);
            rows.bias[j] = b;
        }
    }
    if let Some((output, _)) = output_layer(inquiry, &hidden) {
        *layers = hidden.layers;
        layers.push(output);
    }
    Ok(())
}

/// The network in the oracle's coordinates.
pub(super) fn to_network(inquiry: &Inquiry<'_>, layers: &[Rows]) -> Result<Network, NetworkError> {
    let count = layers.len();
    let parts = layers.iter().enumerate().map(|(l, layer)| {
        let activation = if l + 1 < count { Activation::Relu } else { Activation::Identity };
        let shift = |w: &[f64]| if l == 0 { w.iter().sum::<f64>() * inquiry.center() } else { 0.0 };
        let bias = layer.iter().map(|(w, b)| b - shift(w)).collect();
        NetworkLayer::new(layer.weight.clone(), bias, activation)
    });
    Network::new(parts.collect())
}
