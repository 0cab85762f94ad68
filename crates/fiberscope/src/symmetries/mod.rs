//! Hidden symmetries: what else than scalings keeps a network's function near its parameters, and why?
//!
//! Where [`crate::rigidity`] leaves dimensions open, the parameters near the given ones with the same function may
//! form more than the orbit of positive scalings [grigsby2022functional, Section 3]. Here the directions are
//! listed:
//!
//! 1. Regions: all of them where they can be listed, else those of the points that prove the rank.
//! 2. The kernel of the parameter Jacobian on them, beyond the scalings: no more directions than these keep the
//!    function to first order (modulo a prime: the rank is a lower bound).
//! 3. A catalogue of mechanisms ([`Mechanism`]), each of which gives directions that are checked against the kernel.
//!    What is left is `unrecognised`, in as few adjacent layers as possible.
//! 4. A path along each: exactly where the mechanism is known, by Newton's method where it is not. The network at
//!    its end is compared with the given one by [`crate::equivalence`]: a certificate proves that it computes the
//!    same function, or where numbers are rounded that the outputs differ by at most a bound on a box. If it
//!    differs in a region that was not listed, the region is added, and all begins again.
//!
//! Proved are the lower bound of the rank and what is said of the ends; that the path between stays on the fiber is
//! not proved.

mod ends;
mod explain;
mod kernel;
mod layout;
mod mechanism;
mod numeric;
mod remainder;
mod view;

use std::time::Duration;

use fiberscope_check::rank::Pattern;
use fiberscope_check::{Checker, Outcome as Checked};
use fiberscope_core::{Certificate, Domain, Evidence, Interval, Network, Neuron, Rational, Sign};

pub use ends::{End, Proof};
pub use layout::{Direction, Parameter};
pub use mechanism::Mechanism;

use crate::anatomy::outweighed_neurons;
use crate::complex::{Built, ComplexOptions, PolyhedralComplex, Region};
use crate::dimension::{RegionSample, list_regions};
use crate::fiber::symmetries_beside;
use crate::limit::{Deadline, Limit, Progress};
use crate::rigidity::{Rigidity, RigidityError, RigidityOptions, rigidity};
use ends::{Outcome, Paths};
use explain::{Explained, Explanation, explain};
use kernel::Kernel;
use view::View;

/// How hidden symmetries are looked for.
///
/// ```
/// use fiberscope::symmetries::SymmetryOptions;
///
/// assert!(!SymmetryOptions::new().ends(false).ends);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SymmetryOptions<'a> {
    /// The seed of all random choices.
    pub seed: u64,
    /// Whether paths are followed and their ends proved.
    pub ends: bool,
    /// How long one proof may take.
    pub patience: Duration,
    /// The most regions that are listed.
    pub regions: u64,
    /// When to stop with what is known by then.
    pub deadline: Deadline,
    /// Who is told how many symmetries of how many have been followed.
    pub progress: Progress<'a, (usize, usize)>,
}

impl Default for SymmetryOptions<'_> {
    fn default() -> Self {
        SymmetryOptions {
            seed: 0,
            ends: true,
            patience: Duration::from_secs(10),
            regions: 20_000,
            deadline: Deadline::NEVER,
            progress: Progress::SILENT,
        }
    }
}

impl<'a> SymmetryOptions<'a> {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The seed of all random choices.
    pub fn seed(self, seed: u64) -> Self {
        SymmetryOptions { seed, ..self }
    }

    /// Whether paths are followed.
    pub fn ends(self, ends: bool) -> Self {
        SymmetryOptions { ends, ..self }
    }

    /// How long one proof may take.
    pub fn patience(self, patience: Duration) -> Self {
        SymmetryOptions { patience, ..self }
    }

    /// The most regions that are listed.
    pub fn regions(self, regions: u64) -> Self {
        SymmetryOptions { regions, ..self }
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        SymmetryOptions { deadline, ..self }
    }

    /// Who is told how far it is.
    pub fn progress(self, progress: Progress<'a, (usize, usize)>) -> Self {
        SymmetryOptions { progress, ..self }
    }
}

/// One hidden symmetry: what lets parameters move, and where it leads.
#[derive(Clone, Debug)]
pub struct HiddenSymmetry {
    /// What lets them move.
    pub mechanism: Mechanism,
    /// The neurons it is about; of one that is not recognised, those whose rows move. They may be of the last layer.
    pub neurons: Vec<Neuron>,
    /// How many dimensions it adds to scalings and to the symmetries before it.
    pub dimensions: usize,
    /// The directions.
    pub directions: Vec<Direction>,
    /// The end of a path along all of them at once; `None` if none was found or looked for.
    pub end: Option<End>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct HiddenSymmetries {
    /// The rank that is proved, with its certificate.
    pub rigidity: Rigidity,
    /// Dimensions beyond scalings that are certain: symmetries that are read off the numbers.
    pub certain: usize,
    /// The regions that were looked at.
    pub regions: usize,
    /// Whether these are all regions.
    pub complete: bool,
    /// The number of independent scalings.
    pub scalings: usize,
    /// The dimension of the kernel beyond the scalings; `None` if a limit came first.
    pub gap: Option<usize>,
    /// The symmetries.
    pub found: Vec<HiddenSymmetry>,
    /// Inputs that paths found and that raised the rank.
    pub learned: usize,
    /// Whether ends were looked for.
    pub followed: bool,
    /// The limit that ended the work.
    pub limit: Option<Limit>,
}

impl HiddenSymmetries {
    /// How many dimensions a mechanism explains.
    pub fn explained_by(&self, mechanism: Mechanism) -> usize {
        let of = self.found.iter().filter(|found| found.mechanism == mechanism);
        of.map(|found| found.dimensions).sum()
    }

    /// Whether everything that was asked is decided: no limit came, and of every symmetry an end is proved.
    pub fn is_decided(&self) -> bool {
        let proved = |found: &HiddenSymmetry| matches!(&found.end, Some(end) if !matches!(end.proof, Proof::Undecided));
        self.gap.is_some() && self.limit.is_none() && (!self.followed || self.found.iter().all(proved))
    }
}

/// Networks with more parameters are not looked at.
const LARGEST: usize = 2048;
/// Regions are not listed for longer.
const LISTED: Duration = Duration::from_secs(20);
/// The part of the time that is for the rank.
const RANKED: f64 = 0.3;
/// How often a region that a path finds may make all begin again.
const LESSONS: usize = 64;

/// Looks for the hidden symmetries of a network on a domain.
///
/// ```
/// use fiberscope::symmetries::{Mechanism, Proof, SymmetryOptions, hidden_symmetries};
/// use fiberscope::{Domain, Network};
///
/// // The second neuron of the second layer is never on: 2 + 1 parameters before it and 1 behind it, less one scaling.
/// let network = Network::from_rows(&[
///     (&[&[1.0, 0.5], &[0.25, -1.0]], &[0.5, 0.25]),
///     (&[&[1.0, -2.0], &[-1.0, -2.0]], &[0.5, -1.0]),
///     (&[&[1.0, 3.0]], &[0.5]),
/// ])?;
/// let found = hidden_symmetries(&network, &Domain::Space, &SymmetryOptions::new())?;
/// assert_eq!(found.explained_by(Mechanism::Dead), 3);
/// let end = found.found[0].end.as_ref().unwrap();
/// assert!(matches!(end.proof, Proof::Equal { .. }) && end.network != network);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn hidden_symmetries(
    network: &Network,
    domain: &Domain,
    options: &SymmetryOptions,
) -> Result<HiddenSymmetries, RigidityError> {
    let parameters = network.parameter_count();
    if parameters > LARGEST {
        return Err(RigidityError::TooLarge(format!(
            "the network has {parameters} parameters; hidden symmetries are looked for in networks of at most {LARGEST}"
        )));
    }
    let share = options.deadline.left().map(|left| options.deadline.at_most(left.mul_f64(RANKED)));
    let ranked =
        RigidityOptions::new().seed(options.seed).deadline(share.clone().unwrap_or(options.deadline.clone()));
    let rigidity = rigidity(network, domain, &ranked)?;
    let dead = outweighed_neurons(network, domain, &share.clone().unwrap_or(options.deadline.clone()));
    let known = symmetries_beside(&network.to_exact(), domain, &dead);
    let mut all = HiddenSymmetries {
        certain: known.dimension - known.scalings,
        scalings: known.scalings,
        gap: rigidity.is_proved().then_some(0),
        complete: false,
        regions: 0,
        found: Vec::new(),
        learned: 0,
        followed: options.ends,
        limit: None,
        rigidity,
    };
    if all.gap.is_none() {
        search(network, domain, options, &mut all);
        all.limit = options.deadline.limit();
    }
    Ok(all)
}

/// How many dimensions each mechanism explains on a complete list of regions, in the order of [`Mechanism::ALL`];
/// `None` if a limit comes first, or a neuron is zero on a whole region.
pub(crate) fn explained_on(
    network: &Network,
    regions: &RegionSample,
    deadline: &Deadline,
) -> Option<Vec<usize>> {
    let view = View::new(network, regions.masks(network)?, deadline)?;
    let mut kernel = Kernel::new(&view.layout);
    kernel.add(&view, 0, deadline)?;
    let Explanation { gap, found, .. } = explain(network, &view, &kernel, deadline)?;
    let of = |mechanism: &Mechanism| {
        let of = found.iter().filter(|each| each.candidate.mechanism == *mechanism);
        of.map(|each| each.dimensions).sum::<usize>()
    };
    let mut dimensions: Vec<usize> = Mechanism::ALL.iter().map(of).collect();
    // What overflows in doubles is not recognised either.
    let explained: usize = dimensions.iter().sum();
    *dimensions.last_mut()? += gap - explained;
    Some(dimensions)
}

/// Regions, kernel, mechanisms and paths, until no path finds a new region.
fn search(network: &Network, domain: &Domain, options: &SymmetryOptions, all: &mut HiddenSymmetries) {
    let deadline = &options.deadline;
    let limits = ComplexOptions::new().regions(options.regions).deadline(deadline.at_most(LISTED));
    let listed = list_regions(network, domain, &limits).ok().flatten();
    let listed = listed.and_then(|regions| regions.masks(network));
    all.complete = listed.is_some();
    let mut points = evidence_points(&all.rigidity);
    let patterns = listed.unwrap_or_else(|| {
        let mut patterns: Vec<Pattern> = points.iter().filter_map(|x| pattern_at(network, x)).collect();
        patterns.sort();
        patterns.dedup();
        patterns
    });
    let Some(mut view) = View::new(network, patterns, deadline) else { return };
    let mut kernel = Kernel::new(&view.layout);
    let mut looked_at = 0;
    let paths = Paths { network, domain, seed: options.seed, patience: options.patience, deadline };
    loop {
        if kernel.add(&view, looked_at, deadline).is_none() {
            break;
        }
        looked_at = view.patterns.len();
        all.regions = looked_at;
        let Some(explanation) = explain(network, &view, &kernel, deadline) else { break };
        all.gap = Some(explanation.gap);
        all.scalings = explanation.scalings;
        let count = explanation.found.len();
        let before = std::mem::take(&mut all.found);
        all.found = explanation.found.iter().map(|each| listed_symmetry(each, &before)).collect();
        let mut news = None;
        for (at, explained) in explanation.found.iter().enumerate().filter(|_| options.ends) {
            options.progress.report((at, count));
            if deadline.is_past() {
                break;
            }
            if all.found[at].end.is_some() {
                continue;
            }
            let is_news = |x: &[Rational]| {
                all.learned < LESSONS && nearby(network, domain, x, &view.patterns).is_some()
            };
            match paths.follow(explained, &view, &is_news) {
                Outcome::Reached(end) => all.found[at].end = Some(*end),
                Outcome::Nowhere => {}
                Outcome::News(x) => {
                    news = nearby(network, domain, &x, &view.patterns);
                    break;
                }
            }
        }
        let Some((x, pattern)) = news else { break };
        view.add(pattern);
        points.push(x);
        all.learned += 1;
        all.complete = false;
    }
    if kernel.rank() > all.rigidity.rank {
        if all.complete {
            let telling: Vec<&Pattern> =
                kernel.rows.iter().map(|(place, _)| &view.patterns[place.region]).collect();
            points.extend(centers(network, domain, &limits, &telling));
        }
        raise(network, domain, &points, all, deadline);
    }
}

/// A symmetry as it is told; what was proved of its end before stays proved.
fn listed_symmetry(explained: &Explained, before: &[HiddenSymmetry]) -> HiddenSymmetry {
    let candidate = explained.candidate.clone();
    let same = |old: &&HiddenSymmetry| {
        (old.mechanism, &old.neurons, &old.directions)
            == (candidate.mechanism, &candidate.neurons, &candidate.directions)
    };
    let end = before.iter().find(same).and_then(|old| old.end.clone());
    HiddenSymmetry {
        mechanism: candidate.mechanism,
        neurons: candidate.neurons,
        dimensions: explained.dimensions,
        directions: candidate.directions,
        end,
    }
}

/// The points of the certificate of the rank.
fn evidence_points(rigidity: &Rigidity) -> Vec<Vec<Rational>> {
    match rigidity.certificate.as_ref().map(|certificate| &certificate.evidence) {
        Some(Evidence::Rank(evidence)) => evidence.points.clone(),
        _ => Vec::new(),
    }
}

/// Points inside of regions with these patterns, as far as doubles find them.
fn centers(
    network: &Network,
    domain: &Domain,
    limits: &ComplexOptions,
    telling: &[&Pattern],
) -> Vec<Vec<Rational>> {
    let built = PolyhedralComplex::build(network, domain, &limits.clone().codimension(0));
    let Ok(Built::Complete(complex)) = built else { return Vec::new() };
    let center = |region: Region| {
        let point = complex.in_space(&region.center());
        let point = point.into_iter().map(Rational::from_f64).collect::<Option<Vec<Rational>>>()?;
        let pattern = pattern_at(network, &point)?;
        (telling.contains(&&pattern) && is_inside(domain, &point)).then_some(point)
    };
    complex.regions().filter_map(center).collect()
}

/// A certificate for a higher rank, if all rows of these points have one.
fn raise(
    network: &Network,
    domain: &Domain,
    points: &[Vec<Rational>],
    all: &mut HiddenSymmetries,
    deadline: &Deadline,
) {
    let patterns = points.iter().filter_map(|x| pattern_at(network, x)).collect();
    let Some(view) = View::new(network, patterns, deadline) else { return };
    let mut kernel = Kernel::new(&view.layout);
    if kernel.add(&view, 0, deadline).is_none() || kernel.rank() <= all.rigidity.rank {
        return;
    }
    let Some(mut certificate) = all.rigidity.certificate.clone() else { return };
    let Evidence::Rank(evidence) = &mut certificate.evidence else { return };
    let rank = kernel.rank();
    evidence.points = points.to_vec();
    evidence.extra = (0..points.len()).collect();
    evidence.rank = rank as u64;
    let used = [points.len(), evidence.folds.len(), points.len()];
    let certificate = Certificate::new(network, network, domain.clone(), certificate.evidence);
    let late = || deadline.is_past();
    if let Checked::Proved(_) = Checker::new(network, network).stop(&late).check(&certificate) {
        all.rigidity = Rigidity { rank, used, certificate: Some(certificate), ..all.rigidity.clone() };
    }
}

/// The pattern at a point; `None` if a pre-activation is zero there.
fn pattern_at(network: &Network, x: &[Rational]) -> Option<Pattern> {
    let signs = network.sign_vector_exact(x).ok().filter(|signs| !signs.has_zero())?;
    Some(signs.layers().map(|signs| signs.iter().map(|&sign| sign == Sign::Positive).collect()).collect())
}

/// A point at an input or beside it, inside of the domain, in a region that is not in the list.
fn nearby(
    network: &Network,
    domain: &Domain,
    x: &[Rational],
    patterns: &[Pattern],
) -> Option<(Vec<Rational>, Pattern)> {
    let moved = |k: usize| -> Vec<Rational> {
        let shift = |i: usize| {
            let sign = if k > 0 && (k - 1) >> (i % 4) & 1 == 1 { -1 } else { 1 };
            Rational::dyadic(i128::from(k.min(1) as u8) * i128::from(sign * (3 + i as i64)), -40)
        };
        x.iter().enumerate().map(|(i, x)| x + &shift(i)).collect()
    };
    (0..17).map(moved).filter(|x| is_inside(domain, x)).find_map(|x| {
        let pattern = pattern_at(network, &x)?;
        (!patterns.contains(&pattern)).then_some((x, pattern))
    })
}

/// Whether a point lies in the interior of a domain.
fn is_inside(domain: &Domain, x: &[Rational]) -> bool {
    let inside = |(x, side): (&Rational, Interval)| {
        side.lower.is_none_or(|low| low < *x) && side.upper.is_none_or(|high| *x < high)
    };
    x.iter().zip(domain.sides(x.len())).all(inside)
}
