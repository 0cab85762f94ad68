//! Verdicts on two networks.

use fiberscope::check::{Outcome, check};
use fiberscope::equivalence::{Decision, Verdict};
use fiberscope_core::{Certificate, Domain, Evidence, MoveChain, Network, NetworkName, Rational};
use serde_json::{Value, json};

/// The certificate of a verdict.
pub fn certificate(verdict: &Verdict) -> Option<&Certificate> {
    match verdict {
        Verdict::Equivalent { certificate }
        | Verdict::EquivalentUpToRounding { certificate, .. }
        | Verdict::Different { certificate, .. } => Some(certificate),
        Verdict::Undecided { .. } => None,
    }
}

/// The verdict in a word.
pub fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Equivalent { .. } => "equivalent",
        Verdict::EquivalentUpToRounding { .. } => "equivalent_up_to_rounding",
        Verdict::Different { .. } => "different",
        Verdict::Undecided { .. } => "undecided",
    }
}

/// A decision with the keys of `fiberscope equiv --json`; `domain` is where it was asked for.
pub fn value(decision: &Decision, domain: &Domain) -> Value {
    let proved_on = certificate(&decision.verdict).map_or(domain, |certificate| &certificate.domain);
    let numbers = |xs: &[Rational]| -> Vec<f64> { xs.iter().map(Rational::to_f64).collect() };
    let exact = |xs: &[Rational]| -> Vec<String> { xs.iter().map(ToString::to_string).collect() };
    let mut value = json!({
        "verdict": name(&decision.verdict),
        "method": decision.method,
        "domain": proved_on,
        "bound": null,
        "witness": null,
    });
    match &decision.verdict {
        Verdict::Equivalent { .. } => {}
        Verdict::EquivalentUpToRounding { bound, differ_at, .. } => {
            value["bound"] = json!(bound.to_f64());
            value["bound_exact"] = json!(bound.to_string());
            value["differ_at"] = json!(differ_at.as_deref().map(numbers));
        }
        Verdict::Different { x, a, b, .. } => {
            value["witness"] =
                json!({"x": numbers(x), "a": numbers(a), "b": numbers(b), "x_exact": exact(x)});
        }
        Verdict::Undecided { explored, regions, .. } => {
            value["explored"] = json!(explored);
            value["regions"] = json!(regions);
        }
    }
    value
}

/// The certificate that the moves lead from one network to the other, if they do so exactly.
pub fn certify(a: &Network, b: &Network, moves: &MoveChain, domain: &Domain) -> Option<Certificate> {
    let certificate = Certificate {
        a: NetworkName::of(a),
        b: NetworkName::of(b),
        domain: domain.clone(),
        evidence: Evidence::Moves { a: moves.clone(), b: MoveChain::default() },
    };
    matches!(check(&certificate, a, b), Outcome::Proved(_)).then_some(certificate)
}
