//! The complete search over joint linear regions of two networks.
//!
//! A depth-first search over the signs of all hidden neurons of both networks builds the tree of
//! `docs/formats/certificate-v1.md` (kind `regions`): a neuron with both signs on the current polytope splits
//! it, a neuron with one sign gets Farkas' certificate for the other, and where all neurons are decided the
//! two affine maps are compared. A node where the networks compute the same expressions whatever the rest of
//! the neurons does is a leaf (`same`), which closes all regions under it; neurons that keep the expressions
//! apart are split first. Floats propose vertices and multipliers, integers decide; so a result is never
//! wrong, and the search is at worst stopped by its limits. It is exponential in the worst case.
//!
//! The tree is cut into stretches at shallow depth and these are searched in parallel. Every node
//! depends on its path only, so the result does not depend on the number of threads.

mod farkas;
mod integer;
mod node;
mod numbering;
mod problem;
mod residue;
mod state;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use fiberscope_algebra::program::Interior;
use fiberscope_check::{regions_fit, same_on_path};
use fiberscope_core::{CoverNode, Domain, ExactNetwork, Neuron, Rational};
use rayon::prelude::*;

use crate::limit::Deadline;
use integer::Form;
use node::{Decision, Kind, Node, Step};
use problem::{Problem, Unit};
use state::Stretch;
pub use state::{SearchError, SearchState};

/// How many open nodes the tree is cut into before they are searched in parallel.
const OPEN_NODES: usize = 128;

/// How many leaves a thread finishes between reports.
const REPORT: u64 = 256;

/// Progress is counted in units of `2^-60` of the tree.
const WHOLE: u32 = 60;

/// When a search gives up.
#[derive(Clone, Debug, Default)]
pub struct SearchLimits {
    /// When to stop.
    pub deadline: Deadline,
    /// The most leaves; each covers one joint linear region or more.
    pub leaves: Option<u64>,
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchProgress {
    /// The part of the tree that is finished, if every split halves what is left.
    pub explored: f64,
    /// How many leaves are finished.
    pub leaves: u64,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum SearchOutcome {
    /// The networks are equal on the domain.
    Equal {
        /// The certificate's tree.
        tree: Vec<CoverNode>,
        /// How many leaves it has on which the networks are equal. A leaf covers one joint linear region or
        /// more.
        leaves: u64,
    },
    /// The networks differ at a point, checked by exact evaluation.
    Different {
        /// The point.
        x: Vec<Rational>,
    },
    /// A limit was reached first.
    Undecided {
        /// The part of the tree that is finished.
        explored: f64,
        /// How many leaves are finished.
        leaves: u64,
        /// Where to go on.
        state: SearchState,
    },
    /// The networks are too large for a certificate that the checker reads, and were not searched.
    TooLarge,
}

/// Searches for a difference of two networks on a domain until there is one, there is none, or a
/// limit is reached.
///
/// ```
/// use fiberscope::equivalence::regions::{SearchLimits, SearchOutcome, search};
/// use fiberscope::{Domain, Network};
///
/// let network = |rows: &[&[f64]]| {
///     Network::from_rows(&[(rows, &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap().to_exact()
/// };
/// let (a, b) = (network(&[&[1.0], &[-1.0]]), network(&[&[-1.0], &[1.0]]));
/// let outcome = search(&a, &b, &Domain::Space, &SearchLimits::default(), &|_| ()).unwrap();
/// assert!(matches!(outcome, SearchOutcome::Equal { leaves: 1, .. }));
/// ```
pub fn search(
    a: &ExactNetwork,
    b: &ExactNetwork,
    domain: &Domain,
    limits: &SearchLimits,
    progress: &(dyn Fn(SearchProgress) + Sync),
) -> Result<SearchOutcome, SearchError> {
    begin((a, b, domain), limits, progress, Trust::Nothing)
}

/// The same, faster: leaves where the networks compute the same expressions rest on residues and doubles, which
/// the checker of the tree finds out to be wrong where they are.
pub fn propose(
    a: &ExactNetwork,
    b: &ExactNetwork,
    domain: &Domain,
    limits: &SearchLimits,
    progress: &(dyn Fn(SearchProgress) + Sync),
) -> Result<SearchOutcome, SearchError> {
    begin((a, b, domain), limits, progress, Trust::Guesses)
}

/// Whether a leaf `same` is proved when it is made, or only when the tree is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Nothing,
    Guesses,
}

fn begin(
    (a, b, domain): (&ExactNetwork, &ExactNetwork, &Domain),
    limits: &SearchLimits,
    progress: &(dyn Fn(SearchProgress) + Sync),
    trust: Trust,
) -> Result<SearchOutcome, SearchError> {
    check_shapes(a, b, domain)?;
    if !regions_fit(a, b, domain) {
        return Ok(SearchOutcome::TooLarge);
    }
    let problem = Problem::new(a, b, domain, limits.deadline.clone());
    if problem.numbers.is_some()
        && !problem.is_late()
        && same_on_path(a, b, domain, [], &|| problem.is_late())
    {
        return Ok(SearchOutcome::Equal { tree: vec![CoverNode::Same], leaves: 1 });
    }
    let start = vec![Stretch::Open(Box::new(Node::root(&problem)))];
    Ok(Search { trust, ..Search::new((a, b, domain), &problem, limits, progress, 0) }.run(start))
}

/// Goes on with a search that a limit stopped.
pub fn resume(
    a: &ExactNetwork,
    b: &ExactNetwork,
    domain: &Domain,
    state: SearchState,
    limits: &SearchLimits,
    progress: &(dyn Fn(SearchProgress) + Sync),
) -> Result<SearchOutcome, SearchError> {
    check_shapes(a, b, domain)?;
    if !regions_fit(a, b, domain) {
        return Ok(SearchOutcome::TooLarge);
    }
    let problem = Problem::new(a, b, domain, limits.deadline.clone());
    let leaves = state.leaves();
    let stretches = state.restore((a, b, domain), &problem)?;
    Ok(Search::new((a, b, domain), &problem, limits, progress, leaves).run(stretches))
}

fn check_shapes(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> Result<(), SearchError> {
    if a.input_width() != b.input_width() || a.output_width() != b.output_width() {
        return Err(SearchError::Shapes {
            a_inputs: a.input_width(),
            b_inputs: b.input_width(),
            a_outputs: a.output_width(),
            b_outputs: b.output_width(),
        });
    }
    Ok(domain.check(a.input_width())?)
}

/// What is left to do in a stretch, last first.
enum Task {
    Open(Box<Node>),
    Write(CoverNode),
}

/// How a stretch ended.
struct Ended {
    nodes: Vec<CoverNode>,
    /// What was not done, last first.
    rest: Vec<Task>,
    difference: Option<Vec<Rational>>,
}

struct Search<'a> {
    trust: Trust,
    question: (&'a ExactNetwork, &'a ExactNetwork, &'a Domain),
    problem: &'a Problem,
    limits: &'a SearchLimits,
    progress: &'a (dyn Fn(SearchProgress) + Sync),
    leaves: AtomicU64,
    explored: AtomicU64,
    stopped: AtomicBool,
    /// The first stretch in which a difference was found.
    different: AtomicUsize,
}

impl<'a> Search<'a> {
    fn new(
        question: (&'a ExactNetwork, &'a ExactNetwork, &'a Domain),
        problem: &'a Problem,
        limits: &'a SearchLimits,
        progress: &'a (dyn Fn(SearchProgress) + Sync),
        leaves: u64,
    ) -> Self {
        Search {
            trust: Trust::Nothing,
            question,
            problem,
            limits,
            progress,
            leaves: AtomicU64::new(leaves),
            explored: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            different: AtomicUsize::new(usize::MAX),
        }
    }

    fn run(self, stretches: Vec<Stretch>) -> SearchOutcome {
        let open: u64 = stretches
            .iter()
            .map(|stretch| if let Stretch::Open(node) = stretch { weight(node.depth) } else { 0 })
            .sum();
        self.explored.store((1u64 << WHOLE).saturating_sub(open), Ordering::Relaxed);
        let stretches = match self.spread(stretches) {
            Ok(stretches) => stretches,
            Err(x) => return SearchOutcome::Different { x },
        };
        let run = |(place, stretch): (usize, Stretch)| match stretch {
            Stretch::Finished(nodes) => Ended { nodes, rest: vec![], difference: None },
            Stretch::Open(node) => self.search_stretch(place, node),
        };
        let mut ended: Vec<Ended> = stretches.into_par_iter().enumerate().map(run).collect();
        if let Some(x) = ended.iter_mut().find_map(|stretch| stretch.difference.take()) {
            return SearchOutcome::Different { x };
        }
        self.collect(ended)
    }

    /// Cuts the tree into more stretches, one split of every open node at a time.
    fn spread(&self, mut stretches: Vec<Stretch>) -> Result<Vec<Stretch>, Vec<Rational>> {
        let open = |stretches: &[Stretch]| {
            stretches.iter().filter(|stretch| matches!(stretch, Stretch::Open(_))).count()
        };
        let mut advanced = true;
        while advanced && (1..OPEN_NODES).contains(&open(&stretches)) && !self.is_stopped() {
            advanced = false;
            let mut next = Vec::with_capacity(2 * stretches.len());
            for stretch in stretches {
                match stretch {
                    Stretch::Finished(nodes) => next.push(Stretch::Finished(nodes)),
                    Stretch::Open(_) if self.is_stopped() => next.push(stretch),
                    Stretch::Open(node) => {
                        let mut ended = Ended { nodes: vec![], rest: vec![], difference: None };
                        advanced |= self.search_node(node, &mut ended);
                        if let Some(x) = ended.difference {
                            return Err(x);
                        }
                        next.extend(stretches_of(ended));
                    }
                }
            }
            stretches = next;
        }
        Ok(stretches)
    }

    fn collect(&self, ended: Vec<Ended>) -> SearchOutcome {
        let leaves = self.leaves.load(Ordering::Relaxed);
        if ended.iter().all(|stretch| stretch.rest.is_empty()) {
            let tree = ended.into_iter().flat_map(|stretch| stretch.nodes).collect();
            return SearchOutcome::Equal { tree, leaves };
        }
        let stretches = ended.into_iter().flat_map(stretches_of).collect();
        let explored = self.state().explored;
        let state = SearchState::new(self.question, self.problem, stretches);
        SearchOutcome::Undecided { explored, leaves, state }
    }

    fn state(&self) -> SearchProgress {
        let explored = self.explored.load(Ordering::Relaxed) as f64 / (1u64 << WHOLE) as f64;
        SearchProgress { explored: explored.min(1.0), leaves: self.leaves.load(Ordering::Relaxed) }
    }

    fn is_stopped(&self) -> bool {
        if self.problem.is_late()
            || self.limits.leaves.is_some_and(|limit| self.leaves.load(Ordering::Relaxed) >= limit)
        {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.stopped.load(Ordering::Relaxed)
    }

    /// Searches a subtree depth first.
    fn search_stretch(&self, place: usize, node: Box<Node>) -> Ended {
        let mut ended = Ended { nodes: vec![], rest: vec![Task::Open(node)], difference: None };
        while let Some(task) = ended.rest.pop() {
            match task {
                Task::Write(node) => ended.nodes.push(node),
                Task::Open(node) => {
                    if self.is_stopped() || self.different.load(Ordering::Relaxed) < place {
                        ended.rest.push(Task::Open(node));
                        break;
                    }
                    if !self.search_node(node, &mut ended) {
                        break;
                    }
                    if ended.difference.is_some() {
                        self.different.fetch_min(place, Ordering::Relaxed);
                        break;
                    }
                }
            }
        }
        ended
    }

    /// Decides a node as far as possible and splits it or finishes it; false if it stays open.
    fn search_node(&self, mut node: Box<Node>, ended: &mut Ended) -> bool {
        loop {
            let (decisions, settled) = node.settle(self.problem);
            decisions.into_iter().for_each(|decision| self.write(decision, ended));
            if !settled {
                ended.rest.push(Task::Open(node));
                return false;
            }
            if node.is_leaf(self.problem) {
                return self.search_leaf(node, ended);
            }
            if !node.may_have_changed(self.problem) {
                break;
            }
            if node.may_be_same(self.problem) && self.is_same(node.path()) {
                return self.close(CoverNode::Same, node.depth, ended);
            }
        }
        let (unit, on, off) = node.split();
        ended.nodes.push(self.split(unit));
        ended.rest.push(Task::Open(Box::new(off)));
        ended.rest.push(Task::Open(Box::new(on)));
        true
    }

    /// Whether the networks compute the same expressions on a path where residues and doubles say so: exactly,
    /// unless that is left to the checker.
    fn is_same(&self, path: &[Step]) -> bool {
        if self.trust == Trust::Guesses {
            return true;
        }
        let (a, b, domain) = self.question;
        let named = path.iter().map(|step| {
            let (operand, layer) = self.problem.name(step.unit);
            (operand, Neuron { layer, unit: step.unit.unit }, step.on)
        });
        same_on_path(a, b, domain, named, &|| self.problem.is_late())
    }

    fn split(&self, unit: Unit) -> CoverNode {
        let (operand, layer) = self.problem.name(unit);
        CoverNode::Split(operand, Neuron { layer, unit: unit.unit })
    }

    /// Ends a path on which the networks are equal.
    fn close(&self, leaf: CoverNode, depth: u32, ended: &mut Ended) -> bool {
        ended.nodes.push(leaf);
        self.leaves.fetch_add(1, Ordering::Relaxed);
        self.finish(depth);
        true
    }

    /// Writes a split with one empty side; the other side is what follows.
    fn write(&self, decision: Decision, ended: &mut Ended) {
        let Decision { step, proof } = decision;
        debug_assert!((step.kind == Kind::Constant) == proof.is_none());
        let closed = proof.map_or(CoverNode::None, CoverNode::Empty);
        ended.nodes.push(self.split(step.unit));
        if step.on { ended.rest.push(Task::Write(closed)) } else { ended.nodes.push(closed) }
    }

    fn search_leaf(&self, node: Box<Node>, ended: &mut Ended) -> bool {
        let [a, b] = node.outputs(self.problem);
        let [scale_a, scale_b] = [0, 1].map(|network| {
            let layers = &self.problem.networks[network].layers;
            &layers[layers.len() - 1].scale
        });
        let equal = |(a, b): (&Form, &Form)| {
            if scale_a == scale_b {
                return a.exact == b.exact;
            }
            a.exact.iter().zip(b.exact.iter()).all(|(x, y)| x * scale_b == y * scale_a)
        };
        if a.iter().zip(&b).all(equal) {
            return self.close(CoverNode::Equal, node.depth, ended);
        }
        let ends = match node.interior(self.problem, None) {
            Interior::Point(x) => {
                ended.difference = self.difference_near(&node, x);
                ended.difference.is_some()
            }
            Interior::Empty(multipliers) => {
                ended.nodes.push(CoverNode::Empty(node.certificate(self.problem, None, &multipliers)));
                true
            }
            Interior::Unknown => false,
        };
        if !ends {
            ended.rest.push(Task::Open(node));
            return false;
        }
        self.finish(node.depth);
        true
    }

    fn finish(&self, depth: u32) {
        self.explored.fetch_add(weight(depth), Ordering::Relaxed);
        if self.leaves.load(Ordering::Relaxed).is_multiple_of(REPORT) {
            (self.progress)(self.state());
        }
    }

    /// A point near an interior point of a leaf where the networks differ, if the interior point or a
    /// small step from it is one.
    fn difference_near(&self, node: &Node, x: Vec<Rational>) -> Option<Vec<Rational>> {
        let differs = |x: &[Rational]| {
            let input = self.problem.input(x);
            let (a, b, domain) = self.question;
            let values = [a, b].map(|network| network.evaluate_exact(&input).ok());
            (values[0] != values[1] && domain.contains(&input)).then_some(input)
        };
        if let Some(input) = differs(&x) {
            return Some(input);
        }
        // The difference vanishes at x but not on the leaf, so it changes along some axis.
        let inside = |x: &[Rational]| node.contains(self.problem, x);
        for j in 0..x.len() {
            let mut step = Rational::ONE;
            for _ in 0..4096 {
                let mut moved = x.clone();
                moved[j] += &step;
                if inside(&moved) {
                    if let Some(input) = differs(&moved) {
                        return Some(input);
                    }
                    break;
                }
                step *= &Rational::dyadic(1, -1);
            }
        }
        None
    }
}

fn weight(depth: u32) -> u64 {
    1u64.checked_shl(WHOLE.saturating_sub(depth)).filter(|_| depth <= WHOLE).unwrap_or(0)
}

fn stretches_of(ended: Ended) -> impl Iterator<Item = Stretch> {
    let rest = ended.rest.into_iter().rev().map(|task| match task {
        Task::Write(node) => Stretch::Finished(vec![node]),
        Task::Open(node) => Stretch::Open(node),
    });
    std::iter::once(Stretch::Finished(ended.nodes))
        .filter(|s| !matches!(s, Stretch::Finished(n) if n.is_empty()))
        .chain(rest)
}
