//! Results as JSON values, with the keys of the command's `--json`.

use fiberscope_check::Outcome;
use fiberscope_core::{Anatomy, Certificate, Claim};
use serde_json::{Value, json};

use crate::number::upper_f64;
use crate::words;

/// The anatomy of a network, with the keys of `fiberscope info --json`. What is not decided is `null`;
/// layers and neurons count from 1; `activations` has one entry per layer, the last layer included.
pub fn anatomy(anatomy: &Anatomy) -> Value {
    let neurons = anatomy.roles.iter().enumerate().map(|(layer, roles)| {
        let [dead, linear, nonlinear] = words::role_counts(roles);
        json!({"layer": layer + 1, "dead": dead, "linear": linear, "nonlinear": nonlinear})
    });
    let conditions = anatomy.conditions.iter().map(|condition| {
        let mut value = json!({"condition": condition.statement, "holds": condition.holds});
        if let Some(detail) = &condition.detail {
            value["detail"] = json!(detail);
        }
        value
    });
    let hides =
        anatomy.hidden.iter().map(|neuron| json!({"layer": neuron.layer + 1, "neuron": neuron.unit + 1}));
    let activations = anatomy.relu.iter().map(|&relu| if relu { "relu" } else { "identity" });
    let (identifiable, reason) = words::identifiable(anatomy);
    json!({
        "widths": anatomy.widths,
        "activations": activations.chain(["identity"]).collect::<Vec<_>>(),
        "parameters": anatomy.parameters,
        "sha256": anatomy.digest.to_string(),
        "domain": anatomy.domain,
        "neurons": neurons.collect::<Vec<_>>(),
        "bottleneck": anatomy.bottleneck,
        "generic": {"holds": words::generic(anatomy), "checked": conditions.collect::<Vec<_>>()},
        "hides": hides.collect::<Vec<_>>(),
        "identifiable": identifiable,
        "reason": reason,
        "fiber_dimension": anatomy.fiber.and_then(|facts| facts.dimension),
        "fiber_generic_dimension": anatomy.fiber.and_then(|facts| facts.generic_dimension),
        "fiber_components": anatomy.fiber.and_then(|facts| facts.components),
    })
}

/// What the checker said: `valid`, the `claim` (`null` if it was refused) and the `reason`, and for a claim
/// with a bound the `bound` as a number (rounded up) and `bound_exact` as a fraction.
pub fn outcome(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Proved(claim) => with_claim(true, Some(claim), claim.to_string()),
        Outcome::Refused(refusal) => with_claim(false, None, refusal.to_string()),
    }
}

/// The same as [`outcome`], with the claim of the certificate even if it was refused.
pub fn certificate(certificate: &Certificate, outcome: &Outcome) -> Value {
    let reason = match outcome {
        Outcome::Proved(claim) => claim.to_string(),
        Outcome::Refused(refusal) => refusal.to_string(),
    };
    with_claim(matches!(outcome, Outcome::Proved(_)), Some(&certificate.claim()), reason)
}

fn with_claim(valid: bool, claim: Option<&Claim>, reason: String) -> Value {
    let mut value = json!({"valid": valid, "claim": claim.map(Claim::name), "reason": reason});
    if let Some(Claim::EquivalentUpToRounding { bound }) = claim {
        value["bound"] = json!(upper_f64(bound));
        value["bound_exact"] = json!(bound.to_string());
    }
    value
}
