//! Other outgoing weights for neurons that are dead because what could turn them on is outweighed.
//!
//! **Lemma.** Let `z = b + sum_k w_k relu(h_k)` be a pre-activation behind a ReLU layer with pre-activations
//! `h_k(y)`, affine in the inputs `y` of that layer, which lie in a box `Y`. For every `k` with `w_k > 0` whose
//! neuron is not dead let there be numbers `c_k >= w_k`, `g_k >= 0` and `t_ki >= 0` such that
//!
//! 1. `c_k h_k(y) - sum_i t_ki h_i(y) - g_k <= 0` for all `y` in `Y`,
//! 2. `sum_k t_ki <= max(-w_i, 0)` for every `i`,
//! 3. `b + sum_k g_k <= 0`.
//!
//! Then `z <= 0`: the neuron is dead. *Proof.* `t h_i <= t relu(h_i)` for `t >= 0`. Where `h_k > 0`,
//! `w_k relu(h_k) <= c_k h_k <= sum_i t_ki relu(h_i) + g_k` by 1; where `h_k <= 0` the left side is 0 and the right
//! one is not negative. Summed over `k`, by 2 and 3,
//! `z <= b + sum_k g_k + sum_{w_i < 0} (w_i + sum_k t_ki) relu(h_i) <= 0`.
//!
//! The outgoing weights of a dead neuron are free, and its row does not change, so that the move undoes itself with
//! the old ones.

use serde::{Deserialize, Serialize};

use super::surgery::{check_units, column};
use super::unused::InputRanges;
use super::{Move, MoveError, Rule};
use crate::serde_forms::from_one;
use crate::strict::read_strictly;
use crate::{Activation, Domain, ExactNetwork, Interval, Layer, Rational, SparseMatrix, Weights};

/// How much of what turns a neuron off outweighs one neuron that turns it on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Share {
    /// The neuron of the layer before that turns it on, `w_k > 0`.
    #[serde(with = "from_one")]
    pub of: usize,
    /// `c_k`, at least `w_k`.
    pub factor: Rational,
    /// `g_k`, not negative.
    pub constant: Rational,
    /// The `t_ki` that are not zero.
    pub by: Vec<Counterweight>,
}

/// A part of what turns a neuron off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Counterweight {
    /// The neuron of the layer before that turns it off, `w_i < 0`.
    #[serde(with = "from_one")]
    pub unit: usize,
    /// `t_ki`, not negative.
    pub weight: Rational,
}

/// Other outgoing weights for a neuron, with the proof that it is dead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Mute {
    /// The neuron.
    #[serde(with = "from_one")]
    pub unit: usize,
    /// Its new outgoing weights.
    pub out: Vec<Rational>,
    /// The proof: a share for every neuron that could turn it on.
    pub shares: Vec<Share>,
}

read_strictly!(Share, Counterweight, Mute);

pub fn mute(
    network: &mut ExactNetwork,
    domain: &Domain,
    layer: usize,
    neurons: &[Mute],
) -> Result<(), MoveError> {
    let units: Vec<_> = neurons.iter().map(|neuron| neuron.unit).collect();
    check_units(network, layer, &units)?;
    let mut balance = Balance::new(network, domain, layer);
    for neuron in neurons {
        Rule::length("outgoing weights", network.layers()[layer + 1].width(), neuron.out.len())?;
        let name = || format!("neuron {} of layer {}", neuron.unit + 1, layer + 1);
        let holds =
            balance.as_mut().is_some_and(|balance| balance.is_outweighed(neuron.unit, &neuron.shares));
        Rule::Outweighed.require(holds, name)?;
    }
    let (columns, _) = network.layers_mut()[layer + 1].parts_mut();
    neurons.iter().for_each(|neuron| replace_column(columns, neuron.unit, &neuron.out));
    Ok(())
}

pub fn inverse_mute(before: &ExactNetwork, layer: usize, neurons: &[Mute]) -> Result<Move, MoveError> {
    let units: Vec<_> = neurons.iter().map(|neuron| neuron.unit).collect();
    check_units(before, layer, &units)?;
    let back =
        |neuron: &Mute| Mute { out: column(&before.layers()[layer + 1], neuron.unit), ..neuron.clone() };
    Ok(Move::Mute { layer, neurons: neurons.iter().map(back).collect() })
}

/// Where the lemma of [`Mute`] is applied: a ReLU layer behind a ReLU layer, on a domain.
pub struct Balance<'a> {
    network: &'a ExactNetwork,
    domain: &'a Domain,
    layer: usize,
    sides: Vec<Interval>,
    dead: InputRanges,
}

impl<'a> Balance<'a> {
    /// The hidden layer (from 0); `None` if it or the one before is no ReLU layer.
    pub fn new(network: &'a ExactNetwork, domain: &'a Domain, layer: usize) -> Option<Self> {
        let layers = network.hidden_layers();
        let relu = |layer: usize| layers.get(layer).is_some_and(|each| each.activation() == Activation::Relu);
        let before = layer.checked_sub(1).filter(|&before| relu(before) && relu(layer))?;
        let sides = network.activation_ranges(domain).nth(before)?;
        Some(Balance { network, domain, layer, sides, dead: InputRanges::new(before) })
    }

    /// Intervals that contain the inputs of the layer before.
    pub fn sides(&self) -> &[Interval] {
        &self.sides
    }

    /// The neurons of the layer before that could turn a neuron on: with positive weights, and not dead.
    pub fn positive(&mut self, unit: usize) -> Vec<usize> {
        let row = self.network.layers()[self.layer].weights().row(unit);
        let positive: Vec<usize> = row.filter(|(_, w)| w.is_positive()).map(|(k, _)| k).collect();
        positive.into_iter().filter(|&k| !self.dead.dead(self.network, self.domain, k)).collect()
    }

    /// Whether the shares prove that a neuron of the layer is dead on the domain.
    pub fn is_outweighed(&mut self, unit: usize, shares: &[Share]) -> bool {
        let [before, own] = [self.layer - 1, self.layer].map(|layer| &self.network.layers()[layer]);
        let mut left = own.weights().dense_row(unit);
        let mut bias = own.bias()[unit].clone();
        let mut named = vec![false; left.len()];
        for share in shares {
            let Some(weight) = left.get(share.of) else { return false };
            let fits = weight.is_positive() && !named[share.of] && share.factor >= *weight;
            if !fits || share.constant.is_negative() || !holds(before, &self.sides, share) {
                return false;
            }
            named[share.of] = true;
            bias += &share.constant;
        }
        for Counterweight { unit, weight } in shares.iter().flat_map(|share| &share.by) {
            left[*unit] += weight;
            if !weight.is_zero() && left[*unit].is_positive() {
                return false;
            }
        }
        !bias.is_positive() && self.positive(unit).iter().all(|&k| named[k])
    }
}

/// Whether `c h_k - sum t_i h_i - g <= 0` on the sides, with `t_i >= 0` for neurons that there are.
fn holds(before: &Layer<Rational>, sides: &[Interval], share: &Share) -> bool {
    let mut coefficients = vec![Rational::ZERO; before.input_width()];
    let mut most = -&share.constant;
    let mut add = |unit: usize, factor: &Rational| {
        before.weights().row(unit).for_each(|(j, w)| coefficients[j] += &(factor * w));
        most += &(factor * &before.bias()[unit]);
    };
    add(share.of, &share.factor);
    for Counterweight { unit, weight } in &share.by {
        if *unit >= before.width() || weight.is_negative() {
            return false;
        }
        add(*unit, &-weight);
    }
    for (c, side) in coefficients.iter().zip(sides).filter(|(c, _)| !c.is_zero()) {
        match if c.is_positive() { &side.upper } else { &side.lower } {
            Some(end) => most += &(c * end),
            None => return false,
        }
    }
    !most.is_positive()
}

fn replace_column(columns: &mut Weights<Rational>, unit: usize, out: &[Rational]) {
    match columns {
        Weights::Dense(dense) => out.iter().enumerate().for_each(|(i, v)| dense[(i, unit)] = v.clone()),
        Weights::Sparse(_) => {
            let mut result = SparseMatrix::new(columns.cols());
            for (row, v) in columns.iter_rows().zip(out) {
                let others = row.filter(|(j, _)| *j != unit).map(|(j, w)| (j, w.clone()));
                result.push_sum(others.chain([(unit, v.clone())]).collect());
            }
            *columns = Weights::Sparse(result);
        }
    }
}
