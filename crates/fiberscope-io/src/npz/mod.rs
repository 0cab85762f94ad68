//! numpy's formats: npy (one array) and npz (a zip archive of npy arrays), for networks and data.
//!
//! A network has the keys `W1, b1, W2, b2, ...` or PyTorch names; the optional key `activations`
//! lists `relu` or `identity` for every layer. Data are a matrix with one row per point.

mod array;
mod npy;

use std::io::{self, Write};

use fiberscope_core::{Matrix, Network};
use rawzip::ZipArchiveWriter;

use crate::archive::Archive;
use crate::element::{check_dense_size, check_writable, encode, encode_weights};
use crate::state_dict::{self, TensorInfo, quoted};
use crate::{Data, FormatError, Model, Precision, ReadOptions};
use npy::{Contents, Header};

/// Reads a network from the bytes of a npz file.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Model, FormatError> {
    let archive = Archive::open(bytes)?;
    let mut activations = None;
    let (mut tensors, mut arrays) = (Vec::new(), Vec::new());
    for index in 0..archive.entries().len() {
        let name = key(&archive.entries()[index].name)?.to_owned();
        if name == ACTIVATIONS_KEY {
            activations = Some(read_activations(&archive, index).map_err(|e| in_array(&name, e))?);
            continue;
        }
        let header = array::read_header(&mut archive.reader(index)?).map_err(|e| in_array(&name, e))?;
        let Contents::Numbers(element, _) = header.contents else {
            return Err(FormatError::unsupported(format!(
                "array {}: expected numbers, found strings",
                quoted(&name)
            )));
        };
        tensors.push(TensorInfo { name, shape: header.shape, element });
        arrays.push(index);
    }
    state_dict::network(&tensors, activations.as_deref(), options, |i| {
        let read = read_array(&archive, arrays[i]).map(|(_, numbers)| numbers);
        read.map_err(|e| in_array(&tensors[i].name, e))
    })
}

/// Writes a network with the keys `W1, b1, ...` in the given precision, F32 or F64, uncompressed as
/// `numpy.savez` does; the key `activations` says what the layers do.
pub fn write(network: &Network, precision: Precision, out: &mut dyn Write) -> io::Result<()> {
    check_writable(network, precision)?;
    check_dense_size(network)?;
    let descr = if precision == Precision::F32 { "<f4" } else { "<f8" };
    let mut zip = ZipArchiveWriter::new(out);
    for (layer, l) in network.layers().iter().zip(1..) {
        let (rows, cols) = (layer.width(), layer.input_width());
        write_array(&mut zip, &format!("W{l}"), descr, &[rows, cols], |out| {
            encode_weights(layer.weights(), precision, out)
        })?;
        write_array(&mut zip, &format!("b{l}"), descr, &[rows], |out| encode(layer.bias(), precision, out))?;
    }
    write_array(&mut zip, ACTIVATIONS_KEY, "<U8", &[network.depth()], |out| {
        network.layers().iter().try_for_each(|layer| {
            let name = layer.activation().name().chars().map(u32::from);
            let codes = name.chain(std::iter::repeat(0)).take(8).flat_map(u32::to_le_bytes);
            out.write_all(&codes.collect::<Vec<u8>>())
        })
    })?;
    zip.finish().map_err(io::Error::other)?;
    Ok(())
}

/// Writes the header of a npy file of doubles of this shape; the numbers follow by [`write_npy_numbers`], row
/// by row.
pub fn write_npy_header(shape: &[usize], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&npy::format_header("<f8", shape))
}

/// Writes doubles as a npy file has them.
pub fn write_npy_numbers(numbers: &[f64], out: &mut dyn Write) -> io::Result<()> {
    encode(numbers, Precision::F64, out)
}

/// Reads data from the bytes of a npy file: a matrix, or a vector that is taken as one column.
pub fn read_npy_data(bytes: &[u8]) -> Result<Data, FormatError> {
    let mut stream = bytes;
    let header = array::read_header(&mut stream)?;
    let numbers = read_entries(&mut stream, &header)?;
    data(&header, numbers)
}

/// Reads data from the bytes of a npz file that holds one array, or one of the name `X`.
pub fn read_npz_data(bytes: &[u8]) -> Result<Data, FormatError> {
    let archive = Archive::open(bytes)?;
    let keys = archive.entries().iter().map(|entry| key(&entry.name)).collect::<Result<Vec<_>, _>>()?;
    let index = match keys.as_slice() {
        [_] => 0,
        _ => keys.iter().position(|&key| key == "X").ok_or_else(|| {
            let shown: Vec<String> = keys.iter().take(8).map(|key| quoted(key)).collect();
            let found = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
            let more = if keys.len() > shown.len() { ", ..." } else { "" };
            FormatError::unsupported(format!("expected one array, or one named `X`, found {found}{more}"))
        })?,
    };
    let name = keys[index].to_owned();
    let read = read_array(&archive, index).and_then(|(header, numbers)| data(&header, numbers));
    read.map_err(|e| in_array(&name, e))
}

const ACTIVATIONS_KEY: &str = "activations";

fn key(entry: &str) -> Result<&str, FormatError> {
    entry.strip_suffix(".npy").ok_or_else(|| {
        FormatError::unsupported(format!(
            "entry {}: expected arrays, with names ending in .npy",
            quoted(entry)
        ))
    })
}

fn in_array(name: &str, error: FormatError) -> FormatError {
    let place = format!("array {}", quoted(name));
    match error {
        // Errors of the archive name the entry already.
        FormatError::Malformed(what) if !what.starts_with("entry ") => {
            FormatError::Malformed(format!("{place}: {what}"))
        }
        FormatError::Unsupported(what) => FormatError::Unsupported(format!("{place}: {what}")),
        other => other,
    }
}

fn read_array(archive: &Archive, index: usize) -> Result<(Header, Vec<f64>), FormatError> {
    let mut stream = archive.reader(index)?;
    let header = array::read_header(&mut stream)?;
    let numbers = read_entries(&mut stream, &header)?;
    stream.finish()?;
    Ok((header, numbers))
}

fn read_entries(stream: &mut impl array::Stream, header: &Header) -> Result<Vec<f64>, FormatError> {
    match header.contents {
        Contents::Numbers(element, order) => array::read_numbers(stream, header, element, order),
        Contents::Text(..) => Err(FormatError::unsupported("expected numbers, found strings")),
    }
}

fn read_activations(archive: &Archive, index: usize) -> Result<Vec<String>, FormatError> {
    let mut stream = archive.reader(index)?;
    let header = array::read_header(&mut stream)?;
    let (Contents::Text(characters, order), [_]) = (header.contents, header.shape.as_slice()) else {
        return Err(FormatError::unsupported("expected a list of strings, one activation per layer"));
    };
    let names = array::read_strings(&mut stream, characters, order)?;
    stream.finish()?;
    Ok(names)
}

fn data(header: &Header, numbers: Vec<f64>) -> Result<Data, FormatError> {
    let (rows, cols) = match *header.shape {
        [rows] => (rows, 1),
        [rows, cols] => (rows, cols),
        _ => {
            let rank = header.shape.len();
            return Err(FormatError::unsupported(format!("expected 1 or 2 dimensions, found {rank}")));
        }
    };
    if rows == 0 || cols == 0 {
        return Err(FormatError::malformed(format!(
            "expected at least one row and column, found {rows} x {cols}"
        )));
    }
    if let Some(at) = numbers.iter().position(|x| !x.is_finite()) {
        let (row, col, found) = (at / cols + 1, at % cols + 1, numbers[at]);
        return Err(FormatError::malformed(format!(
            "row {row}, column {col}: expected a finite number, found {found}"
        )));
    }
    let points =
        Matrix::from_entries(rows, cols, numbers).expect("the header was checked against the entries");
    Ok(Data { points, columns: None })
}

/// Writes one array, not compressed, as an entry of the archive.
fn write_array(
    zip: &mut ZipArchiveWriter<&mut dyn Write>,
    key: &str,
    descr: &str,
    shape: &[usize],
    numbers: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let (mut entry, config) = zip.new_file(format!("{key}.npy")).start().map_err(io::Error::other)?;
    let mut out = config.wrap(&mut entry);
    out.write_all(&npy::format_header(descr, shape))?;
    numbers(&mut out)?;
    let (_, end) = out.finish().map_err(io::Error::other)?;
    entry.finish(end).map_err(io::Error::other)?;
    Ok(())
}
