//! The checker: does a certificate prove what it says about two networks?
//!
//! A network's parameters are doubles, that is, rational numbers; every step is exact rational
//! arithmetic. There is no search, no tolerance, no file and no randomness here, and nothing of the
//! code that finds certificates: only the rules of `docs/formats/certificate-v1.md`, in its order.
//!
//! ```
//! use fiberscope_check::{Outcome, check};
//! use fiberscope_core::{Certificate, Claim, Domain, Evidence, Move, MoveChain, NetworkName};
//! # use fiberscope_core::{Activation, Layer, Matrix, Network};
//! # let network = |w: [[f64; 1]; 2]| {
//! #     let hidden = Layer::new(Matrix::from_rows(&w).unwrap(), vec![0.0, 0.0], Activation::Relu);
//! #     let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
//! #     Network::new(vec![hidden, output]).unwrap()
//! # };
//! let (a, b) = (network([[1.0], [-1.0]]), network([[-1.0], [1.0]]));
//! let swap = MoveChain::from(vec![Move::Permute { layer: 0, order: vec![1, 0] }]);
//! let certificate = Certificate {
//!     a: NetworkName::of(&a),
//!     b: NetworkName::of(&b),
//!     domain: Domain::Space,
//!     evidence: Evidence::Moves { a: swap, b: MoveChain::default() },
//! };
//! assert_eq!(check(&certificate, &a, &b), Outcome::Proved(Claim::Equivalent));
//! ```

mod close;
mod hyperplanes;
mod line;
mod regions;
mod rounding;
#[cfg(test)]
mod testing;

use std::fmt;

use fiberscope_core::{
    Certificate, Claim, Domain, Evidence, ExactNetwork, MoveChain, Network, NetworkName, Rational,
};

pub use line::{LineOutcome, compare_on_line};
pub use regions::same_on_path;

/// What the checker says of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The claim is true.
    Proved(Claim),
    /// The certificate does not prove its claim (which may be true all the same).
    Refused(Refusal),
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

/// A bound for the difference of the outputs of two networks of equal widths on a bounded domain: what
/// certificates of kind `rounding` and `nudged` add up.
pub fn rounding_bound(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> Result<Rational, Refusal> {
    rounding::difference_bound(a, b, domain)
}

fn refuse<T>(step: impl Into<String>, rule: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { step: step.into(), rule: rule.into() })
}

/// Checks a certificate for two networks.
pub fn check(certificate: &Certificate, a: &Network, b: &Network) -> Outcome {
    match verify(certificate, a, b) {
        Ok(()) => Outcome::Proved(certificate.claim()),
        Err(refusal) => Outcome::Refused(refusal),
    }
}

fn verify(certificate: &Certificate, a: &Network, b: &Network) -> Result<(), Refusal> {
    verify_name("network A", &certificate.a, a)?;
    verify_name("network B", &certificate.b, b)?;
    if a.input_width() != b.input_width() || a.output_width() != b.output_width() {
        return refuse("networks", "A and B must have the same numbers of inputs and outputs");
    }
    let domain = &certificate.domain;
    domain.check(a.input_width()).or_else(|error| refuse("domain", error.to_string()))?;
    match &certificate.evidence {
        Evidence::Moves { a: moves_a, b: moves_b } => {
            let (a, b) = rewrite_both((a, moves_a), (b, moves_b), domain)?;
            verify_equal(&a, &b)
        }
        Evidence::Rounding { a: moves_a, b: moves_b, bound } => {
            let (a, b) = rewrite_both((a, moves_a), (b, moves_b), domain)?;
            rounding::verify(&a, &b, domain, bound)
        }
        Evidence::Nudged { a: steps_a, b: steps_b, bound } => {
            rounding::verify_nudged((&a.to_exact(), steps_a), (&b.to_exact(), steps_b), domain, bound)
        }
        Evidence::Close { a: moves_a, b: moves_b, relative } => {
            let (a, b) = rewrite_both((a, moves_a), (b, moves_b), domain)?;
            close::verify(&a, &b, relative)
        }
        Evidence::Hyperplanes { a: moves_a, b: moves_b, prefix } => {
            let (a, b) = rewrite_both((a, moves_a), (b, moves_b), domain)?;
            hyperplanes::verify(&a, &b, domain, *prefix)
        }
        Evidence::Regions { a: moves_a, b: moves_b, tree } => {
            let (a, b) = rewrite_both((a, moves_a), (b, moves_b), domain)?;
            regions::verify(&a, &b, domain, tree)
        }
        Evidence::Line { a: moves_a, b: moves_b } => {
            let (a, b) = rewrite_both((a, moves_a), (b, moves_b), domain)?;
            line::verify(&a, &b, domain)
        }
        Evidence::Witness { x, a: value_a, b: value_b } => {
            verify_witness((a, value_a), (b, value_b), domain, x)
        }
        _ => refuse("evidence", "the checker does not know this kind of evidence"),
    }
}

fn verify_name(step: &str, name: &NetworkName, network: &Network) -> Result<(), Refusal> {
    let found = NetworkName::of(network);
    if name.widths != found.widths {
        let rule = format!("the certificate is for widths {:?}, found {:?}", name.widths, found.widths);
        return refuse(step, rule);
    }
    if name.sha256 != found.sha256 {
        let rule = format!("the certificate is for parameters {}, found {}", name.sha256, found.sha256);
        return refuse(step, rule);
    }
    Ok(())
}

fn rewrite_both(
    (a, moves_a): (&Network, &MoveChain),
    (b, moves_b): (&Network, &MoveChain),
    domain: &Domain,
) -> Result<(ExactNetwork, ExactNetwork), Refusal> {
    Ok((rewrite("A", a, moves_a, domain)?, rewrite("B", b, moves_b, domain)?))
}

/// The network after the moves. Each keeps the function on the domain because its rule holds.
fn rewrite(
    name: &str,
    network: &Network,
    moves: &MoveChain,
    domain: &Domain,
) -> Result<ExactNetwork, Refusal> {
    let mut rewritten = network.to_exact();
    apply_moves(name, &mut rewritten, moves, domain)?;
    Ok(rewritten)
}

fn apply_moves(
    name: &str,
    network: &mut ExactNetwork,
    moves: &MoveChain,
    domain: &Domain,
) -> Result<(), Refusal> {
    moves.apply(network, domain).or_else(|failed| {
        let step =
            format!("move {} on {name} ({}, layer {})", failed.step + 1, failed.name, failed.layer + 1);
        refuse(step, failed.error.to_string())
    })
}

fn verify_equal(a: &ExactNetwork, b: &ExactNetwork) -> Result<(), Refusal> {
    let step = "comparison after the moves";
    if a.widths() != b.widths() {
        return refuse(step, format!("A became a network of widths {:?}, B of {:?}", a.widths(), b.widths()));
    }
    (0..a.depth()).try_for_each(|l| verify_layers_equal(l, a, b))
}

/// Checks that layer `l` has the same shape and activation in both networks.
fn verify_same_shape(l: usize, a: &ExactNetwork, b: &ExactNetwork) -> Result<(), Refusal> {
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
fn verify_layers_equal(l: usize, a: &ExactNetwork, b: &ExactNetwork) -> Result<(), Refusal> {
    let step = "comparison after the moves";
    verify_same_shape(l, a, b)?;
    let (of_a, of_b) = (&a.layers()[l], &b.layers()[l]);
    let cols = of_a.input_width();
    let pairs = of_a.weight().entries().iter().zip(of_b.weight().entries());
    if let Some((at, (x, y))) = pairs.enumerate().find(|(_, (x, y))| x != y) {
        let place = format!("layer {}: weight[{}][{}]", l + 1, at / cols + 1, at % cols + 1);
        return refuse(step, format!("{place} is {x} in A and {y} in B; they must be equal"));
    }
    if let Some((at, (x, y))) = of_a.bias().iter().zip(of_b.bias()).enumerate().find(|(_, (x, y))| x != y) {
        let place = format!("layer {}: bias[{}]", l + 1, at + 1);
        return refuse(step, format!("{place} is {x} in A and {y} in B; they must be equal"));
    }
    Ok(())
}

fn verify_witness(
    (a, value_a): (&Network, &[Rational]),
    (b, value_b): (&Network, &[Rational]),
    domain: &Domain,
    x: &[Rational],
) -> Result<(), Refusal> {
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
