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
//! `weight` is `n_l x n_{l-1}`, one inner list per neuron; keys come in any order, each exactly once.
//! A number is read as the double nearest to it, and written as the shortest decimal that reads back
//! as the same double: reading what was written gives the same bits, signed zeros and subnormals
//! included. Numbers beyond the doubles are errors. A last layer with `relu` gets an identity layer
//! appended, with a note.

use std::fmt;
use std::io::{self, Write};

use fiberscope_core::{Activation, Layer, Matrix, Network};
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

use crate::ending::finish;
use crate::json_text::{Key, Numbers, Place, Word, once, parse, required, seed};
use crate::text::clip;
use crate::{FormatError, Model, Precision, ReadOptions};

/// The value of the key `format`.
const FORMAT: &str = "fiberscope-network";
/// The only value of the key `version` so far.
const VERSION: u64 = 1;

/// Reads a network. Errors name the layer, the entry, the line and the column.
///
/// ```
/// let text = br#"{"format": "fiberscope-network", "version": 1,
///                 "layers": [{"weight": [[2]], "bias": [1], "activation": "identity"}]}"#;
/// let model = fiberscope_io::json::read(text, &Default::default()).unwrap();
/// assert_eq!(model.network.widths(), [1, 1]);
/// ```
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Model, FormatError> {
    let layers = parse(bytes, |deserializer, place| File { place }.deserialize(deserializer))?;
    let mut notes = Vec::new();
    let network = finish(layers, &mut notes, options)?;
    Ok(Model::new(network, Precision::F64, notes))
}

/// Writes a network, one line per row of a weight, so that line-wise comparison of two files shows
/// the neurons that differ.
pub fn write(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"format\": \"{FORMAT}\", \"version\": {VERSION},\n \"layers\": [")?;
    let mut line = Vec::new();
    for (l, layer) in network.layers().iter().enumerate() {
        out.write_all(if l == 0 { b"\n  {\"weight\": [" } else { b",\n  {\"weight\": [" })?;
        for (i, row) in layer.weight().iter_rows().enumerate() {
            out.write_all(if i == 0 { b"\n    " } else { b",\n    " })?;
            write_numbers(row, &mut line, out)?;
        }
        out.write_all(b"],\n   \"bias\": ")?;
        write_numbers(layer.bias(), &mut line, out)?;
        write!(out, ",\n   \"activation\": \"{}\"}}", layer.activation())?;
    }
    out.write_all(b"\n ]}\n")
}

fn write_numbers(numbers: &[f64], line: &mut Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
    line.clear();
    line.push(b'[');
    for (j, number) in numbers.iter().enumerate() {
        if j > 0 {
            line.extend_from_slice(b", ");
        }
        serde_json::to_writer(&mut *line, number)?;
    }
    line.push(b']');
    out.write_all(line)
}

/// The whole file.
struct File<'p> {
    place: &'p mut Place,
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
                    .next_value_seed(Layers { place: self.place })
                    .and_then(|value| once(&mut layers, value)),
            };
            read.map_err(|error| self.place.inside_at_least(KEYS[key], error))?;
        }
        required(format, "format")?;
        required(version, "version")?;
        required(layers, "layers")
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
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "the version {VERSION}")
    }

    fn visit_u64<E: Error>(self, version: u64) -> Result<(), E> {
        if version == VERSION {
            return Ok(());
        }
        Err(E::custom(format_args!("the version is {version}; expected {VERSION}")))
    }
}

/// The value of `layers`.
struct Layers<'p> {
    place: &'p mut Place,
}

seed!(Layers<'_>, deserialize_seq);

impl<'de> Visitor<'de> for Layers<'_> {
    type Value = Vec<Layer>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of layers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Layer>, A::Error> {
        let mut layers = Vec::new();
        loop {
            match list.next_element_seed(OneLayer { place: self.place }) {
                Ok(Some(layer)) => layers.push(layer),
                Ok(None) => return Ok(layers),
                Err(error) => {
                    return Err(self.place.inside(format_args!("layer {}", layers.len() + 1), error));
                }
            }
        }
    }
}

struct OneLayer<'p> {
    place: &'p mut Place,
}

seed!(OneLayer<'_>, deserialize_map);

impl<'de> Visitor<'de> for OneLayer<'_> {
    type Value = Layer;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object with the keys \"weight\", \"bias\" and \"activation\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Layer, A::Error> {
        const KEYS: &[&str] = &["weight", "bias", "activation"];
        let (mut weight, mut bias, mut activation) = (None, None, None);
        while let Some(key) = map.next_key_seed(Key(KEYS))? {
            let read = match key {
                0 => map
                    .next_value_seed(Weight { place: self.place })
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
        let weight = required(weight, "weight")?;
        Ok(Layer::new(weight, required(bias, "bias")?, required(activation, "activation")?))
    }
}

const ACTIVATION_NAME: Word<Activation> = Word {
    expected: "\"relu\" or \"identity\"",
    meaning: |name| {
        let unknown = || format!("unknown activation {:?}; expected \"relu\" or \"identity\"", clip(name));
        Activation::from_name(name).ok_or_else(unknown)
    },
};

/// The value of `weight`: all rows go into one vector.
struct Weight<'p> {
    place: &'p mut Place,
}

seed!(Weight<'_>, deserialize_seq);

impl<'de> Visitor<'de> for Weight<'_> {
    type Value = Matrix;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Matrix, A::Error> {
        let (mut entries, mut rows, mut cols) = (Vec::new(), 0, 0);
        loop {
            let name = |j| format!("weight[{}][{j}]", rows + 1);
            match list.next_element_seed(Numbers { into: &mut entries, place: self.place, name }) {
                Ok(Some(found)) if rows == 0 => cols = found,
                Ok(Some(found)) if found == cols => {}
                Ok(Some(found)) => {
                    let message =
                        format_args!("row {} has {found} entries; expected {cols}, as in row 1", rows + 1);
                    return Err(A::Error::custom(message));
                }
                Ok(None) => break,
                Err(error) => {
                    return Err(self.place.inside_at_least(format_args!("weight[{}]", rows + 1), error));
                }
            }
            rows += 1;
        }
        entries.shrink_to_fit();
        Ok(Matrix::from_entries(rows, cols, entries).expect("every row has this many columns"))
    }
}
