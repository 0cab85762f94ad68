//! Two affine maps in a row: a layer of linear neurons multiplied into the next one.

use super::unused::InputRanges;
use super::{Move, MoveError, Rule};
use crate::{Activation, Domain, ExactNetwork, Layer, Matrix, Rational};

pub fn fold(network: &mut ExactNetwork, domain: &Domain, layer: usize) -> Result<(), MoveError> {
    check_linear(network, domain, layer)?;
    let layers = network.layers_mut();
    let folded = product(&layers[layer], &layers[layer + 1]);
    layers.splice(layer..layer + 2, [folded]);
    Ok(())
}

fn check_linear(network: &ExactNetwork, domain: &Domain, layer: usize) -> Result<(), MoveError> {
    let mut inputs = InputRanges::new(layer);
    for unit in 0..network.layers()[layer].width() {
        let linear = inputs.linear(network, domain, unit);
        Rule::Linear.require(linear, || format!("neuron {} of layer {}", unit + 1, layer + 1))?;
    }
    Ok(())
}

/// The layer that does what the two do one after the other, where the first is linear.
fn product(first: &Layer<Rational>, second: &Layer<Rational>) -> Layer<Rational> {
    let dot = |row: &[Rational], column: &mut dyn Iterator<Item = &Rational>| -> Rational {
        row.iter().zip(column).map(|(a, b)| a * b).sum()
    };
    let (left, right) = (second.weight(), first.weight());
    let weight = Matrix::from_fn(left.rows(), right.cols(), |i, j| dot(left.row(i), &mut right.column(j)));
    let bias =
        (0..left.rows()).map(|i| &second.bias()[i] + &dot(left.row(i), &mut first.bias().iter())).collect();
    Layer::new(weight, bias, second.activation())
}

pub fn inverse_fold(before: &ExactNetwork, layer: usize) -> Move {
    let (first, second) = (&before.layers()[layer], &before.layers()[layer + 1]);
    let rows = |layer: &Layer<Rational>| layer.weight().iter_rows().map(<[Rational]>::to_vec).collect();
    Move::Unfold {
        layer,
        weight: rows(first),
        bias: first.bias().to_vec(),
        activation: first.activation(),
        next_weight: rows(second),
        next_bias: second.bias().to_vec(),
    }
}

/// The two layers of [`Move::Unfold`], as rows.
type TwoLayers<'a> =
    ((&'a [Vec<Rational>], &'a [Rational], Activation), (&'a [Vec<Rational>], &'a [Rational]));

pub fn unfold(
    network: &mut ExactNetwork,
    domain: &Domain,
    layer: usize,
    ((weight, bias, activation), (next_weight, next_bias)): TwoLayers,
) -> Result<(), MoveError> {
    let old = &network.layers()[layer];
    let first = checked_layer(weight, bias, activation, old.input_width())?;
    let second = checked_layer(next_weight, next_bias, old.activation(), first.width())?;
    Rule::length("rows of the second weight", old.width(), second.width())?;
    Rule::SameProduct.require(product(&first, &second) == *old, || format!("layer {}", layer + 1))?;
    let mut unfolded = network.clone();
    unfolded.layers_mut().splice(layer..layer + 1, [first, second]);
    check_linear(&unfolded, domain, layer)?;
    *network = unfolded;
    Ok(())
}

fn checked_layer(
    rows: &[Vec<Rational>],
    bias: &[Rational],
    activation: Activation,
    inputs: usize,
) -> Result<Layer<Rational>, MoveError> {
    Rule::NotEmptied.require(!rows.is_empty(), || "a layer without neurons".into())?;
    rows.iter().try_for_each(|row| Rule::length("incoming weights", inputs, row.len()))?;
    Rule::length("biases", rows.len(), bias.len())?;
    let weight = Matrix::from_rows(rows).expect("all rows have the same length");
    Ok(Layer::new(weight, bias.to_vec(), activation))
}
