//! The parts of an ONNX file that is being written, and the protobuf that they are made of.

use std::io::{self, Write};
use std::ops::Range;

use fiberscope_core::{SparseMatrix, Weights};

use crate::Precision;

/// A part of the graph: bytes, then numbers.
pub(super) struct Piece<'n> {
    head: Vec<u8>,
    numbers: Numbers<'n>,
}

/// Numbers to be written.
pub(super) enum Numbers<'n> {
    List(&'n [f64]),
    Own(Vec<f64>),
    /// A weight, zeros included.
    Rows(&'n Weights),
    /// A block of a matrix, zeros included.
    Block(&'n SparseMatrix, Range<usize>, Range<usize>),
}

/// The entries of a row in some columns, counted from the first of them.
pub(super) fn entries<'m>(
    matrix: &'m SparseMatrix,
    i: usize,
    cols: &Range<usize>,
) -> impl Iterator<Item = (usize, f64)> + use<'m> {
    let (columns, entries) = matrix.row(i);
    let start = columns.partition_point(|&column| (column as usize) < cols.start);
    let end = columns.partition_point(|&column| (column as usize) < cols.end);
    let first = cols.start;
    columns[start..end]
        .iter()
        .zip(&entries[start..end])
        .map(move |(&column, &x)| (column as usize - first, x))
}

impl Numbers<'_> {
    fn count(&self) -> u64 {
        match self {
            Numbers::List(numbers) => numbers.len() as u64,
            Numbers::Own(numbers) => numbers.len() as u64,
            Numbers::Rows(weights) => (weights.rows() as u64).saturating_mul(weights.cols() as u64),
            Numbers::Block(_, rows, cols) => (rows.len() as u64).saturating_mul(cols.len() as u64),
        }
    }
}

impl<'n> Piece<'n> {
    /// Bytes alone.
    pub(super) fn bytes(head: Vec<u8>) -> Self {
        Piece { head, numbers: Numbers::List(&[]) }
    }

    /// An initializer.
    pub(super) fn tensor(name: &str, dims: &[usize], numbers: Numbers<'n>, element: Element) -> Self {
        let mut tensor = Vec::new();
        dims.iter().for_each(|&dim| integer(&mut tensor, 1, dim as u64));
        integer(&mut tensor, 2, element.data_type);
        text(&mut tensor, 8, name);
        key(&mut tensor, 9, 2);
        let data = numbers.count().saturating_mul(element.width);
        varint(&mut tensor, data);
        let mut head = Vec::new();
        key(&mut head, 5, 2);
        varint(&mut head, data.saturating_add(tensor.len() as u64));
        head.append(&mut tensor);
        Piece { head, numbers }
    }

    /// Its length in the file.
    pub(super) fn size(&self, element: Element) -> u64 {
        (self.head.len() as u64).saturating_add(self.numbers.count().saturating_mul(element.width))
    }
}

impl Piece<'_> {
    /// Writes the bytes and the numbers.
    pub(super) fn write(&self, element: Element, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.head)?;
        match &self.numbers {
            Numbers::List(numbers) => element.write(numbers, out),
            Numbers::Own(numbers) => element.write(numbers, out),
            Numbers::Rows(Weights::Dense(matrix)) => element.write(matrix.entries(), out),
            Numbers::Rows(sparse) => {
                (0..sparse.rows()).try_for_each(|i| element.write(&sparse.dense_row(i), out))
            }
            Numbers::Block(matrix, rows, cols) => rows.clone().try_for_each(|i| {
                let mut row = vec![0.0; cols.len()];
                entries(matrix, i, cols).for_each(|(j, x)| row[j] = x);
                element.write(&row, out)
            }),
        }
    }
}

/// The number format of the file.
#[derive(Clone, Copy)]
pub(super) struct Element {
    pub(super) data_type: u64,
    width: u64,
}

impl Element {
    pub(super) fn new(precision: Precision) -> io::Result<Self> {
        match precision {
            Precision::F32 => Ok(Element { data_type: 1, width: 4 }),
            Precision::F64 => Ok(Element { data_type: 11, width: 8 }),
            other => {
                let message = format!("ONNX files are written in f32 or f64, not in {other}");
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        }
    }

    fn write(self, numbers: &[f64], out: &mut dyn Write) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(1 << 15);
        for chunk in numbers.chunks(1 << 12) {
            buffer.clear();
            for &number in chunk {
                match self.width {
                    4 => buffer.extend_from_slice(&(number as f32).to_le_bytes()),
                    _ => buffer.extend_from_slice(&number.to_le_bytes()),
                }
            }
            out.write_all(&buffer)?;
        }
        Ok(())
    }
}

pub(super) fn key(out: &mut Vec<u8>, number: u64, wire_type: u64) {
    varint(out, number * 8 + wire_type);
}

pub(super) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn integer(out: &mut Vec<u8>, number: u64, value: u64) {
    key(out, number, 0);
    varint(out, value);
}

pub(super) fn bytes(out: &mut Vec<u8>, number: u64, value: &[u8]) {
    key(out, number, 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

pub(super) fn text(out: &mut Vec<u8>, number: u64, value: &str) {
    bytes(out, number, value.as_bytes());
}
