//! Building networks that their function identifies, for every non-increasing architecture and bounded box.
//!
//! The layers are chosen so that the set where all neurons are positive does not shrink
//! ([`super::layerwise`]), and what the theorem [phuong2020functional, Theorem 1] needs is proved on the way,
//! by exact arithmetic:
//!
//! - *transparent*: in every hidden layer `z_1 + z_2 >= 0` on all inputs of the layer;
//! - *paths*: one exact point per neuron ([`super::fold_points`]).
//!
//! The third condition, that the network is *general*, can be decided by listing the regions and all masks
//! only. It is where they are few. Elsewhere it is reported as what it is: it holds for all parameters but a
//! set of measure zero [phuong2020functional, Lemmas A.10 to A.12], and the choices here are random numbers
//! of an open set; random masks are checked.

use fiberscope_core::{Domain, DomainError, Interval, Network};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use super::breakpoints::BreakpointComplex;
use super::fold_paths::FoldPaths;
use super::genericity::Genericity;
use super::identifiable::{IdentifiabilityCertificate, MissingCondition, WidthCondition};
use super::layerwise::Builder;
use super::masked_ranks::MaskedRanks;
use super::options::ComplexOptions;
use super::polyhedral::{Built, PolyhedralComplex};
use super::transparency::{covering_pair, inputs_of};
use crate::limit::{Deadline, LimitReached, Progress};

/// Why there is no construction.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IdentifiableError {
    #[error(
        "widths {found}: {condition}; expected n_0 >= n_1 >= ... >= n_(L-1) >= 2 and n_L = 1, with at least one hidden layer"
    )]
    Widths { found: String, condition: WidthCondition },
    #[error("the box: {0}")]
    Domain(#[from] DomainError),
    #[error("input {input}: the box has no end below or above; the theorem needs a bounded domain")]
    Unbounded { input: usize },
    #[error("input {input}: the box is flat; expected lo < hi")]
    Flat { input: usize },
    #[error("none of {attempts} attempts passed the checks; the last: {last}")]
    Attempts { attempts: usize, last: Rejection },
    #[error("{0}")]
    Limit(#[from] LimitReached),
}

/// Why an attempt was rejected.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Rejection {
    /// A point could not be proved.
    #[error(
        "doubles do not resolve the box: its width is too small beside its distance from 0, or too extreme"
    )]
    Box,
    /// A hidden layer may be off somewhere.
    #[error("not transparent")]
    NotTransparent,
    /// The network is not general.
    #[error("not general")]
    NotGeneral,
    /// The whole complex says otherwise.
    #[error("{0}")]
    Condition(MissingCondition),
}

/// Whether the network is general.
#[derive(Clone, Debug, PartialEq)]
pub enum Generality {
    /// All regions were looked at; the masks of the ranks are all or random ones.
    Checked(Box<Genericity>),
    /// There is one hidden layer: no two of its neurons are multiples of each other, none is constant, and
    /// all masked products have maximal rank because the rows of `W_1` are independent.
    OneLayer,
    /// The regions are too many; random masks were checked.
    AlmostSure(MaskedRanks),
}

/// A network with what is proved of it.
#[derive(Debug)]
pub struct IdentifiableNetwork {
    /// The network.
    pub network: Network,
    /// The box on which it holds.
    pub domain: Domain,
    /// The points that prove the paths of all layers.
    pub paths: FoldPaths,
    /// Whether it is general.
    pub generality: Generality,
    /// How many attempts were made.
    pub attempts: usize,
}

impl IdentifiableNetwork {
    /// Whether every condition of the theorem was decided, and holds.
    pub fn is_certain(&self) -> bool {
        match &self.generality {
            Generality::Checked(found) => found.masks_complete,
            Generality::OneLayer => true,
            Generality::AlmostSure(_) => false,
        }
    }
}

const ATTEMPTS: usize = 20;
/// The most regions and inputs of a network whose complex is looked at.
const REGIONS: u64 = 1000;
const INPUTS: usize = 4;

/// How a network is constructed. The default has the box `[-1, 1]^n`, the seed 0, no limit of time, and tells
/// nobody.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConstructOptions<'a> {
    /// The box; `[-1, 1]^n` if there is none.
    pub domain: Option<Domain>,
    /// The seed of all random choices.
    pub seed: u64,
    /// When to stop.
    pub deadline: Deadline,
    /// Who is told of every attempt.
    pub progress: Progress<'a, ConstructProgress>,
}

/// An attempt begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstructProgress {
    /// Its number, from 1.
    pub attempt: usize,
    /// Why one before it was rejected; `None` for the first.
    pub last: Option<Rejection>,
}

impl<'a> ConstructOptions<'a> {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The box on which the function identifies the network.
    pub fn domain(self, domain: impl Into<Option<Domain>>) -> Self {
        ConstructOptions { domain: domain.into(), ..self }
    }

    /// The seed of all random choices.
    pub fn seed(self, seed: u64) -> Self {
        ConstructOptions { seed, ..self }
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        ConstructOptions { deadline, ..self }
    }

    /// Who is told of every attempt.
    pub fn progress(self, progress: Progress<'a, ConstructProgress>) -> Self {
        ConstructOptions { progress, ..self }
    }
}

/// A network of these widths that is identified by its function on the box of the options.
///
/// ```
/// use fiberscope::complex::{ConstructOptions, construct_identifiable};
///
/// let built = construct_identifiable(&[2, 2, 1], &ConstructOptions::new()).unwrap();
/// assert_eq!(built.network.widths(), [2, 2, 1]);
/// assert!(built.is_certain());
/// // Where the regions are too many to be listed, transparency and paths are proved all the same.
/// let large = construct_identifiable(&[12, 10, 8, 6, 1], &ConstructOptions::new()).unwrap();
/// assert!(large.paths.is_complete() && !large.is_certain());
/// ```
pub fn construct_identifiable(
    widths: &[usize],
    options: &ConstructOptions,
) -> Result<IdentifiableNetwork, IdentifiableError> {
    if let Some(condition) = WidthCondition::missing(widths) {
        let found: Vec<String> = widths.iter().map(ToString::to_string).collect();
        return Err(IdentifiableError::Widths { found: found.join(","), condition });
    }
    let ConstructOptions { domain, seed, deadline, progress } = options;
    let domain = match domain {
        Some(domain) => domain.clone(),
        None => Domain::from_bounds(&vec![(-1.0, 1.0); widths[0]]).expect("finite bounds"),
    };
    domain.check(widths[0])?;
    let sides = domain.sides(widths[0]);
    for (i, Interval { lower, upper }) in sides.iter().enumerate() {
        match (lower, upper) {
            (Some(lower), Some(upper)) if lower < upper => {}
            (Some(_), Some(_)) => return Err(IdentifiableError::Flat { input: i + 1 }),
            _ => return Err(IdentifiableError::Unbounded { input: i + 1 }),
        }
    }
    let mut rng = ChaCha8Rng::seed_from_u64(*seed);
    let mut last = Rejection::Box;
    for attempt in 1..=ATTEMPTS {
        progress.report(ConstructProgress { attempt, last: (attempt > 1).then_some(last) });
        let Some((network, paths)) = Builder::new(widths, sides.clone(), &mut rng).build(deadline)? else {
            last = Rejection::Box;
            continue;
        };
        let exact = network.to_exact();
        let is_covered = |layer: usize| {
            let rows = &exact.layers()[layer];
            covering_pair(rows, &inputs_of(&exact, &domain, layer), deadline).is_some()
        };
        let is_transparent = (0..exact.hidden_depth()).all(is_covered);
        deadline.check("before it was known whether the network is transparent")?;
        if !is_transparent {
            last = Rejection::NotTransparent;
            continue;
        }
        match generality(&network, &domain, *seed, deadline)? {
            Ok(generality) => {
                return Ok(IdentifiableNetwork { network, domain, paths, generality, attempts: attempt });
            }
            Err(rejection) => last = rejection,
        }
    }
    Err(IdentifiableError::Attempts { attempts: ATTEMPTS, last })
}

/// Whether the network is general, or why the whole complex rejects it.
fn generality(
    network: &Network,
    domain: &Domain,
    seed: u64,
    deadline: &Deadline,
) -> Result<Result<Generality, Rejection>, LimitReached> {
    let limits = ComplexOptions::new().regions(REGIONS).deadline(deadline.clone()).seed(seed);
    let is_small = network.input_width() <= INPUTS;
    let built = is_small.then(|| PolyhedralComplex::build(network, domain, &limits).ok()).flatten();
    let Some(Built::Complete(complex)) = built else {
        deadline.check("before it was known whether the network is general")?;
        let ranks = MaskedRanks::new(network, seed, deadline)?;
        // Independent rows are no multiples of each other, and affine functions have no local optima.
        return Ok(match ranks.deficient {
            0 if network.hidden_depth() == 1 && ranks.is_complete => Ok(Generality::OneLayer),
            0 => Ok(Generality::AlmostSure(ranks)),
            _ => Err(Rejection::NotGeneral),
        });
    };
    let genericity = Genericity::new(&complex, &limits)?;
    let breakpoints = BreakpointComplex::new(&complex, &limits)?;
    let whole = IdentifiabilityCertificate::new(network, &complex, &breakpoints, &genericity, &limits)?;
    Ok(match whole.missing() {
        None => Ok(Generality::Checked(Box::new(genericity))),
        Some(MissingCondition::General) => Err(Rejection::NotGeneral),
        Some(MissingCondition::Transparent) => Err(Rejection::NotTransparent),
        Some(missing) => Err(Rejection::Condition(missing)),
    })
}
