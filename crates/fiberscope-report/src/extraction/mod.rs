//! What an extraction found and what it cost: text, JSON and a picture; and what a model leaks.

mod found;
mod leak;
mod picture;
mod precision;
mod recorder;
mod truth;

use serde_json::{Value, json};

use crate::number::{grouped, significant, significant_upper};
use crate::text::Lines;
use crate::words;

pub use found::{judge, place, summary};
pub use leak::{LeakReport, LeakRow};
pub use precision::leak;
pub use recorder::Recorder;
pub use truth::compare;

/// An extraction as plain numbers and words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtractionSummary {
    /// The oracle.
    pub name: String,
    /// Its inputs and outputs.
    pub sizes: (usize, usize),
    /// The interval of every input.
    pub domain: (f64, f64),
    /// What came out.
    pub finding: Finding,
    /// Why it is not verified.
    pub reason: Option<String>,
    /// The widths of the recovered network, if there is one.
    pub widths: Option<Vec<usize>>,
    /// Neurons of the recovered hidden layers, and how many of them were never seen to switch.
    pub layers: Vec<(usize, usize)>,
    /// The agreement on fresh queries.
    pub fidelity: Option<Agreement>,
    /// All queries.
    pub queries: u64,
    /// Queries that the oracle was asked in this run.
    pub asked: u64,
    /// Queries that a log answered.
    pub replayed: u64,
    /// Hidden layer from 0 (none where a step is about the whole network), step and queries.
    pub spent: Vec<(Option<usize>, String, u64)>,
    /// The noise of one answer.
    pub noise: f64,
    /// What cannot be known, or was seen on the way.
    pub remarks: Vec<String>,
    /// Inputs on which the two disagree: input, the oracle's answer, the recovered network's.
    pub disagreements: Vec<[Vec<f64>; 3]>,
    /// The comparison with the true network.
    pub truth: Option<Comparison>,
    /// The file of the recovered network.
    pub output: Option<String>,
    /// The file of queries and answers, if it was kept.
    pub log: Option<String>,
}

/// What an extraction found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finding {
    /// A network that agrees on fresh queries.
    Verified,
    /// A network that does not agree everywhere, or its first layers.
    Partial,
    /// Nothing.
    #[default]
    Failed,
}

impl Finding {
    /// The name in texts and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Finding::Verified => "verified",
            Finding::Partial => "partial",
            Finding::Failed => "failed",
        }
    }
}

/// The agreement of oracle and recovered network on fresh queries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Random points.
    pub points: usize,
    /// The largest difference on them.
    pub max_difference: f64,
    /// The difference that was allowed.
    pub epsilon: f64,
    /// With 95 % confidence, larger differences have at most this share of the domain.
    pub delta: f64,
    /// Random lines.
    pub lines: usize,
    /// Kinks on them.
    pub kinks: usize,
}

/// The recovered network against the true one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The largest error of a parameter after alignment.
    pub max_error: Option<f64>,
    /// Why the two cannot be aligned.
    pub not_aligned: Option<String>,
    /// The same, relative to the largest parameter of the layer.
    pub max_relative_error: Option<f64>,
    /// The largest error of every layer, output included.
    pub layer_errors: Vec<f64>,
    /// The verdict of the exact comparison on the domain, and a certified bound of the difference.
    pub equiv: Option<(String, Option<f64>)>,
}

/// A step and its queries by layer.
type Step<'a> = (&'a str, Vec<(Option<usize>, u64)>);

impl ExtractionSummary {
    /// The facts for a terminal.
    pub fn to_text(&self) -> String {
        let (inputs, _) = self.sizes;
        let (lo, hi) = (significant(self.domain.0, 6), significant(self.domain.1, 6));
        let mut out = Lines::titled(&format!("{} on [{lo}, {hi}]^{inputs}", self.name));
        out.fact("verdict", &self.verdict());
        if let Some(widths) = &self.widths {
            let place = self.output.as_ref().map_or(String::new(), |file| format!(", written to {file}"));
            out.fact("network", &format!("{}{place}", words::widths(widths)));
        } else {
            out.fact("network", "none");
        }
        for (layer, (neurons, always)) in self.layers.iter().enumerate() {
            let linear = match always {
                0 => String::new(),
                n => format!(", {n} of them never seen to switch"),
            };
            out.fact(&format!("layer {}", layer + 1), &format!("{} neurons{linear}", grouped(*neurons)));
        }
        let replayed = match self.replayed {
            0 => String::new(),
            n => format!(", {} of them answered by the log", grouped(n as usize)),
        };
        out.fact(
            "queries",
            &format!("{} (2^{:.2}){replayed}", grouped(self.queries as usize), log2(self.queries)),
        );
        for (step, queries) in self.steps() {
            let parts: Vec<_> = queries.iter().map(|&(layer, n)| part(layer, n)).collect();
            out.fact("", &format!("{step} {}", parts.join(", ")));
        }
        out.fact("noise", &format!("{} of an answer at inputs of size 1", significant(self.noise, 2)));
        if let Some(fidelity) = &self.fidelity {
            out.fact("fidelity", &fidelity.to_text());
        }
        if let Some(truth) = &self.truth {
            truth.add_to(&mut out);
        }
        for remark in &self.remarks {
            out.fact("remark", remark);
        }
        for [x, oracle, found] in self.disagreements.iter().take(5) {
            let text = format!("at {}: oracle {}, network {}", vector(x), vector(oracle), vector(found));
            out.fact("disagreement", &text);
        }
        if let Some(more) = self.disagreements.len().checked_sub(5).filter(|more| *more > 0) {
            out.fact("", &format!("and {more} more (--json lists them)"));
        }
        if let Some(log) = &self.log {
            out.fact("query log", log);
        }
        out.finish()
    }

    fn verdict(&self) -> String {
        let reason = self.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        match (self.finding, &self.fidelity) {
            (Finding::Verified, Some(fidelity)) => format!(
                "verified on this domain: with 95 % confidence differences above {} have at most {} % of it",
                significant(fidelity.epsilon, 2),
                significant(100.0 * fidelity.delta, 2)
            ),
            (finding, _) => format!("{}{reason}", finding.name()),
        }
    }

    /// Every step in the order of its first query, with its queries by layer.
    fn steps(&self) -> Vec<Step<'_>> {
        let mut steps: Vec<Step<'_>> = Vec::new();
        for (layer, step, queries) in self.spent.iter().filter(|(_, _, queries)| *queries > 0) {
            let at = steps.iter().position(|(name, _)| name == step).unwrap_or(steps.len());
            if at == steps.len() {
                steps.push((step, Vec::new()));
            }
            let layers = &mut steps[at].1;
            match layers.iter_mut().find(|(known, _)| known == layer) {
                Some((_, sum)) => *sum += queries,
                None => layers.push((*layer, *queries)),
            }
        }
        steps
    }

    /// The facts with the keys of `fiberscope extract --json`.
    pub fn to_json(&self) -> Value {
        let layers = self.layers.iter().enumerate().map(|(layer, (neurons, always))| {
            json!({"layer": layer + 1, "neurons": neurons, "always_active": always})
        });
        let spent = self
            .spent
            .iter()
            .map(|(layer, step, queries)| json!({"layer": layer.map(|layer| layer + 1), "step": step, "queries": queries}));
        let disagreements = self
            .disagreements
            .iter()
            .map(|[x, oracle, found]| json!({"x": x, "oracle": oracle, "recovered": found}));
        let mut value = json!({
            "oracle": self.name,
            "verdict": self.finding.name(),
            "reason": self.reason,
            "widths": self.widths,
            "layers": layers.collect::<Vec<_>>(),
            "queries": self.queries,
            "asked": self.asked,
            "replayed": self.replayed,
            "spent": spent.collect::<Vec<_>>(),
            "noise": self.noise,
            "domain": [self.domain.0, self.domain.1],
            "fidelity": self.fidelity.map(|fidelity| fidelity.to_json()),
            "remarks": self.remarks,
            "disagreements": disagreements.collect::<Vec<_>>(),
            "output": self.output,
            "log": self.log,
        });
        if let Some(truth) = &self.truth {
            value["max_error"] = json!(truth.max_error);
            value["max_relative_error"] = json!(truth.max_relative_error);
            value["layer_errors"] = json!(truth.layer_errors);
            value["not_aligned"] = json!(truth.not_aligned);
            value["equiv"] = json!(
                truth.equiv.as_ref().map(|(verdict, bound)| json!({"verdict": verdict, "bound": bound}))
            );
        }
        value
    }
}

impl Agreement {
    fn to_text(self) -> String {
        format!(
            "{} fresh points differ by at most {}; {} kinks on {} fresh lines",
            grouped(self.points),
            significant(self.max_difference, 2),
            grouped(self.kinks),
            grouped(self.lines)
        )
    }

    fn to_json(self) -> Value {
        json!({
            "points": self.points,
            "max_difference": self.max_difference,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "lines": self.lines,
            "kinks": self.kinks,
        })
    }
}

impl Comparison {
    fn add_to(&self, out: &mut Lines) {
        match self.max_error {
            Some(error) => {
                let relative = self
                    .max_relative_error
                    .map_or(String::new(), |error| format!(", relative to its layer {}", power(error)));
                let layers: Vec<_> = self.layer_errors.iter().map(|&error| power(error)).collect();
                let layers = if layers.is_empty() {
                    String::new()
                } else {
                    format!("; by layer {}", layers.join(", "))
                };
                out.fact(
                    "truth",
                    &format!("largest error of a parameter {}{relative}{layers}", power(error)),
                );
            }
            None => out
                .fact("truth", &format!("not aligned: {}", self.not_aligned.as_deref().unwrap_or_default())),
        }
        if let Some((verdict, bound)) = &self.equiv {
            let bound = bound.map_or(String::new(), |bound| {
                format!(", the outputs differ by at most {}", significant_upper(bound, 3))
            });
            out.fact("equiv", &format!("{}{bound}", verdict.replace('_', " ")));
        }
    }
}

/// `2^-48.3`, and `0` for zero.
fn power(error: f64) -> String {
    if error == 0.0 { "0".into() } else { format!("2^{:.1}", error.log2()) }
}

fn log2(count: u64) -> f64 {
    (count.max(1) as f64).log2()
}

fn part(layer: Option<usize>, queries: u64) -> String {
    let queries = grouped(queries as usize);
    layer.map_or(queries.clone(), |layer| format!("{queries} (layer {})", layer + 1))
}

/// The first entries of a vector.
fn vector(x: &[f64]) -> String {
    let shown: Vec<_> = x.iter().take(4).map(|value| significant(*value, 6)).collect();
    let more = if x.len() > 4 { ", ..." } else { "" };
    format!("({}{more})", shown.join(", "))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn summary() -> ExtractionSummary {
        ExtractionSummary {
            name: "net".into(),
            sizes: (3, 1),
            domain: (-3.0, 3.0),
            finding: Finding::Verified,
            widths: Some(vec![3, 4, 2, 1]),
            layers: vec![(4, 0), (2, 1)],
            fidelity: Some(Agreement {
                points: 1000,
                epsilon: 1e-13,
                delta: 0.003,
                lines: 5,
                kinks: 40,
                ..Agreement::default()
            }),
            queries: 1234,
            replayed: 200,
            spent: vec![
                (None, "noise".into(), 20),
                (Some(0), "lines".into(), 300),
                (Some(0), "rows".into(), 200),
                (Some(1), "lines".into(), 100),
                (Some(1), "rows".into(), 600),
                (None, "polish".into(), 0),
                (Some(0), "lines".into(), 34),
            ],
            noise: 1e-16,
            remarks: vec!["neurons that are never active cannot be seen".into()],
            disagreements: vec![[vec![1.0], vec![2.0], vec![3.0]]],
            truth: Some(Comparison {
                max_error: Some(2f64.powi(-48)),
                not_aligned: None,
                max_relative_error: Some(2f64.powi(-47)),
                layer_errors: vec![2f64.powi(-50), 2f64.powi(-48), 0.0],
                equiv: Some(("equivalent_up_to_rounding".into(), Some(1e-12))),
            }),
            ..ExtractionSummary::default()
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
            "equivalent up to rounding, the outputs differ by at most 1e-12",
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
    fn failures_give_their_reason() {
        let failed =
            ExtractionSummary { reason: Some("no kink was found".into()), ..ExtractionSummary::default() };
        let text = failed.to_text();
        assert!(text.contains("failed: no kink was found") && text.contains("none"), "{text}");
    }
}
