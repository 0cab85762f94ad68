//! Do two networks decide alike wherever the first one is sure?
//!
//! The class of a network at `x` is its largest output. For networks `A, B : R^n -> R^m`, a bounded box `X`
//! and a margin `g >= 0`, [`decide`] asks whether for every `x` of `X` and every class `i`
//!
//! ```text
//! A_i(x) - A_l(x) >= g for all l != i   implies   B_i(x) > B_j(x) for all j != i,
//! ```
//!
//! where a margin of 0 asks for a lead that is positive: at a tie `A` has no class, and a tie of `B` is not
//! the same class. Every `x` either keeps the class or is a counterexample, so there is no third answer but
//! that none was found in time.
//!
//! A class is settled on a box by the rows of the checker ([`fiberscope_check::difference`]), with weights for
//! the leads of `A` that are found by subgradient steps; a box that they do not settle is bisected.
//! Counterexamples are looked for in doubles and evaluated exactly.
//!
//! Instead of a margin a confidence `D` can be asked for: the class of `A` has a softmax probability of at
//! least `D`. That implies a lead of `log(D / (1 - D))`, of which a lower bound is the margin of the proof; a
//! counterexample has a probability that is certain to be large enough ([`Sureness`]).

mod attack;
mod confidence;
mod objective;
mod options;
mod search;
mod settle;
mod weights;

pub use confidence::{least_lead, probability};
pub use options::{Sureness, Top1Options, Top1Progress};

use fiberscope_check::difference::{class_change, leading_class, outward};
use fiberscope_core::{Certificate, Domain, Evidence, MoveChain, Network, Rational};

use super::exact::{Exact, Point};
use super::{Alignment, DifferenceError, DifferenceOptions, check, shape};
use crate::limit::Limit;
use search::Search;

/// What is known about the classes of two networks.
#[derive(Clone, Debug, PartialEq)]
pub enum Top1Verdict {
    /// Wherever `A` is sure of a class, it is the class of `B`.
    Same,
    /// At this input `A` is sure of a class, and `B` does not decide for it.
    Changes(Box<ClassChange>),
    /// Neither is known.
    Undecided(Undecided),
}

/// Why a question about classes is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// A limit came first.
    Limit(Limit),
    /// On some boxes the classes are as close as this arithmetic can tell.
    Rounding,
    /// `A` has the lead that its confidence implies at an input where `B` decides otherwise, but is not as sure
    /// there as was asked, so that the lead cannot prove anything; and no other input was found.
    Confidence,
}

/// An input at which the class changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassChange {
    /// The input and the exact outputs there.
    pub point: Point,
    /// The class of the first network, from 0.
    pub class: usize,
    /// Another class, from 0, which the second network does not put below it.
    pub rival: usize,
}

impl ClassChange {
    /// The least lead of the first network's class.
    pub fn lead(&self) -> Rational {
        let others = (0..self.point.a.len()).filter(|&l| l != self.class);
        others.map(|l| &self.point.a[self.class] - &self.point.a[l]).min().unwrap_or(Rational::ZERO)
    }
}

/// What is known of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassState {
    /// `A` is proved never to be sure of it on the box.
    Never,
    /// Wherever `A` is sure of it, so is `B`: proved.
    Same,
    /// Not settled.
    Open,
}

/// The answer to a question about classes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Top1 {
    /// The answer.
    pub verdict: Top1Verdict,
    /// The lead of `A` that the proof is about.
    pub margin: Rational,
    /// What is known of every class; `None` if moves make the same network of both, and nothing was looked at.
    pub classes: Option<Vec<ClassState>>,
    /// The classes, from 0, that `A` was seen to be sure of.
    pub seen: Vec<usize>,
    /// The number of boxes that were bounded.
    pub cells: usize,
    /// How the networks were aligned.
    pub alignment: Alignment,
    /// The proof that the class is the same, or the input where it is not.
    pub certificate: Option<Certificate>,
}

impl Top1 {
    /// Whether the class is the same; `None` if that is not known.
    pub fn holds(&self) -> Option<bool> {
        match &self.verdict {
            Top1Verdict::Same => Some(true),
            Top1Verdict::Changes(_) => Some(false),
            Top1Verdict::Undecided(_) => None,
        }
    }
}

/// Whether two networks have the same class wherever the first one is sure of its own.
///
/// ```
/// use fiberscope::difference::{self, Sureness, Top1Options, Top1Verdict};
/// use fiberscope::{Domain, Network};
///
/// // Two classes, x and w x + 1/4.
/// let network = |w: f64| Network::from_rows(&[(&[&[1.0], &[w]], &[0.0, 0.25])]).unwrap();
/// let domain = Domain::from_bounds(&[(-1.0, 1.0)]).unwrap();
/// let ask = |margin: &str| {
///     let options = Top1Options::new().sureness(Sureness::Margin(margin.parse().unwrap()));
///     difference::decide(&network(0.0), &network(0.125), &domain, &options).unwrap().verdict
/// };
/// assert_eq!(ask("1/8"), Top1Verdict::Same);
/// assert!(matches!(ask("0"), Top1Verdict::Changes(_)));
/// ```
pub fn decide(
    a: &Network,
    b: &Network,
    domain: &Domain,
    options: &Top1Options,
) -> Result<Top1, DifferenceError> {
    check(a, b, domain, &DifferenceOptions::new().points(options.points.clone()))?;
    let outputs = a.output_width();
    if outputs < 2 {
        return Err(DifferenceError::Classes(outputs));
    }
    let margin = options.sureness.margin(outputs)?;
    let root = outward(domain).map_err(DifferenceError::Unbounded)?;
    let shaped = shape::common(a, b, domain, (&root.0, &root.1), options.align, &options.deadline)?;
    let [moves_a, moves_b] = shaped.moves;
    if shaped.equal {
        let evidence = Evidence::Moves { a: moves_a, b: moves_b };
        return Ok(Top1 {
            verdict: Top1Verdict::Same,
            margin,
            classes: None,
            seen: Vec::new(),
            cells: 0,
            alignment: shaped.alignment,
            certificate: Some(Certificate::new(a, b, domain.clone(), evidence)),
        });
    }
    let exact = Exact::new(a, b, domain);
    let mut search = Search::new(&shaped.pair, &exact, root, &margin, options);
    let verdict = search.run();
    let evidence = match &verdict {
        Top1Verdict::Same => Some(evidence([moves_a, moves_b], &margin, &search)),
        Top1Verdict::Changes(change) => {
            let Point { x, a, b } = change.point.clone();
            Some(Evidence::Witness { x, a, b })
        }
        Top1Verdict::Undecided(_) => None,
    };
    let (classes, seen, cells) = (search.states(), search.seen(), search.cells);
    Ok(Top1 {
        verdict,
        margin,
        classes: Some(classes),
        seen,
        cells,
        alignment: shaped.alignment,
        certificate: evidence.map(|evidence| Certificate::new(a, b, domain.clone(), evidence)),
    })
}

fn evidence([a, b]: [MoveChain; 2], margin: &Rational, search: &Search) -> Evidence {
    Evidence::Decision { a, b, margin: margin.clone(), tree: search.nodes() }
}

/// The change of class at a point, if the first network is certain to be sure there.
fn change(point: &Point, sureness: &Sureness) -> Option<(usize, usize)> {
    match sureness {
        Sureness::Margin(margin) => class_change(&point.a, &point.b, margin),
        Sureness::Confidence(confidence) => {
            let change = class_change(&point.a, &point.b, &Rational::ZERO)?;
            let class = leading_class(&point.a, &Rational::ZERO)?;
            (probability(&point.a, class) >= *confidence).then_some(change)
        }
    }
}
