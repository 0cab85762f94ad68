//! Other biases for neurons that a linear programme shows to be dead or linear on the domain.
//!
//! A dead neuron stays dead with a smaller bias, a linear one linear with a larger bias if the next bias
//! makes up for it. That a neuron is dead or linear both before and after is proved by the slopes of
//! [`relaxed_bound`], which do not depend on its bias; so the move undoes itself with the opposite amount.

use serde::{Deserialize, Serialize};

use super::surgery::check_units;
use super::{Move, MoveError, Rule};
use crate::relaxation::relaxed_bound;
use crate::serde_forms::from_one;
use crate::strict::read_strictly;
use crate::{Activation, Domain, ExactNetwork, Rational};

/// What a linear programme shows of a neuron.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", remote = "Self")]
pub enum ShownRole {
    /// Its pre-activation is never positive.
    Dead,
    /// Its pre-activation is never negative.
    Linear,
}

/// A change of bias with the proof that it keeps the function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct BiasShift {
    /// The neuron.
    #[serde(with = "from_one")]
    pub unit: usize,
    /// What it is, before and after.
    pub role: ShownRole,
    /// What is added to its bias.
    pub amount: Rational,
    /// The proof: a slope between 0 and 1 for every neuron of every layer before.
    pub slopes: Vec<Vec<Rational>>,
}

read_strictly!(ShownRole, BiasShift);

pub fn shift(
    network: &mut ExactNetwork,
    domain: &Domain,
    layer: usize,
    shifts: &[BiasShift],
) -> Result<(), MoveError> {
    let units: Vec<_> = shifts.iter().map(|shift| shift.unit).collect();
    check_units(network, layer, &units)?;
    let relu = network.layers()[layer].activation() == Activation::Relu;
    Rule::ReluLayer.require(relu, || format!("layer {} has identity activation", layer + 1))?;
    for BiasShift { unit, role, amount, slopes } in shifts {
        let (sign, rule) = match role {
            ShownRole::Dead => (1, Rule::ShownDead),
            ShownRole::Linear => (-1, Rule::ShownLinear),
        };
        let worst = (amount * &Rational::from(sign)).max(Rational::ZERO);
        let bound = relaxed_bound(network, domain, (layer, *unit), sign, slopes);
        let holds = bound.is_some_and(|bound| !(&bound + &worst).is_positive());
        rule.require(holds, || format!("neuron {} of layer {}", unit + 1, layer + 1))?;
    }
    for BiasShift { unit, role, amount, .. } in shifts {
        let layers = network.layers_mut();
        layers[layer].parts_mut().1[*unit] += amount;
        if *role == ShownRole::Linear {
            let (columns, bias) = layers[layer + 1].parts_mut();
            bias.iter_mut().zip(columns.dense_column(*unit)).for_each(|(b, v)| *b -= &(&v * amount));
        }
    }
    Ok(())
}

pub fn inverse_shift(layer: usize, shifts: &[BiasShift]) -> Move {
    let back = |shift: &BiasShift| BiasShift { amount: -&shift.amount, ..shift.clone() };
    Move::Shift { layer, shifts: shifts.iter().map(back).collect() }
}
