//! A node of the tree that is still open: the decisions on its path, its polytope, and the neurons that
//! are next to be decided.
//!
//! Only real splits cut the polytope: where one side of a neuron is empty, the other side's
//! inequality holds on the polytope anyway. So the polytope has interior points throughout, a
//! neuron with a vertex on either side of its hyperplane cuts it, and one without has a proof that one
//! side is empty. Decided neurons enter the tree as early as possible, above the splits.

mod proof;
mod same;

use std::sync::Arc;

use fiberscope_algebra::program::{Polytope, certain_sign};

use super::farkas::Certificate;
use super::integer::Form;
use super::problem::{Problem, Source, Unit};
use same::Guess;

/// How a neuron was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Both sides have interior points.
    Split,
    /// The other side is empty.
    Implied,
    /// The pre-activation is constant.
    Constant,
}

/// A decision on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The neuron.
    pub unit: Unit,
    /// Whether it is on.
    pub on: bool,
    /// How it was decided.
    pub kind: Kind,
}

/// A layer with its functions on the current path.
#[derive(Clone)]
struct LayerState {
    forms: Arc<Vec<Form>>,
    /// Per neuron: decided on, off, or open.
    on: Vec<Option<bool>>,
    /// Per neuron: the number of its constraint, if it has one.
    numbers: Vec<Option<usize>>,
    open: usize,
}

/// A neuron to be decided next.
#[derive(Clone)]
struct Candidate {
    unit: Unit,
    /// A neuron with a proportional pre-activation that will decide this one.
    twin: Option<Unit>,
    /// What is known of the side where it is off, and of the side where it is on.
    sides: [Sight; 2],
}

/// What is known of a side of a candidate's hyperplane on the polytope.
#[derive(Clone)]
enum Sight {
    /// Nothing.
    Unknown,
    /// It has interior points, and this vertex.
    Seen(Arc<Witness>),
    /// It has interior points, but floats see no vertex there.
    Unseen,
}

/// A vertex of the polytope.
struct Witness {
    basis: Box<[u32]>,
    point: Box<[f64]>,
    /// The size of the pre-activation there.
    value: f64,
}

/// What is known of one side of a neuron.
enum Half {
    /// It has interior points.
    Inhabited(Sight),
    /// It has none.
    Empty(Certificate),
    /// The time was up first.
    Late,
}

/// What became of a candidate.
enum CandidateEnd {
    Decided { on: bool, proof: Certificate },
    Cut,
    Late,
}

/// A neuron decided without a split.
pub struct Decision {
    /// What was decided.
    pub step: Step,
    /// The proof that the other side is empty; none for a constant.
    pub proof: Option<Certificate>,
}

/// An open node.
#[derive(Clone)]
pub struct Node {
    path: Vec<Step>,
    /// Complete layers per network, and the layer being decided.
    done: [Vec<Arc<LayerState>>; 2],
    current: [Option<LayerState>; 2],
    polytope: Polytope,
    sources: Vec<Source>,
    /// Floats see no vertex of the polytope; everything is decided exactly.
    blind: bool,
    pool: Vec<Candidate>,
    /// What was last found to keep the networks apart.
    guess: Option<Arc<Guess>>,
    next_number: usize,
    /// How many splits are on the path.
    pub depth: u32,
}

impl Node {
    /// The root.
    pub fn root(problem: &Problem) -> Self {
        let (polytope, sources) = problem.polytope();
        Node {
            path: Vec::new(),
            done: [vec![], vec![]],
            current: [None, None],
            polytope,
            sources,
            blind: false,
            pool: Vec::new(),
            guess: None,
            next_number: problem.side_count,
            depth: 0,
        }
    }

    /// The decisions on the path.
    pub fn path(&self) -> &[Step] {
        &self.path
    }

    /// Decides what needs no split, in order: all, or the neurons that keep the networks apart. Stops where a
    /// guess may tell other ones. False if the time was up first.
    pub fn settle(&mut self, problem: &Problem) -> (Vec<Decision>, bool) {
        let mut decisions = Vec::new();
        loop {
            let advanced = self.advance(problem, &mut decisions);
            if self.may_have_changed(problem) {
                return (decisions, true);
            }
            let before = self.path.len();
            if !self.pass(problem, &mut decisions) {
                return (decisions, false);
            }
            if !advanced && self.path.len() == before {
                return (decisions, true);
            }
        }
    }

    /// Starts the next layer of each network whose current one is complete.
    fn advance(&mut self, problem: &Problem, decisions: &mut Vec<Decision>) -> bool {
        let mut advanced = false;
        for network in 0..2 {
            if self.current[network].as_ref().is_some_and(|layer| layer.open > 0) {
                continue;
            }
            if let Some(complete) = self.current[network].take() {
                self.done[network].push(Arc::new(complete));
            }
            if self.done[network].len() < problem.networks[network].depth() {
                let forms = self.next_forms(problem, network);
                let width = forms.len();
                self.current[network] = Some(LayerState {
                    forms: Arc::new(forms),
                    on: vec![None; width],
                    numbers: vec![None; width],
                    open: width,
                });
                (0..width).for_each(|unit| self.introduce(problem, network, unit, decisions));
                advanced = true;
            }
        }
        advanced
    }

    /// The pre-activations of the layer after the complete ones.
    fn next_forms(&self, problem: &Problem, network: usize) -> Vec<Form> {
        let layer = &problem.networks[network].layers[self.done[network].len()];
        match self.done[network].last() {
            None => layer.input_forms(),
            Some(before) => {
                let on: Vec<bool> = before.on.iter().map(|on| *on == Some(true)).collect();
                layer.forms(&before.forms, &on)
            }
        }
    }

    /// Puts a neuron of a new layer among the candidates, or decides it if it is constant.
    fn introduce(&mut self, problem: &Problem, network: usize, unit: usize, decisions: &mut Vec<Decision>) {
        let unit = Unit { network, layer: self.done[network].len(), unit };
        let form = self.form(unit);
        if form.is_constant() {
            let on = form.constant().sign() == dashu_int::Sign::Positive;
            let step = Step { unit, on, kind: Kind::Constant };
            self.decide(step);
            decisions.push(Decision { step, proof: None });
            return;
        }
        let twin = problem.hint(unit).filter(|&twin| self.is_introduced(twin));
        self.pool.push(Candidate { unit, twin, sides: [Sight::Unknown, Sight::Unknown] });
    }

    fn is_introduced(&self, unit: Unit) -> bool {
        self.status(unit).is_some() || self.pool.iter().any(|candidate| candidate.unit == unit)
    }

    fn layer(&self, network: usize, layer: usize) -> Option<&LayerState> {
        match self.done[network].get(layer) {
            Some(done) => Some(done),
            None if layer == self.done[network].len() => self.current[network].as_ref(),
            None => None,
        }
    }

    fn form(&self, unit: Unit) -> &Form {
        &self.layer(unit.network, unit.layer).expect("the layer was started").forms[unit.unit]
    }

    fn status(&self, unit: Unit) -> Option<bool> {
        self.layer(unit.network, unit.layer).and_then(|layer| layer.on[unit.unit])
    }

    /// Writes a decision down.
    fn decide(&mut self, step: Step) {
        let number = (step.kind != Kind::Constant).then(|| {
            self.next_number += 1;
            self.next_number - 1
        });
        let layer =
            self.current[step.unit.network].as_mut().expect("only neurons of current layers are open");
        layer.on[step.unit.unit] = Some(step.on);
        layer.numbers[step.unit.unit] = number;
        layer.open -= 1;
        self.path.push(step);
    }

    /// Whether few candidates keep the networks apart, and one of them can be split.
    fn is_focused(&self) -> bool {
        let blamed = || self.pool.iter().filter(|candidate| self.blame(candidate.unit) > 0);
        blamed().any(|candidate| candidate.twin.is_none()) && 2 * blamed().count() <= self.pool.len()
    }

    /// Tests every candidate that may be decided; false if the time was up first.
    fn pass(&mut self, problem: &Problem, decisions: &mut Vec<Decision>) -> bool {
        let blamed_only = self.is_focused();
        let mut pool = std::mem::take(&mut self.pool);
        let mut in_time = true;
        pool.retain_mut(|candidate| {
            if blamed_only && self.blame(candidate.unit) == 0 {
                return true;
            }
            match if in_time { self.test(problem, candidate) } else { CandidateEnd::Late } {
                CandidateEnd::Cut => true,
                CandidateEnd::Late => {
                    in_time = false;
                    true
                }
                CandidateEnd::Decided { on, proof } => {
                    let step = Step { unit: candidate.unit, on, kind: Kind::Implied };
                    self.decide(step);
                    decisions.push(Decision { step, proof: Some(proof) });
                    false
                }
            }
        });
        self.pool = pool;
        in_time
    }

    fn test(&mut self, problem: &Problem, candidate: &mut Candidate) -> CandidateEnd {
        if let Some(twin) = candidate.twin {
            match self.status(twin) {
                None => return CandidateEnd::Cut,
                Some(_) => match self.by_twin(problem, candidate.unit, twin) {
                    Some(verdict) => return verdict,
                    None => candidate.twin = None,
                },
            }
        }
        if problem.is_late() {
            return CandidateEnd::Late;
        }
        for on in [false, true] {
            let side = &mut candidate.sides[usize::from(on)];
            if matches!(side, Sight::Unknown) {
                match self.half(problem, candidate.unit, on) {
                    Half::Empty(proof) => return CandidateEnd::Decided { on: !on, proof },
                    Half::Inhabited(sight) => *side = sight,
                    Half::Late => return CandidateEnd::Late,
                }
            }
        }
        CandidateEnd::Cut
    }

    /// Splits a node that is no leaf at its best candidate: the neuron, then the node where it is on and
    /// the one where it is off.
    pub fn split(self) -> (Unit, Node, Node) {
        let unit = self.choose().expect("a node that is no leaf has a candidate without a twin");
        let on = self.clone().child(unit, true);
        let off = self.child(unit, false);
        (unit, on, off)
    }

    /// Of the candidates that keep the networks apart most, the one of the first open layer whose vertices
    /// lie farthest from its hyperplane.
    fn choose(&self) -> Option<Unit> {
        let free = || self.pool.iter().filter(|candidate| candidate.twin.is_none());
        let urgency =
            |candidate: &Candidate| (self.blame(candidate.unit), std::cmp::Reverse(candidate.unit.layer));
        let most = free().map(urgency).max()?;
        let score = |candidate: &&Candidate| {
            let value = |sight: &Sight| if let Sight::Seen(witness) = sight { witness.value } else { 0.0 };
            value(&candidate.sides[0]).min(value(&candidate.sides[1]))
        };
        // The first of the best, so that the choice does not depend on how ties are ordered.
        let mut best: Option<(&Candidate, f64)> = None;
        for candidate in free().filter(|candidate| urgency(candidate) == most) {
            let score = score(&candidate);
            if best.is_none_or(|(_, other)| score > other) {
                best = Some((candidate, score));
            }
        }
        best.map(|(candidate, _)| candidate.unit)
    }

    /// The node where a candidate is on (or off).
    fn child(mut self, unit: Unit, on: bool) -> Node {
        let place = self.pool.iter().position(|candidate| candidate.unit == unit);
        let candidate = self.pool.remove(place.expect("the neuron is a candidate"));
        self.enter(unit, on, &candidate.sides[usize::from(on)]);
        self
    }

    /// Adds a split to the path and cuts the polytope.
    fn enter(&mut self, unit: Unit, on: bool, start: &Sight) {
        let layer = self.layer(unit.network, unit.layer).expect("the layer was started");
        let forms = Arc::clone(&layer.forms);
        let form = &forms[unit.unit];
        let sign = if on { 1.0 } else { -1.0 };
        let seen = matches!(start, Sight::Seen(start) if self.polytope.move_to(&start.basis));
        self.blind = self.blind || !seen;
        self.polytope.push(form.approximate.iter().map(|x| sign * x));
        self.sources.push(Source::Split(unit, on));
        self.decide(Step { unit, on, kind: Kind::Split });
        self.depth += 1;
        let blind = self.blind;
        for sight in self.pool.iter_mut().flat_map(|candidate| &mut candidate.sides) {
            let kept = match sight {
                Sight::Seen(witness) => {
                    !blind && f64::from(certain_sign(&form.approximate, &witness.point).0) != -sign
                }
                Sight::Unknown | Sight::Unseen => false,
            };
            if !kept {
                *sight = Sight::Unknown;
            }
        }
    }

    /// The node at the end of a path that a search wrote down.
    pub fn replay(problem: &Problem, path: &[Step]) -> Option<Node> {
        let mut node = Node::root(problem);
        let mut ignored = Vec::new();
        for &step in path {
            // The choice of later splits depends on the guesses on the path.
            if node.advance(problem, &mut ignored) || step.kind == Kind::Split {
                node.may_be_same(problem);
            }
            let pooled = node.pool.iter().position(|candidate| candidate.unit == step.unit);
            match (step.kind, pooled) {
                (Kind::Constant, _) if node.status(step.unit) == Some(step.on) => {}
                (Kind::Implied, Some(place)) => {
                    node.pool.remove(place);
                    node.decide(step);
                }
                (Kind::Split, Some(place)) => {
                    node.pool.remove(place);
                    let start = match node.half(problem, step.unit, step.on) {
                        Half::Inhabited(start) => start,
                        Half::Late => Sight::Unseen,
                        Half::Empty(_) => return None,
                    };
                    node.enter(step.unit, step.on, &start);
                }
                _ => return None,
            }
        }
        (node.path == path).then_some(node)
    }

    /// Whether every hidden neuron of both networks is decided.
    pub fn is_leaf(&self, problem: &Problem) -> bool {
        let complete = |network: usize| self.done[network].len() == problem.networks[network].depth();
        complete(0) && complete(1)
    }

    /// The affine maps of both networks on a leaf.
    pub fn outputs(&self, problem: &Problem) -> [Vec<Form>; 2] {
        [0, 1].map(|network| self.next_forms(problem, network))
    }
}
