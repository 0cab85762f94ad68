//! States of a training as safetensors files: named vectors and a text of metadata.
//!
//! Unlike [`crate::safetensors`], which reads networks, this keeps vectors as they are, and the metadata with
//! them.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::element::encode;
use crate::{FormatError, Precision};

/// The metadata entry that holds the text.
const KEY: &str = "fiberscope.training";
/// A header is at most this long.
const MAX_HEADER: u64 = 100_000_000;

/// Vectors with names, and a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// What else there is to know; JSON by convention.
    pub text: String,
    /// The vectors.
    pub vectors: Vec<(String, Vec<f64>)>,
}

/// Writes a checkpoint; numbers are stored in the given precision, F32 or F64, which must hold them.
pub fn write(checkpoint: &Checkpoint, precision: Precision, out: &mut dyn Write) -> io::Result<()> {
    let (dtype, size) = if precision == Precision::F32 { ("F32", 4) } else { ("F64", 8) };
    let mut header = Map::new();
    header.insert("__metadata__".to_owned(), json!({ KEY: checkpoint.text }));
    let mut begin = 0;
    for (name, numbers) in &checkpoint.vectors {
        let end = begin + size * numbers.len();
        let tensor = json!({"dtype": dtype, "shape": [numbers.len()], "data_offsets": [begin, end]});
        header.insert(name.clone(), tensor);
        begin = end;
    }
    let mut text = Value::Object(header).to_string();
    while !text.len().is_multiple_of(8) {
        text.push(' ');
    }
    out.write_all(&(text.len() as u64).to_le_bytes())?;
    out.write_all(text.as_bytes())?;
    checkpoint.vectors.iter().try_for_each(|(_, numbers)| encode(numbers, precision, out))
}

/// Reads a checkpoint.
pub fn read(bytes: &[u8]) -> Result<Checkpoint, FormatError> {
    let short = || FormatError::malformed("the file ends before its header does");
    let length =
        bytes.get(..8).and_then(|first| first.try_into().ok()).map(u64::from_le_bytes).ok_or_else(short)?;
    let rest = &bytes[8..];
    if length > MAX_HEADER || length > rest.len() as u64 {
        return Err(short());
    }
    let (header, data) = rest.split_at(length as usize);
    let header: Map<String, Value> = serde_json::from_slice(header)
        .map_err(|error| FormatError::malformed(format!("the header is no JSON object: {error}")))?;
    let text = header.get("__metadata__").and_then(|metadata| metadata.get(KEY)).and_then(Value::as_str);
    let text = text.ok_or_else(|| FormatError::unsupported("this is no checkpoint of `fiberscope train`"))?;
    let vectors = header
        .iter()
        .filter(|(name, _)| *name != "__metadata__")
        .map(|(name, tensor)| Ok((name.clone(), vector(name, tensor, data)?)))
        .collect::<Result<_, FormatError>>()?;
    Ok(Checkpoint { text: text.to_owned(), vectors })
}

fn vector(name: &str, tensor: &Value, data: &[u8]) -> Result<Vec<f64>, FormatError> {
    let wrong = |what: &str| FormatError::malformed(format!("vector {name:?}: {what}"));
    let place = |k: usize| tensor["data_offsets"].get(k).and_then(Value::as_u64);
    let (Some(begin), Some(end)) = (place(0), place(1)) else { return Err(wrong("expected two offsets")) };
    let range =
        usize::try_from(begin).ok().zip(usize::try_from(end).ok()).filter(|(begin, end)| begin <= end);
    let bytes = range.and_then(|(begin, end)| data.get(begin..end));
    let bytes = bytes.ok_or_else(|| wrong("the file ends before the numbers do"))?;
    match tensor["dtype"].as_str() {
        Some("F32") if bytes.len().is_multiple_of(4) => {
            let number = |b: &[u8]| f64::from(f32::from_le_bytes(b.try_into().expect("four bytes")));
            Ok(bytes.chunks_exact(4).map(number).collect())
        }
        Some("F64") if bytes.len().is_multiple_of(8) => {
            let number = |b: &[u8]| f64::from_le_bytes(b.try_into().expect("eight bytes"));
            Ok(bytes.chunks_exact(8).map(number).collect())
        }
        _ => Err(wrong("expected whole numbers of type F32 or F64")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_survive_and_broken_ones_are_refused() {
        let vectors = vec![("parameters".to_owned(), vec![0.5, -1.25]), ("empty".to_owned(), vec![])];
        let checkpoint = Checkpoint { text: "{\"epoch\":3}".into(), vectors };
        for precision in [Precision::F32, Precision::F64] {
            let mut bytes = Vec::new();
            write(&checkpoint, precision, &mut bytes).unwrap();
            assert_eq!(read(&bytes).unwrap(), checkpoint);
            for end in 0..bytes.len() {
                assert!(read(&bytes[..end]).is_err(), "{end}");
            }
        }
        assert!(read(&[255; 64]).is_err());
        let model = b"\x08\0\0\0\0\0\0\0{}      ";
        assert_eq!(read(model).unwrap_err().to_string(), "this is no checkpoint of `fiberscope train`");
    }
}
