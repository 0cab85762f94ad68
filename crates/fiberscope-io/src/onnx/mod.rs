//! ONNX files: graphs of affine maps and piecewise-linear operators, read as a [`fiberscope_core::Network`];
//! networks are written as graphs of `Gemm`, `Conv` and `Relu`.
//!
//! An ONNX file is one protobuf message: `ModelProto { graph: GraphProto { node, initializer, input,
//! output } }`. Only a handful of its message types matter here and files may be hostile, so they
//! are read by hand as borrowed slices (`wire`, `proto`): nothing is copied before its length has
//! been checked against the file, which a generated decoder that builds the whole tree cannot promise.
//!
//! The nodes that the output needs are sorted (`graph`), heads such as a final `Softmax` are set aside
//! (`heads`), and the rest is worked off level by level (`lower`). A value is a tensor with static
//! dimensions, flattened row by row; the first of several dimensions is the batch, of which one sample is
//! read. Every value is an affine map of the numbers of the last layer (`map`): one matrix of the file
//! between selections and multiples (`affine`), so that weights arrive bit for bit, or sums of few terms
//! (`rows`). Operators that switch are made of ReLUs (`piecewise`), and what is needed later is carried past
//! them (`layers`).
//!
//! Numbers are rational until they become a layer. A product that is no double is avoided by an affine layer
//! of its own, except where the file itself says to fold constants (`BatchNormalization`, divisions); then it
//! is rounded once, and the model's notes say so.

mod affine;
mod arithmetic;
mod batch;
mod budget;
pub(crate) mod build;
mod choice;
mod constant;
mod convolution;
mod entrywise;
mod exact_sum;
mod external;
mod fused;
mod graph;
mod heads;
mod join;
mod kernel;
mod labels;
mod layers;
mod linear;
mod lower;
mod lowering;
mod map;
mod maxima;
mod pieces;
mod piecewise;
mod proto;
mod resize;
mod rows;
mod scatter;
mod schedule;
mod select;
mod shape;
mod sketch;
mod steps;
mod sums;
mod tensor;
mod window;
mod wire;
mod write;

pub use write::{write, write_named};

use crate::{FormatError, Model, ReadOptions};

/// Reads a network from the bytes of an ONNX file.
///
/// What may stand in it is listed in `docs/formats/onnx.md`. Anything else is an error that names the node
/// and its operator.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Model, FormatError> {
    let files = external::External::new(options.folder.as_deref());
    let model = graph::Parts::of(bytes)?;
    let graph = graph::Graph::parse(&model, files)?;
    lower::lower(&graph, options, budget::Budget::new(bytes.len(), options.max_dense_entries))
}
