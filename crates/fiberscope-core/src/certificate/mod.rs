//! Certificates: evidence for a statement about two networks, bound to them by digests.
//!
//! The format is written down in `docs/formats/certificate-v1.md`. This module only reads and writes it;
//! whether a certificate proves anything is for the checker to say.

mod read;

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use read::CertificatePart;

use crate::strict::read_strictly;
use crate::{
    BoxNode, CoverNode, DecisionNode, Digest, Domain, MoveChain, Network, RankEvidence, Rational,
    RoundingStep, decimal,
};

const FORMAT: &str = "fiberscope-certificate";
const VERSION: u64 = 1;

/// What a certificate says about `f_A` and `f_B` on its domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// `f_A(x) = f_B(x)` for every `x`.
    Equivalent,
    /// `abs(f_A(x) - f_B(x)) <= bound` for every `x` and every output.
    EquivalentUpToRounding {
        /// The bound.
        bound: Rational,
    },
    /// `abs(f_A(x)[k] - f_B(x)[k]) <= bounds[k]` for every `x` and every output `k`.
    Within {
        /// A bound for each output.
        bounds: Vec<Rational>,
    },
    /// For every `x` and every output `i` with `f_A(x)[i] - f_A(x)[l] >= margin` for all others `l` (`> 0`
    /// for all others, if the margin is 0), `f_B(x)[i] > f_B(x)[j]` for all others `j`: where the first
    /// network decides for a class by the margin, the second one decides for it too.
    SameClass {
        /// The margin, not negative.
        margin: Rational,
    },
    /// Moves that keep both functions lead to networks whose parameters agree one by one. Nothing is said
    /// about the outputs.
    ParametersAgree {
        /// Parameters `p`, `q` satisfy `abs(p - q) <= relative * max(abs(p), abs(q))`.
        relative: Rational,
    },
    /// `f_A(x) != f_B(x)` for some `x`.
    Different,
    /// Near the parameters of `A`, those with the same function on the domain lie in a manifold of this
    /// dimension. If it is the number of the positive scalings, they are the scalings of `A` and no others: the
    /// parameters are locally identifiable.
    FiberDimension {
        /// The dimension.
        upper: u64,
        /// How many hidden neurons can be scaled.
        scalings: u64,
    },
}

impl Claim {
    /// The claim's name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Claim::Equivalent => "equivalent",
            Claim::EquivalentUpToRounding { .. } => "equivalent_up_to_rounding",
            Claim::Within { .. } => "within",
            Claim::SameClass { .. } => "same_class",
            Claim::ParametersAgree { .. } => "parameters_agree",
            Claim::Different => "different",
            Claim::FiberDimension { upper, scalings } if upper == scalings => "locally_identifiable",
            Claim::FiberDimension { .. } => "fiber_dimension",
        }
    }

    /// The largest difference of two outputs that the claim allows, if it speaks of one.
    pub fn bound(&self) -> Option<&Rational> {
        match self {
            Claim::EquivalentUpToRounding { bound } => Some(bound),
            Claim::Within { bounds } => bounds.iter().max(),
            Claim::Equivalent
            | Claim::SameClass { .. }
            | Claim::ParametersAgree { .. }
            | Claim::Different
            | Claim::FiberDimension { .. } => None,
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Claim::Equivalent => write!(f, "the networks compute the same function"),
            Claim::EquivalentUpToRounding { .. } | Claim::Within { .. } => {
                let bound = self.bound().unwrap_or(&Rational::ZERO);
                write!(f, "the outputs differ by at most {}", decimal::upper(bound))
            }
            Claim::SameClass { margin } if margin.is_zero() => {
                write!(f, "wherever one output of A is the largest, that output of B is the largest")
            }
            Claim::SameClass { margin } => write!(
                f,
                "wherever one output of A is the largest by at least {}, that output of B is the largest",
                decimal::upper(margin)
            ),
            Claim::ParametersAgree { relative } => write!(
                f,
                "moves that keep both functions lead to networks whose parameters agree one by one to a relative difference of {}; \
                 nothing is said about the outputs",
                decimal::upper(relative)
            ),
            Claim::Different => write!(f, "the networks compute different functions"),
            Claim::FiberDimension { upper, scalings } if upper == scalings => write!(
                f,
                "the parameters are locally identifiable: near them, those with the same function are their \
                 positive scalings and no others"
            ),
            Claim::FiberDimension { upper, scalings } => write!(
                f,
                "near the parameters, those with the same function lie in a manifold of dimension {upper}, of which {scalings} \
                 are positive scalings"
            ),
        }
    }
}

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
    /// are equal affine maps.
    Regions {
        /// Moves on the first network.
        a: MoveChain,
        /// Moves on the second network.
        b: MoveChain,
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
            Evidence::Regions { .. } => "regions",
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

    /// The certificate as JSON, a line per key and per move.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("writing to a string does not fail");
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        use fmt::Write;
        writeln!(out, "{{\"format\": {FORMAT:?}, \"version\": {VERSION},")?;
        writeln!(out, " \"a\": {},", json(&self.a))?;
        writeln!(out, " \"b\": {},", json(&self.b))?;
        writeln!(out, " \"domain\": {},", json(&self.domain))?;
        write!(out, " \"evidence\": {{\"kind\": {:?},", self.evidence.kind())?;
        match &self.evidence {
            Evidence::Moves { a, b } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {}", lines(a), lines(b))?;
            }
            Evidence::Rounding { a, b, bound } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", lines(a), lines(b))?;
                write!(out, "\n  \"bound\": {}", json(bound))?;
            }
            Evidence::Nudged { a, b, bound } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", list(a), list(b))?;
                write!(out, "\n  \"bound\": {}", json(bound))?;
            }
            Evidence::Close { a, b, relative } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", lines(a), lines(b))?;
                write!(out, "\n  \"relative\": {}", json(relative))?;
            }
            Evidence::Hyperplanes { a, b, prefix } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", lines(a), lines(b))?;
                write!(out, "\n  \"prefix\": {prefix}")?;
            }
            Evidence::Regions { a, b, tree } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},\n  \"tree\": ", lines(a), lines(b))?;
                write_list(out, tree)?;
            }
            Evidence::Line { a, b, breakpoints } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},\n  \"breakpoints\": ", lines(a), lines(b))?;
                write_list(out, breakpoints)?;
            }
            Evidence::Difference { a, b, bounds, tree } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", lines(a), lines(b))?;
                write!(out, "\n  \"bounds\": {},\n  \"tree\": ", json(bounds))?;
                write_short_list(out, tree)?;
            }
            Evidence::Decision { a, b, margin, tree } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", lines(a), lines(b))?;
                write!(out, "\n  \"margin\": {},\n  \"tree\": ", json(margin))?;
                write_short_list(out, tree)?;
            }
            Evidence::Witness { x, a, b } => {
                write!(out, "\n  \"x\": {},\n  \"a\": {},\n  \"b\": {}", json(x), json(a), json(b))?;
            }
            Evidence::Rank(RankEvidence { points, folds, outputs, extra, rank }) => {
                write!(out, "\n  \"points\": ")?;
                write_list(out, points)?;
                write!(out, ",\n  \"folds\": ")?;
                write_short_list(out, folds)?;
                let [outputs, extra] =
                    [outputs, extra].map(|list| list.iter().map(|i| i + 1).collect::<Vec<_>>());
                write!(out, ",\n  \"outputs\": {},\n  \"extra\": {},", json(&outputs), json(&extra))?;
                write!(out, "\n  \"rank\": {rank}")?;
            }
        }
        writeln!(out, "}}}}")
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("certificates have string keys and finite numbers")
}

fn lines(chain: &MoveChain) -> String {
    list(chain.moves())
}

fn list(items: &[impl Serialize]) -> String {
    let mut out = String::new();
    write_list(&mut out, items).expect("writing to a string does not fail");
    out
}

/// A line per entry.
fn write_list(out: &mut String, items: &[impl Serialize]) -> fmt::Result {
    use fmt::Write;
    for (i, item) in items.iter().enumerate() {
        write!(out, "{}\n    {}", if i == 0 { "[" } else { "," }, json(item))?;
    }
    out.write_str(if items.is_empty() { "[]" } else { "]" })
}

/// Many short entries per line.
fn write_short_list(out: &mut String, items: &[impl Serialize]) -> fmt::Result {
    use fmt::Write;
    const PER_LINE: usize = 50;
    for (i, item) in items.iter().enumerate() {
        let before = match i {
            0 => "[",
            _ if i % PER_LINE == 0 => ",\n    ",
            _ => ",",
        };
        write!(out, "{before}{}", json(item))?;
    }
    out.write_str(if items.is_empty() { "[]" } else { "]" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        BiasShift, FoldPair, Interval, LinearChange, Move, Neuron, NeuronCopy, Nudge, Operand, PlacedNeuron,
        ShownRole,
    };

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    fn certificate(evidence: Evidence) -> Certificate {
        let digest = "0123456789abcdef".repeat(4);
        let name = NetworkName {
            sha256: serde_json::from_str(&format!("{digest:?}")).unwrap(),
            widths: vec![1, 2, 1],
        };
        let domain = Domain::Box(vec![Interval { lower: Some(r("-1/2")), upper: None }]);
        Certificate { a: name.clone(), b: name, domain, evidence }
    }

    fn every_move() -> MoveChain {
        let neuron = PlacedNeuron { unit: 1, weight: vec![r("1")], bias: r("-1/3"), out: vec![r("0")] };
        let linear = LinearChange { remove: vec![0], insert: vec![neuron.clone()] };
        MoveChain::from(vec![
            Move::Permute { layer: 0, order: vec![1, 0] },
            Move::Scale { layer: 0, factors: vec![r("2"), r("1/3")] },
            Move::Drop { layer: 0, units: vec![1] },
            Move::Insert { layer: 0, neurons: vec![neuron] },
            Move::Merge { layer: 0, pairs: vec![(0, 1)] },
            Move::Split {
                layer: 0,
                copies: vec![NeuronCopy { of: 0, unit: 1, factor: r("2"), out: vec![r("5")] }],
            },
            Move::Cancel { layer: 0, keep: 0, drop: 1, linear: linear.clone() },
            Move::Refactor { layer: 0, linear: linear.clone() },
            Move::Reorient { layer: 0, units: vec![0], linear },
            Move::Translate { layer: 0, unit: 0, amount: r("1/4") },
            Move::Flip { layer: 0, unit: 0, flips: vec![1] },
            Move::Shift {
                layer: 0,
                shifts: vec![BiasShift {
                    unit: 0,
                    role: ShownRole::Dead,
                    amount: r("-1/2"),
                    slopes: vec![vec![r("1"), r("1/2")]],
                }],
            },
            Move::Fold { layer: 0, pairs: vec![(0, 1)] },
            Move::Unfold {
                layer: 0,
                weight: vec![vec![r("1")]],
                bias: vec![r("0")],
                activation: crate::Activation::Identity,
                next_weight: vec![vec![r("1")]],
                next_bias: vec![r("0")],
                pairs: vec![(0, 1)],
            },
        ])
    }

    fn every_node() -> Vec<CoverNode> {
        let split = CoverNode::Split(Operand::A, Neuron { layer: 0, unit: 1 });
        vec![split, CoverNode::Equal, CoverNode::Empty(vec![(0, r("2"))]), CoverNode::None]
    }

    #[test]
    fn every_kind_and_every_move_round_trips() {
        for evidence in [
            Evidence::Moves { a: every_move(), b: MoveChain::default() },
            Evidence::Rounding { a: MoveChain::default(), b: every_move(), bound: r("1/1024") },
            Evidence::Nudged {
                a: vec![],
                b: vec![
                    RoundingStep::Moves(every_move()),
                    RoundingStep::Nudge(Nudge {
                        layer: 0,
                        weight: vec![(0, 1, r("2"))],
                        bias: vec![(1, r("1/3"))],
                    }),
                ],
                bound: r("1/1024"),
            },
            Evidence::Close { a: MoveChain::default(), b: every_move(), relative: r("1/1024") },
            Evidence::Hyperplanes { a: every_move(), b: MoveChain::default(), prefix: 1 },
            Evidence::Regions { a: MoveChain::default(), b: every_move(), tree: every_node() },
            Evidence::Line { a: every_move(), b: MoveChain::default(), breakpoints: vec![r("-1/3"), r("0")] },
            Evidence::Difference {
                a: every_move(),
                b: MoveChain::default(),
                bounds: vec![r("1/1024"), r("0")],
                tree: [vec![BoxNode::Bisect(1); 70], vec![BoxNode::Leaf; 71]].concat(),
            },
            Evidence::Decision {
                a: MoveChain::default(),
                b: every_move(),
                margin: r("1/1024"),
                tree: vec![DecisionNode::Bisect(0), DecisionNode::Never(1), DecisionNode::Held(vec![])],
            },
            Evidence::Witness { x: vec![r("1/3")], a: vec![r("1")], b: vec![r("2")] },
            Evidence::Rank(RankEvidence {
                points: vec![vec![r("1/3")], vec![r("-2")]],
                folds: vec![FoldPair { neuron: Neuron { layer: 0, unit: 1 }, points: (0, 1) }],
                outputs: vec![0],
                extra: vec![1, 0],
                rank: 4,
            }),
        ] {
            let certificate = certificate(evidence);
            let json = certificate.to_json();
            assert_eq!(Certificate::from_json(json.as_bytes()).unwrap(), certificate, "{json}");
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        let valid = certificate(Evidence::Moves { a: every_move(), b: MoveChain::default() }).to_json();
        let check = |from: &str, to: &str, expected: &str| {
            assert!(valid.contains(from), "{from}");
            let error =
                Certificate::from_json(valid.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("fiberscope-certificate", "fiberscope-network", "found format \"fiberscope-network\"");
        check("\"version\": 1", "\"version\": 2", "expected certificate version 1, found 2");
        check("\"moves\"", "\"magic\"", "unknown kind of evidence \"magic\"");
        check("\"permute\"", "\"teleport\"", "unknown variant `teleport`");
        check("\"layer\":1", "\"layer\":0", "count from 1");
        check("\"1/3\"", "0.3", "expected a string");
        check("\"1/3\"", "\"0.3\"", "expected a fraction");
        check("\"domain\"", "\"extra\": 1, \"domain\"", "expected the key \"domain\", found \"extra\"");
        check(
            "\"domain\"",
            "\"domain\": \"space\", \"domain\"",
            "expected the key \"evidence\", found \"domain\"",
        );
        check("\"order\":[2,1]", "\"order\":[2,1],\"why\":3", "unknown field `why`");
        check("{\"format\"", "[{\"format\"", "not a certificate");
    }
}
