//! The flags of `fiberscope extract`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::args::{ReadArgs, positive, seconds};

/// Recover the parameters of a ReLU network from queries alone
///
/// ORACLE answers the queries: a model (file or zoo:NAME; its parameters are not looked at), an endpoint
/// http(s)://..., or, after --, a command that answers lines of JSON on its standard output. Depth and widths
/// are found. Exit code 0: verified on the domain by fresh queries. 1: no network was found. 3: a part of it,
/// or a limit was reached. 2: the oracle or the flags are wrong. Ask only systems that you may ask.
#[derive(Debug, Args)]
#[command(
    override_usage = "fiberscope extract [OPTIONS] -o <OUT> <ORACLE>\n       fiberscope extract [OPTIONS] -o <OUT> -- <COMMAND> [ARGS]...\n       fiberscope extract [OPTIONS] --labels -o <OUT> <ORACLE>\n       fiberscope extract [OPTIONS] --leak-report <MODEL>\n       fiberscope extract --boundaries <FILE> [--tolerance <X>] [-o <LAYERS>]\n       fiberscope extract [OPTIONS] --signs <FILE> [-o <LAYERS>] <ORACLE>",
    after_help = "Examples:\n  fiberscope extract zoo:duplicate-merged --truth zoo:duplicate-merged -o found.json\n  fiberscope extract -o found.json -- python3 examples/oracle.py model.npz\n  fiberscope extract https://example.org/model --token-env TOKEN --rate 100 --resume queries.log -o found.json\n  fiberscope extract model.onnx --max-queries 5000 -o found.json\n  fiberscope extract model.onnx --known found.json.known.json -o found.json\n  fiberscope extract model.onnx --labels -o found.json\n  fiberscope extract model.onnx --leak-report --data inputs.csv -o leak.html\n  fiberscope extract --boundaries points.json -o layers.json\n  fiberscope extract model.onnx --signs layers.json -o oriented.json"
)]
pub struct ExtractArgs {
    /// A model, or an endpoint http(s)://...
    #[arg(required_unless_present_any = ["command", "boundaries"], conflicts_with = "command")]
    pub oracle: Option<String>,
    /// A command that answers queries, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Where to write the network, or the page of --leak-report
    #[arg(long = "out", short, value_name = "OUT", required_unless_present_any = ["leak_report", "boundaries", "signs"])]
    pub output: Option<PathBuf>,
    /// The widths, which saves queries: of all layers (10,8,1), or of the hidden layers (8)
    #[arg(long, value_name = "N,N,..", value_delimiter = ',')]
    pub widths: Option<Vec<usize>>,
    /// The interval of every input on which the function is wanted
    #[arg(long, value_name = "LO,HI", default_value = "-3,3", value_parser = interval, allow_hyphen_values = true)]
    pub domain: (f64, f64),
    /// No more queries than this
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_queries: Option<u64>,
    /// The error of one answer at inputs of size 1; auto: it is measured
    #[arg(long, value_name = "auto|EPS", default_value = "auto", value_parser = noise, allow_negative_numbers = true)]
    pub noise: Noise,
    /// Compare with the true network: largest error of a parameter, exact comparison on the domain
    #[arg(long, value_name = "MODEL", conflicts_with = "leak_report")]
    pub truth: Option<String>,
    /// Log queries and answers in this file; if it exists, go on with it without asking again
    #[arg(long, value_name = "FILE", conflicts_with = "leak_report")]
    pub resume: Option<PathBuf>,
    /// Go on behind the hidden layers in FILE, such as OUT.known.json of an earlier run, or what --boundaries
    /// and --signs wrote; they are taken as they are
    #[arg(long, value_name = "FILE", conflicts_with_all = ["leak_report", "boundaries", "signs"])]
    pub known: Option<PathBuf>,
    /// Only the class is asked for: the largest output, or whether a single one is positive. What comes out has
    /// the same class, its outputs up to a common factor and a function added to all of them
    #[arg(long, conflicts_with_all = ["leak_report", "boundaries", "signs", "known", "plot", "widths", "noise"])]
    pub labels: bool,
    /// For the owner of a model: what answers that are rounded, noisy or classes only leak of its parameters,
    /// layer by layer, and what such answers cost; -o writes a page (.html)
    #[arg(long)]
    pub leak_report: bool,
    /// With --leak-report: the inputs on which the cost is measured [default: random ones of the domain]
    #[arg(long, value_name = "FILE", requires = "leak_report")]
    pub data: Option<PathBuf>,
    /// No oracle: the rows of the next layer from points of the boundaries of its neurons, and the signs of
    /// the layer before (Rolnick and Kording, Theorem 4); FILE has the known layers and the points, see the
    /// guide
    #[arg(long, value_name = "FILE", conflicts_with_all = ["oracle", "command", "leak_report", "signs", "truth", "resume", "plot"])]
    pub boundaries: Option<PathBuf>,
    /// Only the signs of the last layer in FILE, whose rows are known up to sign, by asking the oracle
    #[arg(long, value_name = "FILE", conflicts_with_all = ["leak_report", "truth", "resume", "plot", "widths"])]
    pub signs: Option<PathBuf>,
    /// With --boundaries: singular values up to this share of the largest count as zero
    #[arg(long, value_name = "X", default_value_t = 1e-8)]
    pub tolerance: f64,
    /// Draw the queries of every step, and with --truth the error of every layer (.svg, .png, .pdf or .tex)
    #[arg(long, value_name = "FILE", conflicts_with = "leak_report")]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// How oracles outside are asked.
#[derive(Debug, Args)]
#[command(next_help_heading = "Commands and endpoints")]
pub struct RemoteArgs {
    /// Wait so long for the answers to one batch
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub timeout: f64,
    /// The most queries in one batch [default: 512, fewer if there are many inputs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub batch: Option<u32>,
    /// Endpoints: repeat a failed request so often, after growing pauses
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub retries: u32,
    /// Endpoints: no more than so many queries per second
    #[arg(long, value_name = "N", value_parser = positive)]
    pub rate: Option<f64>,
    /// Endpoints: send the value of this environment variable as a bearer token
    #[arg(long, value_name = "NAME")]
    pub token_env: Option<String>,
    /// Endpoints that do not announce them: the numbers of inputs and outputs
    #[arg(long, value_name = "INPUTS,OUTPUTS", value_parser = sizes)]
    pub sizes: Option<(usize, usize)>,
}

/// The noise of an answer: given, or measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise(pub Option<f64>);

fn noise(text: &str) -> Result<Noise, String> {
    match text {
        "auto" => Ok(Noise(None)),
        _ => positive(text)
            .map(|noise| Noise(Some(noise)))
            .map_err(|_| "expected auto or a positive number".into()),
    }
}

fn interval(text: &str) -> Result<(f64, f64), String> {
    let ends: Option<Vec<f64>> = text.split(',').map(|end| end.trim().parse().ok()).collect();
    match ends.as_deref() {
        Some(&[lo, hi]) if lo.is_finite() && hi.is_finite() => Ok((lo, hi)),
        _ => Err("expected LO,HI (two numbers)".into()),
    }
}

fn sizes(text: &str) -> Result<(usize, usize), String> {
    let sizes: Option<Vec<usize>> = text.split(',').map(|size| size.trim().parse().ok()).collect();
    match sizes.as_deref() {
        Some(&[inputs @ 1..=100_000, outputs @ 1..=100_000]) => Ok((inputs, outputs)),
        _ => Err("expected INPUTS,OUTPUTS (two positive numbers)".into()),
    }
}
