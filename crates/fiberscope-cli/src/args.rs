//! Arguments: those that every command has, and those of the small commands.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use fiberscope::equivalence::{METHODS, Method};
use fiberscope::limit::{Deadline, Stop, machine_memory};
use fiberscope_core::Activation;
use fiberscope_io::{Normalization, Precision, ReadOptions};

use crate::watch::Limits;

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
    /// Stop after this many seconds, say what is known, and exit with code 3
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub time_limit: Option<f64>,
    /// Stop before the process holds more than this many megabytes, say what is known, and exit with
    /// code 3 [default: 80 % of the machine's memory; watched on Linux only]
    #[arg(long, global = true, value_name = "MB", value_parser = megabytes)]
    pub memory: Option<usize>,
    /// No progress, notes or warnings on standard error
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// The limits, counted from the start of the command.
    #[arg(skip)]
    limits: Deadline,
}

impl Global {
    /// The limits that all work of the command shares: time, counted from its start, and memory.
    pub fn deadline(&self) -> Deadline {
        self.limits.clone()
    }

    /// Begins to count, and says what somebody outside has to watch.
    pub fn begin(&mut self) -> Limits {
        let stop = Stop::default();
        let time = self.time_limit.map(Duration::from_secs_f64);
        let memory = self.memory.or_else(|| machine_memory().map(|bytes| bytes / 10 * 8));
        self.limits = Deadline::after(time).or(stop.clone()).within(memory);
        let end = time.and_then(|time| Instant::now().checked_add(time));
        Limits { end, memory, stop }
    }
}

fn megabytes(text: &str) -> Result<usize, String> {
    let bytes = |count: usize| count.checked_mul(1 << 20);
    match text.parse().ok().filter(|&count| count > 0).and_then(bytes) {
        Some(bytes) => Ok(bytes),
        None => Err("expected a positive number of megabytes".into()),
    }
}

pub fn seconds(text: &str) -> Result<f64, String> {
    // A thousand years: more than any search, and within what a duration holds.
    const LONGEST: f64 = 3.2e10;
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST => Ok(seconds),
        Ok(seconds) if seconds > LONGEST => Err("expected at most 3.2e10 seconds, a thousand years".into()),
        _ => Err("expected a positive number of seconds".into()),
    }
}

pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a positive number".into()),
    }
}

/// A box around a row of a table.
#[derive(Debug, Default, Args)]
pub struct AroundArgs {
    /// The box around a row of a table (.csv, .npy, .npz), rows counted from 1; cut with --box if that is given
    #[arg(long, value_name = "FILE:ROW", requires = "radius")]
    pub around: Option<String>,
    /// How far the box of --around reaches from its row in every input
    #[arg(long, value_name = "R", value_parser = positive, allow_hyphen_values = true, requires = "around")]
    pub radius: Option<f64>,
}

/// How model files are read.
#[derive(Debug, Default, Args)]
pub struct ReadArgs {
    /// The normalisation header of NNet files: part of the network, or left out
    #[arg(long, value_name = "CHOICE", default_value = "fold")]
    pub nnet_normalization: NnetNormalization,
    /// The value of an ONNX graph that the questions are about, if it is not its only output
    #[arg(long = "output", id = "graph_output", value_name = "NAME")]
    pub graph_output: Option<String>,
    /// The shape of an input of an ONNX graph, batch included, such as image=1x3x32x32
    #[arg(long = "shape", value_name = "NAME=AxBxC", value_parser = shape)]
    pub shapes: Vec<(String, Vec<usize>)>,
    /// What hidden layers do in files that do not say it (.pt, .safetensors, .npz) [default: relu is assumed]
    #[arg(long, value_name = "NAME")]
    pub activation: Option<HiddenActivation>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum HiddenActivation {
    /// relu(x) = max(x, 0)
    Relu,
    /// None: the layers are affine maps
    Identity,
}

fn shape(text: &str) -> Result<(String, Vec<usize>), String> {
    let expected = || "expected NAME=AxBxC, such as image=1x3x32x32".to_owned();
    let (name, dims) = text.rsplit_once('=').ok_or_else(expected)?;
    let dims = dims.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>().map_err(|_| expected())?;
    if name.is_empty() || dims.contains(&0) { Err(expected()) } else { Ok((name.to_owned(), dims)) }
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
        let (output, shapes) = (self.graph_output.clone(), self.shapes.clone());
        let activation = self.activation.map(|activation| match activation {
            HiddenActivation::Relu => Activation::Relu,
            HiddenActivation::Identity => Activation::Identity,
        });
        ReadOptions { normalization, output, shapes, activation, ..ReadOptions::default() }
    }
}

/// Show the main results on built-in networks and write report.html
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope tour -o report.html")]
pub struct TourArgs {
    /// Where to write the report
    #[arg(long = "out", short, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
}

/// Tell what a network is: widths, roles of its neurons, hidden hyperplanes, identifiability
///
/// MODEL is a file (.onnx, .safetensors, .npz, .nnet, .json, .pt, .pth), zoo:NAME, or - for JSON on
/// standard input.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope info zoo:hiding-two\n  fiberscope info model.onnx --box -1,1 --json\n  fiberscope info zoo:deep --certificate deep.json && fiberscope check deep.json zoo:deep --claim locally_identifiable"
)]
pub struct InfoArgs {
    /// The network
    pub model: String,
    /// Judge neurons on a box: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    /// Write the certificate that bounds the fiber near the parameters, or proves that they are locally
    /// identifiable; then networks of any size are looked at, until the time limit
    #[arg(long, value_name = "OUT")]
    pub certificate: Option<PathBuf>,
    #[command(flatten)]
    pub around: AroundArgs,
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
/// Exit code 0: equivalent, or equivalent up to rounding. 1: different, with an input where they differ. 3:
/// undecided. Every answer is checked by the checker before it is printed; --certificate keeps the proof.
///
/// Up to rounding means, with --box: the outputs differ by at most a certified bound there, which is at most
/// 1/1024 of the size of the outputs. Without it: moves that keep both functions lead to parameters that
/// agree one by one to a few units in the last place; nothing is then said about the outputs.
///
/// With --tolerance EPS the question is another: exit code 0 if the outputs are proved to differ by at most
/// EPS on the domain, 1 if a point where they differ by more is shown, 3 if neither is found.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope equiv zoo:hiding-two zoo:hiding-two-translated --certificate proof.json\n  fiberscope equiv a.onnx b.onnx --box -1,1 --time-limit 60 --resume search.json\n  fiberscope equiv a.onnx b.onnx --box 0,1 --tolerance 1e-3 --data images.npy\n  fiberscope equiv a.onnx b.onnx --method moves,hyperplanes"
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
    #[command(flatten)]
    pub around: AroundArgs,
    /// Refuse the verdict "equivalent up to rounding"
    #[arg(long, conflicts_with = "tolerance")]
    pub exact: bool,
    /// Ask whether the outputs differ by at most EPS (read as a double) on the domain, instead of equality
    #[arg(long, value_name = "EPS", value_parser = positive, allow_hyphen_values = true)]
    pub tolerance: Option<f64>,
    /// Use these methods only (in the order below, whatever the order here)
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = methods())]
    pub method: Vec<Method>,
    /// Inputs at which a difference is looked for first (.csv, .npy, .npz)
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Write the certificate to this file
    #[arg(long, value_name = "OUT")]
    pub certificate: Option<PathBuf>,
    /// Go on with the search of this file, if it exists; write it if the time runs out
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// The names of the methods, each with its lines of the list.
fn methods() -> impl TypedValueParser<Value = Method> {
    let value = |method: Method| {
        let lines = METHODS.iter().filter(|procedure| procedure.method == method);
        let about: Vec<&str> = lines.map(|procedure| procedure.about).collect();
        PossibleValue::new(method.word()).help(about.join("; "))
    };
    PossibleValuesParser::new(Method::ALL.map(value)).try_map(|word| word.parse::<Method>())
}

/// Remove neurons without changing the function
///
/// Dead and unconnected neurons go, multiples are merged, cancelling pairs and superfluous linear neurons are
/// resolved, linear layers are folded. What is written computes the same function exactly: steps after which
/// no scales make doubles of the parameters are left out and listed, unless --round is given.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope reduce zoo:cancelling -o small.json --certificate proof.json\n  fiberscope reduce model.json -o small.json --box -1,1 --round"
)]
pub struct ReduceArgs {
    /// The network
    pub model: String,
    /// Where to write the reduced network
    #[arg(long = "out", short, value_name = "OUT")]
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
/// The same fingerprint proves the same function. Another one proves another function only in the classes for
/// which the answer says so.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope canon zoo:hiding-one-flipped -o canonical.json")]
pub struct CanonArgs {
    /// The network
    pub model: String,
    /// Where to write the canonical representative
    #[arg(long = "out", short, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Write it even if its parameters are no doubles, rounded
    #[arg(long)]
    pub round: bool,
    /// The version of the fingerprint: v2 hashes bytes of doubles, v1 hashes numbers as text, as older releases did
    #[arg(long, value_enum, value_name = "VERSION", default_value = "v2")]
    pub fingerprint: CanonFingerprint,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// A version of the fingerprint.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CanonFingerprint {
    /// Numbers as text
    V1,
    /// Bytes of doubles
    V2,
}

/// Rewrite B by permuting and scaling neurons to be as close to A as possible
///
/// If B is A permuted and scaled, by any factors and up to the rounding of its parameters, and no neuron is
/// zero or a multiple of another, that is found, and the answer says how large the relative difference of the
/// parameters is. The channels of convolutions are moved as one.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope align zoo:deep zoo:deep-shuffled -o aligned.json\n  fiberscope align zoo:deep zoo:deep-rounded -o aligned.json"
)]
pub struct AlignArgs {
    /// The network to come close to
    #[arg(value_name = "A")]
    pub a: String,
    /// The network to rewrite
    #[arg(value_name = "B")]
    pub b: String,
    /// Where to write the result
    #[arg(long = "out", short, value_name = "OUT")]
    pub output: PathBuf,
    /// Inputs (.csv, .npy, .npz) on which the interpolation barrier is measured, and on which --metric activations
    /// compares neurons
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// What neurons are matched by
    #[arg(long, value_enum, default_value_t = AlignMetric::Weights)]
    pub metric: AlignMetric,
    /// How many starts are made, of which the closest result is kept: the first matches incoming weights, the second is B as
    /// it is, the others are random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub starts: usize,
    /// Draw the loss between A and B before and after (.svg; .png in released programs); needs --data
    #[arg(long, value_name = "FILE", requires = "data")]
    pub plot: Option<PathBuf>,
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
pub enum AlignMetric {
    /// Incoming and outgoing weights, layers improved in turn
    Weights,
    /// Values on the inputs of --data: neurons that do the same there
    Activations,
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

/// Check a certificate: exactly, and boxes of differences in doubles with proved errors
///
/// A certificate proves its own claim on its own domain. With --box, --space or --claim, the question is
/// whether it proves that. Exit code 0: it does. 1: it is refused, with the step and the rule that fail, or
/// it proves something else. 2: it cannot be read. 3: it was not checked, as a limit came first.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope check zoo/certificates/deep-shuffled.json zoo:deep zoo:deep-shuffled\n  fiberscope check proof.json a.onnx b.onnx --space --claim equivalent\n  fiberscope check proof.json a.onnx b.onnx --box -1,1 --claim within=1e-6 --time-limit 60\n  fiberscope check classes.json a.onnx pruned.onnx --box 0,1 --claim same_class=0.5"
)]
pub struct CheckArgs {
    /// The certificate, a JSON file
    #[arg(value_name = "CERT")]
    pub certificate: PathBuf,
    /// The first network
    #[arg(value_name = "A")]
    pub a: String,
    /// The second network; not needed for a certificate about one network
    #[arg(value_name = "B")]
    pub b: Option<String>,
    /// Ask for a proof on a box: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true, conflicts_with = "space")]
    pub domain: Option<String>,
    /// Ask for a proof on all of R^n
    #[arg(long)]
    pub space: bool,
    /// Ask for a proof of this: equivalent, different, within=EPS (outputs differ by at most EPS), same_class=M
    /// (B decides for A's class wherever A leads by M; M may be left out), other_class=M (somewhere it does not) or
    /// locally_identifiable (near A's parameters, those with the same function are its positive scalings)
    #[arg(long, value_name = "CLAIM")]
    pub claim: Option<String>,
    /// Bound the boxes of a difference in exact arithmetic too, a thousand times slower than in doubles with
    /// proved errors
    #[arg(long)]
    pub exact: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// The built-in networks with known answers
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  fiberscope zoo list\n  fiberscope zoo --export benchmark.json"
)]
pub struct ZooArgs {
    #[command(subcommand)]
    pub command: Option<ZooCommand>,
    /// Write the benchmark set: 100 networks, those of the zoo and generated ones, with everything that is proved
    /// about each and the certificates, as one JSON file
    #[arg(long, value_name = "OUT")]
    pub export: Option<PathBuf>,
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
