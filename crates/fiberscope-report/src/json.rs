//! Results as JSON values, with the keys of the command's `--json`.

use fiberscope_check::{Checked, Outcome, Question};
use fiberscope_core::{Anatomy, Certificate, Claim, Rational, decimal};
use serde_json::{Value, json};

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

/// The certificate and what the checker said of it, with the keys of `fiberscope check --json`, where nothing else was asked.
pub fn certificate(certificate: &Certificate, outcome: &Outcome) -> Value {
    told(Some(certificate), outcome, &Question::default())
}

/// The keys of `fiberscope check --json`. `valid` is whether the certificate proves what was asked (`null` if it was not checked in
/// time) and `holds` whether it proves its own claim; `claim`, `domain`, `bound` (rounded up, with `bound_exact`, the fraction) and `kind` are
/// those of the certificate, `null` where it was not read.
pub fn checked(checked: &Checked, question: &Question) -> Value {
    told(checked.head.as_ref(), &checked.outcome, question)
}

fn told(head: Option<&Certificate>, outcome: &Outcome, question: &Question) -> Value {
    let shortfall = head.and_then(|head| Some((head, question.shortfall(head)?)));
    let (holds, valid, reason) = match outcome {
        Outcome::Proved(claim) => match shortfall {
            None => (Some(true), Some(true), claim.to_string()),
            Some((head, gap)) => (Some(true), Some(false), words::shortfall(head, question, gap)),
        },
        Outcome::Refused(refusal) => (Some(false), Some(false), refusal.to_string()),
        Outcome::Stopped => (None, None, words::STOPPED.into()),
    };
    let claim = head.map(Certificate::claim);
    let mut value = json!({
        "valid": valid,
        "holds": holds,
        "claim": claim.as_ref().map(Claim::name),
        "domain": head.map(|head| &head.domain),
        "bound": null,
        "kind": head.map(|head| head.evidence.kind()),
        "reason": reason,
    });
    if let Some(Claim::ParametersAgree { relative }) = &claim {
        value["relative"] = upper(relative);
        value["relative_exact"] = json!(relative.to_string());
    }
    if let Some(bound) = claim.as_ref().and_then(Claim::bound) {
        value["bound"] = upper(bound);
        value["bound_exact"] = json!(bound.to_string());
    }
    value
}

/// An upper bound as a number that is not below it, or as a decimal text where no double is close: beyond their range, and below the least one.
pub fn upper(x: &Rational) -> Value {
    match decimal::fits_f64(x) {
        Some(_) if decimal::upper_f64(x).is_finite() => json!(decimal::upper_f64(x)),
        _ => json!(decimal::upper(x)),
    }
}

/// A lower bound, likewise.
pub fn lower(x: &Rational) -> Value {
    match decimal::fits_f64(x) {
        Some(_) if decimal::lower_f64(x).is_finite() => json!(decimal::lower_f64(x)),
        _ => json!(decimal::lower(x)),
    }
}

/// A number as the nearest double, or as a decimal text where no double is close.
pub fn number(x: &Rational) -> Value {
    decimal::fits_f64(x).map_or_else(|| json!(decimal::nearest(x, 17)), |x| json!(x))
}
