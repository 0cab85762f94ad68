//! The layers so far, and the values that are carried past them.
//!
//! Every value that is still needed is an affine map of the numbers of the last layer. When a layer is made,
//! what it is made for comes first; behind it stand the numbers that other values still read. Past a ReLU a
//! number that is known to be `>= 0` needs one neuron, `relu(h) = h`; another needs two,
//! `x = relu(x) - relu(-x)`.

use std::collections::BTreeMap;
use std::sync::Arc;

use fiberscope_core::{Activation, Layer, SparseMatrix, Weights};

use super::affine::Affine;
use super::budget::Budget;
use super::map::Map;
use super::proto::Node;
use super::rows::Place;
use crate::FormatError;
use crate::names::Part;

/// A tensor that depends on the input, as an affine map of the numbers of the last layer.
#[derive(Clone)]
pub(super) struct Value<'a> {
    /// Its shape.
    pub(super) dims: Vec<usize>,
    /// From the last layer's numbers to its entries.
    pub(super) map: Map,
    /// The nodes whose constants changed numbers of `map`.
    pub(super) folded: Vec<Node<'a>>,
    /// Whether such constants were rounded before they got there.
    pub(super) rounded: bool,
    /// What the file calls its entries.
    pub(super) label: Option<Arc<str>>,
    /// Whether it stands for the condition that it is positive, which only a choice may read.
    pub(super) is_condition: bool,
}

impl<'a> Value<'a> {
    pub(super) fn new(dims: Vec<usize>, map: Map) -> Self {
        Value { dims, map, folded: Vec::new(), rounded: false, label: None, is_condition: false }
    }

    /// No value: what stands where one was taken away.
    pub(super) fn empty() -> Self {
        Value::new(vec![0], Map::Plain(Affine::identity(0)))
    }

    /// The entries at these places.
    pub(super) fn select(mut self, dims: Vec<usize>, source: &[usize]) -> Self {
        self.map.select(source);
        self.dims = dims;
        self
    }

    /// Remembers the constants of another value that became a part of this one.
    pub(super) fn inherit(&mut self, other: &Value<'a>) {
        for node in &other.folded {
            self.mark_folded(node);
        }
        self.rounded |= other.rounded;
    }

    pub(super) fn mark_folded(&mut self, node: &Node<'a>) {
        if !self.folded.iter().any(|folded| folded.is_same(node)) {
            self.folded.push(*node);
        }
    }
}

/// The layers so far.
pub(super) struct Layers {
    layers: Vec<Layer>,
    /// What the file calls the neurons of each.
    names: Vec<Vec<Part>>,
    /// For every number of the last layer (or of the input), whether it is known to be `>= 0`.
    nonnegative: Vec<bool>,
    /// How many neurons were put in to carry values past a ReLU.
    carried: usize,
    pub(super) notes: Vec<String>,
}

/// The rows of a layer in the making.
struct Rows {
    weight: SparseMatrix,
    bias: Vec<f64>,
}

impl Rows {
    fn push(&mut self, weight: &Weights, bias: Vec<f64>, sign: f64) {
        weight.iter_rows().for_each(|row| self.weight.push_row(row.map(|(j, &w)| (j, sign * w))));
        self.bias.extend(bias.iter().map(|b| sign * b));
    }

    /// One entry; the place of the new row.
    fn push_entry(&mut self, column: usize, entry: f64) -> usize {
        self.weight.push_row([(column, entry)]);
        self.bias.push(0.0);
        self.bias.len() - 1
    }
}

impl Layers {
    /// No layers yet.
    pub(super) fn new(inputs: usize) -> Self {
        Layers {
            layers: Vec::new(),
            names: Vec::new(),
            nonnegative: vec![false; inputs],
            carried: 0,
            notes: Vec::new(),
        }
    }

    /// How many numbers the last layer has.
    pub(super) fn width(&self) -> usize {
        self.nonnegative.len()
    }

    /// Whether there is a layer.
    pub(super) fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Whether every entry of a value is one of the numbers that are known to be `>= 0`.
    pub(super) fn is_nonnegative(&self, value: &Value) -> bool {
        value.map.taken().is_some_and(|taken| taken.iter().all(|&at| self.nonnegative[at]))
    }

    /// Makes a layer of some values and carries the others. Returns the former as numbers of the new layer.
    pub(super) fn close<'a>(
        &mut self,
        who: &str,
        activation: Activation,
        values: Vec<Value<'a>>,
        live: Vec<&mut Value<'a>>,
        budget: &mut Budget,
    ) -> Result<Vec<Value<'a>>, FormatError> {
        let mut rows = Rows { weight: SparseMatrix::new(self.width()), bias: Vec::new() };
        let (mut made, mut at) = (Vec::with_capacity(values.len()), 0);
        let alone = values.len() == 1 && live.is_empty();
        let (mut whole, mut parts) = (None, Vec::with_capacity(values.len() + 1));
        for value in values {
            let width = value.map.output();
            made.push((value.dims.clone(), at..at + width, value.label.clone()));
            parts.push(Part::new(value.label.clone(), &value.dims, width));
            let (weight, bias) = self.written_out(who, value, budget, !alone)?;
            at += width;
            if alone {
                // A matrix of the file becomes the layer as it is.
                whole = Some((weight, bias));
            } else {
                rows.push(&weight, bias, 1.0);
            }
        }
        let places = self.carry(who, activation, &live, &mut rows, budget)?;
        let (weight, bias) = match whole {
            Some(layer) => layer,
            None => {
                // The entries were paid for one by one.
                budget.matrix(who, (rows.bias.len(), self.width()), rows.weight.entries().len())?;
                (rows.weight.into(), rows.bias)
            }
        };
        let width = bias.len();
        let mut nonnegative = vec![activation == Activation::Relu; width];
        if activation == Activation::Identity {
            for (old, place) in places.columns.iter().enumerate() {
                if let Place::At(new) = place {
                    nonnegative[*new] = self.nonnegative[old];
                }
            }
        }
        for (value, place) in live.into_iter().zip(places.values) {
            value.map = match place {
                None => std::mem::replace(&mut value.map, Map::Plain(Affine::identity(0)))
                    .moved(&places.columns, width),
                Some(entries) => entries,
            };
        }
        parts.extend(self.carried_parts(&places.columns, at..width));
        self.names.push(parts);
        self.layers.push(Layer::new(weight, bias, activation));
        self.nonnegative = nonnegative;
        let selected = |range: std::ops::Range<usize>| match range == (0..width) {
            true => Affine::identity(width),
            false => Affine::selection(width, range.collect()),
        };
        let value = |(dims, range, label)| Value { label, ..Value::new(dims, Map::Plain(selected(range))) };
        Ok(made.into_iter().map(value).collect())
    }

    /// The weight and bias of a value.
    fn written_out(
        &mut self,
        who: &str,
        value: Value,
        budget: &mut Budget,
        copied: bool,
    ) -> Result<(Weights, Vec<f64>), FormatError> {
        if !value.map.has_matrix() || copied {
            let shape = (value.map.output(), self.width());
            budget.matrix(who, shape, value.map.stored().saturating_mul(if copied { 2 } else { 1 }))?;
        }
        if value.map.has_matrix() {
            budget.operations(who, value.map.slow_products())?;
        }
        let (weight, bias, is_exact) = value.map.into_matrix();
        if !is_exact || value.rounded {
            let names: Vec<_> = value.folded.iter().map(ToString::to_string).collect();
            let rounded = "folded into its weights and bias, and the results rounded to double precision";
            self.notes.push(format!("layer {}: {} {rounded}", self.layers.len() + 1, names.join(", ")));
        }
        Ok((weight, bias))
    }

    /// The parts that carried neurons make up: those of the layer before that are carried as a whole, in order,
    /// keep their shape.
    fn carried_parts(&self, places: &[Place], new: std::ops::Range<usize>) -> Vec<Part> {
        let mut whole: BTreeMap<usize, &Part> = BTreeMap::new();
        let mut start = 0;
        for part in self.names.last().into_iter().flatten() {
            let count = part.count();
            if let Some(&Place::At(first)) = places.get(start)
                && count > 0
                && (0..count)
                    .all(|i| matches!(places.get(start + i), Some(&Place::At(at)) if at == first + i))
            {
                whole.insert(first, part);
            }
            start += count;
        }
        let (mut parts, mut at) = (Vec::new(), new.start);
        while at < new.end {
            let next = whole.range(at..).next();
            let end = match next {
                Some((&first, part)) if first == at => {
                    parts.push(Part { name: None, shape: part.shape.clone() });
                    at + part.count()
                }
                _ => {
                    let end = next.map_or(new.end, |(&first, _)| first.min(new.end));
                    parts.push(Part::new(None, &[], end - at));
                    end
                }
            };
            at = end;
        }
        parts
    }

    /// Puts in what values that are not part of the layer read.
    fn carry(
        &mut self,
        who: &str,
        activation: Activation,
        live: &[&mut Value],
        rows: &mut Rows,
        budget: &mut Budget,
    ) -> Result<Carried, FormatError> {
        let mut columns = vec![Place::Nowhere; if live.is_empty() { 0 } else { self.width() }];
        let mut values = Vec::with_capacity(live.len());
        let own = rows.bias.len();
        for value in live {
            let Some(read) = value.map.columns() else {
                values.push(Some(self.carry_entries(who, activation, value, rows, budget)?));
                continue;
            };
            for column in read {
                if let Place::Nowhere = columns[column] {
                    budget.stored(who, 4)?;
                    let plus = rows.push_entry(column, 1.0);
                    let single = activation == Activation::Identity || self.nonnegative[column];
                    columns[column] = match single {
                        true => Place::At(plus),
                        false => Place::Difference(plus, rows.push_entry(column, -1.0)),
                    };
                }
            }
            values.push(None);
        }
        let width = rows.bias.len();
        for map in values.iter_mut().flatten() {
            *map = std::mem::replace(map, Map::Plain(Affine::identity(0))).widened(width);
        }
        self.carried += width - own;
        Ok(Carried { columns, values })
    }

    /// Carries the entries of a value with a matrix, as its numbers come from many.
    fn carry_entries(
        &mut self,
        who: &str,
        activation: Activation,
        value: &Value,
        rows: &mut Rows,
        budget: &mut Budget,
    ) -> Result<Map, FormatError> {
        let (weight, bias) = self.written_out(who, value.clone(), budget, true)?;
        let count = bias.len();
        let start = rows.bias.len();
        if activation == Activation::Identity {
            rows.push(&weight, bias, 1.0);
            return Ok(Map::Plain(Affine::selection(start + count, (start..start + count).collect())));
        }
        budget.stored(who, weight.stored().len().saturating_add(count))?;
        rows.push(&weight, bias.clone(), 1.0);
        rows.push(&weight, bias, -1.0);
        let places: Vec<Place> =
            (0..count).map(|i| Place::Difference(start + i, start + count + i)).collect();
        Ok(Map::Plain(Affine::identity(count)).moved(&places, start + 2 * count))
    }

    /// The layers, what there is to say about them, and the names of their neurons.
    pub(super) fn finish(mut self) -> (Vec<Layer>, Vec<String>, Vec<Vec<Part>>) {
        if self.carried > 0 {
            self.notes.push(format!(
                "{} neurons carry values past layers that other values pass through",
                self.carried
            ));
        }
        (self.layers, self.notes, self.names)
    }
}

/// Where the numbers and values of the layer before stand in the next one.
struct Carried {
    columns: Vec<Place>,
    /// For each value, its map if it was carried entry by entry.
    values: Vec<Option<Map>>,
}
