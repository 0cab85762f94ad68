//! How far a recovered network is from the true one, after permutation and positive scaling of its neurons.

use fiberscope_core::{Layer, Matrix, Network};

use crate::align::assignment::assign;

/// The distance of a recovered network from the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The recovered network with its neurons ordered and scaled as in the truth.
    pub aligned: Network,
    /// The largest absolute difference of a parameter.
    pub max_error: f64,
    /// The largest difference of a parameter relative to the largest one of its layer.
    pub max_relative_error: f64,
    /// The largest absolute difference by layer.
    pub layers: Vec<f64>,
}

/// Aligns `found` to `truth`, neurons by their normalised rows, layer by layer; `None` if the widths differ.
pub fn compare(truth: &Network, found: &Network) -> Option<Comparison> {
    if truth.widths() != found.widths() {
        return None;
    }
    let mut parts: Vec<(Matrix, Vec<f64>)> =
        found.layers().iter().map(|layer| (layer.weight().clone(), layer.bias().to_vec())).collect();
    for (l, layer) in truth.hidden_layers().iter().enumerate() {
        let (order, scales) = match_rows(layer, &parts[l]);
        let (weight, bias) = &parts[l];
        let aligned = Matrix::from_fn(weight.rows(), weight.cols(), |i, j| weight[(order[i], j)] * scales[i]);
        let bias = order.iter().zip(&scales).map(|(&i, s)| bias[i] * s).collect();
        let outgoing = &parts[l + 1].0;
        let next = Matrix::from_fn(outgoing.rows(), outgoing.cols(), |i, j| outgoing[(i, order[j])] / scales[j]);
        parts[l] = (aligned, bias);
        parts[l + 1].0 = next;
    }
    let aligned = Network::new(
        parts
            .into_iter()
            .zip(found.layers())
            .map(|((weight, bias), layer)| Layer::new(weight, bias, layer.activation()))
            .collect(),
    )
    .ok()?;
    let (mut layers, mut relative) = (Vec::new(), 0.0f64);
    for (a, b) in truth.layers().iter().zip(aligned.layers()) {
        let pairs = || {
            let biases = a.bias().iter().zip(b.bias());
            a.weight().entries().iter().zip(b.weight().entries()).chain(biases)
        };
        let error = pairs().map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        let size = pairs().map(|(x, _)| x.abs()).fold(f64::MIN_POSITIVE, f64::max);
        layers.push(error);
        relative = relative.max(error / size);
    }
    let max_error = layers.iter().copied().fold(0.0, f64::max);
    Some(Comparison { aligned, max_error, max_relative_error: relative, layers })
}

/// Which row of `found` belongs to each row of the layer, and the factor that makes it as long.
fn match_rows(layer: &Layer, found: &(Matrix, Vec<f64>)) -> (Vec<usize>, Vec<f64>) {
    let join = |w: &[f64], b: f64| w.iter().copied().chain([b]).collect::<Vec<f64>>();
    let truth: Vec<Vec<f64>> = layer.weight().iter_rows().zip(layer.bias()).map(|(w, b)| join(w, *b)).collect();
    let rows: Vec<Vec<f64>> = found.0.iter_rows().zip(&found.1).map(|(w, b)| join(w, *b)).collect();
    let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    let cost = Matrix::from_fn(truth.len(), rows.len(), |i, j| {
        let (p, q) = (length(&truth[i]), length(&rows[j]));
        truth[i].iter().zip(&rows[j]).map(|(x, y)| (x / p - y / q).powi(2)).sum()
    });
    let order = assign(&cost);
    let scales = order.iter().enumerate().map(|(i, &j)| length(&truth[i]) / length(&rows[j])).collect();
    (order, scales)
}
