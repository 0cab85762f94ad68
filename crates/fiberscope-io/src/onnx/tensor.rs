//! Tensors with constant entries (`TensorProto`), decoded.
//!
//! The entries of a tensor are in `raw_data` (little-endian) or in the list of its type. Floats of
//! every width become doubles, which loses nothing. Their number must be the product of the
//! dimensions, and the lists grow only with the bytes that are there.

use std::fmt;

use half::{bf16, f16};

use super::external::{External, Place};
use super::shape::{self, MAX_RANK};
use super::wire::Message;
use crate::{FormatError, Precision};

/// A constant of the graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tensor {
    pub(super) dims: Vec<usize>,
    pub(super) values: Values,
}

/// The entries of a tensor, the last index running fastest.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    /// Finite numbers, and the precision they were stored in.
    Floats(Vec<f64>, Precision),
    /// Integers, or truth values as 0 and 1.
    Integers(Vec<i64>),
}

impl Values {
    /// The entries at these places.
    pub(super) fn select(&self, source: &[usize]) -> Values {
        match self {
            Values::Floats(old, precision) => {
                Values::Floats(source.iter().map(|&at| old[at]).collect(), *precision)
            }
            Values::Integers(old) => Values::Integers(source.iter().map(|&at| old[at]).collect()),
        }
    }
}

/// The float type with this number in `TensorProto.DataType`.
pub(super) fn float_type(data_type: i64) -> Option<Precision> {
    Some(match data_type {
        1 => Precision::F32,
        10 => Precision::F16,
        11 => Precision::F64,
        16 => Precision::Bf16,
        _ => return None,
    })
}

/// The name of a type of `TensorProto.DataType`.
pub(super) fn type_name(data_type: i64) -> String {
    const NAMES: [&str; 17] = [
        "undefined",
        "float",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "int32",
        "int64",
        "string",
        "bool",
        "float16",
        "double",
        "uint32",
        "uint64",
        "complex64",
        "complex128",
        "bfloat16",
    ];
    let name = usize::try_from(data_type).ok().and_then(|at| NAMES.get(at));
    name.map_or_else(|| format!("type number {data_type}"), ToString::to_string)
}

/// The name of a tensor.
pub(super) fn name(tensor: Message<'_>) -> Result<&str, FormatError> {
    tensor.last(8)?.map_or(Ok(""), |field| field.text())
}

impl Tensor {
    /// The first of so many equal parts along the first of several dimensions; `None` if it is not made of them.
    pub(super) fn first_of(&self, count: usize) -> Option<Self> {
        if self.dims.len() < 2 || self.dims[0] != count {
            return None;
        }
        fn first<T: PartialEq + Clone>(all: &[T], count: usize) -> Option<Vec<T>> {
            let (one, rest) = all.split_at(all.len() / count.max(1));
            (!one.is_empty() && rest.chunks(one.len()).all(|part| part == one)).then(|| one.to_vec())
        }
        let values = match &self.values {
            Values::Floats(values, precision) => Values::Floats(first(values, count)?, *precision),
            Values::Integers(values) => Values::Integers(first(values, count)?),
        };
        let dims = [&[1], &self.dims[1..]].concat();
        Some(Tensor { dims, values })
    }

    /// Decodes a tensor; `who` names it in errors, and `files` reads what is not in the message.
    pub(super) fn decode(
        tensor: Message,
        who: impl fmt::Display,
        files: &External,
    ) -> Result<Self, FormatError> {
        let wrong = |reason: String| FormatError::malformed(format!("{who}: {reason}"));
        let mut header = Header::parse(tensor, &who)?;
        let dims = dimensions(&header.dims).map_err(wrong)?;
        let count = shape::count(&dims).ok_or_else(|| {
            wrong(format!("its shape {} has more entries than can be counted", shape::show(&header.dims)))
        })?;
        let stored;
        if let Some(place) = &header.external {
            let size = count.checked_mul(bytes_per_number(header.data_type)).ok_or_else(|| {
                wrong(format!("its shape {} has more bytes than can be counted", shape::show(&header.dims)))
            })?;
            stored = files.read(place, size).map_err(|reason| {
                FormatError::unsupported(format!("{who}: its numbers are in another file; {reason}"))
            })?;
            header.raw = Some(&stored);
        }
        let values = match (float_type(header.data_type), header.data_type) {
            (Some(precision), _) => Values::Floats(floats(tensor, &header, precision, &who)?, precision),
            (None, 6 | 7 | 9) => Values::Integers(integers(tensor, &header, &who)?),
            _ => {
                let expected = "expected float, double, float16 or bfloat16";
                let found = type_name(header.data_type);
                return Err(FormatError::unsupported(format!("{who}: {expected} numbers, found {found}")));
            }
        };
        let found = match &values {
            Values::Floats(values, _) => values.len(),
            Values::Integers(values) => values.len(),
        };
        if found != count {
            let shape = shape::show(&dims);
            return Err(wrong(format!("expected {count} numbers for shape {shape}, found {found}")));
        }
        if let Values::Floats(values, _) = &values
            && let Some(at) = values.iter().position(|value| !value.is_finite())
        {
            return Err(wrong(format!("entry {} is {}; expected a finite number", at + 1, values[at])));
        }
        Ok(Tensor { dims, values })
    }
}

/// Everything of a tensor but its entries.
struct Header<'a> {
    dims: Vec<i64>,
    data_type: i64,
    raw: Option<&'a [u8]>,
    external: Option<Place>,
}

impl<'a> Header<'a> {
    fn parse(tensor: Message<'a>, who: &impl fmt::Display) -> Result<Self, FormatError> {
        let mut header = Header { dims: Vec::new(), data_type: 0, raw: None, external: None };
        for field in tensor.fields() {
            let field = field?;
            match field.number {
                1 => {
                    field.integers(|dim| {
                        if header.dims.len() <= MAX_RANK {
                            header.dims.push(dim);
                        }
                    })?;
                }
                2 => header.data_type = field.integer()?,
                3 => return Err(FormatError::unsupported(format!("{who}: stored in segments"))),
                9 => header.raw = Some(field.bytes()?),
                13 => header
                    .external
                    .get_or_insert_default()
                    .set(field.message("an entry of external data")?)?,
                14 if field.integer()? == 1 => drop(header.external.get_or_insert_default()),
                _ => {}
            }
        }
        Ok(header)
    }
}

/// The bytes of one number of a type.
fn bytes_per_number(data_type: i64) -> usize {
    match data_type {
        7 | 11 => 8,
        10 | 16 => 2,
        9 => 1,
        _ => 4,
    }
}

fn dimensions(dims: &[i64]) -> Result<Vec<usize>, String> {
    if dims.len() > MAX_RANK {
        return Err(format!("it has more than {MAX_RANK} dimensions"));
    }
    let convert =
        |&dim| usize::try_from(dim).map_err(|_| format!("its shape {} is negative", shape::show(dims)));
    dims.iter().map(convert).collect()
}

fn floats(
    tensor: Message,
    header: &Header,
    precision: Precision,
    who: &impl fmt::Display,
) -> Result<Vec<f64>, FormatError> {
    if let Some(raw) = header.raw {
        return match precision {
            Precision::F32 => fixed(raw, who, |b| f32::from_le_bytes(b).into()),
            Precision::F64 => fixed(raw, who, f64::from_le_bytes),
            Precision::F16 => fixed(raw, who, |b| f16::from_le_bytes(b).to_f64()),
            Precision::Bf16 => fixed(raw, who, |b| bf16::from_le_bytes(b).to_f64()),
        };
    }
    let mut values = Vec::new();
    for field in tensor.fields() {
        let field = field?;
        match (field.number, precision) {
            (4, Precision::F32) => field.floats(|value| values.push(value.into()))?,
            (10, Precision::F64) => field.doubles(|value| values.push(value))?,
            (5, Precision::F16) => {
                field.integers(|bits| values.push(f16::from_bits(bits as u16).to_f64()))?
            }
            (5, Precision::Bf16) => {
                field.integers(|bits| values.push(bf16::from_bits(bits as u16).to_f64()))?
            }
            _ => {}
        }
    }
    Ok(values)
}

fn integers(tensor: Message, header: &Header, who: &impl fmt::Display) -> Result<Vec<i64>, FormatError> {
    if let Some(raw) = header.raw {
        return match header.data_type {
            7 => fixed(raw, who, i64::from_le_bytes),
            6 => fixed(raw, who, |b| i32::from_le_bytes(b).into()),
            _ => fixed(raw, who, |[b]| b.into()),
        };
    }
    let list = if header.data_type == 7 { 7 } else { 5 };
    let mut values = Vec::new();
    for field in tensor.fields() {
        let field = field?;
        if field.number == list {
            field.integers(|value| values.push(value))?;
        }
    }
    Ok(values)
}

fn fixed<const N: usize, T>(
    raw: &[u8],
    who: &impl fmt::Display,
    convert: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>, FormatError> {
    let (chunks, rest) = raw.as_chunks::<N>();
    if !rest.is_empty() {
        let found = format!("expected a multiple of {N} bytes of data, found {}", raw.len());
        return Err(FormatError::malformed(format!("{who}: {found}")));
    }
    Ok(chunks.iter().map(|chunk| convert(*chunk)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Tensor {
        Tensor::decode(Message::new(bytes, "a tensor"), "t", &External::none()).unwrap()
    }

    /// Two entries, 1 and -2, in every way a file may hold them.
    #[test]
    fn equal_parts_are_one() {
        let tensor = |dims: &[usize], values: &[f64]| Tensor {
            dims: dims.to_vec(),
            values: Values::Floats(values.to_vec(), Precision::F32),
        };
        let twice = tensor(&[2, 2], &[1.0, 2.0, 1.0, 2.0]);
        assert_eq!(twice.first_of(2), Some(tensor(&[1, 2], &[1.0, 2.0])));
        assert_eq!(twice.first_of(4), None);
        assert_eq!(tensor(&[2, 1], &[1.0, 2.0]).first_of(2), None);
        assert_eq!(tensor(&[2], &[1.0, 1.0]).first_of(2), None);
    }

    #[test]
    fn every_float_type_becomes_doubles() {
        let header = |data_type: u8| vec![0x08, 2, 0x10, data_type];
        let raw = |data_type, data: &[u8]| [&header(data_type), &[0x4a, data.len() as u8][..], data].concat();
        let singles = [1f32.to_le_bytes(), (-2f32).to_le_bytes()].concat();
        let doubles = [1f64.to_le_bytes(), (-2f64).to_le_bytes()].concat();
        let half_list = [0x80, 0x78, 0x80, 0x80, 0x03];
        let brain_list = [0x80, 0x7f, 0x80, 0x80, 0x03];
        let list = |data_type, key: u8, data: &[u8]| {
            [&header(data_type), &[key, data.len() as u8][..], data].concat()
        };
        for (bytes, precision) in [
            (raw(1, &singles), Precision::F32),
            (list(1, 0x22, &singles), Precision::F32),
            (raw(11, &doubles), Precision::F64),
            (list(11, 0x52, &doubles), Precision::F64),
            (raw(10, &[0x00, 0x3c, 0x00, 0xc0]), Precision::F16),
            (list(10, 0x2a, &half_list), Precision::F16),
            (raw(16, &[0x80, 0x3f, 0x00, 0xc0]), Precision::Bf16),
            (list(16, 0x2a, &brain_list), Precision::Bf16),
        ] {
            let values = Values::Floats(vec![1.0, -2.0], precision);
            assert_eq!(decode(&bytes), Tensor { dims: vec![2], values });
        }
    }
}
