//! Parameters set to nearby values: the steps of a chain that keeps a function up to rounding.
//!
//! A split neuron whose copy was rounded to single precision is no exact multiple of the other. Setting
//! its row to the multiple changes the function by an amount that interval arithmetic bounds; after
//! that the exact moves apply. A nudge is no [`Move`](crate::Move): it changes the function, so it may
//! only stand where its bound is added up.

use serde::{Deserialize, Serialize};

use crate::moves::{MoveChain, MoveError, Rule};
use crate::serde_forms::from_one;
use crate::strict::read_strictly;
use crate::{ExactNetwork, Rational};

/// New values for some parameters of one layer (the last one too).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Nudge {
    /// The layer.
    #[serde(with = "from_one")]
    pub layer: usize,
    /// Weights: row, column, new value.
    #[serde(with = "weight_form")]
    pub weight: Vec<(usize, usize, Rational)>,
    /// Biases: row, new value.
    #[serde(with = "bias_form")]
    pub bias: Vec<(usize, Rational)>,
}

impl Nudge {
    /// Sets the parameters; leaves the network alone if one of them does not exist.
    pub fn apply(&self, network: &mut ExactNetwork) -> Result<(), MoveError> {
        let depth = network.depth();
        Rule::Exists.require(self.layer < depth, || {
            format!("layer {} of a network with {depth} layers", self.layer.saturating_add(1))
        })?;
        let layer = &network.layers()[self.layer];
        let (rows, columns) = (layer.width(), layer.input_width());
        let places = self.weight.iter().map(|&(row, column, _)| (row, column));
        for (row, column) in places.chain(self.bias.iter().map(|&(row, _)| (row, 0))) {
            Rule::Exists.require(row < rows && column < columns, || {
                format!("row {}, column {} of layer {}", row + 1, column + 1, self.layer + 1)
            })?;
        }
        let (weights, bias) = network.layers_mut()[self.layer].parts_mut();
        weights.set_entries(&self.weight);
        self.bias.iter().for_each(|(row, value)| bias[*row] = value.clone());
        Ok(())
    }
}

/// A step of a chain that keeps a function up to rounding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields, remote = "Self")]
pub enum RoundingStep {
    /// Moves, which keep the function.
    Moves(MoveChain),
    /// New values of parameters, which change it by a little.
    Nudge(Nudge),
}

read_strictly!(Nudge, RoundingStep);

/// `[[row, column, "value"], ...]`, counted from 1.
mod weight_form {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::Rational;

    type Entry = (usize, usize, Rational);

    pub fn serialize<T: Serializer>(entries: &[Entry], serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_seq(entries.iter().map(|(row, column, value)| (row + 1, column + 1, value)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Entry>, D::Error> {
        let shift = |(row, column, value): Entry| Some((row.checked_sub(1)?, column.checked_sub(1)?, value));
        let shifted: Option<_> = Vec::<Entry>::deserialize(deserializer)?.into_iter().map(shift).collect();
        shifted.ok_or_else(|| D::Error::custom("rows and columns count from 1, found 0"))
    }
}

/// `[[row, "value"], ...]`, counted from 1.
mod bias_form {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::Rational;

    type Entry = (usize, Rational);

    pub fn serialize<T: Serializer>(entries: &[Entry], serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_seq(entries.iter().map(|(row, value)| (row + 1, value)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Entry>, D::Error> {
        let shift = |(row, value): Entry| Some((row.checked_sub(1)?, value));
        let shifted: Option<_> = Vec::<Entry>::deserialize(deserializer)?.into_iter().map(shift).collect();
        shifted.ok_or_else(|| D::Error::custom("rows count from 1, found 0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_exact_network;

    #[test]
    fn named_parameters_are_set_and_others_stay() {
        let before = random_exact_network(&[2, 3, 1], 1);
        let mut after = before.clone();
        let value = Rational::from(7);
        let nudge = Nudge { layer: 1, weight: vec![(0, 2, value.clone())], bias: vec![(0, value.clone())] };
        nudge.apply(&mut after).unwrap();
        assert_eq!(after.layers()[0], before.layers()[0]);
        assert_eq!(after.layers()[1].weight().row(0)[..2], before.layers()[1].weight().row(0)[..2]);
        assert_eq!((&after.layers()[1].weight()[(0, 2)], &after.layers()[1].bias()[0]), (&value, &value));
    }

    #[test]
    fn parameters_that_do_not_exist_are_refused() {
        let before = random_exact_network(&[2, 3, 1], 1);
        let one = Rational::ONE;
        for nudge in [
            Nudge { layer: 2, weight: vec![], bias: vec![] },
            Nudge { layer: usize::MAX, weight: vec![], bias: vec![] },
            Nudge { layer: 0, weight: vec![(3, 0, one.clone())], bias: vec![] },
            Nudge { layer: 0, weight: vec![(0, 2, one.clone())], bias: vec![] },
            Nudge { layer: 0, weight: vec![(0, 0, one.clone())], bias: vec![(3, one.clone())] },
        ] {
            let mut after = before.clone();
            assert_eq!(nudge.apply(&mut after).unwrap_err().rule, Rule::Exists);
            assert_eq!(after, before);
        }
    }

    #[test]
    fn steps_stand_in_json_as_documented() {
        let steps = vec![
            RoundingStep::Moves(MoveChain::default()),
            RoundingStep::Nudge(Nudge { layer: 0, weight: vec![(0, 1, Rational::ONE)], bias: vec![] }),
        ];
        let json = serde_json::to_string(&steps).unwrap();
        assert_eq!(json, r#"[{"moves":[]},{"nudge":{"layer":1,"weight":[[1,2,"1"]],"bias":[]}}]"#);
        assert_eq!(serde_json::from_str::<Vec<RoundingStep>>(&json).unwrap(), steps);
        let zero = json.replace("[1,2,", "[0,2,");
        assert!(serde_json::from_str::<Vec<RoundingStep>>(&zero).unwrap_err().to_string().contains("from 1"));
    }
}
