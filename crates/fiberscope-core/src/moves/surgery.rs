//! Taking neurons out of a layer and putting neurons in.

use super::{MoveError, PlacedNeuron, Rule};
use crate::{ExactNetwork, Layer, Matrix, Rational, SparseMatrix, Weights};

/// Where a neuron of the resulting layer comes from.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// From this place of the layer before.
    Kept(usize),
    /// From outside.
    New(&'a PlacedNeuron),
}

/// The checks that every list of units must pass: they exist and are named once.
pub fn check_units(network: &ExactNetwork, layer: usize, units: &[usize]) -> Result<Vec<bool>, MoveError> {
    let width = network.layers()[layer].width();
    let mut named = vec![false; width];
    for &unit in units {
        Rule::Exists.require(unit < width, || {
            format!("neuron {} of layer {}, which has {width}", unit + 1, layer + 1)
        })?;
        Rule::Distinct.require(!named[unit], || format!("neuron {} is named twice", unit + 1))?;
        named[unit] = true;
    }
    Ok(named)
}

/// The resulting layer: the neurons not in `removed`, in order, with the new ones at their places.
pub fn layout<'a>(removed: &[bool], new: &'a [PlacedNeuron]) -> Result<Vec<Source<'a>>, MoveError> {
    let kept = removed.iter().filter(|&&gone| !gone).count();
    let total = kept + new.len();
    Rule::NotEmptied.require(total > 0, || "no neuron would be left".into())?;
    let places = interleave(total, new.iter().map(|neuron| neuron.unit))?;
    let mut kept = (0..removed.len()).filter(|&unit| !removed[unit]);
    let mut new = new.iter();
    let source = |is_new: bool| {
        if is_new {
            Source::New(new.next().expect("one per place"))
        } else {
            Source::Kept(kept.next().expect("the other places"))
        }
    };
    Ok(places.into_iter().map(source).collect())
}

/// For every place of a layer of `total` neurons: whether it is one of the given, increasing, places.
pub fn interleave(total: usize, places: impl Iterator<Item = usize>) -> Result<Vec<bool>, MoveError> {
    let mut taken = vec![false; total];
    let mut previous = None;
    for place in places {
        let increasing = previous.is_none_or(|previous| previous < place) && place < total;
        Rule::Places.require(increasing, || format!("place {} of {total}", place + 1))?;
        taken[place] = true;
        previous = Some(place);
    }
    Ok(taken)
}

/// Checks the lengths of a new neuron's lists.
pub fn check_neuron(network: &ExactNetwork, layer: usize, neuron: &PlacedNeuron) -> Result<(), MoveError> {
    Rule::length("incoming weights", network.layers()[layer].input_width(), neuron.weight.len())?;
    Rule::length("outgoing weights", network.layers()[layer + 1].width(), neuron.out.len())
}

/// Rebuilds hidden layer `layer` and the columns of the next one.
pub fn rebuild(network: &mut ExactNetwork, layer: usize, sources: &[Source]) {
    let layers = network.layers_mut();
    let (rows, bias) = layers[layer].parts_mut();
    let new_rows = with_rows(rows, sources);
    let new_bias = sources
        .iter()
        .map(|source| match source {
            Source::Kept(unit) => bias[*unit].clone(),
            Source::New(neuron) => neuron.bias.clone(),
        })
        .collect();
    (*rows, *bias) = (new_rows, new_bias);
    let (columns, _) = layers[layer + 1].parts_mut();
    *columns = with_columns(columns, sources);
}

/// The incoming weights of the resulting layer.
fn with_rows(rows: &Weights<Rational>, sources: &[Source]) -> Weights<Rational> {
    let Weights::Dense(dense) = rows else {
        let mut result = SparseMatrix::new(rows.cols());
        for source in sources {
            match source {
                Source::Kept(unit) => result.push_row(rows.row(*unit).map(|(j, w)| (j, w.clone()))),
                Source::New(neuron) => result.push_row(neuron.weight.iter().cloned().enumerate()),
            }
        }
        return Weights::Sparse(result);
    };
    Weights::Dense(Matrix::from_fn(sources.len(), dense.cols(), |i, j| match sources[i] {
        Source::Kept(unit) => dense[(unit, j)].clone(),
        Source::New(neuron) => neuron.weight[j].clone(),
    }))
}

/// The outgoing weights of the resulting layer.
fn with_columns(columns: &Weights<Rational>, sources: &[Source]) -> Weights<Rational> {
    let Weights::Dense(dense) = columns else {
        let mut places = vec![None; columns.cols()];
        let mut new = Vec::new();
        for (place, source) in sources.iter().enumerate() {
            match source {
                Source::Kept(unit) => places[*unit] = Some(place),
                Source::New(neuron) => new.push((place, neuron)),
            }
        }
        let mut result = SparseMatrix::new(sources.len());
        for (i, row) in columns.iter_rows().enumerate() {
            let kept = row.filter_map(|(unit, v)| Some((places[unit]?, v.clone())));
            result.push_sum(
                kept.chain(new.iter().map(|(place, neuron)| (*place, neuron.out[i].clone()))).collect(),
            );
        }
        return Weights::Sparse(result);
    };
    Weights::Dense(Matrix::from_fn(dense.rows(), sources.len(), |i, j| match sources[j] {
        Source::Kept(unit) => dense[(i, unit)].clone(),
        Source::New(neuron) => neuron.out[i].clone(),
    }))
}

/// The neuron at `unit`, as it would have to be inserted there.
pub fn extract(network: &ExactNetwork, layer: usize, unit: usize) -> PlacedNeuron {
    let rows = &network.layers()[layer];
    PlacedNeuron {
        unit,
        weight: rows.weights().dense_row(unit),
        bias: rows.bias()[unit].clone(),
        out: column(&network.layers()[layer + 1], unit),
    }
}

/// Column `unit` of a layer's weight.
pub fn column(layer: &Layer<Rational>, unit: usize) -> Vec<Rational> {
    layer.weights().dense_column(unit)
}
