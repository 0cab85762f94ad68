//! The second checker: `docs/formats/check.py`, one process that answers job after job.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// What a checker says of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It proves what it says.
    Proved,
    /// It is refused or cannot be read.
    No,
    /// A limit was reached first.
    Limit,
}

/// A running `check.py --batch`.
pub struct Second {
    process: Child,
    jobs: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Second {
    /// Starts it; an error if there is no Python or no script.
    pub fn start(script: &Path) -> io::Result<Self> {
        if !script.is_file() {
            return Err(io::Error::new(io::ErrorKind::NotFound, script.display().to_string()));
        }
        let mut process = Command::new("python3")
            .arg(script)
            .arg("--batch")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let jobs = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().ok_or_else(|| io::Error::other("no output"))?);
        Ok(Second { process, jobs, answers })
    }

    /// Checks a certificate; the networks are given as JSON.
    pub fn check(&mut self, certificate: &str, a: &str, b: &str) -> io::Result<(Answer, String)> {
        let job = json!({"certificate": {"text": certificate}, "a": {"text": a}, "b": {"text": b}});
        let jobs = self.jobs.as_mut().ok_or_else(|| io::Error::other("no input"))?;
        writeln!(jobs, "{job}")?;
        jobs.flush()?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the second checker ended"));
        }
        let answer: Value = serde_json::from_str(&line)?;
        let word = match answer["answer"].as_str() {
            Some("proved") => Answer::Proved,
            Some("limit") => Answer::Limit,
            _ => Answer::No,
        };
        let reason = answer["reason"].as_str().unwrap_or_default().to_owned();
        if reason.starts_with("internal error") {
            return Err(io::Error::other(reason));
        }
        Ok((word, reason))
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        // It ends with its input; if waiting fails there is nothing to clean up.
        drop(self.jobs.take());
        let _ = self.process.wait();
    }
}
