//! Graphs in memory: what is no ONNX file but means one is written as such and read by the one reader.

use super::pieces::{bytes, integer, key, text, varint};

/// The bytes of an ONNX model in the making: a chain or graph of nodes with one input and one output.
#[derive(Default)]
pub(crate) struct Builder {
    nodes: Vec<u8>,
    constants: Vec<u8>,
}

/// An attribute of a node.
pub(crate) enum Attribute<'a> {
    Integer(&'a str, i64),
    Integers(&'a str, &'a [i64]),
    Float(&'a str, f32),
}

impl Builder {
    /// Adds a node with one output.
    pub(crate) fn node(
        &mut self,
        operator: &str,
        name: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[Attribute],
    ) {
        let mut node = Vec::new();
        inputs.iter().for_each(|input| text(&mut node, 1, input));
        text(&mut node, 2, output);
        text(&mut node, 3, name);
        text(&mut node, 4, operator);
        attributes.iter().for_each(|attribute| bytes(&mut node, 5, &attribute.bytes()));
        bytes(&mut self.nodes, 1, &node);
    }

    /// Adds a constant of doubles.
    pub(crate) fn constant(&mut self, name: &str, dims: &[usize], numbers: &[f64]) {
        let mut tensor = Vec::with_capacity(64 + 8 * numbers.len());
        dims.iter().for_each(|&dim| integer(&mut tensor, 1, dim as u64));
        integer(&mut tensor, 2, DOUBLE);
        text(&mut tensor, 8, name);
        key(&mut tensor, 9, 2);
        varint(&mut tensor, 8 * numbers.len() as u64);
        numbers.iter().for_each(|number| tensor.extend_from_slice(&number.to_le_bytes()));
        bytes(&mut self.constants, 5, &tensor);
    }

    /// The nodes alone, as fields of a graph.
    pub(crate) fn into_nodes(self) -> Vec<u8> {
        self.nodes
    }

    /// The model from an input of this shape to an output.
    pub(crate) fn finish(self, input: (&str, &[usize]), output: &str) -> Vec<u8> {
        let Builder { nodes: mut graph, constants } = self;
        graph.extend_from_slice(&constants);
        bytes(&mut graph, 11, &value_info(input.0, Some(input.1)));
        bytes(&mut graph, 12, &value_info(output, None));
        let mut model = Vec::with_capacity(graph.len() + 32);
        bytes(&mut model, 7, &graph);
        model
    }
}

/// `TensorProto.DataType` of doubles.
const DOUBLE: u64 = 11;

impl Attribute<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match *self {
            Attribute::Integer(name, value) => {
                text(&mut out, 1, name);
                integer(&mut out, 3, value as u64);
                integer(&mut out, 20, 2);
            }
            Attribute::Integers(name, values) => {
                text(&mut out, 1, name);
                values.iter().for_each(|&value| integer(&mut out, 8, value as u64));
                integer(&mut out, 20, 7);
            }
            Attribute::Float(name, value) => {
                text(&mut out, 1, name);
                key(&mut out, 2, 5);
                out.extend_from_slice(&value.to_le_bytes());
                integer(&mut out, 20, 1);
            }
        }
        out
    }
}

fn value_info(name: &str, dims: Option<&[usize]>) -> Vec<u8> {
    let mut tensor = Vec::new();
    integer(&mut tensor, 1, DOUBLE);
    if let Some(dims) = dims {
        let mut shape = Vec::new();
        for &dim in dims {
            let mut dimension = Vec::new();
            integer(&mut dimension, 1, dim as u64);
            bytes(&mut shape, 1, &dimension);
        }
        bytes(&mut tensor, 2, &shape);
    }
    let mut kind = Vec::new();
    bytes(&mut kind, 1, &tensor);
    let mut info = Vec::new();
    text(&mut info, 1, name);
    bytes(&mut info, 2, &kind);
    info
}
