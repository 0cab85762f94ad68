//! Trainings: the last records as text and JSON, charts, what happened along every run, and the files of a
//! folder.

mod dynamics;
mod picture;

pub use dynamics::{Change, Dynamics, Event, Moment};

use std::collections::BTreeMap;
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

/// The most runs whose course is told one by one.
const LISTED: usize = 8;
/// The most runs of a training that get a picture of their own.
const PICTURES: usize = 16;

/// Of some seeds: the steps of trainings of the same length, and the largest drift at their ends.
pub type DriftsBySeed = BTreeMap<u64, Vec<(f64, f64)>>;

/// What happened along a run.
pub fn dynamics(run: &TrainRun, drifts: &DriftsBySeed) -> Dynamics {
    let title = format!("Training, seed {}", run.state.seed);
    let found = Dynamics::of_records(title, run.network.parameter_count(), &run.state.records);
    Dynamics { drifts: drifts.get(&run.state.seed).cloned().unwrap_or_default(), ..found }
}

/// Writes networks, records and charts into a folder; returns the names of the files.
pub fn write_results(
    folder: &Path,
    runs: &[TrainRun],
    precision: Precision,
    dimension: bool,
    drifts: &DriftsBySeed,
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
    let all: Vec<(u64, Dynamics)> = runs.iter().map(|run| (run.state.seed, dynamics(run, drifts))).collect();
    for (seed, found) in all.iter().take(PICTURES) {
        if let Some(drawing) = found.draw() {
            written.extend(write_pictures(folder, &format!("dynamics-{seed:04}"), &drawing)?);
        }
    }
    for (name, table) in [("events.csv", events_table(&all)), ("conserved.csv", conserved_table(&all))] {
        let path = folder.join(name);
        write_atomically(&path, |file| table.write_csv(file))?;
        written.push(path.display().to_string());
    }
    Ok(written)
}

/// Every change of a neuron's state (0 dead, 1 nonlinear, 2 linear on the data), and of the functional dimension
/// (layer and neuron 0).
fn events_table(runs: &[(u64, Dynamics)]) -> Table {
    let events: Vec<(u64, Event)> =
        runs.iter().flat_map(|(seed, run)| run.events().into_iter().map(|event| (*seed, event))).collect();
    let integers =
        |f: &dyn Fn(&(u64, Event)) -> u64| Values::Integers(events.iter().map(|e| f(e) as i64).collect());
    let place = |event: &Event| match event.change {
        Change::Neuron(layer, unit, ..) => (layer as u64 + 1, unit as u64 + 1),
        Change::Dimension(..) => (0, 0),
    };
    let code = |sign: char| match sign {
        '0' => 0,
        '+' => 2,
        _ => 1,
    };
    let values = |event: &Event| match event.change {
        Change::Neuron(_, _, old, new) => (code(old), code(new)),
        Change::Dimension(old, new) => (old as u64, new as u64),
    };
    table([
        ("seed", integers(&|(seed, _)| *seed)),
        ("after", integers(&|(_, event)| event.after)),
        ("until", integers(&|(_, event)| event.until)),
        ("layer", integers(&|(_, event)| place(event).0)),
        ("neuron", integers(&|(_, event)| place(event).1)),
        ("before", integers(&|(_, event)| values(event).0)),
        ("now", integers(&|(_, event)| values(event).1)),
    ])
}

/// The change of every conserved quantity at every record.
fn conserved_table(runs: &[(u64, Dynamics)]) -> Table {
    let mut rows: Vec<([u64; 4], f64)> = Vec::new();
    for (seed, run) in runs {
        for moment in &run.moments {
            for (layer, changes) in (1..).zip(&moment.changes) {
                rows.extend(
                    (1..).zip(changes).map(|(unit, &change)| ([*seed, moment.at, layer, unit], change)),
                );
            }
        }
    }
    let integers = |at: usize| Values::Integers(rows.iter().map(|(place, _)| place[at] as i64).collect());
    table([
        ("seed", integers(0)),
        ("epoch", integers(1)),
        ("layer", integers(2)),
        ("neuron", integers(3)),
        ("change", Values::Numbers(rows.iter().map(|(_, change)| *change).collect())),
    ])
}

/// A table of columns of the same length.
fn table<const N: usize>(columns: [(&str, Values); N]) -> Table {
    let add =
        |table: Table, (name, values): (&str, Values)| table.column(name, values).expect("one entry per row");
    columns.into_iter().fold(Table::new(), add)
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
pub fn text(runs: &[TrainRun], written: &[String], dimension: bool, drifts: &DriftsBySeed) -> String {
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
    for run in runs.iter().take(LISTED) {
        let words = dynamics(run, drifts).to_text();
        if !words.is_empty() {
            text += &format!("seed {}:\n{words}", run.state.seed);
        }
    }
    if runs.len() > LISTED {
        text += &format!(
            "what happened along the other {} runs: events.csv, conserved.csv\n",
            runs.len() - LISTED
        );
    }
    text + &format!("wrote {} files: {} ...\n", written.len(), written.first().map_or("none", String::as_str))
}

/// The same with the keys of `fiberscope train --json`.
pub fn value(runs: &[TrainRun], written: &[String], drifts: &DriftsBySeed) -> Value {
    let run = |run: &TrainRun| json!({"seed": run.state.seed, "finished": run.finished, "diverged": run.state.diverged, "last": run.state.records.last(), "dynamics": dynamics(run, drifts).to_json()});
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
    let add = |table: Table, (name, values): (String, Values)| {
        table.column(&name, values).expect("one entry per record")
    };
    strata_columns(records).into_iter().fold(table(columns), add)
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
