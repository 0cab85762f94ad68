//! When the nodes of a graph are worked off.

use super::choice;
use super::constant;
use super::graph::{Graph, Maker};
use super::piecewise;
use crate::FormatError;

/// When each node is worked off.
pub(super) struct Schedule {
    switches: Vec<bool>,
    /// For a node that switches its level; for another the first level that needs it, or one more than the
    /// last.
    due: Vec<usize>,
    last: usize,
}

/// The nodes of a level, in the order of the graph: those that lead to it, and those that switch.
#[derive(Clone, Default)]
pub(super) struct Round {
    pub(super) affine: Vec<usize>,
    pub(super) switching: Vec<usize>,
}

impl Schedule {
    pub(super) fn new(graph: &Graph, order: &[usize]) -> Result<Self, FormatError> {
        let count = graph.nodes.len();
        let (mut switches, mut level, mut last) = (vec![false; count], vec![0; count], 0);
        let (mut compares, mut depends) = (vec![false; count], vec![false; count]);
        for &at in order {
            let node = &graph.nodes[at];
            for (place, name) in node.inputs().enumerate() {
                match graph.maker(name?) {
                    Some(Maker::Node(maker)) => {
                        level[at] = level[at].max(level[maker]);
                        depends[at] |= depends[maker];
                        // Other choices are those of constants.
                        switches[at] |=
                            place == 0 && compares[maker] && node.operator == "Where" && node.is_standard();
                    }
                    Some(Maker::Input) => depends[at] = true,
                    _ => {}
                }
            }
            // What reads constants only is computed, if it can be; if not, it is read as the network is.
            depends[at] |= !constant::computes(node.operator);
            depends[at] &= !matches!(node.operator, "Shape" | "Size");
            compares[at] = depends[at] && choice::compares(node.operator);
            switches[at] |= depends[at] && node.is_standard() && piecewise::switches(node.operator);
            level[at] += usize::from(switches[at]);
            last = last.max(level[at]);
        }
        let mut due = vec![last + 1; count];
        for &at in order.iter().rev() {
            if switches[at] {
                due[at] = level[at];
            }
            for name in graph.nodes[at].inputs() {
                if let Some(Maker::Node(maker)) = graph.maker(name?) {
                    due[maker] = due[maker].min(due[at]);
                }
            }
        }
        Ok(Schedule { switches, due, last })
    }

    /// The nodes of a graph, level by level.
    pub(super) fn rounds(&self, order: &[usize]) -> Vec<Round> {
        let mut rounds = vec![Round::default(); self.last + 2];
        for &at in order {
            let round = &mut rounds[self.due[at]];
            if self.switches[at] { &mut round.switching } else { &mut round.affine }.push(at);
        }
        rounds
    }
}
