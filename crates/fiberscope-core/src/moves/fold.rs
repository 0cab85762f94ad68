//! Two affine maps in a row: a layer of linear neurons and vanishing pairs multiplied into the next one.
//!
//! Two neurons with rows `(w, b)` and `-c (w, b)`, `c > 0`, and outgoing weights `v` and `-v / c` contribute
//! `v relu(z) - v relu(-z) = v z`: together they are one linear neuron, on every domain.

use super::proportional::opposite_factor;
use super::surgery::check_units;
use super::unused::InputRanges;
use super::{Move, MoveError, Rule};
use crate::{Activation, Domain, ExactNetwork, Layer, Matrix, Rational, Weights};

pub fn fold(
    network: &mut ExactNetwork,
    domain: &Domain,
    layer: usize,
    pairs: &[(usize, usize)],
) -> Result<(), MoveError> {
    let kept = linear_neurons(network, domain, layer, pairs)?;
    let layers = network.layers_mut();
    let folded = product(&layers[layer], &layers[layer + 1], &kept);
    layers.splice(layer..layer + 2, [folded]);
    Ok(())
}

/// The neurons whose pre-activations add up to the layer's contribution: all but the second of each
/// pair. Checks that they do.
fn linear_neurons(
    network: &ExactNetwork,
    domain: &Domain,
    layer: usize,
    pairs: &[(usize, usize)],
) -> Result<Vec<usize>, MoveError> {
    let named: Vec<usize> = pairs.iter().flat_map(|&(i, j)| [i, j]).collect();
    let paired = check_units(network, layer, &named)?;
    let columns = if pairs.is_empty() { vec![] } else { network.layers()[layer + 1].weights().columns() };
    let mut kept: Vec<usize> = Vec::new();
    for &(i, j) in pairs {
        let factor = opposite_factor(network, layer, (i, j))?;
        let vanishes = columns[i].len() == columns[j].len()
            && columns[i].iter().zip(&columns[j]).all(|((r, v), (s, u))| r == s && **v == -(*u * &factor));
        Rule::Vanishing.require(vanishes, || format!("neurons {} and {}", i + 1, j + 1))?;
        kept.push(i);
    }
    let mut inputs = InputRanges::new(layer);
    for unit in (0..paired.len()).filter(|&unit| !paired[unit]) {
        let linear = inputs.linear(network, domain, unit);
        Rule::Linear.require(linear, || format!("neuron {} of layer {}", unit + 1, layer + 1))?;
        kept.push(unit);
    }
    kept.sort_unstable();
    Ok(kept)
}

/// The layer that does what the two do one after the other, where the given neurons of the first are
/// its linear contribution.
fn product(first: &Layer<Rational>, second: &Layer<Rational>, kept: &[usize]) -> Layer<Rational> {
    let (left, right) = (second.weights().select_columns(kept), first.weights().select_rows(kept));
    let weight = Weights::product(&left, &right).expect("one column per row");
    let constant: Vec<_> = kept.iter().map(|&unit| first.bias()[unit].clone()).collect();
    let bias = left.iter_rows().zip(second.bias()).map(|(row, bias)| {
        let dot: Rational = row.map(|(k, v)| v * &constant[k]).sum();
        &dot + bias
    });
    let bias = bias.collect();
    Layer::new(weight, bias, second.activation())
}

pub fn inverse_fold(before: &ExactNetwork, layer: usize, pairs: &[(usize, usize)]) -> Move {
    let (first, second) = (&before.layers()[layer], &before.layers()[layer + 1]);
    let rows = |layer: &Layer<Rational>| (0..layer.width()).map(|i| layer.weights().dense_row(i)).collect();
    Move::Unfold {
        layer,
        weight: rows(first),
        bias: first.bias().to_vec(),
        activation: first.activation(),
        next_weight: rows(second),
        next_bias: second.bias().to_vec(),
        pairs: pairs.to_vec(),
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
    pairs: &[(usize, usize)],
) -> Result<(), MoveError> {
    let old = &network.layers()[layer];
    let first = checked_layer(weight, bias, activation, old.input_width())?;
    let second = checked_layer(next_weight, next_bias, old.activation(), first.width())?;
    Rule::length("rows of the second weight", old.width(), second.width())?;
    let mut unfolded = network.clone();
    unfolded.layers_mut().splice(layer..layer + 1, [first, second]);
    let kept = linear_neurons(&unfolded, domain, layer, pairs)?;
    let multiplied = product(&unfolded.layers()[layer], &unfolded.layers()[layer + 1], &kept);
    Rule::SameProduct.require(multiplied == network.layers()[layer], || format!("layer {}", layer + 1))?;
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
