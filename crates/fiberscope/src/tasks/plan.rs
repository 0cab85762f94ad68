//! Plans and the results of their tasks.

use std::sync::Arc;

use fiberscope_core::Network;
use serde_json::Value;

use super::engine::{self, Added, Collection, Engine, Merged};
use super::envelope::{self, Format};
use super::error::TaskError;
use super::kinds::KINDS;
use super::question::{Means, Question};
#[cfg(feature = "dense")]
use crate::dimension::Device;
use crate::limit::Deadline;

/// A question with its networks, cut into tasks.
pub struct Plan {
    bytes: Vec<u8>,
    digest: String,
    kind: String,
    engine: Arc<dyn Engine>,
}

impl Plan {
    /// The plan for a question about networks, with at least `tasks` tasks at the beginning if the question can be cut so.
    #[allow(private_bounds, reason = "the kinds of questions are those of this module")]
    pub fn new<Q: Question>(
        question: Q,
        networks: &[&Network],
        tasks: usize,
        deadline: &Deadline,
    ) -> Result<Self, TaskError> {
        Plan::about(question, networks, tasks, Value::Null, deadline)
    }

    /// The same with a note that the plan carries and nothing here reads.
    #[allow(private_bounds, reason = "the kinds of questions are those of this module")]
    pub fn about<Q: Question>(
        question: Q,
        networks: &[&Network],
        tasks: usize,
        about: Value,
        deadline: &Deadline,
    ) -> Result<Self, TaskError> {
        Plan::from_bytes(engine::write(question, networks, tasks, about, deadline)?)
    }

    /// Reads a plan.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, TaskError> {
        let (head, body) = envelope::open(Format::Plan, &bytes)?;
        let Some((_, read)) = KINDS.iter().find(|(kind, _)| *kind == head.kind) else {
            let names: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
            let found = head.kind.chars().take(60).collect();
            return Err(TaskError::Format {
                expected: format!("a plan of kind {}", names.join(", ")),
                found,
            });
        };
        let engine = read(body)?;
        let digest = envelope::sha256(&bytes);
        Ok(Plan { digest, kind: head.kind, engine, bytes })
    }

    /// What [`Plan::from_bytes`] reads.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The name of the plan: the digest of its bytes.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The kind of the question.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The networks.
    pub fn networks(&self) -> &[Network] {
        self.engine.networks()
    }

    /// The note that the plan carries.
    pub fn note(&self) -> &Value {
        self.engine.about()
    }

    /// Does a task until the deadline, and hands over its result. Something is finished in any case, unless the work is
    /// stopped by its switch or for memory, which is an error.
    pub fn work(&self, task: &[u8], deadline: &Deadline) -> Result<Vec<u8>, TaskError> {
        self.engine.work(&self.digest, task, &Means::until(deadline))
    }

    /// The same, eliminations modulo primes on a device. Results are the same bytes wherever they were computed; see
    /// [`Plan::eliminates`].
    #[cfg(feature = "dense")]
    pub fn work_on(&self, device: &Device, task: &[u8], deadline: &Deadline) -> Result<Vec<u8>, TaskError> {
        let means = Means { deadline: deadline.clone(), device: device.clone() };
        self.engine.work(&self.digest, task, &means)
    }

    /// Whether its tasks are eliminations that a device other than the processor may do.
    #[cfg(feature = "dense")]
    pub fn eliminates(&self) -> bool {
        self.kind == <super::kinds::DimensionQuestion as Question>::KIND
    }
}

/// Results of the tasks of a plan.
pub struct Results {
    collection: Box<dyn Collection>,
}

impl Results {
    /// None so far.
    pub fn new(plan: &Plan) -> Self {
        Results { collection: Arc::clone(&plan.engine).results(&plan.digest) }
    }

    /// Adds a result. What is no result of this plan is refused.
    pub fn add(&mut self, result: &[u8]) -> Result<Added, TaskError> {
        self.collection.add(result)
    }

    /// Adds the result of the task of that name.
    pub fn add_named(&mut self, task: &str, result: &[u8]) -> Result<(), TaskError> {
        let found = envelope::open(Format::Result, result)?.0.task;
        if found != task {
            let (found, expected) = (found.chars().take(64).collect(), task.chars().take(64).collect());
            return Err(TaskError::OtherTask { found, expected });
        }
        self.add(result).map(drop)
    }

    /// The tasks that are missing, or that the answer is known: without what an answer takes beyond adding up.
    pub fn missing(&self) -> Result<Merged, TaskError> {
        self.collection.merge(false, &Deadline::NEVER)
    }

    /// The answer, or the tasks that are missing. The deadline is for what an answer takes beyond adding up: the check of
    /// a certificate.
    pub fn merge(&self, deadline: &Deadline) -> Result<Merged, TaskError> {
        self.collection.merge(true, deadline)
    }

    /// The number of tasks with a result.
    pub fn len(&self) -> usize {
        self.collection.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
