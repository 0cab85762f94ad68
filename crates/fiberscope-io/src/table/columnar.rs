//! Tables as Parquet files: one row group, columns without nulls, plain values, not compressed.
//!
//! A file is the word `PAR1`, the pages of each column (a header and the values, little-endian), a footer
//! that says what lies where, its length, and `PAR1` again. Headers and footer are structures of Thrift's
//! compact protocol: the fields of a structure come with the difference of their numbers and with their kind,
//! integers in groups of seven bits after the map `n -> 2n` or `-2n - 1`, and a zero byte ends a structure.
//! Of the format (`parquet.thrift`) the few fields below are all that a reader needs.

use std::io::{self, Write};

use super::{Table, Values};

const MAGIC: &[u8] = b"PAR1";
/// The most values on a page.
const PAGE: usize = 1 << 17;

/// Physical types.
const INT64: i64 = 2;
const DOUBLE: i64 = 5;
/// Of a column without nulls.
const REQUIRED: i64 = 0;
/// Encodings: values as they are; levels, of which columns without nulls have none.
const PLAIN: i64 = 0;
const RLE: i64 = 3;
const UNCOMPRESSED: i64 = 0;
const DATA_PAGE: i64 = 0;

impl Table {
    /// Writes Parquet: one row group, columns without nulls, not compressed.
    pub fn write_parquet(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let mut at = MAGIC.len();
        let mut chunks = Vec::new();
        out.write_all(MAGIC)?;
        for (_, values) in &self.columns {
            let start = at;
            let mut rows = 0;
            while rows < values.len() {
                let end = values.len().min(rows + PAGE);
                let body = values.plain(rows, end);
                let head = page_header(end - rows, body.len());
                out.write_all(&head)?;
                out.write_all(&body)?;
                at += head.len() + body.len();
                rows = end;
            }
            chunks.push((start, at - start));
        }
        let footer = self.footer(&chunks);
        out.write_all(&footer)?;
        let length = u32::try_from(footer.len()).map_err(io::Error::other)?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(MAGIC)
    }

    /// What lies where: of every column, where it begins and how long it is.
    fn footer(&self, chunks: &[(usize, usize)]) -> Vec<u8> {
        let mut file = Compact::default();
        file.integer(1, I32, 1);
        file.list(2, STRUCT, self.columns.len() + 1);
        file.begin();
        file.text(4, "schema");
        file.integer(5, I32, self.columns.len() as i64);
        file.end();
        for (name, values) in &self.columns {
            file.begin();
            file.integer(1, I32, values.physical());
            file.integer(3, I32, REQUIRED);
            file.text(4, name);
            file.end();
        }
        file.integer(3, I64, self.rows() as i64);
        file.list(4, STRUCT, 1);
        file.begin();
        file.list(1, STRUCT, self.columns.len());
        for ((name, values), &(start, length)) in self.columns.iter().zip(chunks) {
            file.begin();
            file.integer(2, I64, start as i64);
            file.structure(3);
            file.integer(1, I32, values.physical());
            file.list(2, I32, 1);
            file.number(PLAIN);
            file.list(3, BINARY, 1);
            file.bytes(name);
            file.integer(4, I32, UNCOMPRESSED);
            file.integer(5, I64, values.len() as i64);
            file.integer(6, I64, length as i64);
            file.integer(7, I64, length as i64);
            file.integer(9, I64, start as i64);
            file.end();
            file.end();
        }
        file.integer(2, I64, chunks.iter().map(|(_, length)| *length as i64).sum());
        file.integer(3, I64, self.rows() as i64);
        file.end();
        file.text(6, concat!("fiberscope ", env!("CARGO_PKG_VERSION")));
        file.finish()
    }
}

impl Values {
    fn physical(&self) -> i64 {
        match self {
            Values::Integers(_) => INT64,
            Values::Numbers(_) => DOUBLE,
        }
    }

    fn plain(&self, begin: usize, end: usize) -> Vec<u8> {
        match self {
            Values::Integers(values) => values[begin..end].iter().flat_map(|v| v.to_le_bytes()).collect(),
            Values::Numbers(values) => values[begin..end].iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }
}

fn page_header(values: usize, bytes: usize) -> Vec<u8> {
    let mut page = Compact::default();
    page.integer(1, I32, DATA_PAGE);
    page.integer(2, I32, bytes as i64);
    page.integer(3, I32, bytes as i64);
    page.structure(5);
    page.integer(1, I32, values as i64);
    page.integer(2, I32, PLAIN);
    page.integer(3, I32, RLE);
    page.integer(4, I32, RLE);
    page.end();
    page.finish()
}

/// Kinds of fields and of elements of lists.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure of the compact protocol being written.
#[derive(Default)]
struct Compact {
    bytes: Vec<u8>,
    /// The number of the last field.
    last: u8,
    /// The same of the structures around this one.
    around: Vec<u8>,
}

impl Compact {
    /// A field's number and kind. Numbers grow, by less than 16, in all structures here.
    fn field(&mut self, number: u8, kind: u8) {
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    fn integer(&mut self, number: u8, kind: u8, value: i64) {
        self.field(number, kind);
        self.number(value);
    }

    fn text(&mut self, number: u8, text: &str) {
        self.field(number, BINARY);
        self.bytes(text);
    }

    fn list(&mut self, number: u8, kind: u8, length: usize) {
        self.field(number, LIST);
        match u8::try_from(length) {
            Ok(short) if short < 15 => self.bytes.push(short << 4 | kind),
            _ => {
                self.bytes.push(15 << 4 | kind);
                self.varint(length as u64);
            }
        }
    }

    /// A field that is a structure.
    fn structure(&mut self, number: u8) {
        self.field(number, STRUCT);
        self.begin();
    }

    /// A structure begins: a field's, or an element of a list.
    fn begin(&mut self) {
        self.around.push(std::mem::take(&mut self.last));
    }

    fn end(&mut self) {
        self.bytes.push(0);
        self.last = self.around.pop().unwrap_or(0);
    }

    fn number(&mut self, value: i64) {
        self.varint((value << 1 ^ value >> 63) as u64);
    }

    fn bytes(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    fn varint(&mut self, mut value: u64) {
        while value > 127 {
            self.bytes.push((value & 127) as u8 | 128);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}
