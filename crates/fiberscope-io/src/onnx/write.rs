//! Writing a network as a chain of `Gemm` and `Relu`.
//!
//! Lengths come before contents in protobuf, so the sizes of all pieces are added up first; the
//! parameters themselves then go straight to the output.

use std::io::{self, Write};

use fiberscope_core::{Activation, Network, Weights};

use crate::{Names, Precision};

/// Version 8 of the format and opset 17 are read by every ONNX Runtime since 1.12.
const IR_VERSION: u64 = 8;
const OPSET: u64 = 17;

/// The most a protobuf message may hold.
const LARGEST: u64 = i32::MAX as u64;

/// Writes a network whose parameters are numbers of the given precision (single or double).
///
/// Layer `l` becomes `Gemm` with the initializers `layer{l}.weight` (out x in) and `layer{l}.bias`,
/// followed by `Relu` where the layer has one. The first dimension of `input` and `output` is the batch.
pub fn write(network: &Network, precision: Precision, out: &mut dyn Write) -> io::Result<()> {
    write_named(network, None, precision, out)
}

/// The same with the names of layers, where all neurons of a layer share one: `fc1.weight` and `fc1.bias`.
pub fn write_named(
    network: &Network,
    names: Option<&Names>,
    precision: Precision,
    out: &mut dyn Write,
) -> io::Result<()> {
    let element = Element::new(precision)?;
    let pieces = graph(network, &layer_names(network, names), element);
    let graph_size = pieces.iter().map(|piece| piece.size(element)).fold(0, u64::saturating_add);
    let mut head = Vec::new();
    integer(&mut head, 1, IR_VERSION);
    text(&mut head, 2, "fiberscope");
    text(&mut head, 3, env!("CARGO_PKG_VERSION"));
    let mut opset = Vec::new();
    integer(&mut opset, 2, OPSET);
    bytes(&mut head, 8, &opset);
    key(&mut head, 7, 2);
    varint(&mut head, graph_size);
    if graph_size.saturating_add(head.len() as u64) > LARGEST {
        let message = format!("an ONNX file holds at most 2 GiB, this network takes {graph_size} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    out.write_all(&head)?;
    for piece in &pieces {
        out.write_all(&piece.head)?;
        match piece.numbers {
            Numbers::List(numbers) => element.write(numbers, out)?,
            Numbers::Rows(Weights::Dense(matrix)) => element.write(matrix.entries(), out)?,
            Numbers::Rows(sparse) => {
                (0..sparse.rows()).try_for_each(|i| element.write(&sparse.dense_row(i), out))?;
            }
        }
    }
    Ok(())
}

/// A part of the graph: bytes, then numbers.
struct Piece<'n> {
    head: Vec<u8>,
    numbers: Numbers<'n>,
}

/// Numbers to be written.
#[derive(Clone, Copy)]
enum Numbers<'n> {
    List(&'n [f64]),
    /// A weight, zeros included.
    Rows(&'n Weights),
}

impl Numbers<'_> {
    fn count(self) -> u64 {
        match self {
            Numbers::List(numbers) => numbers.len() as u64,
            Numbers::Rows(weights) => (weights.rows() as u64).saturating_mul(weights.cols() as u64),
        }
    }
}

impl Piece<'_> {
    fn size(&self, element: Element) -> u64 {
        (self.head.len() as u64).saturating_add(self.numbers.count().saturating_mul(element.width))
    }
}

/// The number format of the file.
#[derive(Clone, Copy)]
struct Element {
    data_type: u64,
    width: u64,
}

impl Element {
    fn new(precision: Precision) -> io::Result<Self> {
        match precision {
            Precision::F32 => Ok(Element { data_type: 1, width: 4 }),
            Precision::F64 => Ok(Element { data_type: 11, width: 8 }),
            other => {
                let message = format!("ONNX files are written in f32 or f64, not in {other}");
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        }
    }

    fn write(self, numbers: &[f64], out: &mut dyn Write) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(1 << 15);
        for chunk in numbers.chunks(1 << 12) {
            buffer.clear();
            for &number in chunk {
                match self.width {
                    4 => buffer.extend_from_slice(&(number as f32).to_le_bytes()),
                    _ => buffer.extend_from_slice(&number.to_le_bytes()),
                }
            }
            out.write_all(&buffer)?;
        }
        Ok(())
    }
}

/// A name for every layer, no two the same.
fn layer_names(network: &Network, names: Option<&Names>) -> Vec<String> {
    let numbered = |l: usize| format!("layer{}", l + 1);
    let given: Vec<Option<&str>> =
        (0..network.depth()).map(|l| names.and_then(|names| names.layer(l))).collect();
    let taken = |name: &str| matches!(name, "input" | "output") || name.starts_with("layer");
    let is_free = |name: &str| given.iter().flatten().filter(|other| **other == name).count() == 1;
    let mut made = Vec::with_capacity(given.len());
    for (l, name) in given.iter().enumerate() {
        made.push(match name {
            // `layer2` may be the number of another layer.
            Some(name) if is_free(name) && (!taken(name) || name.contains('.')) => (*name).to_owned(),
            _ => numbered(l),
        });
    }
    made
}

fn graph<'n>(network: &'n Network, names: &[String], element: Element) -> Vec<Piece<'n>> {
    let mut head = Vec::new();
    let depth = network.depth();
    let mut value = "input".to_owned();
    for (l, layer) in network.layers().iter().enumerate() {
        let name = &names[l];
        let inputs = [value, format!("{name}.weight"), format!("{name}.bias")];
        value = if l + 1 == depth { "output".to_owned() } else { format!("{name}.affine") };
        let mut transposed = Vec::new();
        text(&mut transposed, 1, "transB");
        integer(&mut transposed, 3, 1);
        integer(&mut transposed, 20, 2);
        node(&mut head, "Gemm", name, &inputs, &value, Some(&transposed));
        if layer.activation() == Activation::Relu {
            let name = format!("{name}.relu");
            node(&mut head, "Relu", &name, &[value], &name, None);
            value = name;
        }
    }
    text(&mut head, 2, "network");
    let mut pieces = vec![Piece { head, numbers: Numbers::List(&[]) }];
    for (l, layer) in network.layers().iter().enumerate() {
        let (rows, cols) = (layer.width() as u64, layer.input_width() as u64);
        let name = &names[l];
        pieces.push(tensor(
            &format!("{name}.weight"),
            &[rows, cols],
            Numbers::Rows(layer.weights()),
            element,
        ));
        pieces.push(tensor(&format!("{name}.bias"), &[rows], Numbers::List(layer.bias()), element));
    }
    let mut tail = Vec::new();
    bytes(&mut tail, 11, &value_info("input", network.input_width() as u64, element));
    bytes(&mut tail, 12, &value_info("output", network.output_width() as u64, element));
    pieces.push(Piece { head: tail, numbers: Numbers::List(&[]) });
    pieces
}

fn node(
    graph: &mut Vec<u8>,
    operator: &str,
    name: &str,
    inputs: &[String],
    output: &str,
    attribute: Option<&[u8]>,
) {
    let mut node = Vec::new();
    inputs.iter().for_each(|input| text(&mut node, 1, input));
    text(&mut node, 2, output);
    text(&mut node, 3, name);
    text(&mut node, 4, operator);
    if let Some(attribute) = attribute {
        bytes(&mut node, 5, attribute);
    }
    bytes(graph, 1, &node);
}

fn tensor<'n>(name: &str, dims: &[u64], numbers: Numbers<'n>, element: Element) -> Piece<'n> {
    let mut tensor = Vec::new();
    dims.iter().for_each(|&dim| integer(&mut tensor, 1, dim));
    integer(&mut tensor, 2, element.data_type);
    text(&mut tensor, 8, name);
    key(&mut tensor, 9, 2);
    let data = numbers.count().saturating_mul(element.width);
    varint(&mut tensor, data);
    let mut head = Vec::new();
    key(&mut head, 5, 2);
    varint(&mut head, data.saturating_add(tensor.len() as u64));
    head.append(&mut tensor);
    Piece { head, numbers }
}

fn value_info(name: &str, width: u64, element: Element) -> Vec<u8> {
    let (mut batch, mut features) = (Vec::new(), Vec::new());
    text(&mut batch, 2, "batch");
    integer(&mut features, 1, width);
    let mut shape = Vec::new();
    bytes(&mut shape, 1, &batch);
    bytes(&mut shape, 1, &features);
    let mut tensor = Vec::new();
    integer(&mut tensor, 1, element.data_type);
    bytes(&mut tensor, 2, &shape);
    let mut kind = Vec::new();
    bytes(&mut kind, 1, &tensor);
    let mut info = Vec::new();
    text(&mut info, 1, name);
    bytes(&mut info, 2, &kind);
    info
}

pub(super) fn key(out: &mut Vec<u8>, number: u64, wire_type: u64) {
    varint(out, number * 8 + wire_type);
}

pub(super) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn integer(out: &mut Vec<u8>, number: u64, value: u64) {
    key(out, number, 0);
    varint(out, value);
}

pub(super) fn bytes(out: &mut Vec<u8>, number: u64, value: &[u8]) {
    key(out, number, 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

pub(super) fn text(out: &mut Vec<u8>, number: u64, value: &str) {
    bytes(out, number, value.as_bytes());
}
