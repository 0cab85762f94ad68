//! Networks as plans have them: once, with their digests.

use fiberscope_core::{Activation, Digest, LARGEST_DENSE, Layer, Matrix, Network};
use serde::{Deserialize, Serialize};

use super::error::TaskError;

/// A network in a plan.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredNetwork {
    sha256: Digest,
    layers: Vec<StoredLayer>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredLayer {
    inputs: usize,
    relu: bool,
    /// Row by row.
    weight: Vec<f64>,
    bias: Vec<f64>,
}

impl StoredNetwork {
    pub fn new(network: &Network) -> Result<Self, TaskError> {
        network.require_dense(LARGEST_DENSE).map_err(|error| TaskError::Question(error.to_string()))?;
        let layer = |layer: &Layer<f64>| StoredLayer {
            inputs: layer.input_width(),
            relu: layer.activation() == Activation::Relu,
            weight: layer.weight().entries().to_vec(),
            bias: layer.bias().to_vec(),
        };
        let layers = network.layers().iter().map(layer).collect();
        Ok(StoredNetwork { sha256: Digest::of(network), layers })
    }

    pub fn restore(self) -> Result<Network, TaskError> {
        let wrong = |what: String| TaskError::Damaged(format!("a network: {what}"));
        let layer = |layer: StoredLayer| {
            let StoredLayer { inputs, relu, weight, bias } = layer;
            if inputs == 0 || weight.len() != inputs.saturating_mul(bias.len()) {
                return Err(wrong("its shapes do not fit".into()));
            }
            let matrix = Matrix::from_fn(bias.len(), inputs, |i, j| weight[i * inputs + j]);
            let activation = if relu { Activation::Relu } else { Activation::Identity };
            Ok(Layer::new(matrix, bias, activation))
        };
        let layers = self.layers.into_iter().map(layer).collect::<Result<Vec<_>, _>>()?;
        let network = Network::new(layers).map_err(|error| wrong(error.to_string()))?;
        match Digest::of(&network) == self.sha256 {
            true => Ok(network),
            false => Err(wrong("its digest does not fit".into())),
        }
    }
}
