//! The only place that prints.

use std::io::{self, ErrorKind, IsTerminal, Write};

use serde_json::Value;

pub use fiberscope_answer::files::{check_picture, write_picture};

/// Where results, notes and errors go.
pub struct Output {
    json: bool,
    quiet: bool,
}

impl Output {
    pub fn new(json: bool, quiet: bool) -> Self {
        Output { json, quiet }
    }

    /// Prints a result: `value` with `--json`, else `text`.
    pub fn result(&self, text: &str, value: &Value) -> io::Result<()> {
        if self.json { self.raw(format!("{value:#}\n").as_bytes()) } else { self.raw(text.as_bytes()) }
    }

    /// Prints bytes on standard output as they are.
    pub fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Shows how far long work is, on one line of a terminal.
    pub fn progress(&self, text: &str) {
        let mut out = io::stderr();
        if !self.quiet && out.is_terminal() {
            let _ = write!(out, "\r\x1b[K{text}");
            let _ = out.flush();
        }
    }

    /// Clears the line of [`Output::progress`].
    pub fn end_progress(&self) {
        self.progress("");
    }

    /// Prints a note on standard error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            // A closed standard error is no reason to stop.
            let _ = writeln!(io::stderr(), "note: {text}");
        }
    }

    /// Prints an error on standard error, with those causes that its text does not already name.
    pub fn error(&self, error: &anyhow::Error) {
        let mut text = String::new();
        for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
            if text.is_empty() {
                text = cause;
            } else if !text.ends_with(&cause) {
                text += &format!(": {cause}");
            }
        }
        let _ = writeln!(io::stderr(), "fiberscope: {text}");
    }
}

/// Whether standard output was closed by its reader, as in `fiberscope zoo list | head -1`.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &io::Error| cause.kind() == ErrorKind::BrokenPipe;
    error.downcast_ref::<io::Error>().is_some_and(broken)
}
