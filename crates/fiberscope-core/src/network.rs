//! Feed-forward networks with ReLU or identity activations.
//!
//! A network of widths `(n_0, n_1, ..., n_L)` has layers `(W_l, b_l)`, `W_l` of shape
//! `n_l x n_{l-1}`, and computes
//!
//! ```text
//! a_0 = x,   z_l = W_l a_{l-1} + b_l,   a_l = act_l(z_l) for l < L,   f(x) = z_L.
//! ```
//!
//! Layers `1..L-1` are hidden; the last layer has no activation. Inside the program layers and
//! neurons count from 0 (`layers()[0]` is `W_1`); in everything that is printed they count from 1.
//!
//! The scalar is `f64` for networks as they are stored ([`Network`]) and [`Rational`] for networks
//! on which exact statements are made ([`ExactNetwork`]).

use std::fmt;
use std::sync::OnceLock;

use thiserror::Error;

use crate::{Matrix, Rational, Scalar, Weights};

/// What a layer does to its pre-activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// `max(z, 0)`.
    Relu,
    /// `z` itself.
    Identity,
}

impl Activation {
    /// The name used in files: `relu` or `identity`.
    pub fn name(self) -> &'static str {
        match self {
            Activation::Relu => "relu",
            Activation::Identity => "identity",
        }
    }

    /// The activation of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Activation::Relu, Activation::Identity].into_iter().find(|a| a.name() == name)
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A hidden neuron: unit `unit` of layer `layer`, both counted from 0; printed from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Neuron {
    /// The layer, 0 for the first hidden layer.
    pub layer: usize,
    /// The place in the layer.
    pub unit: usize,
}

impl fmt::Display for Neuron {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "neuron {} of layer {}", self.unit + 1, self.layer + 1)
    }
}

/// Why numbers do not make a network. Layers and neurons are printed counting from 1.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum NetworkError {
    #[error("a network needs at least one layer")]
    NoLayers,
    #[error("layer {layer}: the weight has shape {rows} x {cols}; widths must be at least 1")]
    EmptyLayer { layer: usize, rows: usize, cols: usize },
    #[error("layer {layer}: row {row} has {found} weights; expected {expected}, as in the first row")]
    RowLength { layer: usize, row: usize, expected: usize, found: usize },
    #[error("layer {layer}: expected a bias of length {expected} (one per row of the weight), found {found}")]
    BiasLength { layer: usize, expected: usize, found: usize },
    #[error("layer {layer}: expected {expected} inputs (the width of the layer before), found {found}")]
    WidthMismatch { layer: usize, expected: usize, found: usize },
    #[error("layer {layer}: weight[{row}][{col}] is {value}; expected a finite number")]
    WeightNotFinite { layer: usize, row: usize, col: usize, value: String },
    #[error("layer {layer}: bias[{row}] is {value}; expected a finite number")]
    BiasNotFinite { layer: usize, row: usize, value: String },
    #[error(
        "the last layer has activation relu; expected identity (append an identity layer to end with relu)"
    )]
    LastActivation,
}

/// One layer `(W, b)` with its activation.
///
/// The weight is stored densely or by its entries ([`Weights`]); nothing but the cost of work on it depends on that.
#[derive(Clone, Debug)]
pub struct Layer<S = f64> {
    weights: Weights<S>,
    bias: Vec<S>,
    activation: Activation,
}

impl<S> Layer<S> {
    /// A layer with these numbers, the weight a [`Matrix`], a [`SparseMatrix`](crate::SparseMatrix) or [`Weights`].
    /// Nothing is checked here: [`Network::new`] checks, since only it can name the layer.
    pub fn new(weight: impl Into<Weights<S>>, bias: Vec<S>, activation: Activation) -> Self {
        Layer { weights: weight.into(), bias, activation }
    }

    /// The weight, one row per neuron, as it is stored.
    pub fn weights(&self) -> &Weights<S> {
        &self.weights
    }

    /// The bias, one entry per neuron.
    pub fn bias(&self) -> &[S] {
        &self.bias
    }

    /// The activation.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// The number of neurons.
    pub fn width(&self) -> usize {
        self.weights.rows()
    }

    /// The number of inputs.
    pub fn input_width(&self) -> usize {
        self.weights.cols()
    }

    /// The weight as it is stored, the bias and the activation, giving up the layer.
    pub fn into_stored_parts(self) -> (Weights<S>, Vec<S>, Activation) {
        (self.weights, self.bias, self.activation)
    }
}

impl<S: Scalar> Layer<S> {
    /// The weight matrix, one row per neuron, with its zeros written out. Of a layer that is stored by its entries
    /// this makes a dense copy and keeps it: ask [`Network::require_dense`] first, or use [`Layer::weights`].
    pub fn weight(&self) -> &Matrix<S> {
        match &self.weights {
            Weights::Dense(matrix) => matrix,
            Weights::Sparse(matrix) => matrix.dense(),
        }
    }

    /// The dense weight, the bias and the activation, giving up the layer.
    pub fn into_parts(self) -> (Matrix<S>, Vec<S>, Activation) {
        (self.weights.into_dense(), self.bias, self.activation)
    }
}

impl<S: Scalar> PartialEq for Layer<S> {
    fn eq(&self, other: &Self) -> bool {
        (self.activation, &self.bias, &self.weights) == (other.activation, &other.bias, &other.weights)
    }
}

/// A network: at least one layer, widths that chain and are at least 1, finite numbers, and an
/// affine last layer. All ways in lead through [`Network::new`], so every `Network` has these properties.
#[derive(Clone, Debug)]
pub struct Network<S = f64> {
    layers: Vec<Layer<S>>,
    /// The digest of the layers, once somebody has asked for it.
    digest: OnceLock<[u8; 32]>,
}

impl<S: Scalar> PartialEq for Network<S> {
    fn eq(&self, other: &Self) -> bool {
        self.layers == other.layers
    }
}

/// The most numbers of a network's layers, zeros included, for questions that write them out.
pub const LARGEST_DENSE: usize = 1 << 26;

/// A question works on dense layers, and these would be too large.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "this needs dense layers, which are {needed} numbers for this network ({stored} are stored); the limit is {limit}"
)]
pub struct TooLargeDense {
    /// The numbers of the dense layers.
    pub needed: usize,
    /// The numbers that are stored.
    pub stored: usize,
    /// How many there may be.
    pub limit: usize,
}

/// The rows of weights of a layer, one per neuron, and its bias.
pub type Rows<'a, S = f64> = (&'a [&'a [S]], &'a [S]);

/// A network whose parameters are rational numbers.
pub type ExactNetwork = Network<Rational>;

impl<S: Scalar> Network<S> {
    /// The network whose layers have these rows of weights, one per neuron, and biases: ReLU behind every
    /// layer but the last, which has identity activation.
    ///
    /// ```
    /// use fiberscope_core::Network;
    ///
    /// let absolute_value = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
    /// assert_eq!(absolute_value.widths(), [1, 2, 1]);
    /// assert_eq!(absolute_value.evaluate(&[-3.0]).unwrap(), [3.0]);
    /// ```
    pub fn from_rows(layers: &[Rows<S>]) -> Result<Self, NetworkError> {
        let layer = |(l, &(rows, bias)): (usize, &Rows<S>)| {
            let weight = Matrix::from_rows(rows).ok_or_else(|| ragged(l, rows))?;
            Ok(Layer::new(weight, bias.to_vec(), usual_activation(l, layers.len())))
        };
        Network::new(layers.iter().enumerate().map(layer).collect::<Result<_, _>>()?)
    }

    /// The network of widths `(n_0, ..., n_L)` with the numbers that a function gives: layer by layer the
    /// weights, row by row, then the biases. ReLU behind every layer but the last.
    ///
    /// ```
    /// use fiberscope_core::Network;
    ///
    /// let mut next = 0.0;
    /// let network = Network::from_widths(&[2, 1, 1], || { next += 1.0; next }).unwrap();
    /// assert_eq!(network, Network::from_rows(&[(&[&[1.0, 2.0]], &[3.0]), (&[&[4.0]], &[5.0])]).unwrap());
    /// ```
    pub fn from_widths(widths: &[usize], mut number: impl FnMut() -> S) -> Result<Self, NetworkError> {
        let depth = widths.len().saturating_sub(1);
        let layer = |(l, pair): (usize, &[usize])| {
            let weight = Matrix::from_fn(pair[1], pair[0], |_, _| number());
            let bias = (0..pair[1]).map(|_| number()).collect();
            Layer::new(weight, bias, usual_activation(l, depth))
        };
        Network::new(widths.windows(2).enumerate().map(layer).collect())
    }

    /// The network with these layers, if they make one; [`Network::from_rows`] is shorter for small ones.
    ///
    /// ```
    /// use fiberscope_core::{Activation, Layer, Matrix, Network};
    ///
    /// let linear = Layer::new(Matrix::from_fn(3, 2, |i, j| (i + j) as f64), vec![0.0; 3], Activation::Identity);
    /// let output = Layer::new(Matrix::from_fn(1, 3, |_, _| 1.0), vec![1.0], Activation::Identity);
    /// let network = Network::new(vec![linear, output]).unwrap();
    /// assert_eq!(network.widths(), [2, 3, 1]);
    /// ```
    pub fn new(layers: Vec<Layer<S>>) -> Result<Self, NetworkError> {
        let last = layers.last().ok_or(NetworkError::NoLayers)?;
        for (l, layer) in layers.iter().enumerate() {
            check_layer(l, layer)?;
            if l > 0 && layers[l - 1].width() != layer.input_width() {
                return Err(NetworkError::WidthMismatch {
                    layer: l + 1,
                    expected: layers[l - 1].width(),
                    found: layer.input_width(),
                });
            }
        }
        if last.activation != Activation::Identity {
            return Err(NetworkError::LastActivation);
        }
        Ok(Network { layers, digest: OnceLock::new() })
    }
}

/// ReLU behind all layers but the last.
fn usual_activation(l: usize, depth: usize) -> Activation {
    if l + 1 < depth { Activation::Relu } else { Activation::Identity }
}

/// The first row that is not as long as the first.
fn ragged<S>(l: usize, rows: &[&[S]]) -> NetworkError {
    let expected = rows.first().map_or(0, |row| row.len());
    let row = rows.iter().position(|row| row.len() != expected).unwrap_or(0);
    NetworkError::RowLength { layer: l + 1, row: row + 1, expected, found: rows[row].len() }
}

fn check_layer<S: Scalar>(l: usize, layer: &Layer<S>) -> Result<(), NetworkError> {
    let (rows, cols) = (layer.weights.rows(), layer.weights.cols());
    if rows == 0 || cols == 0 {
        return Err(NetworkError::EmptyLayer { layer: l + 1, rows, cols });
    }
    if layer.bias.len() != rows {
        return Err(NetworkError::BiasLength { layer: l + 1, expected: rows, found: layer.bias.len() });
    }
    if S::all_finite(layer.weights.stored()) && S::all_finite(&layer.bias) {
        return Ok(());
    }
    if let Some(at) = layer.weights.stored().iter().position(|w| !w.is_finite()) {
        let value = layer.weights.stored()[at].to_string();
        let (row, col) = layer.weights.place(at);
        return Err(NetworkError::WeightNotFinite { layer: l + 1, row: row + 1, col: col + 1, value });
    }
    if let Some(row) = layer.bias.iter().position(|b| !b.is_finite()) {
        let value = layer.bias[row].to_string();
        return Err(NetworkError::BiasNotFinite { layer: l + 1, row: row + 1, value });
    }
    Ok(())
}

impl<S> Network<S> {
    /// The layers `(W_1, b_1), ..., (W_L, b_L)`.
    pub fn layers(&self) -> &[Layer<S>] {
        &self.layers
    }

    /// The layers, giving up the network.
    pub fn into_layers(self) -> Vec<Layer<S>> {
        self.layers
    }

    /// The number `L` of layers.
    pub fn depth(&self) -> usize {
        self.layers.len()
    }

    /// The number `L - 1` of hidden layers.
    pub fn hidden_depth(&self) -> usize {
        self.layers.len() - 1
    }

    /// The hidden layers, first to last.
    pub fn hidden_layers(&self) -> &[Layer<S>] {
        &self.layers[..self.layers.len() - 1]
    }

    /// The widths `(n_0, n_1, ..., n_L)`.
    pub fn widths(&self) -> Vec<usize> {
        std::iter::once(self.input_width()).chain(self.layers.iter().map(Layer::width)).collect()
    }

    /// The number `n_0` of inputs.
    pub fn input_width(&self) -> usize {
        self.layers[0].input_width()
    }

    /// The number `n_L` of outputs.
    pub fn output_width(&self) -> usize {
        self.layers[self.layers.len() - 1].width()
    }

    /// The number of parameters, `D = sum_l n_l (n_{l-1} + 1)`.
    pub fn parameter_count(&self) -> usize {
        self.layers.iter().map(|layer| layer.width() * (layer.input_width() + 1)).sum()
    }

    /// The number of parameters that are stored: all of dense layers, of others those that are not zero, and biases.
    pub fn stored_count(&self) -> usize {
        self.layers.iter().map(|layer| layer.weights.stored().len() + layer.width()).sum()
    }
}

impl<S: Scalar> Network<S> {
    /// The network with `f`, which keeps zero, applied to every parameter, if the results make one.
    pub fn map<T: Scalar>(&self, mut f: impl FnMut(&S) -> T) -> Result<Network<T>, NetworkError> {
        let convert = |layer: &Layer<S>| {
            let weight = layer.weights.map(&mut f);
            let bias = layer.bias.iter().map(&mut f).collect();
            Layer::new(weight, bias, layer.activation)
        };
        Network::new(self.layers.iter().map(convert).collect())
    }

    /// Nothing if the layers, with all zeros written out, have at most `limit` numbers. To be asked before work that
    /// uses [`Layer::weight`], lest a small file fill the memory.
    pub fn require_dense(&self, limit: usize) -> Result<(), TooLargeDense> {
        let (needed, stored) = (self.parameter_count(), self.stored_count());
        let is_sparse = self.layers.iter().any(|layer| layer.weights.is_sparse());
        if is_sparse && needed > limit { Err(TooLargeDense { needed, stored, limit }) } else { Ok(()) }
    }
}

impl<S> Network<S> {
    /// The layers, for changing them in place. Whoever calls this keeps the promises of [`Network`].
    pub(crate) fn layers_mut(&mut self) -> &mut Vec<Layer<S>> {
        self.digest = OnceLock::new();
        &mut self.layers
    }

    /// The digest of the layers, computed once. There is no way to change a layer but
    /// [`Network::layers_mut`], which forgets it.
    pub(crate) fn digest_or(&self, compute: impl FnOnce() -> [u8; 32]) -> [u8; 32] {
        *self.digest.get_or_init(compute)
    }
}

impl<S> Layer<S> {
    /// The weight and the bias, for changing them in place together.
    pub(crate) fn parts_mut(&mut self) -> (&mut Weights<S>, &mut Vec<S>) {
        (&mut self.weights, &mut self.bias)
    }
}

impl Network<f64> {
    /// The same network with its parameters as the rational numbers they are.
    pub fn to_exact(&self) -> ExactNetwork {
        let exact = |&w: &f64| Rational::from_f64(w).expect("a network's parameters are finite");
        let layer = |layer: &Layer| {
            let weights = match &layer.weights {
                Weights::Dense(matrix) => Weights::Dense(matrix.map_all(exact)),
                Weights::Sparse(matrix) => Weights::Sparse(matrix.map_entries(exact)),
            };
            Layer::new(weights, layer.bias.iter().map(exact).collect(), layer.activation)
        };
        Network { layers: self.layers.iter().map(layer).collect(), digest: OnceLock::new() }
    }
}

impl Network<Rational> {
    /// The network with every parameter rounded to the nearest double, and whether nothing was lost.
    /// Fails if a parameter is beyond the doubles.
    pub fn to_f64(&self) -> Result<(Network<f64>, bool), NetworkError> {
        let mut exact = true;
        let network = self.map(|w| {
            let rounded = w.to_f64();
            exact &= Rational::from_f64(rounded).as_ref() == Some(w);
            rounded
        })?;
        Ok((network, exact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(rows: &[&[f64]], bias: &[f64], activation: Activation) -> Layer {
        Layer::new(Matrix::from_rows(rows).unwrap(), bias.to_vec(), activation)
    }

    fn check(layers: Vec<Layer>, expected: &str) {
        assert_eq!(Network::new(layers).unwrap_err().to_string(), expected);
    }

    #[test]
    fn construction_refuses_what_is_no_network() {
        use Activation::{Identity, Relu};
        check(vec![], "a network needs at least one layer");
        check(
            vec![Layer::new(Matrix::from_entries(0, 3, vec![]).unwrap(), vec![], Identity)],
            "layer 1: the weight has shape 0 x 3; widths must be at least 1",
        );
        check(
            vec![layer(&[&[1.0, 2.0]], &[1.0, 2.0], Identity)],
            "layer 1: expected a bias of length 1 (one per row of the weight), found 2",
        );
        check(
            vec![layer(&[&[1.0, 2.0]], &[1.0], Relu), layer(&[&[1.0, 2.0]], &[1.0], Identity)],
            "layer 2: expected 1 inputs (the width of the layer before), found 2",
        );
        check(
            vec![layer(&[&[1.0, 2.0], &[3.0, f64::NAN]], &[1.0, 0.0], Identity)],
            "layer 1: weight[2][2] is NaN; expected a finite number",
        );
        check(
            vec![layer(&[&[1.0]], &[f64::INFINITY], Identity)],
            "layer 1: bias[1] is inf; expected a finite number",
        );
        let ragged = Network::from_rows(&[(&[&[1.0], &[1.0, 2.0]], &[0.0, 0.0])]).unwrap_err();
        assert_eq!(ragged.to_string(), "layer 1: row 2 has 2 weights; expected 1, as in the first row");
        check(
            vec![layer(&[&[1.0]], &[1.0], Relu)],
            "the last layer has activation relu; expected identity (append an identity layer to end with relu)",
        );
    }

    #[test]
    fn widths_and_parameters() {
        let net = Network::from_rows(&[
            (&[&[1.0, 2.0], &[0.0, 1.0], &[1.0, 1.0]], &[0.0; 3]),
            (&[&[1.0, 2.0, 3.0]], &[1.0]),
        ])
        .unwrap();
        assert_eq!(net.widths(), [2, 3, 1]);
        assert_eq!(net.parameter_count(), 13);
        assert_eq!(net.to_exact().to_f64().unwrap(), (net, true));
    }
}
