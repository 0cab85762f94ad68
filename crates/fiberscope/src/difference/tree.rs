//! The tree of boxes: the root is the domain, and a split bisects one input of its box.
//!
//! A node keeps its parent and its split only. Its box is what the bisections on the path from the root
//! leave, computed with the very function of the checker ([`middle`]), so that both speak of the same boxes,
//! whatever the number of inputs.

use fiberscope_check::difference::{MAX_DEPTH, middle};

/// No node.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    /// The input that is bisected, from 1; 0 for a leaf.
    split: u32,
    /// The child with the lower half; the other one comes next.
    first: u32,
}

/// A tree of boxes.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    lo: Vec<f64>,
    hi: Vec<f64>,
}

impl Tree {
    /// The tree whose only box is the root.
    pub fn new(lo: Vec<f64>, hi: Vec<f64>) -> Self {
        Tree { nodes: vec![Node { parent: NONE, split: 0, first: NONE }], lo, hi }
    }

    /// The root box.
    pub fn root(&self) -> (&[f64], &[f64]) {
        (&self.lo, &self.hi)
    }

    /// Bisects an input of a leaf; the index of the child with the lower half, the other one comes next.
    pub fn split(&mut self, node: u32, input: usize) -> u32 {
        let first = self.nodes.len() as u32;
        self.nodes[node as usize].split = input as u32 + 1;
        self.nodes[node as usize].first = first;
        self.nodes.extend([Node { parent: node, split: 0, first: NONE }; 2]);
        first
    }

    /// Writes the box of a node; its depth.
    pub fn boxed(&self, node: u32, lo: &mut Vec<f64>, hi: &mut Vec<f64>) -> usize {
        lo.clone_from(&self.lo);
        hi.clone_from(&self.hi);
        let mut path = Vec::new();
        let mut at = node;
        while self.nodes[at as usize].parent != NONE {
            let parent = self.nodes[at as usize].parent;
            let above = self.nodes[parent as usize];
            path.push((above.split as usize - 1, at == above.first));
            at = parent;
        }
        for &(input, lower) in path.iter().rev() {
            halve(lo, hi, input, lower);
        }
        path.len()
    }

    /// The leaves from left to right.
    pub fn leaves(&self) -> Vec<u32> {
        self.walk().filter(|&node| self.nodes[node as usize].split == 0).collect()
    }

    /// The splits in preorder, as certificates have them: 0 is a leaf, `j` bisects input `j` (from 1).
    pub fn preorder(&self) -> Vec<u32> {
        self.walk().map(|node| self.nodes[node as usize].split).collect()
    }

    fn walk(&self) -> impl Iterator<Item = u32> {
        let mut stack = vec![0u32];
        std::iter::from_fn(move || {
            let node = stack.pop()?;
            let at = self.nodes[node as usize];
            if at.split != 0 {
                stack.extend([at.first + 1, at.first]);
            }
            Some(node)
        })
    }

    /// The tree with these splits in preorder, if they are one.
    pub fn from_preorder(lo: Vec<f64>, hi: Vec<f64>, splits: &[u32]) -> Option<Self> {
        let mut tree = Tree::new(lo, hi);
        // The nodes to come, the next one last, with their depths.
        let mut stack = vec![(0u32, 0)];
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for &split in splits {
            let (node, depth) = stack.pop()?;
            if split == 0 {
                continue;
            }
            let input = split as usize - 1;
            tree.boxed(node, &mut low, &mut high);
            if input >= low.len() || depth >= MAX_DEPTH || middle(low[input], high[input]).is_none() {
                return None;
            }
            let first = tree.split(node, input);
            stack.extend([(first + 1, depth + 1), (first, depth + 1)]);
        }
        stack.is_empty().then_some(tree)
    }
}

/// Makes a box its own lower or upper half.
pub fn halve(lo: &mut [f64], hi: &mut [f64], input: usize, lower: bool) {
    // Only inputs that can be bisected are.
    if let Some(centre) = middle(lo[input], hi[input]) {
        if lower { hi[input] = centre } else { lo[input] = centre }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_follow_from_the_splits() {
        let mut tree = Tree::new(vec![0.0, -1.0], vec![1.0, 1.0]);
        let first = tree.split(0, 1);
        let second = tree.split(first + 1, 0);
        let (mut lo, mut hi) = (Vec::new(), Vec::new());
        assert_eq!(tree.boxed(second + 1, &mut lo, &mut hi), 2);
        assert_eq!((&lo[..], &hi[..]), (&[0.5, 0.0][..], &[1.0, 1.0][..]));
        assert_eq!(tree.preorder(), [2, 0, 1, 0, 0]);
        assert_eq!(tree.leaves().len(), 3);
        let again = Tree::from_preorder(vec![0.0, -1.0], vec![1.0, 1.0], &tree.preorder()).unwrap();
        assert_eq!(again.preorder(), tree.preorder());
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let read = |splits: &[u32]| Tree::from_preorder(vec![0.0, 2.0], vec![1.0, 2.0], splits);
        assert!(read(&[0]).is_some() && read(&[1, 0, 0]).is_some());
        for splits in [&[][..], &[1, 0], &[0, 0], &[3, 0, 0], &[2, 0, 0]] {
            assert!(read(splits).is_none(), "{splits:?}");
        }
    }
}
