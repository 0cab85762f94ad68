//! The protobuf wire format: a message is a sequence of fields, each a key and a value.
//!
//! The key is a varint `8 * number + type`, the types being 0 varint, 1 eight bytes, 2 a length and
//! that many bytes (text, messages, packed numbers), 5 four bytes. Groups (3, 4) do not occur in ONNX.

use crate::FormatError;

/// The bytes of a message, and what to call it in errors.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    bytes: &'a [u8],
    what: &'static str,
}

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Message { bytes, what }
    }

    /// The bytes themselves.
    pub(super) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The length in bytes.
    pub(super) fn size(self) -> usize {
        self.bytes.len()
    }

    /// Whether the two are the same part of the file.
    pub(super) fn is_same(self, other: Message) -> bool {
        std::ptr::eq(self.bytes, other.bytes)
    }

    /// The fields in file order. After an error there are no more.
    pub(super) fn fields(self) -> Fields<'a> {
        Fields { rest: self.bytes, what: self.what }
    }

    /// The last field of this number, which is the one that counts if the field is not repeated.
    pub(super) fn last(self, number: u64) -> Result<Option<Field<'a>>, FormatError> {
        let mut last = None;
        for field in self.fields() {
            let field = field?;
            if field.number == number {
                last = Some(field);
            }
        }
        Ok(last)
    }
}

pub(super) struct Fields<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<Field<'a>, FormatError> {
        let what = self.what;
        let key = self.varint()?;
        let value = match key % 8 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(self.array()?),
            2 => {
                let length = self.varint()?;
                let found = self.rest.len();
                let bytes = usize::try_from(length).ok().and_then(|length| self.take(length));
                Value::Bytes(bytes.ok_or_else(|| {
                    let expected = format!("a field of {length} bytes, but {found} are left");
                    FormatError::malformed(format!(
                        "the ONNX file is cut short or damaged: {what} has {expected}"
                    ))
                })?)
            }
            5 => Value::Fixed32(self.array()?),
            other => {
                let message = format!("not an ONNX file: {what} has a field of unknown wire type {other}");
                return Err(FormatError::malformed(message));
            }
        };
        Ok(Field { number: key / 8, value, what })
    }

    fn varint(&mut self) -> Result<u64, FormatError> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let &[byte] = self.take(1).ok_or_else(|| self.cut_short())? else { return Err(self.cut_short()) };
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(FormatError::malformed(format!(
            "not an ONNX file: {} has a number of more than 64 bits",
            self.what
        )))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let bytes = self.take(N).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| self.cut_short())
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn cut_short(&self) -> FormatError {
        FormatError::malformed(format!(
            "the ONNX file is cut short or damaged: {} ends inside a number",
            self.what
        ))
    }
}

#[derive(Clone, Copy)]
enum Value<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(&'a [u8]),
    Fixed32([u8; 4]),
}

/// One field of a message.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) number: u64,
    value: Value<'a>,
    what: &'static str,
}

impl<'a> Field<'a> {
    pub(super) fn bytes(&self) -> Result<&'a [u8], FormatError> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.wrong_type("bytes")),
        }
    }

    pub(super) fn message(&self, what: &'static str) -> Result<Message<'a>, FormatError> {
        Ok(Message::new(self.bytes()?, what))
    }

    pub(super) fn text(&self) -> Result<&'a str, FormatError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| {
            let message = format!("{} has a name (field {}) that is no UTF-8 text", self.what, self.number);
            FormatError::malformed(message)
        })
    }

    pub(super) fn integer(&self) -> Result<i64, FormatError> {
        match self.value {
            Value::Varint(value) => Ok(value as i64),
            _ => Err(self.wrong_type("an integer")),
        }
    }

    pub(super) fn float(&self) -> Result<f32, FormatError> {
        match self.value {
            Value::Fixed32(bytes) => Ok(f32::from_le_bytes(bytes)),
            _ => Err(self.wrong_type("a float")),
        }
    }

    /// Calls `each` for the integers of a repeated field, packed or single.
    pub(super) fn integers(&self, mut each: impl FnMut(i64)) -> Result<(), FormatError> {
        let Value::Bytes(bytes) = self.value else {
            each(self.integer()?);
            return Ok(());
        };
        let mut packed = Fields { rest: bytes, what: self.what };
        while !packed.rest.is_empty() {
            each(packed.varint()? as i64);
        }
        Ok(())
    }

    /// Calls `each` for the floats of a repeated field, packed or single.
    pub(super) fn floats(&self, mut each: impl FnMut(f32)) -> Result<(), FormatError> {
        match self.value {
            Value::Bytes(bytes) => self.packed(bytes, |chunk| each(f32::from_le_bytes(chunk))),
            _ => self.float().map(each),
        }
    }

    /// Calls `each` for the doubles of a repeated field, packed or single.
    pub(super) fn doubles(&self, mut each: impl FnMut(f64)) -> Result<(), FormatError> {
        match self.value {
            Value::Bytes(bytes) => self.packed(bytes, |chunk| each(f64::from_le_bytes(chunk))),
            Value::Fixed64(bytes) => {
                each(f64::from_le_bytes(bytes));
                Ok(())
            }
            _ => Err(self.wrong_type("a double")),
        }
    }

    fn packed<const N: usize>(&self, bytes: &[u8], mut each: impl FnMut([u8; N])) -> Result<(), FormatError> {
        let (chunks, rest) = bytes.as_chunks::<N>();
        if !rest.is_empty() {
            let found = format!("{} bytes, no multiple of {N}", bytes.len());
            return Err(FormatError::malformed(format!("{} has a list of numbers of {found}", self.what)));
        }
        chunks.iter().for_each(|chunk| each(*chunk));
        Ok(())
    }

    fn wrong_type(&self, expected: &str) -> FormatError {
        let message = format!("not an ONNX file: field {} of {} is not {expected}", self.number, self.what);
        FormatError::malformed(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(bytes: &[u8]) -> Result<Field<'_>, String> {
        Message::new(bytes, "the test").fields().next().unwrap().map_err(|error| error.to_string())
    }

    #[test]
    fn varints() {
        assert_eq!(first(&[0x08, 0xac, 0x02]).unwrap().integer().unwrap(), 300);
        let minus_one = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(first(&minus_one).unwrap().integer().unwrap(), -1);
        let mut too_long = minus_one;
        too_long[10] = 0x02;
        assert!(first(&too_long).err().unwrap().contains("more than 64 bits"));
        assert!(first(&[0x08, 0x80]).err().unwrap().contains("ends inside a number"));
    }

    #[test]
    fn lengths_are_checked_before_use() {
        let huge = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, b'x'];
        assert!(first(&huge).err().unwrap().ends_with("bytes, but 1 are left"));
        assert_eq!(first(&[0x0a, 1, b'x']).unwrap().text().unwrap(), "x");
    }

    #[test]
    fn lists_may_be_packed_or_not() {
        for bytes in [&[0x0a, 2, 7, 9][..], &[0x08, 7, 0x08, 9][..]] {
            let mut found = Vec::new();
            for field in Message::new(bytes, "the test").fields() {
                field.unwrap().integers(|i| found.push(i)).unwrap();
            }
            assert_eq!(found, [7, 9]);
        }
        assert!(first(&[0x0a, 3, 0, 0, 0]).unwrap().floats(|_| ()).is_err());
    }
}
