//! What a search leaves behind, so that a later one can go on from there.
//!
//! The state is the moves, the tree of boxes, the best points, and the bounds that the tree gave. Bounds are
//! computed again for every box, so that nothing rests on the file; only if a limit comes before that are those of the
//! file handed over, as what it says.

use fiberscope_core::{BoxNode, Domain, MoveChain, Network, NetworkName, Rational};
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
    /// The tree in preorder, as in certificates.
    pub(super) tree: Vec<BoxNode>,
    /// Points where the networks are far apart.
    pub(super) points: Vec<Vec<f64>>,
    /// The upper bounds of the outputs on the tree, if they were finite.
    #[serde(default)]
    pub(super) bounds: Option<Vec<Rational>>,
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
        tree: Vec<BoxNode>,
        points: Vec<Vec<f64>>,
        bounds: Option<Vec<Rational>>,
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
            bounds,
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
        let bounds = self.bounds.iter().flatten();
        match parts.iter().find(|(same, _)| !same) {
            None if self.bounds.as_ref().is_some_and(|bounds| bounds.len() != a.output_width()) => {
                Err(DifferenceError::State("it has not one bound for each output".into()))
            }
            None if bounds.into_iter().any(Rational::is_negative) => {
                Err(DifferenceError::State("a bound is negative".into()))
            }
            None => Ok(()),
            Some((_, what)) => Err(DifferenceError::State(format!(
                "it belongs to another search: the {what} is not the same"
            ))),
        }
    }
}
