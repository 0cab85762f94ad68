//! A cover of a box by smaller parts, as a binary tree in preorder.
//!
//! A node is a leaf, or it bisects its box: the subtree of the lower half follows, then that of the upper
//! half; or it asks for the sign of a hidden neuron's pre-activation: the subtree where it is `>= 0` follows,
//! then that where it is `<= 0`. So the leaves cover the root whatever the numbers are, and a tree with `n`
//! leaves has `n - 1` other nodes.
//!
//! In JSON a leaf is `0`, a bisection the number of its input, counted from 1, and a question for a sign
//! `["a", layer, unit]` or `["b", layer, unit]`, counted from 1. A leaf below such questions may have
//! multipliers for the bounds that are computed there: a list of rows `[k, e, m, ..]` or `[-k, e, m, ..]` with
//! one integer `m` per question on the path, from the root on, which stands for `m 2^e`.

use std::fmt;

use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Neuron, Operand};

/// A node of a tree of boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoxNode {
    /// A box that is not cut.
    Leaf,
    /// A box that is not cut, with multipliers for some rows.
    Weighted(Vec<RowMultipliers>),
    /// A box that is cut across this input, counted from 0.
    Bisect(u32),
    /// A box that is cut where the pre-activation of a hidden neuron changes its sign.
    Split(Operand, Neuron),
}

/// Multipliers of the signs on the path to a leaf, for the bound of one output from one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowMultipliers {
    /// The output, counted from 0.
    pub output: u32,
    /// Whether `f_B - f_A` is bounded from above; otherwise `f_A - f_B` is.
    pub above: bool,
    /// The multiplier `m` stands for `m` times two to this power.
    pub exponent: i16,
    /// The multipliers, one per sign from the root on.
    pub parts: Vec<u32>,
}

/// The largest absolute value of [`RowMultipliers::exponent`].
const MAX_EXPONENT: i16 = 900;
/// The most integers in one leaf of a file.
const MAX_INTEGERS: usize = 1 << 20;

impl RowMultipliers {
    /// Its place among the rows of all outputs, which stand in this order: output by output, first from above.
    pub fn row(&self) -> usize {
        2 * self.output as usize + usize::from(!self.above)
    }

    /// The multipliers as doubles, which they are exactly.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        let unit = f64::powi(2.0, i32::from(self.exponent));
        self.parts.iter().map(move |&part| f64::from(part) * unit)
    }

    /// The multipliers nearest to these numbers, which are not negative, with 12 bits for the largest one;
    /// `None` if one is not finite or too large.
    pub fn nearest(row: usize, numbers: &[f64]) -> Option<Self> {
        let largest = numbers.iter().fold(0.0, |most: f64, number| most.max(*number));
        if numbers.iter().any(|number| !number.is_finite() || *number < 0.0) {
            return None;
        }
        // The binary exponent from the bits; what is not normal is rounded to 0 below.
        let exponent = ((largest.to_bits() >> 52) as i32 - 1023 - 11).max(i32::from(-MAX_EXPONENT));
        let exponent = if largest > 0.0 { i16::try_from(exponent).ok()? } else { 0 };
        let unit = f64::powi(2.0, -i32::from(exponent));
        let parts = numbers.iter().map(|number| (number * unit).round() as u32).collect();
        let output = u32::try_from(row / 2).ok()?;
        (exponent <= MAX_EXPONENT).then_some(RowMultipliers {
            output,
            above: row.is_multiple_of(2),
            exponent,
            parts,
        })
    }
}

impl Serialize for RowMultipliers {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let mut seq = serializer.serialize_seq(Some(self.parts.len() + 2))?;
        let output = i64::from(self.output) + 1;
        seq.serialize_element(&if self.above { output } else { -output })?;
        seq.serialize_element(&self.exponent)?;
        self.parts.iter().try_for_each(|part| seq.serialize_element(part))?;
        seq.end()
    }
}

impl Serialize for BoxNode {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        match self {
            BoxNode::Leaf => serializer.serialize_u64(0),
            BoxNode::Weighted(rows) => rows.serialize(serializer),
            BoxNode::Bisect(input) => serializer.serialize_u64(u64::from(*input) + 1),
            BoxNode::Split(operand, neuron) => {
                (operand, neuron.layer + 1, neuron.unit + 1).serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for BoxNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = BoxNode;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a node of a tree of boxes: an integer below 2^32, a split or a list of rows")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<BoxNode, E> {
        let number = u32::try_from(number).map_err(|_| E::custom("expected an integer below 2^32"))?;
        Ok(number.checked_sub(1).map_or(BoxNode::Leaf, BoxNode::Bisect))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<BoxNode, A::Error> {
        let first = match seq.next_element()? {
            None => return Err(A::Error::custom("expected a split or a list of rows, found an empty list")),
            Some(First::Operand(operand)) => {
                let missing = || A::Error::custom("a split is [\"a\" or \"b\", layer, unit]");
                let layer: usize = seq.next_element()?.ok_or_else(missing)?;
                let unit: usize = seq.next_element()?.ok_or_else(missing)?;
                if seq.next_element::<IgnoredAny>()?.is_some() {
                    return Err(missing());
                }
                let (Some(layer), Some(unit)) = (layer.checked_sub(1), unit.checked_sub(1)) else {
                    return Err(A::Error::custom("layers and neurons count from 1, found 0"));
                };
                return Ok(BoxNode::Split(operand, Neuron { layer, unit }));
            }
            Some(First::Row(row)) => row,
        };
        let (mut rows, mut integers, mut next) = (Vec::new(), 0, Some(First::Row(first)));
        while let Some(each) = next {
            let First::Row(row) = each else { return Err(A::Error::custom("expected a row of multipliers")) };
            integers += row.parts.len() + 2;
            if integers > MAX_INTEGERS {
                return Err(A::Error::custom("a leaf has too many multipliers"));
            }
            rows.push(row);
            next = seq.next_element()?;
        }
        Ok(BoxNode::Weighted(rows))
    }
}

/// The first entry of an array: a name, or a row of multipliers.
enum First {
    Operand(Operand),
    Row(RowMultipliers),
}

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FirstVisitor)
    }
}

struct FirstVisitor;

impl<'de> Visitor<'de> for FirstVisitor {
    type Value = First;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("\"a\", \"b\" or a row of multipliers")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<First, E> {
        match name {
            "a" => Ok(First::Operand(Operand::A)),
            "b" => Ok(First::Operand(Operand::B)),
            _ => Err(E::custom("expected \"a\" or \"b\"")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<First, A::Error> {
        let missing = || A::Error::custom("a row of multipliers is [output, exponent, m, ..]");
        let output: i64 = seq.next_element()?.ok_or_else(missing)?;
        let exponent: i16 = seq.next_element()?.ok_or_else(missing)?;
        let place = output.unsigned_abs().checked_sub(1).and_then(|place| u32::try_from(place).ok());
        let place = place.ok_or_else(|| A::Error::custom("outputs count from 1"))?;
        if exponent.abs() > MAX_EXPONENT {
            return Err(A::Error::custom(format!("an exponent is at most {MAX_EXPONENT} in absolute value")));
        }
        let mut parts = Vec::new();
        while let Some(part) = seq.next_element()? {
            parts.push(part);
            if parts.len() > MAX_INTEGERS {
                return Err(A::Error::custom("a leaf has too many multipliers"));
            }
        }
        Ok(First::Row(RowMultipliers { output: place, above: output > 0, exponent, parts }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighted(output: u32, above: bool, exponent: i16, parts: &[u32]) -> RowMultipliers {
        RowMultipliers { output, above, exponent, parts: parts.to_vec() }
    }

    #[test]
    fn nodes_stand_in_json_as_documented() {
        let tree = vec![
            BoxNode::Bisect(0),
            BoxNode::Leaf,
            BoxNode::Bisect(11),
            BoxNode::Leaf,
            BoxNode::Split(Operand::B, Neuron { layer: 0, unit: 6 }),
            BoxNode::Weighted(vec![weighted(0, true, -12, &[7]), weighted(2, false, 3, &[0])]),
            BoxNode::Leaf,
        ];
        let json = serde_json::to_string(&tree).unwrap();
        assert_eq!(json, r#"[1,0,12,0,["b",1,7],[[1,-12,7],[-3,3,0]],0]"#);
        assert_eq!(serde_json::from_str::<Vec<BoxNode>>(&json).unwrap(), tree);
    }

    #[test]
    fn what_is_no_node_is_refused() {
        let numbers = ["-1", "1.0", "\"1\"", "4294967296", "null", "true", "{}", "[]"];
        let splits = ["[\"c\",1,1]", "[\"a\",0,1]", "[\"a\",1]", "[\"a\",1,1,1]", "[\"a\",1.0,1]"];
        let rows = [
            "[[]]",
            "[[1]]",
            "[[0,1,2]]",
            "[[1,901,2]]",
            "[[1,-901,2]]",
            "[[1,2,-3]]",
            "[[1,2,4294967296]]",
            "[[1,2,3],4]",
            "[[1,2,3],\"a\"]",
            "[[1,2,3.5]]",
            "[[4294967297,0,1]]",
            "[1]",
        ];
        for json in numbers.iter().chain(&splits).chain(&rows) {
            assert!(serde_json::from_str::<BoxNode>(json).is_err(), "{json}");
        }
        let long = format!("[[1,0{}]]", ",1".repeat(MAX_INTEGERS + 1));
        assert!(serde_json::from_str::<BoxNode>(&long).is_err());
    }

    #[test]
    fn multipliers_are_rounded_to_twelve_bits() {
        let found = RowMultipliers::nearest(3, &[1.0, 1.0 / 3.0, 0.0]).unwrap();
        assert_eq!(found, weighted(1, false, -11, &[2048, 683, 0]));
        assert_eq!(found.values().collect::<Vec<_>>(), [1.0, 683.0 / 2048.0, 0.0]);
        assert_eq!(found.row(), 3);
        assert_eq!(RowMultipliers::nearest(0, &[0.0, 0.0]).unwrap(), weighted(0, true, 0, &[0, 0]));
        let small = RowMultipliers::nearest(0, &[1e-310]).unwrap();
        assert_eq!(small.values().collect::<Vec<_>>(), [0.0]);
        for wrong in [f64::NAN, f64::INFINITY, -1.0, f64::MAX] {
            assert_eq!(RowMultipliers::nearest(0, &[wrong]), None, "{wrong}");
        }
    }
}
