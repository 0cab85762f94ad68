//! The header of a npy array: `\x93NUMPY`, version (1, 2 or 3), length of the rest, and a Python
//! dictionary `{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }` padded with spaces.

use crate::FormatError;
use crate::element::{ByteOrder, Element};
use crate::state_dict::{clipped, quoted};

/// What an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// Numbers.
    Numbers(Element, ByteOrder),
    /// Strings of this many characters of 4 bytes each, padded with zeros.
    Text(usize, ByteOrder),
}

/// A parsed header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The type of the entries.
    pub(super) contents: Contents,
    /// Whether the first index runs fastest.
    pub(super) fortran_order: bool,
    /// The dimensions.
    pub(super) shape: Vec<usize>,
}

/// Bytes before the dictionary's length.
pub(super) const MAGIC: usize = 8;

/// numpy's own limit on the length of the dictionary.
const MAX_DICTIONARY: usize = 10_000;

/// Reads the first 8 bytes: the number of bytes (2 or 4) in which the dictionary's length follows.
pub(super) fn length_size(magic: &[u8; MAGIC]) -> Result<usize, FormatError> {
    match magic {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, 0] => Ok(2),
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, 0] => Ok(4),
        [0x93, b'N', b'U', b'M', b'P', b'Y', major, minor] => Err(FormatError::unsupported(format!(
            "expected npy version 1.0, 2.0 or 3.0, found {major}.{minor}"
        ))),
        _ => Err(FormatError::malformed("expected a npy array, which begins with \\x93NUMPY")),
    }
}

/// Reads the dictionary's length.
pub(super) fn dictionary_length(bytes: &[u8]) -> Result<usize, FormatError> {
    let length = bytes.iter().rev().fold(0usize, |n, &b| n << 8 | usize::from(b));
    if length > MAX_DICTIONARY {
        let message = format!("expected a npy header of at most {MAX_DICTIONARY} bytes, found {length}");
        return Err(FormatError::malformed(message));
    }
    Ok(length)
}

/// Reads the dictionary.
pub(super) fn parse_dictionary(bytes: &[u8]) -> Result<Header, FormatError> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| FormatError::malformed("the npy header is not UTF-8"))?;
    let mut parser = Parser { rest: text };
    let (mut contents, mut fortran_order, mut shape) = (None, None, None);
    parser.expect('{')?;
    while !parser.accept('}') {
        let key = parser.string()?;
        parser.expect(':')?;
        let again = match key {
            "descr" => contents.replace(parse_descr(parser.descr()?)?).is_some(),
            "fortran_order" => fortran_order.replace(parser.boolean()?).is_some(),
            "shape" => shape.replace(parser.shape()?).is_some(),
            _ => return Err(FormatError::malformed(format!("npy header: unknown key {}", quoted(key)))),
        };
        if again {
            return Err(FormatError::malformed(format!(
                "npy header: the key {} is there twice",
                quoted(key)
            )));
        }
        if !parser.accept(',') {
            parser.expect('}')?;
            break;
        }
    }
    match (contents, fortran_order, shape) {
        (Some(contents), Some(fortran_order), Some(shape)) => Ok(Header { contents, fortran_order, shape }),
        _ => Err(FormatError::malformed("npy header: expected the keys descr, fortran_order and shape")),
    }
}

/// The header that numpy would write: version 1, padded such that the data begin at a multiple of
/// 64 bytes.
pub(super) fn format_header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let dimensions: Vec<String> = shape.iter().map(usize::to_string).collect();
    let shape = match dimensions.as_slice() {
        [only] => format!("({only},)"),
        _ => format!("({})", dimensions.join(", ")),
    };
    let mut dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while !(MAGIC + 2 + dictionary.len() + 1).is_multiple_of(64) {
        dictionary.push(' ');
    }
    dictionary.push('\n');
    let length = u16::try_from(dictionary.len()).expect("a header of two dimensions is short");
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend(length.to_le_bytes());
    header.extend(dictionary.as_bytes());
    header
}

fn parse_descr(descr: &str) -> Result<Contents, FormatError> {
    let unsupported = || {
        let object = if descr.ends_with('O') { " (Python objects, which could run code)" } else { "" };
        let message = format!("expected floats, integers or booleans, found dtype {}{object}", quoted(descr));
        FormatError::unsupported(message)
    };
    let (order, kind) = match (descr.get(..1), descr.get(1..)) {
        (Some("<" | "|"), Some(kind)) => (ByteOrder::Little, kind),
        (Some(">"), Some(kind)) => (ByteOrder::Big, kind),
        _ => return Err(unsupported()),
    };
    let element = match kind {
        "f8" => Element::F64,
        "f4" => Element::F32,
        "f2" => Element::F16,
        "i8" => Element::I64,
        "i4" => Element::I32,
        "i2" => Element::I16,
        "i1" => Element::I8,
        "u8" => Element::U64,
        "u4" => Element::U32,
        "u2" => Element::U16,
        "u1" => Element::U8,
        "b1" => Element::Bool,
        _ => {
            let characters = kind.strip_prefix('U').and_then(|length| length.parse().ok());
            return characters.map(|n| Contents::Text(n, order)).ok_or_else(unsupported);
        }
    };
    if descr.starts_with('|') && element.size() > 1 {
        return Err(unsupported());
    }
    Ok(Contents::Numbers(element, order))
}

/// The few Python literals that occur in a header.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn accept(&mut self, token: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, token: char) -> Result<(), FormatError> {
        if self.accept(token) { Ok(()) } else { Err(self.unexpected(&format!("`{token}`"))) }
    }

    fn unexpected(&self, expected: &str) -> FormatError {
        let found: String = self.rest.chars().take(20).collect();
        FormatError::malformed(format!("npy header: expected {expected}, found {}", quoted(&clipped(&found))))
    }

    fn string(&mut self) -> Result<&'a str, FormatError> {
        let quote = if self.accept('"') { '"' } else { '\'' };
        if quote == '\'' {
            self.expect('\'')?;
        }
        let (string, rest) =
            self.rest.split_once(quote).ok_or_else(|| self.unexpected("the end of a string"))?;
        self.rest = rest;
        Ok(string)
    }

    fn descr(&mut self) -> Result<&'a str, FormatError> {
        if self.accept('[') {
            return Err(FormatError::unsupported(
                "expected an array of plain numbers, found a structured dtype",
            ));
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, FormatError> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<usize>, FormatError> {
        self.expect('(')?;
        let mut shape = Vec::new();
        while !self.accept(')') {
            self.rest = self.rest.trim_start();
            let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = self.rest.split_at(digits);
            shape.push(number.parse().map_err(|_| self.unexpected("a dimension"))?);
            // Python 2 wrote long integers with a suffix.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(dictionary: &str) -> Result<Header, String> {
        parse_dictionary(dictionary.as_bytes()).map_err(|e| e.to_string())
    }

    #[test]
    fn dictionaries_in_any_order_and_spelling() {
        let numbers = |element, order| Contents::Numbers(element, order);
        let little = ByteOrder::Little;
        let check = |dictionary, contents, fortran_order, shape: &[usize]| {
            let expected = Header { contents, fortran_order, shape: shape.to_vec() };
            assert_eq!(parse(dictionary), Ok(expected));
        };
        let f8 = numbers(Element::F64, little);
        check("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }   \n", f8, false, &[2, 3]);
        check("{\"shape\":(3,),'fortran_order':True,\"descr\":\"<f8\"}", f8, true, &[3]);
        check(
            "{'descr': '|b1', 'fortran_order': False, 'shape': (), }",
            numbers(Element::Bool, little),
            false,
            &[],
        );
        let big = numbers(Element::F16, ByteOrder::Big);
        check("{'descr': '>f2', 'fortran_order': False, 'shape': (2L, 3L), }", big, false, &[2, 3]);
        let text = Contents::Text(8, little);
        check("{'descr': '<U8', 'fortran_order': False, 'shape': (2,), }", text, false, &[2]);
    }

    #[test]
    fn what_is_written_is_read() {
        let header = format_header("<f4", &[20, 1]);
        assert_eq!(header.len() % 64, 0);
        assert_eq!(length_size(header[..8].try_into().unwrap()).unwrap(), 2);
        assert_eq!(dictionary_length(&header[8..10]).unwrap(), header.len() - 10);
        let contents = Contents::Numbers(Element::F32, ByteOrder::Little);
        let expected = Header { contents, fortran_order: false, shape: vec![20, 1] };
        assert_eq!(parse_dictionary(&header[10..]).unwrap(), expected);
    }

    #[test]
    fn other_dictionaries_are_refused() {
        let check = |dictionary: &str, expected: &str| assert_eq!(parse(dictionary).unwrap_err(), expected);
        check("", "npy header: expected `{`, found ``");
        check("{}", "npy header: expected the keys descr, fortran_order and shape");
        check("{'shape': (1,), 'shape': (1,)}", "npy header: the key `shape` is there twice");
        check("{'shape': (1,), 'x': 1}", "npy header: unknown key `x`");
        check("{'shape': (-1,)}", "npy header: expected a dimension, found `-1,)}`");
        check(
            "{'shape': (99999999999999999999,)}",
            "npy header: expected a dimension, found `99999999999999999999`",
        );
        check("{'fortran_order': 1}", "npy header: expected True or False, found `1}`");
        check("{'descr': [('x', '<f8')]}", "expected an array of plain numbers, found a structured dtype");
        check(
            "{'descr': '|O'}",
            "expected floats, integers or booleans, found dtype `|O` (Python objects, which could run code)",
        );
        check("{'descr': '<c16'}", "expected floats, integers or booleans, found dtype `<c16`");
        check("{'descr': '|f8'}", "expected floats, integers or booleans, found dtype `|f8`");
        check("{'descr': '\u{e9}f8'}", "expected floats, integers or booleans, found dtype `\u{e9}f8`");
        check("{'descr': '<f8", "npy header: expected the end of a string, found `<f8`");
    }
}
