//! `fiberscope linear`

mod args;
mod export;
mod inspect;
mod moves;
mod path;
mod sample;
mod strata;
mod walk;

pub use args::LinearArgs;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use fiberscope::linear::{Bar, Barcode, LinearError, LinearNetwork, Stratum, StratumLimits, Tolerance};
use fiberscope_core::Matrix;
use fiberscope_io::{Precision, ReadOptions, save};
use serde_json::{Value, json};

use crate::Answer;
use crate::args::Global;
use crate::output::Output;
use args::{FiberArgs, LinearCommand};

pub fn run(args: &LinearArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let answer = match &args.command {
        LinearCommand::Strata(args) => strata::run(args, global, output),
        LinearCommand::Inspect(args) => inspect::run(args, output),
        LinearCommand::Path(args) => path::run(args, output),
        LinearCommand::Move(args) => moves::run(args, output),
        LinearCommand::Sample(args) => sample::run(args, global, output),
        LinearCommand::Walk(args) => walk::run(args, global, output),
    };
    match answer {
        Err(error) if matches!(error.downcast_ref(), Some(LinearError::OutOfTime { .. })) => {
            output.result(&format!("undecided: {error}\n"), &json!({"undecided": error.to_string()}))?;
            Ok(Answer::Undecided)
        }
        answer => answer,
    }
}

/// Reads a linear network.
fn read_linear(argument: &str, output: &Output) -> anyhow::Result<LinearNetwork> {
    let model = super::read_model(argument, &ReadOptions::default(), output)?;
    LinearNetwork::from_network(&model.network).with_context(|| argument.to_owned())
}

/// The tolerance for two networks that may be close to zero: the scale is that of the larger.
fn common_scale(a: &LinearNetwork, b: &LinearNetwork, tolerance: Tolerance) -> Tolerance {
    let largest = |network: &LinearNetwork| {
        let entries = network.weights().iter().flat_map(Matrix::entries);
        entries.fold(0f64, |largest, x| largest.max(x.abs()))
    };
    Tolerance { scale: tolerance.scale.or(Some(largest(a).max(largest(b)))), ..tolerance }
}

/// The distance of two lists of matrices of the same shapes.
fn distance(a: &[Matrix], b: &[Matrix]) -> f64 {
    let pairs = a.iter().zip(b).flat_map(|(x, y)| x.entries().iter().zip(y.entries()));
    pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// The limits on listing strata that the flags set.
fn stratum_limits(args: &FiberArgs, global: &Global) -> StratumLimits {
    let deadline = global.time_limit.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    StratumLimits { strata: args.max_strata, deadline }
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

fn file_names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}

/// The bars as `[start, end, multiplicity]`.
fn omega(barcode: &Barcode) -> Value {
    json!(barcode.bars().map(|(bar, count)| [bar.start, bar.end, count]).collect::<Vec<_>>())
}

/// The JSON object of one stratum.
fn stratum_json(stratum: &Stratum) -> Value {
    json!({
        "r": stratum.ranks().rows(),
        "omega": omega(stratum.barcode()),
        "dim": stratum.dimension(),
        "dof": stratum.degrees_of_freedom(),
        "rdof": stratum.rank_increasing_degrees_of_freedom(),
        "components": power_of_two(stratum.component_exponent()),
    })
}

/// `2^exponent` as a number, or as a string if JSON readers would round it.
fn power_of_two(exponent: u32) -> Value {
    if exponent < 53 {
        json!(1u64 << exponent)
    } else {
        json!((dashu_int::UBig::ONE << exponent as usize).to_string())
    }
}

fn rows(matrix: &Matrix) -> Value {
    json!(matrix.iter_rows().collect::<Vec<_>>())
}

fn joined(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn bar_pair(bar: Bar) -> [usize; 2] {
    [bar.start, bar.end]
}
