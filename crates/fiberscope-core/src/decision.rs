//! The boxes on which a class of one network is shown to be that of another, as binary trees in preorder.
//!
//! There is one tree for every class, one behind the other. A node bisects its box, as a [`BoxNode`] does, or
//! is a leaf, which says how the class is settled on its box: the first network never leads there, or every
//! rival is held down by a sum of leads of the first network, with weights.
//!
//! In JSON `0` is a leaf where the rival's own lead has weight 1, `j > 0` bisects input `j`, `-l` is a leaf
//! where class `l` keeps the lead from being large enough, and a list `[[rival, [[class, weight], ...]], ...]`
//! is a leaf with weights for some rivals. Inputs and classes count from 1; weights are in units of `2^-12`.
//!
//! [`BoxNode`]: crate::BoxNode

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A node of a tree of boxes for one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionNode {
    /// A box that is cut across this input, counted from 0.
    Bisect(u32),
    /// The first network does not lead this class, counted from 0, by the margin anywhere on the box.
    Never(u32),
    /// Every rival is held down: those in the list, whose rivals increase, by their weights, all others by
    /// their own lead with weight 1.
    Held(Vec<RivalWeights>),
}

/// The weights that hold a rival down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RivalWeights {
    /// The rival, counted from 0.
    pub rival: u32,
    /// Classes, counted from 0 and increasing, and the weights of the leads over them.
    pub weights: Vec<(u32, u64)>,
}

impl Serialize for DecisionNode {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        match self {
            DecisionNode::Bisect(input) => serializer.serialize_u64(u64::from(*input) + 1),
            DecisionNode::Never(class) => serializer.serialize_i64(-i64::from(*class) - 1),
            DecisionNode::Held(rivals) if rivals.is_empty() => serializer.serialize_u64(0),
            DecisionNode::Held(rivals) => serializer.collect_seq(rivals.iter().map(|held| {
                let weights = held.weights.iter().map(|&(class, weight)| (u64::from(class) + 1, weight));
                (u64::from(held.rival) + 1, weights.collect::<Vec<_>>())
            })),
        }
    }
}

impl<'de> Deserialize<'de> for DecisionNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = DecisionNode;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an integer between -2^32 and 2^32, or a list of rivals with weights")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<DecisionNode, E> {
        match number.checked_sub(1) {
            None => Ok(DecisionNode::Held(Vec::new())),
            Some(input) => from_zero(input).map(DecisionNode::Bisect),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<DecisionNode, E> {
        // Only negative numbers come here.
        from_zero(number.unsigned_abs() - 1).map(DecisionNode::Never)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<DecisionNode, A::Error> {
        let mut rivals = Vec::new();
        while let Some((rival, weights)) = list.next_element::<(u64, Vec<(u64, u64)>)>()? {
            let weight = |(class, weight): (u64, u64)| Ok((counted(class)?, weight));
            let weights = weights.into_iter().map(weight).collect::<Result<_, A::Error>>()?;
            rivals.push(RivalWeights { rival: counted(rival)?, weights });
        }
        if rivals.is_empty() {
            return Err(A::Error::custom("a leaf without weights is 0, found an empty list"));
        }
        Ok(DecisionNode::Held(rivals))
    }
}

fn counted<E: Error>(number: u64) -> Result<u32, E> {
    from_zero(number.checked_sub(1).ok_or_else(|| E::custom("classes count from 1, found 0"))?)
}

fn from_zero<E: Error>(number: u64) -> Result<u32, E> {
    // One less than the largest number that is written, as in a `BoxNode`.
    let short = u32::try_from(number).ok().filter(|&number| number < u32::MAX);
    short.ok_or_else(|| E::custom("expected an integer below 2^32"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_stand_in_json_as_documented() {
        let held = |rival, weights: &[(u32, u64)]| RivalWeights { rival, weights: weights.to_vec() };
        let tree = vec![
            DecisionNode::Bisect(0),
            DecisionNode::Held(vec![]),
            DecisionNode::Bisect(11),
            DecisionNode::Never(2),
            DecisionNode::Held(vec![held(0, &[]), held(4, &[(0, 4096), (3, 1)])]),
        ];
        let json = serde_json::to_string(&tree).unwrap();
        assert_eq!(json, "[1,0,12,-3,[[1,[]],[5,[[1,4096],[4,1]]]]]");
        assert_eq!(serde_json::from_str::<Vec<DecisionNode>>(&json).unwrap(), tree);
    }

    #[test]
    fn what_is_no_node_is_refused() {
        for json in [
            "1.0",
            "-0",
            "\"1\"",
            "4294967296",
            "-4294967296",
            "-9223372036854775808",
            "18446744073709551616",
            "null",
            "[]",
            "[1]",
            "[[1]]",
            "[[0,[]]]",
            "[[1,[[0,1]]]]",
            "[[1,[[1]]]]",
            "[[1,[[1,-1]]]]",
            "[[1,[[1,1,1]]]]",
            "{\"rival\":1}",
            "[{\"rival\":1}]",
        ] {
            assert!(serde_json::from_str::<DecisionNode>(json).is_err(), "{json}");
        }
    }
}
