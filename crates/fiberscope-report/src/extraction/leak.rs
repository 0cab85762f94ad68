//! What a model leaks: the same extraction against answers of lower and lower precision.

use std::sync::atomic::{AtomicUsize, Ordering};

use fiberscope::extract::{ExtractOptions, ExtractOutcome, NetworkOracle, Precision, extract};
use fiberscope_core::Network;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::truth::align;
use super::{name as verdict_name, reason};
use crate::Say;
use crate::number::{grouped, significant};

/// One precision of the answers.
#[derive(Clone, Debug, PartialEq)]
pub struct LeakRow {
    /// The precision in words.
    pub precision: String,
    /// Whether the model computes in single precision.
    pub single: bool,
    /// The decimals to which the answers are rounded.
    pub decimals: Option<u32>,
    /// What the extraction found.
    pub outcome: ExtractOutcome,
    /// Why the recovered network cannot be aligned.
    pub not_aligned: Option<String>,
    /// The queries it took.
    pub queries: u64,
    /// How far the outputs of the recovered network are from the answers, at most, on fresh queries.
    pub max_difference: Option<f64>,
    /// The largest relative error of a parameter after alignment, if there is a network that can be aligned.
    pub max_relative_error: Option<f64>,
}

impl LeakRow {
    /// What is missing.
    fn reason(&self) -> Option<&str> {
        reason(&self.outcome).or(self.not_aligned.as_deref())
    }

    /// The decimal digits of the parameters that were recovered.
    pub fn digits(&self) -> Option<f64> {
        // A double has 16 digits: errors below half a unit are shown as those.
        self.max_relative_error.map(|error| -error.max(f64::EPSILON / 2.0).log10())
    }
}

/// The table for a model.
#[derive(Clone, Debug, PartialEq)]
pub struct LeakReport {
    /// The model.
    pub name: String,
    /// Its parameters.
    pub parameters: usize,
    /// The interval of every input.
    pub domain: (f64, f64),
    /// One row per precision.
    pub rows: Vec<LeakRow>,
}

impl LeakReport {
    /// The table for a terminal.
    pub fn to_text(&self) -> String {
        let (lo, hi) = self.domain;
        let mut text = format!(
            "what {} leaks to queries of inputs in [{lo}, {hi}] ({} parameters)\n",
            self.name,
            grouped(self.parameters)
        );
        let width = self.rows.iter().map(|row| row.precision.len()).max().unwrap_or(0).max(7);
        text += &format!(
            "  {:width$}  {:8}  {:>9}  {:>7}  {:>6}\n",
            "answers", "verdict", "queries", "outputs", "digits"
        );
        for row in &self.rows {
            let digits = row.digits().map_or("-".into(), |digits| format!("{digits:.1}"));
            let outputs = row.max_difference.map_or("-".into(), |difference| significant(difference, 2));
            let queries = grouped(row.queries as usize);
            let verdict = verdict_name(&row.outcome);
            let reason = row.reason().map_or(String::new(), |reason| format!("  {reason}"));
            text += &format!(
                "  {:width$}  {verdict:8}  {queries:>9}  {outputs:>7}  {digits:>6}{reason}\n",
                row.precision
            );
        }
        text + "outputs: largest difference between the recovered network and the answers on fresh queries\n\
                digits: of the parameter that came out worst, after alignment\n"
    }

    /// The table with the keys of `fiberscope extract --leak-report --json`.
    pub fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            json!({
                "precision": row.precision,
                "single": row.single,
                "decimals": row.decimals,
                "verdict": verdict_name(&row.outcome),
                "reason": row.reason(),
                "queries": row.queries,
                "max_difference": row.max_difference,
                "max_relative_error": row.max_relative_error,
                "digits": row.digits(),
            })
        });
        json!({
            "oracle": self.name,
            "parameters": self.parameters,
            "domain": [self.domain.0, self.domain.1],
            "leak": rows.collect::<Vec<_>>(),
        })
    }
}

/// What an exposed model may answer with, from the most precise to the least.
const PRECISIONS: [(&str, Precision); 8] = [
    ("double", Precision { single: false, decimals: None }),
    ("12 decimals", Precision { single: false, decimals: Some(12) }),
    ("10 decimals", Precision { single: false, decimals: Some(10) }),
    ("8 decimals", Precision { single: false, decimals: Some(8) }),
    ("float32", Precision { single: true, decimals: None }),
    ("6 decimals", Precision { single: false, decimals: Some(6) }),
    ("4 decimals", Precision { single: false, decimals: Some(4) }),
    ("3 decimals", Precision { single: false, decimals: Some(3) }),
];

/// Extracts a network from answers of every precision, on several threads. `name` is that of the network.
pub fn leak(name: &str, network: &Network, options: &ExtractOptions, say: Say) -> LeakReport {
    let done = AtomicUsize::new(0);
    let rows = PRECISIONS
        .par_iter()
        .map(|&(precision, answers)| {
            let row = row(precision, answers, network, options);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            say(&format!("{done} of {} precisions", PRECISIONS.len()));
            row
        })
        .collect();
    let (parameters, domain) = (network.parameter_count(), options.domain);
    LeakReport { name: name.into(), parameters, domain, rows }
}

/// An extraction from answers of this precision. That nothing can be recovered is what the owner hopes for.
fn row(name: &str, precision: Precision, network: &Network, options: &ExtractOptions) -> LeakRow {
    let mut oracle = NetworkOracle::new(network.clone()).with_precision(precision);
    let mut row = LeakRow {
        precision: name.into(),
        single: precision.single,
        decimals: precision.decimals,
        outcome: ExtractOutcome::Failed { reason: String::new() },
        not_aligned: None,
        queries: 0,
        max_difference: None,
        max_relative_error: None,
    };
    match extract(&mut oracle, options) {
        Err(error) => row.outcome = ExtractOutcome::Failed { reason: error.to_string() },
        Ok(found) => {
            row.queries = found.queries;
            row.max_difference = found.fidelity.as_ref().map(|fidelity| fidelity.max_difference);
            match found.network.as_ref().map(|found| align(network, found)) {
                Some(Ok(aligned)) => row.max_relative_error = Some(aligned.max_relative_error),
                Some(Err(reason)) => row.not_aligned = Some(reason),
                None => {}
            }
            row.outcome = found.outcome;
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_worst_parameter_and_refusals_have_none() {
        let row = |precision: &str, error: Option<f64>, reason: Option<&str>| LeakRow {
            precision: precision.into(),
            single: false,
            decimals: None,
            outcome: match reason {
                Some(reason) => ExtractOutcome::Failed { reason: reason.into() },
                None => ExtractOutcome::Verified,
            },
            not_aligned: None,
            queries: 1500,
            max_difference: error.map(|error| 2.0 * error),
            max_relative_error: error,
        };
        let rows = vec![
            row("double", Some(0.0), None),
            row("6 decimals", Some(1e-4), None),
            row("3 decimals", None, Some("too coarse")),
        ];
        let report = LeakReport { name: "net".into(), parameters: 41, domain: (-1.0, 1.0), rows };
        let text = report.to_text();
        assert!(text.contains("  double      verified      1,500        0    16.0\n"), "{text}");
        assert!(text.contains("  6 decimals  verified      1,500   0.0002     4.0\n"), "{text}");
        assert!(text.contains("  3 decimals  failed        1,500        -       -  too coarse\n"), "{text}");
        let value = report.to_json();
        assert_eq!((&value["leak"][2]["digits"], &value["leak"][1]["digits"]), (&Value::Null, &json!(4.0)));
    }
}
