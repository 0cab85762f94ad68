//! The check of a tree of boxes.
//!
//! Lemma. If every rule below holds, `abs(f_A(x)[k] - f_B(x)[k]) <= bounds[k]` for every `x` of the domain
//! and every output `k`. Proof: the root box contains the domain, the halves of a box cover it, and every
//! pre-activation is `>= 0` or `<= 0`, so every `x` lies in a leaf; there the bounds of the forms or those of
//! rows hold, since the results of the moves are `f_A` and `f_B` on the domain.
//!
//! The tree is walked in preorder with an explicit stack; nothing is computed for a box that is cut.

use std::num::NonZeroUsize;

use fiberscope_core::decimal::shortest;
use fiberscope_core::{Activation, BoxNode, Domain, ExactNetwork, Neuron, Operand, Rational, RowMultipliers};

use super::leaves::{Arithmetic, Leaf, Leaves, step};
use super::{Pair, Sign, middle, outward};
use crate::{End, SharedStop, difference_fits, refuse};

/// The deepest path of a tree.
pub const MAX_DEPTH: usize = 4096;

/// A cut on the current path, and whether the walk is in its second part.
struct Frame {
    cut: Cut,
    second: bool,
}

#[derive(Clone, Copy)]
enum Cut {
    Input {
        input: usize,
        lo: f64,
        middle: f64,
        hi: f64,
    },
    /// The last sign of the path so far.
    Sign,
}

/// The check of a tree, a node at a time.
pub struct Walk<'a> {
    pair: &'a Pair,
    leaves: Leaves<'a>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    frames: Vec<Frame>,
    signs: Vec<Sign>,
    count: u64,
    complete: bool,
}

impl<'a> Walk<'a> {
    pub fn new(
        networks: &'a [ExactNetwork; 2],
        pair: &'a Pair,
        domain: &Domain,
        bounds: &[Rational],
        means: (Arithmetic, NonZeroUsize),
    ) -> Result<Self, End> {
        let (lo, hi) = outward(domain).or_else(|rule| refuse("domain", rule))?;
        if bounds.len() != pair.outputs() {
            let rule = format!("expected {} (one per output), found {}", pair.outputs(), bounds.len());
            return refuse("bounds", rule);
        }
        if let Some(k) = bounds.iter().position(Rational::is_negative) {
            return refuse("bounds", format!("the bound of output {} must not be negative", k + 1));
        }
        Ok(Walk {
            pair,
            leaves: Leaves::new(networks, pair, bounds, means),
            lo,
            hi,
            frames: Vec::new(),
            signs: Vec::new(),
            count: 0,
            complete: false,
        })
    }

    /// The next node of the tree. Leaves before it may still wait; a tree that breaks a rule here breaks theirs first.
    pub fn next(&mut self, node: &BoxNode, stop: SharedStop) -> Result<(), End> {
        self.count += 1;
        match self.place(node) {
            Ok(None) => Ok(()),
            Ok(Some(leaf)) => {
                self.turn();
                let taken = self.leaves.take(leaf, stop);
                self.settled(taken)
            }
            Err(end) => self.bound_all(stop).and(Err(end)),
        }
    }

    /// Bounds the leaves that wait.
    pub fn bound_all(&mut self, stop: SharedStop) -> Result<(), End> {
        let bounded = self.leaves.bound_all(stop);
        self.settled(bounded)
    }

    /// The end of the tree.
    pub fn finish(&mut self, stop: SharedStop) -> Result<(), End> {
        self.bound_all(stop)?;
        if self.complete {
            return Ok(());
        }
        let missing = self.frames.iter().filter(|frame| !frame.second).count() + 1;
        refuse(self.step(), format!("the tree ends here; {missing} or more nodes are missing"))
    }

    /// The number of nodes so far; where a node was refused, the number of that one.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn settled(&mut self, bounded: Result<(), (u64, End)>) -> Result<(), End> {
        bounded.map_err(|(node, end)| {
            self.count = node;
            end
        })
    }

    /// Goes to a node: the leaf that it is, if it is one.
    fn place(&mut self, node: &BoxNode) -> Result<Option<Leaf>, End> {
        if self.complete {
            return refuse(self.step(), "the tree ends before this node");
        }
        let rows = match node {
            BoxNode::Leaf => Vec::new(),
            BoxNode::Weighted(rows) => {
                self.demand_rows(rows)?;
                rows.clone()
            }
            BoxNode::Bisect(input) => return self.bisect(*input as usize).map(|()| None),
            BoxNode::Split(operand, neuron) => return self.split(*operand, *neuron).map(|()| None),
        };
        let (lo, hi, signs) = (self.lo.clone(), self.hi.clone(), self.signs.clone());
        Ok(Some(Leaf { node: self.count, lo, hi, signs, rows }))
    }

    fn step(&self) -> String {
        step(self.count)
    }

    fn bisect(&mut self, input: usize) -> Result<(), End> {
        if input >= self.lo.len() {
            return refuse(
                self.step(),
                format!("there are {} inputs, no input {}", self.lo.len(), input + 1),
            );
        }
        self.demand_room()?;
        let (lo, hi) = (self.lo[input], self.hi[input]);
        let Some(middle) = middle(lo, hi) else {
            let rule = format!(
                "input {} cannot be bisected between {} and {}",
                input + 1,
                shortest(lo),
                shortest(hi)
            );
            return refuse(self.step(), rule);
        };
        self.hi[input] = middle;
        self.frames.push(Frame { cut: Cut::Input { input, lo, middle, hi }, second: false });
        Ok(())
    }

    fn split(&mut self, operand: Operand, neuron: Neuron) -> Result<(), End> {
        let name = || format!("neuron {} of layer {} of {operand}", neuron.unit + 1, neuron.layer + 1);
        let layers = self.pair.layers();
        let hidden = layers[..layers.len() - 1].get(neuron.layer);
        if hidden.is_none_or(|layer| layer.activation != Activation::Relu || neuron.unit >= layer.rows) {
            return refuse(self.step(), format!("there is no hidden ReLU {}", name()));
        }
        if self.signs.iter().any(|sign| sign.is_about(operand, neuron)) {
            return refuse(self.step(), format!("the sign of {} was asked for before on this path", name()));
        }
        self.demand_room()?;
        self.signs.push(Sign { operand, neuron, on: true });
        self.frames.push(Frame { cut: Cut::Sign, second: false });
        Ok(())
    }

    fn demand_room(&self) -> Result<(), End> {
        if self.frames.len() < MAX_DEPTH {
            return Ok(());
        }
        refuse(self.step(), format!("a path has more than {MAX_DEPTH} bisections and splits"))
    }

    /// The rows of a leaf stand in order, each once, and have a multiplier for every sign.
    fn demand_rows(&self, rows: &[RowMultipliers]) -> Result<(), End> {
        let mut least = 0;
        for row in rows {
            if row.row() >= 2 * self.pair.outputs() {
                let (outputs, output) = (self.pair.outputs(), u64::from(row.output) + 1);
                let rule = format!("there are {outputs} outputs, no output {output}");
                return refuse(self.step(), rule);
            }
            if row.row() < least {
                return refuse(self.step(), "rows of multipliers stand in their order, each once");
            }
            if row.parts.len() != self.signs.len() {
                let (expected, found) = (self.signs.len(), row.parts.len());
                let rule = format!("expected {expected} multipliers (one per split above), found {found}");
                return refuse(self.step(), rule);
            }
            least = row.row() + 1;
        }
        Ok(())
    }

    /// Goes from a finished box to the next one of the preorder.
    fn turn(&mut self) {
        while let Some(frame) = self.frames.last_mut() {
            let second = std::mem::replace(&mut frame.second, true);
            match frame.cut {
                Cut::Input { input, lo, middle, hi } => {
                    self.hi[input] = hi;
                    self.lo[input] = if second { lo } else { middle };
                }
                Cut::Sign if second => drop(self.signs.pop()),
                Cut::Sign => self.signs.iter_mut().next_back().into_iter().for_each(|sign| sign.on = false),
            }
            if !second {
                return;
            }
            self.frames.pop();
        }
        self.complete = true;
    }
}

/// Checks that a pair may be bounded, and makes it.
pub fn pair(a: &ExactNetwork, b: &ExactNetwork) -> Result<Pair, End> {
    if !difference_fits(&a.widths()) {
        return refuse("tree of boxes", "the networks are too large for this kind of certificate");
    }
    Pair::new(a, b).or_else(|rule| refuse("comparison after the moves", rule))
}
