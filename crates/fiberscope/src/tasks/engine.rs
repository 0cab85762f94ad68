//! A question with its networks, and the results of its tasks, whatever its kind.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use fiberscope_core::Network;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::Answer;
use super::envelope::{self, Format};
use super::error::TaskError;
use super::networks::StoredNetwork;
use super::question::{Known, Means, Merging, Question, Stored, Worked};
use crate::limit::Deadline;

/// A task: a piece of a question, written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name: the digest of what it is.
    pub name: String,
    /// What a worker is given.
    pub bytes: Vec<u8>,
}

/// A result that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// The name of its task.
    pub task: String,
    /// How many tasks it leaves.
    pub left: usize,
}

/// What a merge comes to.
#[must_use]
pub enum Merged {
    /// The answer.
    Answer(Box<Answer>),
    /// There is no result for these tasks. Some of them may be new: what a time slice left, or what earlier results ask for.
    Missing(Vec<Task>),
    /// Nothing is missing; the answer was not asked for.
    Known,
}

/// What a plan does, whatever its kind.
pub(super) trait Engine: Send + Sync {
    fn work(&self, plan: &str, task: &[u8], means: &Means) -> Result<Vec<u8>, TaskError>;
    fn results(self: Arc<Self>, plan: &str) -> Box<dyn Collection>;
    fn networks(&self) -> &[Network];
    fn about(&self) -> &Value;
}

/// Results, whatever their kind.
pub(super) trait Collection: Send + Sync {
    fn add(&mut self, bytes: &[u8]) -> Result<Added, TaskError>;
    fn merge(&self, wanted: bool, deadline: &Deadline) -> Result<Merged, TaskError>;
    fn len(&self) -> usize;
}

/// A question of one kind.
pub(super) struct Typed<Q: Question> {
    question: Q,
    networks: Vec<Network>,
    pieces: usize,
    begun: Worked<Q>,
    about: Value,
}

/// The body of a plan.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
struct Body<Q: Question> {
    question: Q,
    pieces: usize,
    begun: Worked<Q>,
    about: Value,
    networks: Vec<StoredNetwork>,
}

/// Writes a plan: the whole is cut into about so many pieces.
pub(super) fn write<Q: Question>(
    question: Q,
    networks: &[&Network],
    pieces: usize,
    about: Value,
    deadline: &Deadline,
) -> Result<Vec<u8>, TaskError> {
    let stored = networks.iter().map(|network| StoredNetwork::new(network)).collect::<Result<Vec<_>, _>>()?;
    let networks: Vec<Network> = networks.iter().map(|&network| network.clone()).collect();
    let pieces = pieces.clamp(1, MOST_PIECES);
    let whole = question.whole(&networks, pieces)?;
    let begun = question.work(&networks, &whole, &Means::until(deadline))?;
    let body = Body { question, pieces, begun, about, networks: stored };
    Ok(envelope::seal(Format::Plan, Q::KIND, "", "", &body))
}

/// The most pieces that a plan begins with.
const MOST_PIECES: usize = 1 << 16;

/// Reads the body of a plan.
pub(super) fn read<Q: Question<Answer: Into<Answer>> + 'static>(
    body: &[u8],
) -> Result<Arc<dyn Engine>, TaskError> {
    let Body { question, pieces, begun, about, networks } = envelope::read::<Body<Q>>(body)?;
    let networks = networks.into_iter().map(StoredNetwork::restore).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Typed { question, networks, pieces, begun, about }))
}

/// The name of a piece in a plan.
fn name<Q: Question>(plan: &str, piece: &Q::Piece) -> String {
    let mut bytes = plan.as_bytes().to_vec();
    bytes.extend(serde_json::to_vec(piece).expect("pieces have string keys and finite numbers"));
    envelope::sha256(&bytes)
}

impl<Q: Question<Answer: Into<Answer>> + 'static> Engine for Typed<Q> {
    fn work(&self, plan: &str, task: &[u8], means: &Means) -> Result<Vec<u8>, TaskError> {
        let (head, body) = envelope::open(Format::Task, task)?;
        belongs(plan, &head.plan)?;
        let piece: Q::Piece = envelope::read(body)?;
        let own = name::<Q>(plan, &piece);
        if own != head.task {
            return Err(TaskError::Damaged("its name is not that of its piece".into()));
        }
        let worked = self.question.work(&self.networks, &piece, means)?;
        Ok(envelope::seal(Format::Result, Q::KIND, plan, &own, &worked))
    }

    fn results(self: Arc<Self>, plan: &str) -> Box<dyn Collection> {
        let named = |piece: &Q::Piece| name::<Q>(plan, piece);
        let names = self.begun.left.iter().map(named).collect();
        let begun = Stored { worked: self.begun.clone(), names };
        Box::new(TypedResults { typed: self, plan: plan.into(), begun, results: BTreeMap::new() })
    }

    fn networks(&self) -> &[Network] {
        &self.networks
    }

    fn about(&self) -> &Value {
        &self.about
    }
}

struct TypedResults<Q: Question> {
    typed: Arc<Typed<Q>>,
    plan: String,
    begun: Stored<Q>,
    results: BTreeMap<String, Stored<Q>>,
}

impl<Q: Question<Answer: Into<Answer>> + 'static> Collection for TypedResults<Q> {
    fn add(&mut self, bytes: &[u8]) -> Result<Added, TaskError> {
        let (head, body) = envelope::open(Format::Result, bytes)?;
        belongs(&self.plan, &head.plan)?;
        let worked: Worked<Q> = envelope::read(body)?;
        let names: Vec<String> = worked.left.iter().map(|piece| name::<Q>(&self.plan, piece)).collect();
        if names.contains(&head.task) {
            return Err(TaskError::Damaged("it leaves its own task to be done".into()));
        }
        let added = Added { task: head.task.clone(), left: names.len() };
        match self.results.entry(head.task) {
            Entry::Vacant(entry) => {
                entry.insert(Stored { worked, names });
            }
            // A task that was done twice may have been sliced twice. Either result is right; which one counts must not depend on their order.
            Entry::Occupied(mut entry) => {
                let rank = |names: &[String]| (names.len(), names.to_vec());
                if rank(&names) < rank(&entry.get().names) {
                    entry.insert(Stored { worked, names });
                }
            }
        }
        Ok(added)
    }

    fn merge(&self, wanted: bool, deadline: &Deadline) -> Result<Merged, TaskError> {
        let Typed { question, networks, pieces, .. } = &*self.typed;
        let named = |piece: &Q::Piece| name::<Q>(&self.plan, piece);
        let known =
            Known { begun: &self.begun, pieces: *pieces, wanted, name: &named, results: &self.results };
        Ok(match question.merge(networks, &known, deadline)? {
            Merging::Answer(answer) => Merged::Answer(Box::new((*answer).into())),
            Merging::Known => Merged::Known,
            Merging::Missing(pieces) => {
                let task = |piece: &Q::Piece| {
                    let name = named(piece);
                    let bytes = envelope::seal(Format::Task, Q::KIND, &self.plan, &name, piece);
                    Task { name, bytes }
                };
                Merged::Missing(pieces.iter().map(task).collect())
            }
        })
    }

    fn len(&self) -> usize {
        self.results.len()
    }
}

fn belongs(plan: &str, found: &str) -> Result<(), TaskError> {
    match plan == found {
        true => Ok(()),
        false => Err(TaskError::OtherPlan { found: found.chars().take(64).collect(), own: plan.into() }),
    }
}
