//! What a model leaks, against the precision of its answers.

use serde_json::{Value, json};

use super::Finding;
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
    pub finding: Finding,
    /// Why it is not verified.
    pub reason: Option<String>,
    /// The queries it took.
    pub queries: u64,
    /// How far the outputs of the recovered network are from the answers, at most, on fresh queries.
    pub max_difference: Option<f64>,
    /// The largest relative error of a parameter after alignment, if there is a network that can be aligned.
    pub max_relative_error: Option<f64>,
}

impl LeakRow {
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
            let verdict = row.finding.name();
            let reason = row.reason.as_ref().map_or(String::new(), |reason| format!("  {reason}"));
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
                "verdict": row.finding.name(),
                "reason": row.reason,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_worst_parameter_and_refusals_have_none() {
        let row = |precision: &str, error: Option<f64>, reason: Option<&str>| LeakRow {
            precision: precision.into(),
            single: false,
            decimals: None,
            finding: if error.is_some() { Finding::Verified } else { Finding::Failed },
            reason: reason.map(str::to_owned),
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
