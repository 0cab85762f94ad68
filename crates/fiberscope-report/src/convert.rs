//! A model written in another format: text and JSON.

use std::path::Path;

use fiberscope_core::{Digest, Network};
use fiberscope_io::Written;
use serde_json::{Value, json};

use crate::number::significant_upper;
use crate::words::joined;

/// A network that was read and written.
#[derive(Debug)]
pub struct Conversion<'a> {
    /// What was read, by name.
    pub input: &'a str,
    /// The network that was read.
    pub network: &'a Network,
    /// What the reader remarked.
    pub notes: &'a [String],
    /// The file that was written.
    pub output: &'a Path,
    /// What was written.
    pub written: &'a Written,
}

impl Conversion<'_> {
    /// The facts for a terminal.
    pub fn to_text(&self) -> String {
        let exactness = match &self.written.loss {
            None => "every parameter is exactly as read".to_owned(),
            Some(loss) => format!(
                "{} parameters were rounded, by at most {} (layer {}); the network is no longer exactly the same",
                loss.changed,
                significant_upper(loss.largest_change, 2),
                loss.layer
            ),
        };
        format!(
            "wrote {} ({}, {} parameters, {})\n{exactness}\nsha256 {}\n",
            self.output.display(),
            joined(&self.network.widths(), "-"),
            self.network.parameter_count(),
            self.written.precision,
            Digest::of(&self.written.network),
        )
    }

    /// The facts with the keys of `fiberscope convert --json`.
    pub fn to_json(&self) -> Value {
        let loss = self.written.loss.as_ref();
        json!({
            "input": self.input,
            "output": self.output.display().to_string(),
            "widths": self.network.widths(),
            "parameters": self.network.parameter_count(),
            "precision": self.written.precision.name(),
            "exact": loss.is_none(),
            "rounded_parameters": loss.map_or(0, |loss| loss.changed),
            "largest_change": loss.map_or(0.0, |loss| loss.largest_change),
            "sha256_read": Digest::of(self.network).to_string(),
            "sha256": Digest::of(&self.written.network).to_string(),
            "notes": self.notes,
        })
    }
}
