//! Files with layers that are known and points of boundaries: what the steps of an extraction hand to each
//! other, and what other ways of finding boundaries can write.
//!
//! ```json
//! {"format": "fiberscope-boundaries", "version": 1, "inputs": 2,
//!  "layers": [{"weight": [[1, 2]], "bias": [0.5], "oriented": false}],
//!  "neurons": [{"points": [[0, 1], [1, 0]], "normals": [[1, 1], [1, 1]]}]}
//! ```
//!
//! `layers` are the first hidden layers, in their order; `oriented` is whether the signs of their rows are
//! right. `neurons` are those of the next layer, each with points of its boundary and, if they are known, the
//! normals there.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{IoError, write_atomically};

const FORMAT: &str = "fiberscope-boundaries";
const VERSION: u32 = 1;
/// No file is larger.
const LARGEST: u64 = 1 << 30;

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundaryFile {
    format: String,
    version: u32,
    /// The number of inputs of the network.
    pub inputs: usize,
    /// The hidden layers that are known.
    #[serde(default)]
    pub layers: Vec<LayerEntry>,
    /// The neurons of the next layer.
    #[serde(default)]
    pub neurons: Vec<NeuronEntry>,
}

/// A hidden layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerEntry {
    /// One row per neuron.
    pub weight: Vec<Vec<f64>>,
    /// One number per neuron.
    pub bias: Vec<f64>,
    /// Whether the signs of the rows are right.
    pub oriented: bool,
}

/// The boundary of a neuron.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeuronEntry {
    /// Points of the boundary.
    pub points: Vec<Vec<f64>>,
    /// The normals at these points; none, or one per point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub normals: Vec<Vec<f64>>,
}

/// Why a file cannot be used.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum BoundaryFileError {
    #[error("{path}: {source}", path = .path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{path}: {reason}", path = .path.display())]
    Format { path: PathBuf, reason: String },
}

impl BoundaryFile {
    /// A file of this version.
    pub fn new(inputs: usize, layers: Vec<LayerEntry>, neurons: Vec<NeuronEntry>) -> Self {
        BoundaryFile { format: FORMAT.into(), version: VERSION, inputs, layers, neurons }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, BoundaryFileError> {
        let failed = |source| BoundaryFileError::File { path: path.to_owned(), source };
        let wrong = |reason: String| BoundaryFileError::Format { path: path.to_owned(), reason };
        let size = std::fs::metadata(path).map_err(failed)?.len();
        if size > LARGEST {
            return Err(wrong(format!("{size} bytes; expected at most {LARGEST}")));
        }
        Self::parse(&std::fs::read(path).map_err(failed)?).map_err(wrong)
    }

    /// Reads the bytes of a file; the reason if they are none.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file: BoundaryFile =
            serde_json::from_slice(bytes).map_err(|error| format!("no boundaries: {error}"))?;
        if file.format != FORMAT || file.version != VERSION {
            let (format, version) = (&file.format, file.version);
            return Err(format!(
                "expected format {FORMAT}, version {VERSION}; found {format:?}, version {version}"
            ));
        }
        if file.inputs == 0 {
            return Err("expected at least one input, found 0".into());
        }
        for (l, layer) in file.layers.iter().enumerate() {
            let expected = layer.weight.first().map_or(0, Vec::len);
            if let Some(row) = layer.weight.iter().position(|row| row.len() != expected) {
                let found = layer.weight[row].len();
                return Err(format!(
                    "layer {}, row {}: expected {expected} weights, found {found}",
                    l + 1,
                    row + 1
                ));
            }
        }
        for (n, neuron) in file.neurons.iter().enumerate() {
            let (points, normals) = (neuron.points.len(), neuron.normals.len());
            if normals != 0 && normals != points {
                return Err(format!(
                    "neuron {}: expected no normals, or {points} as there are points, found {normals}",
                    n + 1
                ));
            }
        }
        Ok(file)
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<(), IoError> {
        let text = serde_json::to_string(self).expect("numbers and lists are JSON");
        write_atomically(path, |file| file.write_all(text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_wrong_ones_are_named() {
        let good = r#"{"format": "fiberscope-boundaries", "version": 1, "inputs": 2,
            "layers": [{"weight": [[1, 2]], "bias": [0.5], "oriented": false}],
            "neurons": [{"points": [[0, 1], [1, 0]]}]}"#;
        let file = BoundaryFile::parse(good.as_bytes()).unwrap();
        assert_eq!((file.inputs, file.layers[0].bias[0], file.neurons[0].points.len()), (2, 0.5, 2));
        let check = |from: &str, to: &str, expected: &str| {
            let error = BoundaryFile::parse(good.replace(from, to).as_bytes()).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check("[[1, 2]]", "[[1, 2], [3]]", "layer 1, row 2: expected 2 weights, found 1");
        check("\"version\": 1", "\"version\": 7", "version 7");
        check("[1, 0]]", "[1, 0]], \"normals\": [[1, 1]]", "neuron 1: expected no normals, or 2");
        check("\"inputs\": 2", "\"inputs\": 0", "at least one input");
        check("0.5", "1e999", "no boundaries");
        check("neurons", "neuron", "unknown field");
        assert!(BoundaryFile::parse(&b"[".repeat(100_000)).is_err());
        assert!(BoundaryFile::parse(b"\xff").is_err());
    }
}
