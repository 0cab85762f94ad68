//! Branch and bound over boxes, one tree for each class.
//!
//! The box whose bound is largest, of whatever class, is bisected next: there a counterexample is most likely,
//! and all of them have to be settled in the end. Boxes are taken in batches whose size depends on their number
//! alone and are put together in order, so that the result does not depend on the number of threads.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fiberscope_check::difference::{MAX_DEPTH, Pair};
use fiberscope_core::{BoxNode, DecisionNode, Rational, decimal};
use rayon::prelude::*;

use super::super::branch::Splits;
use super::super::exact::Exact;
use super::super::tree::{Cut, Tree};
use super::objective::Sure;
use super::settle::{Settled, Start, Unsettled, Worker};
use super::{ClassState, Sureness, Top1Options, Top1Progress, Top1Verdict, Undecided};
use crate::clock::Instant;

/// The boxes of a batch: a part of those that are open, and never more than this.
const BATCH: usize = 64;
const PART: usize = 8;
/// A box is given up when so many around it, one in the other, were open by rounding alone.
const GRAZED: u32 = 8;
/// The search is given up when so many boxes are.
const GIVEN_UP: usize = 64;
/// Where there is no proof any more, so many rounds are left to find a counterexample.
const LATE: usize = 64;
/// How often progress is reported.
const REPORT: Duration = Duration::from_millis(100);

/// A box on which a class is not settled.
struct Open {
    far: f64,
    class: usize,
    node: u32,
    splits: Splits,
    start: Start,
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        let places = (other.class, other.node).cmp(&(self.class, self.node));
        self.far.total_cmp(&other.far).then(places)
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

/// The boxes of one class.
struct ClassBoxes {
    tree: Tree,
    /// The leaves that are not held down by own leads alone.
    leaves: BTreeMap<u32, DecisionNode>,
    /// The number of leaves that are not settled.
    open: usize,
    /// Whether every settled leaf is one where `A` is never sure.
    never: bool,
}

/// A search for all classes.
pub struct Search<'s> {
    pub(super) pair: &'s Pair,
    pub(super) exact: &'s Exact,
    pub(super) options: &'s Top1Options<'s>,
    pub(super) margin: &'s Rational,
    /// When `A` is sure, in doubles.
    pub(super) sure: Sure,
    pub(super) root: (Vec<f64>, Vec<f64>),
    /// The largest bound of an output of `A` on the box.
    pub(super) size: f64,
    /// The classes that `A` was seen to be sure of.
    pub(super) sure_of: Vec<bool>,
    /// How many points did not change the class although doubles said so, and the best value of these.
    pub(super) vain: usize,
    pub(super) best_vain: f64,
    /// Whether a point refutes the margin, although not the confidence.
    pub(super) refuted: bool,
    /// The number of boxes that were bounded.
    pub cells: usize,
    classes: Vec<ClassBoxes>,
    open: BinaryHeap<Open>,
    given_up: usize,
    workers: Mutex<Vec<Worker<'s>>>,
    reported: Instant,
}

/// A box of a class: a node and the half of its box.
struct Task {
    class: usize,
    node: u32,
    cut: Cut,
    lower: bool,
    start: Start,
}

impl<'s> Search<'s> {
    pub fn new(
        pair: &'s Pair,
        exact: &'s Exact,
        root: (Vec<f64>, Vec<f64>),
        margin: &'s Rational,
        options: &'s Top1Options<'s>,
    ) -> Self {
        let sure = match &options.sureness {
            Sureness::Margin(margin) => Sure::Lead(margin.to_f64()),
            Sureness::Confidence(p) => {
                let odds = p / &(&Rational::ONE - p);
                Sure::LogOdds(odds.to_f64().ln())
            }
        };
        let boxes = || ClassBoxes {
            tree: Tree::new(pair, root.0.clone(), root.1.clone()),
            leaves: BTreeMap::new(),
            open: 1,
            never: true,
        };
        let classes = (0..pair.outputs()).map(|_| boxes()).collect();
        Search {
            pair,
            exact,
            options,
            margin,
            sure,
            size: 0.0,
            sure_of: vec![false; pair.outputs()],
            vain: 0,
            best_vain: f64::NEG_INFINITY,
            refuted: false,
            cells: 0,
            classes,
            open: BinaryHeap::new(),
            given_up: 0,
            workers: Mutex::new(Vec::new()),
            reported: Instant::now(),
            root,
        }
    }

    /// Searches until the question is answered or a limit comes.
    pub fn run(&mut self) -> Top1Verdict {
        let points = match self.begin() {
            Ok(points) => points,
            Err(undecided) => return Top1Verdict::Undecided(undecided),
        };
        let seen = self.look_around();
        // What the whole box settles has no counterexample.
        if !self.open.is_empty() || self.given_up > 0 {
            let found = seen.or_else(|| self.climb()).or_else(|| self.look(points, BATCH));
            if let Some(change) = found {
                return Top1Verdict::Changes(Box::new(change));
            }
        }
        let mut late = 0;
        loop {
            if self.open.is_empty() && self.given_up == 0 {
                return Top1Verdict::Same;
            }
            if let Some(limit) = self.options.deadline.limit() {
                return Top1Verdict::Undecided(Undecided::Limit(limit));
            }
            if self.refuted && late == LATE {
                return Top1Verdict::Undecided(Undecided::Confidence);
            }
            if self.open.is_empty() || self.given_up >= GIVEN_UP {
                return Top1Verdict::Undecided(Undecided::Rounding);
            }
            late += usize::from(self.refuted);
            if let Some(change) = self.round() {
                return Top1Verdict::Changes(Box::new(change));
            }
            self.report();
        }
    }

    /// Every class on the whole box, which is bounded once; points to look at.
    fn begin(&mut self) -> Result<Vec<Vec<f64>>, Undecided> {
        let mut worker = self.worker();
        (worker.part.lo, worker.part.hi) = self.root.clone();
        let finite = worker.bound();
        self.cells += 1;
        if finite {
            let layer = worker.bounder.layer(self.pair.layers().len() - 1);
            self.size = layer.zl.iter().chain(layer.zu).fold(0.0f64, |most, z| most.max(z.abs()));
        }
        let mut points = Vec::new();
        for class in 0..self.classes.len() {
            if class > 0
                && let Some(limit) = self.options.deadline.limit()
            {
                return Err(Undecided::Limit(limit));
            }
            let (start, tree) = (Start::default(), &self.classes[class].tree);
            let settled = match finite {
                true => worker.settle(class, &start, tree),
                false => worker.unbounded(tree, &start),
            };
            points.extend(self.place((class, 0), settled));
        }
        Ok(points)
    }

    fn worker(&self) -> Worker<'s> {
        Worker::new(self.pair, decimal::lower_f64(self.margin))
    }

    /// Puts a box where it belongs; the points to look at.
    fn place(&mut self, (class, node): (usize, u32), settled: Settled) -> Vec<Vec<f64>> {
        let boxes = &mut self.classes[class];
        match settled {
            Settled::Leaf(leaf) => {
                boxes.open -= 1;
                boxes.never &= matches!(leaf, DecisionNode::Never(_));
                if leaf != DecisionNode::Held(Vec::new()) {
                    boxes.leaves.insert(node, leaf);
                }
                Vec::new()
            }
            Settled::Open(Unsettled { far, splits, start, points }) => {
                if splits.is_empty() || start.grazed >= GRAZED {
                    self.given_up += 1;
                } else {
                    self.open.push(Open { far, class, node, splits, start });
                }
                points
            }
        }
    }

    /// Bisects a batch of boxes and settles what comes of them.
    fn round(&mut self) -> Option<super::ClassChange> {
        let count = (self.open.len() / PART).clamp(1, BATCH);
        let batch: Vec<Open> = (0..count).map_while(|_| self.open.pop()).collect();
        let mut tasks = Vec::new();
        for open in &batch {
            let cut = open.splits.cuts(false)[0];
            for lower in [true, false] {
                let (class, node, start) = (open.class, open.node, open.start.clone());
                tasks.push(Task { class, node, cut, lower, start });
            }
        }
        let settled: Vec<Option<Settled>> = tasks.par_iter().map(|task| self.settle(task)).collect();
        self.cells += settled.iter().flatten().count();
        let (mut points, mut settled) = (Vec::new(), settled.into_iter());
        for (open, task) in batch.into_iter().zip(tasks.chunks(2)) {
            let (Some(below), Some(above)) = (settled.next().flatten(), settled.next().flatten()) else {
                // A limit came: the box stays as it is.
                self.open.push(open);
                continue;
            };
            let boxes = &mut self.classes[open.class];
            let first = boxes.tree.split(open.node, task[0].cut);
            boxes.open += 1;
            points.extend(self.place((open.class, first), below));
            points.extend(self.place((open.class, first + 1), above));
        }
        self.look(points, tasks.len())
    }

    fn settle(&self, task: &Task) -> Option<Settled> {
        if self.options.deadline.is_past() {
            return None;
        }
        let lock = || self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let spare = lock().pop();
        let mut worker = spare.unwrap_or_else(|| self.worker());
        let tree = &self.classes[task.class].tree;
        let depth = tree.part(task.node, &mut worker.part) + 1;
        tree.take(&mut worker.part, (task.cut, task.lower));
        let mut settled = match worker.bound() {
            true => worker.settle(task.class, &task.start, tree),
            false => worker.unbounded(tree, &task.start),
        };
        if let Settled::Open(open) = &mut settled
            && depth >= MAX_DEPTH
        {
            open.splits = Splits::default();
        }
        lock().push(worker);
        Some(settled)
    }

    /// What is known of every class.
    pub fn states(&self) -> Vec<ClassState> {
        let state = |boxes: &ClassBoxes| match boxes {
            ClassBoxes { open: 0, never: true, .. } => ClassState::Never,
            ClassBoxes { open: 0, .. } => ClassState::Same,
            _ => ClassState::Open,
        };
        self.classes.iter().map(state).collect()
    }

    /// The classes that `A` was seen to be sure of.
    pub fn seen(&self) -> Vec<usize> {
        (0..self.sure_of.len()).filter(|&class| self.sure_of[class]).collect()
    }

    /// The trees of all classes, as certificates have them.
    pub fn nodes(&self) -> Vec<DecisionNode> {
        let mut nodes = Vec::new();
        for ClassBoxes { tree, leaves, .. } in &self.classes {
            let mut ids = tree.leaves().into_iter();
            nodes.extend(tree.preorder().into_iter().map(|node| match node {
                BoxNode::Bisect(input) => DecisionNode::Bisect(input),
                _ => {
                    let leaf = ids.next().and_then(|id| leaves.get(&id));
                    leaf.cloned().unwrap_or(DecisionNode::Held(Vec::new()))
                }
            }));
        }
        nodes
    }

    fn report(&mut self) {
        let now = Instant::now();
        if now.saturating_duration_since(self.reported) < REPORT {
            return;
        }
        self.reported = now;
        let settled = self.classes.iter().filter(|class| class.open == 0).count();
        let (classes, cells, open) = (self.classes.len(), self.cells, self.open.len());
        self.options.progress.report(Top1Progress { settled, classes, cells, open });
    }
}
