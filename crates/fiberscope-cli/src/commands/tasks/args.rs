//! Flags of `fiberscope plan`, `work` and `merge`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fiberscope::dimension::DeviceChoice;

use crate::args::{EquivArgs, ReadArgs, seconds};
use crate::commands::complex::args::RegionsArgs;
use crate::commands::diff::args::DiffArgs;
use crate::commands::fiber::args::VolumeArgs;
use crate::commands::reproduce::ReproduceFlags;
use crate::commands::survey::SurveySettings;
use crate::commands::train::Settings;

/// Cut a long question into tasks that many workers do, on any machines that share a folder
///
/// Writes a folder with the question, its networks and the first tasks. `fiberscope work DIR`, as often and on as many machines as
/// wanted, does them; `fiberscope merge DIR` gives the answer of COMMAND. The answer does not depend on the number of workers or on
/// the order of their results. Searches are cut other than those of COMMAND: their bounds and trees differ, their verdicts do not.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope plan regions model.onnx --box -1,1 --count-only --tasks 256 -o count\n  fiberscope plan diff a.onnx pruned.onnx --box 0,1 --epsilon 0.1 -o search\n  fiberscope plan funcdim epoch-1.pt epoch-2.pt epoch-3.pt --data images.npy -o dimensions\n  fiberscope work count & fiberscope work count & wait; fiberscope merge count"
)]
pub struct PlanArgs {
    /// The question
    #[command(subcommand)]
    pub command: PlanCommand,
    /// The folder to write; it must not exist or be empty
    #[arg(long = "out", short, global = true, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// About how many tasks there are at the beginning
    #[arg(long, global = true, value_name = "N", default_value_t = 64)]
    pub tasks: usize,
}

#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    Regions(RegionsArgs),
    Diff(DiffArgs),
    Equiv(EquivArgs),
    Funcdim(PlanFuncdimArgs),
    Reproduce(PlanReproduceArgs),
    Survey(PlanSurveyArgs),
    Train(PlanTrainArgs),
    Volume(VolumeArgs),
}

/// The functional dimension of many networks on many data sets: one task for each pair
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  fiberscope plan funcdim epoch-1.pt epoch-2.pt --data train.npy --data test.npy -o dimensions"
)]
pub struct PlanFuncdimArgs {
    /// The networks
    #[arg(required = true, value_name = "MODEL")]
    pub models: Vec<String>,
    /// A batch, one point per row (.csv, .npy, .npz); may be repeated
    #[arg(long, required = true, value_name = "FILE")]
    pub data: Vec<PathBuf>,
    /// Use the first N columns of the data as inputs (the others may be targets)
    #[arg(long, value_name = "N")]
    pub inputs: Option<usize>,
    /// Also the generic rank: random parameters with the same activation patterns
    #[arg(long)]
    pub generic: bool,
    /// The number of primes [default: until the probability of an error is below 1e-6, at most 3]
    #[arg(long, value_name = "N")]
    pub primes: Option<usize>,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// An experiment of the papers: one task for each training or extraction; merge writes the page into DIR/answer
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope plan reproduce ntk-univariate --seeds 200 -o univariate\n  fiberscope plan reproduce extraction --seeds 50 -o rates"
)]
pub struct PlanReproduceArgs {
    #[command(flatten)]
    pub settings: ReproduceFlags,
}

/// Statistics over random networks; merge writes the tables and charts into DIR/answer
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  fiberscope plan survey --widths 3,3,2,1 --count 1000000 --measure identifiable,dead -o survey"
)]
pub struct PlanSurveyArgs {
    #[command(flatten)]
    pub settings: SurveySettings,
}

/// Trainings from many seeds: one task for each; merge writes networks, tables and plots into DIR/answer
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope plan train --task f1 --epochs 500 --seeds 20 -o runs")]
pub struct PlanTrainArgs {
    /// A JSON file with settings
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub settings: Settings,
}

/// Do tasks of a folder that `fiberscope plan` made, until none is left
///
/// Any number of workers may share the folder. A worker takes a task by renaming its file and renews its lease while it lives; when it
/// dies, another one takes the task over: at once on the same machine, else when the lease has expired. What a time slice leaves becomes
/// new tasks. Exit code 0: all tasks are done (with --task: that one); 3: some are left.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope work count\n  fiberscope work count --slice 10 --threads 1\n  fiberscope work count --task 7\n  fiberscope work dimensions --device cuda:0 & fiberscope work dimensions --device cuda:1 & wait"
)]
pub struct WorkArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Do this task only, from 1 on, as `fiberscope plan` counts them; without --slice to its end
    #[arg(long, value_name = "N")]
    pub task: Option<usize>,
    /// After this many seconds a task hands over what it has finished; the rest are new tasks [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub slice: Option<f64>,
    /// A lease that is not renewed for this many seconds is taken over
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, default_value_t = 60.0)]
    pub lease: f64,
    /// Where the eliminations of `plan funcdim` run: cpu, cuda, cuda:N or auto; with several GPUs start a worker for each
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceChoice::Cpu)]
    pub device: DeviceChoice,
}

/// Give the answer of a folder that `fiberscope plan` made, or say what is missing
///
/// Text, JSON and exit code are those of the command that was planned. Certificates are checked after the merge. Exit code 3: tasks are
/// missing; `fiberscope work DIR` does them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope merge count --json\n  fiberscope merge search --certificate proof.json"
)]
pub struct MergeArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Write the certificate to this file, if there is one
    #[arg(long, value_name = "OUT")]
    pub certificate: Option<PathBuf>,
}
