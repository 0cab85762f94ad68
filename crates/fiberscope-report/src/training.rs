//! Trainings: the last records as text and JSON, charts, and the files of a folder.

use std::path::Path;

use fiberscope::train::{TrainRecord, TrainRun};
use fiberscope_io::table::{Table, Values};
use fiberscope_io::{Precision, save, write_atomically};
use serde_json::{Value, json};

use crate::draw::trajectory::{ScatterChart, Trajectory, TrajectoryChart};
use crate::files::write_picture;

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
    for (name, drawing) in charts
        .iter()
        .map(|(name, chart)| (*name, chart.draw()))
        .chain(dimension.then(|| ("correlation", scatter(&records).draw())))
    {
        for ending in ["svg", "png"] {
            let path = folder.join(format!("{name}.{ending}"));
            write_picture(&path, &drawing)?;
            written.push(path.display().to_string());
        }
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
    let mut text = "  seed  epochs        loss     score  dimension  float32  regions\n".to_owned();
    for run in runs {
        let Some(last) = run.state.records.last() else { continue };
        text += &format!("{:6}  {:6}  {:10.3e}  {:8.4}", last.seed, last.epoch, last.loss, last.score);
        if dimension {
            text += &format!("  {:9}  {:7}  {:7}", last.rank, last.rank_float32, last.regions);
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
    columns.into_iter().fold(Table::new(), add)
}

/// Writes the records as CSV and Parquet: `stem.csv`, `stem.parquet`.
pub fn write_tables(stem: &Path, records: &[TrainRecord]) -> anyhow::Result<Vec<String>> {
    let table = records_table(records);
    let (csv, parquet) = (stem.with_extension("csv"), stem.with_extension("parquet"));
    write_atomically(&csv, |file| table.write_csv(file))?;
    write_atomically(&parquet, |file| table.write_parquet(file))?;
    Ok(vec![csv.display().to_string(), parquet.display().to_string()])
}
