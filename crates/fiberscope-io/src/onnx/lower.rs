//! From the nodes of a graph to the layers of a network.
//!
//! Nodes that switch (`Relu`, `MaxPool`, ...) have a *level*: how many of them lie one behind the other on the longest way
//! from the input. All of one level become one layer. Affine nodes are worked off as late as possible, just before
//! the first layer that needs them, so that few numbers are carried past layers. The value at hand is changed by one
//! operator after the other; operators that only change its shape are free, selections and arithmetic with
//! constants go into the monomial parts of its map, matrices into the dense part.

use std::collections::HashMap;
use std::rc::Rc;

use fiberscope_core::{Activation, Matrix, Network, Rational};

use super::affine::{Affine, exact};
use super::budget::Budget;
use super::constant;
use super::graph::{Graph, Input, Maker};
use super::heads::{self, Logits};
use super::layers::{Layers, Value};
use super::map::Map;
use super::piecewise;
use super::proto::{Node, Quoted};
use super::shape;
use super::tensor::{Tensor, Values, float_type, type_name};
use crate::{FormatError, Model, Precision, ReadOptions};

/// After so many constants the map becomes a layer, lest its rational numbers grow without bound.
const MOST_FOLDED: usize = 8;

/// Rational operations paid for each entry that a constant changes.
const FOLDING_PRICE: usize = 8;

/// The network of a graph.
pub(super) fn lower(graph: &Graph, options: &ReadOptions, budget: Budget) -> Result<Model, FormatError> {
    let logits = heads::find(graph, options.output.as_deref())?;
    let inputs = graph.inputs(&options.shapes)?;
    let whole: Vec<Input> = inputs.iter().filter_map(Input::whole).collect();
    let read = attempt(graph, &logits, inputs, budget.clone());
    if whole.is_empty() || read.is_ok() {
        return read;
    }
    // A graph that does not treat the first dimension as a batch, such as one that takes a column.
    let inputs = graph.inputs(&options.shapes)?.into_iter().map(|input| input.whole().unwrap_or(input));
    match attempt(graph, &logits, inputs.collect(), budget) {
        Ok(mut model) => {
            for input in &whole {
                let (name, dims) = (Quoted(input.name), shape::show(&input.dims));
                model
                    .notes
                    .push(format!("input {name}: all of its shape {dims} is read, as it has no batch"));
            }
            Ok(model)
        }
        Err(_) => read,
    }
}

fn attempt<'a>(
    graph: &Graph<'a>,
    logits: &Logits<'a>,
    inputs: Vec<Input<'a>>,
    budget: Budget,
) -> Result<Model, FormatError> {
    let mut lowering = Lowering::new(graph, inputs, budget)?;
    if !logits.aside.is_empty() {
        let nodes: Vec<_> = logits.aside.iter().map(ToString::to_string).collect();
        let found = format!("{} set aside: the outputs are the values before", nodes.join(", "));
        lowering.layers.notes.push(format!("{found} ({})", Quoted(logits.name)));
    }
    lowering.run(logits.name)
}

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
        let found = format!("its input {} depends on the input of the network", self.data + 1);
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
    slots: HashMap<&'a str, Slot<'a>>,
    /// How many nodes still read a name.
    uses: HashMap<&'a str, usize>,
    /// The size of the batch that the file was made for, if it is not 1.
    pub(super) batch: Option<usize>,
    precision: Option<Precision>,
    input_precision: Precision,
}

impl<'g, 'a> Lowering<'g, 'a> {
    fn new(graph: &'g Graph<'a>, inputs: Vec<Input<'a>>, mut budget: Budget) -> Result<Self, FormatError> {
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
        Ok(Lowering { graph, budget, hand, layers, slots, uses, batch, precision: None, input_precision })
    }

    fn run(mut self, output: &'a str) -> Result<Model, FormatError> {
        let order = self.graph.needed(output)?;
        self.count_uses(&order, output)?;
        let schedule = Schedule::new(self.graph, &order)?;
        let last = schedule.last;
        for round in 1..=last + 1 {
            for &at in order.iter().filter(|&&at| schedule.due[at] == round && !schedule.switches[at]) {
                self.evaluate(at)?;
            }
            let level = |at: &&usize| schedule.switches[**at] && schedule.due[**at] == round;
            let switching: Vec<usize> = order.iter().filter(level).copied().collect();
            if !switching.is_empty() {
                self.switch(&switching)?;
            }
        }
        self.finish(output)
    }

    fn count_uses(&mut self, order: &[usize], output: &'a str) -> Result<(), FormatError> {
        *self.uses.entry(output).or_default() += 1;
        for &at in order {
            for name in self.graph.nodes[at].inputs() {
                *self.uses.entry(name?).or_default() += 1;
            }
        }
        let uses = &self.uses;
        self.slots.retain(|name, _| uses.contains_key(name));
        Ok(())
    }

    fn finish(mut self, output: &'a str) -> Result<Model, FormatError> {
        match self.slots.remove(output) {
            Some(Slot::Value(value)) => self.hand = value,
            _ => {
                let message = format!("output {} does not depend on the input", Quoted(output));
                return Err(FormatError::unsupported(message));
            }
        }
        self.slots.clear();
        if self.hand.map.is_identity() && !self.layers.is_empty() {
            let note = "the network ends with a ReLU: an identity layer was put behind it";
            self.layers.notes.push(note.to_owned());
        }
        self.close_hand("the output")?;
        let precision = self.precision.unwrap_or(self.input_precision);
        let (layers, notes) = self.layers.finish();
        Ok(Model { network: Network::new(layers)?, precision, notes })
    }

    /// The inputs of a node, all of which were made.
    pub(super) fn site(&self, at: usize) -> Result<Site<'a>, FormatError> {
        // No operator that is read here has more inputs than this but those that take any number.
        const MOST_INPUTS: usize = 1 << 16;
        let node = self.graph.nodes[at];
        if !node.is_standard() && !node.is_scaler() {
            return Err(node.unsupported("operators outside the ONNX standard cannot be read"));
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

    /// Works off a node that does not switch.
    fn evaluate(&mut self, at: usize) -> Result<(), FormatError> {
        let mut site = self.site(at)?;
        let values: Vec<usize> = (0..site.inputs.len()).filter(|&i| self.is_value(site.inputs[i])).collect();
        let node = site.node;
        let shapes_only = matches!(node.operator, "Shape" | "Size");
        match values.as_slice() {
            _ if shapes_only => {
                let dims = match self.slots.get(site.input(0).unwrap_or("")) {
                    Some(Slot::Value(value)) => value.dims.clone(),
                    _ => self.constant(&site, 0)?.dims.clone(),
                };
                let tensor = constant::shape_of(&node, &dims)?;
                site.inputs.iter().for_each(|name| self.count_down(name));
                self.store(&node, vec![Slot::Constant(Rc::new(tensor))])
            }
            [] if !constant::computes(node.operator) => {
                self.hand = self.constant_value(&site, 0)?;
                let made = self.step(&site)?;
                self.release(&site);
                self.store(&node, made.into_iter().map(Slot::Value).collect())
            }
            [] => {
                let tensor = constant::evaluate(self, &site)?;
                self.release(&site);
                self.store(&node, vec![Slot::Constant(Rc::new(tensor))])
            }
            [one] => {
                site.data = *one;
                self.hand = self.take(site.inputs[*one], &node)?;
                let made = self.step(&site)?;
                self.release(&site);
                self.store(&node, made.into_iter().map(Slot::Value).collect())
            }
            [first, second, ..] => {
                if !matches!(node.operator, "Add" | "Sub" | "Concat" | "Sum" | "Mean") {
                    let (first, second) = (Quoted(site.inputs[*first]), Quoted(site.inputs[*second]));
                    let both = format!("reads {first} and {second}, which both depend on the input");
                    return Err(node.unsupported(format!("{both}; the result is not piecewise linear")));
                }
                let made = self.join(&site)?;
                self.release(&site);
                self.store(&node, vec![Slot::Value(made)])
            }
        }
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

    /// The value of this name for one reader: itself for the last, a copy for those before.
    pub(super) fn take(&mut self, name: &'a str, node: &Node) -> Result<Value<'a>, FormatError> {
        let expected = || node.unsupported(format!("expected {} to depend on the input", Quoted(name)));
        let Some(Slot::Value(value)) = self.slots.get(name) else { return Err(expected()) };
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

    /// Counts down the readers of the constants that a node has read; those of values were counted when they were
    /// taken.
    pub(super) fn release(&mut self, site: &Site<'a>) {
        for &name in &site.inputs {
            if !self.is_value(name) {
                self.count_down(name);
            }
        }
    }

    fn count_down(&mut self, name: &str) {
        if let Some(uses) = self.uses.get_mut(name) {
            *uses -= 1;
            if *uses == 0 {
                self.uses.remove(name);
                self.slots.remove(name);
            }
        }
    }

    /// Follows the value at hand by a node.
    fn step(&mut self, site: &Site<'a>) -> Result<Vec<Value<'a>>, FormatError> {
        match site.node.operator {
            "Add" | "Sub" | "Mul" | "Div" => self.arithmetic(site)?,
            "Sum" | "Mean" if site.inputs.len() == 1 => {}
            "Sum" | "Mean" | "Concat" => return Ok(vec![self.join(site)?]),
            "Neg" => self.scale_all(&site.node, &Rational::from(-1))?,
            "Gemm" => self.gemm(site)?,
            "MatMul" => self.matmul(site)?,
            "BatchNormalization" => self.batch_normalization(site)?,
            "Conv" => self.convolution(site)?,
            "ConvTranspose" => self.transposed_convolution(site)?,
            "AveragePool" | "GlobalAveragePool" => self.average_pool(site)?,
            "ReduceSum" | "ReduceMean" => self.reduce(site)?,
            "Transpose" | "Slice" | "Gather" | "GatherND" | "Expand" | "Tile" => self.rearrange(site)?,
            "Pad" => self.pad(site)?,
            "Resize" | "Upsample" => self.resize(site)?,
            "Split" => return self.split(site),
            "Identity" | "Cast" | "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => self.reshape(site)?,
            "Dropout" => self.dropout(site)?,
            "Scaler" if site.node.is_scaler() => self.scaler(site)?,
            _ => return Err(piecewise::unknown_operator(&site.node)),
        }
        Ok(vec![self.put_down()])
    }

    /// The value at hand, which is let go.
    pub(super) fn put_down(&mut self) -> Value<'a> {
        std::mem::replace(&mut self.hand, Value::empty())
    }

    /// Makes a layer of some values, carrying all that is still needed; the values as numbers of the new layer.
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
    fn close_hand(&mut self, who: &str) -> Result<(), FormatError> {
        let value = self.put_down();
        self.hand = self.close(who, Activation::Identity, vec![value], &mut [])?.remove(0);
        Ok(())
    }

    /// The number of entries of the value at hand.
    pub(super) fn width(&self) -> usize {
        shape::count(&self.hand.dims).expect("every shape of the value was within the budget")
    }

    /// Follows the value at hand by a matrix, starting a new layer if there is one already.
    pub(super) fn multiply(
        &mut self,
        node: &Node,
        weight: Matrix,
        dims: Vec<usize>,
    ) -> Result<(), FormatError> {
        if weight.rows() == 0 {
            return Err(node.malformed("its result is empty"));
        }
        let rows = match &self.hand.map {
            Map::Plain(map) if map.takes_matrix() => None,
            map => map.rows(),
        };
        if let Some(rows) = rows {
            self.budget.operations(node, rows.products(&weight))?;
            self.budget.entries(node, weight.rows(), self.layers.width())?;
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
    fn fold(&mut self, node: &Node<'a>) -> Result<(), FormatError> {
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
            (Some(Slot::Constant(tensor)), _) => Ok(tensor.clone()),
            (None, Some(Maker::Initializer(tensor))) => {
                self.budget.entries(node, tensor.size() / 4, 1)?;
                let before = self.graph.files.bytes();
                let who = format_args!("initializer {}", Quoted(name));
                let tensor = Tensor::decode(tensor, who, &self.graph.files)?;
                // What stands in a file beside the model counts as part of it.
                self.budget.grow(self.graph.files.bytes() - before);
                self.budget.entries(node, shape::count(&tensor.dims).unwrap_or(usize::MAX), 1)?;
                Ok(Rc::new(tensor))
            }
            _ => Err(node.unsupported(format!(
                "its input {} depends on the input of the network; expected a constant",
                input + 1
            ))),
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

    fn arithmetic(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        if node.attribute("axis")?.is_some() {
            return Err(
                node.unsupported("its attribute `axis` is from before ONNX opset 7; convert the model first")
            );
        }
        let data_is_left = site.data_is_left()?;
        let mut operand = self.floats(site, usize::from(data_is_left))?;
        self.unbatch(&mut operand);
        let dims = shape::broadcast(&self.hand.dims, &operand.0).map_err(|reason| node.malformed(reason))?;
        self.spread(node, &dims)?;
        let values = self.broadcast(node, operand, &dims)?;
        let rationals = |values: &[f64]| values.iter().copied().map(exact).collect::<Vec<_>>();
        match (node.operator, data_is_left) {
            ("Add", _) => self.add(node, values),
            ("Sub", true) => self.add(node, values.into_iter().map(|value| -value).collect()),
            ("Sub", _) => {
                self.scale(node, &vec![Rational::from(-1); values.len()])?;
                self.add(node, values)
            }
            ("Mul", _) => self.scale(node, &rationals(&values)),
            ("Div", true) => {
                let inverses: Option<Vec<_>> = rationals(&values).iter().map(Rational::recip).collect();
                let inverses = inverses.ok_or_else(|| node.malformed("it divides by zero"))?;
                self.scale(node, &inverses)
            }
            _ => Err(node.unsupported("it divides a constant by the data, which is not affine")),
        }
    }

    /// `(x - offset) * scale`, column by column.
    fn scaler(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let columns = self.hand.dims.last().copied().unwrap_or(1);
        let mut list = |name: &str, sign: f64| -> Result<Vec<Rational>, FormatError> {
            let values = node.attribute(name)?.map(|list| list.floats()).transpose()?.unwrap_or_default();
            let fits = (values.len() == 1 || values.len() == columns) && values.iter().all(|v| v.is_finite());
            if !fits {
                let found = format!("its {name} has {} numbers", values.len());
                return Err(node.malformed(format!("{found}; expected {columns} finite ones")));
            }
            let width = shape::count(&self.hand.dims).unwrap_or(0);
            self.budget.entries(node, width, 1)?;
            let entry = |i: usize| exact(sign * f64::from(values[i % columns % values.len()]));
            Ok((0..width).map(entry).collect())
        };
        let (offset, scale) = (list("offset", -1.0)?, list("scale", 1.0)?);
        self.shift(node, &offset)?;
        self.scale(node, &scale)
    }

    /// A constant with the batch of the file as its first dimension is that of one sample, if all are the same.
    fn unbatch(&self, (dims, values): &mut (Vec<usize>, Vec<f64>)) {
        let Some(batch) = self.batch else { return };
        if dims.len() == self.hand.dims.len() && dims.first() == Some(&batch) && self.hand.dims[0] == 1 {
            let one = values.len() / batch;
            if values.chunks(one.max(1)).all(|sample| sample == &values[..one]) {
                values.truncate(one);
                dims[0] = 1;
            }
        }
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

    fn reshape(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        if node.operator == "Cast" {
            let to = node.integer("to", 0)?;
            if float_type(to).is_none() {
                let found = format!("expected a cast to floating-point numbers, found {}", type_name(to));
                return Err(node.unsupported(found));
            }
        }
        let dims = self.hand.dims.clone();
        let reshaped = constant::reshaped(self, site, &dims)?;
        self.hand.dims = reshaped.ok_or_else(|| piecewise::unknown_operator(node))?;
        Ok(())
    }

    fn dropout(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        site.data_comes_first()?;
        if site.input(2).is_none() {
            return Ok(());
        }
        match &self.constant(site, 2)?.values {
            Values::Integers(values) if values.iter().all(|&value| value == 0) => Ok(()),
            _ => Err(site.node.unsupported("it is in training mode; export the model for inference")),
        }
    }
}

/// When each node is worked off.
struct Schedule {
    switches: Vec<bool>,
    /// For a node that switches its level; for another the first level that needs it, or one more than the last.
    due: Vec<usize>,
    last: usize,
}

impl Schedule {
    fn new(graph: &Graph, order: &[usize]) -> Result<Self, FormatError> {
        let count = graph.nodes.len();
        let (mut switches, mut level, mut last) = (vec![false; count], vec![0; count], 0);
        for &at in order {
            let node = &graph.nodes[at];
            switches[at] = node.is_standard() && piecewise::switches(node.operator);
            for name in node.inputs() {
                if let Some(Maker::Node(maker)) = graph.maker(name?) {
                    level[at] = level[at].max(level[maker]);
                }
            }
            level[at] += usize::from(switches[at]);
            last = last.max(level[at]);
        }
        let mut due = vec![last + 1; count];
        for &at in order.iter().rev() {
            if switches[at] {
                due[at] = level[at];
            }
            for name in graph.nodes[at].inputs() {
                if let Some(Maker::Node(maker)) = graph.maker(name?) {
                    due[maker] = due[maker].min(due[at]);
                }
            }
        }
        Ok(Schedule { switches, due, last })
    }
}
