//! From the chain of nodes to the layers of a network.
//!
//! The value that flows along the chain is a tensor of known shape. Operators that only change its
//! shape are free; `Transpose` and arithmetic with constants go into the monomial parts of the
//! current affine map, matrices into its dense part, and `Relu` closes the layer.

use std::fmt;

use fiberscope_core::{Activation, Layer, Matrix, Network, Rational};

use super::affine::{Affine, exact};
use super::constant::{Budget, constant, reshaped};
use super::graph::{Graph, Step};
use super::proto::{Node, Quoted};
use super::shape;
use super::tensor::{Tensor, Values, float_type, type_name};
use crate::{FormatError, Model, Precision};

/// After so many constants the map becomes a layer, lest its rational numbers grow without bound.
const MOST_FOLDED: usize = 8;

/// Rational operations paid for each entry that a constant changes.
const FOLDING_PRICE: usize = 8;

/// The network of a graph.
pub(super) fn lower(graph: &Graph, mut budget: Budget) -> Result<Model, FormatError> {
    let (dims, input_precision) = graph.input_shape()?;
    budget.entries("the input", shape::count(&dims).unwrap_or(usize::MAX), 1)?;
    let width = shape::count(&dims).expect("it is within the budget");
    let mut lowering = Lowering {
        graph,
        budget,
        dims,
        map: Affine::identity(width),
        layers: Vec::new(),
        folded: Vec::new(),
        rounded: false,
        precision: None,
        notes: Vec::new(),
    };
    for step in graph.chain()? {
        lowering.step(&Site::new(graph, step)?)?;
    }
    lowering.finish(input_precision)
}

/// A node of the chain with its inputs.
pub(super) struct Site<'a> {
    pub(super) node: Node<'a>,
    inputs: Vec<&'a str>,
    data: usize,
}

impl<'a> Site<'a> {
    fn new(graph: &Graph<'a>, step: Step) -> Result<Self, FormatError> {
        // No operator that is read here has more inputs than `BatchNormalization`; the rest is left out.
        const MOST_INPUTS: usize = 5;
        let node = graph.nodes[step.node];
        let inputs = node.inputs().take(MOST_INPUTS).collect::<Result<_, _>>()?;
        Ok(Site { node, inputs, data: step.data })
    }

    /// The name of an input, unless it is left out.
    pub(super) fn input(&self, at: usize) -> Option<&'a str> {
        self.inputs.get(at).copied().filter(|name| !name.is_empty())
    }

    /// Whether the chain's value is the first of two inputs; the other is the constant.
    pub(super) fn data_is_left(&self) -> Result<bool, FormatError> {
        if self.data == 1 { Ok(false) } else { self.data_comes_first().map(|()| true) }
    }

    /// An error unless the chain's value is the first input.
    pub(super) fn data_comes_first(&self) -> Result<(), FormatError> {
        if self.data == 0 {
            return Ok(());
        }
        let found = format!("its input {} depends on the input of the network", self.data + 1);
        Err(self.node.unsupported(format!("{found}; expected a constant")))
    }
}

/// The state between two nodes of the chain.
pub(super) struct Lowering<'g, 'a> {
    graph: &'g Graph<'a>,
    pub(super) budget: Budget,
    /// The shape of the value.
    pub(super) dims: Vec<usize>,
    /// From the last layer's activations to the value.
    map: Affine,
    layers: Vec<Layer>,
    /// The nodes whose constants changed numbers of `map`.
    folded: Vec<Node<'a>>,
    /// Whether such constants were rounded before they got there.
    rounded: bool,
    precision: Option<Precision>,
    notes: Vec<String>,
}

impl<'a> Lowering<'_, 'a> {
    fn step(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        if !node.is_standard() {
            return Err(node.unsupported("operators outside the ONNX standard cannot be read"));
        }
        if node.has_subgraph()? {
            return Err(node.unsupported("it contains a graph; expected a plain chain of layers"));
        }
        match node.operator {
            "Relu" => self.relu(site),
            "Add" | "Sub" | "Mul" | "Div" => self.arithmetic(site),
            "Gemm" => self.gemm(site),
            "MatMul" => self.matmul(site),
            "BatchNormalization" => self.batch_normalization(site),
            "Conv" => self.convolution(site),
            "AveragePool" | "GlobalAveragePool" => self.average_pool(site),
            "Transpose" => self.transpose(site),
            "Identity" | "Cast" | "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => self.reshape(site),
            "Dropout" => self.dropout(site),
            _ => Err(unknown_operator(node)),
        }
    }

    fn relu(&mut self, site: &Site) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let is_relu = |layer: &Layer| layer.activation() == Activation::Relu;
        if self.map.is_permutation() && self.layers.last().is_some_and(is_relu) {
            return Ok(());
        }
        if self.map.is_identity() {
            self.notes.push(format!("{node} acts on the input itself: an identity layer was put before it"));
        }
        self.close_layer(node, Activation::Relu)
    }

    /// Makes a layer of the current map.
    fn close_layer(&mut self, who: impl fmt::Display, activation: Activation) -> Result<(), FormatError> {
        let width = self.map.output();
        if self.map.is_dense() {
            self.budget.operations(who, self.map.slow_products())?;
        } else {
            self.budget.entries(who, width, width)?;
        }
        let (layer, is_exact) =
            std::mem::replace(&mut self.map, Affine::identity(width)).into_layer(activation);
        self.layers.push(layer);
        if !is_exact || self.rounded {
            self.note_folding();
        }
        self.folded.clear();
        self.rounded = false;
        Ok(())
    }

    fn note_folding(&mut self) {
        let names: Vec<_> = self.folded.iter().map(ToString::to_string).collect();
        let rounded = "folded into its weights and bias, and the results rounded to double precision";
        self.notes.push(format!("layer {}: {} {rounded}", self.layers.len(), names.join(", ")));
    }

    fn finish(mut self, input_precision: Precision) -> Result<Model, FormatError> {
        if self.map.is_identity() && !self.layers.is_empty() {
            self.notes.push("the network ends with a ReLU: an identity layer was put behind it".to_owned());
        }
        self.close_layer("the output", Activation::Identity)?;
        let precision = self.precision.unwrap_or(input_precision);
        Ok(Model { network: Network::new(self.layers)?, precision, notes: self.notes })
    }

    /// The number of entries of the value.
    pub(super) fn width(&self) -> usize {
        shape::count(&self.dims).expect("every shape of the value was within the budget")
    }

    /// Follows the map by a matrix, starting a new layer if there is one already.
    pub(super) fn multiply(
        &mut self,
        node: &Node,
        weight: Matrix,
        dims: Vec<usize>,
    ) -> Result<(), FormatError> {
        if weight.rows() == 0 {
            return Err(node.malformed("its result is empty"));
        }
        if self.map.is_dense() {
            self.close_layer(node, Activation::Identity)?;
        }
        self.map.multiply(weight);
        self.dims = dims;
        Ok(())
    }

    /// Follows the map by a multiplication of every entry.
    pub(super) fn scale(&mut self, node: &Node<'a>, factors: &[Rational]) -> Result<(), FormatError> {
        if factors.iter().any(|factor| *factor != Rational::ONE) {
            self.fold(node)?;
            self.map.scale(factors);
        }
        Ok(())
    }

    /// Follows the map by an addition to every entry.
    pub(super) fn shift(&mut self, node: &Node<'a>, terms: &[Rational]) -> Result<(), FormatError> {
        if terms.iter().any(|term| !term.is_zero()) {
            self.fold(node)?;
            self.map.shift(terms);
        }
        Ok(())
    }

    /// Follows the map by an addition to every entry. A first bias is kept bit for bit.
    pub(super) fn add(&mut self, node: &Node<'a>, terms: Vec<f64>) -> Result<(), FormatError> {
        if self.map.lacks_bias() {
            self.map.set_bias(terms);
            return Ok(());
        }
        self.shift(node, &terms.into_iter().map(exact).collect::<Vec<_>>())
    }

    /// Remembers that a constant of `node`, just folded, had been rounded before.
    pub(super) fn mark_rounded(&mut self, node: &Node<'a>) {
        self.rounded = true;
        self.mark_folded(node);
    }

    fn mark_folded(&mut self, node: &Node<'a>) {
        if !self.folded.iter().any(|folded| folded.is_same(node)) {
            self.folded.push(*node);
        }
    }

    /// Prepares for a constant of `node` that changes numbers of the map.
    fn fold(&mut self, node: &Node<'a>) -> Result<(), FormatError> {
        if self.folded.len() >= MOST_FOLDED && !self.folded.last().is_some_and(|last| last.is_same(node)) {
            self.close_layer(node, Activation::Identity)?;
        }
        self.mark_folded(node);
        self.budget.operations(node, self.map.output().saturating_mul(FOLDING_PRICE))
    }

    /// The shape and numbers of a constant input.
    pub(super) fn floats(
        &mut self,
        site: &Site,
        input: usize,
    ) -> Result<(Vec<usize>, Vec<f64>), FormatError> {
        let name =
            site.input(input).ok_or_else(|| site.node.malformed(format!("it has no input {}", input + 1)))?;
        match constant(self.graph, name, &site.node, &mut self.budget)? {
            Tensor { dims, values: Values::Floats(values, precision) } => {
                self.precision = Some(self.precision.map_or(precision, |lowest| lowest.min(precision)));
                Ok((dims, values))
            }
            Tensor { .. } => {
                let message =
                    format!("expected {} to hold floating-point numbers, found integers", Quoted(name));
                Err(site.node.malformed(message))
            }
        }
    }

    /// The numbers of a constant, one for each entry of the value once it has shape `dims`.
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
        let operand = self.floats(site, usize::from(data_is_left))?;
        let dims = shape::broadcast(&self.dims, &operand.0).map_err(|reason| node.malformed(reason))?;
        if shape::count(&dims) != Some(self.width()) {
            let (from, to) = (shape::show(&self.dims), shape::show(&dims));
            return Err(
                node.unsupported(format!("the constant would repeat the value of shape {from} to {to}"))
            );
        }
        let values = self.broadcast(node, operand, &dims)?;
        let rationals = |values: &[f64]| values.iter().copied().map(exact).collect::<Vec<_>>();
        match (node.operator, data_is_left) {
            ("Add", _) => self.add(node, values)?,
            ("Sub", true) => self.add(node, values.into_iter().map(|value| -value).collect())?,
            ("Sub", _) => {
                self.scale(node, &vec![Rational::from(-1); values.len()])?;
                self.add(node, values)?;
            }
            ("Mul", _) => self.scale(node, &rationals(&values))?,
            ("Div", true) => {
                let inverses: Option<Vec<_>> = rationals(&values).iter().map(Rational::recip).collect();
                let inverses = inverses.ok_or_else(|| node.malformed("it divides by zero"))?;
                self.scale(node, &inverses)?;
            }
            _ => return Err(node.unsupported("it divides a constant by the data, which is not affine")),
        }
        self.dims = dims;
        Ok(())
    }

    fn transpose(&mut self, site: &Site) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        self.budget.entries(node, self.width(), 1)?;
        let permutation = node.integers("perm")?;
        let (dims, source) =
            shape::transpose(&self.dims, permutation.as_deref()).map_err(|reason| node.malformed(reason))?;
        if let Some(source) = source {
            self.map.permute(&source);
        }
        self.dims = dims;
        Ok(())
    }

    fn reshape(&mut self, site: &Site) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        if node.operator == "Cast" {
            let to = node.integer("to", 0)?;
            if float_type(to).is_none() {
                let found = format!("expected a cast to floating-point numbers, found {}", type_name(to));
                return Err(node.unsupported(found));
            }
        }
        let dims = reshaped(self.graph, node, &self.dims, &mut self.budget)?;
        self.dims = dims.ok_or_else(|| unknown_operator(node))?;
        Ok(())
    }

    fn dropout(&mut self, site: &Site) -> Result<(), FormatError> {
        site.data_comes_first()?;
        let Some(name) = site.input(2) else { return Ok(()) };
        match constant(self.graph, name, &site.node, &mut self.budget)?.values {
            Values::Integers(values) if values.iter().all(|&value| value == 0) => Ok(()),
            _ => Err(site.node.unsupported("it is in training mode; export the model for inference")),
        }
    }
}

fn unknown_operator(node: &Node) -> FormatError {
    const NONLINEAR: [&str; 24] = [
        "Abs",
        "Celu",
        "Clip",
        "Elu",
        "Erf",
        "Exp",
        "Gelu",
        "HardSigmoid",
        "HardSwish",
        "LeakyRelu",
        "LogSoftmax",
        "LSTM",
        "Max",
        "MaxPool",
        "Min",
        "Mish",
        "PRelu",
        "Pow",
        "Selu",
        "Sigmoid",
        "Softmax",
        "Softplus",
        "Sqrt",
        "Tanh",
    ];
    if NONLINEAR.contains(&node.operator) {
        return node.unsupported("this is not a ReLU network: the only nonlinear operator may be Relu");
    }
    node.unsupported(
        "expected a chain of Gemm, MatMul, Conv, Relu, arithmetic with constants and changes of shape",
    )
}
