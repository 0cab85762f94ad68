//! What an extraction found and what it cost: text, JSON and a picture; its log; the comparison with the
//! truth; and what a model leaks.

mod boundaries;
mod labels;
mod leak;
mod leak_page;
mod picture;
mod recorder;
mod text;
mod truth;

use fiberscope::Deadline;
use fiberscope::anatomy::examine;
use fiberscope::extract::{
    Disagreement, ExtractOutcome, ExtractStep, Extraction, Fidelity, KnownLayer, Undetermined,
};
use fiberscope::fiber::Identifiability;
use fiberscope_core::{Domain, Network};
use serde_json::{Value, json};

pub use boundaries::{
    boundary_text, boundary_value, known_layers_value, orientation_text, orientation_value,
};
pub use labels::{LabelSummary, too_many_for_classes};
pub use leak::{LeakCost, LeakReport, LeakRow, leak};
pub use recorder::Recorder;
pub use truth::{Truth, compare};

/// An extraction, the oracle it asked, and what became of it.
#[derive(Clone, Debug)]
pub struct ExtractionSummary {
    /// The oracle.
    pub name: String,
    /// Its inputs and outputs.
    pub sizes: (usize, usize),
    /// The interval of every input.
    pub domain: (f64, f64),
    /// What came out.
    pub found: Extraction,
    /// Queries that the oracle was asked in this run.
    pub asked: u64,
    /// Queries that a log answered.
    pub replayed: u64,
    /// The comparison with the true network.
    pub truth: Option<Truth>,
    /// The file of the recovered network.
    pub output: Option<String>,
    /// The file of queries and answers, if it was kept.
    pub log: Option<String>,
    /// The file of the layers that are known, if there is no network.
    pub known: Option<String>,
    /// Whether the parameters of a verified network are determined by its function, if that was looked into to the end.
    pub identifiability: Option<Identifiability>,
}

/// The verdict in a word.
pub fn name(verdict: &ExtractOutcome) -> &'static str {
    match verdict {
        ExtractOutcome::Verified => "verified",
        ExtractOutcome::Partial { .. } => "partial",
        ExtractOutcome::Failed { .. } => "failed",
    }
}

/// Why the network is not verified.
fn reason(verdict: &ExtractOutcome) -> Option<&str> {
    match verdict {
        ExtractOutcome::Verified => None,
        ExtractOutcome::Partial { reason, .. } | ExtractOutcome::Failed { reason } => Some(reason),
    }
}

/// Where the recovered network disagrees with the oracle.
fn disagreements(verdict: &ExtractOutcome) -> &[Disagreement] {
    match verdict {
        ExtractOutcome::Partial { disagreements, .. } => disagreements,
        ExtractOutcome::Verified | ExtractOutcome::Failed { .. } => &[],
    }
}

/// The layer of a step, if it belongs to one.
pub fn place(layer: usize, step: ExtractStep) -> Option<usize> {
    match step {
        ExtractStep::Noise | ExtractStep::Polish | ExtractStep::Verification => None,
        _ => Some(layer),
    }
}

/// A step and its queries by layer.
type StepQueries = (ExtractStep, Vec<(Option<usize>, u64)>);

/// Every step in the order of its first query, with its queries by layer.
fn steps(spent: &[(usize, ExtractStep, u64)]) -> Vec<StepQueries> {
    let mut steps: Vec<StepQueries> = Vec::new();
    for &(layer, step, queries) in spent.iter().filter(|(_, _, queries)| *queries > 0) {
        let layer = place(layer, step);
        let at = steps.iter().position(|(known, _)| *known == step).unwrap_or(steps.len());
        if at == steps.len() {
            steps.push((step, Vec::new()));
        }
        let layers = &mut steps[at].1;
        match layers.iter_mut().find(|(known, _)| *known == layer) {
            Some((_, sum)) => *sum += queries,
            None => layers.push((layer, queries)),
        }
    }
    steps
}

impl ExtractionSummary {
    /// Looks into whether other parameters than those of a verified network, and not permutations and scalings of them,
    /// have its function, until the deadline.
    pub fn look_into_identifiability(&mut self, deadline: &Deadline) {
        let verified = self.found.outcome == ExtractOutcome::Verified;
        let network = self.found.network.as_ref().filter(|_| verified && !deadline.is_past());
        self.identifiability = network.and_then(|network| {
            let found = examine(network, &Domain::Space, deadline).identifiability;
            let cut_short = matches!(found, Identifiability::Unknown { .. }) && deadline.is_past();
            (!cut_short).then_some(found)
        });
    }

    /// Why other parameters than those of a verified network, and not permutations and scalings of them, have its function, if
    /// that shows in them.
    fn not_identifiable(&self) -> Option<&str> {
        match self.identifiability.as_ref()? {
            Identifiability::No { reason } => Some(reason),
            Identifiability::Yes { .. } | Identifiability::Unknown { .. } => None,
        }
    }

    /// Whether a network is verified of which nobody looked, to the end, whether other parameters have its function.
    fn identifiability_is_open(&self) -> bool {
        self.found.outcome == ExtractOutcome::Verified
            && self.found.network.is_some()
            && self.identifiability.is_none()
    }

    /// What an extraction from the oracle of this name, with so many inputs and outputs, found on a domain.
    pub fn new(found: Extraction, name: String, sizes: (usize, usize), domain: (f64, f64)) -> Self {
        ExtractionSummary {
            name,
            sizes,
            domain,
            found,
            asked: 0,
            replayed: 0,
            truth: None,
            output: None,
            log: None,
            known: None,
            identifiability: None,
        }
    }

    /// The layer if there is one, the step and its queries, in the order they were spent.
    fn spent(&self) -> impl Iterator<Item = (Option<usize>, ExtractStep, u64)> {
        self.found.spent.iter().map(|&(layer, step, queries)| (place(layer, step), step, queries))
    }

    /// What is known without a network, layer by layer.
    fn known_json(&self) -> Value {
        let layer = |(at, layer): (usize, &KnownLayer)| {
            let certainty = self.found.certainty.get(at).copied().unwrap_or_default();
            json!({
                "layer": at + 1,
                "neurons": layer.bias.len(),
                "oriented": layer.oriented,
                "predicted": certainty.predicted,
                "seen": certainty.seen,
            })
        };
        self.found.known.iter().enumerate().map(layer).collect()
    }

    /// The facts with the keys of `fiberscope extract --json`.
    pub fn to_json(&self) -> Value {
        let layers = self.found.layers.iter().enumerate().map(|(at, layer)| {
            json!({"layer": at + 1, "neurons": layer.neurons, "always_active": layer.always_active})
        });
        let spent = self.spent().map(|(layer, step, queries)| {
            json!({"layer": layer.map(|layer| layer + 1), "step": step.name(), "queries": queries})
        });
        let disagreements = disagreements(&self.found.outcome).iter().map(
            |Disagreement { x, oracle, recovered }| json!({"x": x, "oracle": oracle, "recovered": recovered}),
        );
        let mut value = json!({
            "oracle": self.name,
            "verdict": name(&self.found.outcome),
            "reason": reason(&self.found.outcome),
            "widths": self.found.network.as_ref().map(Network::widths),
            "layers": layers.collect::<Vec<_>>(),
            "queries": self.found.queries,
            "asked": self.asked,
            "replayed": self.replayed,
            "spent": spent.collect::<Vec<_>>(),
            "noise": self.found.noise,
            "domain": [self.domain.0, self.domain.1],
            "fidelity": self.found.fidelity.as_ref().map(fidelity_json),
            "remarks": self.found.remarks,
            "disagreements": disagreements.collect::<Vec<_>>(),
            "output": self.output,
            "log": self.log,
            "known": self.known_json(),
            "known_file": self.known,
            "not_identifiable": self.not_identifiable(),
            "identifiability_open": self.identifiability_is_open(),
            "undetermined": self.found.undetermined.iter().map(undetermined_json).collect::<Vec<_>>(),
            "explained": self.found.explained.map(|all| json!({"kinks": all.kinks, "explained": all.explained})),
        });
        if let Some(truth) = &self.truth {
            let aligned = truth.aligned.as_ref().ok();
            value["max_error"] = json!(aligned.map(|aligned| aligned.max_error));
            value["max_relative_error"] = json!(aligned.map(|aligned| aligned.max_relative_error));
            value["layer_errors"] = json!(truth.layer_errors());
            value["not_aligned"] = json!(truth.aligned.as_ref().err());
            value["equiv"] = json!(
                truth.equiv.as_ref().map(|(verdict, bound)| json!({"verdict": verdict, "bound": bound}))
            );
        }
        value
    }
}

fn undetermined_json(open: &Undetermined) -> Value {
    json!({
        "layer": open.layer + 1,
        "always_on": open.always_on,
        "always_off": open.always_off,
        "weights": open.weights,
        "directions": open.directions,
    })
}

fn fidelity_json(found: &Fidelity) -> Value {
    json!({
        "points": found.points,
        "max_difference": found.max_difference,
        "epsilon": found.epsilon,
        "delta": found.delta,
        "lines": found.lines,
        "kinks": found.kinks,
    })
}

/// `2^-48.3`, and `0` for zero.
fn power(error: f64) -> String {
    if error == 0.0 { "0".into() } else { format!("2^{:.1}", error.log2()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use fiberscope::extract::{Comparison, RecoveredLayer};
    use fiberscope_core::{Activation, Layer, Matrix};

    /// A network of these widths.
    fn network(widths: &[usize]) -> Network {
        let layer = |(at, pair): (usize, &[usize])| {
            let activation = if at + 2 == widths.len() { Activation::Identity } else { Activation::Relu };
            Layer::new(Matrix::from_fn(pair[1], pair[0], |_, _| 1.0), vec![0.0; pair[1]], activation)
        };
        Network::new(widths.windows(2).enumerate().map(layer).collect()).unwrap()
    }

    /// An extraction that found nothing.
    pub(crate) fn failed(reason: &str) -> ExtractionSummary {
        let found = Extraction {
            outcome: ExtractOutcome::Failed { reason: reason.into() },
            network: None,
            layers: Vec::new(),
            known: Vec::new(),
            certainty: Vec::new(),
            explained: None,
            undetermined: Vec::new(),
            fidelity: None,
            stopped: false,
            queries: 0,
            spent: Vec::new(),
            noise: 0.0,
            remarks: Vec::new(),
        };
        ExtractionSummary::new(found, String::new(), (0, 0), (0.0, 0.0))
    }

    /// A network aligned with the truth with these errors.
    pub(crate) fn truth(layers: Vec<f64>) -> Truth {
        let (aligned, max_error) = (network(&[1, 1]), layers.iter().copied().fold(0.0, f64::max));
        let aligned = Comparison { aligned, max_error, max_relative_error: 2.0 * max_error, layers };
        Truth { aligned: Ok(aligned), equiv: Some(("equivalent_up_to_rounding", Some(1e-12))) }
    }

    pub(crate) fn summary() -> ExtractionSummary {
        let layer = |neurons, always_active| RecoveredLayer { neurons, always_active };
        let found = Extraction {
            outcome: ExtractOutcome::Verified,
            network: Some(network(&[3, 4, 2, 1])),
            layers: vec![layer(4, 0), layer(2, 1)],
            fidelity: Some(Fidelity {
                points: 1000,
                epsilon: 1e-13,
                delta: 0.003,
                lines: 5,
                kinks: 40,
                ..Fidelity::default()
            }),
            queries: 1234,
            spent: vec![
                (0, ExtractStep::Noise, 20),
                (0, ExtractStep::Lines, 300),
                (0, ExtractStep::Rows, 200),
                (1, ExtractStep::Lines, 100),
                (1, ExtractStep::Rows, 600),
                (1, ExtractStep::Polish, 0),
                (0, ExtractStep::Lines, 34),
            ],
            noise: 1e-16,
            remarks: vec!["neurons that are never active cannot be seen".into()],
            ..failed("").found
        };
        ExtractionSummary {
            replayed: 200,
            truth: Some(truth(vec![2f64.powi(-50), 2f64.powi(-48), 0.0])),
            ..ExtractionSummary::new(found, "net".into(), (3, 1), (-3.0, 3.0))
        }
    }

    /// The words, however the lines are broken.
    fn one_line(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_text_says_what_was_found_and_spent() {
        let text = summary().to_text();
        for expected in [
            "net on [-3, 3]^3",
            "differences above 1e-13 have at most 0.3 %",
            "3-4-2-1",
            "layer 2       2 neurons, 1 of them never seen to switch",
            "1,234 (2^10.27), 200 of them answered by the log",
            "noise 20",
            "lines 334 (layer 1), 100 (layer 2)",
            "largest error of a parameter 2^-48.0",
            "by layer 2^-50.0, 2^-48.0, 0",
            "equivalent up to rounding, the outputs differ by at most 1e-12 on the box: proved",
        ] {
            assert!(one_line(&text).contains(&one_line(expected)), "{expected}\n{text}");
        }
        assert!(!text.contains("polish"));
    }

    #[test]
    fn json_has_the_keys_of_the_contract() {
        let value = summary().to_json();
        for key in [
            "queries",
            "layers",
            "max_relative_error",
            "fidelity",
            "verdict",
            "noise",
            "domain",
            "spent",
            "remarks",
            "disagreements",
            "max_error",
            "equiv",
        ] {
            assert!(!value[key].is_null(), "{key}");
        }
        assert_eq!(value["equiv"]["verdict"], "equivalent_up_to_rounding");
        let without = ExtractionSummary { truth: None, ..summary() }.to_json();
        assert!(without.get("equiv").is_none());
    }

    #[test]
    fn identifiability_that_was_not_looked_into_is_open() {
        let mut summary = summary();
        let open = "which was not looked into to the end";
        assert!(one_line(&summary.to_text()).contains(open));
        assert_eq!(summary.to_json()["identifiability_open"], true);
        summary.look_into_identifiability(&Deadline::after(Some(Duration::ZERO)));
        assert_eq!(summary.identifiability, None);
        summary.look_into_identifiability(&Deadline::NEVER);
        // All neurons are twins.
        let text = one_line(&summary.to_text());
        assert!(text.contains("as a function, not its parameters") && !text.contains(open), "{text}");
        assert_eq!(summary.to_json()["identifiability_open"], false);
        assert!(!failed("no kink was found").to_text().contains(open));
    }

    #[test]
    fn failures_give_their_reason() {
        let text = failed("no kink was found").to_text();
        assert!(text.contains("failed: no kink was found") && text.contains("none"), "{text}");
    }
}
