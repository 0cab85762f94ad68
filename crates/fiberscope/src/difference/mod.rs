//! How far apart are two networks at most, with proof?
//!
//! For networks `A, B : R^n -> R^m` and a bounded box `X` let
//!
//! ```text
//! D_k = max over x in X of abs(A_k(x) - B_k(x)),   D = max over k of D_k.
//! ```
//!
//! [`measure`] finds certified `lower <= D_k <= upper` for every output and for all together, the input where the largest difference
//! was found, and decides `D <= epsilon` if asked. Lower bounds are exact values at points of the box. Upper
//! bounds are those of the checker on the leaves of a tree of boxes ([`fiberscope_check::difference`]): the
//! bounds that were found are the ones that are checked.
//!
//! Whatever ends the search, the bounds that are known then are handed over, with their certificate, and a
//! [`State`] from which another search goes on.
//!
//! ```
//! use fiberscope::difference::{self, DifferenceOptions};
//! use fiberscope::{Domain, Network};
//!
//! let network =
//!     |w: f64| Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, w]], &[0.0])]).unwrap();
//! let domain = Domain::from_bounds(&[(-1.0, 1.0)]).unwrap();
//! let found = difference::measure(&network(1.0), &network(1.25), &domain, &DifferenceOptions::new()).unwrap();
//! assert_eq!(found.lower.to_f64(), 0.25); // at x = -1
//! assert!(found.upper.unwrap().to_f64() <= 0.275);
//! ```

mod assembly;
mod balance;
mod branch;
mod class;
mod exact;
mod known;
mod least;
mod multipliers;
mod near;
mod options;
mod pieces;
mod probe;
mod range;
mod relative;
mod resume;
mod ridge;
mod rows;
mod search;
mod shape;
mod sights;
mod state;
mod still;
mod through;
mod top1;
mod tree;
mod twins;
mod worker;

pub use class::{Certainty, Class, class};
pub use exact::Point;
pub use options::{DifferenceOptions, DifferenceProgress, GAP};
pub use pieces::{Preparation, PreparedSearch, SearchPart, SearchPiece, prepare};
pub use range::{OutputRange, Ranges, ranges};
pub use relative::{Relative, Size, relative};
pub(crate) use shape::is_within_reach;
pub use state::State;
pub use top1::{
    ClassChange, ClassState, Sureness, Top1, Top1Options, Top1Progress, Top1Verdict, Undecided, decide,
    least_lead, probability,
};

use fiberscope_check::difference::outward;
use fiberscope_core::{
    BoxNode, Certificate, Domain, DomainError, Evidence, LARGEST_DENSE, MoveChain, Network, Rational,
    TooLargeDense, decimal,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::limit::{Deadline, Limit};
use exact::{Exact, first_points};
use search::{Purpose, Search, Setting, is_beyond};
use shape::Shaped;
use still::{equal, unbounded};
use tree::Tree;

/// Bounds of the largest difference of one output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputBounds {
    /// The exact difference at some input.
    pub lower: Rational,
    /// No input has a larger difference; `None` if no bound is known.
    pub upper: Option<Rational>,
}

/// The answer to the question whether the difference is at most `epsilon`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is.
    Within,
    /// There is an input where it is larger.
    Exceeds,
    /// Neither is known.
    Undecided,
}

impl Decision {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Within => "within",
            Decision::Exceeds => "exceeds",
            Decision::Undecided => "undecided",
        }
    }
}

/// What ended a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// What was asked is answered.
    Reached,
    /// A limit came first.
    Limit(Limit),
    /// As many boxes were bounded as were allowed.
    Boxes,
    /// The bounds are as close as this arithmetic can bring them.
    Rounding,
}

/// How the neurons of the second network were brought to those of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alignment {
    /// They stayed as they are.
    AsGiven,
    /// By the permutation and the factors that relate the networks up to rounding, or powers of two; or by moves
    /// on both that make them the same.
    Related,
    /// By the permutation and the factors that bring the parameters closest.
    Closest,
}

/// The largest difference of two networks on a box.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// The largest exact difference that was found.
    pub lower: Rational,
    /// No input has a larger difference; `None` if no bound is known.
    pub upper: Option<Rational>,
    /// The same for every output.
    pub outputs: Vec<OutputBounds>,
    /// Where the largest difference was found.
    pub worst: Option<Point>,
    /// Whether the difference is at most `epsilon`, if that was asked.
    pub decision: Option<Decision>,
    /// The number of boxes that were bounded.
    pub cells: usize,
    /// What ended the search.
    pub ended: Ended,
    /// How the networks were aligned.
    pub alignment: Alignment,
    /// The proof of the upper bounds, if there are any.
    pub certificate: Option<Certificate>,
    /// From where another search can go on.
    pub state: State,
    /// A search was to be continued, and a limit came before its boxes were bounded again: the upper bounds and the
    /// certificate are those that the state states, and nothing of them was computed here.
    pub taken_over: bool,
}

impl Difference {
    /// The certificate that the networks differ where the largest difference was found.
    pub fn witness(&self, a: &Network, b: &Network, domain: &Domain) -> Option<Certificate> {
        let Point { x, a: at_a, b: at_b } = self.worst.clone().filter(|point| point.a != point.b)?;
        let evidence = Evidence::Witness { x, a: at_a, b: at_b };
        Some(Certificate::new(a, b, domain.clone(), evidence))
    }

    /// Whether the upper bound is at most `1 + gap` times the lower one.
    pub fn is_within_gap(&self, gap: f64) -> bool {
        let Some(factor) = Rational::from_f64(1.0 + gap) else { return false };
        self.upper.as_ref().is_some_and(|upper| *upper <= &factor * &self.lower)
    }
}

/// Why two networks cannot be compared on a box.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum DifferenceError {
    #[error("expected networks with the same number of inputs, found {a} and {b}")]
    Inputs { a: usize, b: usize },
    #[error("expected networks with the same number of outputs, found {a} and {b}")]
    Outputs { a: usize, b: usize },
    #[error(transparent)]
    Domain(#[from] DomainError),
    #[error(
        "expected a bounded box of inputs: without one two networks are as far apart as they like far away ({0})"
    )]
    Unbounded(String),
    #[error("expected an epsilon that is not negative, found {0}")]
    Epsilon(Rational),
    #[error("expected a gap that is a number and not negative, found {0}")]
    Gap(String),
    #[error("expected networks with two outputs or more, one per class, found {0}")]
    Classes(usize),
    #[error("expected a margin that is not negative, found {0}")]
    Margin(Rational),
    #[error(
        "expected a confidence above 1/{classes}, which the first of {classes} classes has anyway, and below 1, found {found}"
    )]
    Confidence { found: Rational, classes: usize },
    #[error("input {input} of point {point} is no finite number")]
    Points { point: usize, input: usize },
    #[error(transparent)]
    TooLarge(#[from] TooLargeDense),
    #[error("the networks cannot be brought to one shape that the checker can bound: {0}")]
    Shape(String),
    #[error("the numbers of the networks are not within what the checker can bound: {0}")]
    Beyond(String),
    #[error("not the state of a search for this difference: {0}")]
    State(String),
}

/// What is declared exceeds what was found by this part, a power of two, so that another machine, which adds in
/// another order, finds it too.
const DECLARED: i64 = 20;
/// The bits of a declared bound.
const BITS: u32 = 40;
/// The most points that are evaluated exactly in the end; fewer if a limit has come.
const POINTS: usize = 16;
const POINTS_LATE: usize = 3;

/// Bounds of the largest difference of two networks on a box.
pub fn measure(
    a: &Network,
    b: &Network,
    domain: &Domain,
    options: &DifferenceOptions,
) -> Result<Difference, DifferenceError> {
    check(a, b, domain, options)?;
    let root = outward(domain).map_err(DifferenceError::Unbounded)?;
    let shaped = match &options.resume {
        Some(state) => {
            state.check(a, b, domain)?;
            let moves = [state.moves_a.clone(), state.moves_b.clone()];
            shape::moved(a, b, domain, moves, state.alignment)
        }
        None => shape::common(a, b, domain, (&root.0, &root.1), options.align, &options.deadline),
    };
    let exact = Exact::new(a, b, domain);
    let matched = match &shaped {
        Ok(shaped) if shaped.equal => None,
        other => near::matching((a, b), domain, other.as_ref().ok(), (&root.0, &root.1), options),
    };
    if let Some(matched) = &matched
        && let Some(found) =
            near::within((a, b), domain, shaped.as_ref().ok(), &exact, (&root.0, &root.1), (options, matched))
    {
        return Ok(found);
    }
    let bounded = |mut found: Difference| {
        if let Some(matched) = &matched {
            found.bounded_by(matched, (a, b), domain);
        }
        Ok(found)
    };
    let shaped = match shaped {
        Ok(shaped) if shaped.equal => return Ok(equal((a, b), domain, shaped, &exact, &root, options)),
        Err(DifferenceError::Beyond(_)) => return bounded(unbounded((a, b), domain, &exact, &root, options)),
        other => other?,
    };
    if is_beyond(&shaped.pair, (&root.0, &root.1)) {
        return bounded(unbounded((a, b), domain, &exact, &root, options));
    }
    let mut points = options.points.clone();
    points.extend(options.resume.iter().flat_map(|state| state.points.clone()));
    let purpose = match &options.epsilon {
        Some(epsilon) => Purpose::Epsilon(epsilon.clone()),
        None => Purpose::Gap(options.gap),
    };
    let setting = || Setting {
        purpose: purpose.clone(),
        points: &points,
        boxes: options.boxes,
        ceilings: options.resume.as_ref().map(State::ceilings).unwrap_or_default(),
        known: matched.as_ref().map_or(f64::INFINITY, |matched| decimal::upper_f64(&matched.bound)),
        seed: options.seed,
        deadline: &options.deadline,
        progress: options.progress,
    };
    if let Some(state) = &options.resume {
        let wrong = || DifferenceError::State("its tree is none".into());
        let (lo, hi) = (root.0.clone(), root.1.clone());
        let tree = Tree::from_preorder(&shaped.pair, lo, hi, &state.tree).ok_or_else(wrong)?;
        let mut search = Search::new(&shaped.pair, &exact, tree, setting());
        if let Some(ended) = search.begin_and_run() {
            let mut found = finish((a, b), domain, &shaped, &exact, &search, ended, options);
            found.keep_better(state, (a, b), domain, &exact);
            if let (Some(epsilon), Some(Decision::Undecided)) = (&options.epsilon, found.decision) {
                found.decision = Some(decided(&found.lower, None, epsilon));
            }
            return bounded(found);
        }
    }
    // A first search, or one that had no time to bound again what it was given.
    let tree = Tree::new(&shaped.pair, root.0, root.1);
    let mut search = Search::new(&shaped.pair, &exact, tree, setting());
    let ended = search.root_and_run();
    let mut found = finish((a, b), domain, &shaped, &exact, &search, ended, options);
    if let Some(state) = &options.resume {
        found.take_over(state, (a, b), domain, (&exact, options.epsilon.as_ref()));
    }
    bounded(found)
}

/// The certificate that two networks differ by at most `epsilon` on a box, if it is found in time: what
/// [`measure`] decides, in one call.
pub fn within(
    a: &Network,
    b: &Network,
    domain: &Domain,
    epsilon: &Rational,
    deadline: &Deadline,
) -> Option<Evidence> {
    let options = DifferenceOptions::new().epsilon(epsilon.clone()).deadline(deadline.clone());
    let found = measure(a, b, domain, &options).ok()?;
    let proved = found.decision == Some(Decision::Within);
    found.certificate.filter(|_| proved).map(|certificate| certificate.evidence)
}

fn check(
    a: &Network,
    b: &Network,
    domain: &Domain,
    options: &DifferenceOptions,
) -> Result<(), DifferenceError> {
    if a.input_width() != b.input_width() {
        return Err(DifferenceError::Inputs { a: a.input_width(), b: b.input_width() });
    }
    if a.output_width() != b.output_width() {
        return Err(DifferenceError::Outputs { a: a.output_width(), b: b.output_width() });
    }
    domain.check(a.input_width())?;
    a.require_dense(LARGEST_DENSE)?;
    b.require_dense(LARGEST_DENSE)?;
    if let Some(epsilon) = options.epsilon.as_ref().filter(|epsilon| epsilon.is_negative()) {
        return Err(DifferenceError::Epsilon(epsilon.clone()));
    }
    if !(options.gap >= 0.0 && options.gap.is_finite()) {
        return Err(DifferenceError::Gap(options.gap.to_string()));
    }
    for (point, x) in options.points.iter().enumerate() {
        let wrong = x.iter().position(|x| !x.is_finite());
        let wrong = wrong.or((x.len() != a.input_width()).then_some(x.len()));
        if let Some(input) = wrong {
            return Err(DifferenceError::Points { point: point + 1, input: input + 1 });
        }
    }
    Ok(())
}

/// The evidence for bounds on the boxes of a tree.
fn evidence([a, b]: [MoveChain; 2], bounds: Vec<Rational>, tree: &[BoxNode]) -> Evidence {
    Evidence::Difference { a, b, bounds, tree: tree.to_vec() }
}

/// What is declared of a bound that was found: a little more; `None` if it is not finite.
fn declared(bound: f64) -> Option<Rational> {
    let margin = &Rational::ONE + &Rational::dyadic(1, -DECLARED);
    Some((&Rational::from_f64(bound.max(0.0))? * &margin).round_up(BITS))
}

/// Whether the difference is at most `epsilon`, by its bounds.
fn decided(lower: &Rational, upper: Option<&Rational>, epsilon: &Rational) -> Decision {
    match upper {
        Some(upper) if upper <= epsilon => Decision::Within,
        _ if lower > epsilon => Decision::Exceeds,
        _ => Decision::Undecided,
    }
}

/// What a search leaves to be told.
struct Found {
    /// The bound of every row.
    rows: Vec<f64>,
    /// The tree in preorder.
    tree: Vec<BoxNode>,
    /// Points where the networks are far apart, and how many of them are evaluated exactly.
    points: Vec<Vec<f64>>,
    most: usize,
    /// A point that was evaluated exactly.
    known: Option<Point>,
    cells: usize,
    ended: Ended,
}

fn finish(
    networks: (&Network, &Network),
    domain: &Domain,
    shaped: &Shaped,
    exact: &Exact,
    search: &Search,
    ended: Ended,
    options: &DifferenceOptions,
) -> Difference {
    let (rows, tree) = search.least();
    let found = Found {
        rows,
        tree,
        points: search.points(),
        most: if matches!(ended, Ended::Limit(_)) { POINTS_LATE } else { POINTS },
        known: search.worst.clone(),
        cells: search.cells,
        ended,
    };
    conclude(networks, domain, shaped, exact, found, options.epsilon.as_ref())
}

fn conclude(
    (a, b): (&Network, &Network),
    domain: &Domain,
    shaped: &Shaped,
    exact: &Exact,
    found: Found,
    epsilon: Option<&Rational>,
) -> Difference {
    let Found { rows, tree, points, most, known, cells, ended } = found;
    let uppers: Vec<Option<Rational>> = rows.chunks(2).map(|rows| declared(rows[0].max(rows[1]))).collect();
    let seen = first_points(&points, most, |x| exact.at(x)).into_iter().chain(known);
    let mut lowers = vec![Rational::ZERO; a.output_width()];
    let mut worst: Option<(Rational, Point)> = None;
    for point in seen {
        for (k, lower) in lowers.iter_mut().enumerate() {
            *lower = point.difference(k).max(lower.clone());
        }
        let (_, difference) = point.largest();
        if worst.as_ref().is_none_or(|(most, _)| difference > *most) {
            worst = Some((difference, point));
        }
    }
    let mut points = points;
    worst.iter().for_each(|(_, point)| resume::put_first(&mut points, point));
    let lower = lowers.iter().max().cloned().unwrap_or(Rational::ZERO);
    let upper = uppers.iter().cloned().collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max());
    let decision = epsilon.map(|epsilon| decided(&lower, upper.as_ref(), epsilon));
    let [moves_a, moves_b] = shaped.moves.clone();
    let bounds = uppers.iter().cloned().collect::<Option<Vec<_>>>();
    let evidence = bounds.clone().map(|bounds| evidence([moves_a, moves_b], bounds, &tree));
    Difference {
        lower,
        upper,
        outputs: lowers.into_iter().zip(uppers).map(|(lower, upper)| OutputBounds { lower, upper }).collect(),
        worst: worst.map(|(_, point)| point),
        decision,
        cells,
        ended,
        alignment: shaped.alignment,
        certificate: evidence.map(|evidence| Certificate::new(a, b, domain.clone(), evidence)),
        state: State::new((a, b), domain, shaped.alignment, shaped.moves.clone(), tree, points, bounds),
        taken_over: false,
    }
}
