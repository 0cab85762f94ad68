//! An extraction from classes alone, as text and JSON.

use fiberscope::extract::{Comparison, LabelExtraction};
use fiberscope_core::Network;
use serde_json::{Value, json};

use super::text::{queries_text, spent_text};
use super::truth::align_labels;
use super::{name, place, power, reason};
use crate::number::{grouped, significant};
use crate::text::Lines;
use crate::words;

/// The most unknowns of an output layer of the inputs alone: the equations for them are solved as one dense system.
const MOST_UNKNOWNS: usize = 1_500;

/// Why networks of so many inputs and outputs are not extracted from classes, if they are not.
pub fn too_many_for_classes((inputs, outputs): (usize, usize)) -> Option<String> {
    let unknowns = (inputs + 1).saturating_mul(outputs.max(2) - 1);
    (unknowns > MOST_UNKNOWNS).then(|| {
        format!(
            "{} inputs and {} outputs are too many for classes: expected at most {} for (inputs + 1) (outputs - 1), found {}",
            grouped(inputs),
            grouped(outputs),
            grouped(MOST_UNKNOWNS),
            grouped(unknowns)
        )
    })
}

/// An extraction from classes, the oracle it asked, and what became of it.
#[derive(Clone, Debug)]
pub struct LabelSummary {
    /// The oracle.
    pub name: String,
    /// Its inputs and outputs.
    pub sizes: (usize, usize),
    /// The interval of every input.
    pub domain: (f64, f64),
    /// What came out.
    pub found: LabelExtraction,
    /// Queries that the oracle was asked in this run.
    pub asked: u64,
    /// Queries that a log answered.
    pub replayed: u64,
    /// The errors of the parameters, up to what classes leave open, or why there are none.
    pub truth: Option<Result<Comparison, String>>,
    /// The file of the recovered network.
    pub output: Option<String>,
    /// The file of queries and answers, if it was kept.
    pub log: Option<String>,
}

impl LabelSummary {
    /// What an extraction from the oracle of this name found on a domain.
    pub fn new(found: LabelExtraction, name: String, sizes: (usize, usize), domain: (f64, f64)) -> Self {
        LabelSummary {
            name,
            sizes,
            domain,
            found,
            asked: 0,
            replayed: 0,
            truth: None,
            output: None,
            log: None,
        }
    }

    /// Compares with the true network, if there is one, and a network was found.
    pub fn compare(&mut self, truth: Option<&Network>) {
        let pair = truth.zip(self.found.network.as_ref());
        self.truth = pair.map(|(truth, found)| align_labels(truth, found));
    }

    /// The facts for a terminal.
    pub fn to_text(&self) -> String {
        let (lo, hi) = (significant(self.domain.0, 6), significant(self.domain.1, 6));
        let mut out = Lines::titled(&format!("classes of {} on [{lo}, {hi}]^{}", self.name, self.sizes.0));
        let found = &self.found;
        out.fact("verdict", &self.verdict());
        match &found.network {
            Some(network) => {
                let place = self.output.as_ref().map_or(String::new(), |file| format!(", written to {file}"));
                out.fact("network", &format!("{}{place}", words::widths(&network.widths())));
            }
            None => out.fact("network", "none"),
        }
        for (at, layer) in found.known.iter().enumerate() {
            let state = if layer.oriented {
                "weights, biases and orientation"
            } else {
                "weights and biases up to sign; some neurons may be missing"
            };
            let neurons = grouped(layer.bias.len());
            out.fact(
                &format!("found {}", at + 1),
                &format!("{neurons} neurons of hidden layer {}: {state}", at + 1),
            );
        }
        for open in &found.open {
            out.fact("open", open);
        }
        out.fact("queries", &queries_text(found.queries, self.replayed));
        for line in spent_text(&found.spent) {
            out.fact("", &line);
        }
        if let Some(agreed) = &found.agreement {
            out.fact(
                "agreement",
                &format!(
                    "{} fresh points; {} changes of class on {} fresh lines, looked for within {}",
                    grouped(agreed.points),
                    grouped(agreed.changes),
                    grouped(agreed.lines),
                    significant(agreed.within, 2)
                ),
            );
        }
        match &self.truth {
            Some(Ok(aligned)) => {
                let layers: Vec<String> = aligned.layers.iter().map(|&error| power(error)).collect();
                let (all, layers) = (power(aligned.max_error), layers.join(", "));
                out.fact("truth", &format!("largest error of a parameter {all}; by layer {layers}"));
            }
            Some(Err(reason)) => out.fact("truth", &format!("not aligned: {reason}")),
            None => {}
        }
        for remark in &found.remarks {
            out.fact("remark", remark);
        }
        if let Some(log) = &self.log {
            out.fact("query log", log);
        }
        out.finish()
    }

    fn verdict(&self) -> String {
        match (reason(&self.found.outcome), &self.found.agreement) {
            (None, Some(agreed)) => format!(
                "verified on this domain{}: with 95 % confidence the class differs on at most {} % of it",
                if self.found.open.is_empty() { "" } else { " by its classes, not its parameters" },
                significant(100.0 * agreed.delta, 2)
            ),
            (said, _) => {
                format!(
                    "{}{}",
                    name(&self.found.outcome),
                    said.map_or(String::new(), |said| format!(": {said}"))
                )
            }
        }
    }

    /// The facts with the keys of `fiberscope extract --labels --json`.
    pub fn to_json(&self) -> Value {
        let found = &self.found;
        let spent = found.spent.iter().map(|&(layer, step, queries)| {
            json!({"layer": place(layer, step).map(|layer| layer + 1), "step": step.name(), "queries": queries})
        });
        let known = found.known.iter().enumerate().map(
            |(at, layer)| json!({"layer": at + 1, "neurons": layer.bias.len(), "oriented": layer.oriented}),
        );
        let aligned = self.truth.as_ref().and_then(|truth| truth.as_ref().ok());
        let mut value = json!({
            "oracle": self.name,
            "labels": true,
            "verdict": name(&found.outcome),
            "reason": reason(&found.outcome),
            "widths": found.network.as_ref().map(Network::widths),
            "classes": found.classes,
            "queries": found.queries,
            "asked": self.asked,
            "replayed": self.replayed,
            "spent": spent.collect::<Vec<_>>(),
            "domain": [self.domain.0, self.domain.1],
            "agreement": found.agreement.as_ref().map(|agreed| json!({
                "points": agreed.points,
                "delta": agreed.delta,
                "lines": agreed.lines,
                "changes": agreed.changes,
                "within": agreed.within,
            })),
            "open": found.open,
            "remarks": found.remarks,
            "known": known.collect::<Vec<_>>(),
            "output": self.output,
            "log": self.log,
        });
        if let Some(truth) = &self.truth {
            value["max_error"] = json!(aligned.map(|aligned| aligned.max_error));
            value["layer_errors"] = json!(aligned.map(|aligned| &aligned.layers));
            value["not_aligned"] = json!(truth.as_ref().err());
        }
        value
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use fiberscope::extract::{ExtractOutcome, LabelAgreement};

    use super::*;

    fn summary(outcome: ExtractOutcome, open: Vec<String>) -> LabelSummary {
        let found = LabelExtraction {
            outcome,
            network: None,
            known: Vec::new(),
            agreement: Some(LabelAgreement { points: 300, delta: 0.01, lines: 12, changes: 7, within: 3e-8 }),
            open,
            classes: vec![0, 2],
            stopped: false,
            queries: 5000,
            spent: Vec::new(),
            remarks: Vec::new(),
        };
        LabelSummary::new(found, "net".into(), (3, 4), (-3.0, 3.0))
    }

    #[test]
    fn sizes_beyond_the_dense_system_are_refused() {
        assert_eq!(too_many_for_classes((64, 10)), None);
        assert_eq!(too_many_for_classes((784, 1)), None);
        assert!(too_many_for_classes((784, 10)).unwrap().contains("found 7,065"));
    }

    #[test]
    fn the_verdict_says_what_it_is_a_verdict_on() {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let plain = summary(ExtractOutcome::Verified, Vec::new());
        let said = one_line(&plain.to_text());
        assert!(
            said.contains(
                "verified on this domain: with 95 % confidence the class differs on at most 1 % of it"
            ),
            "{said}"
        );
        assert!(said.contains("7 changes of class on 12 fresh lines, looked for within 3e-8"), "{said}");
        let open = summary(ExtractOutcome::Verified, vec!["nothing is known of class 1".into()]);
        let said = one_line(&open.to_text());
        assert!(
            said.contains("by its classes, not its parameters") && said.contains("open nothing is known"),
            "{said}"
        );
        let failed = summary(ExtractOutcome::Failed { reason: "one class only".into() }, Vec::new());
        assert!(failed.to_text().contains("failed: one class only"));
        assert_eq!(
            (&plain.to_json()["classes"], &plain.to_json()["verdict"]),
            (&json!([0, 2]), &json!("verified"))
        );
    }
}
