//! Numbers as tensor files store them: IEEE floats, integers and booleans, in either byte order.
//!
//! Every float format and every integer of magnitude at most 2^53 is a double exactly; integers
//! beyond are refused, so decoding never rounds.

use std::io::{self, Write};

use fiberscope_core::{Network, Weights};
use half::{bf16, f16};

use crate::Precision;

/// The type of a tensor's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Element {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bf16,
    F16,
    F32,
    F64,
}

/// Which end of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// An integer is beyond 2^53, so that it might be no double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inexact;

/// The largest `n` such that every integer of magnitude at most `n` is a double.
const EXACT_INTEGERS: u64 = 1 << 53;

impl Element {
    /// The number of bytes of one entry.
    pub(crate) fn size(self) -> usize {
        match self {
            Element::Bool | Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 | Element::Bf16 | Element::F16 => 2,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
        }
    }

    /// The precision of parameters stored this way; integers are exact doubles.
    pub(crate) fn precision(self) -> Precision {
        match self {
            Element::Bf16 => Precision::Bf16,
            Element::F16 => Precision::F16,
            Element::F32 => Precision::F32,
            _ => Precision::F64,
        }
    }

    /// Turns `out.len()` stored entries into doubles; `bytes` has `size()` bytes for each.
    pub(crate) fn decode(self, order: ByteOrder, bytes: &[u8], out: &mut [f64]) -> Result<(), Inexact> {
        debug_assert_eq!(bytes.len(), out.len() * self.size());
        let mut exact = true;
        // One loop per type and byte order, so that each is a straight run of conversions.
        macro_rules! decode {
            ($number:ty, $to_f64:expr) => {
                match order {
                    ByteOrder::Little => fill(bytes, out, |b| ($to_f64)(<$number>::from_le_bytes(b))),
                    ByteOrder::Big => fill(bytes, out, |b| ($to_f64)(<$number>::from_be_bytes(b))),
                }
            };
        }
        match self {
            Element::Bool => fill(bytes, out, |[b]: [u8; 1]| f64::from(u8::from(b != 0))),
            Element::I8 => decode!(i8, f64::from),
            Element::U8 => decode!(u8, f64::from),
            Element::I16 => decode!(i16, f64::from),
            Element::U16 => decode!(u16, f64::from),
            Element::I32 => decode!(i32, f64::from),
            Element::U32 => decode!(u32, f64::from),
            Element::I64 => decode!(i64, |n: i64| {
                exact &= n.unsigned_abs() <= EXACT_INTEGERS;
                n as f64
            }),
            Element::U64 => decode!(u64, |n: u64| {
                exact &= n <= EXACT_INTEGERS;
                n as f64
            }),
            Element::Bf16 => decode!(bf16, bf16::to_f64),
            Element::F16 => decode!(f16, f16::to_f64),
            Element::F32 => decode!(f32, f64::from),
            Element::F64 => decode!(f64, |x| x),
        }
        if exact { Ok(()) } else { Err(Inexact) }
    }
}

fn fill<const N: usize>(bytes: &[u8], out: &mut [f64], mut number: impl FnMut([u8; N]) -> f64) {
    let (stored, _) = bytes.as_chunks::<N>();
    for (out, &stored) in out.iter_mut().zip(stored) {
        *out = number(stored);
    }
}

/// Refuses to write a network in a precision that the tensor writers lack, or that does not reach
/// as far as its parameters.
pub(crate) fn check_writable(network: &Network, precision: Precision) -> io::Result<()> {
    let refuse = |message: String| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    match precision {
        Precision::F64 => Ok(()),
        Precision::F32 => {
            for (l, layer) in network.layers().iter().enumerate() {
                let mut parameters = layer.weights().stored().iter().chain(layer.bias());
                if let Some(w) = parameters.find(|&&w| !(w as f32).is_finite()) {
                    return refuse(format!("layer {}: {w} is beyond single precision; write f64", l + 1));
                }
            }
            Ok(())
        }
        Precision::F16 | Precision::Bf16 => {
            refuse(format!("expected precision f32 or f64, found {precision}"))
        }
    }
}

/// Writes a weight row by row, zeros included; see [`encode`].
pub(crate) fn encode_weights(weights: &Weights, precision: Precision, out: &mut dyn Write) -> io::Result<()> {
    match weights {
        Weights::Dense(matrix) => encode(matrix.entries(), precision, out),
        sparse => (0..sparse.rows()).try_for_each(|i| encode(&sparse.dense_row(i), precision, out)),
    }
}

/// Refuses to write the zeros of a network that would be absurdly large with them.
pub(crate) fn check_dense_size(network: &Network) -> io::Result<()> {
    /// Numbers: 2 GiB in double precision.
    const MOST: usize = 1 << 28;
    network.require_dense(MOST).map_err(|error| {
        let message = format!("{error}; write JSON (.json), which holds the entries that are not zero");
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })
}

/// Writes numbers in little-endian order, in single precision if asked to, in double otherwise.
pub(crate) fn encode(numbers: &[f64], precision: Precision, out: &mut dyn Write) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(8 * numbers.len().min(ENCODED_AT_ONCE));
    for run in numbers.chunks(ENCODED_AT_ONCE) {
        buffer.clear();
        match precision {
            Precision::F32 => run.iter().for_each(|&w| buffer.extend_from_slice(&(w as f32).to_le_bytes())),
            _ => run.iter().for_each(|&w| buffer.extend_from_slice(&w.to_le_bytes())),
        }
        out.write_all(&buffer)?;
    }
    Ok(())
}

const ENCODED_AT_ONCE: usize = 1 << 13;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(element: Element, bytes: &[u8], expected: f64) {
        let mut out = [0.0];
        element.decode(ByteOrder::Little, bytes, &mut out).unwrap();
        assert_eq!(out[0].to_bits(), expected.to_bits(), "{element:?}");
        let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
        element.decode(ByteOrder::Big, &reversed, &mut out).unwrap();
        assert_eq!(out[0].to_bits(), expected.to_bits(), "{element:?}, big-endian");
    }

    #[test]
    fn every_element_in_both_byte_orders() {
        check(Element::Bool, &[1], 1.0);
        check(Element::I8, &[0xfe], -2.0);
        check(Element::U8, &[0xfe], 254.0);
        check(Element::I16, &[0xfe, 0xff], -2.0);
        check(Element::U16, &[0xfe, 0xff], 65534.0);
        check(Element::I32, &(-7i32).to_le_bytes(), -7.0);
        check(Element::U32, &u32::MAX.to_le_bytes(), 4294967295.0);
        check(Element::I64, &(-(1i64 << 53)).to_le_bytes(), -9007199254740992.0);
        check(Element::U64, &(1u64 << 53).to_le_bytes(), 9007199254740992.0);
        check(Element::Bf16, &[0xc0, 0x3f], 1.5);
        check(Element::F16, &[0x01, 0x00], 2f64.powi(-24));
        check(Element::F32, &0.1f32.to_le_bytes(), f64::from(0.1f32));
        check(Element::F64, &(-0.0f64).to_le_bytes(), -0.0);
    }

    #[test]
    fn integers_that_are_no_doubles_are_refused() {
        let mut out = [0.0];
        let bytes = ((1i64 << 53) + 1).to_le_bytes();
        assert_eq!(Element::I64.decode(ByteOrder::Little, &bytes, &mut out), Err(Inexact));
        assert_eq!(Element::U64.decode(ByteOrder::Little, &[0xff; 8], &mut out), Err(Inexact));
        assert_eq!(Element::I64.decode(ByteOrder::Little, &i64::MIN.to_le_bytes(), &mut out), Err(Inexact));
    }
}
