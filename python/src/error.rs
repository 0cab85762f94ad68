//! Errors of the library as exceptions of `fiberscope.errors`: one class per kind of fault, the sentence
//! unchanged.

use fiberscope::align::AlignError;
use fiberscope::complex::ComplexError;
use fiberscope::difference::DifferenceError;
use fiberscope::dimension::DimensionError;
use fiberscope::equivalence::EquivalenceError;
use fiberscope::extract::ExtractError;
use fiberscope::fiber::conserve::FlowError;
use fiberscope::linear::LinearError;
use fiberscope::train::TrainError;
use fiberscope_core::{CertificateError, DomainError, InputError, NetworkError};
use fiberscope_io::queries::LogError;
use fiberscope_io::{FormatError, IoError};
use pyo3::exceptions::{PyFileNotFoundError, PyRuntimeError};
use pyo3::prelude::*;

/// Makes the exception for an error.
pub fn raise(py: Python, error: &anyhow::Error) -> PyErr {
    let class = class(error);
    let mut sentence = sentence(error);
    if class == "ModelFileError" {
        sentence = with_arguments(&sentence);
    }
    if class == "FileNotFoundError" {
        return PyFileNotFoundError::new_err(sentence);
    }
    named(py, class, &sentence)
}

/// An exception of `fiberscope.errors`.
pub fn named(py: Python, class: &str, sentence: &str) -> PyErr {
    let made = py.import("fiberscope.errors").and_then(|errors| errors.getattr(class)?.call1((sentence,)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(_) => PyRuntimeError::new_err(sentence.to_owned()),
    }
}

/// The causes from the outside in, those left out that the text names already.
fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}

/// The flags of the command that errors of files speak of, as the arguments of `load` that do the same.
fn with_arguments(sentence: &str) -> String {
    let (mut text, mut rest) = (String::new(), sentence);
    while let Some((before, behind)) = rest.split_once("(--") {
        let (flag, after) = behind.split_once(')').unwrap_or((behind, ""));
        let argument = match flag.split_once(' ') {
            Some(("output", value)) => format!("output={}", value.replace('`', "\"")),
            Some(("shape", value)) => {
                let (example, more) =
                    value.split_once(", ").map_or((value, ""), |(first, more)| (first, more));
                let (name, dims) = example.split_once('=').unwrap_or((example, ""));
                let comma = if more.is_empty() { "" } else { ", " };
                format!("shapes={{\"{name}\": ({})}}{comma}{more}", dims.replace('x', ", "))
            }
            _ if flag == "output" => "output=".to_owned(),
            _ => format!("--{flag}"),
        };
        text += &format!("{before}({argument})");
        rest = after;
    }
    text + rest
}

fn class(error: &anyhow::Error) -> &'static str {
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<IoError>() {
            return match error {
                IoError::File { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                    "FileNotFoundError"
                }
                _ => "ModelFileError",
            };
        }
        if cause.is::<FormatError>() || cause.is::<LogError>() {
            return "ModelFileError";
        }
        if let Some(error) = cause.downcast_ref::<ExtractError>() {
            return match error {
                ExtractError::Domain { .. } => "DomainError",
                ExtractError::Widths(_) => "ShapeError",
                _ => "OracleError",
            };
        }
        if let Some(error) = cause.downcast_ref::<DifferenceError>() {
            return match error {
                DifferenceError::Inputs { .. } | DifferenceError::Outputs { .. } => "ShapeError",
                DifferenceError::Domain(DomainError::Length { .. }) => "ShapeError",
                DifferenceError::Domain(_) | DifferenceError::Unbounded(_) => "DomainError",
                _ => "ArgumentError",
            };
        }
        if cause.is::<CertificateError>() {
            return "CertificateError";
        }
        if let Some(NetworkError::WeightNotFinite { .. } | NetworkError::BiasNotFinite { .. }) =
            cause.downcast_ref()
        {
            return "ArgumentError";
        }
        if let Some(DimensionError::Device(_)) = cause.downcast_ref() {
            return "DeviceError";
        }
        let shape = cause.is::<NetworkError>()
            || cause.is::<InputError>()
            || cause.is::<AlignError>()
            || matches!(
                cause.downcast_ref(),
                Some(DimensionError::Columns { .. } | DimensionError::NoPoints)
            )
            || matches!(
                cause.downcast_ref(),
                Some(EquivalenceError::Inputs { .. } | EquivalenceError::Outputs { .. })
            )
            || matches!(cause.downcast_ref(), Some(DomainError::Length { .. }));
        if shape {
            return "ShapeError";
        }
        let domain = cause.is::<DomainError>() || cause.is::<ComplexError>();
        if domain {
            return "DomainError";
        }
        if cause.is::<LinearError>() || cause.is::<TrainError>() || cause.is::<FlowError>() {
            return "ArgumentError";
        }
    }
    "ArgumentError"
}
