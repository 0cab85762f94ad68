//! Certificates: evidence for a statement about two networks, bound to them by digests.
//!
//! The format is written down in `docs/formats/certificate-v1.md`. This module only reads and writes it;
//! whether a certificate proves anything is for the checker to say.

mod claim;
mod read;
mod write;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use claim::Claim;
pub use read::CertificatePart;

use crate::strict::read_strictly;
use crate::{
    BoxNode, CoverNode, DecisionNode, Digest, Domain, MoveChain, Network, RankEvidence, Rational,
    RoundingStep,
};

const FORMAT: &str = "fiberscope-certificate";
const VERSION: u64 = 1;

/// A network as a certificate names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct NetworkName {
    /// The digest of its parameters.
    pub sha256: Digest,
    /// Its widths.
    pub widths: Vec<usize>,
}

read_strictly!(NetworkName);

impl NetworkName {
    /// The name of a network.
    pub fn of(network: &Network) -> Self {
        NetworkName { sha256: Digest::of(network), widths: network.widths() }
    }
}

/// What a certificate rests on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Evidence {
    /// Moves that make the same network of both.
    Moves {
        /// Moves on the first network.
        a: MoveChain,
        /// Moves on the second network.
        b: MoveChain,
    },
    /// Moves that align the networks, and a bound for what then still differs.
    Rounding {
        /// Moves on the first network.
        a: MoveChain,
        /// Moves on the second network.
        b: MoveChain,
        /// The bound for the difference of the outputs.
        bound: Rational,
    },
    /// Moves and small changes of parameters that align the networks, and a bound for the changes together
    /// with what then still differs.
    Nudged {
        /// Steps on the first network.
        a: Vec<RoundingStep>,
        /// Steps on the second network.
        b: Vec<RoundingStep>,
        /// The bound for the difference of the outputs.
        bound: Rational,
    },
    /// Moves that align the networks, and how closely each parameter of one then agrees with that of the
    /// other.
    Close {
        /// Moves on the first network.
        a: MoveChain,
        /// Moves on the second network.
        b: MoveChain,
        /// The largest difference of two parameters, relative to the larger one.
        relative: Rational,
    },
    /// Moves that make the first layers of both equal, and what is behind them a map with one hidden
    /// layer whose hyperplane representations agree.
    Hyperplanes {
        /// Moves on the first network.
        a: MoveChain,
        /// Moves on the second network.
        b: MoveChain,
        /// How many layers are equal.
        prefix: usize,
    },
    /// Moves that make the networks simpler, and a cover of the domain by regions on which the results
    /// are equal affine maps. Behind equal first layers it is a cover of a box that holds what these compute.
    Regions {
        /// Moves on the first network.
        a: MoveChain,
        /// Moves on the second network.
        b: MoveChain,
        /// How many first layers are equal and stand before the cover: none in kind `regions`.
        prefix: usize,
        /// The cover: a tree in preorder.
        tree: Vec<CoverNode>,
    },
    /// Moves that make the networks simpler; the results are equal functions of one variable.
    Line {
        /// Moves on the first network.
        a: MoveChain,
        /// Moves on the second network.
        b: MoveChain,
        /// Where neurons change their signs, in increasing order.
        breakpoints: Vec<Rational>,
    },
    /// Moves that align the networks, and a cover of the domain by boxes on each of which the outputs are
    /// bounded to differ little.
    Difference {
        /// Moves on the first network.
        a: MoveChain,
        /// Moves on the second network.
        b: MoveChain,
        /// The bound for the difference of each output.
        bounds: Vec<Rational>,
        /// The cover: a tree in preorder.
        tree: Vec<BoxNode>,
    },
    /// Moves that align the networks, and for every class a cover of the domain by boxes on each of which the
    /// second network decides for the class wherever the first one does by the margin.
    Decision {
        /// Moves on the first network.
        a: MoveChain,
        /// Moves on the second network.
        b: MoveChain,
        /// By how much the first network has to lead.
        margin: Rational,
        /// The covers: a tree in preorder for every class, one behind the other.
        tree: Vec<DecisionNode>,
    },
    /// A point where the networks differ.
    Witness {
        /// The point.
        x: Vec<Rational>,
        /// The first network's value there.
        a: Vec<Rational>,
        /// The second network's value there.
        b: Vec<Rational>,
    },
    /// Points at which the outputs are smooth functions of the parameters, and the rank of their differentials: a
    /// statement about one network, which is named twice.
    Rank(RankEvidence),
}

/// Evidence for a statement about two networks on a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// The first network.
    pub a: NetworkName,
    /// The second network.
    pub b: NetworkName,
    /// The inputs the statement is about.
    pub domain: Domain,
    /// The evidence.
    pub evidence: Evidence,
}

/// Why a text is no certificate.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum CertificateError {
    #[error("expected a certificate (\"format\": {FORMAT:?}), found format {0:?}")]
    Format(String),
    #[error("expected certificate version {VERSION}, found {0}")]
    Version(u64),
    #[error("not a certificate: {0}")]
    Json(String),
}

/// What is quoted of a file is cut to this many characters.
const QUOTED: usize = 200;

impl From<serde_json::Error> for CertificateError {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        let (count, place) = (text.chars().count(), format!(" at line {}", error.line()));
        if count <= QUOTED {
            return CertificateError::Json(text);
        }
        let start: String = text.chars().take(QUOTED).collect();
        CertificateError::Json(format!("{start}...{place}"))
    }
}

impl Evidence {
    /// The kind's name in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Evidence::Moves { .. } => "moves",
            Evidence::Rounding { .. } => "rounding",
            Evidence::Nudged { .. } => "nudged",
            Evidence::Close { .. } => "close",
            Evidence::Hyperplanes { .. } => "hyperplanes",
            Evidence::Regions { prefix: 0, .. } => "regions",
            Evidence::Regions { .. } => "tails",
            Evidence::Line { .. } => "line",
            Evidence::Difference { .. } => "difference",
            Evidence::Decision { .. } => "decision",
            Evidence::Witness { .. } => "witness",
            Evidence::Rank(_) => "rank",
        }
    }
}

impl Certificate {
    /// The certificate with this evidence about two networks on a domain. Whether it proves anything is for
    /// the checker to say.
    ///
    /// ```
    /// use fiberscope_core::{Certificate, Claim, Domain, Evidence, Move, MoveChain, Network};
    ///
    /// let a = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
    /// let b = Network::from_rows(&[(&[&[-1.0], &[1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
    /// let swap = MoveChain::from(vec![Move::Permute { layer: 0, order: vec![1, 0] }]);
    /// let evidence = Evidence::Moves { a: swap, b: MoveChain::default() };
    /// let certificate = Certificate::new(&a, &b, Domain::Space, evidence);
    /// assert_eq!(certificate.claim(), Claim::Equivalent);
    /// assert_eq!(Certificate::from_json(certificate.to_json().as_bytes()).unwrap(), certificate);
    /// ```
    pub fn new(a: &Network, b: &Network, domain: Domain, evidence: Evidence) -> Self {
        Certificate { a: NetworkName::of(a), b: NetworkName::of(b), domain, evidence }
    }

    /// What the certificate says.
    pub fn claim(&self) -> Claim {
        match &self.evidence {
            Evidence::Moves { .. }
            | Evidence::Hyperplanes { .. }
            | Evidence::Regions { .. }
            | Evidence::Line { .. } => Claim::Equivalent,
            Evidence::Rounding { bound, .. } | Evidence::Nudged { bound, .. } => {
                Claim::EquivalentUpToRounding { bound: bound.clone() }
            }
            Evidence::Difference { bounds, .. } => Claim::Within { bounds: bounds.clone() },
            Evidence::Decision { margin, .. } => Claim::SameClass { margin: margin.clone() },
            Evidence::Close { relative, .. } => Claim::ParametersAgree { relative: relative.clone() },
            Evidence::Witness { .. } => Claim::Different,
            Evidence::Rank(evidence) => {
                let (upper, scalings) = evidence.dimensions(&self.a.widths);
                Claim::FiberDimension { upper, scalings }
            }
        }
    }
}

#[cfg(test)]
mod tests;
