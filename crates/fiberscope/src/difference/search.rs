//! Branch and bound over boxes and signs of neurons.
//!
//! Every leaf of the tree has bounds for all rows, computed on its own part. The leaf that is farthest from
//! the goal is cut next, so that bounds are the best that so many leaves give whenever the search ends;
//! where the goal is a given number every leaf beyond it has to be cut, in whatever order. A leaf that
//! is ten times beyond the goal is cut twice before it is bounded again.
//!
//! Leaves are taken in batches whose size depends on their number alone and are put together in order, so
//! that the result does not depend on the number of threads.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};

use fiberscope_check::difference::{Bounder, MAX_DEPTH, Pair};
use fiberscope_core::{Rational, decimal};
use rayon::prelude::*;

use super::branch::Splits;
use super::exact::{Exact, Point};
use super::known::Known;
use super::rows::Goal;
use super::tree::{Cut, Side, Tree};
use super::worker::{Bounded, Sight, Worker};
use super::{DifferenceProgress, Ended};
use crate::clock::Instant;
use crate::limit::{Deadline, Progress};

/// A leaf so many times beyond its aim is cut twice.
pub const FAR: f64 = 10.0;
/// Multiplications before the first box, about as many as are done in a second: of large networks fewer points are looked at.
pub const LOOKS: usize = 1 << 30;
/// The leaves of a batch: a part of those that are open, and never more than this.
const BATCH: usize = 64;
const PART: usize = 8;
/// Once so many boxes were not enough, a leaf within so many times its aim is looked at more closely: that costs as much as
/// several boxes, and where the search is long it saves more.
const LONG: usize = 1024;
const LONG_TO_DECIDE: usize = 2048;
const CLOSER: f64 = 8.0;
/// Aims are lowered by this, relatively, so that what is declared in the end stays within what was asked.
pub const MARGIN: f64 = 1.0 / (1 << 18) as f64;
/// A gap below this cannot be reached: the search ends here.
const LEAST_GAP: f64 = 2.0 * MARGIN;
/// Bounds below this part of the size of the outputs are those of rounding.
pub const ROUNDING: f64 = 1.0 / (1u64 << 44) as f64;
/// A range is not looked at more closely than this: the errors that cover underflow are little less.
const LEAST_WIDTH: f64 = 1e-280;

/// What a search is for.
#[derive(Clone, Debug)]
pub enum Purpose {
    /// To decide whether the largest difference is at most this.
    Epsilon(Rational),
    /// To bring the bounds of the largest difference together: the upper one at most `1 + gap` times the
    /// lower one.
    Gap(f64),
    /// To bring the bounds of every row together, up to so much of the width of its output's range.
    Range(f64),
}

/// What a search is given beside the networks.
pub struct Setting<'s> {
    pub purpose: Purpose,
    pub points: &'s [Vec<f64>],
    pub boxes: Option<usize>,
    /// Per row, a bound that an earlier search had; empty if there was none.
    pub ceilings: Vec<f64>,
    /// A bound of the largest difference that is proved without boxes; infinite if there is none.
    pub known: f64,
    pub seed: u64,
    pub deadline: &'s Deadline,
    pub progress: Progress<'s, DifferenceProgress>,
}

/// A leaf that is beyond the goal.
pub(super) struct Open {
    /// How far it is from the goal by its bounds, or by those of a node above it.
    pub(super) far: f64,
    pub(super) node: u32,
    splits: Splits,
    pub(super) bounds: Box<[f64]>,
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        self.far.total_cmp(&other.far).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

/// A branch and bound over parts of a box.
pub struct Search<'s> {
    pub(super) pair: &'s Pair,
    pub(super) exact: &'s Exact,
    pub(super) setting: Setting<'s>,
    pub tree: Tree,
    pub(super) open: BinaryHeap<Open>,
    /// Leaves that are beyond the goal and cannot be cut.
    pub(super) stuck: Vec<Open>,
    /// The largest bound of every row on all other leaves.
    pub(super) closed: Vec<f64>,
    /// The largest value of every row that was seen, and where.
    pub(super) best: Vec<f64>,
    pub(super) places: Vec<Vec<f64>>,
    /// The point with the largest exact difference, and that difference, rounded down.
    pub worst: Option<Point>,
    pub(super) lower: f64,
    /// The largest absolute value of an output of `A` that was seen.
    pub(super) size: f64,
    /// The number of boxes that were bounded.
    pub cells: usize,
    /// What the bounds of the nodes are, but for a search for ranges.
    pub(super) known: Known,
    /// Points of the round from where ascents may begin, how many ascents there were, and how many from points near
    /// the best one.
    pub(super) candidates: Vec<Sight>,
    pub(super) ascents: usize,
    pub(super) hops: usize,
    pub(super) workers: Mutex<Vec<Worker<'s>>>,
    pub(super) reported: Instant,
}

impl<'s> Search<'s> {
    pub fn new(pair: &'s Pair, exact: &'s Exact, tree: Tree, setting: Setting<'s>) -> Self {
        let rows = 2 * pair.outputs();
        Search {
            pair,
            exact,
            setting,
            tree,
            open: BinaryHeap::new(),
            stuck: Vec::new(),
            closed: vec![f64::NEG_INFINITY; rows],
            best: vec![f64::NEG_INFINITY; rows],
            places: vec![Vec::new(); rows],
            worst: None,
            lower: 0.0,
            size: 0.0,
            cells: 0,
            known: Known::default(),
            candidates: Vec::new(),
            ascents: 0,
            hops: 0,
            workers: Mutex::new(Vec::new()),
            reported: Instant::now(),
        }
    }

    /// Looks at points, bounds the leaves that there are and goes on from there; `None` if a limit came
    /// before they were bounded.
    pub fn begin_and_run(&mut self) -> Option<Ended> {
        self.look_around(LOOKS);
        let goal = self.goal();
        self.bound_leaves(&goal).then(|| self.run())
    }

    /// The same for a tree of one leaf, which is bounded in any case.
    pub fn root_and_run(&mut self) -> Ended {
        self.look_around(LOOKS);
        let goal = self.goal();
        let mut worker = Worker::new(self.pair);
        self.tree.part(0, &mut worker.part);
        let bounded = worker.bound(&goal, &self.tree, &[], false);
        self.cells += 1;
        let beyond = bounded.far == f64::INFINITY && is_beyond(self.pair, self.tree.root());
        self.place(0, bounded, &goal, f64::INFINITY);
        self.settle();
        if beyond {
            return self.ended(&goal).unwrap_or(Ended::Rounding);
        }
        self.run()
    }

    /// Bounds the leaves that there are; `false` if a limit came before.
    pub fn bound_leaves(&mut self, goal: &Goal) -> bool {
        let leaves = self.tree.leaves();
        for batch in leaves.chunks(BATCH * PART) {
            let task = |&node: &u32| Task { node, sides: Vec::new(), near: false };
            let tasks: Vec<Task> = batch.iter().map(task).collect();
            for (task, bounded) in tasks.iter().zip(self.bound_all(&tasks, goal)) {
                let Some(bounded) = bounded else { return false };
                self.place(task.node, bounded, goal, f64::INFINITY);
            }
            self.report();
        }
        true
    }

    /// Searches until the goal is reached or a limit comes.
    fn run(&mut self) -> Ended {
        loop {
            let goal = self.goal();
            if let Some(ended) = self.ended(&goal) {
                return ended;
            }
            self.round(&goal);
            self.report();
        }
    }

    /// The bound of every row: the largest one on any leaf.
    pub fn bounds(&self) -> Vec<f64> {
        let mut bounds = self.closed.clone();
        for open in self.open.iter().chain(&self.stuck) {
            bounds.iter_mut().zip(&open.bounds).for_each(|(most, bound)| *most = most.max(*bound));
        }
        bounds
    }

    /// The points with the largest values of the rows, the largest one first, each once.
    pub fn points(&self) -> Vec<Vec<f64>> {
        let mut rows: Vec<usize> = (0..self.best.len()).filter(|&row| !self.places[row].is_empty()).collect();
        rows.sort_by(|&x, &y| self.best[y].total_cmp(&self.best[x]));
        let mut points: Vec<Vec<f64>> = Vec::new();
        for place in rows.into_iter().map(|row| &self.places[row]) {
            if !points.contains(place) {
                points.push(place.clone());
            }
        }
        points
    }

    pub(super) fn goal(&self) -> Goal {
        let rows = self.closed.len();
        let goal = match &self.setting.purpose {
            Purpose::Epsilon(epsilon) => {
                let aim = decimal::lower_f64(epsilon) * (1.0 - MARGIN);
                Goal { decides: true, ..Goal::largest(rows, aim) }
            }
            Purpose::Gap(gap) => {
                Goal::largest(rows, (1.0 + gap.max(LEAST_GAP)) * self.lower * (1.0 - MARGIN))
            }
            Purpose::Range(gap) => {
                let width = |row: usize| {
                    let found = self.best[row] + self.best[row ^ 1];
                    found.max(ROUNDING * self.best[row].abs().max(self.best[row ^ 1].abs()))
                };
                let weight = |row| 1.0 / width(row).max(LEAST_WIDTH);
                let weight = (0..rows).map(weight).collect();
                Goal { offset: self.best.clone(), weight, ..Goal::largest(rows, *gap) }
            }
        };
        // Far from the goal only the farthest leaves are cut, and what is seen more closely is rarely one of them.
        let near = goal.decides || self.open.peek().is_some_and(|open| open.far <= CLOSER * goal.aim);
        let long = if goal.decides { LONG_TO_DECIDE } else { LONG };
        let closer = if near && self.cells >= long { CLOSER } else { 0.0 };
        Goal { ceilings: self.setting.ceilings.clone(), closer, ..goal }
    }

    fn ended(&mut self, goal: &Goal) -> Option<Ended> {
        if let Some(limit) = self.setting.deadline.limit() {
            return Some(Ended::Limit(limit));
        }
        if let Purpose::Epsilon(epsilon) = &self.setting.purpose
            && self.worst.as_ref().is_some_and(|point| point.largest().1 > *epsilon)
        {
            return Some(Ended::Reached);
        }
        if matches!(self.setting.purpose, Purpose::Gap(_)) && self.setting.known <= goal.aim {
            return Some(Ended::Reached);
        }
        if self.setting.boxes.is_some_and(|most| self.cells >= most) && !self.open.is_empty() {
            return Some(Ended::Boxes);
        }
        // What was put in under an earlier goal may be nearer by now.
        while let Some(mut top) = self.open.pop() {
            let far = goal.worst(&top.bounds).1.min(top.far);
            if far < top.far {
                top.far = far;
                self.open.push(top);
                continue;
            }
            let beyond = far > goal.aim;
            let small = matches!(self.setting.purpose, Purpose::Gap(_)) && far <= ROUNDING * self.size;
            self.open.push(top);
            if beyond && !small {
                return None;
            }
            break;
        }
        // What is declared in the end is too much for a gap as small as that.
        let small = matches!(self.setting.purpose, Purpose::Gap(gap) if gap < LEAST_GAP && self.lower > 0.0);
        let bounds = if self.is_for_ranges() { self.bounds() } else { self.least().0 };
        let reached = goal.worst(&bounds).1 <= goal.aim && !small;
        Some(if reached { Ended::Reached } else { Ended::Rounding })
    }

    /// Cuts a batch of leaves and bounds what comes of them.
    fn round(&mut self, goal: &Goal) {
        let count = (self.open.len() / PART).clamp(1, BATCH);
        let mut batch = Vec::new();
        while batch.len() < count
            && let Some(open) = self.open.pop()
        {
            if goal.worst(&open.bounds).1 <= goal.aim {
                self.close(&open.bounds);
            } else if open.far <= goal.aim {
                // A node above it is enough, and all others are as near.
                self.open.push(open);
                break;
            } else {
                batch.push(open);
            }
        }
        let mut tasks: Vec<Task> = Vec::new();
        let splits: Vec<Vec<Cut>> =
            batch.iter().map(|open| open.splits.cuts(open.far > FAR * goal.aim)).collect();
        for (open, cuts) in batch.iter().zip(&splits) {
            for part in 0..1usize << cuts.len() {
                let sides = cuts.iter().enumerate().map(|(bit, &cut)| (cut, part >> bit & 1 == 0));
                let near = open.far <= goal.closer * goal.aim;
                tasks.push(Task { node: open.node, sides: sides.collect(), near });
            }
        }
        let mut bounded = self.bound_all(&tasks, goal).into_iter();
        for (open, cuts) in batch.into_iter().zip(splits) {
            let children: Vec<Option<Bounded>> = bounded.by_ref().take(1 << cuts.len()).collect();
            let Some(children) = children.into_iter().collect::<Option<Vec<_>>>() else {
                // A limit came: the leaf stays one.
                self.open.push(open);
                continue;
            };
            let above = if self.is_for_ranges() { f64::INFINITY } else { open.far };
            if !self.is_for_ranges() {
                self.known.cut(open.node, open.bounds);
            }
            let first = self.tree.split(open.node, cuts[0]);
            let nodes = match cuts.get(1) {
                None => vec![first, first + 1],
                Some(&second) => {
                    let [below, above] = [first, first + 1].map(|node| self.tree.split(node, second));
                    vec![below, above, below + 1, above + 1]
                }
            };
            for (node, child) in nodes.into_iter().zip(children) {
                self.place(node, child, goal, above);
            }
        }
        self.climb();
        self.settle();
    }

    /// Bounds parts in parallel, in order; `None` for those that a limit came before.
    fn bound_all(&mut self, tasks: &[Task], goal: &Goal) -> Vec<Option<Bounded>> {
        let bounded = |Task { node, sides, near }: &Task| {
            if self.setting.deadline.is_past() {
                return None;
            }
            let lock = || self.workers.lock().unwrap_or_else(PoisonError::into_inner);
            let spare = lock().pop();
            let mut worker = spare.unwrap_or_else(|| Worker::new(self.pair));
            let depth = self.tree.part(*node, &mut worker.part) + sides.len();
            sides.iter().for_each(|&side| self.tree.take(&mut worker.part, side));
            let mut bounded = worker.bound(goal, &self.tree, self.tree.weights(*node), *near);
            if depth + 2 > MAX_DEPTH {
                bounded.splits = Splits::default();
            }
            lock().push(worker);
            Some(bounded)
        };
        let bounded: Vec<_> = tasks.par_iter().map(bounded).collect();
        self.cells += bounded.iter().flatten().count();
        bounded
    }

    /// Puts a leaf where it belongs; so far from the goal is the nearest node above it.
    pub(super) fn place(&mut self, node: u32, bounded: Bounded, goal: &Goal, above: f64) {
        let Bounded { bounds, far, splits, weights, sight } = bounded;
        self.tree.weigh(node, weights);
        if !self.is_for_ranges() {
            self.known.bounded(node, far);
        }
        let leaf = Open { far: far.min(above), node, splits, bounds };
        match () {
            () if far <= goal.aim => self.close(&leaf.bounds),
            () if splits.is_empty() => self.stuck.push(leaf),
            () => self.open.push(leaf),
        }
        if let Some(sight) = sight {
            self.see(&sight.x, &sight.difference);
            self.candidates.push(sight);
        }
    }

    fn is_for_ranges(&self) -> bool {
        matches!(self.setting.purpose, Purpose::Range(_))
    }

    fn close(&mut self, bounds: &[f64]) {
        self.closed.iter_mut().zip(bounds).for_each(|(most, bound)| *most = most.max(*bound));
    }
}

/// A part: a node and sides of cuts, one after the other.
struct Task {
    node: u32,
    sides: Vec<Side>,
    /// Whether the node is so near the goal that its parts are looked at more closely at once.
    near: bool,
}

/// Whether a corner of the box or its middle cannot be bounded as a box of its own: then no box around it can.
pub fn is_beyond(pair: &Pair, (lo, hi): (&[f64], &[f64])) -> bool {
    let middle: Vec<f64> = lo.iter().zip(hi).map(|(lo, hi)| 0.5 * lo + 0.5 * hi).collect();
    let mut bounder = Bounder::new(pair);
    [lo, hi, &middle].iter().any(|x| !bounder.run(x, x))
}
