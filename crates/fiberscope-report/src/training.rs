//! Trainings: the last records as text and JSON, charts, and the files of a folder.

use std::path::Path;

use fiberscope::train::{StratumRecord, TrainRecord, TrainRun};
use fiberscope_io::table::{Table, Values};
use fiberscope_io::{Precision, save, write_atomically};
use serde_json::{Value, json};

use crate::Svg;
use crate::draw::trajectory::{ScatterChart, Trajectory, TrajectoryChart};
use crate::files::write_pictures;
use crate::linear::StratumTimeline;
use crate::number::{significant, significant_lower, significant_upper};

/// Writes networks, records and charts into a folder; returns the names of the files.
pub fn write_results(
    folder: &Path,
    runs: &[TrainRun],
    precision: Precision,
    dimension: bool,
) -> anyhow::Result<Vec<String>> {
    let mut written = Vec::new();
    for run in runs {
        let path = folder.join(format!("seed-{:04}.safetensors", run.state.seed));
        save(&run.network, &path, precision)?;
        written.push(path.display().to_string());
    }
    let records: Vec<TrainRecord> = runs.iter().flat_map(|run| run.state.records.clone()).collect();
    written.extend(write_tables(&folder.join("trajectory"), &records)?);
    let mut charts = vec![("loss", chart(runs, "Training loss", "log10 of the loss", |r| r.loss.log10()))];
    if dimension {
        let title = "Functional dimension during training";
        charts.push(("dimension", chart(runs, title, "functional dimension", |r| r.rank as f64)));
        charts.push(("regions", chart(runs, "Regions sampled", "regions", |r| r.regions as f64)));
    }
    let mut drawings: Vec<(&str, Svg)> = charts.iter().map(|(name, chart)| (*name, chart.draw())).collect();
    if dimension {
        drawings.push(("correlation", scatter(&records).draw()));
    }
    let by_run: Vec<Vec<TrainRecord>> = runs.iter().map(|run| run.state.records.clone()).collect();
    if let Some(timeline) = StratumTimeline::of(&by_run) {
        drawings.push(("strata", timeline.draw()));
        drawings.push(("distances", distances(&by_run).draw()));
    }
    for (name, drawing) in drawings {
        written.extend(write_pictures(folder, name, &drawing)?);
    }
    Ok(written)
}

fn chart(
    runs: &[TrainRun],
    title: &str,
    y_label: &str,
    value: impl Fn(&TrainRecord) -> f64,
) -> TrajectoryChart {
    let line = |run: &TrainRun| run.state.records.iter().map(|r| (r.epoch as f64, value(r))).collect();
    let name = format!("mean of {} seed(s), band of one standard error", runs.len());
    TrajectoryChart {
        title: title.into(),
        x_label: "epoch".into(),
        y_label: y_label.into(),
        trajectories: vec![Trajectory::of_runs(name, runs.iter().map(line).collect())],
    }
}

/// The distances of the weights to the stratum that is named, and from there to the next ones below.
fn distances(runs: &[Vec<TrainRecord>]) -> TrajectoryChart {
    let lines = |value: fn(&StratumRecord) -> Option<f64>| -> Vec<Vec<(f64, f64)>> {
        let at = |record: &TrainRecord| {
            let size = record.stratum.as_ref().and_then(value).filter(|size| *size > 0.0);
            (record.epoch as f64, size.map_or(f64::NAN, f64::log10))
        };
        runs.iter().map(|run| run.iter().map(at).collect()).collect()
    };
    TrajectoryChart {
        title: "Distances to strata during training".into(),
        x_label: "epoch".into(),
        y_label: "log10 of the distance of weights".into(),
        trajectories: vec![
            Trajectory::of_runs("to the next stratum below, at most", lines(|record| record.below_upper)),
            Trajectory::of_runs("at least", lines(|record| record.below_lower)),
            Trajectory::of_runs("to the stratum named, at most", lines(|record| Some(record.offset))),
        ],
    }
}

fn scatter(records: &[TrainRecord]) -> ScatterChart {
    let points: Vec<(f64, f64)> = records.iter().map(|r| (r.regions as f64, r.rank as f64)).collect();
    ScatterChart {
        title: "Functional dimension and regions".into(),
        x_label: "regions sampled".into(),
        y_label: "functional dimension".into(),
        groups: vec![("one point per record".into(), points)],
    }
}

/// The last record of every run, for a terminal.
pub fn text(runs: &[TrainRun], written: &[String], dimension: bool) -> String {
    let strata = runs.iter().any(|run| run.state.records.iter().any(|record| record.stratum.is_some()));
    let mut text = "  seed  epochs        loss     score".to_owned();
    text += if dimension { "  dimension  float32  regions" } else { "" };
    text += if strata { "  stratum" } else { "" };
    text.push('\n');
    for run in runs {
        let Some(last) = run.state.records.last() else { continue };
        text += &format!(
            "{:6}  {:6}  {:>10}  {:8.4}",
            last.seed,
            last.epoch,
            significant(last.loss, 4),
            last.score
        );
        if dimension {
            text += &format!("  {:9}  {:7}  {:7}", last.rank, last.rank_float32, last.regions);
        }
        if let Some(stratum) = &last.stratum {
            let below = stratum.below_upper.map_or(String::new(), |upper| {
                let lower = stratum.below_lower.unwrap_or(0.0);
                format!(
                    ", the next one below is {} to {} away",
                    significant_lower(lower, 3),
                    significant_upper(upper, 3)
                )
            });
            text += &format!(
                "  {} (rank {}, dim {}) within {}{below}",
                stratum.name,
                stratum.product_rank,
                stratum.dimension,
                significant_upper(stratum.offset, 2)
            );
        }
        if let Some(epoch) = run.state.diverged {
            text += &format!("  diverged in epoch {epoch}");
        }
        text.push('\n');
    }
    text + &format!("wrote {} files: {} ...\n", written.len(), written.first().map_or("none", String::as_str))
}

/// The same with the keys of `fiberscope train --json`.
pub fn value(runs: &[TrainRun], written: &[String]) -> Value {
    let run = |run: &TrainRun| json!({"seed": run.state.seed, "finished": run.finished, "diverged": run.state.diverged, "last": run.state.records.last()});
    json!({"files": written, "runs": runs.iter().map(run).collect::<Vec<_>>()})
}

/// The records as a table.
fn records_table(records: &[TrainRecord]) -> Table {
    let integers =
        |f: &dyn Fn(&TrainRecord) -> u64| Values::Integers(records.iter().map(|r| f(r) as i64).collect());
    let numbers = |f: &dyn Fn(&TrainRecord) -> f64| Values::Numbers(records.iter().map(f).collect());
    let columns = [
        ("seed", integers(&|r| r.seed)),
        ("epoch", integers(&|r| r.epoch)),
        ("loss", numbers(&|r| r.loss)),
        ("score", numbers(&|r| r.score)),
        ("rank", integers(&|r| r.rank as u64)),
        ("rank_upper", integers(&|r| r.rank_upper as u64)),
        ("rank_float32", integers(&|r| r.rank_float32 as u64)),
        ("regions", integers(&|r| r.regions as u64)),
        ("switching", integers(&|r| r.switching as u64)),
        ("active", integers(&|r| r.active as u64)),
        ("inactive", integers(&|r| r.inactive as u64)),
        ("drift", numbers(&|r| r.drift)),
    ];
    let add = |table: Table, (name, values): (&str, Values)| {
        table.column(name, values).expect("one entry per record")
    };
    let table = columns.into_iter().fold(Table::new(), add);
    strata_columns(records).into_iter().fold(table, |table, (name, values)| add(table, (&name, values)))
}

/// The columns of linear networks: every rank, the dimension of the stratum and the distances. None if a
/// record lacks its stratum.
fn strata_columns(records: &[TrainRecord]) -> Vec<(String, Values)> {
    let Some(strata) = records.iter().map(|r| r.stratum.as_ref()).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let integers =
        |f: &dyn Fn(&StratumRecord) -> usize| Values::Integers(strata.iter().map(|s| f(s) as i64).collect());
    let numbers = |f: &dyn Fn(&StratumRecord) -> f64| Values::Numbers(strata.iter().map(|s| f(s)).collect());
    let depth = strata.first().map_or(0, |stratum| stratum.ranks.len());
    let pairs = (1..=depth).flat_map(|k| (0..k).map(move |i| (k, i)));
    let rank = |(k, i): (usize, usize)| (format!("r_{k}_{i}"), integers(&|s| s.ranks[k - 1][i]));
    let mut columns: Vec<(String, Values)> = pairs.map(rank).collect();
    columns.push(("stratum_dim".into(), integers(&|s| s.dimension as usize)));
    columns.push(("stratum_offset".into(), numbers(&|s| s.offset)));
    columns.push(("below_lower".into(), numbers(&|s| s.below_lower.unwrap_or(f64::NAN))));
    columns.push(("below_upper".into(), numbers(&|s| s.below_upper.unwrap_or(f64::NAN))));
    columns
}

/// Writes the records as CSV and Parquet: `stem.csv`, `stem.parquet`.
pub fn write_tables(stem: &Path, records: &[TrainRecord]) -> anyhow::Result<Vec<String>> {
    let table = records_table(records);
    let (csv, parquet) = (stem.with_extension("csv"), stem.with_extension("parquet"));
    write_atomically(&csv, |file| table.write_csv(file))?;
    write_atomically(&parquet, |file| table.write_parquet(file))?;
    Ok(vec![csv.display().to_string(), parquet.display().to_string()])
}
