//! The least bound that a tree proves.
//!
//! A part that is cut may have parts with larger bounds than its own, since slopes are chosen anew on each of them. All that is
//! below a node is no farther from the goal than the node itself, by its own bounds: a certificate may end there. So a leaf counts
//! with the least bound of all nodes above it, and where its own is larger the tree that is handed over ends higher up.

use fiberscope_core::BoxNode;

use super::search::Search;

impl Search<'_> {
    /// The bound of every row and the tree in preorder, as far down as it proves the least largest bound.
    pub fn least(&self) -> (Vec<f64>, Vec<BoxNode>) {
        let (known, count) = (&self.known, self.tree.count());
        // Children have larger numbers than their parents. First what each subtree proves, and so what all of it does.
        let mut proves: Vec<f64> = (0..count).map(|node| known.far(node)).collect();
        for node in (0..count).rev() {
            if let Some(first) = self.tree.first_child(node) {
                proves[node] = proves[node].min(proves[first].max(proves[first + 1]));
            }
        }
        let least = proves[0];
        // Then the lowest nodes that are enough where leaves below them are not.
        let (mut beyond, mut ends) = (vec![false; count], vec![false; count]);
        for node in (0..count).rev() {
            let below = self.tree.first_child(node).map(|first| beyond[first] || beyond[first + 1]);
            let enough = known.far(node) <= least;
            ends[node] = below == Some(true) && enough;
            beyond[node] = below.unwrap_or(true) && !enough;
        }
        let mut bounds = self.closed.clone();
        let mut take =
            |of: &[f64]| bounds.iter_mut().zip(of).for_each(|(most, bound)| *most = most.max(*bound));
        let mut over = vec![false; count];
        for node in 0..count {
            let Some(first) = self.tree.first_child(node) else { continue };
            if ends[node] && !over[node] {
                known.bounds(node).into_iter().for_each(&mut take);
            }
            over[first] = over[node] || ends[node];
            over[first + 1] = over[first];
        }
        let leaves = self.open.iter().chain(&self.stuck);
        leaves.filter(|open| !over[open.node as usize]).for_each(|open| take(&open.bounds));
        (bounds, self.tree.preorder_to(&ends))
    }
}

#[cfg(test)]
mod tests {
    use fiberscope_check::difference::Pair;
    use fiberscope_core::{Domain, Network};

    use super::super::branch::Splits;
    use super::super::exact::Exact;
    use super::super::search::{Purpose, Setting};
    use super::super::tree::Tree;
    use super::super::worker::Bounded;
    use super::*;
    use crate::limit::{Deadline, Progress};

    #[test]
    fn a_tree_ends_where_its_parts_are_no_better() {
        let network = Network::from_rows(&[(&[&[1.0]], &[0.0]), (&[&[1.0]], &[0.0])]).unwrap();
        let pair = Pair::new(&network.to_exact(), &network.to_exact()).unwrap();
        let domain = Domain::from_bounds(&[(0.0, 1.0)]).unwrap();
        let exact = Exact::new(&network, &network, &domain);
        let setting = Setting {
            purpose: Purpose::Gap(0.1),
            points: &[],
            boxes: None,
            ceilings: Vec::new(),
            known: f64::INFINITY,
            seed: 0,
            deadline: &Deadline::NEVER,
            progress: Progress::SILENT,
        };
        let mut search = Search::new(&pair, &exact, Tree::new(&pair, vec![0.0], vec![1.0]), setting);
        let goal = search.goal();
        // Cuts the leaf that is farthest; its parts have these bounds.
        let place = |search: &mut Search, node: u32, far: f64, above: f64| {
            let splits = Splits::widest(
                &super::super::tree::Part { lo: vec![0.0], hi: vec![1.0], signs: Vec::new() },
                &search.tree,
            );
            let bounds = vec![far, 0.5 * far].into_boxed_slice();
            search.place(
                node,
                Bounded { bounds, far, splits, weights: Vec::new(), sight: None },
                &goal,
                above,
            );
        };
        let cut = |search: &mut Search, first: f64, second: f64| {
            let open = search.open.pop().unwrap();
            let (node, far) = (open.node, open.far);
            search.known.cut(node, open.bounds);
            let child = search.tree.split(node, search.tree.input(0));
            place(search, child, first, far);
            place(search, child + 1, second, far);
            node
        };
        let (leaf, halves) = (BoxNode::Leaf, BoxNode::Bisect(0));
        place(&mut search, 0, 8.0, f64::INFINITY);
        assert_eq!(search.least(), (vec![8.0, 4.0], vec![leaf.clone()]));
        // Worse than the whole: that stays the answer, and the worse part counts with its bound.
        assert_eq!(cut(&mut search, 9.0, 3.0), 0);
        assert_eq!(search.least(), (vec![8.0, 4.0], vec![leaf.clone()]));
        assert_eq!((search.open.peek().unwrap().node, search.open.peek().unwrap().far), (1, 8.0));
        // Its parts are better.
        assert_eq!(cut(&mut search, 5.0, 2.0), 1);
        let nodes = vec![halves.clone(), halves.clone(), leaf.clone(), leaf.clone(), leaf.clone()];
        assert_eq!(search.least(), (vec![5.0, 2.5], nodes.clone()));
        // One of them has worse parts: the tree ends there and nowhere else.
        assert_eq!(cut(&mut search, 6.0, 1.0), 3);
        assert_eq!(search.least(), (vec![5.0, 2.5], nodes));
    }
}
