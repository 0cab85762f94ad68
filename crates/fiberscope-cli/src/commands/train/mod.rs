//! `fiberscope train`

mod args;
mod files;

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail};
use fiberscope::limit::Deadline;
use fiberscope::train::{TrackOptions, TrainError, TrainEvent, TrainOptions, TrainRun, TrainStart, train};
use fiberscope_core::Matrix;
use fiberscope_io::Precision;
use fiberscope_report::number::significant;
use fiberscope_report::training::{DriftsBySeed, text, value, write_results};

pub use args::{InitName, PrecisionName, Settings, TrainArgs};

use crate::Answer;
use crate::args::Global;
use crate::output::Output;

pub fn run(args: &TrainArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let file = args.config.as_deref().map(Settings::read).transpose()?.unwrap_or_default();
    let settings = args.settings.clone().over(file);
    let (inputs, targets) = settings.samples()?;
    let options = settings.options(&inputs, &targets)?;
    settings.oddities(&inputs, &targets).iter().for_each(|text| output.note(text));
    let track = TrackOptions::new()
        .every(settings.every.unwrap_or(50))
        .dimension(!settings.no_dimension)
        .strata(settings.strata()?)
        .checkpoint(settings.checkpoint.unwrap_or(500))
        .deadline(global.deadline());
    let folder = files::Folder::open(&args.output, &settings, &options, args.resume)?;
    let seeds = global.seed..global.seed + settings.seeds.unwrap_or(1).max(1);
    let starts = seeds
        .map(|seed| Ok(folder.state(seed)?.map_or(TrainStart::Seed(seed), TrainStart::State)))
        .collect::<anyhow::Result<Vec<TrainStart>>>()?;
    let single = settings.precision.unwrap_or(PrecisionName::F32) == PrecisionName::F32;
    let precision = if single { Precision::F32 } else { Precision::F64 };
    let total = options.epochs * starts.len() as u64;
    let done = AtomicU64::new(0);
    let shown: &Output = output;
    let on = |event: TrainEvent| -> anyhow::Result<()> {
        match event {
            TrainEvent::Record(record) => {
                let step = if record.epoch == 0 { 0 } else { track.every };
                let epochs = done.fetch_add(step, Ordering::Relaxed) + step;
                let part = 100 * epochs.min(total) / total.max(1);
                let state = record.stratum.as_ref().map(|stratum| format!(", stratum {}", stratum.name));
                let state = state.unwrap_or_else(|| format!(", dimension {}", record.rank));
                shown.progress(&format!(
                    "{part} % of {total} epochs; seed {}: loss {}{state}",
                    record.seed,
                    significant(record.loss, 3)
                ));
                Ok(())
            }
            TrainEvent::Checkpoint(state) => folder.store(state, precision),
            TrainEvent::Diverged { seed, epoch } => {
                shown.end_progress();
                shown.note(&format!("seed {seed}: the loss is not finite in epoch {epoch}; this seed stops, its last finite state is kept"));
                Ok(())
            }
        }
    };
    let told = track.clone().listener(&on);
    let runs = if single {
        train::<f32, anyhow::Error>(&options, &told, &inputs, &targets, &starts)?
    } else {
        train::<f64, anyhow::Error>(&options, &told, &inputs, &targets, &starts)?
    };
    output.end_progress();
    // What was trained is written before an error of one seed is reported.
    let (runs, errors): (Vec<_>, Vec<_>) = runs.into_iter().partition(Result::is_ok);
    let runs: Vec<TrainRun> = runs.into_iter().flatten().collect();
    let late = runs.iter().any(|run| !run.finished && run.state.diverged.is_none());
    let kept = match late {
        true => format!("the checkpoints in {} are kept; --resume goes on with them", args.output.display()),
        false => String::new(),
    };
    let drifts = halved(&settings, &options, (&inputs, &targets), single, &runs, &track.deadline)?;
    // Known before the pictures are drawn, which may take longer than a limit allows.
    if late {
        output.know(kept.clone());
    }
    let written = if runs.is_empty() {
        Vec::new()
    } else {
        write_results(&args.output, &runs, precision, track.dimension, &drifts)?
    };
    if let Some(error) = errors.into_iter().find_map(Result::err) {
        return Err(error);
    }
    let ending = if late { format!("{kept}\n") } else { String::new() };
    let text = text(&runs, &written, track.dimension, &drifts);
    output.result(&(text + &ending), &value(&runs, &written, &drifts))?;
    Ok(match () {
        () if late => Answer::Undecided,
        () if runs.iter().all(|run| run.state.diverged.is_some()) => Answer::No,
        () => Answer::Yes,
    })
}

/// The drifts of the finished runs and of trainings of the same length with half the rate, and so on as often as
/// is wanted. Trainings that diverge or meet a limit are left out.
fn halved(
    settings: &Settings,
    options: &TrainOptions,
    (inputs, targets): (&Matrix, &Matrix),
    single: bool,
    runs: &[TrainRun],
    deadline: &Deadline,
) -> anyhow::Result<DriftsBySeed> {
    let mut drifts = DriftsBySeed::new();
    let wanted = settings.halvings.unwrap_or(0);
    let last = |run: &TrainRun| run.state.records.last().filter(|_| run.finished).map(|record| record.drift);
    for run in runs.iter().filter(|_| wanted > 0) {
        drifts.extend(last(run).map(|drift| (run.state.seed, vec![(options.rate, drift)])));
    }
    for halving in 1..=wanted {
        let factor = 1u64 << halving;
        let epochs = options.epochs.checked_mul(factor).context("--halvings: too many epochs")?;
        let finer = options.clone().rate(options.rate / factor as f64).epochs(epochs);
        let track = TrackOptions::new().deadline(deadline.clone());
        let starts: Vec<TrainStart> = drifts.keys().copied().map(TrainStart::Seed).collect();
        let trained = match single {
            true => train::<f32, TrainError>(&finer, &track, inputs, targets, &starts)?,
            false => train::<f64, TrainError>(&finer, &track, inputs, targets, &starts)?,
        };
        for run in trained.into_iter().flatten() {
            if let (Some(drift), Some(own)) = (last(&run), drifts.get_mut(&run.state.seed)) {
                own.push((finer.rate, drift));
            }
        }
    }
    Ok(drifts)
}

/// Reads the settings of a resumed training and complains if they are of another one.
fn check_same(stored: &Settings, now: &Settings, place: &str) -> anyhow::Result<()> {
    let comparable = |settings: &Settings| Settings {
        epochs: None,
        seeds: None,
        checkpoint: None,
        halvings: None,
        ..settings.clone()
    };
    if comparable(stored) != comparable(now) {
        bail!("{place}: the folder holds a training with other settings; use them, or another -o");
    }
    Ok(())
}
