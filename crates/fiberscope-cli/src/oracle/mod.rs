//! Oracles outside the library: child processes, HTTP endpoints, and the log of their answers.
//!
//! `docs/formats/oracle-v1.md` has the messages and the log in words.

mod http;
mod log;
mod message;
mod process;
mod recorder;

use std::time::Duration;

use fiberscope::limit::Deadline;

pub use http::{HttpOptions, HttpOracle};
pub use log::{Log, Run};
pub use message::{hello, read_request};
pub use process::ProcessOracle;
pub use recorder::Recorder;

/// How long to wait for an answer.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For one batch.
    pub timeout: Duration,
    /// For everything.
    pub deadline: Deadline,
}

impl Patience {
    /// How long to wait for the next answer.
    fn wait(&self) -> Duration {
        self.deadline.left().map_or(self.timeout, |left| left.min(self.timeout))
    }

    /// A wait as it stands in a message.
    fn in_words(&self, wait: Duration) -> String {
        if wait < self.timeout { "the time limit".into() } else { format!("{} s", wait.as_secs_f64()) }
    }
}
