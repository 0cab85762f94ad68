//! The command lines of `fiberscope fiber`, `volume` and `conserve`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::ReadArgs;

/// Describe every parameter with the same function: pieces, dimensions, points and paths
///
/// The list of pieces is made from the function: equal networks of equal widths have the same list. A piece
/// is an orientation of the visible neurons and a number of linear ones; the others are dead. All generic
/// parameters lie in the pieces marked generic; the others have the function, too. Covered: one hidden layer,
/// and three layers with a bottleneck. Of other networks: the symmetries that can be checked, bounds for the
/// dimension with the reason for their gap, and of deeper networks how much of them is the same in every
/// generic parameter with the function (exit code 3), with the conditions that fail. With --member: exit code
/// 0 if the network lies in the fiber, with its piece; 1 with the equation that fails if it lies in no piece
/// and does not have the function, as far as the description decides that.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope fiber zoo:linear-many\n  fiberscope fiber zoo:linear-many --sample 10 -o points --exact\n  fiberscope fiber zoo:linear-many --path points/point-000.json points/point-001.json -o path\n  fiberscope fiber zoo:hiding-two --member zoo:hiding-two-too-far\n  fiberscope fiber zoo:hiding-two --strip strip.svg --latex fiber.tex\n  fiberscope fiber zoo:hiding-two --export fiber.m2 --export fiber.sage"
)]
pub struct FiberArgs {
    /// The network [with --path: the first end]
    #[arg(required_unless_present = "path")]
    pub model: Option<String>,
    /// Consider a network with one hidden layer on the nonnegative orthant, not on all of R^n
    #[arg(long)]
    pub orthant: bool,
    /// List at most this many pieces
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub components: usize,
    /// Write N random points of a piece to the folder -o, each checked to compute the same function
    #[arg(long, value_name = "N", requires = "output", conflicts_with_all = ["path", "member"])]
    pub sample: Option<usize>,
    /// Write a path from A to B inside a piece to the folder -o, each point checked
    #[arg(long, value_names = ["A", "B"], num_args = 2, requires = "output", conflicts_with = "member")]
    pub path: Option<Vec<String>>,
    /// The number of steps of the path
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub steps: u32,
    /// The folder for points
    #[arg(long = "out", short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// The piece to sample: one sign per hyperplane, as listed [default: that of the network]
    #[arg(long, value_name = "SIGNS", requires = "sample", allow_hyphen_values = true)]
    pub orientation: Option<String>,
    /// The piece to sample: the number of its linear neurons, as listed [default: that of the network, or the
    /// smallest with points]
    #[arg(long, value_name = "N", requires = "sample")]
    pub linear: Option<usize>,
    /// Sample only parameters whose doubles lie in the fiber exactly
    #[arg(long, requires = "sample")]
    pub exact: bool,
    /// Does this network lie in the fiber? If not, which equation or inequality fails?
    #[arg(long, value_name = "MODEL")]
    pub member: Option<String>,
    /// Also list the first N classes of the fiber without any assumption (one hidden layer, or behind a fixed
    /// first layer)
    #[arg(long, value_name = "N")]
    pub classes: Option<usize>,
    /// Write the description as a LaTeX document
    #[arg(long, value_name = "FILE")]
    pub latex: Option<PathBuf>,
    /// Write the pieces as equations and inequalities between all parameters, with exact numbers, for Macaulay2
    /// (.m2), Sage (.sage) or LaTeX (.tex); may be repeated
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sample", "path", "member"])]
    pub export: Vec<PathBuf>,
    /// Draw the graph of orientations (.svg, .png, .pdf or .tex; at most 64 components)
    #[arg(long, value_name = "FILE")]
    pub graph: Option<PathBuf>,
    /// Draw a two-dimensional slice of the network's component (.svg, .png, .pdf or .tex)
    #[arg(long, value_name = "FILE")]
    pub slice: Option<PathBuf>,
    /// Draw the function along translations of a hidden hyperplane (.svg, .png, .pdf or .tex)
    #[arg(long, value_name = "FILE")]
    pub strip: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// The fraction of parameters that their function identifies, exactly
///
/// For three layers with a bottleneck, n_0 >= n_1 >= 2, and any distribution that is symmetric under changes
/// of sign.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope volume --widths 3,3,2,1")]
pub struct VolumeArgs {
    /// The widths n_0,n_1,n_2,n_3
    #[arg(long, value_name = "N,N,N,N", value_delimiter = ',', required = true)]
    pub widths: Vec<usize>,
    /// Parameters drawn for the Monte Carlo estimate [default: as many as take about a second]
    #[arg(long, value_name = "N")]
    pub samples: Option<u64>,
}

/// Follow gradient flow and watch what it conserves
///
/// DATA has one sample per row: the inputs, then the targets (for cross-entropy: the class, from 0). Gradient
/// descent and the Runge-Kutta method run with several steps; the table shows how the conserved quantities
/// drift.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  fiberscope conserve zoo:hiding-two samples.csv --time 0.5 --plot drift.svg"
)]
pub struct ConserveArgs {
    /// The network at the start
    pub model: String,
    /// The samples (.csv, .npy, .npz)
    pub data: PathBuf,
    /// The length of the flow
    #[arg(long, value_name = "T", default_value_t = 0.5)]
    pub time: f64,
    /// Steps of the coarsest run
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub steps: usize,
    /// How often the step is halved
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub halvings: usize,
    /// The loss
    #[arg(long, value_name = "LOSS", default_value = "mse")]
    pub loss: FlowLoss,
    /// Draw the drift against the step (.svg, .png, .pdf or .tex)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FlowLoss {
    /// Mean squared error
    Mse,
    /// Cross-entropy of the softmax
    CrossEntropy,
}
