//! Circles of uses.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The shortest circle through every node that is on one, each circle once, beginning with its smallest node.
pub fn circles<T: Ord + Clone>(uses: &BTreeMap<T, BTreeSet<T>>) -> BTreeSet<Vec<T>> {
    let shortest = uses.keys().filter_map(|start| circle(uses, start));
    shortest
        .map(|mut circle| {
            let first = (0..circle.len()).min_by_key(|&i| &circle[i]).unwrap_or(0);
            circle.rotate_left(first);
            circle
        })
        .collect()
}

/// The shortest circle through a node.
fn circle<T: Ord + Clone>(uses: &BTreeMap<T, BTreeSet<T>>, start: &T) -> Option<Vec<T>> {
    let mut reached: BTreeMap<&T, &T> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(node) = waiting.pop_front() {
        for next in uses.get(node)? {
            if next == start {
                let mut path = vec![node.clone()];
                let mut at = node;
                while at != start {
                    at = reached[at];
                    path.push(at.clone());
                }
                path.reverse();
                return Some(path);
            }
            if uses.contains_key(next) && !reached.contains_key(next) {
                reached.insert(next, node);
                waiting.push_back(next);
            }
        }
    }
    None
}
