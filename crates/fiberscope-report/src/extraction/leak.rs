//! What a model leaks: the same extraction against answers of lower and lower precision.

use std::sync::{Mutex, PoisonError};

use fiberscope::extract::{
    Comparison, ExtractOptions, ExtractOutcome, LabelOracle, NetworkOracle, Oracle, Precision, class_of,
    extract, extract_labels,
};
use fiberscope_core::{Matrix, Network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::labels::too_many_for_classes;
use super::truth::{align, align_labels};
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
    /// Whether outputs are rounded to half precision.
    pub half: bool,
    /// The noise of the answers, as a number of decimals.
    pub noise: Option<u32>,
    /// Whether only the class is answered.
    pub classes: bool,
    /// What the extraction found.
    pub outcome: ExtractOutcome,
    /// Why the recovered network cannot be aligned.
    pub not_aligned: Option<String>,
    /// Whether the answers leave parameters open, as the extraction says.
    pub open: bool,
    /// The hidden layers that were found, rightly or not: neurons, and whether their orientation is known.
    pub layers: Vec<(usize, bool)>,
    /// The queries it took.
    pub queries: u64,
    /// How far the outputs of the recovered network are from the answers, at most, on fresh queries.
    pub max_difference: Option<f64>,
    /// The largest relative error of a parameter after alignment, if there is a network that can be aligned.
    pub max_relative_error: Option<f64>,
    /// What such answers cost those who ask honestly.
    pub cost: Option<LeakCost>,
}

/// What answers cost those who ask honestly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeakCost {
    /// The largest change of an output; nothing where outputs are not answered.
    pub largest: Option<f64>,
    /// The share of inputs whose class changes.
    pub classes: Option<f64>,
}

impl LeakRow {
    /// A result, beside the truth.
    fn add(
        &mut self,
        truth: &Network,
        found: Option<&Network>,
        outcome: ExtractOutcome,
        align: impl Fn(&Network, &Network) -> Result<Comparison, String>,
    ) {
        if let Some(found) = found.filter(|_| outcome == ExtractOutcome::Verified) {
            self.layers = found.hidden_layers().iter().map(|layer| (layer.width(), true)).collect();
        }
        match found.map(|found| align(truth, found)) {
            Some(Ok(aligned)) => self.max_relative_error = Some(aligned.max_relative_error),
            Some(Err(reason)) => self.not_aligned = Some(reason),
            None => {}
        }
        self.outcome = outcome;
    }

    /// The digits that an answer has after the point, as far as that is a number.
    pub fn digits_in(&self) -> Option<f64> {
        let known = self.decimals.or(self.noise).map(f64::from);
        // Half a unit of the last bit of a number of size one.
        known.or(self.single.then_some(7.2)).or(self.half.then_some(3.3)).or((!self.classes).then_some(16.0))
    }

    /// The hidden layers that were found: `10, 8?` for ten neurons and for eight without their orientation.
    pub fn stages(&self) -> String {
        let stage =
            |(neurons, oriented): &(usize, bool)| format!("{neurons}{}", if *oriented { "" } else { "?" });
        let stages: Vec<String> = self.layers.iter().map(stage).collect();
        if stages.is_empty() { "-".into() } else { stages.join(", ") }
    }

    /// What is missing.
    pub(super) fn reason(&self) -> Option<&str> {
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
    /// The widths of its hidden layers.
    pub hidden: Vec<usize>,
    /// The interval of every input.
    pub domain: (f64, f64),
    /// The number of inputs on which the cost was measured.
    pub inputs: usize,
    /// Whether they were given; else they are random ones of the domain.
    pub from_data: bool,
    /// One row per precision.
    pub rows: Vec<LeakRow>,
    /// The precisions whose rows are not finished.
    pub unfinished: Vec<String>,
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
        let stages = self.rows.iter().map(|row| row.stages().len()).max().unwrap_or(0).max(6);
        text += &format!(
            "  {:width$}  {:8}  {:>9}  {:>7}  {:>6}  {:stages$}  {:>7}  {:>7}\n",
            "answers", "verdict", "queries", "outputs", "digits", "layers", "change", "classes"
        );
        for row in &self.rows {
            let digits = row.digits().map_or("-".into(), |digits| format!("{digits:.1}"));
            let outputs = row.max_difference.map_or("-".into(), |difference| significant(difference, 2));
            let queries = grouped(row.queries as usize);
            let verdict = verdict_name(&row.outcome);
            let reason = row.reason().map_or(String::new(), |reason| format!("  {reason}"));
            let change = row.cost.and_then(|cost| cost.largest).map_or("-".into(), |v| significant(v, 2));
            let classes = row.cost.and_then(|cost| cost.classes).map_or("-".into(), percent);
            text += &format!(
                "  {:width$}  {verdict:8}  {queries:>9}  {outputs:>7}  {digits:>6}  {:stages$}  {change:>7}  {classes:>7}{reason}\n",
                row.precision,
                row.stages()
            );
        }
        text += "outputs: largest difference between the recovered network and the answers on fresh queries\n\
                 digits: of the parameter that came out worst, after alignment\n\
                 layers: neurons that were found of the hidden layers, which are not all right where the verdict is not verified; ? where their orientation is not known\n";
        text += &format!("change, classes: what the answers cost, {}\n", self.measured());
        if !self.unfinished.is_empty() {
            text += &format!("not finished: {}\n", self.unfinished.join(", "));
        }
        text
    }

    /// On what the cost was measured.
    pub(super) fn measured(&self) -> String {
        let kind = if self.from_data { "inputs of the data" } else { "random inputs" };
        format!(
            "the largest change of an output and the share of inputs whose class changes, on {} {kind}",
            grouped(self.inputs)
        )
    }

    /// The table with the keys of `fiberscope extract --leak-report --json`.
    pub fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let layers = row
                .layers
                .iter()
                .map(|(neurons, oriented)| json!({"neurons": neurons, "oriented": oriented}));
            json!({
                "precision": row.precision,
                "single": row.single,
                "decimals": row.decimals,
                "half": row.half,
                "noise_decimals": row.noise,
                "classes_only": row.classes,
                "verdict": verdict_name(&row.outcome),
                "reason": row.reason(),
                "queries": row.queries,
                "max_difference": row.max_difference,
                "max_relative_error": row.max_relative_error,
                "digits": row.digits(),
                "open": row.open,
                "layers": layers.collect::<Vec<_>>(),
                "largest_change": row.cost.and_then(|cost| cost.largest),
                "classes_changed": row.cost.and_then(|cost| cost.classes),
            })
        });
        json!({
            "oracle": self.name,
            "parameters": self.parameters,
            "domain": [self.domain.0, self.domain.1],
            "hidden": self.hidden,
            "inputs": self.inputs,
            "from_data": self.from_data,
            "leak": rows.collect::<Vec<_>>(),
            "unfinished": self.unfinished,
        })
    }
}

/// A share as it stands in the table.
pub(super) fn percent(share: f64) -> String {
    if share == 0.0 { "0 %".into() } else { format!("{} %", significant(100.0 * share, 2)) }
}

/// What an exposed model may answer with.
#[derive(Clone, Copy)]
enum Answers {
    /// Outputs of this precision.
    Outputs(Precision),
    /// The class only.
    Classes,
}

/// All of them: plain, rounded from fine to coarse, in floating point of lower precision, with noise, and classes.
fn all_answers() -> Vec<(String, Answers)> {
    let plain = Precision::default();
    let mut all = vec![("double".to_owned(), plain)];
    all.extend(
        [12, 10, 8, 7, 6, 5, 4, 3]
            .map(|n| (format!("{n} decimals"), Precision { decimals: Some(n), ..plain })),
    );
    all.push(("float32".into(), Precision { single: true, ..plain }));
    all.push(("float16".into(), Precision { half: true, ..plain }));
    all.extend([9, 6, 3].map(|n| (format!("noise 1e-{n}"), Precision { noise: Some(n), ..plain })));
    let mut all: Vec<(String, Answers)> =
        all.into_iter().map(|(name, precision)| (name, Answers::Outputs(precision))).collect();
    all.push(("class only".into(), Answers::Classes));
    all
}

/// Random inputs on which the cost of answers is measured where no data are given.
const POINTS: usize = 4_000;

/// Extracts a network from answers of every precision, on several threads. `name` is that of the network; what
/// the answers cost is measured on `data`, or else on random inputs of the domain. `so_far` is given the table after
/// every row: a limit may end the work within one.
pub fn leak(
    name: &str,
    network: &Network,
    options: &ExtractOptions,
    data: Option<&Matrix>,
    say: Say,
    so_far: &(dyn Fn(&LeakReport) + Sync),
) -> LeakReport {
    let all = all_answers();
    let inputs = data.cloned().unwrap_or_else(|| random_inputs(network.input_width(), options));
    let report = |rows: &[Option<LeakRow>]| LeakReport {
        name: name.into(),
        parameters: network.parameter_count(),
        hidden: network.hidden_layers().iter().map(fiberscope_core::Layer::width).collect(),
        domain: options.domain,
        inputs: inputs.rows(),
        from_data: data.is_some(),
        rows: rows.iter().flatten().cloned().collect(),
        unfinished: rows
            .iter()
            .zip(&all)
            .filter(|(row, _)| row.is_none())
            .map(|(_, (precision, _))| precision.clone())
            .collect(),
    };
    let rows: Mutex<Vec<Option<LeakRow>>> = Mutex::new(vec![None; all.len()]);
    all.par_iter().enumerate().for_each(|(place, (precision, answers))| {
        let mut row = match answers {
            Answers::Outputs(given) => row(precision, *given, network, options),
            Answers::Classes => class_row(precision, network, options),
        };
        row.cost = cost(network, *answers, &inputs);
        let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows[place] = Some(row);
        so_far(&report(&rows));
        say(&format!("{} of {} precisions", rows.iter().flatten().count(), all.len()));
    });
    report(&rows.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn random_inputs(width: usize, options: &ExtractOptions) -> Matrix {
    let (lo, hi) = options.domain;
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    Matrix::from_fn(POINTS, width, |_, _| if lo < hi { rng.random_range(lo..hi) } else { lo })
}

/// What honest users lose.
fn cost(network: &Network, answers: Answers, inputs: &Matrix) -> Option<LeakCost> {
    let Answers::Outputs(precision) = answers else {
        return Some(LeakCost { largest: None, classes: Some(0.0) });
    };
    let exact = network.evaluate_batch(inputs).ok()?;
    let given = NetworkOracle::new(network.clone()).with_precision(precision).query(inputs).ok()?;
    let change = |(a, b): (&f64, &f64)| (a - b).abs();
    let largest = exact.entries().iter().zip(given.entries()).map(change).fold(0.0, f64::max);
    let pairs = || exact.iter_rows().zip(given.iter_rows());
    let changed = pairs().filter(|(a, b)| class_of(a) != class_of(b)).count();
    let classes = (inputs.rows() > 0).then(|| changed as f64 / inputs.rows() as f64);
    Some(LeakCost { largest: Some(largest), classes })
}

fn empty(name: &str, precision: Precision) -> LeakRow {
    LeakRow {
        precision: name.into(),
        single: precision.single,
        decimals: precision.decimals,
        half: precision.half,
        noise: precision.noise,
        classes: false,
        outcome: ExtractOutcome::Failed { reason: String::new() },
        not_aligned: None,
        open: false,
        layers: Vec::new(),
        queries: 0,
        max_difference: None,
        max_relative_error: None,
        cost: None,
    }
}

/// An extraction from answers of this precision. That nothing can be recovered is what the owner hopes for.
fn row(name: &str, precision: Precision, network: &Network, options: &ExtractOptions) -> LeakRow {
    let mut oracle = NetworkOracle::new(network.clone()).with_precision(precision);
    let mut row = empty(name, precision);
    match extract(&mut oracle, options) {
        Err(error) => row.outcome = ExtractOutcome::Failed { reason: error.to_string() },
        Ok(found) => {
            row.queries = found.queries;
            row.max_difference = found.fidelity.as_ref().map(|fidelity| fidelity.max_difference);
            row.open = !found.undetermined.is_empty();
            row.layers = found.known.iter().map(|layer| (layer.bias.len(), layer.oriented)).collect();
            row.add(network, found.network.as_ref(), found.outcome, align);
        }
    }
    row
}

/// An extraction from classes.
fn class_row(name: &str, network: &Network, options: &ExtractOptions) -> LeakRow {
    let mut oracle = LabelOracle::new(NetworkOracle::new(network.clone()));
    let mut row = LeakRow { classes: true, ..empty(name, Precision::default()) };
    if let Some(reason) = too_many_for_classes((network.input_width(), network.output_width())) {
        row.outcome = ExtractOutcome::Failed { reason };
        return row;
    }
    match extract_labels(&mut oracle, Some(network.output_width()), options) {
        Err(error) => row.outcome = ExtractOutcome::Failed { reason: error.to_string() },
        Ok(found) => {
            row.queries = found.queries;
            row.open = !found.open.is_empty();
            row.layers = found.known.iter().map(|layer| (layer.bias.len(), layer.oriented)).collect();
            row.add(network, found.network.as_ref(), found.outcome, align_labels);
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
            outcome: match reason {
                Some(reason) => ExtractOutcome::Failed { reason: reason.into() },
                None => ExtractOutcome::Verified,
            },
            queries: 1500,
            layers: reason.map_or(vec![(4, true)], |_| vec![(3, false)]),
            max_difference: error.map(|error| 2.0 * error),
            max_relative_error: error,
            cost: Some(LeakCost { largest: Some(0.5), classes: Some(0.025) }),
            ..empty(precision, Precision::default())
        };
        let rows = vec![
            row("double", Some(0.0), None),
            row("6 decimals", Some(1e-4), None),
            row("3 decimals", None, Some("too coarse")),
        ];
        let report = LeakReport {
            name: "net".into(),
            parameters: 41,
            hidden: vec![4],
            domain: (-1.0, 1.0),
            inputs: 40,
            from_data: true,
            rows,
            unfinished: vec!["class only".into()],
        };
        let text = report.to_text();
        assert!(
            text.contains("  double      verified      1,500        0    16.0  4           0.5    2.5 %\n"),
            "{text}"
        );
        assert!(
            text.contains("  6 decimals  verified      1,500   0.0002     4.0  4           0.5    2.5 %\n"),
            "{text}"
        );
        assert!(
            text.contains(
                "  3 decimals  failed        1,500        -       -  3?          0.5    2.5 %  too coarse\n"
            ),
            "{text}"
        );
        assert!(text.ends_with("\nnot finished: class only\n"), "{text}");
        assert_eq!(report.to_json()["unfinished"], json!(["class only"]));
        let html = report.to_html(&crate::reading::HowRead::default());
        for expected in [
            "3 neurons found, 4 in truth, orientation unknown",
            "too coarse",
            "2.5 %",
            "on 40 inputs of the data",
        ] {
            assert!(html.contains(expected), "{expected}");
        }
        let value = report.to_json();
        assert_eq!((&value["leak"][2]["digits"], &value["leak"][1]["digits"]), (&Value::Null, &json!(4.0)));
    }

    #[test]
    fn every_finished_row_is_handed_over_at_once() {
        let network =
            Network::from_rows(&[(&[&[1.0, 0.5], &[-1.0, 2.0]], &[0.1, 0.2]), (&[&[1.0, -1.0]], &[0.0])])
                .expect("the widths chain");
        let seen = Mutex::new(Vec::new());
        let so_far = |report: &LeakReport| {
            let finished: Vec<String> = report.rows.iter().map(|row| row.precision.clone()).collect();
            seen.lock().expect("no thread fails").push((finished, report.unfinished.clone()));
        };
        let options = ExtractOptions::new().max_queries(1_000);
        let report = leak("net", &network, &options, None, &|_| {}, &so_far);
        let all: Vec<String> = all_answers().into_iter().map(|(precision, _)| precision).collect();
        let seen = seen.into_inner().expect("no thread fails");
        for (count, (finished, unfinished)) in seen.iter().enumerate() {
            assert_eq!((finished.len(), unfinished.len()), (count + 1, all.len() - count - 1));
            assert!(all.iter().all(|name| finished.contains(name) != unfinished.contains(name)));
        }
        assert_eq!(seen.len(), all.len());
        assert!(report.unfinished.is_empty() && report.rows.len() == all.len());
    }
}
