//! The graph of a model: who makes which value, in which order, and what the output needs.
//!
//! Names are kept as slices in a sorted list of small entries: a file may consist of nothing but names.
//! Nodes may stand in any order; a cycle is an error.

use super::external::External;
use super::fused;
use super::proto::{Dimension, Node, Quoted, ValueInfo};
use super::shape::{self, MAX_RANK};
use super::tensor;
use super::wire::Message;
use crate::{FormatError, Precision};

/// A parsed graph: nodes, names and who makes them.
pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    initializers: Vec<Message<'a>>,
    names: Names<'a>,
    inputs: Vec<ValueInfo<'a>>,
    outputs: Vec<&'a str>,
    /// The nodes, each after those whose values it reads.
    order: Vec<usize>,
    /// Where the numbers are that the file does not hold.
    pub(super) files: External,
    /// The version of the standard by whose rules the file is read, if it names one.
    opset: Option<i64>,
}

/// Where a value comes from.
#[derive(Clone, Copy)]
pub(super) enum Maker<'a> {
    Input,
    Initializer(Message<'a>),
    Node(usize),
}

/// One input of the graph: its name, its shape for a single sample, and the size of the batch in the file, if
/// it is not 1.
pub(super) struct Input<'a> {
    pub(super) name: &'a str,
    pub(super) dims: Vec<usize>,
    pub(super) precision: Precision,
    pub(super) batch: Option<usize>,
}

impl<'a> Input<'a> {
    /// The same input with the first dimension of the file, if that was left out as a batch.
    pub(super) fn whole(&self) -> Option<Self> {
        let mut dims = self.dims.clone();
        dims[0] = self.batch?;
        Some(Input { dims, batch: None, ..*self })
    }
}

/// The bytes that a graph is read from: those of the file, and nodes that were written out.
pub(super) struct Parts<'a> {
    graph: Message<'a>,
    opset: Option<i64>,
    fused: Vec<Vec<u8>>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let model = Message::new(bytes, "the model");
        let Some(graph) = model.last(7)? else {
            return Err(FormatError::malformed("not an ONNX model: there is no graph in it"));
        };
        let graph = graph.message("the graph")?;
        Ok(Parts { graph, opset: opset(model)?, fused: fused::written_out(graph)? })
    }
}

impl<'a> Graph<'a> {
    /// Reads the graph of a model.
    pub(super) fn parse(parts: &'a Parts<'a>, files: External) -> Result<Self, FormatError> {
        let opset = parts.opset;
        let lists = Lists::parse(parts)?;
        let names = Names::new(&lists)?;
        let inputs = lists.inputs.iter().copied().filter(|input| names.is_input(input.name)).collect();
        let outputs = lists.outputs.iter().map(|output| output.name).collect();
        let Lists { nodes, initializers, .. } = lists;
        let mut graph =
            Graph { nodes, initializers, names, inputs, outputs, order: Vec::new(), files, opset };
        if graph.inputs.is_empty() {
            return Err(FormatError::malformed("the graph has no input"));
        }
        if graph.outputs.is_empty() {
            return Err(FormatError::malformed("the graph has no output"));
        }
        graph.order = graph.sorted()?;
        Ok(graph)
    }

    /// Whether the file was written before this version of the standard.
    pub(super) fn is_before(&self, version: i64) -> bool {
        self.opset.is_some_and(|own| own < version)
    }

    /// Where the value of this name comes from.
    pub(super) fn maker(&self, name: &str) -> Option<Maker<'a>> {
        Some(match self.names.find(name)? {
            Source::Input => Maker::Input,
            Source::Initializer(at) => Maker::Initializer(self.initializers[at as usize]),
            Source::Output { node } => Maker::Node(node as usize),
        })
    }

    /// Whether the value of this name depends on an input of the graph.
    pub(super) fn depends_on_input(&self, name: &str) -> bool {
        let mut depends = vec![false; self.nodes.len()];
        let reads = |depends: &[bool], name: &str| match self.maker(name) {
            Some(Maker::Input) => true,
            Some(Maker::Node(maker)) => depends[maker],
            Some(Maker::Initializer(_)) | None => false,
        };
        for &at in &self.order {
            depends[at] = self.nodes[at].inputs().flatten().any(|name| reads(&depends, name));
        }
        reads(&depends, name)
    }

    /// The names of the outputs.
    pub(super) fn outputs(&self) -> &[&'a str] {
        &self.outputs
    }

    /// The name as the file spells it, if the graph has a value of this name.
    pub(super) fn value(&self, name: &str) -> Option<&'a str> {
        self.names.0.binary_search_by_key(&name, |(name, _)| name).ok().map(|at| self.names.0[at].0)
    }

    /// The nodes that a value needs, each after those whose values it reads.
    pub(super) fn needed(&self, output: &str) -> Result<Vec<usize>, FormatError> {
        let mut is_needed = vec![false; self.nodes.len()];
        match self.maker(output) {
            Some(Maker::Node(node)) => is_needed[node] = true,
            Some(_) => {}
            None => {
                return Err(FormatError::malformed(format!("output {} is made by no node", Quoted(output))));
            }
        }
        for &at in self.order.iter().rev() {
            if !is_needed[at] {
                continue;
            }
            for name in self.nodes[at].inputs() {
                if let Some(Maker::Node(maker)) = self.maker(name?) {
                    is_needed[maker] = true;
                }
            }
        }
        Ok(self.order.iter().copied().filter(|&at| is_needed[at]).collect())
    }

    /// The inputs of the graph, with the shapes that the caller gives for some of them. The first of several
    /// dimensions is the batch, of which one sample is read.
    pub(super) fn inputs(&self, given: &[(String, Vec<usize>)]) -> Result<Vec<Input<'a>>, FormatError> {
        if let Some((name, _)) = given.iter().find(|(name, _)| !self.inputs.iter().any(|i| i.name == name)) {
            let names: Vec<_> = self.inputs.iter().map(|input| Quoted(input.name).to_string()).collect();
            let message = format!("there is no input {}; expected one of {}", Quoted(name), names.join(", "));
            return Err(FormatError::unsupported(message));
        }
        let shape = |name: &str| given.iter().find(|(given, _)| given == name).map(|(_, dims)| dims);
        self.inputs.iter().map(|input| read_input(input, shape(input.name))).collect()
    }

    /// The nodes in an order in which each comes after those whose values it reads; as in the file as far as
    /// that goes.
    fn sorted(&self) -> Result<Vec<usize>, FormatError> {
        let mut waits = vec![0u32; self.nodes.len()];
        let mut readers: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            for name in node.inputs() {
                let name = name?;
                match self.maker(name) {
                    Some(Maker::Node(maker)) => {
                        waits[at] += 1;
                        readers[maker].push(index(at)?);
                    }
                    None if !name.is_empty() => {
                        return Err(node.malformed(format!("reads {}, which nothing makes", Quoted(name))));
                    }
                    _ => {}
                }
            }
        }
        let mut ready: std::collections::BTreeSet<usize> =
            (0..self.nodes.len()).filter(|&at| waits[at] == 0).collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(at) = ready.pop_first() {
            order.push(at);
            for &reader in &readers[at] {
                waits[reader as usize] -= 1;
                if waits[reader as usize] == 0 {
                    ready.insert(reader as usize);
                }
            }
        }
        match waits.iter().position(|&waits| waits > 0) {
            Some(at) => Err(self.nodes[at].malformed("it reads what is made from its own value (a cycle)")),
            None => Ok(order),
        }
    }
}

/// The version of the operators of the standard that a model asks for.
fn opset(model: Message) -> Result<Option<i64>, FormatError> {
    let mut version = None;
    for field in model.fields() {
        let field = field?;
        if field.number == 8 {
            let set = field.message("a set of operators")?;
            let domain = set.last(1)?.map(|domain| domain.text()).transpose()?.unwrap_or("");
            if matches!(domain, "" | "ai.onnx") {
                version = set.last(2)?.map(|version| version.integer()).transpose()?;
            }
        }
    }
    Ok(version)
}

fn read_input<'a>(input: &ValueInfo<'a>, given: Option<&Vec<usize>>) -> Result<Input<'a>, FormatError> {
    let who = format!("input {}", Quoted(input.name));
    let Some((element, shape)) = input.tensor_type()? else {
        return Err(FormatError::malformed(format!("{who}: the file does not give its shape")));
    };
    let precision = tensor::float_type(element).ok_or_else(|| {
        let found = tensor::type_name(element);
        FormatError::unsupported(format!("{who}: expected floating-point numbers, found {found}"))
    })?;
    if let Some(dims) = given {
        if dims.len() > MAX_RANK || dims.contains(&0) {
            let message =
                format!("{who}: the given shape is {}; expected positive numbers", shape::show(dims));
            return Err(FormatError::unsupported(message));
        }
        return Ok(Input { name: input.name, dims: dims.clone(), precision, batch: None });
    }
    let Some(shape) = shape else {
        let message = format!("{who}: the file does not give its shape; state it (--shape NAME=1x3x32x32)");
        return Err(FormatError::unsupported(message));
    };
    let mut dims = Vec::new();
    let mut is_open = false;
    for dimension in shape.dimensions() {
        let at = dims.len() + 1;
        if at > MAX_RANK {
            return Err(FormatError::malformed(format!("{who}: it has more than {MAX_RANK} dimensions")));
        }
        dims.push(match dimension? {
            Dimension::Known(dim @ 1..) => dim as usize,
            // Some exporters write an open batch as 0 or -1.
            Dimension::Known(dim) if at > 1 || dim < -1 => {
                let message = format!("{who}: dimension {at} is {dim}; expected a positive number");
                return Err(FormatError::malformed(message));
            }
            Dimension::Symbolic(name) if at > 1 => {
                let found = format!("dimension {at} is {}; expected a number", Quoted(name));
                let advice = "only the batch may be open; state the shape (--shape NAME=1x3x32x32)";
                return Err(FormatError::unsupported(format!("{who}: {found} ({advice})")));
            }
            _ => {
                is_open = true;
                1
            }
        });
    }
    if is_open && dims.len() == 1 {
        let message = format!("{who}: its only dimension is open; expected the number of inputs");
        return Err(FormatError::unsupported(message));
    }
    let batch = dims.first().copied().filter(|&size| dims.len() > 1 && size > 1);
    if batch.is_some() {
        dims[0] = 1;
    }
    Ok(Input { name: input.name, dims, precision, batch })
}

/// The lists of a `GraphProto`.
struct Lists<'a> {
    nodes: Vec<Node<'a>>,
    initializers: Vec<Message<'a>>,
    inputs: Vec<ValueInfo<'a>>,
    outputs: Vec<ValueInfo<'a>>,
}

impl<'a> Lists<'a> {
    fn parse(parts: &'a Parts<'a>) -> Result<Self, FormatError> {
        let mut lists = Lists { nodes: vec![], initializers: vec![], inputs: vec![], outputs: vec![] };
        let mut fused = parts.fused.iter().peekable();
        for field in parts.graph.fields() {
            let field = field?;
            match field.number {
                1 => {
                    let node = Node::parse(field.message("a node")?)?;
                    match fused.next_if(|_| fused::is_fused(&node)) {
                        None => lists.nodes.push(node),
                        Some(written) => {
                            for field in Message::new(written, "a node").fields() {
                                lists.nodes.push(Node::parse(field?.message("a node")?)?);
                            }
                        }
                    }
                }
                5 => lists.initializers.push(field.message("an initializer")?),
                11 => lists.inputs.push(ValueInfo::parse(field.message("an input")?)?),
                12 => lists.outputs.push(ValueInfo::parse(field.message("an output")?)?),
                15 => {
                    return Err(FormatError::unsupported(
                        "the graph has sparse initializers; expected dense ones",
                    ));
                }
                _ => {}
            }
        }
        Ok(lists)
    }
}

/// Where a value comes from, in few bytes.
#[derive(Clone, Copy)]
enum Source {
    Input,
    Initializer(u32),
    Output { node: u32 },
}

/// All names and where they come from, sorted by name.
struct Names<'a>(Vec<(&'a str, Source)>);

impl<'a> Names<'a> {
    /// The names of a graph; a name made twice is an error.
    fn new(lists: &Lists<'a>) -> Result<Self, FormatError> {
        let mut names = Names(Vec::with_capacity(lists.nodes.len() + lists.initializers.len()));
        for (at, tensor) in lists.initializers.iter().enumerate() {
            let name = tensor::name(*tensor)?;
            if name.is_empty() {
                return Err(FormatError::malformed("an initializer has no name"));
            }
            names.0.push((name, Source::Initializer(index(at)?)));
        }
        for (at, node) in lists.nodes.iter().enumerate() {
            for name in node.outputs() {
                let name = name?;
                if !name.is_empty() {
                    names.0.push((name, Source::Output { node: index(at)? }));
                }
            }
        }
        names.sort()?;
        let mut inputs = Names(lists.inputs.iter().map(|input| (input.name, Source::Input)).collect());
        inputs.sort()?;
        // Old files list their initializers among the inputs as well.
        inputs.0.retain(|(name, _)| !matches!(names.find(name), Some(Source::Initializer(_))));
        names.0.append(&mut inputs.0);
        names.sort()?;
        Ok(names)
    }

    fn find(&self, name: &str) -> Option<Source> {
        self.0.binary_search_by_key(&name, |(name, _)| name).ok().map(|at| self.0[at].1)
    }

    fn is_input(&self, name: &str) -> bool {
        matches!(self.find(name), Some(Source::Input))
    }

    fn sort(&mut self) -> Result<(), FormatError> {
        self.0.sort_unstable_by_key(|(name, _)| *name);
        let Some(pair) = self.0.windows(2).find(|pair| pair[0].0 == pair[1].0) else { return Ok(()) };
        let name = Quoted(pair[0].0);
        Err(FormatError::malformed(match (pair[0].1, pair[1].1) {
            (Source::Initializer(_), Source::Initializer(_)) => format!("there are two initializers {name}"),
            (Source::Input, Source::Input) => format!("there are two inputs {name}"),
            _ => format!("the value {name} is made twice"),
        }))
    }
}

fn index(at: usize) -> Result<u32, FormatError> {
    u32::try_from(at)
        .map_err(|_| FormatError::unsupported("the graph has more than 2^32 nodes or initializers"))
}
