//! What can be wrong with a file.

use std::io;
use std::path::PathBuf;

use fiberscope_core::NetworkError;
use thiserror::Error;

/// Why the contents of a file are no network (or no data, no box) in the given format. The message
/// names the place inside the file; [`IoError`] adds the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The bytes do not follow the format.
    #[error("{0}")]
    Malformed(String),
    /// The bytes follow the format, but say something that is no feed-forward ReLU network.
    #[error("{0}")]
    Unsupported(String),
    /// The numbers do not make a network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Reading the bytes failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FormatError {
    /// A [`FormatError::Malformed`] with this message.
    pub fn malformed(message: impl Into<String>) -> Self {
        FormatError::Malformed(message.into())
    }

    /// A [`FormatError::Unsupported`] with this message.
    pub fn unsupported(message: impl Into<String>) -> Self {
        FormatError::Unsupported(message.into())
    }
}

/// Why a file could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IoError {
    /// The file's name does not end in a known extension.
    #[error("{path}: expected a file name ending in {expected}", path = .path.display())]
    UnknownExtension {
        /// The file.
        path: PathBuf,
        /// The endings that are known.
        expected: &'static str,
    },
    /// The operating system refused.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The contents are wrong.
    #[error("{path}: {source}", path = .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with them.
        source: FormatError,
    },
    /// There is no such zoo network.
    #[error("zoo:{name}: no such network; `fiberscope zoo list` names them all")]
    UnknownZooNetwork {
        /// The name that was asked for.
        name: String,
    },
}
