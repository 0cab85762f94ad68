//! `fiberscope linear`

mod args;
mod inspect;
mod moves;
mod path;
mod sample;
mod strata;
mod walk;

pub use args::LinearArgs;

use std::path::{Path, PathBuf};

use anyhow::Context;
use fiberscope::limit::{Deadline, Limit};
use fiberscope::linear::{LinearNetwork, StratumOptions};
use fiberscope_io::{Assumed, Model, Precision, save};

use crate::Answer;
use crate::args::{Global, ReadArgs};
use crate::output::Output;
use args::{FiberArgs, LinearCommand};

pub fn run(args: &LinearArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    match &args.command {
        LinearCommand::Strata(args) => strata::run(args, global, output),
        LinearCommand::Inspect(args) => inspect::run(args, output),
        LinearCommand::Path(args) => path::run(args, global, output),
        LinearCommand::Move(args) => moves::run(args, output),
        LinearCommand::Sample(args) => sample::run(args, global, output),
        LinearCommand::Walk(args) => walk::run(args, global, output),
    }
}

/// Reads a linear network.
fn read_linear(argument: &str, read: &ReadArgs, output: &Output) -> anyhow::Result<LinearNetwork> {
    let model = super::read_dense_model(argument, &read.options(), output)?;
    LinearNetwork::from_network(&model.network).with_context(|| named(argument, &model))
}

/// A model that may not be linear, as an error names it.
fn named(argument: &str, model: &Model) -> String {
    match model.assumed {
        Some(Assumed { stated: false, .. }) => {
            format!("{argument} (it holds no activations; --activation identity says that it is linear)")
        }
        _ => argument.to_owned(),
    }
}

/// The limits on listing strata that the flags set.
fn stratum_options(args: &FiberArgs, global: &Global) -> StratumOptions {
    StratumOptions::new().strata(args.max_strata).deadline(global.deadline())
}

/// Writes networks as `point-000.json`, `point-001.json`, ... into a folder; returns the names.
fn write_points(folder: &Path, points: &[LinearNetwork]) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut files = Vec::with_capacity(points.len());
    for (at, point) in points.iter().enumerate() {
        let path = folder.join(format!("point-{at:03}.json"));
        save(&point.to_network(), &path, Precision::F64)?;
        files.push(path);
    }
    Ok(files)
}

/// The answer of a command that writes points: undecided if a limit left some out, with a note.
fn all_or_undecided(found: usize, wanted: usize, deadline: &Deadline, output: &Output) -> Answer {
    if found == wanted {
        return Answer::Yes;
    }
    let limit = deadline.limit().unwrap_or(Limit::Time);
    output.note(&format!("{limit} after {found} of {wanted} points"));
    Answer::Undecided
}

fn file_names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}
