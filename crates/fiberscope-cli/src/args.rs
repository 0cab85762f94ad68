//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fiberscope::limit::Deadline;
use fiberscope_io::{Normalization, Precision, ReadOptions};

pub use crate::commands::answer::AnswerArgs;
pub use crate::commands::complex::args::{ConstructArgs, FoldsArgs, RegionsArgs};
pub use crate::commands::explore::ExploreArgs;
pub use crate::commands::extract::args::ExtractArgs;
pub use crate::commands::fiber::args::{ConserveArgs, FiberArgs, VolumeArgs};
pub use crate::commands::funcdim::FuncdimArgs;
pub use crate::commands::linear::LinearArgs;
pub use crate::commands::report::ReportArgs;
pub use crate::commands::reproduce::ReproduceArgs;
pub use crate::commands::train::TrainArgs;

/// Answers, with proof, what people ask about the parameters of ReLU and linear networks.
#[derive(Debug, Parser)]
#[command(
    name = "fiberscope",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    after_help = "Example:\n  fiberscope tour\n\nExit codes: 0 yes or done, 1 no, 2 error, 3 undecided within the limits."
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// Print one JSON object on standard output instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Seed of everything random; the same seed gives the same output
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Number of threads [default: one per core]
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Stop searching after this many seconds and answer "undecided"
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub time_limit: Option<f64>,
    /// No progress, notes or warnings on standard error
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

impl Global {
    /// When the time limit is reached, counted from now on.
    pub fn deadline(&self) -> Deadline {
        Deadline::after(self.time_limit.map(Duration::from_secs_f64))
    }
}

pub fn seconds(text: &str) -> Result<f64, String> {
    // A thousand years: more than any search, and within what a duration holds.
    const LONGEST: f64 = 3.2e10;
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST => Ok(seconds),
        _ => Err("expected a positive number of seconds".into()),
    }
}

pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a positive number".into()),
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Tour(TourArgs),
    Info(InfoArgs),
    Convert(ConvertArgs),
    Equiv(EquivArgs),
    Check(CheckArgs),
    Reduce(ReduceArgs),
    Canon(CanonArgs),
    Align(AlignArgs),
    Regions(RegionsArgs),
    Folds(FoldsArgs),
    Construct(ConstructArgs),
    Fiber(FiberArgs),
    Volume(VolumeArgs),
    Conserve(ConserveArgs),
    Funcdim(FuncdimArgs),
    Extract(ExtractArgs),
    Answer(AnswerArgs),
    Train(TrainArgs),
    Reproduce(ReproduceArgs),
    Linear(LinearArgs),
    Report(ReportArgs),
    Explore(ExploreArgs),
    Zoo(ZooArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// How model files are read.
#[derive(Debug, Default, Args)]
pub struct ReadArgs {
    /// The normalisation header of NNet files: part of the network, or left out
    #[arg(long, value_name = "CHOICE", default_value = "fold")]
    pub nnet_normalization: NnetNormalization,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum NnetNormalization {
    /// Physical units: the header is folded into the first and last layer
    #[default]
    Fold,
    /// Normalised units: the header is left out
    Ignore,
}

impl ReadArgs {
    pub fn options(&self) -> ReadOptions {
        let normalization = match self.nnet_normalization {
            NnetNormalization::Fold => Normalization::Fold,
            NnetNormalization::Ignore => Normalization::Ignore,
        };
        ReadOptions { normalization, ..ReadOptions::default() }
    }
}

/// Show the main results on built-in networks and write report.html
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope tour --output report.html")]
pub struct TourArgs {
    /// Where to write the report
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
}

/// Tell what a network is: widths, roles of its neurons, hidden hyperplanes, identifiability
///
/// MODEL is a file (.onnx, .safetensors, .npz, .nnet, .json, .pt, .pth), zoo:NAME, or - for JSON on
/// standard input.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope info zoo:hiding-two\n  fiberscope info model.onnx --box -1,1 --json"
)]
pub struct InfoArgs {
    /// The network
    pub model: String,
    /// Judge neurons on a box: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Convert a network between file formats
///
/// Reads .onnx, .safetensors, .npz, .nnet, .json, .pt, .pth, zoo:NAME and - (JSON on standard input);
/// writes .json, .npz, .safetensors and .onnx. Doubles are copied bit for bit; writing single precision
/// says how much was rounded.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope convert zoo:deep deep.onnx --precision f64")]
pub struct ConvertArgs {
    /// The network to read
    #[arg(value_name = "IN")]
    pub input: String,
    /// The file to write
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Precision of the numbers written [default: that of IN, at least f32]
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<WritePrecision>,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum WritePrecision {
    /// Single precision
    F32,
    /// Double precision
    F64,
}

impl From<WritePrecision> for Precision {
    fn from(precision: WritePrecision) -> Self {
        match precision {
            WritePrecision::F32 => Precision::F32,
            WritePrecision::F64 => Precision::F64,
        }
    }
}

/// Decide whether two networks compute the same function
///
/// Exit code 0: equivalent (also up to rounding). 1: different, with an input where they differ. 3:
/// undecided within the time limit. Every answer is checked by the checker before it is printed;
/// --certificate keeps the proof.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope equiv zoo:hiding-two zoo:hiding-two-translated --certificate proof.json\n  fiberscope equiv a.onnx b.onnx --box -1,1 --time-limit 60 --resume search.json"
)]
pub struct EquivArgs {
    /// The first network
    #[arg(value_name = "A")]
    pub a: String,
    /// The second network
    #[arg(value_name = "B")]
    pub b: String,
    /// Compare on a box: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    /// Refuse the verdict "equivalent up to rounding"
    #[arg(long, conflicts_with = "tolerance")]
    pub exact: bool,
    /// Largest certified difference of the outputs that counts as rounding [default: parameters may
    /// differ by a few units of the precision in which they are stored]
    #[arg(long, value_name = "EPS", value_parser = positive)]
    pub tolerance: Option<f64>,
    /// Write the certificate to this file
    #[arg(long, value_name = "OUT")]
    pub certificate: Option<PathBuf>,
    /// Go on with the search of this file, if it exists; write it if the time runs out
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Remove neurons without changing the function
///
/// Dead and unconnected neurons go, multiples are merged, cancelling pairs and superfluous linear neurons
/// are resolved, linear layers are folded. What is written computes the same function exactly: steps after which no scales
/// make doubles of the parameters are left out and listed, unless --round is given.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope reduce zoo:cancelling --output small.json --certificate proof.json\n  fiberscope reduce model.json --output small.json --box -1,1 --round"
)]
pub struct ReduceArgs {
    /// The network
    pub model: String,
    /// Where to write the reduced network
    #[arg(long, short, value_name = "OUT")]
    pub output: PathBuf,
    /// Keep the function on a box only: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    /// Take all steps and round the parameters to doubles; the bound for the outputs needs a bounded --box
    #[arg(long)]
    pub round: bool,
    /// Write the certificate to this file: of equality, or of the bound
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Write the canonical representative of a network and print the fingerprint of its function
///
/// The same fingerprint proves the same function. Another one proves another function only in the classes for which the
/// answer says so.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope canon zoo:hiding-one-flipped --output canonical.json")]
pub struct CanonArgs {
    /// The network
    pub model: String,
    /// Where to write the canonical representative
    #[arg(long, short, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Write it even if its parameters are no doubles, rounded
    #[arg(long)]
    pub round: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Rewrite B by permuting and scaling neurons to be as close to A as possible
///
/// If B is A permuted and scaled, by any factors and up to the rounding of its parameters, that is found, and the answer says
/// how large the relative difference of the parameters is.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope align zoo:deep zoo:deep-shuffled --output aligned.json\n  fiberscope align zoo:deep zoo:deep-rounded --output aligned.json"
)]
pub struct AlignArgs {
    /// The network to come close to
    #[arg(value_name = "A")]
    pub a: String,
    /// The network to rewrite
    #[arg(value_name = "B")]
    pub b: String,
    /// Where to write the result
    #[arg(long, short, value_name = "OUT")]
    pub output: PathBuf,
    /// Inputs on which the interpolation barrier is measured (.csv, .npy, .npz)
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// The factors that neurons may be scaled by
    #[arg(long, value_enum, default_value_t = AlignScaling::Auto)]
    pub scaling: AlignScaling,
    /// Write the certificate that the result computes B's function to this file, if it does exactly
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AlignScaling {
    /// Real factors where they relate A and B up to rounding, else powers of two
    Auto,
    /// Powers of two only: the function of B is kept exactly
    PowersOfTwo,
    /// The real factors that come closest; the result is rounded
    Real,
    /// None: neurons are only permuted
    None,
}

/// Check a certificate in exact arithmetic
///
/// Exit code 0: the certificate proves its claim about A and B. 1: it is refused, with the step and
/// the rule that fail. 2: it cannot be read.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  fiberscope check zoo/certificates/deep-shuffled.json zoo:deep zoo:deep-shuffled"
)]
pub struct CheckArgs {
    /// The certificate, a JSON file
    #[arg(value_name = "CERT")]
    pub certificate: PathBuf,
    /// The first network
    #[arg(value_name = "A")]
    pub a: String,
    /// The second network
    #[arg(value_name = "B")]
    pub b: String,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// The built-in networks with known answers
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope zoo list")]
pub struct ZooArgs {
    #[command(subcommand)]
    pub command: ZooCommand,
}

#[derive(Debug, Subcommand)]
pub enum ZooCommand {
    /// List the networks with what each shows
    #[command(after_help = "Example:\n  fiberscope zoo list --json")]
    List,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope completions bash > /etc/bash_completion.d/fiberscope")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Print the manual page of the command, or of one of its subcommands
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope man info | man -l -")]
pub struct ManArgs {
    /// A subcommand
    pub command: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("fiberscope "), "{}", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
