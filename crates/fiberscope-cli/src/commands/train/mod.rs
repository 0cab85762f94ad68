//! `fiberscope train`

mod args;
mod files;

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::bail;
use fiberscope::train::{Event, Record, Run, TrackOptions, TrainState, train};
use fiberscope_io::{Precision, save};
use fiberscope_report::draw::trajectory::{ScatterChart, Trajectory, TrajectoryChart};
use fiberscope_report::files::write_tables;
use serde_json::{Value, json};

pub use args::TrainArgs;
use args::{PrecisionName, Settings};

use crate::Answer;
use crate::args::Global;
use crate::output::{Output, write_picture};

pub fn run(args: &TrainArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let file = args.config.as_deref().map(Settings::read).transpose()?.unwrap_or_default();
    let settings = args.settings.clone().over(file);
    let (inputs, targets) = settings.samples()?;
    let options = settings.options(&inputs, &targets)?;
    settings.oddities(&inputs, &targets).iter().for_each(|text| output.note(text));
    let track = TrackOptions {
        every: settings.every.unwrap_or(50),
        dimension: !settings.no_dimension,
        checkpoint: settings.checkpoint.unwrap_or(500),
        deadline: global.deadline(),
    };
    let folder = files::Folder::open(&args.output, &settings, &options, args.resume)?;
    let seeds = global.seed..global.seed + settings.seeds.unwrap_or(1).max(1);
    let starts = seeds
        .map(|seed| Ok(folder.state(seed)?.ok_or(seed)))
        .collect::<anyhow::Result<Vec<Result<TrainState, u64>>>>()?;
    let single = settings.precision.unwrap_or(PrecisionName::F32) == PrecisionName::F32;
    let precision = if single { Precision::F32 } else { Precision::F64 };
    let total = options.epochs * starts.len() as u64;
    let done = AtomicU64::new(0);
    let shown: &Output = output;
    let on = |event: Event| -> anyhow::Result<()> {
        match event {
            Event::Record(record) => {
                let step = if record.epoch == 0 { 0 } else { track.every };
                let epochs = done.fetch_add(step, Ordering::Relaxed) + step;
                let part = 100 * epochs.min(total) / total.max(1);
                let (seed, rank) = (record.seed, record.rank);
                shown.progress(&format!(
                    "{part} % of {total} epochs; seed {seed}: loss {:.2e}, dimension {rank}",
                    record.loss
                ));
                Ok(())
            }
            Event::Checkpoint(state) => folder.store(state, precision),
            Event::Diverged { seed, epoch } => {
                shown.end_progress();
                shown.note(&format!("seed {seed}: the loss is not finite in epoch {epoch}; this seed stops, its last finite state is kept"));
                Ok(())
            }
        }
    };
    let runs = if single {
        train::<f32, anyhow::Error>(&options, &track, &inputs, &targets, &starts, &on)?
    } else {
        train::<f64, anyhow::Error>(&options, &track, &inputs, &targets, &starts, &on)?
    };
    output.end_progress();
    // What was trained is written before an error of one seed is reported.
    let (runs, errors): (Vec<_>, Vec<_>) = runs.into_iter().partition(Result::is_ok);
    let runs: Vec<Run> = runs.into_iter().flatten().collect();
    let written =
        if runs.is_empty() { Vec::new() } else { write_results(&folder, &runs, precision, track.dimension)? };
    if let Some(error) = errors.into_iter().find_map(Result::err) {
        return Err(error);
    }
    output.result(&text(&runs, &written, track.dimension), &value(&runs, &written))?;
    let late = runs.iter().any(|run| !run.finished && run.state.diverged.is_none());
    Ok(match () {
        () if late => Answer::Undecided,
        () if runs.iter().all(|run| run.state.diverged.is_some()) => Answer::No,
        () => Answer::Yes,
    })
}

fn write_results(
    folder: &files::Folder,
    runs: &[Run],
    precision: Precision,
    dimension: bool,
) -> anyhow::Result<Vec<String>> {
    let mut written = Vec::new();
    for run in runs {
        let path = folder.path(&format!("seed-{:04}.safetensors", run.state.seed));
        save(&run.network, &path, precision)?;
        written.push(path.display().to_string());
    }
    let records: Vec<Record> = runs.iter().flat_map(|run| run.state.records.clone()).collect();
    written.extend(write_tables(&folder.path("trajectory"), &records)?);
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
            let path = folder.path(&format!("{name}.{ending}"));
            write_picture(&path, &drawing)?;
            written.push(path.display().to_string());
        }
    }
    Ok(written)
}

fn chart(runs: &[Run], title: &str, y_label: &str, value: impl Fn(&Record) -> f64) -> TrajectoryChart {
    let line = |run: &Run| run.state.records.iter().map(|r| (r.epoch as f64, value(r))).collect();
    let name = format!("mean of {} seed(s), band of one standard error", runs.len());
    TrajectoryChart {
        title: title.into(),
        x_label: "epoch".into(),
        y_label: y_label.into(),
        trajectories: vec![Trajectory::of_runs(name, runs.iter().map(line).collect())],
    }
}

fn scatter(records: &[Record]) -> ScatterChart {
    let points: Vec<(f64, f64)> = records.iter().map(|r| (r.regions as f64, r.rank as f64)).collect();
    ScatterChart {
        title: "Functional dimension and regions".into(),
        x_label: "regions sampled".into(),
        y_label: "functional dimension".into(),
        groups: vec![("one point per record".into(), points)],
    }
}

fn text(runs: &[Run], written: &[String], dimension: bool) -> String {
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

fn value(runs: &[Run], written: &[String]) -> Value {
    let run = |run: &Run| json!({"seed": run.state.seed, "finished": run.finished, "diverged": run.state.diverged, "last": run.state.records.last()});
    json!({"files": written, "runs": runs.iter().map(run).collect::<Vec<_>>()})
}

/// Reads the settings of a resumed training and complains if they are of another one.
fn check_same(stored: &Settings, now: &Settings, place: &str) -> anyhow::Result<()> {
    let comparable =
        |settings: &Settings| Settings { epochs: None, seeds: None, checkpoint: None, ..settings.clone() };
    if comparable(stored) != comparable(now) {
        bail!("{place}: the folder holds a training with other settings; use them, or another --output");
    }
    Ok(())
}
