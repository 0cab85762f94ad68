//! ONNX files: a chain of affine maps and ReLUs, read as a [`fiberscope_core::Network`] and written as one.
//!
//! An ONNX file is one protobuf message: `ModelProto { graph: GraphProto { node, initializer, input,
//! output } }`. Only a handful of its message types matter here and files may be hostile, so they
//! are read by hand as borrowed slices (`wire`, `proto`): nothing is copied before its length has
//! been checked against the file, which a generated decoder that builds the whole tree cannot promise.
//!
//! Reading goes from the graph's output back to its input along the only value that depends on the
//! input (`graph`) and then forward again, one affine map at a time (`lower`). A value is a tensor
//! with static dimensions, flattened row by row; a symbolic first dimension (the batch) counts as 1.
//!
//! Between two ReLUs the reader keeps `x -> P_2 (W (P_1 x) + b)`, where `P_1` and `P_2` scale, shift
//! and permute entries and `W` is one matrix of the file (`affine`). Scales and shifts are rational
//! numbers, and the product is rounded once, when it becomes a layer; a second matrix starts a new
//! layer with identity activation. So weights arrive bit for bit unless the file itself says to
//! change them, and then the model's notes say so if anything was rounded.

mod affine;
mod constant;
mod convolution;
mod exact_sum;
mod graph;
mod linear;
mod lower;
mod proto;
mod shape;
mod tensor;
mod wire;
mod write;

pub use write::write;

use crate::{FormatError, Model, ReadOptions};

/// Reads a network from the bytes of an ONNX file.
///
/// The graph must be a single chain from one input to one output, made of `Gemm`, `MatMul`, `Add`,
/// `Sub`, `Mul`, `Div` with constants, `Relu`, `Conv`, `BatchNormalization`, `AveragePool`,
/// `GlobalAveragePool`, `Flatten`, `Reshape`, `Squeeze`, `Unsqueeze`, `Transpose`, `Identity`,
/// `Dropout` and `Cast`. Anything else is an error that names the node and its operator.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Model, FormatError> {
    let graph = graph::Graph::parse(bytes)?;
    lower::lower(&graph, constant::Budget::new(bytes.len(), options.max_dense_entries))
}
