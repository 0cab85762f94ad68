//! Linear networks: matrices that chain, with biases.
//!
//! With biases the function is `x -> W x + c`, `c = sum_j W_{L~j} b_j`. The hidden biases are free and `b_L`
//! is determined by them, so every stratum is a product with `R^{d_1 + ... + d_{L-1}}`.

use faer::Mat;
use fiberscope_core::{Activation, Layer, Matrix, Network};

use super::widths::check_widths;
use super::{LinearError, dense};

/// A linear network `(W_1, b_1), ..., (W_L, b_L)`.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearNetwork {
    weights: Vec<Matrix>,
    biases: Vec<Vec<f64>>,
}

impl LinearNetwork {
    /// The network with these weights and no biases; fails if they do not chain or are not finite.
    pub fn from_weights(weights: Vec<Matrix>) -> Result<Self, LinearError> {
        let biases = weights.iter().map(|weight| vec![0.0; weight.rows()]).collect();
        Self::new(weights, biases)
    }

    /// The network with these weights and biases; fails if they do not chain or are not finite.
    pub fn new(weights: Vec<Matrix>, biases: Vec<Vec<f64>>) -> Result<Self, LinearError> {
        let layers = weights.into_iter().zip(biases);
        let layers = layers.map(|(weight, bias)| Layer::new(weight, bias, Activation::Identity)).collect();
        Self::from_network(&Network::new(layers)?)
    }

    /// The network as a linear one, if all its activations are the identity.
    pub fn from_network(network: &Network) -> Result<Self, LinearError> {
        Self::from_layers(network, 0, network.depth() - 1)
    }

    /// Layers `first..=last`, counted from 0, as a linear network of their own: the activations between
    /// them must be the identity.
    pub fn from_layers(network: &Network, first: usize, last: usize) -> Result<Self, LinearError> {
        if first > last || last >= network.depth() {
            let depth = network.depth();
            return Err(LinearError::NoSuchLayers { first: first + 1, last: last + 1, depth });
        }
        let layers = &network.layers()[first..=last];
        let between = &layers[..layers.len() - 1];
        if let Some(at) = between.iter().position(|layer| layer.activation() != Activation::Identity) {
            return Err(LinearError::NotLinear { layer: first + at + 1 });
        }
        let weights: Vec<Matrix> = layers.iter().map(|layer| layer.weight().clone()).collect();
        let linear =
            LinearNetwork { weights, biases: layers.iter().map(|layer| layer.bias().to_vec()).collect() };
        check_widths(&linear.widths())?;
        Ok(linear)
    }

    /// The same network in the form that files are made of.
    pub fn to_network(&self) -> Network {
        let layers = self.weights.iter().zip(&self.biases);
        let layers =
            layers.map(|(weight, bias)| Layer::new(weight.clone(), bias.clone(), Activation::Identity));
        Network::new(layers.collect()).expect("a linear network is a network")
    }

    /// The matrices `W_1, ..., W_L`.
    pub fn weights(&self) -> &[Matrix] {
        &self.weights
    }

    /// The biases `b_1, ..., b_L`.
    pub fn biases(&self) -> &[Vec<f64>] {
        &self.biases
    }

    /// The number `L` of matrices.
    pub fn depth(&self) -> usize {
        self.weights.len()
    }

    /// The widths `d_0, ..., d_L`.
    pub fn widths(&self) -> Vec<usize> {
        let rows = self.weights.iter().map(Matrix::rows);
        std::iter::once(self.weights[0].cols()).chain(rows).collect()
    }

    /// The product `W = W_L ... W_1`.
    pub fn product(&self) -> Matrix {
        dense::from_faer(self.dense_product().as_ref())
    }

    /// The constant `c = sum_j W_{L~j} b_j` of the function `x -> W x + c`.
    pub fn constant(&self) -> Vec<f64> {
        let mut constant = vec![0.0; self.weights[0].cols()];
        for (weight, bias) in self.weights.iter().zip(&self.biases) {
            let row =
                |(row, b): (&[f64], &f64)| row.iter().zip(&constant).map(|(w, x)| w * x).sum::<f64>() + b;
            constant = weight.iter_rows().zip(bias).map(row).collect();
        }
        constant
    }

    /// The largest difference of an entry of the products and constants of two networks.
    pub fn function_difference(&self, other: &LinearNetwork) -> f64 {
        let (a, b) = (self.product(), other.product());
        if (a.rows(), a.cols()) != (b.rows(), b.cols()) {
            return f64::INFINITY;
        }
        let pairs = a.entries().iter().zip(b.entries()).map(|(x, y)| (x - y).abs());
        let constants = self.constant().into_iter().zip(other.constant()).map(|(x, y)| (x - y).abs());
        pairs.chain(constants).fold(0.0, f64::max)
    }

    /// Other weights and hidden biases with the last bias chosen so that the constant is that of `self`, if
    /// the products agree.
    pub(super) fn with_weights(
        &self,
        weights: Vec<Matrix>,
        hidden: Option<Vec<Vec<f64>>>,
    ) -> Result<Self, LinearError> {
        let last = self.depth() - 1;
        let mut biases = hidden.unwrap_or_else(|| self.biases[..last].to_vec());
        let unbiased =
            self.biases.iter().flatten().all(|&b| b == 0.0) && biases.iter().flatten().all(|&b| b == 0.0);
        biases.push(vec![0.0; self.weights[last].rows()]);
        let mut moved = LinearNetwork::new(weights, biases)?;
        if !unbiased {
            let missing =
                self.constant().into_iter().zip(moved.constant()).map(|(wanted, found)| wanted - found);
            moved.biases[last] = missing.collect();
        }
        Ok(moved)
    }

    pub(super) fn dense_weights(&self) -> Vec<Mat<f64>> {
        self.weights.iter().map(dense::to_faer).collect()
    }

    pub(super) fn dense_product(&self) -> Mat<f64> {
        dense::product(&self.dense_weights(), self.weights[0].cols())
    }
}
