//! Local identifiability: are the parameters near the given ones with the same function its positive scalings?
//!
//! Every fold of neuron `i` of layer `l`, seen in a linear region, says what `(w_i, b_i)` is orthogonal to: the
//! values of `(h_{l-1}, 1)` on the fold. If for every neuron these values, over the regions that its fold passes,
//! span all vectors orthogonal to `(w_i, b_i)`, and the values of `(h_{L-1}, 1)` everything, then the Jacobian of
//! the parameters has the rank `parameters - hidden neurons`, and near the given parameters the fiber is the orbit
//! of positive scalings. (The lemma and its proof stand in `docs/formats/certificate-v1.md`, kind `rank`;
//! compare [grigsby2022functional, Section 3].) The matrices that are eliminated are as wide as one layer, not as
//! all parameters, and one region after another is looked at, where neurons switch, instead of random points.
//!
//! 1. Lines through the domain, many of them through places where hyperplanes of the first layer meet: every
//!    crossing of a line with a fold is proposed.
//! 2. For neurons of which something is missing: climbs to their fold, climbs along it to where neurons of the layer
//!    before are on that have been off on it so far, and walks along it. Where climbs end at a ridge, ascents go on
//!    along it.
//! 3. What is still missing may be known from products of weights in front of and behind a neuron. The directions
//!    that all folds leave open are listed, and regions are added that change outputs along them.
//!
//! The answer is a lower bound of the rank, always with a certificate that was checked.

mod aims;
mod ascent;
mod climb;
mod evidence;
mod places;
mod search;
mod walker;

use fiberscope_check::{Checker, Outcome};
use fiberscope_core::{Activation, Certificate, Domain, Evidence, Layer, Network, Neuron};

use crate::limit::{Deadline, Limit};

/// How local identifiability is looked for. The default stops when nothing new is found any more.
///
/// ```
/// use fiberscope::rigidity::RigidityOptions;
///
/// assert!(RigidityOptions::new().seed(7).thorough);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RigidityOptions {
    /// The seed of lines and directions.
    pub seed: u64,
    /// Whether more than lines is tried.
    pub thorough: bool,
    /// When to stop with what is known by then.
    pub deadline: Deadline,
}

impl Default for RigidityOptions {
    fn default() -> Self {
        RigidityOptions { seed: 0, thorough: true, deadline: Deadline::NEVER }
    }
}

impl RigidityOptions {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The seed of all random choices.
    pub fn seed(self, seed: u64) -> Self {
        RigidityOptions { seed, ..self }
    }

    /// Whether more than lines is tried.
    pub fn thorough(self, thorough: bool) -> Self {
        RigidityOptions { thorough, ..self }
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        RigidityOptions { deadline, ..self }
    }
}

/// How many parameters the function determines near the given ones, proved.
#[derive(Clone, Debug, PartialEq)]
pub struct Rigidity {
    /// The number of parameters.
    pub parameters: usize,
    /// The number of hidden neurons: the dimension of the orbit of positive scalings.
    pub scalings: usize,
    /// A proved lower bound of the rank of the parameter Jacobian.
    pub rank: usize,
    /// Neurons with which dimensions begin that are open, with their number.
    pub open: Vec<(Neuron, usize)>,
    /// The certificate, which was checked; `None` if no point was found or a limit came before.
    pub certificate: Option<Certificate>,
    /// How many points, pairs of points at folds, and points with all their rows it has.
    pub used: [usize; 3],
    /// The limit that ended the search.
    pub limit: Option<Limit>,
}

impl Rigidity {
    /// Whether it is proved that the fiber near the parameters is the orbit of positive scalings.
    pub fn is_proved(&self) -> bool {
        self.certificate.is_some() && self.unexplained() == 0
    }

    /// The most dimensions that the fiber near the parameters has beyond the scalings.
    pub fn unexplained(&self) -> usize {
        self.parameters - self.scalings - self.rank
    }
}

/// Why local identifiability is not looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RigidityError {
    /// Scalings are not all symmetries there are.
    #[error("layer {0} is no ReLU layer; a whole linear group acts on its neurons")]
    NotRelu(usize),
    /// The network is too large.
    #[error("{0}")]
    TooLarge(String),
    /// The domain does not fit, or has no interior.
    #[error("{0}")]
    Domain(String),
}

/// Looks for a proof that the parameters of a network are locally identifiable on a domain.
///
/// ```
/// use fiberscope::rigidity::{RigidityOptions, rigidity};
/// use fiberscope::{Domain, Network};
///
/// let network = Network::from_rows(&[
///     (&[&[1.0, 0.5], &[0.25, -1.0]], &[0.5, 0.25]),
///     (&[&[1.0, -2.0]], &[0.5]),
/// ])?;
/// let found = rigidity(&network, &Domain::Space, &RigidityOptions::new())?;
/// assert!(found.is_proved() && found.rank == found.parameters - 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rigidity(
    network: &Network,
    domain: &Domain,
    options: &RigidityOptions,
) -> Result<Rigidity, RigidityError> {
    if let Some(l) = network.hidden_layers().iter().position(|layer| layer.activation() != Activation::Relu) {
        return Err(RigidityError::NotRelu(l + 1));
    }
    fiberscope_check::rank::fits(network).map_err(RigidityError::TooLarge)?;
    network.require_dense(LARGEST).map_err(|error| RigidityError::TooLarge(error.to_string()))?;
    domain.check(network.input_width()).map_err(|error| RigidityError::Domain(error.to_string()))?;
    let thin = |side: &fiberscope_core::Interval| side.lower.is_some() && side.lower == side.upper;
    if let Some(at) = domain.sides(network.input_width()).iter().position(thin) {
        return Err(RigidityError::Domain(format!(
            "input {} has a single value on the domain, which has no interior",
            at + 1
        )));
    }
    // What was found is checked before it is told, which takes about as long.
    let share = options.deadline.left().map(|left| options.deadline.at_most(left.mul_f64(SEARCHED)));
    let searched = RigidityOptions { deadline: share.unwrap_or(options.deadline.clone()), ..options.clone() };
    let found = search::search(network, domain, &searched);
    let evidence = found.gathered.evidence(found.extra.clone(), found.rank);
    let used = [evidence.points.len(), evidence.folds.len(), evidence.extra.len()];
    let certificate = (!evidence.points.is_empty())
        .then(|| Certificate::new(network, network, domain.clone(), Evidence::Rank(evidence)))
        .filter(|certificate| is_checked(certificate, network, &options.deadline));
    Ok(Rigidity {
        parameters: network.parameter_count(),
        scalings: network.hidden_layers().iter().map(Layer::width).sum(),
        rank: if certificate.is_some() { found.rank } else { 0 },
        open: found.open.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect(),
        used,
        certificate,
        limit: searched.deadline.limit().or(options.deadline.limit()),
    })
}

/// The part of the time that is for the search.
const SEARCHED: f64 = 0.5;
/// Networks with more parameters are not looked at.
const LARGEST: usize = 1 << 22;

fn is_checked(certificate: &Certificate, network: &Network, deadline: &Deadline) -> bool {
    let late = || deadline.is_past();
    let outcome = Checker::new(network, network).stop(&late).check(certificate);
    debug_assert!(!matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
    matches!(outcome, Outcome::Proved(_))
}
