//! A question that is cut into pieces.

use std::collections::BTreeMap;

use fiberscope_core::Network;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::TaskError;
use crate::limit::Deadline;

/// A question whose pieces are answered apart.
///
/// What is made of a piece depends on the piece, the question and the networks alone, but for where a time slice ends; and
/// whatever a slice leaves is pieces again. [`Question::merge`] is a function of what became of the pieces, so that neither
/// their order nor their number matters.
pub(super) trait Question: Serialize + DeserializeOwned + Send + Sync {
    /// The name of the kind in files.
    const KIND: &'static str;
    /// A piece of the question.
    type Piece: Clone + Serialize + DeserializeOwned + Send + Sync;
    /// What became of a piece.
    type Part: Clone + Serialize + DeserializeOwned + Send + Sync;
    /// The answer to the whole.
    type Answer;

    /// The whole question as a piece, to be cut into about so many.
    fn whole(&self, networks: &[Network], pieces: usize) -> Result<Self::Piece, TaskError>;

    /// Works on a piece until the deadline; something is finished in any case.
    fn work(
        &self,
        networks: &[Network],
        piece: &Self::Piece,
        means: &Means,
    ) -> Result<Worked<Self>, TaskError>;

    /// The answer, or the pieces that are missing.
    fn merge(
        &self,
        networks: &[Network],
        known: &Known<'_, Self>,
        deadline: &Deadline,
    ) -> Result<Merging<Self>, TaskError>;
}

/// What a worker works with. What becomes of a piece does not depend on the device.
pub(super) struct Means {
    pub deadline: Deadline,
    /// Where eliminations run.
    #[cfg(feature = "dense")]
    pub device: crate::dimension::Device,
}

impl Means {
    /// The processor, until the deadline.
    pub fn until(deadline: &Deadline) -> Self {
        Means {
            deadline: deadline.clone(),
            #[cfg(feature = "dense")]
            device: crate::dimension::Device::cpu(),
        }
    }
}

/// What became of a piece, and what is left of it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
pub(super) struct Worked<Q: Question> {
    pub part: Q::Part,
    pub left: Vec<Q::Piece>,
}

impl<Q: Question> Clone for Worked<Q> {
    fn clone(&self) -> Self {
        Worked { part: self.part.clone(), left: self.left.clone() }
    }
}

/// What a merge comes to.
pub(super) enum Merging<Q: Question> {
    Answer(Box<Q::Answer>),
    Missing(Vec<Q::Piece>),
    /// Nothing is missing, and the answer is not wanted.
    Known,
}

/// What became of a piece, with the names of the tasks that it left.
pub(super) struct Stored<Q: Question> {
    pub worked: Worked<Q>,
    pub names: Vec<String>,
}

/// What became of pieces, by the names of their tasks.
pub(super) struct Known<'p, Q: Question> {
    /// What the plan has made of the whole.
    pub begun: &'p Stored<Q>,
    /// About how many pieces were wanted.
    pub pieces: usize,
    /// Whether the answer is wanted, if nothing is missing.
    pub wanted: bool,
    /// The names of tasks.
    pub name: &'p (dyn Fn(&Q::Piece) -> String + Sync),
    pub results: &'p BTreeMap<String, Stored<Q>>,
}

/// What became of a piece and of all that it left.
pub(super) struct Gathered<'k, Q: Question> {
    /// The parts; what a part left comes behind it.
    pub parts: Vec<(&'k Q::Part, Vec<usize>)>,
    /// The pieces without a result.
    pub missing: Vec<Q::Piece>,
}

impl<'p, Q: Question> Known<'p, Q> {
    /// What became of the whole.
    pub fn gather_all(&self) -> Result<Gathered<'p, Q>, TaskError> {
        self.gather(self.begun)
    }

    /// What became of a piece that is not what a slice left.
    pub fn gather_of(&self, piece: &Q::Piece) -> Result<Gathered<'p, Q>, TaskError> {
        match self.results.get(&(self.name)(piece)) {
            Some(stored) => self.gather(stored),
            None => Ok(Gathered { parts: Vec::new(), missing: vec![piece.clone()] }),
        }
    }

    fn gather(&self, start: &'p Stored<Q>) -> Result<Gathered<'p, Q>, TaskError> {
        let mut found = Gathered { parts: Vec::new(), missing: Vec::new() };
        // Results, each with the number of the part that left it.
        let mut stack = vec![(start, usize::MAX)];
        while let Some((Stored { worked, names }, above)) = stack.pop() {
            let number = found.parts.len();
            if number > self.results.len() {
                return Err(TaskError::Damaged("a result leaves itself to be done".into()));
            }
            found.parts.push((&worked.part, Vec::new()));
            if let Some((_, left)) = found.parts.get_mut(above) {
                left.push(number);
            }
            let mut below = Vec::new();
            for (piece, name) in worked.left.iter().zip(names) {
                match self.results.get(name) {
                    Some(stored) => below.push((stored, number)),
                    None => found.missing.push(piece.clone()),
                }
            }
            stack.extend(below.into_iter().rev());
        }
        Ok(found)
    }
}

impl<Q: Question> Gathered<'_, Q> {
    /// Puts the parts together from below: `join` makes one of a part and of what was made of the pieces that it left.
    pub fn fold<T>(
        self,
        mut join: impl FnMut(&Q::Part, Vec<T>) -> Result<T, TaskError>,
    ) -> Result<T, TaskError> {
        let mut made: Vec<Option<T>> = Vec::new();
        made.resize_with(self.parts.len(), || None);
        for (number, (part, left)) in self.parts.iter().enumerate().rev() {
            let below = left.iter().filter_map(|&below| made[below].take()).collect();
            made[number] = Some(join(part, below)?);
        }
        let whole = made.into_iter().next().flatten();
        whole.ok_or_else(|| TaskError::Damaged("there is no part".into()))
    }
}
