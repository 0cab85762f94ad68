//! What the JSON readers share: visitors for numbers, words and keys, and errors that say where.
//!
//! An error is raised by the innermost visitor; every visitor around it prepends its own place with
//! [`Place::inside`]. The result reads `layer 2: weight[3][1]: expected ..., line 7, column 12`.

use std::fmt;

use serde::de::{Error, Visitor};
use serde_json::de::SliceRead;

use crate::FormatError;
use crate::text::{clip, shorten};

/// Where an error happened, from the outside in.
#[derive(Default)]
pub(crate) struct Place {
    prefix: String,
}

impl Place {
    /// Records that the error happened inside `name`, and hands it on.
    pub(crate) fn inside<E>(&mut self, name: impl fmt::Display, error: E) -> E {
        self.prefix.insert_str(0, &format!("{name}: "));
        error
    }

    /// Like [`Place::inside`], unless an inner visitor already recorded a place that implies this one.
    pub(crate) fn inside_at_least<E>(&mut self, name: impl fmt::Display, error: E) -> E {
        if self.prefix.is_empty() { self.inside(name, error) } else { error }
    }
}

/// Reads the whole of `bytes` as one JSON value.
pub(crate) fn parse<'b, T>(
    bytes: &'b [u8],
    read: impl FnOnce(&mut serde_json::Deserializer<SliceRead<'b>>, &mut Place) -> serde_json::Result<T>,
) -> Result<T, FormatError> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let mut place = Place::default();
    read(&mut deserializer, &mut place)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| FormatError::malformed(message(&place.prefix, &error)))
}

/// `serde_json` ends its messages with the position; the message goes first and may be long.
fn message(prefix: &str, error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let what = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    format!("{prefix}{} (line {line}, column {column})", shorten(what))
}

/// Makes a visitor its own seed, deserialized by the given method.
macro_rules! seed {
    ($visitor:ty, $method:ident $(, $parameter:ident: $($bound:tt)+)?) => {
        impl<'de $(, $parameter: $($bound)+)?> serde::de::DeserializeSeed<'de> for $visitor {
            type Value = <Self as serde::de::Visitor<'de>>::Value;

            fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
                deserializer.$method(self)
            }
        }
    };
}
pub(crate) use seed;

/// A number, as the nearest double.
pub(crate) struct Number;

seed!(Number, deserialize_f64);

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }
}

/// A string with a meaning.
pub(crate) struct Word<T> {
    /// What is expected, for errors about values that are no strings.
    pub(crate) expected: &'static str,
    /// The meaning, or what is wrong.
    pub(crate) meaning: fn(&str) -> Result<T, String>,
}

seed!(Word<T>, deserialize_str, T: Sized);

impl<T> Visitor<'_> for Word<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.meaning)(text).map_err(E::custom)
    }
}

/// One of these keys; the value is its index.
pub(crate) struct Key(pub(crate) &'static [&'static str]);

seed!(Key, deserialize_identifier);

impl Visitor<'_> for Key {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "one of the keys {:?}", self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
        let unknown =
            || E::custom(format_args!("unknown key {:?}; expected one of {:?}", clip(text), self.0));
        self.0.iter().position(|&key| key == text).ok_or_else(unknown)
    }
}

/// Keeps the value of a key that may occur once.
pub(crate) fn once<T, E: Error>(slot: &mut Option<T>, value: T) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::custom("the key occurs twice")),
    }
}

/// The value of a key that must occur.
pub(crate) fn required<T, E: Error>(slot: Option<T>, key: &str) -> Result<T, E> {
    slot.ok_or_else(|| E::custom(format_args!("the key {key:?} is missing")))
}

/// A list of numbers, appended to `into`; the value is how many there were.
pub(crate) struct Numbers<'a, F> {
    /// Where the numbers go.
    pub(crate) into: &'a mut Vec<f64>,
    /// Where errors happen.
    pub(crate) place: &'a mut Place,
    /// The name of the entry with this index, counted from 1.
    pub(crate) name: F,
}

seed!(Numbers<'_, F>, deserialize_seq, F: Fn(usize) -> String);

impl<'de, F: Fn(usize) -> String> Visitor<'de> for Numbers<'_, F> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of numbers")
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<usize, A::Error> {
        let mut count = 0;
        loop {
            match list.next_element_seed(Number) {
                Ok(Some(number)) => self.into.push(number),
                Ok(None) => return Ok(count),
                Err(error) => return Err(self.place.inside((self.name)(count + 1), error)),
            }
            count += 1;
        }
    }
}
