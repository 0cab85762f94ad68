//! Writing a network as a graph of `Gemm`, `Conv` and `Relu` (`sketch`).
//!
//! Lengths come before contents in protobuf, so the sizes of all pieces are added up first; the
//! parameters themselves then go straight to the output.

use std::io::{self, Write};

use fiberscope_core::Network;

use super::pieces::{Element, bytes, integer, key, text, varint};
use super::sketch;
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

/// The same with the names of layers, where all neurons of a layer share one: `fc1.weight` and `fc1.bias`. Layers
/// that are stored by their entries are written as the convolutions that they are.
pub fn write_named(
    network: &Network,
    names: Option<&Names>,
    precision: Precision,
    out: &mut dyn Write,
) -> io::Result<()> {
    let element = Element::new(precision)?;
    let pieces = sketch::pieces(network, names, element);
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
    pieces.iter().try_for_each(|piece| piece.write(element, out))
}
