//! The safetensors format: 8 bytes `n` (little-endian), `n` bytes of JSON header, then the tensors'
//! numbers (little-endian, row by row).
//!
//! Files are read in place, on all threads at once: doubles go straight to where the network keeps
//! them, other numbers through a buffer that stays in the processor's cache. So the memory needed
//! is that of the network.

mod header;
mod source;

use std::fs::File;
use std::io::{self, Write};

use fiberscope_core::{Activation, Network};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::element::{ByteOrder, Element, check_dense_size, check_writable, encode, encode_weights};
use crate::state_dict::{self, quoted};
use crate::{FormatError, Model, Precision, ReadOptions, memory};
use header::Header;
use source::Source;

/// Reads a network from the bytes of a file whose tensors are named `W1, b1, ...` or as PyTorch names
/// them.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Model, FormatError> {
    read_from(&bytes, options)
}

/// Reads a network from a file without holding the file in memory.
pub fn read_file(file: &File, options: &ReadOptions) -> Result<Model, FormatError> {
    read_from(&file, options)
}

/// Writes a network in the given precision, F32 or F64. The tensors have the names that
/// `nn.Sequential(Linear, ReLU, Linear, ...)` gives them; the activations are also listed in the
/// metadata.
pub fn write(network: &Network, precision: Precision, out: &mut dyn Write) -> io::Result<()> {
    check_writable(network, precision)?;
    check_dense_size(network)?;
    let mut json = Value::Object(describe(network, precision)).to_string();
    while !json.len().is_multiple_of(8) {
        json.push(' ');
    }
    out.write_all(&(json.len() as u64).to_le_bytes())?;
    out.write_all(json.as_bytes())?;
    for layer in network.layers() {
        encode_weights(layer.weights(), precision, out)?;
        encode(layer.bias(), precision, out)?;
    }
    Ok(())
}

const ACTIVATIONS_KEY: &str = "fiberscope.activations";

/// The limit of the reference implementation.
const MAX_HEADER: u64 = 100_000_000;

/// Entries that one thread reads at a time: few enough for its buffer to stay in the cache.
const CHUNK: usize = 1 << 14;

fn read_from<S: Source>(source: &S, options: &ReadOptions) -> Result<Model, FormatError> {
    let size = source.size()?;
    let Some(after_length) = size.checked_sub(8) else {
        let message = format!("expected 8 bytes with the length of the header, found a file of {size} bytes");
        return Err(FormatError::malformed(message));
    };
    let mut length = [0; 8];
    source.read_at(0, &mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER || length > after_length {
        return Err(FormatError::malformed(format!(
            "expected a header of at most {} bytes, found the length {length}",
            MAX_HEADER.min(after_length)
        )));
    }
    let mut json = vec![0; usize::try_from(length).expect("a header has at most 10^8 bytes")];
    source.read_at(8, &mut json)?;
    let header = Header::parse(&json, after_length - length)?;
    drop(json);
    let activations: Option<Vec<String>> =
        header.activations.as_ref().map(|names| names.split(',').map(str::to_owned).collect());
    state_dict::network(&header.tensors, activations.as_deref(), options, |i| {
        let tensor = &header.tensors[i];
        let entries = tensor.entries().expect("the header was checked");
        read_numbers(source, 8 + length + header.begins[i], tensor.element, entries).map_err(|e| match e {
            FormatError::Malformed(what) => {
                FormatError::Malformed(format!("tensor {}: {what}", quoted(&tensor.name)))
            }
            other => other,
        })
    })
}

fn read_numbers<S: Source>(
    source: &S,
    offset: u64,
    element: Element,
    entries: usize,
) -> Result<Vec<f64>, FormatError> {
    let mut numbers = memory::zeros(entries);
    let place = |chunk: usize| offset + (chunk * CHUNK * element.size()) as u64;
    let chunks = numbers.par_chunks_mut(CHUNK).enumerate();
    if element == Element::F64 && cfg!(target_endian = "little") {
        chunks.try_for_each(|(k, out)| source.read_at(place(k), bytemuck::cast_slice_mut(out)))?;
        return Ok(numbers);
    }
    let new_buffer = || vec![0; element.size() * CHUNK.min(entries)];
    chunks.try_for_each_init(new_buffer, |buffer, (k, out)| {
        let bytes = &mut buffer[..out.len() * element.size()];
        source.read_at(place(k), bytes)?;
        let decoded = element.decode(ByteOrder::Little, bytes, out);
        decoded.map_err(|_| FormatError::malformed("an integer beyond 2^53 is no parameter"))
    })?;
    Ok(numbers)
}

fn describe(network: &Network, precision: Precision) -> Map<String, Value> {
    let (dtype, size) = if precision == Precision::F32 { ("F32", 4) } else { ("F64", 8) };
    let names: Vec<&str> = network.layers().iter().map(|layer| layer.activation().name()).collect();
    let mut header = Map::new();
    header.insert("__metadata__".to_owned(), json!({ ACTIVATIONS_KEY: names.join(",") }));
    let (mut module, mut begin) = (0, 0);
    for layer in network.layers() {
        let mut tensor = |name: String, shape: Value, entries: usize| {
            let end = begin + size * entries;
            header.insert(name, json!({ "dtype": dtype, "shape": shape, "data_offsets": [begin, end] }));
            begin = end;
        };
        let (rows, cols) = (layer.width(), layer.input_width());
        tensor(format!("{module}.weight"), json!([rows, cols]), rows * cols);
        tensor(format!("{module}.bias"), json!([rows]), rows);
        module += if layer.activation() == Activation::Relu { 2 } else { 1 };
    }
    header
}
