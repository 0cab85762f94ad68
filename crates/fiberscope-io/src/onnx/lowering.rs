//! The state between two nodes: the values that are still needed, the value at hand, and the layers so far.
//!
//! The value at hand is changed by one operator after the other. Operators that only change its shape are
//! free, selections and arithmetic with constants go into the monomial parts of its map, matrices into the
//! dense part.

use std::collections::HashMap;
use std::rc::Rc;

use fiberscope_core::{Activation, Rational, Weights};

use super::affine::{Affine, exact};
use super::budget::Budget;
use super::graph::{Graph, Input, Maker};
use super::layers::{Layers, Value};
use super::map::Map;
use super::proto::{Node, Quoted};
use super::shape;
use super::tensor::{Tensor, Values};
use crate::{FormatError, Precision};

/// After so many constants the map becomes a layer, lest its rational numbers grow without bound.
const MOST_FOLDED: usize = 8;

/// Rational operations paid for each entry that a constant changes.
const FOLDING_PRICE: usize = 8;

/// Exact products of doubles that take as long as one operation in rational arithmetic.
const PRODUCTS_PER_OPERATION: usize = 8;

/// What a name stands for.
#[expect(clippy::large_enum_variant, reason = "there are few, and most are values")]
pub(super) enum Slot<'a> {
    Constant(Rc<Tensor>),
    Value(Value<'a>),
}

/// A node with the names of its inputs.
pub(super) struct Site<'a> {
    pub(super) node: Node<'a>,
    pub(super) inputs: Vec<&'a str>,
    /// Which of its inputs is the value at hand.
    pub(super) data: usize,
}

impl<'a> Site<'a> {
    /// The name of an input, unless it is left out.
    pub(super) fn input(&self, at: usize) -> Option<&'a str> {
        self.inputs.get(at).copied().filter(|name| !name.is_empty())
    }

    /// Whether the value at hand is the first of two inputs; the other is the constant.
    pub(super) fn data_is_left(&self) -> Result<bool, FormatError> {
        if self.data == 1 { Ok(false) } else { self.data_comes_first().map(|()| true) }
    }

    /// An error unless the value at hand is the first input.
    pub(super) fn data_comes_first(&self) -> Result<(), FormatError> {
        if self.data == 0 {
            return Ok(());
        }
        let found = format!("its input {} is a value of the network", self.data + 1);
        Err(self.node.unsupported(format!("{found}; expected a constant")))
    }
}

/// The state between two nodes.
pub(super) struct Lowering<'g, 'a> {
    pub(super) graph: &'g Graph<'a>,
    pub(super) budget: Budget,
    /// The value that the operator at work changes.
    pub(super) hand: Value<'a>,
    pub(super) layers: Layers,
    /// The names that are still needed.
    pub(super) slots: HashMap<&'a str, Slot<'a>>,
    /// How many nodes still read a name.
    pub(super) uses: HashMap<&'a str, usize>,
    /// The size of the batch that the file was made for, if it is not 1.
    pub(super) batch: Option<usize>,
    /// The nodes that summed up constants.
    pub(super) summed: Vec<Node<'a>>,
    pub(super) precision: Option<Precision>,
    pub(super) input_precision: Precision,
    /// The shape of the input, if there is one only.
    pub(super) input_dims: Vec<usize>,
}

impl<'g, 'a> Lowering<'g, 'a> {
    pub(super) fn new(
        graph: &'g Graph<'a>,
        inputs: Vec<Input<'a>>,
        mut budget: Budget,
    ) -> Result<Self, FormatError> {
        let mut width = 0usize;
        for input in &inputs {
            let count = shape::count(&input.dims).unwrap_or(usize::MAX);
            budget.entries("the input", count, 1)?;
            width += count;
        }
        let mut layers = Layers::new(width);
        let input_precision = inputs.iter().map(|input| input.precision).min().unwrap_or(Precision::F32);
        let (mut slots, mut at) = (HashMap::new(), 0);
        let several = inputs.len() > 1;
        let batch = inputs.iter().find_map(|input| input.batch);
        let input_dims = if several { vec![width] } else { inputs[0].dims.clone() };
        for input in inputs {
            let count = shape::count(&input.dims).expect("it is within the budget");
            if several {
                let (name, first, last) = (Quoted(input.name), at + 1, at + count);
                layers.notes.push(format!("inputs {first} to {last} are the graph's input {name}"));
            }
            if let Some(batch) = input.batch {
                let name = Quoted(input.name);
                let found = format!("the file was made for batches of {batch}; one sample is read");
                layers.notes.push(format!("input {name}: {found}"));
            }
            let map = match count == width {
                true => Affine::identity(width),
                false => Affine::selection(width, (at..at + count).collect()),
            };
            slots.insert(input.name, Slot::Value(Value::new(input.dims, Map::Plain(map))));
            at += count;
        }
        let (hand, uses) = (Value::empty(), HashMap::new());
        let (precision, summed) = (None, Vec::new());
        Ok(Lowering {
            graph,
            budget,
            hand,
            layers,
            slots,
            uses,
            batch,
            summed,
            precision,
            input_precision,
            input_dims,
        })
    }

    /// The inputs of a node, all of which were made.
    pub(super) fn site(&self, at: usize) -> Result<Site<'a>, FormatError> {
        // No operator that is read here has more inputs than this but those that take any number.
        const MOST_INPUTS: usize = 1 << 16;
        let node = self.graph.nodes[at];
        if !node.is_standard() && !node.is_of_pipelines() {
            let advice = match node.is_for_one_processor() {
                true => {
                    "; it was optimised for one processor: save it with the level ORT_ENABLE_EXTENDED or below"
                }
                false => "",
            };
            return Err(
                node.unsupported(format!("operators outside the ONNX standard cannot be read{advice}"))
            );
        }
        if node.has_subgraph()? {
            return Err(node.unsupported("it contains a graph; expected one graph without loops and choices"));
        }
        let inputs = node.inputs().take(MOST_INPUTS).collect::<Result<_, _>>()?;
        Ok(Site { node, inputs, data: 0 })
    }

    pub(super) fn is_value(&self, name: &str) -> bool {
        matches!(self.slots.get(name), Some(Slot::Value(_)))
    }

    /// Puts the results of a node in their places; what nobody reads is let go.
    pub(super) fn store(&mut self, node: &Node<'a>, made: Vec<Slot<'a>>) -> Result<(), FormatError> {
        let mut made = made.into_iter();
        for name in node.outputs() {
            let name = name?;
            let slot = made.next();
            if !self.uses.contains_key(name) {
                continue;
            }
            match slot {
                Some(slot) => drop(self.slots.insert(name, slot)),
                None => {
                    let reason = format!("its output {} is used; expected the first", Quoted(name));
                    return Err(node.unsupported(reason));
                }
            }
        }
        Ok(())
    }

    /// An error if this name stands for a condition, which only a choice may read.
    pub(super) fn refuse_condition(&self, name: &str, node: &Node) -> Result<(), FormatError> {
        match self.slots.get(name) {
            Some(Slot::Value(value)) if value.is_condition => {
                let found = format!("reads the condition {}, whose values jump", Quoted(name));
                Err(node.unsupported(format!("{found}; write the choice with Where, Relu or Max")))
            }
            _ => Ok(()),
        }
    }

    /// The value of this name for one reader: itself for the last, a copy for those before.
    pub(super) fn take(&mut self, name: &'a str, node: &Node) -> Result<Value<'a>, FormatError> {
        let expected = || node.unsupported(format!("expected {} to depend on the input", Quoted(name)));
        let Some(Slot::Value(value)) = self.slots.get(name) else { return Err(expected()) };
        if node.operator != "Where" {
            self.refuse_condition(name, node)?;
        }
        if self.uses.get(name).is_some_and(|&uses| uses > 1) {
            self.budget.entries(node, value.map.output(), value.map.price())?;
            let copy = value.clone();
            self.count_down(name);
            return Ok(copy);
        }
        self.uses.remove(name);
        match self.slots.remove(name) {
            Some(Slot::Value(value)) => Ok(value),
            _ => Err(expected()),
        }
    }

    /// Counts down the readers of the constants that a node has read; those of values were counted when they
    /// were taken.
    pub(super) fn release(&mut self, site: &Site<'a>) {
        for &name in &site.inputs {
            if !self.is_value(name) {
                self.count_down(name);
            }
        }
    }

    pub(super) fn count_down(&mut self, name: &str) {
        if let Some(uses) = self.uses.get_mut(name) {
            *uses -= 1;
            if *uses == 0 {
                self.uses.remove(name);
                self.slots.remove(name);
            }
        }
    }

    /// The value at hand, which is let go.
    pub(super) fn put_down(&mut self) -> Value<'a> {
        std::mem::replace(&mut self.hand, Value::empty())
    }

    /// Makes a layer of some values, carrying all that is still needed; the values as numbers of the new
    /// layer.
    pub(super) fn close(
        &mut self,
        who: &str,
        activation: Activation,
        values: Vec<Value<'a>>,
        kept: &mut [Value<'a>],
    ) -> Result<Vec<Value<'a>>, FormatError> {
        // In the order of their names, so that the network does not depend on a hash.
        let mut named: Vec<(&str, &mut Value<'a>)> = Vec::new();
        for (name, slot) in &mut self.slots {
            if let Slot::Value(value) = slot {
                named.push((name, value));
            }
        }
        named.sort_by_key(|(name, _)| *name);
        let live = named.into_iter().map(|(_, value)| value).chain(kept).collect();
        self.layers.close(who, activation, values, live, &mut self.budget)
    }

    /// Makes an affine layer of the value at hand.
    pub(super) fn close_hand(&mut self, who: &str) -> Result<(), FormatError> {
        let value = self.put_down();
        self.hand = self.close(who, Activation::Identity, vec![value], &mut [])?.remove(0);
        Ok(())
    }

    /// Whether a value is at hand.
    pub(super) fn has_hand(&self) -> bool {
        self.hand.dims != [0]
    }

    /// The number of entries of the value at hand.
    pub(super) fn width(&self) -> usize {
        shape::count(&self.hand.dims).expect("every shape of the value was within the budget")
    }

    /// Follows the value at hand by a matrix, starting a new layer if there is one already.
    pub(super) fn multiply(
        &mut self,
        node: &Node,
        weight: impl Into<Weights>,
        dims: Vec<usize>,
    ) -> Result<(), FormatError> {
        let weight = weight.into();
        if weight.rows() == 0 {
            return Err(node.malformed("its result is empty"));
        }
        let rows = match &self.hand.map {
            Map::Plain(map) if map.takes_matrix() => None,
            map => map.rows(),
        };
        if let Some(rows) = rows {
            let products = rows.products(&weight);
            self.budget.operations(node, products / PRODUCTS_PER_OPERATION)?;
            let shape = (weight.rows(), self.layers.width());
            self.budget.matrix(node, shape, products)?;
            if let Some(map) = rows.times(&weight) {
                self.hand.map = Map::Plain(map);
                self.hand.dims = dims;
                return Ok(());
            }
        }
        match &mut self.hand.map {
            Map::Plain(map) if map.takes_matrix() => map.multiply(weight),
            _ => {
                self.close_hand(&node.to_string())?;
                match &mut self.hand.map {
                    Map::Plain(map) => map.multiply(weight),
                    Map::Rows(_) => unreachable!("a layer was just made of it"),
                }
            }
        }
        self.hand.dims = dims;
        Ok(())
    }

    /// Follows the value at hand by a multiplication of every entry.
    pub(super) fn scale(&mut self, node: &Node<'a>, factors: &[Rational]) -> Result<(), FormatError> {
        if factors.iter().any(|factor| *factor != Rational::ONE) {
            self.fold(node)?;
            self.hand.map.scale(factors);
        }
        Ok(())
    }

    /// The same factor for every entry.
    pub(super) fn scale_all(&mut self, node: &Node<'a>, factor: &Rational) -> Result<(), FormatError> {
        self.scale(node, &vec![factor.clone(); self.width()])
    }

    /// Follows the value at hand by an addition to every entry.
    pub(super) fn shift(&mut self, node: &Node<'a>, terms: &[Rational]) -> Result<(), FormatError> {
        if terms.iter().any(|term| !term.is_zero()) {
            self.fold(node)?;
            self.hand.map.shift(terms);
        }
        Ok(())
    }

    /// Follows the value at hand by an addition to every entry. A first bias is kept bit for bit.
    pub(super) fn add(&mut self, node: &Node<'a>, terms: Vec<f64>) -> Result<(), FormatError> {
        if let Map::Plain(map) = &mut self.hand.map
            && map.lacks_bias()
        {
            map.set_bias(terms);
            return Ok(());
        }
        self.shift(node, &terms.into_iter().map(exact).collect::<Vec<_>>())
    }

    /// Remembers that a constant of `node`, just folded, had been rounded before.
    pub(super) fn mark_rounded(&mut self, node: &Node<'a>) {
        self.hand.rounded = true;
        self.hand.mark_folded(node);
    }

    /// Prepares for a constant of `node` that changes numbers of the map.
    pub(super) fn fold(&mut self, node: &Node<'a>) -> Result<(), FormatError> {
        let folded = &self.hand.folded;
        if folded.len() >= MOST_FOLDED && !folded.last().is_some_and(|last| last.is_same(node)) {
            self.close_hand(&node.to_string())?;
        }
        self.hand.mark_folded(node);
        self.budget.operations(node, self.hand.map.output().saturating_mul(FOLDING_PRICE))
    }

    /// The constant that an input names.
    pub(super) fn constant(&mut self, site: &Site<'a>, input: usize) -> Result<Rc<Tensor>, FormatError> {
        let node = &site.node;
        let name =
            site.input(input).ok_or_else(|| node.malformed(format!("it has no input {}", input + 1)))?;
        match (self.slots.get(name), self.graph.maker(name)) {
            (Some(Slot::Constant(tensor)), _) => Ok(self.of_one_sample(site, tensor)),
            (None, Some(Maker::Initializer(tensor))) => {
                self.budget.entries(node, tensor.size() / 4, 1)?;
                let before = self.graph.files.bytes();
                let who = format_args!("initializer {}", Quoted(name));
                let tensor = Tensor::decode(tensor, who, &self.graph.files)?;
                if tensor.dims.len() > 1 && tensor.dims.contains(&0) {
                    return Err(node.unsupported(format!("{} is empty", Quoted(name))));
                }
                // What stands in a file beside the model counts as part of it.
                self.budget.grow(self.graph.files.bytes() - before);
                self.budget.entries(node, shape::count(&tensor.dims).unwrap_or(usize::MAX), 1)?;
                Ok(self.of_one_sample(site, &Rc::new(tensor)))
            }
            _ => Err(node.unsupported(format!(
                "its input {} is a value of the network; expected a constant",
                input + 1
            ))),
        }
    }

    /// A constant that was written down for every sample of the batch of the file, as for one sample: `zeros_like` of a
    /// batch is one. Whether that was meant is found when the samples are compared.
    fn of_one_sample(&self, site: &Site<'a>, tensor: &Rc<Tensor>) -> Rc<Tensor> {
        const ENTRY_BY_ENTRY: [&str; 9] =
            ["Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Where", "Concat"];
        let values = site.inputs.iter().filter_map(|name| match self.slots.get(name) {
            Some(Slot::Value(value)) => Some(&value.dims),
            _ => None,
        });
        let hand = self.has_hand().then_some(&self.hand.dims);
        let dims = hand.into_iter().chain(values).next();
        // Where the values are in other hands already, their shape is taken to fit.
        let is_sample = dims.is_none_or(|dims| dims.len() == tensor.dims.len() && dims.first() == Some(&1));
        match self.batch.filter(|_| is_sample && ENTRY_BY_ENTRY.contains(&site.node.operator)) {
            Some(batch) => tensor.first_of(batch).map_or_else(|| tensor.clone(), Rc::new),
            None => tensor.clone(),
        }
    }

    /// The integers of an optional input (a shape, axes).
    pub(super) fn integers(
        &mut self,
        site: &Site<'a>,
        input: usize,
    ) -> Result<Option<Vec<i64>>, FormatError> {
        let Some(name) = site.input(input) else { return Ok(None) };
        match &self.constant(site, input)?.values {
            Values::Integers(values) => Ok(Some(values.clone())),
            Values::Floats(..) => {
                Err(site.node.malformed(format!("expected {} to hold integers", Quoted(name))))
            }
        }
    }

    /// The shape and numbers of a constant input.
    pub(super) fn floats(
        &mut self,
        site: &Site<'a>,
        input: usize,
    ) -> Result<(Vec<usize>, Vec<f64>), FormatError> {
        let tensor = self.constant(site, input)?;
        let tensor = Rc::try_unwrap(tensor).unwrap_or_else(|shared| (*shared).clone());
        match tensor {
            Tensor { dims, values: Values::Floats(values, precision) } => {
                self.precision = Some(self.precision.map_or(precision, |lowest| lowest.min(precision)));
                Ok((dims, values))
            }
            Tensor { .. } => {
                let name = Quoted(site.input(input).unwrap_or(""));
                let message = format!("expected {name} to hold floating-point numbers, found integers");
                Err(site.node.malformed(message))
            }
        }
    }

    /// The numbers of a constant, one for each entry of a tensor of shape `to`.
    pub(super) fn broadcast(
        &mut self,
        node: &Node,
        (dims, values): (Vec<usize>, Vec<f64>),
        to: &[usize],
    ) -> Result<Vec<f64>, FormatError> {
        self.budget.entries(node, shape::count(to).unwrap_or(usize::MAX), 1)?;
        Ok(shape::broadcast_source(&dims, to).into_iter().map(|at| values[at]).collect())
    }

    /// Repeats the entries of the value at hand to a larger shape.
    pub(super) fn spread(&mut self, node: &Node, dims: &[usize]) -> Result<(), FormatError> {
        let count = shape::count(dims).unwrap_or(usize::MAX);
        if count != self.width() {
            self.budget.entries(node, count, 1)?;
            let source = shape::broadcast_source(&self.hand.dims, dims);
            self.hand.map.select(&source);
        }
        self.hand.dims = dims.to_vec();
        Ok(())
    }
}
