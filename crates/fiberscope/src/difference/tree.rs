//! The tree of boxes: the root is the domain; a node is cut by bisecting one input of its box, or where a
//! hidden neuron's pre-activation changes its sign.
//!
//! A node keeps its parent and its cut only. Its box is what the bisections on the path from the root
//! leave, computed with the very function of the checker ([`middle`]), so that both speak of the same boxes,
//! whatever the number of inputs. A leaf may have multipliers for the signs on its path.

use std::collections::HashMap;

use fiberscope_check::difference::{MAX_DEPTH, Pair, Sign, middle};
use fiberscope_core::{Activation, BoxNode, Neuron, Operand, RowMultipliers};

/// No node.
const NONE: u32 = u32::MAX;

/// How a node is cut: the number of an input or, after all inputs, that of a neuron of A, then of B, and so
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut(u32);

/// A cut and whether its first part is meant: the lower half, or where the neuron is on.
pub type Side = (Cut, bool);

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    cut: Option<Cut>,
    /// The child with the first part; the other one comes next.
    first: u32,
}

/// A part of the root box: a box and signs of hidden neurons.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    pub signs: Vec<Sign>,
}

/// A tree of boxes.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// The layer and the first number of the neurons of each hidden layer, in order; then how many there are.
    layers: Vec<(usize, usize)>,
    weights: HashMap<u32, Vec<RowMultipliers>>,
    outputs: usize,
}

impl Tree {
    /// The tree whose only box is the root.
    pub fn new(pair: &Pair, lo: Vec<f64>, hi: Vec<f64>) -> Self {
        let mut count = 0;
        let mut layers = Vec::new();
        let hidden = &pair.layers()[..pair.layers().len() - 1];
        for (l, layer) in hidden.iter().enumerate().filter(|(_, layer)| layer.activation == Activation::Relu)
        {
            layers.push((l, count));
            count += layer.rows;
        }
        layers.push((usize::MAX, count));
        let nodes = vec![Node { parent: NONE, cut: None, first: NONE }];
        Tree { nodes, lo, hi, layers, weights: HashMap::new(), outputs: pair.outputs() }
    }

    /// The root box.
    pub fn root(&self) -> (&[f64], &[f64]) {
        (&self.lo, &self.hi)
    }

    /// The cut that bisects an input.
    pub fn input(&self, input: usize) -> Cut {
        Cut(input as u32)
    }

    /// The cut where the pre-activation of a neuron changes its sign, if it is a hidden ReLU neuron.
    pub fn neuron(&self, operand: Operand, neuron: Neuron) -> Option<Cut> {
        let at = self.layers.iter().position(|(layer, _)| *layer == neuron.layer)?;
        let (begin, end) = (self.layers[at].1, self.layers.get(at + 1)?.1);
        let number = begin.checked_add(neuron.unit).filter(|number| *number < end)?;
        u32::try_from(self.lo.len() + 2 * number + usize::from(operand == Operand::B)).ok().map(Cut)
    }

    /// What a cut is in a certificate.
    fn named(&self, cut: Cut) -> BoxNode {
        let Some(place) = (cut.0 as usize).checked_sub(self.lo.len()) else {
            return BoxNode::Bisect(cut.0);
        };
        let (operand, neuron) = self.neuron_of(place);
        BoxNode::Split(operand, neuron)
    }

    fn neuron_of(&self, place: usize) -> (Operand, Neuron) {
        let operand = if place.is_multiple_of(2) { Operand::A } else { Operand::B };
        let at = self.layers.partition_point(|(_, begin)| *begin <= place / 2) - 1;
        let (layer, begin) = self.layers[at];
        (operand, Neuron { layer, unit: place / 2 - begin })
    }

    /// Cuts a leaf; the index of the child with the first part, the other one comes next.
    pub fn split(&mut self, node: u32, cut: Cut) -> u32 {
        let first = self.nodes.len() as u32;
        self.nodes[node as usize].cut = Some(cut);
        self.nodes[node as usize].first = first;
        self.nodes.extend([Node { parent: node, cut: None, first: NONE }; 2]);
        first
    }

    /// Gives a leaf multipliers.
    pub fn weigh(&mut self, node: u32, weights: Vec<RowMultipliers>) {
        if weights.is_empty() {
            self.weights.remove(&node);
        } else {
            self.weights.insert(node, weights);
        }
    }

    /// The multipliers of a leaf.
    pub fn weights(&self, node: u32) -> &[RowMultipliers] {
        self.weights.get(&node).map_or(&[], |weights| weights)
    }

    /// Writes the part of a node; its depth.
    pub fn part(&self, node: u32, part: &mut Part) -> usize {
        part.lo.clone_from(&self.lo);
        part.hi.clone_from(&self.hi);
        part.signs.clear();
        let mut path = Vec::new();
        let mut at = node;
        while self.nodes[at as usize].parent != NONE {
            let parent = self.nodes[at as usize].parent;
            let above = self.nodes[parent as usize];
            path.extend(above.cut.map(|cut| (cut, at == above.first)));
            at = parent;
        }
        path.iter().rev().for_each(|&side| self.take(part, side));
        path.len()
    }

    /// Makes of a part one side of a cut.
    pub fn take(&self, part: &mut Part, (cut, first): Side) {
        let input = cut.0 as usize;
        match input.checked_sub(self.lo.len()) {
            Some(place) => {
                let (operand, neuron) = self.neuron_of(place);
                part.signs.push(Sign { operand, neuron, on: first });
            }
            // Only inputs that can be bisected are.
            None => {
                if let Some(centre) = middle(part.lo[input], part.hi[input]) {
                    if first { part.hi[input] = centre } else { part.lo[input] = centre }
                }
            }
        }
    }

    /// The cuts on the way from the root to a node, as certificates name them, and whether the first part was taken.
    pub fn path(&self, node: u32) -> Vec<(BoxNode, bool)> {
        let mut path = Vec::new();
        let mut at = node;
        while self.nodes[at as usize].parent != NONE {
            let parent = self.nodes[at as usize].parent;
            let above = self.nodes[parent as usize];
            path.extend(above.cut.map(|cut| (self.named(cut), at == above.first)));
            at = parent;
        }
        path.reverse();
        path
    }

    /// Cuts along a path from the root; the node at its end, if the cuts can be made.
    pub fn follow(&mut self, path: &[(BoxNode, bool)]) -> Option<u32> {
        let (mut node, mut part) = (0, Part::default());
        if path.len() > MAX_DEPTH {
            return None;
        }
        for (cut, first) in path {
            self.part(node, &mut part);
            let cut = self.cut_of(cut, &part)?;
            node = self.split(node, cut) + u32::from(!first);
        }
        Some(node)
    }

    /// The cut that a certificate names, if a part can be cut so.
    fn cut_of(&self, named: &BoxNode, part: &Part) -> Option<Cut> {
        match named {
            BoxNode::Bisect(input) => {
                let input = *input as usize;
                middle(*part.lo.get(input)?, *part.hi.get(input)?)?;
                Some(self.input(input))
            }
            BoxNode::Split(operand, neuron) => {
                let known = part.signs.iter().any(|sign| sign.is_about(*operand, *neuron));
                if known { None } else { self.neuron(*operand, *neuron) }
            }
            BoxNode::Leaf | BoxNode::Weighted(_) => None,
        }
    }

    /// Whether rows of multipliers fit to a part with so many signs.
    pub fn fit(&self, rows: &[RowMultipliers], signs: usize) -> bool {
        let fits = |row: &RowMultipliers| row.row() < 2 * self.outputs && row.parts.len() == signs;
        rows.iter().all(fits) && rows.is_sorted_by(|x, y| x.row() < y.row())
    }

    /// The leaves from left to right.
    pub fn leaves(&self) -> Vec<u32> {
        let nodes = self.below(0).map(|(node, _)| node);
        nodes.filter(|&node| self.nodes[node as usize].cut.is_none()).collect()
    }

    /// The number of nodes.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The first child of a node that is cut; the other one comes next.
    pub fn first_child(&self, node: usize) -> Option<usize> {
        self.nodes[node].cut.map(|_| self.nodes[node].first as usize)
    }

    /// The nodes in preorder, as certificates have them.
    pub fn preorder(&self) -> Vec<BoxNode> {
        self.preorder_to(&[])
    }

    /// The nodes in preorder of the tree that ends at those for which this is true. They have the multipliers that they had as
    /// leaves.
    pub fn preorder_to(&self, ends: &[bool]) -> Vec<BoxNode> {
        self.below_to(0, ends).map(|(_, named)| named).collect()
    }

    /// A node and those below it in preorder, with what they are in a certificate.
    pub fn below(&self, node: u32) -> impl Iterator<Item = (u32, BoxNode)> {
        self.below_to(node, &[])
    }

    fn below_to(&self, node: u32, ends: &[bool]) -> impl Iterator<Item = (u32, BoxNode)> {
        let mut stack = vec![node];
        std::iter::from_fn(move || {
            let node = stack.pop()?;
            let Node { cut, first, .. } = self.nodes[node as usize];
            let cut = cut.filter(|_| ends.get(node as usize) != Some(&true));
            if cut.is_some() {
                stack.extend([first + 1, first]);
            }
            let named = match (cut, self.weights.get(&node)) {
                (Some(cut), _) => self.named(cut),
                (None, Some(weights)) => BoxNode::Weighted(weights.clone()),
                (None, None) => BoxNode::Leaf,
            };
            Some((node, named))
        })
    }

    /// The tree with these nodes in preorder, if they are one for this pair.
    pub fn from_preorder(pair: &Pair, lo: Vec<f64>, hi: Vec<f64>, nodes: &[BoxNode]) -> Option<Self> {
        let mut tree = Tree::new(pair, lo, hi);
        // The nodes to come, the next one last, with their depths.
        let mut stack = vec![(0u32, 0)];
        let mut part = Part::default();
        for each in nodes {
            let (node, depth) = stack.pop()?;
            if *each == BoxNode::Leaf {
                continue;
            }
            tree.part(node, &mut part);
            if let BoxNode::Weighted(rows) = each {
                if !tree.fit(rows, part.signs.len()) {
                    return None;
                }
                tree.weigh(node, rows.clone());
                continue;
            }
            let cut = tree.cut_of(each, &part)?;
            if depth >= MAX_DEPTH {
                return None;
            }
            let first = tree.split(node, cut);
            stack.extend([(first + 1, depth + 1), (first, depth + 1)]);
        }
        stack.is_empty().then_some(tree)
    }
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Network;

    use super::*;

    /// Two inputs, a hidden layer of three neurons, then one of two.
    fn pair() -> Pair {
        let network = Network::from_rows(&[
            (&[&[1.0, 0.0], &[0.0, 1.0], &[1.0, 1.0]], &[0.0, 0.0, 0.0]),
            (&[&[1.0, 0.0, 1.0], &[0.0, 1.0, 1.0]], &[0.0, 0.0]),
            (&[&[1.0, 1.0]], &[0.0]),
        ]);
        let network = network.unwrap().to_exact();
        Pair::new(&network, &network).unwrap()
    }

    fn split(operand: Operand, layer: usize, unit: usize) -> BoxNode {
        BoxNode::Split(operand, Neuron { layer, unit })
    }

    #[test]
    fn parts_follow_from_the_cuts() {
        let mut tree = Tree::new(&pair(), vec![0.0, -1.0], vec![1.0, 1.0]);
        let first = tree.split(0, tree.input(1));
        let second = tree.split(first + 1, tree.input(0));
        let cut = tree.neuron(Operand::B, Neuron { layer: 1, unit: 1 }).unwrap();
        let third = tree.split(second + 1, cut);
        let mut part = Part::default();
        assert_eq!(tree.part(third + 1, &mut part), 3);
        assert_eq!((&part.lo[..], &part.hi[..]), (&[0.5, 0.0][..], &[1.0, 1.0][..]));
        let sign = Sign { operand: Operand::B, neuron: Neuron { layer: 1, unit: 1 }, on: false };
        assert_eq!(part.signs, [sign]);
        let weights = vec![RowMultipliers::nearest(1, &[0.5]).unwrap()];
        tree.weigh(third, weights.clone());
        let nodes = [
            BoxNode::Bisect(1),
            BoxNode::Leaf,
            BoxNode::Bisect(0),
            BoxNode::Leaf,
            split(Operand::B, 1, 1),
            BoxNode::Weighted(weights),
            BoxNode::Leaf,
        ];
        assert_eq!(tree.preorder(), nodes);
        assert_eq!(tree.leaves().len(), 4);
        // Without what is below a node; it has the multipliers that it had as a leaf.
        let to = |tree: &Tree, end: u32| {
            let ends: Vec<bool> = (0..tree.count() as u32).map(|node| node == end).collect();
            tree.preorder_to(&ends)
        };
        assert_eq!(to(&tree, second + 1), [&nodes[..4], &[BoxNode::Leaf]].concat());
        assert_eq!(to(&tree, 0), [BoxNode::Leaf]);
        tree.split(third, tree.input(0));
        assert_eq!(to(&tree, third), nodes);
        let again = Tree::from_preorder(&pair(), vec![0.0, -1.0], vec![1.0, 1.0], &nodes).unwrap();
        assert_eq!(again.preorder(), nodes);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let read = |nodes: &[BoxNode]| Tree::from_preorder(&pair(), vec![0.0, 2.0], vec![1.0, 2.0], nodes);
        let numbers = |numbers: &[u32]| -> Vec<BoxNode> {
            numbers.iter().map(|n| n.checked_sub(1).map_or(BoxNode::Leaf, BoxNode::Bisect)).collect()
        };
        assert!(read(&numbers(&[0])).is_some() && read(&numbers(&[1, 0, 0])).is_some());
        for wrong in [&[][..], &[1, 0], &[0, 0], &[3, 0, 0], &[2, 0, 0]] {
            assert!(read(&numbers(wrong)).is_none(), "{wrong:?}");
        }
        let below = |nodes: &[BoxNode]| {
            let leaves = vec![BoxNode::Leaf; nodes.len() + 1];
            read(&[nodes, &leaves].concat()).is_some()
        };
        assert!(below(&[split(Operand::A, 0, 2), split(Operand::B, 0, 2)]));
        assert!(!below(&[split(Operand::A, 0, 2), split(Operand::A, 0, 2)]));
        assert!(!below(&[split(Operand::A, 0, 3)]) && !below(&[split(Operand::A, 2, 0)]));
        let weighted = |row, numbers: &[f64]| RowMultipliers::nearest(row, numbers).unwrap();
        let leaf = |rows: Vec<RowMultipliers>| {
            read(&[split(Operand::A, 1, 0), BoxNode::Weighted(rows), BoxNode::Leaf]).is_some()
        };
        assert!(leaf(vec![weighted(0, &[1.0]), weighted(1, &[1.0])]));
        assert!(!leaf(vec![weighted(1, &[1.0]), weighted(0, &[1.0])]));
        assert!(!leaf(vec![weighted(2, &[1.0])]) && !leaf(vec![weighted(0, &[1.0, 1.0])]));
    }
}
