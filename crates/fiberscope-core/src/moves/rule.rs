//! The rules that make moves valid, and their refusals.

use std::fmt;

use thiserror::Error;

/// A condition under which a move keeps the function. It displays as a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Rule {
    Exists,
    Shape,
    Places,
    Distinct,
    Permutation,
    Factors,
    NotEmptied,
    Dead,
    Proportional,
    Opposite,
    ReluLayer,
    Linear,
    SameLinearMap,
    Hides,
    TranslationBound,
    OneLiveNeuron,
    SameProduct,
    Vanishing,
    ShownDead,
    ShownLinear,
    Outweighed,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Rule::Exists => "the layer and the neurons named by a move exist",
            Rule::Shape => "lists have the length that the layer demands",
            Rule::Places => "new neurons stand at increasing places inside the resulting layer",
            Rule::Distinct => "no neuron is named twice",
            Rule::Permutation => "the order is a permutation of the layer's neurons",
            Rule::Factors => "factors are positive (not zero in a layer with identity activation)",
            Rule::NotEmptied => "a layer keeps at least one neuron",
            Rule::Dead => "the neuron is dead on the domain or has no outgoing weights",
            Rule::Proportional => "the rows are positive multiples of each other and not zero",
            Rule::Opposite => "the rows are negative multiples of each other and not zero",
            Rule::ReluLayer => "the layer has relu activation",
            Rule::Linear => "the neuron is nonnegative on the whole domain",
            Rule::SameLinearMap => "the linear neurons have the same sum before and after",
            Rule::Hides => "the next layer hides the neuron",
            Rule::TranslationBound => "the translated biases of the next layer stay nonpositive",
            Rule::OneLiveNeuron => "exactly one neuron of the next layer is not dead",
            Rule::SameProduct => "the two layers multiply out to the given one",
            Rule::ShownDead => {
                "the slopes, all between 0 and 1, show that the neuron is dead before and after"
            }
            Rule::ShownLinear => {
                "the slopes, all between 0 and 1, show that the neuron is linear before and after"
            }
            Rule::Outweighed => {
                "the shares show that what could turn the neuron on is outweighed, so that it is dead"
            }
            Rule::Vanishing => "the outgoing weights of a pair with opposite rows cancel",
        })
    }
}

/// A move that does not apply: the rule that fails, and the numbers for which it does.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{detail}; rule: {rule}")]
pub struct MoveError {
    /// The rule.
    pub rule: Rule,
    /// Where it fails. Layers and neurons count from 1.
    pub detail: String,
}

impl Rule {
    /// `Ok` if the rule holds, and otherwise the refusal with its detail.
    pub(crate) fn require(self, holds: bool, detail: impl FnOnce() -> String) -> Result<(), MoveError> {
        if holds { Ok(()) } else { Err(self.broken(detail())) }
    }

    /// The refusal of this rule.
    pub(crate) fn broken(self, detail: String) -> MoveError {
        MoveError { rule: self, detail }
    }

    /// The rule [`Rule::Shape`] for a list of this length.
    pub(crate) fn length(what: &str, expected: usize, found: usize) -> Result<(), MoveError> {
        Rule::Shape.require(expected == found, || format!("expected {expected} {what}, found {found}"))
    }
}
