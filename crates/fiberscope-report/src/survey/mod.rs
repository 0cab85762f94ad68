//! Surveys: statistics as text and JSON, tables, charts, and the folder in which a survey goes on where it was
//! left.

mod chart;
mod folder;

use fiberscope::fiber::volume;
use fiberscope::survey::{Measure, Plan, Row};
use serde_json::{Map, Value, json};

pub use folder::{Surveyed, carry_out, write_complete};

use crate::number::grouped;
use crate::words::joined;

/// The most different values of a histogram; more are put together in intervals of equal length.
const VALUES: usize = 64;

/// What was found of one measure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Networks for which it was decided.
    pub decided: usize,
    /// Networks for which it was not.
    pub undecided: usize,
    /// The mean over those for which it was decided, and its standard error.
    pub mean: Option<(f64, f64)>,
    /// The least and the largest value.
    pub range: Option<(f64, f64)>,
    /// Intervals `[low, high]` and how many values lie in them; single values where `low = high`.
    pub histogram: Vec<(f64, f64, usize)>,
}

impl Statistics {
    /// The statistics of numbers, those that were not decided among them.
    pub fn of(values: &[Option<f64>]) -> Self {
        let mut known: Vec<f64> = values.iter().flatten().copied().collect();
        known.sort_by(f64::total_cmp);
        let (Some(&least), Some(&most)) = (known.first(), known.last()) else {
            return Statistics { undecided: values.len(), ..Statistics::default() };
        };
        let n = known.len() as f64;
        let mean = known.iter().sum::<f64>() / n;
        let variance = known.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0).max(1.0);
        let runs: Vec<(f64, f64, usize)> =
            known.chunk_by(|a, b| a == b).map(|run| (run[0], run[0], run.len())).collect();
        Statistics {
            decided: known.len(),
            undecided: values.len() - known.len(),
            mean: Some((mean, (variance / n).sqrt())),
            range: Some((least, most)),
            histogram: if runs.len() <= VALUES { runs } else { intervals(&known) },
        }
    }

    fn to_json(&self) -> Value {
        let bins = self.histogram.iter().map(|(low, high, count)| match low == high {
            true => json!({"value": low, "count": count}),
            false => json!({"low": low, "high": high, "count": count}),
        });
        json!({
            "mean": self.mean.map(|(mean, _)| mean),
            "standard_error": self.mean.map(|(_, error)| error),
            "min": self.range.map(|(least, _)| least),
            "max": self.range.map(|(_, most)| most),
            "histogram": bins.collect::<Vec<_>>(),
            "decided": self.decided,
            "undecided": self.undecided,
        })
    }
}

/// Sorted numbers in intervals of equal length.
fn intervals(known: &[f64]) -> Vec<(f64, f64, usize)> {
    let (least, most) = (known[0], known[known.len() - 1]);
    let end = |i: usize| least + (most - least) * i as f64 / VALUES as f64;
    let place = |x: f64| (((x - least) / (most - least) * VALUES as f64) as usize).min(VALUES - 1);
    let mut bins: Vec<(f64, f64, usize)> = (0..VALUES).map(|i| (end(i), end(i + 1), 0)).collect();
    known.iter().for_each(|&x| bins[place(x)].2 += 1);
    bins
}

/// The statistics of the measures of a plan.
pub fn statistics(plan: &Plan, rows: &[&Row]) -> Vec<(Measure, Statistics)> {
    let column = |at: usize| rows.iter().map(|row| row.values[at]).collect::<Vec<_>>();
    plan.measures.iter().enumerate().map(|(at, &measure)| (measure, Statistics::of(&column(at)))).collect()
}

/// The exact fraction of identifiable parameters, where a formula is known: both initialisations are symmetric under
/// changes of sign, as it asks for, unless biases are zero.
fn expected(plan: &Plan, axis: usize, measure: Measure) -> Option<f64> {
    let symmetric = !plan.no_bias && plan.interval.is_none() && measure == Measure::Identifiable;
    if !symmetric {
        return None;
    }
    volume(&plan.widths[axis]).ok().map(|found| found.exact.to_f64())
}

/// The statistics with the keys of `fiberscope survey --json`: `measures` over all networks, `axes` for each list of
/// widths.
pub fn value(plan: &Plan, found: &Surveyed) -> Value {
    let object = |rows: &[&Row], axis: Option<usize>| {
        let mut all = Map::new();
        for (measure, statistics) in statistics(plan, rows) {
            let mut value = statistics.to_json();
            if let Some(exact) = axis.and_then(|axis| expected(plan, axis, measure)) {
                value["exact"] = json!(exact);
            }
            all.insert(measure.name().into(), value);
        }
        Value::Object(all)
    };
    let all: Vec<&Row> = found.rows.iter().flatten().collect();
    let only = (plan.widths.len() == 1).then_some(0);
    let axes = plan.widths.iter().zip(&found.rows).enumerate().map(|(axis, (widths, rows))| {
        let rows: Vec<&Row> = rows.iter().collect();
        json!({"widths": widths, "networks": rows.len(), "measures": object(&rows, Some(axis))})
    });
    json!({
        "plan": plan,
        "complete": found.complete,
        "networks": all.len(),
        "resumed": found.resumed,
        "measures": object(&all, only),
        "axes": axes.collect::<Vec<_>>(),
        "files": found.files,
    })
}

/// The statistics for a terminal.
pub fn text(plan: &Plan, found: &Surveyed) -> String {
    let mut text = String::new();
    for (axis, (widths, rows)) in plan.widths.iter().zip(&found.rows).enumerate() {
        let rows: Vec<&Row> = rows.iter().collect();
        text += &format!("widths {}: {} networks\n", joined(widths, "-"), grouped(rows.len()));
        text += "  measure                      mean    error      min      max  undecided\n";
        for (measure, found) in statistics(plan, &rows) {
            let name = measure.name();
            text += &match (found.mean, found.range) {
                (Some((mean, error)), Some((least, most))) => format!(
                    "  {name:22} {mean:>10.6} {error:>8.1e} {least:>8} {most:>8} {:>10}",
                    grouped(found.undecided)
                ),
                _ => format!("  {name:22} not decided for any of {}", grouped(found.undecided)),
            };
            if let Some(exact) = expected(plan, axis, measure) {
                text += &format!("  (exact fraction {exact:.6})");
            }
            text.push('\n');
        }
    }
    if !found.complete {
        text += "not complete: a limit was reached; the same command goes on from here\n";
    }
    text + &format!(
        "wrote {} files: {} ...\n",
        found.files.len(),
        found.files.first().map_or("none", String::as_str)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecided_networks_do_not_count_in_means() {
        let found = Statistics::of(&[Some(1.0), None, Some(0.0), Some(1.0), Some(0.0)]);
        assert_eq!((found.decided, found.undecided), (4, 1));
        assert_eq!(found.mean.unwrap().0, 0.5);
        assert_eq!(found.histogram, [(0.0, 0.0, 2), (1.0, 1.0, 2)]);
        let none = Statistics::of(&[None, None]);
        assert_eq!((none.mean, none.undecided), (None, 2));
    }

    #[test]
    fn many_values_are_put_together_and_none_is_lost() {
        let values: Vec<Option<f64>> = (0..1000).map(|i| Some(f64::from(i))).collect();
        let found = Statistics::of(&values);
        assert_eq!(found.histogram.len(), VALUES);
        assert_eq!(found.histogram.iter().map(|bin| bin.2).sum::<usize>(), 1000);
        assert_eq!(found.range, Some((0.0, 999.0)));
    }
}
