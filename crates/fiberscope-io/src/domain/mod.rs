//! Boxes of inputs: `{x : lo_j <= x_j <= hi_j for every input j}`.
//!
//! A box is given as `LO,HI`, the same for every input, or as a file with one interval per input:
//!
//! | first character | format |
//! |---|---|
//! | `[` or `{` | JSON: `[[lo, hi], ...]` or `{"box": [[lo, hi], ...]}` |
//! | `(` or `;` | VNN-LIB 1.0 or 2.0 whose input constraints are a box |
//! | any other | CSV: two columns, one line per input, a header is allowed |
//!
//! A decimal number is read as the double nearest to it, so the box that is used may differ from the
//! one in the text by a rounding of its ends. Ends are finite; an interval may be a single point.
//!
//! In VNN-LIB, constraints on outputs are skipped, and so are equalities between the inputs of two
//! networks. A constraint on inputs that is no bound on one of them (a disjunction, a linear
//! inequality) makes the set no box and is an error.

mod forms;
mod property;
mod vnnlib;

pub use property::{OutputQuestion, Property, read_property};

use std::fmt;
use std::path::Path;

use serde::Deserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};

use crate::json_text::{Key, Numbers, Place, once, parse, required, seed};
use crate::{FormatError, IoError, csv};

/// A box, one interval per input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputBox {
    /// `(lo, hi)` for every input; finite, `lo <= hi`.
    pub bounds: Vec<(f64, f64)>,
}

impl InputBox {
    /// The box with these intervals, if they are intervals. Errors name the input, counted from 1.
    pub fn new(bounds: Vec<(f64, f64)>) -> Result<Self, FormatError> {
        InputBox::named(bounds, |input| format!("input {}", input + 1))
    }

    fn named(bounds: Vec<(f64, f64)>, name: impl Fn(usize) -> String) -> Result<Self, FormatError> {
        for (input, &(lo, hi)) in bounds.iter().enumerate() {
            let refuse = |message: String| Err(FormatError::malformed(format!("{}: {message}", name(input))));
            for (end, what) in [(lo, "lower"), (hi, "upper")] {
                if !end.is_finite() {
                    return refuse(format!("the {what} bound is {end}; expected a finite number"));
                }
            }
            if lo > hi {
                return refuse(format!("the lower bound {lo} is above the upper bound {hi}"));
            }
        }
        Ok(InputBox { bounds })
    }
}

/// The box that an argument describes: `LO,HI` or the name of a file.
///
/// ```
/// let unit = fiberscope_io::domain::parse_box("-1,1", 2).unwrap();
/// assert_eq!(unit.bounds, [(-1.0, 1.0), (-1.0, 1.0)]);
/// ```
pub fn parse_box(argument: &str, inputs: usize) -> Result<InputBox, IoError> {
    let in_argument = |source| IoError::Format { path: argument.into(), source };
    if let Some(interval) = interval(argument) {
        InputBox::named(vec![interval], |_| "every input".to_owned()).map_err(in_argument)?;
        return Ok(InputBox { bounds: vec![interval; inputs] });
    }
    match std::fs::read(Path::new(argument)) {
        Ok(bytes) => read(&bytes, inputs).map_err(in_argument),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(in_argument(FormatError::malformed(
                "expected LO,HI (two numbers) or the name of a file; there is no such file",
            )))
        }
        Err(source) => Err(IoError::File { path: argument.into(), source }),
    }
}

/// Reads the contents of a file that describes a box for a network with this many inputs.
pub fn read(bytes: &[u8], inputs: usize) -> Result<InputBox, FormatError> {
    match bytes.trim_ascii_start().first() {
        Some(b'[' | b'{') => {
            let bounds = parse(bytes, |json, place| json.deserialize_any(BoxFile { place }))?;
            counted(bounds, inputs)
        }
        Some(b'(' | b';') => vnnlib::read(bytes, inputs),
        _ => read_csv(bytes, inputs),
    }
}

/// `LO,HI`.
fn interval(argument: &str) -> Option<(f64, f64)> {
    let (lo, hi) = argument.split_once(',')?;
    Some((lo.trim().parse().ok()?, hi.trim().parse().ok()?))
}

fn read_csv(bytes: &[u8], inputs: usize) -> Result<InputBox, FormatError> {
    let table = csv::read(bytes)?.points;
    if table.cols() != 2 {
        let message = format!("expected two columns, lower and upper bounds, found {}", table.cols());
        return Err(FormatError::malformed(message));
    }
    counted(table.iter_rows().map(|row| (row[0], row[1])).collect(), inputs)
}

/// A box that must have this many intervals.
fn counted(bounds: Vec<(f64, f64)>, inputs: usize) -> Result<InputBox, FormatError> {
    if bounds.len() == inputs {
        return InputBox::new(bounds);
    }
    let message =
        format!("expected {inputs} intervals, one per input of the network, found {}", bounds.len());
    Err(FormatError::malformed(message))
}

/// The list of intervals, or an object with the list under the key `box`.
struct BoxFile<'p> {
    place: &'p mut Place,
}

impl<'de> Visitor<'de> for BoxFile<'_> {
    type Value = Vec<(f64, f64)>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of intervals")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut bounds = None;
        while map.next_key_seed(Key(&["box"]))?.is_some() {
            once(&mut bounds, map.next_value_seed(Intervals { place: self.place })?)?;
        }
        required(bounds, "box")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Intervals { place: self.place }.visit_seq(list)
    }
}

struct Intervals<'p> {
    place: &'p mut Place,
}

seed!(Intervals<'_>, deserialize_seq);

impl<'de> Visitor<'de> for Intervals<'_> {
    type Value = Vec<(f64, f64)>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of intervals")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (mut bounds, mut ends) = (Vec::new(), Vec::with_capacity(2));
        loop {
            ends.clear();
            let name = |end| format!("bound {end}");
            let read = list.next_element_seed(Numbers { into: &mut ends, place: self.place, name });
            let read = read.and_then(|count| match (count, &ends[..]) {
                (None, _) => Ok(None),
                (_, &[lo, hi]) => Ok(Some((lo, hi))),
                _ => Err(A::Error::custom(format_args!(
                    "expected two numbers, lo and hi, found {}",
                    ends.len()
                ))),
            });
            match read {
                Ok(Some(interval)) => bounds.push(interval),
                Ok(None) => return Ok(bounds),
                Err(error) => {
                    return Err(self.place.inside(format_args!("input {}", bounds.len() + 1), error));
                }
            }
        }
    }
}
