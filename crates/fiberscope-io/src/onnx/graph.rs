//! The graph of a model: who makes which value, and the chain from the output back to the input.
//!
//! ONNX lists the nodes in topological order, so every name a node reads must have been made before
//! it; this also excludes cycles. Names are kept as slices in a sorted list of small entries: a file may
//! consist of nothing but names.

use super::proto::{Dimension, Node, Quoted, ValueInfo};
use super::shape::MAX_RANK;
use super::tensor;
use super::wire::Message;
use crate::{FormatError, Precision};

/// A parsed graph: nodes, names and who makes them.
pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    initializers: Vec<Message<'a>>,
    names: Names<'a>,
    /// For each node, whether it depends on the graph's input.
    depends: Vec<bool>,
    input: ValueInfo<'a>,
    output: &'a str,
}

/// Where a value comes from.
#[derive(Clone, Copy)]
pub(super) enum Maker<'a> {
    Input,
    Initializer(Message<'a>),
    /// The output of a node, and whether it is its first.
    Node(usize, bool),
}

/// A node of the chain.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// The node.
    pub(super) node: usize,
    /// Which of its inputs is the chain's value; the others are constants.
    pub(super) data: usize,
}

impl<'a> Graph<'a> {
    /// Reads the graph of a model.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let model = Message::new(bytes, "the model");
        let Some(graph) = model.last(7)? else {
            return Err(FormatError::malformed("not an ONNX model: there is no graph in it"));
        };
        let lists = Lists::parse(graph.message("the graph")?)?;
        let names = Names::new(&lists)?;
        let input = single("input", lists.inputs.iter().filter(|input| names.is_input(input.name)))?;
        let output = single("output", lists.outputs.iter())?.name;
        let Lists { nodes, initializers, .. } = lists;
        let mut graph = Graph { nodes, initializers, names, depends: Vec::new(), input, output };
        graph.check_order()?;
        Ok(graph)
    }

    /// Where the value of this name comes from.
    pub(super) fn maker(&self, name: &str) -> Option<Maker<'a>> {
        Some(match self.names.find(name)? {
            Source::Input => Maker::Input,
            Source::Initializer(at) => Maker::Initializer(self.initializers[at as usize]),
            Source::Output { node, is_first } => Maker::Node(node as usize, is_first),
        })
    }

    /// The shape of the graph's input, where a symbolic first dimension counts as 1, and its type.
    pub(super) fn input_shape(&self) -> Result<(Vec<usize>, Precision), FormatError> {
        let who = format!("input {}", Quoted(self.input.name));
        let Some((element, Some(shape))) = self.input.tensor_type()? else {
            return Err(FormatError::malformed(format!("{who}: the file does not give its shape")));
        };
        let precision = tensor::float_type(element).ok_or_else(|| {
            let found = tensor::type_name(element);
            FormatError::unsupported(format!("{who}: expected floating-point numbers, found {found}"))
        })?;
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
                    return Err(FormatError::unsupported(format!(
                        "{who}: {found} (only the batch may be open)"
                    )));
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
        Ok((dims, precision))
    }

    /// The nodes between the graph's input and its output, in that order.
    pub(super) fn chain(&self) -> Result<Vec<Step>, FormatError> {
        let mut chain = Vec::new();
        let mut value = self.output;
        loop {
            let node = match self.maker(value) {
                Some(Maker::Input) => break,
                Some(Maker::Node(node, true)) => node,
                Some(Maker::Node(node, false)) => {
                    let reason = format!("its output {} is used; expected the first", Quoted(value));
                    return Err(self.nodes[node].unsupported(reason));
                }
                Some(Maker::Initializer(_)) => return Err(self.constant_output()),
                None => {
                    let message = format!("output {} is made by no node", Quoted(value));
                    return Err(FormatError::malformed(message));
                }
            };
            if !self.depends[node] {
                return Err(self.constant_output());
            }
            let (data, name) = self.data_input(&self.nodes[node])?;
            chain.push(Step { node, data });
            value = name;
        }
        chain.reverse();
        Ok(chain)
    }

    /// The only input of the node that depends on the graph's input.
    fn data_input(&self, node: &Node<'a>) -> Result<(usize, &'a str), FormatError> {
        let mut found = None;
        for (at, name) in node.inputs().enumerate() {
            let name = name?;
            if !self.depends_on_input(name) {
                continue;
            }
            if let Some((_, first)) = found {
                let both =
                    format!("reads {} and {}, which both depend on the input", Quoted(first), Quoted(name));
                return Err(node.unsupported(format!("{both}; expected a single chain of layers")));
            }
            found = Some((at, name));
        }
        Ok(found.expect("the node was marked as depending on the input"))
    }

    fn depends_on_input(&self, name: &str) -> bool {
        match self.maker(name) {
            Some(Maker::Input) => true,
            Some(Maker::Node(node, _)) => self.depends[node],
            _ => false,
        }
    }

    fn constant_output(&self) -> FormatError {
        FormatError::unsupported(format!("output {} does not depend on the input", Quoted(self.output)))
    }

    /// Checks that every node reads only what was made before it, and marks those that depend on
    /// the input.
    fn check_order(&mut self) -> Result<(), FormatError> {
        for at in 0..self.nodes.len() {
            let node = self.nodes[at];
            let mut depends = false;
            for name in node.inputs() {
                let name = name?;
                depends |= match self.maker(name) {
                    _ if name.is_empty() => false,
                    Some(Maker::Input) => true,
                    Some(Maker::Initializer(_)) => false,
                    Some(Maker::Node(maker, _)) if maker < at => self.depends[maker],
                    Some(Maker::Node(..)) => {
                        let reason = format!("reads {}, which is made only later", Quoted(name));
                        return Err(node.malformed(format!("{reason} (a cycle, or nodes out of order)")));
                    }
                    None => {
                        return Err(node.malformed(format!("reads {}, which nothing makes", Quoted(name))));
                    }
                };
            }
            self.depends.push(depends);
        }
        Ok(())
    }
}

/// The lists of a `GraphProto`.
struct Lists<'a> {
    nodes: Vec<Node<'a>>,
    initializers: Vec<Message<'a>>,
    inputs: Vec<ValueInfo<'a>>,
    outputs: Vec<ValueInfo<'a>>,
}

impl<'a> Lists<'a> {
    fn parse(graph: Message<'a>) -> Result<Self, FormatError> {
        let mut lists = Lists { nodes: vec![], initializers: vec![], inputs: vec![], outputs: vec![] };
        for field in graph.fields() {
            let field = field?;
            match field.number {
                1 => lists.nodes.push(Node::parse(field.message("a node")?)?),
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
    Output { node: u32, is_first: bool },
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
            for (position, name) in node.outputs().enumerate() {
                let name = name?;
                if !name.is_empty() {
                    names.0.push((name, Source::Output { node: index(at)?, is_first: position == 0 }));
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

fn single<'v, 'a: 'v>(
    what: &str,
    mut values: impl Iterator<Item = &'v ValueInfo<'a>>,
) -> Result<ValueInfo<'a>, FormatError> {
    let Some(first) = values.next() else {
        return Err(FormatError::malformed(format!("the graph has no {what}")));
    };
    if let Some(second) = values.next() {
        let found = format!("{} and {}", Quoted(first.name), Quoted(second.name));
        let others = if values.next().is_some() { " and more" } else { "" };
        return Err(FormatError::unsupported(format!(
            "the graph has {what}s {found}{others}; expected one {what}"
        )));
    }
    Ok(*first)
}
