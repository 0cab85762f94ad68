//! How plans, tasks and results are written: a line that says what this is, and a line of JSON.
//!
//! The first line names the format, its version, the program, the plan and the task that a file belongs to,
//! and has the digest of the second one, so that a file that was cut off, changed or laid into the wrong folder is
//! known before anything is made of it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::error::TaskError;

/// The version of the formats.
const VERSION: u64 = 1;
/// The program whose tasks these are.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Plan,
    Task,
    Result,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Plan => "fiberscope-plan",
            Format::Task => "fiberscope-task",
            Format::Result => "fiberscope-result",
        }
    }
}

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    format: String,
    version: u64,
    program: String,
    /// The kind of the question.
    pub kind: String,
    /// The digest of the plan; empty in a plan.
    pub plan: String,
    /// The name of the task; empty in a plan.
    pub task: String,
    /// The length and the digest of the second line.
    bytes: usize,
    sha256: String,
}

#[derive(Deserialize)]
struct Opening {
    format: String,
    version: u64,
}

/// SHA-256 as hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes both lines.
pub(super) fn seal(format: Format, kind: &str, plan: &str, task: &str, body: &impl Serialize) -> Vec<u8> {
    let body = serde_json::to_vec(body).expect("bodies have string keys and finite numbers");
    let head = Head {
        format: format.name().into(),
        version: VERSION,
        program: PROGRAM.into(),
        kind: kind.into(),
        plan: plan.into(),
        task: task.into(),
        bytes: body.len(),
        sha256: sha256(&body),
    };
    let mut bytes = serde_json::to_vec(&head).expect("a head has string keys");
    bytes.push(b'\n');
    bytes.extend(body);
    bytes.push(b'\n');
    bytes
}

/// Reads the first line and checks the second one against it.
pub(super) fn open(format: Format, bytes: &[u8]) -> Result<(Head, &[u8]), TaskError> {
    let wrong = |found: &str| TaskError::Format {
        expected: format!("{:?}, version {VERSION}", format.name()),
        found: found.into(),
    };
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return Err(if bytes.is_empty() {
            wrong("an empty file")
        } else {
            wrong("no line that says what it is")
        });
    };
    let opening: Opening =
        serde_json::from_slice(&bytes[..end]).map_err(|_| wrong("no line that says what it is"))?;
    if opening.format != format.name() || opening.version != VERSION {
        let name: String = opening.format.chars().take(60).collect();
        return Err(wrong(&format!("{name:?}, version {}", opening.version)));
    }
    let head: Head = serde_json::from_slice(&bytes[..end])
        .map_err(|error| TaskError::Damaged(format!("its first line: {error}")))?;
    if head.program != PROGRAM {
        let found = head.program.chars().take(60).collect();
        return Err(TaskError::Program { found, own: PROGRAM });
    }
    let body = bytes[end + 1..].strip_suffix(b"\n").unwrap_or(&bytes[end + 1..]);
    if body.len() != head.bytes {
        return Err(TaskError::Damaged(format!("expected {} bytes, found {}", head.bytes, body.len())));
    }
    if sha256(body) != head.sha256 {
        return Err(TaskError::Damaged("its digest does not fit".into()));
    }
    Ok((head, body))
}

/// Reads the second line.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, TaskError> {
    serde_json::from_slice(body).map_err(|error| TaskError::Damaged(error.to_string()))
}
