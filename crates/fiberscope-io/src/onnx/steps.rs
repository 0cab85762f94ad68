//! Nodes that switch, between the layers that they need.

use fiberscope_core::Rational;

use super::choice::Bend;
use super::labels;
use super::layers::Value;
use super::lowering::Site;

/// What is still to be done for a node after its ReLUs.
pub(super) enum Rest<'a> {
    /// The ReLUs are the result.
    Nothing,
    /// `first half - slope * second half`.
    Difference { slopes: Vec<Rational>, constants: Vec<Rational> },
    /// `up * first half - down * second half + constant`.
    Slopes(Bend),
    /// `constant + entry`, or `constant - entry`.
    Offset { negated: bool, constants: Vec<Rational> },
    /// Another round of a search for largest entries.
    Maxima(Box<Maxima<'a>>),
}

/// Groups of entries whose largest are wanted.
pub(super) struct Maxima<'a> {
    pub groups: Vec<Vec<usize>>,
    /// For every pair of the round, the entry to which the ReLU is added; then those that had no partner.
    pub kept: Value<'a>,
    pub pairs: usize,
    /// The smallest are wanted: all signs were changed.
    pub negated: bool,
}

/// A node at work.
pub(super) struct Task<'a> {
    pub site: Site<'a>,
    pub dims: Vec<usize>,
    pub relus: Value<'a>,
    pub rest: Rest<'a>,
}

/// A node that is finished, or needs another layer.
#[expect(clippy::large_enum_variant, reason = "one at a time")]
pub(super) enum Next<'a> {
    Done(Site<'a>, Value<'a>),
    Again(Box<Task<'a>>),
}

/// A node that waits for the ReLUs of some rows.
pub(super) fn again<'a>(site: Site<'a>, dims: Vec<usize>, mut relus: Value<'a>, rest: Rest<'a>) -> Next<'a> {
    if !matches!(rest, Rest::Nothing) {
        // The ReLUs are parts of the operator, not the value that it acts on.
        relus.label = labels::inside(relus.label.as_deref(), site.node.operator);
    }
    Next::Again(Box::new(Task { site, dims, relus, rest }))
}
