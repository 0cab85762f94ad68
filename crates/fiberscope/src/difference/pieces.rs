//! The search over boxes in pieces that are searched apart, on any machine, in any order.
//!
//! All pieces have one aim, a number. A leaf with a bound of at most the aim is closed; one where a point is
//! seen with a larger difference is *beyond* and left alone; any other one is cut. What becomes of a leaf
//! depends on its path from the root alone (its box, the signs, and the multipliers that it inherits), so the
//! tree, its bounds and the points do not depend on how the leaves were laid into pieces, nor on who searched
//! them.
//!
//! Where the question is whether the difference is at most `epsilon`, that is the aim. Where bounds are to come
//! together, the aim is `1 + gap` times the largest difference that was found before. Leaves that are beyond it show a larger one,
//! and are searched again with the aim that follows from it: the rounds do not depend on the pieces either.

use std::sync::{Mutex, PoisonError};

use fiberscope_check::difference::{MAX_DEPTH, Pair, outward};
use fiberscope_core::{BoxNode, Domain, MoveChain, Network, Rational, RowMultipliers, decimal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::exact::{Exact, Point};
use super::rows::Goal;
use super::search::{FAR, LOOKS, MARGIN, Purpose, ROUNDING, Search, Setting};
use super::shape::{self, Shaped};
use super::tree::Tree;
use super::worker::{Bounded, Worker};
use super::{Alignment, DifferenceError, DifferenceOptions, POINTS, check};
use crate::limit::{Deadline, Progress};

/// What all pieces of a search share: moves that bring the networks to one shape, and points where they are far apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    pub(super) alignment: Alignment,
    pub(super) moves_a: MoveChain,
    pub(super) moves_b: MoveChain,
    /// Whether the moves make the same network of both: then there is nothing to search.
    pub equal: bool,
    /// Points where the networks are far apart, the best ones first.
    pub(super) points: Vec<Vec<f64>>,
    /// The largest absolute value of an output that was seen, as the bits of a double.
    size: u64,
}

/// A piece of a search: leaves of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchPiece {
    /// What the differences are compared with.
    pub aim: Rational,
    /// The piece is searched breadth first, and only until so many leaves are open; 0 if it is searched.
    divide: usize,
    leaves: Vec<Leaf>,
}

/// A leaf: the cuts on its path and the multipliers that it inherits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Leaf {
    path: Vec<(BoxNode, bool)>,
    known: BoxNode,
}

/// What became of the leaves of a piece.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchPart {
    /// The trees below the leaves, in preorder.
    pub(super) trees: Vec<Vec<BoxNode>>,
    /// Leaves that are left to be searched: the number of the tree and of the node.
    pub(super) open: Vec<(usize, usize)>,
    /// Leaves that are beyond the aim.
    pub(super) beyond: Vec<Beyond>,
    /// The largest bound of every row on a closed leaf, as the bits of a double.
    pub(super) bounds: Vec<u64>,
    /// The number of boxes that were bounded.
    pub(super) cells: usize,
}

/// A leaf that is beyond the aim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Beyond {
    pub(super) place: (usize, usize),
    leaf: Leaf,
    /// A point in it where the difference is larger than the aim.
    pub(super) x: Vec<f64>,
}

/// The most pieces that are handed back.
const LEFT: usize = 16;

/// Brings two networks to one shape and looks for points where they are far apart.
pub fn prepare(
    a: &Network,
    b: &Network,
    domain: &Domain,
    options: &DifferenceOptions,
) -> Result<Preparation, DifferenceError> {
    check(a, b, domain, options)?;
    let (lo, hi) = outward(domain).map_err(DifferenceError::Unbounded)?;
    let Shaped { moves: [moves_a, moves_b], pair, equal, alignment, .. } =
        shape::common(a, b, domain, (&lo, &hi), options.align, &options.deadline)?;
    let mut prepared = Preparation { alignment, moves_a, moves_b, equal, points: Vec::new(), size: 0 };
    let exact = Exact::new(a, b, domain);
    if equal {
        prepared.points = vec![lo];
        return Ok(prepared);
    }
    let setting = Setting {
        purpose: Purpose::Gap(options.gap),
        points: &options.points,
        boxes: None,
        ceilings: Vec::new(),
        known: f64::INFINITY,
        seed: options.seed,
        deadline: &options.deadline,
        progress: Progress::SILENT,
    };
    let mut search = Search::new(&pair, &exact, Tree::new(&pair, lo, hi), setting);
    search.look_around(LOOKS);
    prepared.points = search.points();
    prepared.size = search.size.to_bits();
    Ok(prepared)
}

impl Preparation {
    /// Points where the networks are far apart, the best ones first.
    pub fn points(&self) -> &[Vec<f64>] {
        &self.points
    }
}

/// Two networks that are searched in pieces.
pub struct PreparedSearch {
    pub(super) shaped: Shaped,
    pub(super) exact: Exact,
    root: (Vec<f64>, Vec<f64>),
    size: f64,
}

impl PreparedSearch {
    /// The networks as they were prepared.
    pub fn new(
        a: &Network,
        b: &Network,
        domain: &Domain,
        prepared: &Preparation,
    ) -> Result<Self, DifferenceError> {
        check(a, b, domain, &DifferenceOptions::new().points(prepared.points.clone()))?;
        let root = outward(domain).map_err(DifferenceError::Unbounded)?;
        let moves = [prepared.moves_a.clone(), prepared.moves_b.clone()];
        let shaped = shape::moved(a, b, domain, moves, prepared.alignment)?;
        if shaped.equal != prepared.equal {
            return Err(DifferenceError::State("its moves do not fit".into()));
        }
        let size = Some(f64::from_bits(prepared.size)).filter(|size| size.is_finite()).unwrap_or(0.0);
        Ok(PreparedSearch { shaped, exact: Exact::new(a, b, domain), root, size })
    }

    /// The point with the largest difference among the first ones of these, exactly.
    pub fn worst(&self, points: &[Vec<f64>]) -> Option<Point> {
        let seen = points.iter().take(POINTS).filter_map(|x| self.exact.at(x));
        seen.reduce(|best, next| if next.largest().1 > best.largest().1 { next } else { best })
    }

    /// The point with the largest difference among these, the first one of several, and that difference exactly.
    pub fn farthest(&self, points: &[Vec<f64>]) -> Option<(Vec<f64>, Rational)> {
        let mut farthest: Option<(Vec<f64>, Rational)> = None;
        for x in points {
            let Some((_, difference)) = self.exact.at(x).map(|point| point.largest()) else { continue };
            if farthest.as_ref().is_none_or(|(_, most)| difference > *most) {
                farthest = Some((x.clone(), difference));
            }
        }
        farthest
    }

    /// The whole box as a piece, with this aim, to be cut into about so many leaves.
    pub fn whole(aim: Rational, divide: usize) -> SearchPiece {
        let root = Leaf { path: Vec::new(), known: BoxNode::Leaf };
        SearchPiece { aim, divide: divide.max(1), leaves: vec![root] }
    }

    /// Searches a piece, and hands back what is left of it when the deadline comes; at least one leaf is bounded
    /// in any case. `None` if the work was stopped before.
    pub fn search(
        &self,
        piece: &SearchPiece,
        deadline: &Deadline,
    ) -> Result<Option<(SearchPart, Vec<SearchPiece>)>, DifferenceError> {
        let stop = deadline.endless();
        let mut work = Work::new(self, piece);
        for leaf in &piece.leaves {
            work.plant(leaf)?;
        }
        let batch = 4 * rayon::current_num_threads();
        let mut begun = false;
        while !(work.open.is_empty() || begun && deadline.is_past()) {
            if piece.divide > 0 && work.open.len() >= piece.divide && begun {
                break;
            }
            begun = true;
            if !work.round(batch, piece.divide > 0, &stop) {
                return Ok(None);
            }
        }
        Ok(Some(work.finish(piece)))
    }
}

/// A node that is to be bounded, and the multipliers that it inherits.
struct Task {
    tree: usize,
    node: u32,
    known: Vec<RowMultipliers>,
}

struct Work<'s> {
    pair: &'s Pair,
    exact: &'s Exact,
    root: &'s (Vec<f64>, Vec<f64>),
    aim: &'s Rational,
    goal: Goal,
    /// Bounds up to this are those of rounding.
    small: f64,
    /// The trees, each with the node that its leaf of the piece is.
    trees: Vec<(Tree, u32)>,
    open: Vec<Task>,
    beyond: Vec<(Task, Vec<f64>)>,
    bounds: Vec<f64>,
    cells: usize,
    workers: Mutex<Vec<Worker<'s>>>,
}

impl<'s> Work<'s> {
    fn new(search: &'s PreparedSearch, piece: &'s SearchPiece) -> Self {
        let pair = &search.shaped.pair;
        let rows = 2 * pair.outputs();
        let aim = decimal::lower_f64(&piece.aim) * (1.0 - MARGIN);
        Work {
            pair,
            exact: &search.exact,
            root: &search.root,
            aim: &piece.aim,
            goal: Goal { decides: true, ..Goal::largest(rows, aim) },
            small: aim.max(ROUNDING * search.size),
            trees: Vec::new(),
            open: Vec::new(),
            beyond: Vec::new(),
            bounds: vec![f64::NEG_INFINITY; rows],
            cells: 0,
            workers: Mutex::new(Vec::new()),
        }
    }

    /// Makes a tree for a leaf of the piece.
    fn plant(&mut self, leaf: &Leaf) -> Result<(), DifferenceError> {
        let wrong = || DifferenceError::State("a leaf has a path that is none".into());
        let mut tree = Tree::new(self.pair, self.root.0.clone(), self.root.1.clone());
        let node = tree.follow(&leaf.path).ok_or_else(wrong)?;
        let known = match &leaf.known {
            BoxNode::Leaf => Vec::new(),
            BoxNode::Weighted(rows) => rows.clone(),
            _ => return Err(wrong()),
        };
        let signs = leaf.path.iter().filter(|(cut, _)| matches!(cut, BoxNode::Split(..))).count();
        if known.iter().any(|row| row.parts.len() > signs) {
            return Err(wrong());
        }
        self.open.push(Task { tree: self.trees.len(), node, known });
        self.trees.push((tree, node));
        Ok(())
    }

    /// Bounds some of the open nodes, the first ones or the last ones; `false` if the work was stopped.
    fn round(&mut self, batch: usize, breadth_first: bool, stop: &Deadline) -> bool {
        let count = batch.min(self.open.len());
        let tasks: Vec<Task> = match breadth_first {
            true => self.open.drain(..count).collect(),
            false => self.open.split_off(self.open.len() - count),
        };
        let bounded: Vec<Option<(Bounded, usize)>> =
            tasks.par_iter().map(|task| (!stop.is_past()).then(|| self.bound(task))).collect();
        let Some(bounded) = bounded.into_iter().collect::<Option<Vec<_>>>() else { return false };
        self.cells += bounded.len();
        for (task, (bounded, depth)) in tasks.into_iter().zip(bounded) {
            self.place(task, bounded, depth);
        }
        true
    }

    fn bound(&self, task: &Task) -> (Bounded, usize) {
        let lock = || self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let spare = lock().pop();
        let mut worker = spare.unwrap_or_else(|| Worker::new(self.pair));
        let tree = &self.trees[task.tree].0;
        let depth = tree.part(task.node, &mut worker.part);
        let bounded = worker.bound(&self.goal, tree, &task.known, false);
        lock().push(worker);
        (bounded, depth)
    }

    fn place(&mut self, task: Task, bounded: Bounded, depth: usize) {
        let Bounded { bounds, far, splits, weights, sight } = bounded;
        let tree = &mut self.trees[task.tree].0;
        if far <= self.small || splits.is_empty() || depth + 2 > MAX_DEPTH {
            tree.weigh(task.node, weights);
            self.bounds.iter_mut().zip(&bounds).for_each(|(most, bound)| *most = most.max(*bound));
            return;
        }
        let is_beyond = |x: &[f64]| self.exact.at(x).is_some_and(|point| point.largest().1 > *self.aim);
        if let Some(sight) =
            sight.filter(|sight| sight.value(sight.row) > self.goal.aim && is_beyond(&sight.x))
        {
            self.beyond.push((task, sight.x));
            return;
        }
        let cuts = splits.cuts(far > FAR * self.goal.aim);
        let first = tree.split(task.node, cuts[0]);
        let mut nodes = vec![first, first + 1];
        if let Some(&second) = cuts.get(1) {
            nodes = nodes.into_iter().map(|node| tree.split(node, second)).flat_map(|n| [n, n + 1]).collect();
        }
        for node in nodes {
            self.open.push(Task { tree: task.tree, node, known: weights.clone() });
        }
    }

    fn leaf(&self, task: &Task) -> Leaf {
        let path = self.trees[task.tree].0.path(task.node);
        let known = if task.known.is_empty() { BoxNode::Leaf } else { BoxNode::Weighted(task.known.clone()) };
        Leaf { path, known }
    }

    fn finish(self, piece: &SearchPiece) -> (SearchPart, Vec<SearchPiece>) {
        let mut numbered: Vec<Vec<(u32, usize)>> = Vec::with_capacity(self.trees.len());
        let mut trees = Vec::with_capacity(self.trees.len());
        for (tree, start) in &self.trees {
            let (nodes, named): (Vec<u32>, Vec<BoxNode>) = tree.below(*start).unzip();
            let mut places: Vec<(u32, usize)> = nodes.into_iter().zip(0..).collect();
            places.sort_unstable();
            numbered.push(places);
            trees.push(named);
        }
        let place = |task: &Task| {
            let places = &numbered[task.tree];
            let at = places.binary_search_by_key(&task.node, |(node, _)| *node);
            (task.tree, places[at.expect("a node of the tree")].1)
        };
        let mut open: Vec<((usize, usize), Leaf)> =
            self.open.iter().map(|task| (place(task), self.leaf(task))).collect();
        open.sort_by_key(|(place, _)| *place);
        let beyond =
            |(task, x): &(Task, Vec<f64>)| Beyond { place: place(task), leaf: self.leaf(task), x: x.clone() };
        let mut beyond: Vec<Beyond> = self.beyond.iter().map(beyond).collect();
        beyond.sort_by_key(|beyond| beyond.place);
        let (open, leaves): (Vec<_>, Vec<Leaf>) = open.into_iter().unzip();
        let bounds = self.bounds.iter().map(|bound| bound.to_bits()).collect();
        let part = SearchPart { trees, open, beyond, bounds, cells: self.cells };
        let most = if piece.divide > 0 { 2 * piece.divide } else { LEFT };
        let left = leaves.chunks(leaves.len().div_ceil(most).max(1));
        let left =
            left.map(|leaves| SearchPiece { aim: piece.aim.clone(), divide: 0, leaves: leaves.to_vec() });
        (part, left.collect())
    }
}

impl SearchPart {
    /// Whether a difference beyond the aim was found, and where.
    pub fn beyond(&self) -> impl Iterator<Item = &[f64]> {
        self.beyond.iter().map(|beyond| &beyond.x[..])
    }

    /// The leaves that are beyond the aim as a piece with another one, to be cut into about so many leaves.
    pub fn again(&self, aim: Rational, divide: usize) -> SearchPiece {
        let leaves = self.beyond.iter().map(|beyond| beyond.leaf.clone()).collect();
        SearchPiece { aim, divide: divide.max(1), leaves }
    }
}
