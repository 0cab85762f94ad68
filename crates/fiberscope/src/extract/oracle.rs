//! Oracles: black boxes that answer queries.
//!
//! The extraction sees a network only through [`Oracle::query`]. A [`NetworkOracle`] answers with a network
//! that is at hand, in double or single precision and rounded or not, which is what an exposed model does.

use fiberscope_core::{Activation, Matrix, Network};

/// A deterministic function `R^n -> R^m` that answers batches of queries.
pub trait Oracle {
    /// The number `n` of inputs.
    fn inputs(&self) -> usize;

    /// The number `m` of outputs.
    fn outputs(&self) -> usize;

    /// One answer per row of `points`, in the same order.
    ///
    /// # Errors
    ///
    /// If no answers can be had: the sentence says why.
    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError>;
}

/// Why an oracle gave no answers: a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OracleError(pub String);

/// How an exposed model computes and prints its outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Precision {
    /// Parameters, inputs and arithmetic in single precision.
    pub single: bool,
    /// Outputs rounded to this many decimals.
    pub decimals: Option<u32>,
}

/// A network that answers queries; its parameters are not seen through the trait.
#[derive(Clone, Debug)]
pub struct NetworkOracle {
    network: Network,
    precision: Precision,
}

impl NetworkOracle {
    /// The network, answering in double precision.
    pub fn new(network: Network) -> Self {
        NetworkOracle { network, precision: Precision::default() }
    }

    /// The same network with answers of this precision.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        NetworkOracle { precision, ..self }
    }
}

impl Oracle for NetworkOracle {
    fn inputs(&self) -> usize {
        self.network.input_width()
    }

    fn outputs(&self) -> usize {
        self.network.output_width()
    }

    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
        let mut answers = if self.precision.single {
            in_single_precision(&self.network, points)
        } else {
            self.network.evaluate_batch(points).map_err(|error| OracleError(error.to_string()))?
        };
        if let Some(decimals) = self.precision.decimals {
            let unit = 10f64.powi(decimals.min(300) as i32);
            answers.entries_mut().iter_mut().for_each(|y| *y = (*y * unit).round() / unit);
        }
        Ok(answers)
    }
}

/// The outputs when every number and every operation is a single.
fn in_single_precision(network: &Network, points: &Matrix) -> Matrix {
    let mut hidden: Vec<Vec<f32>> =
        points.iter_rows().map(|x| x.iter().map(|&v| v as f32).collect()).collect();
    for layer in network.layers() {
        let weight = layer.weight().map(|&w| w as f32);
        let bias: Vec<f32> = layer.bias().iter().map(|&b| b as f32).collect();
        let is_relu = layer.activation() == Activation::Relu;
        for h in &mut hidden {
            let z = weight
                .iter_rows()
                .zip(&bias)
                .map(|(row, b)| row.iter().zip(h.iter()).fold(*b, |sum, (w, v)| sum + w * v));
            *h = z.map(|z| if is_relu { z.max(0.0) } else { z }).collect();
        }
    }
    let outputs = network.output_width();
    Matrix::from_fn(hidden.len(), outputs, |i, j| f64::from(hidden[i][j]))
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Layer;

    use super::*;

    #[test]
    fn layers_without_relu_stay_so_in_single_precision() {
        let layer = |w: f64| Layer::new(Matrix::from_rows(&[[w]]).unwrap(), vec![0.0], Activation::Identity);
        let network = Network::new(vec![layer(-1.0), layer(2.0)]).unwrap();
        let points = Matrix::from_rows(&[[3.0]]).unwrap();
        assert_eq!(in_single_precision(&network, &points).entries(), [-6.0]);
    }
}
