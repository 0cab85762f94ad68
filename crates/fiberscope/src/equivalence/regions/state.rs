//! What an interrupted search leaves behind, so that a later one can go on from there.
//!
//! The state is the tree in preorder with finished stretches and open nodes; an open node is the list of
//! the decisions on its path. It names the networks and the domain that it belongs to.

use fiberscope_core::{CoverNode, Digest, Domain, ExactNetwork, Operand};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::node::{Kind, Node, Step};
use super::problem::{Problem, Unit};

const FORMAT: &str = "fiberscope-search";
const VERSION: u64 = 1;

/// Why a search cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum SearchError {
    #[error(
        "the networks have {a_inputs} and {b_inputs} inputs, {a_outputs} and {b_outputs} outputs; they must agree"
    )]
    Shapes { a_inputs: usize, b_inputs: usize, a_outputs: usize, b_outputs: usize },
    #[error(transparent)]
    Domain(#[from] fiberscope_core::DomainError),
    #[error(
        "expected the state of a search (\"format\": {FORMAT:?}, version {VERSION}), found format {0:?}, version {1}"
    )]
    Format(String, u64),
    #[error("the state belongs to another search: the {0} is not the same")]
    OtherSearch(&'static str),
    #[error("the state names a path that the networks do not have (open node {0})")]
    Path(usize),
    #[error("the parts of a search do not fit together")]
    Parts,
    #[error("not the state of a search: {0}")]
    Json(#[from] serde_json::Error),
}

/// The state of a search that was stopped by a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchState {
    format: String,
    version: u64,
    /// The networks that the question was about, before they were reduced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<Box<[Digest; 2]>>,
    a: Digest,
    b: Digest,
    domain: Domain,
    /// For readers of the file; [`SearchState::leaves`] counts.
    leaves: u64,
    items: Vec<StateItem>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum StateItem {
    /// Nodes of the tree.
    Finished(Vec<CoverNode>),
    /// A node to be searched: network, layer, neuron (from 1), on, kind.
    Open(Vec<(Operand, usize, usize, bool, StepKind)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StepKind {
    Split,
    Implied,
    Constant,
}

/// A stretch of the tree in preorder.
pub enum Stretch {
    /// Finished nodes.
    Finished(Vec<CoverNode>),
    /// A subtree to be searched.
    Open(Box<Node>),
}

#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

impl SearchState {
    /// Reads a state.
    pub fn from_json(json: &[u8]) -> Result<Self, SearchError> {
        let head: Head = serde_json::from_slice(json)?;
        if head.format != FORMAT || head.version != VERSION {
            return Err(SearchError::Format(head.format.chars().take(60).collect(), head.version));
        }
        Ok(serde_json::from_slice(json)?)
    }

    /// The state as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("states have string keys and finite numbers")
    }

    /// How many leaves of the tree are finished, counted in the tree.
    pub fn leaves(&self) -> u64 {
        let count = |item: &StateItem| match item {
            StateItem::Finished(nodes) => {
                nodes.iter().filter(|node| matches!(node, CoverNode::Same | CoverNode::Equal)).count()
            }
            StateItem::Open(_) => 0,
        };
        self.items.iter().map(count).sum::<usize>() as u64
    }

    /// Names the networks that the question is about; the search itself is on reduced ones.
    pub(in crate::equivalence) fn named(mut self, a: Digest, b: Digest) -> Self {
        self.given = Some(Box::new([a, b]));
        self
    }

    /// Whether the state may belong to a question about these networks and this domain, before anything is
    /// computed.
    pub(in crate::equivalence) fn may_belong_to(
        &self,
        a: &Digest,
        b: &Digest,
        domain: &Domain,
    ) -> Result<(), SearchError> {
        let Some(given) = &self.given else { return Ok(()) };
        the_same([
            (given[0] == *a, "first network"),
            (given[1] == *b, "second network"),
            (self.domain == *domain, "domain"),
        ])
    }

    /// Whether the state belongs to a search on these (reduced) networks and this domain.
    pub fn belongs_to(&self, a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> Result<(), SearchError> {
        the_same([
            (self.a == Digest::of_exact(a), "first network"),
            (self.b == Digest::of_exact(b), "second network"),
            (self.domain == *domain, "domain"),
        ])
    }

    /// The state of a search that stopped with these stretches.
    pub(super) fn new(
        question: (&ExactNetwork, &ExactNetwork, &Domain),
        problem: &Problem,
        stretches: Vec<Stretch>,
    ) -> Self {
        let mut items: Vec<StateItem> = Vec::new();
        for stretch in stretches {
            match (stretch, items.last_mut()) {
                (Stretch::Finished(nodes), Some(StateItem::Finished(before))) => before.extend(nodes),
                (Stretch::Finished(nodes), _) => items.push(StateItem::Finished(nodes)),
                (Stretch::Open(node), _) => items
                    .push(StateItem::Open(node.path().iter().map(|step| written(problem, step)).collect())),
            }
        }
        Self::of(question, items)
    }

    /// The state of a search that has not begun.
    pub(crate) fn whole(question: (&ExactNetwork, &ExactNetwork, &Domain)) -> Self {
        Self::of(question, vec![StateItem::Open(Vec::new())])
    }

    /// The open nodes as at most so many states that have nothing else.
    pub(crate) fn pieces(&self, most: usize) -> Vec<SearchState> {
        let open: Vec<&StateItem> =
            self.items.iter().filter(|item| matches!(item, StateItem::Open(_))).collect();
        let chunks = open.chunks(open.len().div_ceil(most.max(1)).max(1));
        let piece = |items: &[&StateItem]| SearchState {
            leaves: 0,
            items: items.iter().map(|&item| item.clone()).collect(),
            ..self.bare()
        };
        chunks.map(piece).collect()
    }

    /// The same question without a tree.
    fn bare(&self) -> SearchState {
        let SearchState { format, version, given, a, b, domain, .. } = self;
        SearchState {
            format: format.clone(),
            version: *version,
            given: given.clone(),
            a: *a,
            b: *b,
            domain: domain.clone(),
            leaves: 0,
            items: Vec::new(),
        }
    }

    /// The state with what became of its pieces, each finished, in the place of its open nodes. Where the nodes of one
    /// piece end and those of the next one begin follows from the nodes themselves.
    pub(crate) fn with(self, pieces: Vec<SearchState>) -> Result<SearchState, SearchError> {
        let mut nodes: std::collections::VecDeque<CoverNode> = Default::default();
        for piece in pieces {
            if piece.a != self.a || piece.b != self.b || piece.domain != self.domain {
                return Err(SearchError::OtherSearch("network or the domain of a part"));
            }
            for item in piece.items {
                match item {
                    StateItem::Finished(finished) => nodes.extend(finished),
                    StateItem::Open(_) => return Err(SearchError::Parts),
                }
            }
        }
        let mut whole = self.bare();
        let mut tree = Vec::new();
        for item in self.items {
            match item {
                StateItem::Finished(finished) => tree.extend(finished),
                StateItem::Open(_) => {
                    // One subtree: a split has two parts.
                    let mut wanted = 1usize;
                    while wanted > 0 {
                        let node = nodes.pop_front().ok_or(SearchError::Parts)?;
                        wanted = if matches!(node, CoverNode::Split(..)) { wanted + 1 } else { wanted - 1 };
                        tree.push(node);
                    }
                }
            }
        }
        if !nodes.is_empty() {
            return Err(SearchError::Parts);
        }
        whole.items = vec![StateItem::Finished(tree)];
        whole.leaves = whole.leaves();
        Ok(whole)
    }

    /// The state of a search that is finished; what is left is to check its tree.
    pub(crate) fn finished(question: (&ExactNetwork, &ExactNetwork, &Domain), tree: Vec<CoverNode>) -> Self {
        Self::of(question, vec![StateItem::Finished(tree)])
    }

    fn of((a, b, domain): (&ExactNetwork, &ExactNetwork, &Domain), items: Vec<StateItem>) -> Self {
        let state = SearchState {
            format: FORMAT.into(),
            version: VERSION,
            given: None,
            a: Digest::of_exact(a),
            b: Digest::of_exact(b),
            domain: domain.clone(),
            leaves: 0,
            items,
        };
        SearchState { leaves: state.leaves(), ..state }
    }

    /// The stretches of the tree, if the state belongs to these networks and this domain.
    pub(super) fn restore(
        self,
        (a, b, domain): (&ExactNetwork, &ExactNetwork, &Domain),
        problem: &Problem,
    ) -> Result<Vec<Stretch>, SearchError> {
        self.belongs_to(a, b, domain)?;
        let mut opened = 0;
        let restore = |item: StateItem| match item {
            StateItem::Finished(nodes) => Ok(Stretch::Finished(nodes)),
            StateItem::Open(path) => {
                opened += 1;
                let steps: Option<Vec<Step>> = path.iter().map(|step| read(problem, step)).collect();
                let node = steps.and_then(|steps| Node::replay(problem, &steps));
                node.map(|node| Stretch::Open(Box::new(node))).ok_or(SearchError::Path(opened))
            }
        };
        self.items.into_iter().map(restore).collect()
    }
}

fn the_same(parts: [(bool, &'static str); 3]) -> Result<(), SearchError> {
    match parts.into_iter().find(|(same, _)| !same) {
        Some((_, what)) => Err(SearchError::OtherSearch(what)),
        None => Ok(()),
    }
}

fn written(problem: &Problem, step: &Step) -> (Operand, usize, usize, bool, StepKind) {
    let (operand, layer) = problem.name(step.unit);
    let kind = match step.kind {
        Kind::Split => StepKind::Split,
        Kind::Implied => StepKind::Implied,
        Kind::Constant => StepKind::Constant,
    };
    (operand, layer + 1, step.unit.unit + 1, step.on, kind)
}

fn read(problem: &Problem, written: &(Operand, usize, usize, bool, StepKind)) -> Option<Step> {
    let &(operand, layer, unit, on, kind) = written;
    let network = match operand {
        Operand::A => 0,
        Operand::B => 1,
    };
    let (layer, unit) = (problem.layer_of(network, layer.checked_sub(1)?)?, unit.checked_sub(1)?);
    if unit >= problem.networks[network].layers[layer].width() {
        return None;
    }
    let kind = match kind {
        StepKind::Split => Kind::Split,
        StepKind::Implied => Kind::Implied,
        StepKind::Constant => Kind::Constant,
    };
    Some(Step { unit: Unit { network, layer, unit }, on, kind })
}
