//! Do two networks compute the same function?
//!
//! Cheap proofs come first, then attempts to refute, then the complete search:
//!
//! 0. Networks that differ by the order and the scales of their neurons are recognised as they are ([`crate::orbit`]).
//! 1. Both are evaluated at a few points: of the caller's data, corners of the box, random ones (module `first`).
//! 2. Both networks are reduced; their layers are matched up to permutation and scaling ([`crate::orbit`]).
//! 3. If one hidden layer is left behind the matched ones, hyperplane representations are compared
//!    (module `tail`); without matched layers this decides.
//! 4. Functions of one variable are decided by a walk over their breakpoints ([`fiberscope_check::compare_on_line`]).
//! 5. Three layers with a bottleneck are decided for generic parameters (module `bottleneck`).
//! 6. Networks that are not proved equal may agree up to rounding (module `rounding`), if that is wanted.
//! 7. Points near boundaries of both networks are tried ([`mod@falsify`]).
//! 8. All joint linear regions are searched, within limits ([`regions`]).
//!
//! **Up to rounding.** A proved difference is a yes only in the following two cases, and is shown even then.
//! On a bounded box: a certified bound for the difference of the outputs that is at most 1/1024 of the certified size of the
//! outputs there (the largest absolute value at an exactly evaluated point). On an unbounded domain, where no such bound exists and no
//! box is assumed: moves that hold on that domain, after which the parameters agree one by one to a few units in the last place.
//! With a tolerance the question is another one: do the outputs differ by at most that much?
//!
//! Every answer but "undecided" carries a certificate, which the checker has accepted before it is given:
//! no verdict rests on the code here. Deciding is coNP-hard in general [threelayer2026, Section 6], so that a
//! limit may be reached first.

mod bottleneck;
pub mod falsify;
mod first;
mod polynomial;
pub mod regions;
mod residues;
mod rounding;
pub(crate) mod solve;
mod tail;
mod verdict;

use std::cell::OnceCell;

use fiberscope_check::{Outcome, Refusal, check};
use fiberscope_core::{Certificate, Domain, Evidence, Interval, MoveChain, Network, NetworkName, Rational};
use thiserror::Error;

use crate::limit::Deadline;
use crate::reduce::Reduction;
use falsify::{FalsifyBudget, falsify_beyond};
use regions::{SearchLimits, SearchOutcome, SearchProgress, SearchState};

pub use verdict::{Agreement, Decision, Difference, Method, Verdict};

/// How many points are tried to show where networks that agree up to rounding differ.
const DIFFERENCE_POINTS: usize = 1024;

/// On a box, a difference counts as rounding if it is at most this part of the size of the outputs: half precision, the coarsest format in use but
/// one, keeps ten bits.
const PART: i64 = 1024;

/// How to go about the question.
#[derive(Clone, Debug, Default)]
pub struct EquivalenceOptions {
    /// Refuse the answer "up to rounding".
    pub exact: bool,
    /// The question is whether the outputs differ by at most this much on the domain, instead of equality.
    pub tolerance: Option<f64>,
    /// The distance from 1 to the next number of the coarser of the formats in which the parameters were stored.
    pub precision: f64,
    /// Points of interest, which are tried first.
    pub data: Vec<Vec<Rational>>,
    /// Leave out the first look at a few points, so that the methods which need no luck answer.
    pub without_points: bool,
    /// When it is past, the step at hand is finished and the answer is "undecided".
    pub deadline: Deadline,
    /// The seed of random points.
    pub seed: u64,
    /// Where to go on with an earlier search.
    pub resume: Option<SearchState>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum EquivalenceError {
    #[error("the networks have {a} and {b} inputs; expected the same number")]
    Inputs { a: usize, b: usize },
    #[error("the networks have {a} and {b} outputs; expected the same number")]
    Outputs { a: usize, b: usize },
    #[error("tolerance {0}: expected a positive number")]
    Tolerance(f64),
    #[error(transparent)]
    Domain(#[from] fiberscope_core::DomainError),
    #[error(transparent)]
    Search(#[from] regions::SearchError),
    #[error(
        "the checker refused what the search found ({0}); this is a bug in fiberscope, or the file of the search was edited"
    )]
    Refused(Refusal),
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
    let goal = Goal::of(options)?;
    let question = Question::new(a, b, domain, options, goal);
    if let Some(state) = &options.resume {
        state.may_belong_to(&question.names.0.sha256, &question.names.1.sha256, domain)?;
    }
    let verdict = question.answer(progress)?;
    let tolerance = match question.goal {
        Goal::Within(tolerance) => Some(tolerance),
        Goal::Exact | Goal::Rounding => None,
    };
    Ok(Decision { verdict: verdict.0, method: verdict.1, tolerance })
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
enum Goal {
    /// Equality.
    Exact,
    /// Equality, or agreement up to rounding.
    Rounding,
    /// A difference of at most so much.
    Within(Rational),
}

impl Goal {
    fn of(options: &EquivalenceOptions) -> Result<Goal, EquivalenceError> {
        match options.tolerance {
            _ if options.exact => Ok(Goal::Exact),
            None => Ok(Goal::Rounding),
            Some(tolerance) => match Rational::from_f64(tolerance).filter(Rational::is_positive) {
                Some(exact) => Ok(Goal::Within(exact)),
                None => Err(EquivalenceError::Tolerance(tolerance)),
            },
        }
    }
}

type Answer = (Verdict, Method);

struct Question<'a> {
    a: &'a Network,
    b: &'a Network,
    names: (NetworkName, NetworkName),
    domain: &'a Domain,
    options: &'a EquivalenceOptions,
    goal: Goal,
    seed: u64,
    deadline: &'a Deadline,
    /// The size of the outputs on a bounded box.
    size: OnceCell<Rational>,
    /// The alignment up to rounding, looked for once.
    aligned: OnceCell<Option<rounding::Aligned>>,
    /// Evidence that the parameters agree, looked for once.
    close: OnceCell<Option<Evidence>>,
}

/// What is known before there is an answer.
#[derive(Default)]
struct Known {
    /// The largest difference that was seen.
    difference: Option<(Difference, Method)>,
}

impl Known {
    fn add(&mut self, difference: Difference, method: Method) {
        if self.difference.as_ref().is_none_or(|(known, _)| difference.size() > known.size()) {
            self.difference = Some((difference, method));
        }
    }
}

impl<'a> Question<'a> {
    fn new(
        a: &'a Network,
        b: &'a Network,
        domain: &'a Domain,
        options: &'a EquivalenceOptions,
        goal: Goal,
    ) -> Self {
        let names = rayon::join(|| NetworkName::of(a), || NetworkName::of(b));
        let (seed, deadline) = (options.seed, &options.deadline);
        let (size, aligned, close) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Question { a, b, names, domain, options, goal, seed, deadline, size, aligned, close }
    }

    fn answer(&self, progress: &(dyn Fn(SearchProgress) + Sync)) -> Result<Answer, EquivalenceError> {
        if let Some(answer) = self.identical().or_else(|| self.relabelled()) {
            return Ok(answer);
        }
        let mut known = Known::default();
        if !self.options.without_points && !self.deadline.is_past() {
            let found = first::look((self.a, self.b), self.domain, &self.options.data, self.seed);
            let enough = |found: &&Difference| match &self.goal {
                Goal::Exact => true,
                Goal::Rounding => self.too_large(found),
                Goal::Within(tolerance) => found.size() > *tolerance,
            };
            let first = found.iter().find(enough).cloned();
            if let Some(answer) = first.and_then(|found| self.different(found, Method::Evaluation)) {
                return Ok(answer);
            }
            found.into_iter().for_each(|found| known.add(found, Method::Evaluation));
            if let Some(answer) = self.settle(&mut known) {
                return Ok(answer);
            }
        }
        let reduced = self.reduce()?;
        let cut_short = self.deadline.is_past();
        if let Some(state) = self.options.resume.as_ref().filter(|_| !cut_short) {
            state.belongs_to(&reduced.0.network, &reduced.1.network, self.domain)?;
        }
        if let Some(answer) = self.without_search(&reduced, &mut known) {
            return Ok(answer);
        }
        if self.deadline.is_past() {
            let state = self.options.resume.clone().map(Box::new);
            let cells = state.as_ref().map_or(0, |state| state.leaves());
            return Ok((self.undecided((0.0, cells), state, known), Method::None));
        }
        self.search(&reduced.0, &reduced.1, known, progress)
    }

    fn identical(&self) -> Option<Answer> {
        (self.names.0 == self.names.1).then(|| {
            self.equal(
                Evidence::Moves { a: MoveChain::default(), b: MoveChain::default() },
                Method::Identical,
            )
        })?
    }

    /// The networks differ by the order and the scales of their neurons.
    fn relabelled(&self) -> Option<Answer> {
        let moves = crate::orbit::propose(self.a, self.b)?.moves();
        self.equal(Evidence::Moves { a: MoveChain::default(), b: moves }, Method::Moves)
    }

    /// Proofs and refutations that cost little, as long as there is time.
    fn without_search(&self, (a, b): &(Reduction, Reduction), known: &mut Known) -> Option<Answer> {
        if self.deadline.is_past() {
            return None;
        }
        match self.polynomial(a, b) {
            Some(polynomial::Found::Equal(verdict, method)) => return Some((*verdict, method)),
            Some(polynomial::Found::Different(difference, method)) => {
                known.add(difference, method);
                if let Some(answer) = self.settle(known) {
                    return Some(answer);
                }
            }
            None => {}
        }
        if self.deadline.is_past() {
            return None;
        }
        if let Some(answer) = self.agreement(known) {
            return Some(answer);
        }
        let budget = FalsifyBudget { deadline: self.deadline.clone(), ..FalsifyBudget::default() };
        self.falsify(known, &budget);
        self.settle(known)
    }

    /// The answer that the known difference gives, if it gives one.
    fn settle(&self, known: &mut Known) -> Option<Answer> {
        let (difference, method) = known.difference.clone()?;
        match &self.goal {
            Goal::Exact => self.different(difference, method),
            Goal::Rounding if self.too_large(&difference) => self.different(difference, method),
            Goal::Rounding => self.agreement(known).or_else(|| self.different(difference, method)),
            Goal::Within(tolerance) if difference.size() > *tolerance => self.different(difference, method),
            Goal::Within(tolerance) => {
                if let Some(answer) = self.agreement(known) {
                    return Some(answer);
                }
                // The networks are not equal: what is left is to look for a point beyond the tolerance.
                if let Some(far) = first::far_out((self.a, self.b), self.domain, &difference.x) {
                    known.add(far, method);
                }
                if known.difference.as_ref().is_some_and(|(found, _)| found.size() <= *tolerance) {
                    let budget =
                        FalsifyBudget { deadline: self.deadline.clone(), ..FalsifyBudget::default() };
                    self.falsify(known, &budget);
                }
                let (difference, method) = known.difference.take()?;
                if difference.size() > *tolerance {
                    return self.different(difference, method);
                }
                let known = Known { difference: Some((difference, method)) };
                Some((self.undecided((0.0, 0), None, known), method))
            }
        }
    }

    /// Looks for a point with a difference that answers the question.
    fn falsify(&self, known: &mut Known, budget: &FalsifyBudget) {
        let threshold = match &self.goal {
            Goal::Within(tolerance) => tolerance.clone(),
            Goal::Exact | Goal::Rounding => Rational::ZERO,
        };
        let x = falsify_beyond((self.a, self.b), self.domain, self.seed, budget, &threshold);
        if let Some(found) = x.and_then(|x| first::compare((self.a, self.b), &x)) {
            known.add(found, Method::Falsification);
        }
    }

    /// Whether the domain is a box without infinite sides.
    fn is_bounded(&self) -> bool {
        let finite = |sides: &[Interval]| sides.iter().all(|side| side.magnitude().is_some());
        matches!(self.domain, Domain::Box(sides) if finite(sides))
    }

    /// The size of the outputs on a bounded box.
    fn size(&self) -> &Rational {
        self.size.get_or_init(|| first::size_on_box(self.a, self.domain, &self.options.data, self.seed))
    }

    /// Whether a difference is so large beside the outputs that nobody would call it rounding. On a bounded box no certified bound
    /// can then be small enough.
    fn too_large(&self, difference: &Difference) -> bool {
        let size = match self.is_bounded() {
            true => self.size().clone(),
            false => {
                let around = first::size_around(self.a, self.domain, &difference.x, self.seed);
                Rational::from_f64(around).unwrap_or_default()
            }
        };
        &difference.size() * &Rational::from(PART) > size
    }

    /// The agreement up to rounding, or within the tolerance, if there is one. A difference that is known is shown with it.
    fn agreement(&self, known: &Known) -> Option<Answer> {
        let (evidence, agreement) = match &self.goal {
            Goal::Exact => return None,
            Goal::Within(tolerance) => {
                let aligned = self.aligned(tolerance)?;
                if aligned.bound > *tolerance {
                    return None;
                }
                let agreement = Agreement::Outputs { bound: aligned.bound.clone(), size: None };
                (aligned.evidence.clone(), agreement)
            }
            Goal::Rounding if self.is_bounded() => {
                let size = self.size().clone();
                let aligned = self.aligned(&(&size / &Rational::from(PART)))?;
                if &aligned.bound * &Rational::from(PART) > size {
                    return None;
                }
                let agreement = Agreement::Outputs { bound: aligned.bound.clone(), size: Some(size) };
                (aligned.evidence.clone(), agreement)
            }
            Goal::Rounding => {
                let agree = || {
                    let precision = self.options.precision;
                    rounding::parameters_agree(self.a, self.b, self.domain, precision, self.deadline)
                };
                match self.close.get_or_init(agree).clone()? {
                    Evidence::Close { a, b, relative } if relative.is_zero() => {
                        return self.equal(Evidence::Moves { a, b }, Method::Moves);
                    }
                    Evidence::Close { a, b, relative } => {
                        let agreement = Agreement::Parameters { relative: relative.clone() };
                        (Evidence::Close { a, b, relative }, agreement)
                    }
                    _ => return None,
                }
            }
        };
        let certificate = self.proved(evidence).ok()?;
        let mut known = Known { difference: known.difference.clone() };
        if known.difference.is_none() {
            let budget = FalsifyBudget { deadline: self.deadline.clone(), points: DIFFERENCE_POINTS };
            let x = falsify_beyond((self.a, self.b), self.domain, self.seed, &budget, &Rational::ZERO);
            if let Some(found) = x.and_then(|x| first::compare((self.a, self.b), &x)) {
                known.add(found, Method::Falsification);
            }
            if let Some((found, method)) = &known.difference
                && self.goal == Goal::Rounding
                && self.too_large(found)
            {
                return self.different(found.clone(), *method);
            }
        }
        let differ_at = known.difference.map(|(difference, _)| difference);
        Some((Verdict::EquivalentUpToRounding { agreement, certificate, differ_at }, Method::Rounding))
    }

    /// The alignment with the best bound that was found; bounds need a bounded box.
    fn aligned(&self, enough: &Rational) -> Option<&rounding::Aligned> {
        let align = || {
            let precision = (self.options.precision, self.options.tolerance);
            rounding::align((self.a, self.b), self.domain, precision, enough, self.deadline)
        };
        if !self.is_bounded() {
            return None;
        }
        self.aligned.get_or_init(align).as_ref()
    }

    /// The best bound that was found on the way and that the checker accepts.
    fn bound(&self) -> Option<Rational> {
        let aligned = self.aligned.get()?.as_ref()?;
        self.proved(aligned.evidence.clone()).ok().map(|_| aligned.bound.clone())
    }

    fn search(
        &self,
        a: &Reduction,
        b: &Reduction,
        mut known: Known,
        progress: &(dyn Fn(SearchProgress) + Sync),
    ) -> Result<Answer, EquivalenceError> {
        let limits = SearchLimits { deadline: self.deadline.clone(), leaves: None };
        let (net_a, net_b) = (&a.network, &b.network);
        let outcome = match self.options.resume.clone() {
            Some(state) => regions::resume(net_a, net_b, self.domain, state, &limits, progress)?,
            None => regions::search(net_a, net_b, self.domain, &limits, progress)?,
        };
        match outcome {
            SearchOutcome::Equal { tree, .. } => {
                let evidence = Evidence::Regions { a: a.moves.clone(), b: b.moves.clone(), tree };
                let certificate = self.proved(evidence).map_err(EquivalenceError::Refused)?;
                Ok((Verdict::Equivalent { certificate }, Method::Regions))
            }
            SearchOutcome::Different { x } => {
                let found = first::compare((self.a, self.b), &x).filter(|_| self.domain.contains(&x));
                let Some(found) = found else {
                    let rule =
                        "the networks have the same outputs at the point, or it lies outside the domain";
                    return Err(EquivalenceError::Refused(Refusal {
                        step: "witness".into(),
                        rule: rule.into(),
                    }));
                };
                known.add(found, Method::Regions);
                let difference = known.difference.clone();
                self.settle(&mut known)
                    .or_else(|| {
                        let (difference, method) = difference?;
                        self.different(difference, method)
                    })
                    .ok_or_else(|| {
                        let rule = "the values at the point were not confirmed";
                        EquivalenceError::Refused(Refusal { step: "witness".into(), rule: rule.into() })
                    })
            }
            SearchOutcome::Undecided { explored, leaves, state } => {
                let state = state.named(self.names.0.sha256, self.names.1.sha256);
                Ok((self.undecided((explored, leaves), Some(Box::new(state)), known), Method::Regions))
            }
            SearchOutcome::TooLarge => Ok((self.undecided((0.0, 0), None, known), Method::TooLarge)),
        }
    }

    fn undecided(
        &self,
        (explored, cells): (f64, u64),
        state: Option<Box<SearchState>>,
        known: Known,
    ) -> Verdict {
        let difference = known.difference.map(|(difference, _)| difference);
        let limit = self.deadline.limit();
        Verdict::Undecided { explored, cells, state, limit, bound: self.bound(), difference }
    }

    fn equal(&self, evidence: Evidence, method: Method) -> Option<Answer> {
        let certificate = self.proved(evidence).ok()?;
        Some((Verdict::Equivalent { certificate }, method))
    }

    fn different(&self, Difference { x, a, b }: Difference, method: Method) -> Option<Answer> {
        let evidence = Evidence::Witness { x: x.clone(), a: a.clone(), b: b.clone() };
        let certificate = self.proved(evidence).ok()?;
        Some((Verdict::Different { x, a, b, bound: self.bound(), certificate }, method))
    }

    /// The first of the points of the domain at which the networks differ, exactly.
    fn difference(&self, points: impl IntoIterator<Item = Vec<Rational>>) -> Option<Difference> {
        let mut points = points.into_iter().filter(|x| self.domain.contains(x));
        points.find_map(|x| first::compare((self.a, self.b), &x))
    }

    /// The certificate, if the checker accepts it.
    fn proved(&self, evidence: Evidence) -> Result<Certificate, Refusal> {
        let (a, b) = self.names.clone();
        let certificate = Certificate { a, b, domain: self.domain.clone(), evidence };
        match check(&certificate, self.a, self.b) {
            Outcome::Proved(_) => Ok(certificate),
            Outcome::Refused(refusal) => Err(refusal),
            Outcome::Stopped => unreachable!("nobody stops it"),
        }
    }
}
