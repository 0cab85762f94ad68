//! The checker: does a certificate prove what it says about two networks?
//!
//! A network's parameters are doubles, that is, rational numbers; every step is exact rational arithmetic,
//! but for the boxes of a [`difference`], which are bounded in doubles with proved errors, or exactly too on
//! demand. There is no search, no tolerance, no file, no clock and no randomness here, and nothing of the
//! code that finds certificates: only the rules of `docs/formats/certificate-v1.md`, in its order.
//!
//! A certificate in memory ([`check`]) and one that comes as a stream ([`Checker::check_reader`]) go through
//! the same `Verifier`, which takes the head and then the nodes or breakpoints one by one. A certificate
//! proves its own claim on its own domain; whether that answers what somebody wants to know is the matter of
//! a [`Question`].
//!
//! ```
//! use fiberscope_check::{Outcome, check};
//! use fiberscope_core::{Certificate, Claim, Domain, Evidence, Move, MoveChain, Network};
//!
//! let a = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
//! let b = Network::from_rows(&[(&[&[-1.0], &[1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
//! let swap = MoveChain::from(vec![Move::Permute { layer: 0, order: vec![1, 0] }]);
//! let evidence = Evidence::Moves { a: swap, b: MoveChain::default() };
//! let certificate = Certificate::new(&a, &b, Domain::Space, evidence);
//! assert_eq!(check(&certificate, &a, &b), Outcome::Proved(Claim::Equivalent));
//! ```

mod close;
pub mod difference;
mod hyperplanes;
mod limits;
mod line;
mod question;
pub mod rank;
mod regions;
mod rounding;
mod stream;
#[cfg(test)]
mod testing;

use std::fmt;
use std::num::NonZeroUsize;

use fiberscope_core::decimal::shortest;
use fiberscope_core::{
    Certificate, Claim, Domain, Evidence, ExactNetwork, Interval, MoveChain, Network, NetworkName, Rational,
    side_by_side,
};

use difference::Arithmetic;
pub use limits::{check_lengths, check_move, difference_fits, regions_fit};
pub use line::{LineOutcome, compare_on_line};
pub use question::{AskedClaim, Question, Shortfall};
pub use regions::same_on_path;
pub use stream::Checked;
use stream::Made;

/// What the checker says of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The claim is true.
    Proved(Claim),
    /// The certificate does not prove its claim (which may be true all the same).
    Refused(Refusal),
    /// The check was stopped; nothing is known about the certificate.
    Stopped,
}

/// Where a certificate fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The step of the check: `network A`, `move 3 on A`, ...
    pub step: String,
    /// The rule that is broken there, and how.
    pub rule: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.rule)
    }
}

/// Why a check does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Refused(Refusal),
    Stopped,
}

/// Asked between the steps of a check: whether to stop.
type Stop<'a> = &'a dyn Fn() -> bool;

/// The same, asked by several threads.
type SharedStop<'a> = &'a (dyn Fn() -> bool + Sync);

/// The longest sentence of a refusal, in characters; a certificate may hold numbers of any length.
const SENTENCE: usize = 400;

fn refuse<T>(step: impl Into<String>, rule: impl Into<String>) -> Result<T, End> {
    let [step, rule] = [step.into(), rule.into()].map(|text| match text.char_indices().nth(SENTENCE) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    });
    Err(End::Refused(Refusal { step, rule }))
}

fn go_on(stop: Stop) -> Result<(), End> {
    if stop() { Err(End::Stopped) } else { Ok(()) }
}

/// A bound for the difference of the outputs of two networks of equal widths on a bounded domain: what
/// certificates of kind `rounding` and `nudged` add up.
///
/// ```
/// use fiberscope_check::rounding_bound;
/// use fiberscope_core::{Domain, Network};
///
/// let line = |slope: f64| Network::from_rows(&[(&[&[slope]], &[0.0])]).unwrap().to_exact();
/// let unit = Domain::from_bounds(&[(-1.0, 1.0)]).unwrap();
/// assert!(rounding_bound(&line(1.0), &line(1.25), &unit).unwrap() >= "1/4".parse().unwrap());
/// assert!(rounding_bound(&line(1.0), &line(1.25), &Domain::Space).is_err());
/// ```
pub fn rounding_bound(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> Result<Rational, Refusal> {
    rounding::difference_bound(a, b, domain, &|| false).map_err(|end| match end {
        End::Refused(refusal) => refusal,
        End::Stopped => unreachable!("nobody stops it"),
    })
}

/// Checks a certificate for two networks: a [`Checker`] that nobody stops.
///
/// ```
/// use fiberscope_check::{Outcome, check};
/// use fiberscope_core::{Certificate, Domain, Evidence, MoveChain, Network};
///
/// let network = Network::from_rows(&[(&[&[1.0]], &[0.0]), (&[&[1.0]], &[0.0])]).unwrap();
/// let nothing = Evidence::Moves { a: MoveChain::default(), b: MoveChain::default() };
/// let certificate = Certificate::new(&network, &network, Domain::Space, nothing);
/// assert!(matches!(check(&certificate, &network, &network), Outcome::Proved(_)));
/// ```
pub fn check(certificate: &Certificate, a: &Network, b: &Network) -> Outcome {
    Checker::new(a, b).check(certificate)
}

/// Checks certificates for two networks, until it is told to stop.
#[derive(Clone, Copy)]
pub struct Checker<'a> {
    networks: (&'a Network, &'a Network),
    arithmetic: Arithmetic,
    threads: NonZeroUsize,
    stop: SharedStop<'a>,
}

impl<'a> Checker<'a> {
    /// A checker that nobody stops, on the thread that calls it.
    pub fn new(a: &'a Network, b: &'a Network) -> Self {
        let (arithmetic, threads) = (Arithmetic::default(), NonZeroUsize::MIN);
        Checker { networks: (a, b), arithmetic, threads, stop: &|| false }
    }

    /// The same; `stop` is asked between the steps of a check, by whatever thread takes one.
    ///
    /// ```
    /// use fiberscope_check::{Checker, Outcome};
    /// # use fiberscope_core::{Certificate, Domain, Evidence, MoveChain, Network};
    /// # let a = Network::from_rows(&[(&[&[1.0]], &[0.0])]).unwrap();
    /// # let nothing = Evidence::Moves { a: MoveChain::default(), b: MoveChain::default() };
    /// # let certificate = Certificate::new(&a, &a, Domain::Space, nothing);
    /// assert_eq!(Checker::new(&a, &a).stop(&|| true).check(&certificate), Outcome::Stopped);
    /// ```
    pub fn stop(self, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Checker { stop, ..self }
    }

    /// The same, with a choice of the arithmetic in which boxes of differences are bounded; all else is exact
    /// anyway.
    pub fn arithmetic(self, arithmetic: Arithmetic) -> Self {
        Checker { arithmetic, ..self }
    }

    /// The same with so many threads, the calling one among them, for the boxes of a `difference`; everything else is
    /// checked on the calling thread. What is said does not depend on their number.
    pub fn threads(self, threads: NonZeroUsize) -> Self {
        Checker { threads, ..self }
    }

    /// Checks a certificate.
    pub fn check(&self, certificate: &Certificate) -> Outcome {
        let made = Made::default();
        let mut verifier = self.verifier(&made);
        let mut run = || {
            verifier.head(certificate)?;
            match &certificate.evidence {
                Evidence::Regions { tree, .. } => tree.iter().try_for_each(|node| verifier.node(node))?,
                Evidence::Line { breakpoints, .. } => {
                    breakpoints.iter().try_for_each(|t| verifier.breakpoint(t))?;
                }
                Evidence::Difference { tree, .. } => {
                    tree.iter().try_for_each(|node| verifier.box_node(node))?;
                }
                Evidence::Decision { tree, .. } => {
                    tree.iter().try_for_each(|node| verifier.decision_node(node))?;
                }
                _ => {}
            }
            verifier.finish()
        };
        outcome(certificate, run())
    }
}

fn outcome(certificate: &Certificate, ended: Result<(), End>) -> Outcome {
    match ended {
        Ok(()) => Outcome::Proved(certificate.claim()),
        Err(End::Refused(refusal)) => Outcome::Refused(refusal),
        Err(End::Stopped) => Outcome::Stopped,
    }
}

fn verify_name(step: &str, name: &NetworkName, network: &Network) -> Result<(), End> {
    let found = NetworkName::of(network);
    if name.widths != found.widths {
        let (expected, found) = (short_widths(&name.widths), short_widths(&found.widths));
        return refuse(step, format!("the certificate is for widths {expected}, found {found}"));
    }
    if name.sha256 != found.sha256 {
        let rule = format!("the certificate is for parameters {}, found {}", name.sha256, found.sha256);
        return refuse(step, rule);
    }
    Ok(())
}

/// How many widths of a network a refusal names.
const SHOWN_WIDTHS: usize = 12;

fn short_widths(widths: &[usize]) -> String {
    match widths {
        [.., last] if widths.len() > SHOWN_WIDTHS => {
            format!("{:?} ... {last} ({} layers)", &widths[..SHOWN_WIDTHS], widths.len() - 1)
        }
        _ => format!("{widths:?}"),
    }
}

/// A number as a refusal names it.
fn short_number(x: &Rational) -> String {
    const BITS: u64 = 160;
    let near = x.to_f64();
    match x {
        _ if x.length() <= BITS => x.to_string(),
        _ if near.is_finite() && near != 0.0 => format!("about {}", shortest(near)),
        _ => "a number beyond the doubles".into(),
    }
}

/// The network after the moves. Each keeps the function on the domain because its rule holds.
fn rewrite(
    name: &str,
    network: &Network,
    moves: &MoveChain,
    domain: &Domain,
    stop: Stop,
) -> Result<ExactNetwork, End> {
    let mut rewritten = network.to_exact();
    apply_moves(name, &mut rewritten, moves, domain, (network.stored_count(), stop))?;
    Ok(rewritten)
}

/// Applies moves to a network that had so many parameters when it was given.
fn apply_moves(
    name: &str,
    network: &mut ExactNetwork,
    moves: &MoveChain,
    domain: &Domain,
    (parameters, stop): (usize, Stop),
) -> Result<(), End> {
    for (place, each) in moves.moves().iter().enumerate() {
        go_on(stop)?;
        let tried = check_move(each, network, parameters);
        let applied = tried.and_then(|()| each.apply(network, domain).map_err(|error| error.to_string()));
        applied.and_then(|()| check_lengths(network, parameters)).or_else(|rule| {
            refuse(
                format!("move {} on {name} ({}, layer {})", place + 1, each.name(), each.layer() + 1),
                rule,
            )
        })?;
    }
    Ok(())
}

fn verify_equal(a: &ExactNetwork, b: &ExactNetwork) -> Result<(), End> {
    let step = "comparison after the moves";
    if a.widths() != b.widths() {
        return refuse(step, widths_differ(a, b));
    }
    (0..a.depth()).try_for_each(|l| verify_layers_equal(l, a, b))
}

fn widths_differ(a: &ExactNetwork, b: &ExactNetwork) -> String {
    let (a, b) = (short_widths(&a.widths()), short_widths(&b.widths()));
    format!("A became a network of widths {a}, B of {b}")
}

/// Checks that the first `prefix` layers, no more than `a` has hidden ones, are the same in both networks. The
/// intervals enclose what they compute on the domain.
fn verify_prefix(
    a: &ExactNetwork,
    b: &ExactNetwork,
    domain: &Domain,
    prefix: usize,
) -> Result<Vec<Interval>, End> {
    (0..prefix).try_for_each(|l| verify_layers_equal(l, a, b))?;
    Ok(a.activation_ranges(domain).nth(prefix).expect("the network has that many layers"))
}

/// Checks that layer `l` has the same shape and activation in both networks.
fn verify_same_shape(l: usize, a: &ExactNetwork, b: &ExactNetwork) -> Result<(), End> {
    let (of_a, of_b) = (&a.layers()[l], &b.layers()[l]);
    if (of_a.width(), of_a.input_width(), of_a.activation())
        != (of_b.width(), of_b.input_width(), of_b.activation())
    {
        let rule = format!("layer {} has different shapes or activations", l + 1);
        return refuse("comparison after the moves", rule);
    }
    Ok(())
}

/// Checks that layer `l` is the same in both networks.
fn verify_layers_equal(l: usize, a: &ExactNetwork, b: &ExactNetwork) -> Result<(), End> {
    let step = "comparison after the moves";
    verify_same_shape(l, a, b)?;
    let (of_a, of_b) = (&a.layers()[l], &b.layers()[l]);
    for i in 0..of_a.width() {
        let mut pairs = side_by_side(of_a.weights().row(i), of_b.weights().row(i));
        if let Some((j, x, y)) = pairs.find(|(_, x, y)| x != y) {
            let place = format!("layer {}: weight[{}][{}]", l + 1, i + 1, j + 1);
            let (x, y) =
                (short_number(x.unwrap_or(&Rational::ZERO)), short_number(y.unwrap_or(&Rational::ZERO)));
            return refuse(step, format!("{place} is {x} in A and {y} in B; they must be equal"));
        }
    }
    if let Some((at, (x, y))) = of_a.bias().iter().zip(of_b.bias()).enumerate().find(|(_, (x, y))| x != y) {
        let place = format!("layer {}: bias[{}]", l + 1, at + 1);
        let (x, y) = (short_number(x), short_number(y));
        return refuse(step, format!("{place} is {x} in A and {y} in B; they must be equal"));
    }
    Ok(())
}

fn verify_witness(
    (a, value_a): (&Network, &[Rational]),
    (b, value_b): (&Network, &[Rational]),
    domain: &Domain,
    x: &[Rational],
) -> Result<(), End> {
    for (step, network, stated) in [("witness, value of A", a, value_a), ("witness, value of B", b, value_b)]
    {
        let value = network.evaluate_exact(x).or_else(|error| refuse("witness", error.to_string()))?;
        if value != stated {
            return refuse(step, "the stated value is not the network's value at x");
        }
    }
    if !domain.contains(x) {
        return refuse("witness", "x must lie in the domain");
    }
    if value_a == value_b {
        return refuse("witness", "the values of A and B must differ");
    }
    Ok(())
}
