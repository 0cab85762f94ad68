//! What a search leaves behind, so that a later one can go on from there.
//!
//! The state is the moves, the tree of boxes and the best points. It holds no bounds: they are computed again
//! for every box, so that nothing rests on the file.

use fiberscope_core::{Domain, MoveChain, Network, NetworkName};
use serde::{Deserialize, Serialize};

use super::{Alignment, DifferenceError};

const FORMAT: &str = "fiberscope-difference";
const VERSION: u64 = 1;

/// The state of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    format: String,
    version: u64,
    a: NetworkName,
    b: NetworkName,
    domain: Domain,
    pub(super) alignment: Alignment,
    pub(super) moves_a: MoveChain,
    pub(super) moves_b: MoveChain,
    /// The splits in preorder.
    pub(super) tree: Vec<u32>,
    /// Points where the networks are far apart.
    pub(super) points: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

impl State {
    pub(super) fn new(
        (a, b): (&Network, &Network),
        domain: &Domain,
        alignment: Alignment,
        [moves_a, moves_b]: [MoveChain; 2],
        tree: Vec<u32>,
        points: Vec<Vec<f64>>,
    ) -> Self {
        State {
            format: FORMAT.into(),
            version: VERSION,
            a: NetworkName::of(a),
            b: NetworkName::of(b),
            domain: domain.clone(),
            alignment,
            moves_a,
            moves_b,
            tree,
            points,
        }
    }

    /// Reads a state.
    pub fn from_json(json: &[u8]) -> Result<Self, DifferenceError> {
        let wrong = |error: serde_json::Error| DifferenceError::State(error.to_string());
        let head: Head = serde_json::from_slice(json).map_err(wrong)?;
        if head.format != FORMAT || head.version != VERSION {
            let found: String = head.format.chars().take(60).collect();
            return Err(DifferenceError::State(format!(
                "expected format {FORMAT:?}, version {VERSION}, found {found:?}, version {}",
                head.version
            )));
        }
        serde_json::from_slice(json).map_err(wrong)
    }

    /// The state as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("states have string keys and finite numbers")
    }

    /// Whether the state belongs to this question.
    pub(super) fn check(&self, a: &Network, b: &Network, domain: &Domain) -> Result<(), DifferenceError> {
        let parts = [
            (self.a == NetworkName::of(a), "first network"),
            (self.b == NetworkName::of(b), "second network"),
            (self.domain == *domain, "box"),
        ];
        match parts.iter().find(|(same, _)| !same) {
            None => Ok(()),
            Some((_, what)) => Err(DifferenceError::State(format!(
                "it belongs to another search: the {what} is not the same"
            ))),
        }
    }
}
