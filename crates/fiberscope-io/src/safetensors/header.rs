//! The header of a safetensors file: a JSON object from names of tensors to
//! `{"dtype", "shape", "data_offsets": [begin, end]}`, offsets counted from the end of the header,
//! and `"__metadata__"`, an object from strings to strings.
//!
//! The tensors must cover the data without gaps or overlaps, so nothing is read twice and nothing
//! hides between them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::FormatError;
use crate::element::Element;
use crate::state_dict::{TensorInfo, clipped, quoted};

/// A checked header.
#[derive(Debug)]
pub(super) struct Header {
    /// The tensors, in the order of the header.
    pub(super) tensors: Vec<TensorInfo>,
    /// Where the data of each tensor begins, counted from the end of the header.
    pub(super) begins: Vec<u64>,
    /// The value of `fiberscope.activations`.
    pub(super) activations: Option<String>,
}

impl Header {
    /// Parses the JSON text of a header that is followed by `data_size` bytes.
    pub(super) fn parse(json: &[u8], data_size: u64) -> Result<Self, FormatError> {
        let text = std::str::from_utf8(json)
            .map_err(|e| FormatError::malformed(format!("header: byte {} is not UTF-8", e.valid_up_to())))?;
        let raw: RawHeader = serde_json::from_str(text)
            .map_err(|e| FormatError::malformed(format!("header: {}", clipped(&e.to_string()))))?;
        let tensors = raw.tensors.iter().map(tensor_info).collect::<Result<Vec<_>, _>>()?;
        check_cover(&raw.tensors, data_size)?;
        let begins = raw.tensors.iter().map(|(_, tensor)| tensor.data_offsets.0).collect();
        let mut metadata = raw.metadata.into_iter();
        let activations = metadata.find(|(key, _)| key == super::ACTIVATIONS_KEY).map(|(_, value)| value);
        Ok(Header { tensors, begins, activations })
    }
}

#[derive(serde::Deserialize)]
struct RawTensor {
    dtype: String,
    shape: Shape,
    data_offsets: (u64, u64),
}

struct Shape(Vec<u64>);

#[derive(Default)]
struct RawHeader {
    tensors: Vec<(String, RawTensor)>,
    metadata: Vec<(String, String)>,
}

fn tensor_info((name, tensor): &(String, RawTensor)) -> Result<TensorInfo, FormatError> {
    let element = match tensor.dtype.as_str() {
        "F64" => Element::F64,
        "F32" => Element::F32,
        "F16" => Element::F16,
        "BF16" => Element::Bf16,
        "I64" => Element::I64,
        "I32" => Element::I32,
        "I16" => Element::I16,
        "I8" => Element::I8,
        "U64" => Element::U64,
        "U32" => Element::U32,
        "U16" => Element::U16,
        "U8" => Element::U8,
        "BOOL" => Element::Bool,
        other => {
            let (name, other) = (quoted(name), quoted(other));
            let message = format!("tensor {name}: expected dtype F64, F32, F16 or BF16, found {other}");
            return Err(FormatError::unsupported(message));
        }
    };
    let shape = tensor.shape.0.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Vec<_>>>();
    let info = shape.map(|shape| TensorInfo { name: name.clone(), shape, element });
    let bytes = info.as_ref().and_then(|info| info.entries()?.checked_mul(element.size()));
    let (begin, end) = tensor.data_offsets;
    match (info, bytes) {
        (Some(info), Some(bytes)) if end.checked_sub(begin) == Some(bytes as u64) => Ok(info),
        _ => Err(FormatError::malformed(format!(
            "tensor {}: shape {} of {} does not fill the bytes from {begin} to {end}",
            quoted(name),
            clipped(&format!("{:?}", tensor.shape.0)),
            tensor.dtype
        ))),
    }
}

fn check_cover(tensors: &[(String, RawTensor)], data_size: u64) -> Result<(), FormatError> {
    let mut ordered: Vec<_> = tensors.iter().map(|(name, tensor)| (tensor.data_offsets, name)).collect();
    ordered.sort_unstable();
    let mut covered = 0;
    for ((begin, end), name) in ordered {
        if begin != covered {
            let found = if begin < covered { "an overlap" } else { "a gap" };
            return Err(FormatError::malformed(format!(
                "tensor {}: expected it to begin at byte {covered} of the data, found {begin}, which leaves {found}",
                quoted(name)
            )));
        }
        if end > data_size {
            return Err(FormatError::malformed(format!(
                "tensor {}: it ends at byte {end} of the data, but the file has only {data_size}",
                quoted(name)
            )));
        }
        covered = end;
    }
    if covered != data_size {
        let message = format!("expected {covered} bytes of data after the header, found {data_size}");
        return Err(FormatError::malformed(message));
    }
    Ok(())
}

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HeaderVisitor;
        impl<'de> Visitor<'de> for HeaderVisitor {
            type Value = RawHeader;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
                let mut header = RawHeader::default();
                let mut metadata = false;
                while let Some(name) = map.next_key::<String>()? {
                    if name != "__metadata__" {
                        header.tensors.push((name, map.next_value()?));
                    } else if !std::mem::replace(&mut metadata, true) {
                        header.metadata = map.next_value::<Metadata>()?.0;
                    } else {
                        return Err(A::Error::custom("`__metadata__` is there twice"));
                    }
                }
                Ok(header)
            }
        }
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct Metadata(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MetadataVisitor;
        impl<'de> Visitor<'de> for MetadataVisitor {
            type Value = Metadata;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
                let mut entries: Vec<(String, String)> = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                entries.sort_unstable();
                match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                    None => Ok(Metadata(entries)),
                    Some(pair) => {
                        let message = format!("metadata {} is there twice", quoted(&pair[0].0));
                        Err(A::Error::custom(message))
                    }
                }
            }
        }
        deserializer.deserialize_map(MetadataVisitor)
    }
}

/// More dimensions than any library writes; a longer list only costs memory.
const MAX_DIMENSIONS: usize = 64;

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ShapeVisitor;
        impl<'de> Visitor<'de> for ShapeVisitor {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list of dimensions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
                let mut shape = Vec::new();
                while let Some(dimension) = seq.next_element()? {
                    if shape.len() == MAX_DIMENSIONS {
                        return Err(A::Error::custom(format!(
                            "a shape has more than {MAX_DIMENSIONS} dimensions"
                        )));
                    }
                    shape.push(dimension);
                }
                Ok(Shape(shape))
            }
        }
        deserializer.deserialize_seq(ShapeVisitor)
    }
}
