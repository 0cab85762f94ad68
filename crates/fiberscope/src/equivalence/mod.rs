//! Do two networks compute the same function?
//!
//! Cheap proofs come first, then attempts to refute, then the complete search:
//!
//! 0. Networks that differ by the order and the scales of their neurons are recognised as they are (module `relabelling`);
//!    large ones are evaluated at a few points (module `residues`).
//! 1. Both networks are reduced; their layers are matched up to permutation and scaling (module `matching`).
//! 2. If one hidden layer is left behind the matched ones, hyperplane representations are compared
//!    (module `tail`); without matched layers this decides.
//! 3. Functions of one variable are decided by a walk over their breakpoints ([`compare_on_line`]).
//! 4. Three layers with a bottleneck are decided for generic parameters (module `bottleneck`).
//! 5. Networks that agree up to rounding get a bound for their difference (module `rounding`), if that is wanted.
//! 6. Points near boundaries of both networks are tried ([`mod@falsify`]).
//! 7. All joint linear regions are searched, within limits ([`regions`]).
//!
//! Every answer but "undecided" carries a certificate, which the checker has accepted before it is given:
//! no verdict rests on the code here. Deciding is coNP-hard in general [threelayer2026, Section 6], so that a
//! limit may be reached first.

mod bottleneck;
pub mod falsify;
pub(crate) mod matching;
pub mod regions;
mod relabelling;
mod residues;
mod rounding;
pub(crate) mod solve;
mod tail;

use fiberscope_check::{LineOutcome, Outcome, check, compare_on_line};
use fiberscope_core::{
    Activation, Certificate, Domain, Evidence, ExactNetwork, Move, MoveChain, Network, NetworkName, Rational,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use crate::limit::Deadline;
use crate::rank;
use crate::reduce::{ReduceOptions, Reduction, reduce_until};
use bottleneck::Finding;
use falsify::{FalsifyBudget, falsify};
use matching::match_layers;
use regions::{SearchLimits, SearchOutcome, SearchProgress, SearchState};
use residues::{Residues, first_suspect};
use tail::{Tail, difference_points, inside};

/// How many points are tried to show where networks that agree up to rounding differ.
const DIFFERENCE_POINTS: usize = 1024;

/// How to go about the question.
#[derive(Clone, Debug, Default)]
pub struct EquivalenceOptions {
    /// Refuse the answer "up to rounding".
    pub exact: bool,
    /// What counts as rounding: the certified bound may be at most this, if it is given; otherwise
    /// parameters may differ by a few units of `precision`.
    pub tolerance: Option<f64>,
    /// The distance from 1 to the next number of the format in which the parameters were stored.
    pub precision: f64,
    /// When it is past, the step at hand is finished and the answer is "undecided".
    pub deadline: Deadline,
    /// The seed of random points.
    pub seed: u64,
    /// Where to go on with an earlier search.
    pub resume: Option<SearchState>,
}

/// The answer.
#[derive(Clone, Debug)]
#[must_use]
pub enum Verdict {
    /// The networks are equal on the domain.
    Equivalent {
        /// The proof.
        certificate: Certificate,
    },
    /// The networks differ by no more than a bound on the domain of the certificate.
    EquivalentUpToRounding {
        /// The bound.
        bound: Rational,
        /// The proof.
        certificate: Certificate,
        /// A point where they differ, if one was found.
        differ_at: Option<Vec<Rational>>,
    },
    /// The networks differ.
    Different {
        /// Where.
        x: Vec<Rational>,
        /// The first network's value there.
        a: Vec<Rational>,
        /// The second network's value there.
        b: Vec<Rational>,
        /// The proof.
        certificate: Certificate,
    },
    /// A limit was reached first.
    Undecided {
        /// The part of the search that is finished.
        explored: f64,
        /// How many cells, each of one joint linear region or more, were found on which the networks agree.
        cells: u64,
        /// Where to go on; `None` if the search was not begun.
        state: Option<Box<SearchState>>,
    },
}

/// The answer and how it was found.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// `identical`, `moves`, `evaluation`, `affine maps`, `hyperplanes`, `breakpoints`, `bottleneck`, `rounding`,
    /// `falsification`, `regions`, or `none` if the time was up before any of them.
    pub method: &'static str,
}

/// Why the question makes no sense.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum EquivalenceError {
    #[error("the networks have {a} and {b} inputs; expected the same number")]
    Inputs { a: usize, b: usize },
    #[error("the networks have {a} and {b} outputs; expected the same number")]
    Outputs { a: usize, b: usize },
    #[error(transparent)]
    Domain(#[from] fiberscope_core::DomainError),
    #[error(transparent)]
    Search(#[from] regions::SearchError),
}

/// Decides whether two networks compute the same function on a domain.
pub fn decide(
    a: &Network,
    b: &Network,
    domain: &Domain,
    options: &EquivalenceOptions,
    progress: &(dyn Fn(SearchProgress) + Sync),
) -> Result<Decision, EquivalenceError> {
    if a.input_width() != b.input_width() {
        return Err(EquivalenceError::Inputs { a: a.input_width(), b: b.input_width() });
    }
    if a.output_width() != b.output_width() {
        return Err(EquivalenceError::Outputs { a: a.output_width(), b: b.output_width() });
    }
    domain.check(a.input_width())?;
    let question = Question::new(a, b, domain, options);
    if let Some(state) = &options.resume {
        state.may_belong_to(&question.names.0.sha256, &question.names.1.sha256, domain)?;
    }
    if let Some(decision) = question.identical().or_else(|| question.relabelled()) {
        return Ok(decision);
    }
    if let Some(decision) = question.evaluate() {
        return Ok(question.prefer_rounding(decision, options));
    }
    let reduced = question.reduce()?;
    let cut_short = question.deadline.is_past();
    if let Some(state) = options.resume.as_ref().filter(|_| !cut_short) {
        state.belongs_to(&reduced.0.network, &reduced.1.network, domain)?;
    }
    if let Some(decision) = question.without_search(&reduced, options) {
        return Ok(decision);
    }
    if question.deadline.is_past() {
        let state = options.resume.clone().map(Box::new);
        let (explored, cells) = (0.0, state.as_ref().map_or(0, |state| state.leaves()));
        return Ok(Decision { verdict: Verdict::Undecided { explored, cells, state }, method: "none" });
    }
    question.search(&reduced.0, &reduced.1, options, progress)
}

/// Networks with more parameters are evaluated at a few points before anything else is tried: that costs less than
/// reducing them.
const LARGE: usize = 1 << 12;

/// The points at which large networks are evaluated first.
const FIRST_POINTS: usize = 64;

struct Question<'a> {
    a: &'a Network,
    b: &'a Network,
    names: (NetworkName, NetworkName),
    domain: &'a Domain,
    seed: u64,
    deadline: &'a Deadline,
}

impl<'a> Question<'a> {
    fn new(a: &'a Network, b: &'a Network, domain: &'a Domain, options: &'a EquivalenceOptions) -> Self {
        let names = rayon::join(|| NetworkName::of(a), || NetworkName::of(b));
        Question { a, b, names, domain, seed: options.seed, deadline: &options.deadline }
    }

    fn identical(&self) -> Option<Decision> {
        (self.names.0 == self.names.1).then(|| {
            self.equal(Evidence::Moves { a: MoveChain::default(), b: MoveChain::default() }, "identical")
        })?
    }

    /// The networks differ by the order and the scales of their neurons.
    fn relabelled(&self) -> Option<Decision> {
        let moves = relabelling::propose(self.a, self.b)?;
        self.equal(Evidence::Moves { a: MoveChain::default(), b: moves }, "moves")
    }

    /// Large networks are looked at in a few points.
    fn evaluate(&self) -> Option<Decision> {
        let large = self.a.parameter_count().max(self.b.parameter_count()) > LARGE;
        if !large {
            return None;
        }
        let points: Vec<_> = self.random_points(FIRST_POINTS).filter(|x| self.domain.contains(x)).collect();
        let (a, b) = (Residues::new(self.a), Residues::new(self.b));
        let mut next = 0;
        while let Some(at) = first_suspect(&a, &b, &points[next..]) {
            if let Some(decision) = self.different([points[next + at].clone()], "evaluation") {
                return Some(decision);
            }
            next += at + 1;
        }
        None
    }

    fn reduce(&self) -> Result<(Reduction, Reduction), EquivalenceError> {
        let reduced = |network: &Network| {
            reduce_until(&network.to_exact(), self.domain, &ReduceOptions::default(), self.deadline)
        };
        let (mut a, mut b) = (reduced(self.a)?, reduced(self.b)?);
        // A hidden layer of its own lets a shallower network be compared with a deeper one.
        match (a.network.hidden_depth(), b.network.hidden_depth()) {
            (1, 2) => deepen(&mut a),
            (2, 1) => deepen(&mut b),
            _ => {}
        }
        Ok((a, b))
    }

    /// Proofs and refutations that cost little, as long as there is time.
    fn without_search(
        &self,
        (a, b): &(Reduction, Reduction),
        options: &EquivalenceOptions,
    ) -> Option<Decision> {
        if self.deadline.is_past() {
            return None;
        }
        if let Some(decision) = self.polynomial(a, b) {
            return Some(self.prefer_rounding(decision, options));
        }
        if self.deadline.is_past() {
            return None;
        }
        if let Some(decision) = self.rounding(options) {
            return Some(decision);
        }
        let budget = FalsifyBudget { deadline: self.deadline.clone(), ..FalsifyBudget::default() };
        let x = falsify(self.a, self.b, self.domain, self.seed, &budget)?;
        self.different([x], "falsification")
    }

    /// The procedures that need no search.
    fn polynomial(&self, a: &Reduction, b: &Reduction) -> Option<Decision> {
        let matching = match_layers(&a.network, &b.network, self.deadline)?;
        let moves_a = a.moves.clone();
        let moves_b = b.moves.clone().compose(matching.moves);
        let (net_a, net_b) = (&a.network, &matching.network);
        if matching.prefix == net_a.depth() && net_a.depth() == net_b.depth() {
            return self.equal(Evidence::Moves { a: moves_a, b: moves_b }, "moves");
        }
        let hidden = (net_a.hidden_depth(), net_b.hidden_depth());
        if hidden == (0, 0) {
            return self.different(self.random_points(self.a.input_width() + 1), "affine maps");
        }
        if hidden == (matching.prefix + 1, matching.prefix + 1) {
            let sides = net_a.activation_ranges(self.domain).nth(matching.prefix)?;
            match difference_points(&Tail::of(net_a), &Tail::of(net_b), &sides, self.seed) {
                None => {
                    let evidence = Evidence::Hyperplanes { a: moves_a, b: moves_b, prefix: matching.prefix };
                    return self.equal(evidence, "hyperplanes");
                }
                Some(points) if matching.prefix == 0 => return self.different(points, "hyperplanes"),
                Some(_) => {}
            }
        }
        match compare_on_line(net_a, &b.network, self.domain, &|| self.deadline.is_past()) {
            Some(LineOutcome::Equal(_)) => {
                return self.equal(Evidence::Line { a: moves_a, b: b.moves.clone() }, "breakpoints");
            }
            Some(LineOutcome::Different(x)) => return self.different([x], "breakpoints"),
            Some(LineOutcome::Stopped) | None => {}
        }
        if hidden == (2, 2)
            && *self.domain == Domain::Space
            && [net_a, &b.network].into_iter().all(is_bottleneck)
        {
            return match bottleneck::compare(net_a, &b.network, self.seed, self.deadline) {
                Finding::Equal { a: more_a, b: more_b } => {
                    let (a, b) = (moves_a.compose(more_a), b.moves.clone().compose(more_b));
                    self.equal(Evidence::Hyperplanes { a, b, prefix: 1 }, "bottleneck")
                }
                Finding::Different(x) => self.different([x], "bottleneck"),
                Finding::Nothing => None,
            };
        }
        None
    }

    /// Points of the domain in general position.
    fn random_points(&self, count: usize) -> impl Iterator<Item = Vec<Rational>> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let sides = self.domain.sides(self.a.input_width());
        (0..count).map(move |_| sides.iter().map(|side| inside(side, &mut rng)).collect())
    }

    /// A difference of a few units in the last place is what rounding leaves.
    fn prefer_rounding(&self, decision: Decision, options: &EquivalenceOptions) -> Decision {
        let Verdict::Different { x, .. } = &decision.verdict else { return decision };
        match self.rounding(options) {
            Some(Decision {
                verdict: Verdict::EquivalentUpToRounding { bound, certificate, differ_at },
                method,
            }) => {
                let differ_at = Some(x.clone()).filter(|x| certificate.domain.contains(x)).or(differ_at);
                Decision {
                    verdict: Verdict::EquivalentUpToRounding { bound, certificate, differ_at },
                    method,
                }
            }
            _ => decision,
        }
    }

    fn rounding(&self, options: &EquivalenceOptions) -> Option<Decision> {
        if options.exact {
            return None;
        }
        let (evidence, domain) = rounding::align(self.a, self.b, self.domain, options, self.deadline)?;
        let (Evidence::Rounding { bound, .. } | Evidence::Nudged { bound, .. }) = &evidence else {
            return None;
        };
        let bound = bound.clone();
        let certificate = self.proved(evidence, domain)?;
        let budget = FalsifyBudget { deadline: self.deadline.clone(), points: DIFFERENCE_POINTS };
        let differ_at = falsify(self.a, self.b, &certificate.domain, self.seed, &budget);
        let verdict = Verdict::EquivalentUpToRounding { bound, certificate, differ_at };
        Some(Decision { verdict, method: "rounding" })
    }

    fn search(
        &self,
        a: &Reduction,
        b: &Reduction,
        options: &EquivalenceOptions,
        progress: &(dyn Fn(SearchProgress) + Sync),
    ) -> Result<Decision, EquivalenceError> {
        let limits = SearchLimits { deadline: self.deadline.clone(), leaves: None };
        let (net_a, net_b) = (&a.network, &b.network);
        let outcome = match options.resume.clone() {
            Some(state) => regions::resume(net_a, net_b, self.domain, state, &limits, progress)?,
            None => regions::search(net_a, net_b, self.domain, &limits, progress)?,
        };
        let decided = match outcome {
            SearchOutcome::Equal { tree, .. } => {
                let evidence = Evidence::Regions { a: a.moves.clone(), b: b.moves.clone(), tree };
                self.equal(evidence, "regions")
            }
            SearchOutcome::Different { x } => self.different([x], "regions"),
            SearchOutcome::Undecided { explored, leaves, state } => {
                let state = state.named(self.names.0.sha256, self.names.1.sha256);
                let verdict = Verdict::Undecided { explored, cells: leaves, state: Some(Box::new(state)) };
                Some(Decision { verdict, method: "regions" })
            }
        };
        Ok(decided.expect("what the search proves, the checker accepts"))
    }

    fn equal(&self, evidence: Evidence, method: &'static str) -> Option<Decision> {
        let certificate = self.proved(evidence, self.domain.clone())?;
        Some(Decision { verdict: Verdict::Equivalent { certificate }, method })
    }

    /// The first of the points at which the networks differ, exactly.
    fn different(
        &self,
        points: impl IntoIterator<Item = Vec<Rational>>,
        method: &'static str,
    ) -> Option<Decision> {
        points.into_iter().filter(|x| self.domain.contains(x)).find_map(|x| {
            let (a, b) = rayon::join(|| self.a.evaluate_exact(&x), || self.b.evaluate_exact(&x));
            let (a, b) = (a.ok()?, b.ok()?);
            if a == b {
                return None;
            }
            let evidence = Evidence::Witness { x: x.clone(), a: a.clone(), b: b.clone() };
            let certificate = self.proved(evidence, self.domain.clone())?;
            Some(Decision { verdict: Verdict::Different { x, a, b, certificate }, method })
        })
    }

    /// The certificate, if the checker accepts it.
    fn proved(&self, evidence: Evidence, domain: Domain) -> Option<Certificate> {
        let (a, b) = self.names.clone();
        let certificate = Certificate { a, b, domain, evidence };
        matches!(check(&certificate, self.a, self.b), Outcome::Proved(_)).then_some(certificate)
    }
}

/// Puts a layer of identity weights behind the only hidden layer; its inputs are nonnegative.
fn deepen(reduction: &mut Reduction) {
    let layers = reduction.network.layers();
    let (hidden, output) = (&layers[0], &layers[1]);
    if hidden.activation() != Activation::Relu {
        return;
    }
    let unit = |i: usize, j: usize| if i == j { Rational::ONE } else { Rational::ZERO };
    let width = hidden.width();
    let unfold = Move::Unfold {
        layer: 1,
        weight: (0..width).map(|i| (0..width).map(|j| unit(i, j)).collect()).collect(),
        bias: vec![Rational::ZERO; width],
        activation: Activation::Relu,
        next_weight: output.weight().iter_rows().map(<[Rational]>::to_vec).collect(),
        next_bias: output.bias().to_vec(),
        pairs: Vec::new(),
    };
    unfold.apply(&mut reduction.network, &Domain::Space).expect("relu of a nonnegative number is the number");
    reduction.moves.push(unfold);
}

/// Whether the network has two hidden ReLU layers and its first weight has full row rank.
fn is_bottleneck(network: &ExactNetwork) -> bool {
    let relu = network.hidden_layers().iter().all(|layer| layer.activation() == Activation::Relu);
    let first = network.layers()[0].weight();
    relu && first.rows() <= first.cols() && rank::rank(&first.map(Rational::to_f64)).lower == first.rows()
}
