//! The question that the methods are asked in turn, and what they make of it.
//!
//! A question is two networks, a domain, a goal and what is known so far: the largest difference of the
//! outputs that was seen. What several methods need (the reduced networks, how far their layers match, the
//! size of the outputs on a box) is computed when the first of them asks, and once.

use std::cell::OnceCell;

use fiberscope_check::{Checker, Outcome, Refusal, check};
use fiberscope_core::{
    Activation, Certificate, Domain, Evidence, Interval, LARGEST_DENSE, Move, Network, NetworkName, Rational,
};

use super::apart;
use super::first;
use super::options::{EquivalenceError, EquivalenceOptions, Goal};
use super::regions::SearchState;
use super::verdict::{Decision, Difference, Method, Verdict};
use crate::limit::Deadline;
use crate::orbit::{Matching, match_layers};
use crate::reduce::{Reduction, reduce_alike};
use crate::rounding::{self, Aligned, coarser_precision};
use crate::threads::threads;

/// What a method makes of a question.
pub enum Step {
    /// The answer.
    Decided(Box<Decision>),
    /// The networks differ at these points. What is left to ask is whether they differ by more than the goal
    /// allows (module `settle`).
    Refined(Vec<Difference>),
    /// The method does not apply, or found nothing.
    Nothing,
}

impl Step {
    /// The answer, if there is one.
    pub fn of(decision: Option<Decision>) -> Step {
        decision.map_or(Step::Nothing, |decision| Step::Decided(Box::new(decision)))
    }
}

/// Why there is no certificate.
pub enum Unproved {
    /// The checker refused it.
    Refused(Refusal),
    /// A limit came before the checker was done; the evidence is handed back.
    Stopped(Evidence),
}

/// An alignment up to rounding, with the certificate of its bound.
pub struct Alignment {
    /// The bound for the difference of the outputs.
    pub bound: Rational,
    /// Its proof.
    pub certificate: Certificate,
}

/// Both networks, reduced on a domain.
pub(crate) fn reduced(
    a: &Network,
    b: &Network,
    domain: &Domain,
    deadline: &Deadline,
) -> Result<(Reduction, Reduction), EquivalenceError> {
    let (mut a, mut b) = reduce_alike(a, b, domain, deadline)?;
    // A hidden layer of its own lets a shallower network be compared with a deeper one.
    match (a.network.hidden_depth(), b.network.hidden_depth()) {
        (1, 2) => deepen(&mut a),
        (2, 1) => deepen(&mut b),
        _ => {}
    }
    Ok((a, b))
}

/// What a search over boxes found.
pub struct Apart {
    /// A bound for the difference of the outputs, with its proof.
    pub bound: Option<(Rational, Certificate)>,
    /// The point with the largest difference that was seen.
    pub worst: Option<Difference>,
}

/// Two networks, a domain, a goal, and what is known.
pub struct Question<'a> {
    /// The first network.
    pub a: &'a Network,
    /// The second network.
    pub b: &'a Network,
    /// Their names in certificates.
    pub names: (NetworkName, NetworkName),
    /// Where they are compared.
    pub domain: &'a Domain,
    /// How they are compared.
    pub options: &'a EquivalenceOptions<'a>,
    /// What is asked.
    pub goal: Goal,
    /// The largest difference that was seen, and the method that found it.
    pub known: Option<(Difference, Method)>,
    reduced: OnceCell<(Reduction, Reduction)>,
    matched: OnceCell<Option<Matching>>,
    size: OnceCell<Rational>,
    aligned: OnceCell<Option<Alignment>>,
    close: OnceCell<Option<Evidence>>,
    apart: OnceCell<Option<Apart>>,
}

impl<'a> Question<'a> {
    /// The question, if it makes sense.
    pub fn new(
        (a, b): (&'a Network, &'a Network),
        domain: &'a Domain,
        options: &'a EquivalenceOptions<'a>,
    ) -> Result<Self, EquivalenceError> {
        if a.input_width() != b.input_width() {
            return Err(EquivalenceError::Inputs { a: a.input_width(), b: b.input_width() });
        }
        if a.output_width() != b.output_width() {
            return Err(EquivalenceError::Outputs { a: a.output_width(), b: b.output_width() });
        }
        domain.check(a.input_width())?;
        let goal = Goal::of(options)?;
        let names = rayon::join(|| NetworkName::of(a), || NetworkName::of(b));
        if let Some(state) = &options.resume {
            state.may_belong_to(&names.0.sha256, &names.1.sha256, domain)?;
        }
        Ok(Question {
            a,
            b,
            names,
            domain,
            options,
            goal,
            known: None,
            reduced: OnceCell::new(),
            matched: OnceCell::new(),
            size: OnceCell::new(),
            aligned: OnceCell::new(),
            close: OnceCell::new(),
            apart: OnceCell::new(),
        })
    }

    /// Both networks.
    pub fn networks(&self) -> (&'a Network, &'a Network) {
        (self.a, self.b)
    }

    /// When to stop.
    pub fn deadline(&self) -> &'a Deadline {
        &self.options.deadline
    }

    /// Whether a method may be used.
    pub fn may_use(&self, method: Method) -> bool {
        self.options.methods.contains(&method)
    }

    /// Remembers a difference if it is the largest so far.
    pub fn learn(&mut self, difference: Difference, method: Method) {
        if self.known.as_ref().is_none_or(|(known, _)| difference.size() > known.size()) {
            self.known = Some((difference, method));
        }
    }

    /// Both networks, reduced on the domain. A search to go on with must belong to them.
    pub fn reduced(&self) -> Result<&(Reduction, Reduction), EquivalenceError> {
        if let Some(reduced) = self.reduced.get() {
            return Ok(reduced);
        }
        let (a, b) = reduced(self.a, self.b, self.domain, self.deadline())?;
        // What the deadline cut short belongs to no search, and none is begun any more.
        let resume = self.options.resume.as_ref().filter(|_| !self.deadline().is_past());
        if let Some(state) = resume {
            state.belongs_to(&a.network, &b.network, self.domain)?;
        }
        Ok(self.reduced.get_or_init(|| (a, b)))
    }

    /// How far the layers of the reduced networks match up to permutation and scaling; `None` if the time is
    /// up.
    pub fn matched(&self) -> Result<Option<&Matching>, EquivalenceError> {
        let (a, b) = self.reduced()?;
        let matching = || {
            let late = self.deadline().is_past();
            (!late).then(|| match_layers(&a.network, &b.network, self.deadline())).flatten()
        };
        Ok(self.matched.get_or_init(matching).as_ref())
    }

    /// Whether a network is stored by its entries and too large to be written out: methods that would do so are left
    /// out, and so is a bound that is sharper than the answer needs.
    pub fn is_large(&self) -> bool {
        [self.a, self.b].iter().any(|network| network.require_dense(LARGE).is_err())
    }

    /// Whether the domain is a box without infinite sides.
    pub fn is_bounded(&self) -> bool {
        let finite = |sides: &[Interval]| sides.iter().all(|side| side.magnitude().is_some());
        matches!(self.domain, Domain::Box(sides) if finite(sides))
    }

    /// The precision of the parameters.
    fn precision(&self) -> f64 {
        self.options.precision.unwrap_or_else(|| coarser_precision(self.a, self.b))
    }

    /// The size of the outputs on a bounded box.
    pub fn size(&self) -> &Rational {
        let (data, seed) = (&self.options.data, self.options.seed);
        self.size.get_or_init(|| first::size_on_box(self.a, self.domain, data, seed))
    }

    /// The alignment up to rounding with the best bound that was found and proved; bounds need a bounded box.
    pub fn aligned(&self, enough: &Rational) -> Option<&Alignment> {
        let align = || {
            let precision = (self.precision(), self.options.tolerance);
            let found = rounding::align(self.networks(), self.domain, precision, enough, self.deadline());
            let Aligned { evidence, bound } = found?;
            self.proved(evidence).ok().map(|certificate| Alignment { bound, certificate })
        };
        if !self.is_bounded() {
            return None;
        }
        self.aligned.get_or_init(align).as_ref()
    }

    /// The best proved bound that was found on the way.
    pub fn bound(&self) -> Option<Rational> {
        let aligned = self.aligned.get().and_then(Option::as_ref).map(|aligned| &aligned.bound);
        let apart = self.apart.get().and_then(Option::as_ref).and_then(|apart| apart.bound.as_ref());
        aligned.into_iter().chain(apart.map(|(bound, _)| bound)).min().cloned()
    }

    /// The largest difference that was seen.
    pub fn largest_seen(&self) -> Option<Difference> {
        let known = self.known.as_ref().map(|(difference, _)| difference);
        let apart = self.apart.get().and_then(Option::as_ref).and_then(|apart| apart.worst.as_ref());
        known.into_iter().chain(apart).max_by(|x, y| x.size().cmp(&y.size())).cloned()
    }

    /// What a search over boxes finds, if that may be used; it needs a bounded box, and layers that may be written out.
    pub fn apart(&self) -> Option<&Apart> {
        let too_large = |network: &Network| network.require_dense(LARGEST_DENSE).is_err();
        if !self.is_bounded() || !self.may_use(Method::Difference) || too_large(self.a) || too_large(self.b) {
            return None;
        }
        let search = || {
            let seen = self.known.as_ref().map(|(known, _)| known);
            let found = apart::search(self.networks(), self.domain, self.options, &self.goal, seen)?;
            let proved = |(bound, evidence)| Some((bound, self.proved(evidence).ok()?));
            Some(Apart { bound: found.bound.and_then(proved), worst: found.worst })
        };
        self.apart.get_or_init(search).as_ref()
    }

    /// Evidence that the parameters agree one by one, after moves that hold on the domain.
    pub fn close(&self) -> Option<&Evidence> {
        let agree =
            || rounding::parameters_agree(self.a, self.b, self.domain, self.precision(), self.deadline());
        self.close.get_or_init(agree).as_ref()
    }

    /// The question with the first of the points of the domain at which the networks differ, exactly.
    pub fn refined(&self, points: impl IntoIterator<Item = Vec<Rational>>) -> Step {
        let mut points = points.into_iter().filter(|x| self.domain.contains(x));
        let found = points.find_map(|x| first::compare(self.networks(), &x));
        found.map_or(Step::Nothing, |found| Step::Refined(vec![found]))
    }

    /// The answer of a method.
    pub fn decision(&self, verdict: Verdict, method: Method) -> Decision {
        Decision { verdict, method, tolerance: self.goal.tolerance().cloned() }
    }

    /// The networks are equal, if the checker accepts the evidence in time.
    pub fn equal(&self, evidence: Evidence, method: Method) -> Option<Decision> {
        let certificate = self.proved(evidence).ok()?;
        Some(self.decision(Verdict::Equivalent { certificate }, method))
    }

    /// The networks differ, if the checker accepts the point. It evaluates both networks there once more,
    /// which is not worth a limit: a difference that was found in the last moment is told.
    pub fn different(&self, Difference { x, a, b }: Difference, method: Method) -> Option<Decision> {
        let certificate = self.certificate(Evidence::Witness { x: x.clone(), a: a.clone(), b: b.clone() });
        let Outcome::Proved(_) = check(&certificate, self.a, self.b) else { return None };
        Some(self.decision(Verdict::Different { x, a, b, bound: self.bound(), certificate }, method))
    }

    /// Nothing decides: the part of the search that is finished, its leaves, and where to go on.
    pub fn undecided(
        &self,
        (explored, cells): (f64, u64),
        state: Option<Box<SearchState>>,
        method: Method,
    ) -> Decision {
        let difference = self.largest_seen();
        let limit = self.deadline().limit();
        let verdict = Verdict::Undecided { explored, cells, state, limit, bound: self.bound(), difference };
        self.decision(verdict, method)
    }

    /// The certificate, if the checker accepts it before the deadline.
    pub fn proved(&self, evidence: Evidence) -> Result<Certificate, Unproved> {
        let (certificate, deadline) = (self.certificate(evidence), self.deadline());
        let late = || deadline.is_past();
        match Checker::new(self.a, self.b).threads(threads()).stop(&late).check(&certificate) {
            Outcome::Proved(_) => Ok(certificate),
            Outcome::Refused(refusal) => Err(Unproved::Refused(refusal)),
            Outcome::Stopped => Err(Unproved::Stopped(certificate.evidence)),
        }
    }

    fn certificate(&self, evidence: Evidence) -> Certificate {
        let (a, b) = self.names.clone();
        Certificate { a, b, domain: self.domain.clone(), evidence }
    }
}

/// The most numbers of a network's layers, zeros included, for methods that write them out. Networks with more of
/// them that are stored by their entries are asked the other methods only.
const LARGE: usize = 1 << 23;

/// Wider layers get no layer behind them: its square of numbers would stand in the certificate.
const WIDEST_DEEPENED: usize = 1 << 12;

/// Puts a layer of identity weights behind the only hidden layer; its inputs are nonnegative.
fn deepen(reduction: &mut Reduction) {
    let layers = reduction.network.layers();
    let (hidden, output) = (&layers[0], &layers[1]);
    if hidden.activation() != Activation::Relu || hidden.width() > WIDEST_DEEPENED {
        return;
    }
    let unit = |i: usize, j: usize| if i == j { Rational::ONE } else { Rational::ZERO };
    let width = hidden.width();
    let unfold = Move::Unfold {
        layer: 1,
        weight: (0..width).map(|i| (0..width).map(|j| unit(i, j)).collect()).collect(),
        bias: vec![Rational::ZERO; width],
        activation: Activation::Relu,
        next_weight: (0..output.width()).map(|i| output.weights().dense_row(i)).collect(),
        next_bias: output.bias().to_vec(),
        pairs: Vec::new(),
    };
    unfold.apply(&mut reduction.network, &Domain::Space).expect("relu of a nonnegative number is the number");
    reduction.moves.push(unfold);
}
