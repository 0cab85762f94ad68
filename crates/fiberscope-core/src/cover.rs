//! A cover of the domain by cells on which two networks are equal, as a binary tree in preorder.
//!
//! A split node is followed by the subtree where its neuron is on, then by the subtree where it is off.
//! The affine functions `g_c(x) >= 0` that hold on a path are numbered: first the finite sides of the
//! domain (input 1 lower, input 1 upper, input 2 lower, ...; inputs with a single value have none),
//! then the splits of the path in order (`g = z` where the neuron is on, `g = -z` where it is off; splits on
//! a constant have no number).
//!
//! Farkas' lemma, the easy half: if `m_c > 0`, `sum m_c grad g_c = 0` and `sum m_c g_c(0) <= 0`, then
//! `sum m_c g_c(x) <= 0` for every `x`, so no point has all `g_c(x) > 0`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::strict::read_strictly;
use crate::{Neuron, Rational};

/// One of the two networks of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", remote = "Self")]
pub enum Operand {
    /// The first network.
    A,
    /// The second network.
    B,
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Operand::A => "A",
            Operand::B => "B",
        })
    }
}

/// A node of a region tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", remote = "Self")]
pub enum CoverNode {
    /// A hidden ReLU neuron is on (first subtree) or off (second subtree).
    #[serde(with = "split_form")]
    Split(Operand, Neuron),
    /// Every hidden ReLU neuron is decided and the two affine maps are equal.
    Equal,
    /// The outputs of both networks are the same expressions of the inputs and of relu of what is not
    /// decided.
    Same,
    /// No point satisfies all constraints of the path strictly: constraints (from 0) with their
    /// multipliers, positive integers.
    #[serde(with = "multipliers_form")]
    Empty(Vec<(usize, Rational)>),
    /// The branch that a neuron with a constant pre-activation does not take.
    None,
}

read_strictly!(Operand, CoverNode);

/// The longest multiplier in a file, in characters.
const MAX_MULTIPLIER: usize = 20_000;

/// `["a", layer, unit]`, counted from 1.
mod split_form {
    use super::*;

    pub fn serialize<T: Serializer>(
        operand: &Operand,
        neuron: &Neuron,
        serializer: T,
    ) -> Result<T::Ok, T::Error> {
        (operand, neuron.layer + 1, neuron.unit + 1).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(Operand, Neuron), D::Error> {
        let (operand, layer, unit) = <(Operand, usize, usize)>::deserialize(deserializer)?;
        match (layer.checked_sub(1), unit.checked_sub(1)) {
            (Some(layer), Some(unit)) => Ok((operand, Neuron { layer, unit })),
            _ => Err(D::Error::custom("layers and neurons count from 1, found 0")),
        }
    }
}

/// `[[constraint, "multiplier"], ...]`, constraints counted from 1.
mod multipliers_form {
    use super::*;

    pub fn serialize<T: Serializer>(terms: &[(usize, Rational)], serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_seq(terms.iter().map(|(constraint, multiplier)| (constraint + 1, multiplier)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(usize, Rational)>, D::Error> {
        let terms = Vec::<(usize, String)>::deserialize(deserializer)?;
        let read = |(constraint, text): (usize, String)| {
            let constraint = constraint
                .checked_sub(1)
                .ok_or_else(|| D::Error::custom("constraints count from 1, found 0"))?;
            if text.len() > MAX_MULTIPLIER {
                return Err(D::Error::custom(format!(
                    "a multiplier has {} characters; at most {MAX_MULTIPLIER} are read",
                    text.len()
                )));
            }
            Ok((constraint, Rational::from_canonical(&text).map_err(D::Error::custom)?))
        };
        terms.into_iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_stand_in_json_as_documented() {
        let tree = vec![
            CoverNode::Split(Operand::B, Neuron { layer: 0, unit: 2 }),
            CoverNode::Equal,
            CoverNode::Same,
            CoverNode::Empty(vec![(0, Rational::from(3)), (4, Rational::ONE)]),
            CoverNode::None,
        ];
        let json = serde_json::to_string(&tree).unwrap();
        assert_eq!(json, r#"[{"split":["b",1,3]},"equal","same",{"empty":[[1,"3"],[5,"1"]]},"none"]"#);
        assert_eq!(serde_json::from_str::<Vec<CoverNode>>(&json).unwrap(), tree);
    }

    #[test]
    fn what_is_no_node_is_refused() {
        let check = |json: &str, expected: &str| {
            let error = serde_json::from_str::<CoverNode>(json).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(r#"{"split":["a",0,1]}"#, "count from 1");
        check(r#"{"split":["c",1,1]}"#, "unknown variant `c`");
        check(r#"{"split":["a",1]}"#, "invalid length 2");
        check(r#"{"empty":[[0,"1"]]}"#, "constraints count from 1");
        check(r#"{"empty":[[1,"0.5"]]}"#, "expected a fraction");
        check(&format!(r#"{{"empty":[[1,"{}"]]}}"#, "9".repeat(20_001)), "at most 20000");
        check(r#""even""#, "unknown variant `even`");
    }
}
