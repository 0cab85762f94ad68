//! Moves: rewritings of a network that keep its function.
//!
//! Each move has a side condition (its rule) that is checked exactly on the numbers, so that a chain
//! of moves from `A` to `B` proves `f_A = f_B` on the domain without any assumption of genericity. The
//! table of moves, with rules and results, is in `docs/formats/certificate-v1.md`; the symmetries
//! behind them are those of [rolnick2020reverse, Theorem 1] (permutation and scaling) and
//! [threelayer2026, Sections 4 and 5] (linear neurons, re-orientation, hidden hyperplanes).
//!
//! A move acts on hidden layer `l`: on the rows `(w_j, b_j)` of `(W_l, b_l)` and on the columns `v_j` of
//! `W_{l+1}`, the neurons' outgoing weights.

mod chain;
mod fold;
mod hidden;
mod linear;
mod mute;
mod proportional;
mod relabel;
mod rule;
mod shift;
mod surgery;
mod unused;

pub use chain::{ChainError, MoveChain};
pub use mute::{Balance, Counterweight, Mute, Share};
pub use rule::{MoveError, Rule};
pub use shift::{BiasShift, ShownRole};

use serde::{Deserialize, Serialize};

use crate::serde_forms::{from_one, list_from_one, pairs_from_one};
use crate::strict::read_strictly;
use crate::{Activation, Domain, ExactNetwork, Network, Rational};

/// A neuron to be put into a layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PlacedNeuron {
    /// Its place in the resulting layer.
    #[serde(with = "from_one")]
    pub unit: usize,
    /// Its incoming weights.
    pub weight: Vec<Rational>,
    /// Its bias.
    pub bias: Rational,
    /// Its outgoing weights, a column of the next layer's weight.
    pub out: Vec<Rational>,
}

/// A positive multiple of a neuron, to be put beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct NeuronCopy {
    /// The neuron to copy, counted in the resulting layer.
    #[serde(with = "from_one")]
    pub of: usize,
    /// The copy's place in the resulting layer.
    #[serde(with = "from_one")]
    pub unit: usize,
    /// The positive factor of the incoming weights and the bias.
    pub factor: Rational,
    /// The copy's outgoing weights.
    pub out: Vec<Rational>,
}

/// Linear neurons replaced by other linear neurons with the same sum (up to a constant).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct LinearChange {
    /// The linear neurons that go, counted before the move.
    #[serde(with = "list_from_one")]
    pub remove: Vec<usize>,
    /// The linear neurons that come, with places counted after the move.
    pub insert: Vec<PlacedNeuron>,
}

/// A rewriting of hidden layer `layer` (counted from 0) that keeps the network's function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "move", rename_all = "lowercase", deny_unknown_fields, remote = "Self")]
#[non_exhaustive]
pub enum Move {
    /// New neuron `i` is old neuron `order[i]`.
    Permute {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// A permutation of the layer's neurons.
        #[serde(with = "list_from_one")]
        order: Vec<usize>,
    },
    /// Row `j` times `factors[j]`, column `j` divided by it.
    Scale {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// One positive factor per neuron.
        factors: Vec<Rational>,
    },
    /// Removes neurons that are dead on the domain or have no outgoing weights.
    Drop {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// The neurons that go.
        #[serde(with = "list_from_one")]
        units: Vec<usize>,
    },
    /// Puts in neurons that are dead on the domain or have no outgoing weights.
    Insert {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// The neurons that come.
        neurons: Vec<PlacedNeuron>,
    },
    /// Merges neurons that are positive multiples of others.
    Merge {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// Pairs (neuron that stays, neuron that goes).
        #[serde(with = "pairs_from_one")]
        pairs: Vec<(usize, usize)>,
    },
    /// Splits neurons: puts positive multiples beside them and lowers their outgoing weights.
    Split {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// The multiples that come.
        copies: Vec<NeuronCopy>,
    },
    /// Removes one of two neurons that are negative multiples of each other, by
    /// `relu(-z) = relu(z) - z`.
    Cancel {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// The neuron that stays.
        #[serde(with = "from_one")]
        keep: usize,
        /// The neuron that goes.
        #[serde(with = "from_one")]
        drop: usize,
        /// The linear neurons that take up the affine term.
        linear: LinearChange,
    },
    /// Replaces linear neurons by others with the same sum.
    Refactor {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// The replacement.
        linear: LinearChange,
    },
    /// Changes the sign of neurons, by `relu(z) = z + relu(-z)`.
    Reorient {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// The neurons whose rows change sign.
        #[serde(with = "list_from_one")]
        units: Vec<usize>,
        /// The linear neurons that take up the affine term.
        linear: LinearChange,
    },
    /// Translates a hyperplane that the next layer hides.
    Translate {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// The hidden neuron.
        #[serde(with = "from_one")]
        unit: usize,
        /// What is added to its bias.
        amount: Rational,
    },
    /// Flips neurons across a hyperplane that the next layer's only live neuron hides.
    Flip {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// The hidden neuron.
        #[serde(with = "from_one")]
        unit: usize,
        /// The other neurons whose rows change sign.
        #[serde(with = "list_from_one")]
        flips: Vec<usize>,
    },
    /// Changes biases of neurons that a linear programme shows to be dead or linear.
    Shift {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// The changes, each with its proof.
        shifts: Vec<BiasShift>,
    },
    /// Changes the outgoing weights of neurons that are dead because what could turn them on is outweighed.
    Mute {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// The neurons, each with its proof.
        neurons: Vec<Mute>,
    },
    /// Multiplies a layer of linear neurons and vanishing pairs into the next layer.
    Fold {
        /// The hidden layer.
        #[serde(with = "from_one")]
        layer: usize,
        /// Pairs of neurons with opposite rows and opposite outgoing weights,
        /// `v relu(z) - v relu(-z) = v z`; the others are linear.
        #[serde(with = "pairs_from_one", default, skip_serializing_if = "Vec::is_empty")]
        pairs: Vec<(usize, usize)>,
    },
    /// Factors a layer (the last one too) into two, the first of linear neurons and vanishing pairs.
    Unfold {
        /// The layer that is replaced by two.
        #[serde(with = "from_one")]
        layer: usize,
        /// The weight of the new hidden layer, row by row.
        weight: Vec<Vec<Rational>>,
        /// Its bias.
        bias: Vec<Rational>,
        /// Its activation.
        #[serde(with = "activation_name")]
        activation: Activation,
        /// The weight of the layer behind it, row by row.
        next_weight: Vec<Vec<Rational>>,
        /// Its bias.
        next_bias: Vec<Rational>,
        /// The vanishing pairs of the new hidden layer, as for [`Move::Fold`].
        #[serde(with = "pairs_from_one", default, skip_serializing_if = "Vec::is_empty")]
        pairs: Vec<(usize, usize)>,
    },
}

read_strictly!(PlacedNeuron, NeuronCopy, LinearChange, Move);

impl Move {
    /// Rewrites the network if the move's rule holds on the domain; otherwise leaves it as it is and
    /// says which rule fails.
    pub fn apply(&self, network: &mut ExactNetwork, domain: &Domain) -> Result<(), MoveError> {
        self.check_layer(network)?;
        match self {
            Move::Permute { layer, order } => relabel::permute(network, *layer, order),
            Move::Scale { layer, factors } => relabel::scale(network, *layer, factors),
            Move::Drop { layer, units } => unused::drop(network, domain, *layer, units),
            Move::Insert { layer, neurons } => unused::insert(network, domain, *layer, neurons),
            Move::Merge { layer, pairs } => proportional::merge(network, *layer, pairs),
            Move::Split { layer, copies } => proportional::split(network, *layer, copies),
            Move::Cancel { layer, keep, drop, linear } => {
                proportional::cancel(network, domain, *layer, (*keep, *drop), linear)
            }
            Move::Refactor { layer, linear } => linear::refactor(network, domain, *layer, linear),
            Move::Reorient { layer, units, linear } => {
                linear::reorient(network, domain, *layer, units, linear)
            }
            Move::Translate { layer, unit, amount } => hidden::translate(network, *layer, *unit, amount),
            Move::Flip { layer, unit, flips } => hidden::flip(network, *layer, *unit, flips),
            Move::Shift { layer, shifts } => shift::shift(network, domain, *layer, shifts),
            Move::Mute { layer, neurons } => mute::mute(network, domain, *layer, neurons),
            Move::Fold { layer, pairs } => fold::fold(network, domain, *layer, pairs),
            Move::Unfold { layer, weight, bias, activation, next_weight, next_bias, pairs } => {
                let layers = ((&weight[..], &bias[..], *activation), (&next_weight[..], &next_bias[..]));
                fold::unfold(network, domain, *layer, layers, pairs)
            }
        }
    }

    /// Rewrites a network of doubles, where that is exact: see [`MoveChain::apply_in_doubles`]. `None` otherwise; then
    /// the network is of no use any more.
    pub fn apply_in_doubles(&self, network: &mut Network) -> Option<()> {
        if !relabel::subnormal_numbers_count() || self.layer() >= network.hidden_depth() {
            return None;
        }
        match self {
            Move::Permute { layer, order } => relabel::permute(network, *layer, order).ok(),
            Move::Scale { layer, factors } => relabel::scale_in_doubles(network, *layer, factors),
            _ => None,
        }
    }

    /// The moves that lead back to `before` from the network that this move makes of it. The move
    /// must apply to `before`.
    pub fn inverse(&self, before: &ExactNetwork) -> Result<MoveChain, MoveError> {
        self.check_layer(before)?;
        let single = |inverse: Move| MoveChain::from(vec![inverse]);
        Ok(match self {
            Move::Permute { layer, order } => single(relabel::inverse_permute(*layer, order)?),
            Move::Scale { layer, factors } => single(relabel::inverse_scale(*layer, factors)?),
            Move::Drop { layer, units } => single(unused::inverse_drop(before, *layer, units)?),
            Move::Insert { layer, neurons } => {
                single(Move::Drop { layer: *layer, units: neurons.iter().map(|n| n.unit).collect() })
            }
            Move::Merge { layer, pairs } => single(proportional::inverse_merge(before, *layer, pairs)?),
            Move::Split { layer, copies } => {
                single(Move::Merge { layer: *layer, pairs: copies.iter().map(|c| (c.of, c.unit)).collect() })
            }
            Move::Cancel { layer, keep, drop, linear } => {
                proportional::inverse_cancel(before, *layer, (*keep, *drop), linear)?
            }
            Move::Refactor { layer, linear } => {
                let linear = linear::inverse_change(before, *layer, linear)?;
                single(Move::Refactor { layer: *layer, linear })
            }
            Move::Reorient { layer, units, linear } => {
                single(linear::inverse_reorient(before, *layer, units, linear)?)
            }
            Move::Translate { layer, unit, amount } => {
                single(Move::Translate { layer: *layer, unit: *unit, amount: -amount })
            }
            Move::Flip { .. } => single(self.clone()),
            Move::Shift { layer, shifts } => single(shift::inverse_shift(*layer, shifts)),
            Move::Mute { layer, neurons } => single(mute::inverse_mute(before, *layer, neurons)?),
            Move::Fold { layer, pairs } => single(fold::inverse_fold(before, *layer, pairs)),
            Move::Unfold { layer, pairs, .. } => single(Move::Fold { layer: *layer, pairs: pairs.clone() }),
        })
    }

    /// The layer the move acts on, counted from 0.
    pub fn layer(&self) -> usize {
        match self {
            Move::Permute { layer, .. }
            | Move::Scale { layer, .. }
            | Move::Drop { layer, .. }
            | Move::Insert { layer, .. }
            | Move::Merge { layer, .. }
            | Move::Split { layer, .. }
            | Move::Cancel { layer, .. }
            | Move::Refactor { layer, .. }
            | Move::Reorient { layer, .. }
            | Move::Translate { layer, .. }
            | Move::Flip { layer, .. }
            | Move::Shift { layer, .. }
            | Move::Mute { layer, .. }
            | Move::Fold { layer, .. }
            | Move::Unfold { layer, .. } => *layer,
        }
    }

    /// The move's name in files: `permute`, `scale`, ...
    pub fn name(&self) -> &'static str {
        match self {
            Move::Permute { .. } => "permute",
            Move::Scale { .. } => "scale",
            Move::Drop { .. } => "drop",
            Move::Insert { .. } => "insert",
            Move::Merge { .. } => "merge",
            Move::Split { .. } => "split",
            Move::Cancel { .. } => "cancel",
            Move::Refactor { .. } => "refactor",
            Move::Reorient { .. } => "reorient",
            Move::Translate { .. } => "translate",
            Move::Flip { .. } => "flip",
            Move::Shift { .. } => "shift",
            Move::Mute { .. } => "mute",
            Move::Fold { .. } => "fold",
            Move::Unfold { .. } => "unfold",
        }
    }

    fn check_layer(&self, network: &ExactNetwork) -> Result<(), MoveError> {
        let layers = match self {
            Move::Unfold { .. } => network.depth(),
            _ => network.hidden_depth(),
        };
        Rule::Exists.require(self.layer() < layers, || {
            format!("layer {} of a network with {} hidden layers", self.layer() + 1, network.hidden_depth())
        })
    }
}

mod activation_name {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::Activation;

    pub fn serialize<T: Serializer>(activation: &Activation, serializer: T) -> Result<T::Ok, T::Error> {
        serializer.serialize_str(activation.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Activation, D::Error> {
        let name = String::deserialize(deserializer)?;
        let expected = || D::Error::custom(format!("expected activation relu or identity, found {name:?}"));
        Activation::from_name(&name).ok_or_else(expected)
    }
}
