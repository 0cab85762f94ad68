//! One npy array, read from a stream: header, then entries in row-major or column-major order.

use super::npy::{self, Contents, Header};
use crate::FormatError;
use crate::archive::EntryReader;
use crate::element::{ByteOrder, Element};

/// Where the bytes of an array come from.
pub(super) trait Stream {
    /// The number of bytes that are left.
    fn left(&self) -> u64;
    /// Fills `buffer` with the next bytes.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), FormatError>;
}

impl Stream for EntryReader<'_> {
    fn left(&self) -> u64 {
        EntryReader::left(self)
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), FormatError> {
        EntryReader::fill(self, buffer)
    }
}

impl Stream for &[u8] {
    fn left(&self) -> u64 {
        self.len() as u64
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), FormatError> {
        let Some((bytes, rest)) = self.split_at_checked(buffer.len()) else {
            let message = format!("expected {} more bytes, found {}", buffer.len(), self.len());
            return Err(FormatError::malformed(message));
        };
        buffer.copy_from_slice(bytes);
        *self = rest;
        Ok(())
    }
}

/// Reads the header and checks that the entries it describes are the bytes that are left.
pub(super) fn read_header(stream: &mut impl Stream) -> Result<Header, FormatError> {
    let mut magic = [0; npy::MAGIC];
    stream.fill(&mut magic)?;
    let mut length = vec![0; npy::length_size(&magic)?];
    stream.fill(&mut length)?;
    let mut dictionary = vec![0; npy::dictionary_length(&length)?];
    stream.fill(&mut dictionary)?;
    let header = npy::parse_dictionary(&dictionary)?;
    let entry = match header.contents {
        Contents::Numbers(element, _) => Some(element.size()),
        Contents::Text(characters, _) => characters.checked_mul(4),
    };
    let nonzero = !header.shape.contains(&0);
    let bytes = entry.and_then(|entry| {
        if nonzero { header.shape.iter().try_fold(entry, |n, &d| n.checked_mul(d)) } else { Some(0) }
    });
    if bytes.map(|bytes| bytes as u64) != Some(stream.left()) {
        let shape = if header.shape.len() <= 8 { &header.shape[..] } else { &[] };
        let expected = bytes.map_or("more than there can be".to_owned(), |bytes| bytes.to_string());
        let message =
            format!("expected {expected} bytes of entries (shape {shape:?}), found {}", stream.left());
        return Err(FormatError::malformed(message));
    }
    Ok(header)
}

/// Entries decoded at a time.
const CHUNK: usize = 1 << 13;

/// Reads all numbers after the header, row by row.
pub(super) fn read_numbers(
    stream: &mut impl Stream,
    header: &Header,
    element: Element,
    order: ByteOrder,
) -> Result<Vec<f64>, FormatError> {
    let entries = usize::try_from(stream.left()).unwrap_or(usize::MAX) / element.size();
    let mut numbers = vec![0.0; entries];
    let mut buffer = vec![0; element.size() * CHUNK.min(entries)];
    for out in numbers.chunks_mut(CHUNK) {
        let bytes = &mut buffer[..out.len() * element.size()];
        stream.fill(bytes)?;
        let decoded = element.decode(order, bytes, out);
        decoded.map_err(|_| {
            FormatError::unsupported("an integer is beyond 2^53, so that it might be no double")
        })?;
    }
    match *header.shape {
        [rows, cols] if header.fortran_order => Ok(by_rows(&numbers, rows, cols)),
        _ => Ok(numbers),
    }
}

fn by_rows(by_columns: &[f64], rows: usize, cols: usize) -> Vec<f64> {
    let mut numbers = Vec::with_capacity(by_columns.len());
    for i in 0..rows {
        numbers.extend((0..cols).map(|j| by_columns[i + j * rows]));
    }
    numbers
}

/// Reads all strings after the header of an array of strings of `characters` characters.
pub(super) fn read_strings(
    stream: &mut impl Stream,
    characters: usize,
    order: ByteOrder,
) -> Result<Vec<String>, FormatError> {
    let mut bytes = vec![0; usize::try_from(stream.left()).unwrap_or(usize::MAX)];
    stream.fill(&mut bytes)?;
    let decode = |&word: &[u8; 4]| match order {
        ByteOrder::Little => u32::from_le_bytes(word),
        ByteOrder::Big => u32::from_be_bytes(word),
    };
    let string = |bytes: &[u8]| {
        let (words, _) = bytes.as_chunks::<4>();
        let codes = words.iter().map(decode).take_while(|&code| code != 0);
        codes.map(char::from_u32).collect::<Option<String>>()
    };
    let strings: Option<Vec<String>> = bytes.chunks(4 * characters.max(1)).map(string).collect();
    strings.ok_or_else(|| FormatError::malformed("a string is not Unicode"))
}
