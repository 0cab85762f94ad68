//! From all layers to the network that is handed over.

use fiberscope_algebra::dense::{norm, scaled};
use fiberscope_core::{Activation, Layer as NetworkLayer, Network, NetworkError};

use super::ExtractStep;
use super::first::{Row, sharpen};
use super::fit::{FIT_REACH, output_layer};
use super::inquiry::{Halt, Inquiry};
use super::polish::{DENSE_PARAMETERS, polish};
use super::prefix::{Prefix, Rows};
use super::refine::refine_rows;

/// Residuals of the output layer, in units of the noise, up to which nothing is measured again behind several layers.
const EXACT: f64 = 200.0;

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

/// Measures the rows of the first layer again, those behind it where their boundaries are then seen, and fits the output
/// layer anew. With one hidden layer this is always worth it, with more where the fit is not as exact as the answers.
fn refine(inquiry: &mut Inquiry<'_>, layers: &mut Vec<Rows>) -> Result<(), Halt> {
    let mut hidden = Prefix::of(inquiry.inputs, &layers[..layers.len() - 1]);
    let is_deep = hidden.layers.len() > 1;
    let before = if is_deep { output_layer(inquiry, &hidden).map(|(_, residual)| residual) } else { None };
    if is_deep && before.is_none_or(|residual| residual < EXACT) || hidden.layers.is_empty() {
        return Ok(());
    }
    let output = layers[layers.len() - 1].clone();
    for j in 0..layers[0].len() {
        if let Some((w, b)) = sharpen(inquiry, &hidden, &output, j)? {
            let rows = &mut hidden.layers[0];
            // The layers behind rely on the length.
            let length = if is_deep { norm(rows.weight.row(j)) } else { 1.0 };
            rows.weight.row_mut(j).copy_from_slice(&scaled(&w, length));
            rows.bias[j] = length * b;
        }
    }
    for l in 1..hidden.layers.len() {
        let before = Prefix::of(inquiry.inputs, &hidden.layers[..l]);
        let lengths: Vec<f64> = hidden.layers[l].iter().map(|(w, _)| norm(w)).collect();
        let mut rows: Vec<Row> = hidden.layers[l].iter().map(|(w, b)| (w.to_vec(), b)).collect();
        refine_rows(inquiry, &before, &mut rows)?;
        for ((w, b), length) in rows.iter_mut().zip(lengths) {
            let factor = length / norm(w);
            (*w, *b) = (scaled(w, factor), factor * *b);
        }
        if let Some(rows) = Rows::new(&rows) {
            hidden.layers[l] = rows;
        }
    }
    let Some((output, residual)) = output_layer(inquiry, &hidden) else { return Ok(()) };
    if before.is_none_or(|before| residual < before) {
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
