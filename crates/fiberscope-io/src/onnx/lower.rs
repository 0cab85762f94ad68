//! From the nodes of a graph to the layers of a network.
//!
//! Nodes that switch (`Relu`, `MaxPool`, ...) have a *level*: how many of them lie one behind the other on
//! the longest way from the input. All of one level become one layer. Affine nodes are worked off as late as
//! possible, just before the first layer that needs them, so that few numbers are carried past layers. The
//! value at hand is changed by one operator after the other; operators that only change its shape are free,
//! selections and arithmetic with constants go into the monomial parts of its map, matrices into the dense
//! part.

use std::rc::Rc;

use fiberscope_core::{Network, Rational};

use super::batch::{self, Block};
use super::budget::Budget;
use super::choice;
use super::constant;
use super::graph::{Graph, Input, Maker};
use super::heads::{self, Logits};
use super::labels;
use super::layers::Value;
use super::lowering::{Lowering, Site, Slot};
use super::piecewise;
use super::proto::Quoted;
use super::schedule::Schedule;
use super::select;
use super::shape;
use super::tensor::{Values, float_type, type_name};
use crate::{FormatError, Model, Names, ReadOptions};

/// The network of a graph.
pub(super) fn lower(graph: &Graph, options: &ReadOptions, budget: Budget) -> Result<Model, FormatError> {
    let logits = heads::find(graph, options.output.as_deref())?;
    let inputs = graph.inputs(&options.shapes)?;
    let whole: Vec<Input> = inputs.iter().filter_map(Input::whole).collect();
    let blocks: Vec<Block> = inputs.iter().map(Block::of).collect();
    let read = attempt(graph, &logits, inputs, budget.clone());
    if whole.is_empty() {
        return read;
    }
    // A graph may not treat the first dimension as a batch: it takes a column, or mixes the samples. So it is
    // read as a whole, too, and the two are compared.
    let inputs = graph.inputs(&options.shapes)?.into_iter().map(|input| input.whole().unwrap_or(input));
    match attempt(graph, &logits, inputs.collect(), budget) {
        Ok(all) if read.as_ref().is_ok_and(|one| batch::is_batched(&one.network, &all.network, &blocks)) => {
            read
        }
        Ok(mut model) => {
            for input in &whole {
                let (name, dims) = (Quoted(input.name), shape::show(&input.dims));
                let reason = "its first dimension is not a batch of samples that are treated alike";
                model.notes.push(format!("input {name}: all of its shape {dims} is read, as {reason}"));
            }
            Ok(model)
        }
        // Convolutions and pools take one image at a time here, so that there is nothing to compare with.
        Err(_) => read.map(|mut model| {
            let note =
                "the samples of its batch were not compared with each other, as the whole cannot be read";
            model.notes.push(note.to_owned());
            model
        }),
    }
}

fn attempt<'a>(
    graph: &Graph<'a>,
    logits: &Logits<'a>,
    inputs: Vec<Input<'a>>,
    budget: Budget,
) -> Result<Model, FormatError> {
    let mut lowering = Lowering::new(graph, inputs, budget)?;
    let set_aside: Vec<String> = logits.aside.iter().map(ToString::to_string).collect();
    if !set_aside.is_empty() {
        let found = format!("{} set aside: the outputs are the values before", set_aside.join(", "));
        lowering.layers.notes.push(format!("{found} ({})", Quoted(logits.name)));
    }
    lowering.run(logits.name).map(|model| Model { set_aside, ..model })
}

impl<'a> Lowering<'_, 'a> {
    fn run(mut self, output: &'a str) -> Result<Model, FormatError> {
        let order = self.graph.needed(output)?;
        self.count_uses(&order, output)?;
        let schedule = Schedule::new(self.graph, &order)?;
        for round in schedule.rounds(&order) {
            round.affine.into_iter().try_for_each(|at| self.evaluate(at))?;
            if !round.switching.is_empty() {
                self.switch(&round.switching)?;
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
        if let [first, rest @ ..] = self.summed.as_slice() {
            let nodes = match rest {
                [] => first.to_string(),
                _ => format!("{first} and {} more", rest.len()),
            };
            self.layers.notes.push(format!(
                "{nodes}: sums of constants are made in doubles and rounded once; the last digits of a runtime may be others"
            ));
        }
        let input = self.input_dims;
        let (layers, notes, names) = self.layers.finish();
        let network = Network::new(layers)?;
        let names = Names::new(names, &network.widths()).map(|names| names.with_input(&input));
        Ok(Model { names, ..Model::new(network, precision, notes) })
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
            [] if site.inputs.is_empty() && !constant::computes(node.operator) => {
                Err(piecewise::unknown_operator(self.graph, &site))
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
                let by_constant = !site.input(0).is_some_and(|name| self.is_value(name));
                let takes_both = match node.operator {
                    "Add" | "Sub" | "Concat" | "Sum" | "Mean" | "Scatter" | "ScatterElements"
                    | "ScatterND" => true,
                    "Where" => by_constant,
                    _ => false,
                };
                if !takes_both {
                    // A condition says by itself that only choices read it.
                    for &at in &values {
                        self.refuse_condition(site.inputs[at], &node)?;
                    }
                    return Err(self.both_read(&site, site.inputs[*first], site.inputs[*second]));
                }
                let mut made = match node.operator {
                    "Where" => self.mixed(&site)?,
                    operator if operator.starts_with("Scatter") => self.scatter(&site)?,
                    _ => self.join(&site)?,
                };
                made.label = labels::of_node(&node);
                self.release(&site);
                self.store(&node, vec![Slot::Value(made)])
            }
        }
    }

    /// The error of an operator that reads two values where one at most may not be a constant.
    fn both_read(&self, site: &Site<'a>, first: &'a str, second: &'a str) -> FormatError {
        let node = &site.node;
        if let Some(constant) = [first, second].into_iter().find(|name| !self.graph.depends_on_input(name)) {
            let maker = match self.graph.maker(constant) {
                Some(Maker::Node(at)) => format!(" by {}", self.graph.nodes[at]),
                _ => String::new(),
            };
            return node.unsupported(format!(
                "reads {}, which is made of constants{maker} and was not computed; fold the constants of the file (onnxsim does, and so does onnxruntime with the level ORT_ENABLE_BASIC)",
                Quoted(constant)
            ));
        }
        let both = format!("reads {} and {}, which both depend on the input", Quoted(first), Quoted(second));
        let why = match piecewise::multiplies(node.operator) {
            true => "the result is not piecewise linear, but either",
            false => "that cannot be read of this operator, but either value",
        };
        node.unsupported(format!("{both}; {why} can be read by itself (--output NAME)"))
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
            "CumSum" => self.cumulate(site)?,
            "Trilu" => self.triangle(site)?,
            "Scatter" | "ScatterElements" | "ScatterND" => return Ok(vec![self.scatter(site)?]),
            operator if select::rearranges(operator) => self.rearrange(site)?,
            "Pad" => self.pad(site)?,
            "Where" => self.masked(site)?,
            "Resize" | "Upsample" => self.resize(site)?,
            "Split" => return self.split(site),
            "Identity" | "Cast" | "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => self.reshape(site)?,
            "Dropout" => self.dropout(site)?,
            operator if choice::compares(operator) => self.comparison(site)?,
            "Scaler" if site.node.is_scaler() => self.scaler(site)?,
            _ => return Err(piecewise::unknown_operator(self.graph, site)),
        }
        if let Some(label) = labels::of_weights(site) {
            self.hand.label = Some(label);
        }
        Ok(vec![self.put_down()])
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
            if matches!(to, 10 | 16) {
                let note = format!("{node}: the rounding of values to {} is left out", type_name(to));
                self.layers.notes.push(note);
            }
        }
        let dims = self.hand.dims.clone();
        let reshaped = constant::reshaped(self, site, &dims)?;
        self.hand.dims = reshaped.ok_or_else(|| piecewise::unknown_operator(self.graph, site))?;
        Ok(())
    }

    fn dropout(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        site.data_comes_first()?;
        let is_at_work = match site.input(2) {
            Some(_) => match &self.constant(site, 2)?.values {
                Values::Integers(values) => values.iter().any(|&value| value != 0),
                Values::Floats(..) => true,
            },
            None => self.graph.is_before(7) && site.node.integer("is_test", 0)? == 0,
        };
        match is_at_work {
            true => Err(site.node.unsupported("it is in training mode; export the model for inference")),
            false => Ok(()),
        }
    }
}
