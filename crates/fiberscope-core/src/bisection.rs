//! A cover of a box by smaller boxes, as a binary tree in preorder.
//!
//! A node is a leaf, or it bisects its box: the subtree of the lower half follows, then that of the upper
//! half. In JSON a leaf is `0` and a bisection the number of its input, counted from 1. So the leaves cover
//! the root whatever the numbers are, and a tree with `n` leaves has `n - 1` other nodes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A node of a tree of boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxNode {
    /// A box that is not cut.
    Leaf,
    /// A box that is cut across this input, counted from 0.
    Bisect(u32),
}

impl Serialize for BoxNode {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        serializer.serialize_u64(match self {
            BoxNode::Leaf => 0,
            BoxNode::Bisect(input) => u64::from(*input) + 1,
        })
    }
}

impl<'de> Deserialize<'de> for BoxNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        Ok(number.checked_sub(1).map_or(BoxNode::Leaf, BoxNode::Bisect))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_stand_in_json_as_documented() {
        let tree = vec![BoxNode::Bisect(0), BoxNode::Leaf, BoxNode::Bisect(11), BoxNode::Leaf, BoxNode::Leaf];
        let json = serde_json::to_string(&tree).unwrap();
        assert_eq!(json, "[1,0,12,0,0]");
        assert_eq!(serde_json::from_str::<Vec<BoxNode>>(&json).unwrap(), tree);
    }

    #[test]
    fn what_is_no_node_is_refused() {
        for json in ["-1", "1.0", "\"1\"", "[\"a\",1,1]", "4294967296", "null", "true"] {
            assert!(serde_json::from_str::<BoxNode>(json).is_err(), "{json}");
        }
    }
}
