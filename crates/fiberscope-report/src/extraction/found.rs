//! Extraction: its log, its summary, the comparison with the truth, and what a model leaks.

use crate::extraction::{Agreement, ExtractionSummary, Finding};
use fiberscope::extract::{Disagreement, Extraction, Step, Verdict};
use fiberscope_core::Network;

/// What an extraction from the oracle of this name, with so many inputs and outputs, found on a domain.
pub fn summary(
    found: &Extraction,
    name: String,
    sizes: (usize, usize),
    domain: (f64, f64),
) -> ExtractionSummary {
    let (finding, reason, disagreements) = judge(&found.verdict);
    ExtractionSummary {
        name,
        sizes,
        domain,
        finding,
        reason,
        widths: found.network.as_ref().map(Network::widths),
        layers: found.layers.iter().map(|layer| (layer.neurons, layer.always_active)).collect(),
        fidelity: found.fidelity.as_ref().map(|fidelity| Agreement {
            points: fidelity.points,
            max_difference: fidelity.max_difference,
            epsilon: fidelity.epsilon,
            delta: fidelity.delta,
            lines: fidelity.lines,
            kinks: fidelity.kinks,
        }),
        queries: found.queries,
        spent: found
            .spent
            .iter()
            .map(|&(layer, step, n)| (place(layer, step), step.to_string(), n))
            .collect(),
        noise: found.noise,
        remarks: found.remarks.clone(),
        disagreements: disagreements
            .iter()
            .map(|Disagreement { x, oracle, recovered }| [x.clone(), oracle.clone(), recovered.clone()])
            .collect(),
        ..ExtractionSummary::default()
    }
}

/// The layer of a step, if it belongs to one.
pub fn place(layer: usize, step: Step) -> Option<usize> {
    match step {
        Step::Noise | Step::Polish | Step::Verification => None,
        _ => Some(layer),
    }
}

/// The verdict, what is missing, and where the network disagrees.
pub fn judge(verdict: &Verdict) -> (Finding, Option<String>, &[Disagreement]) {
    match verdict {
        Verdict::Verified => (Finding::Verified, None, &[]),
        Verdict::Partial { reason, disagreements } => (Finding::Partial, Some(reason.clone()), disagreements),
        Verdict::Failed { reason } => (Finding::Failed, Some(reason.clone()), &[]),
    }
}
