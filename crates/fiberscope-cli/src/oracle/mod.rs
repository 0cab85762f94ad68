//! Oracles outside the library: child processes and HTTP endpoints.
//!
//! `docs/formats/oracle-v1.md` has the messages in words.

mod http;
mod message;
mod process;

use std::time::Duration;

use fiberscope::limit::Deadline;

pub use http::{HttpOptions, HttpOracle};
pub use message::{hello, read_request};
pub use process::ProcessOracle;

/// How long to wait for an answer.
#[derive(Clone, Debug)]
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
