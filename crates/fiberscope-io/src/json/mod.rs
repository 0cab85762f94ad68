//! Networks as JSON, format version 1:
//!
//! ```json
//! {"format": "fiberscope-network", "version": 1,
//!  "layers": [
//!   {"weight": [
//!     [1.0, 0.5],
//!     [-1.0, 2.0]],
//!    "bias": [0.0, 0.25],
//!    "activation": "relu"},
//!   {"weight": [
//!     [1.0, 1.0]],
//!    "bias": [0.0],
//!    "activation": "identity"}
//!  ]}
//! ```
//!
//! `weight` is `n_l x n_{l-1}`, one inner list per neuron; keys come in any order, each exactly once. In version 2 a
//! weight may be given by its entries that are not zero, as pairs of a column (counted from 1, increasing) and a number:
//!
//! ```json
//! {"weight": {"columns": 5, "rows": [
//!     [[2, 0.5], [5, -1.0]],
//!     []]},
//!  "bias": [0.0, 0.25], "activation": "relu"}
//! ```
//!
//! Layers that are stored so are written so, and then the version is 2.
//! A number is read as the double nearest to it, and written as the shortest decimal that reads back
//! as the same double: reading what was written gives the same bits, signed zeros and subnormals
//! included. Numbers beyond the doubles are errors. A last layer with `relu` gets an identity layer
//! appended, with a note.

mod weight;

use std::fmt;
use std::io::{self, Write};

use fiberscope_core::{Activation, Layer, Network, Weights};
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

use self::weight::Weight;
use crate::ending::finish;
use crate::json_text::{Key, Numbers, Place, Word, once, parse, required, seed};
use crate::text::clip;
use crate::{FormatError, Model, Precision, ReadOptions};

/// The value of the key `format`.
const FORMAT: &str = "fiberscope-network";
/// The version of files with dense weights only, and of those with weights by their entries.
const DENSE_VERSION: u64 = 1;
const SPARSE_VERSION: u64 = 2;

/// Reads a network. Errors name the layer, the entry, the line and the column.
///
/// ```
/// let text = br#"{"format": "fiberscope-network", "version": 1,
///                 "layers": [{"weight": [[2]], "bias": [1], "activation": "identity"}]}"#;
/// let model = fiberscope_io::json::read(text, &Default::default()).unwrap();
/// assert_eq!(model.network.widths(), [1, 1]);
/// ```
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Model, FormatError> {
    let most_columns = options.max_dense_entries;
    let layers = parse(bytes, |deserializer, place| File { place, most_columns }.deserialize(deserializer))?;
    let mut notes = Vec::new();
    let network = finish(layers, &mut notes, options)?;
    Ok(Model::new(network, Precision::F64, notes))
}

/// Writes a network, one line per row of a weight, so that line-wise comparison of two files shows
/// the neurons that differ.
pub fn write(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let is_sparse = network.layers().iter().any(|layer| layer.weights().is_sparse());
    let version = if is_sparse { SPARSE_VERSION } else { DENSE_VERSION };
    write!(out, "{{\"format\": \"{FORMAT}\", \"version\": {version},\n \"layers\": [")?;
    let mut line = Vec::new();
    for (l, layer) in network.layers().iter().enumerate() {
        out.write_all(if l == 0 { b"\n  {\"weight\": " } else { b",\n  {\"weight\": " })?;
        match layer.weights() {
            Weights::Dense(matrix) => {
                write_rows(matrix.iter_rows(), &mut line, out, |row, line| {
                    write_list(row.iter(), line, |number, line| serde_json::to_writer(line, number))
                })?;
            }
            Weights::Sparse(matrix) => {
                write!(out, "{{\"columns\": {}, \"rows\": ", matrix.cols())?;
                let rows = (0..matrix.rows()).map(|i| matrix.row(i));
                write_rows(rows, &mut line, out, |(columns, entries), line| {
                    write_list(columns.iter().zip(entries), line, |(column, number), line| {
                        line.extend_from_slice(format!("[{}, ", u64::from(*column) + 1).as_bytes());
                        serde_json::to_writer(&mut *line, number)?;
                        line.push(b']');
                        Ok(())
                    })
                })?;
                out.write_all(b"}")?;
            }
        }
        out.write_all(b",\n   \"bias\": ")?;
        line.clear();
        write_list(layer.bias().iter(), &mut line, |number, line| serde_json::to_writer(line, number))?;
        out.write_all(&line)?;
        write!(out, ",\n   \"activation\": \"{}\"}}", layer.activation())?;
    }
    out.write_all(b"\n ]}\n")
}

/// The rows of a weight, each on a line of its own.
fn write_rows<R>(
    rows: impl Iterator<Item = R>,
    line: &mut Vec<u8>,
    out: &mut dyn Write,
    write: impl Fn(R, &mut Vec<u8>) -> serde_json::Result<()>,
) -> io::Result<()> {
    for (i, row) in rows.enumerate() {
        line.clear();
        line.extend_from_slice(if i == 0 { b"[\n    " } else { b",\n    " });
        write(row, line)?;
        out.write_all(line)?;
    }
    out.write_all(b"]")
}

fn write_list<T>(
    items: impl Iterator<Item = T>,
    line: &mut Vec<u8>,
    write: impl Fn(T, &mut Vec<u8>) -> serde_json::Result<()>,
) -> serde_json::Result<()> {
    line.push(b'[');
    for (j, item) in items.enumerate() {
        if j > 0 {
            line.extend_from_slice(b", ");
        }
        write(item, line)?;
    }
    line.push(b']');
    Ok(())
}

/// The whole file.
struct File<'p> {
    place: &'p mut Place,
    most_columns: usize,
}

seed!(File<'_>, deserialize_map);

impl<'de> Visitor<'de> for File<'_> {
    type Value = Vec<Layer>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object with the keys \"format\", \"version\" and \"layers\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Layer>, A::Error> {
        const KEYS: &[&str] = &["format", "version", "layers"];
        let (mut format, mut version, mut layers) = (None, None, None);
        while let Some(key) = map.next_key_seed(Key(KEYS))? {
            let read = match key {
                0 => map.next_value_seed(FORMAT_NAME).and_then(|value| once(&mut format, value)),
                1 => map.next_value_seed(Version).and_then(|value| once(&mut version, value)),
                _ => map
                    .next_value_seed(Layers { place: self.place, most_columns: self.most_columns })
                    .and_then(|value| once(&mut layers, value)),
            };
            read.map_err(|error| self.place.inside_at_least(KEYS[key], error))?;
        }
        required(format, "format")?;
        let version = required(version, "version")?;
        let ListedLayers { layers, by_entries } = required(layers, "layers")?;
        match by_entries {
            Some(layer) if version == DENSE_VERSION => Err(A::Error::custom(format_args!(
                "layer {layer} gives its weight by entries; that needs version {SPARSE_VERSION}, found version {version}"
            ))),
            _ => Ok(layers),
        }
    }
}

const FORMAT_NAME: Word<()> = Word {
    expected: "a string (the name of the format)",
    meaning: |name| match name {
        FORMAT => Ok(()),
        _ => Err(format!("the format is {:?}; expected {FORMAT:?}", clip(name))),
    },
};

struct Version;

seed!(Version, deserialize_u64);

impl Visitor<'_> for Version {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "the version {DENSE_VERSION} or {SPARSE_VERSION}")
    }

    fn visit_u64<E: Error>(self, version: u64) -> Result<u64, E> {
        if [DENSE_VERSION, SPARSE_VERSION].contains(&version) {
            return Ok(version);
        }
        let expected = format_args!("expected {DENSE_VERSION} or {SPARSE_VERSION}");
        Err(E::custom(format_args!("the version is {version}; {expected}")))
    }
}

/// The value of `layers`.
struct Layers<'p> {
    place: &'p mut Place,
    most_columns: usize,
}

/// The layers, and the first of them (from 1) whose weight is given by its entries.
struct ListedLayers {
    layers: Vec<Layer>,
    by_entries: Option<usize>,
}

seed!(Layers<'_>, deserialize_seq);

impl<'de> Visitor<'de> for Layers<'_> {
    type Value = ListedLayers;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of layers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ListedLayers, A::Error> {
        let (mut layers, mut by_entries) = (Vec::new(), None);
        loop {
            let most_columns = self.most_columns;
            match list.next_element_seed(OneLayer { place: self.place, most_columns }) {
                Ok(Some((layer, has_entries))) => {
                    layers.push(layer);
                    if has_entries {
                        by_entries.get_or_insert(layers.len());
                    }
                }
                Ok(None) => return Ok(ListedLayers { layers, by_entries }),
                Err(error) => {
                    return Err(self.place.inside(format_args!("layer {}", layers.len() + 1), error));
                }
            }
        }
    }
}

struct OneLayer<'p> {
    place: &'p mut Place,
    most_columns: usize,
}

seed!(OneLayer<'_>, deserialize_map);

impl<'de> Visitor<'de> for OneLayer<'_> {
    /// The layer, and whether its weight is given by its entries.
    type Value = (Layer, bool);

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object with the keys \"weight\", \"bias\" and \"activation\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(Layer, bool), A::Error> {
        const KEYS: &[&str] = &["weight", "bias", "activation"];
        let (mut weight, mut bias, mut activation) = (None, None, None);
        while let Some(key) = map.next_key_seed(Key(KEYS))? {
            let read = match key {
                0 => map
                    .next_value_seed(Weight { place: self.place, most_columns: self.most_columns })
                    .and_then(|value| once(&mut weight, value)),
                1 => {
                    let mut into = Vec::new();
                    let numbers =
                        Numbers { into: &mut into, place: self.place, name: |j| format!("bias[{j}]") };
                    map.next_value_seed(numbers).and_then(|_| {
                        into.shrink_to_fit();
                        once(&mut bias, into)
                    })
                }
                _ => map.next_value_seed(ACTIVATION_NAME).and_then(|value| once(&mut activation, value)),
            };
            read.map_err(|error| self.place.inside_at_least(KEYS[key], error))?;
        }
        let (weight, by_entries) = required(weight, "weight")?;
        let (bias, activation) = (required(bias, "bias")?, required(activation, "activation")?);
        Ok((Layer::new(weight, bias, activation), by_entries))
    }
}

const ACTIVATION_NAME: Word<Activation> = Word {
    expected: "\"relu\" or \"identity\"",
    meaning: |name| {
        let unknown = || format!("unknown activation {:?}; expected \"relu\" or \"identity\"", clip(name));
        Activation::from_name(name).ok_or_else(unknown)
    },
};
