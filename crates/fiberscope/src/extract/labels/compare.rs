//! How far a network is from the truth, up to what labels leave open.

use fiberscope_core::{Layer, Matrix, Network};

use super::super::compare::{Comparison, compare};

/// Aligns `found` to `truth` like [`compare`], and besides up to a common positive factor of all outputs and up to
/// a function that is added to all of them: classes do not tell these. `None` if the widths differ. The errors
/// are those of parameters whose outputs add up to zero.
pub fn compare_labels(truth: &Network, found: &Network) -> Option<Comparison> {
    let truth = centered(truth)?;
    let found = centered(found)?;
    let aligned = compare(&truth, &found)?.aligned;
    let parts = |network: &Network| -> Vec<f64> {
        let last = &network.layers()[network.layers().len() - 1];
        last.weight().entries().iter().chain(last.bias()).copied().collect()
    };
    let (wanted, got) = (parts(&truth), parts(&aligned));
    let product: f64 = wanted.iter().zip(&got).map(|(a, b)| a * b).sum();
    let square: f64 = got.iter().map(|b| b * b).sum();
    let factor = product / square;
    if !(factor > 0.0 && factor.is_finite()) {
        return compare(&truth, &found);
    }
    compare(&truth, &with_outputs(&found, |_, w| w * factor, |_, b| b * factor)?)
}

/// The network whose outputs add up to zero; one with a single output is left as it is.
fn centered(network: &Network) -> Option<Network> {
    let last = &network.layers()[network.layers().len() - 1];
    let count = last.bias().len();
    if count == 1 {
        return Some(network.clone());
    }
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count as f64;
    let weights: Vec<f64> =
        (0..last.weight().cols()).map(|j| mean(&mut (0..count).map(|i| last.weight()[(i, j)]))).collect();
    let bias = mean(&mut last.bias().iter().copied());
    with_outputs(network, |j, w| w - weights[j], |_, b| b - bias)
}

/// The network with other output weights, by input, and biases.
fn with_outputs(
    network: &Network,
    weight: impl Fn(usize, f64) -> f64,
    bias: impl Fn(usize, f64) -> f64,
) -> Option<Network> {
    let mut layers = network.layers().to_vec();
    let last = layers.pop()?;
    let old = last.weight();
    let weights = Matrix::from_fn(old.rows(), old.cols(), |i, j| weight(j, old[(i, j)]));
    let biases = last.bias().iter().enumerate().map(|(i, b)| bias(i, *b)).collect();
    layers.push(Layer::new(weights, biases, last.activation()));
    Network::new(layers).ok()
}
