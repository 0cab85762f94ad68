//! Networks for tests.

use fiberscope_core::{Activation, ExactNetwork, Layer, Matrix, Rational};

/// The network with these integer weights and biases, layer by layer; the last layer is the output.
pub fn network(layers: &[(&[&[i64]], &[i64])]) -> ExactNetwork {
    let last = layers.len() - 1;
    let layer = |(l, (rows, bias)): (usize, &(&[&[i64]], &[i64]))| {
        let rows: Vec<Vec<Rational>> =
            rows.iter().map(|row| row.iter().map(|&w| Rational::from(w)).collect()).collect();
        let bias = bias.iter().map(|&b| Rational::from(b)).collect();
        let activation = if l == last { Activation::Identity } else { Activation::Relu };
        Layer::new(Matrix::from_rows(&rows).unwrap(), bias, activation)
    };
    ExactNetwork::new(layers.iter().enumerate().map(layer).collect()).unwrap()
}
