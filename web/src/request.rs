//! What a page asks: a JSON object, and its parts with errors that name them.

use fiberscope_core::{Domain, Network};
use fiberscope_io::{ReadOptions, json};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A request.
pub struct Request(Map<String, Value>);

impl Request {
    /// Reads a request.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(parts)) => Ok(Request(parts)),
            Ok(_) => Err("expected a JSON object".into()),
            Err(error) => Err(format!("not JSON: {error}")),
        }
    }

    /// A part that may be left out or null.
    pub fn optional<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => T::deserialize(value).map(Some).map_err(|error| format!("{name:?}: {error}")),
        }
    }

    /// A part that must be there.
    pub fn part<T: DeserializeOwned>(&self, name: &str) -> Result<T, String> {
        self.optional(name)?.ok_or_else(|| format!("{name:?} is missing"))
    }

    /// A text.
    pub fn text(&self, name: &str) -> Result<&str, String> {
        self.0.get(name).and_then(Value::as_str).ok_or_else(|| format!("{name:?}: expected a text"))
    }

    /// A network: the text of a network file.
    pub fn network(&self, name: &str) -> Result<Network, String> {
        let read = json::read(self.text(name)?.as_bytes(), &ReadOptions::default());
        read.map(|model| model.network).map_err(|error| format!("{name:?}: {error}"))
    }

    /// The domain: `"box"`, one pair of ends for every input, or all of `R^n` without it.
    pub fn domain(&self, inputs: usize) -> Result<Domain, String> {
        let Some((low, high)) = self.optional::<(f64, f64)>("box")? else { return Ok(Domain::Space) };
        let fine = low < high;
        let domain = Domain::from_bounds(&vec![(low, high); inputs]).filter(|_| fine);
        domain.ok_or_else(|| format!("\"box\": expected lo < hi, found {low} and {high}"))
    }
}

/// The error for a question that nobody asks.
pub fn unknown(op: &str) -> String {
    format!("unknown question {op:?}")
}
