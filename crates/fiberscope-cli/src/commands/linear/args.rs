//! The command line of `fiberscope linear`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fiberscope::linear::{Bar, Tolerance};

use crate::args::ReadArgs;

/// Fibers of linear networks: strata by rank, dimensions, moves and paths
///
/// The parameters of a linear network with a given product form a set that is cut into smooth strata by the
/// ranks of all partial products (Shewchuk and Bhattacharya, arXiv:2404.14855).
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope linear strata --widths 4,6,5 --rank 1")]
pub struct LinearArgs {
    #[command(subcommand)]
    pub command: LinearCommand,
}

#[derive(Debug, Subcommand)]
pub enum LinearCommand {
    Strata(StrataArgs),
    Inspect(InspectArgs),
    Path(PathArgs),
    Move(MoveArgs),
    Sample(SampleArgs),
    Walk(WalkArgs),
}

/// The widths and the rank of the product.
#[derive(Debug, Args)]
pub struct FiberArgs {
    /// The widths of all layers, input first
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', required = true)]
    pub widths: Vec<usize>,
    /// The rank of the product
    #[arg(long, value_name = "R", default_value_t = 0)]
    pub rank: usize,
    /// List at most this many strata
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub max_strata: usize,
}

/// What counts as zero.
#[derive(Debug, Args)]
pub struct ToleranceArgs {
    /// Singular values up to this times the scale count as zero
    #[arg(long, value_name = "EPS", default_value_t = 1e-10)]
    pub tolerance: f64,
    /// The scale [default: the largest spectral norm of a matrix]
    #[arg(long, value_name = "X")]
    pub scale: Option<f64>,
}

impl ToleranceArgs {
    pub fn get(&self) -> Tolerance {
        Tolerance { relative: self.tolerance, scale: self.scale }
    }
}

/// List the strata of a fiber with their dimensions and the moves between them
///
/// dim is the dimension of the stratum, dof that of all velocities in the fiber, rdof = dof - dim counts
/// those that raise ranks.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope linear strata --widths 4,6,5 --rank 1\n  fiberscope linear strata --widths 2,2,2,2 \
    --export dag.svg --export dag.dot\n  fiberscope linear strata --widths 2,2,2 --rank 1 --export strata.m2 --latex strata.tex\n  fiberscope linear strata --widths 100,100,100,100,100 --count-only"
)]
pub struct StrataArgs {
    #[command(flatten)]
    pub fiber: FiberArgs,
    /// Only count the strata
    #[arg(long)]
    pub count_only: bool,
    /// Write the dag to a file: .svg, .tex (TikZ), .dot or .json, or the strata as equations for Macaulay2 (.m2)
    /// or Sage (.sage); can be given several times
    #[arg(long, value_name = "FILE")]
    pub export: Vec<PathBuf>,
    /// Write the strata, their ranks and dimensions as a LaTeX document
    #[arg(long, value_name = "FILE.tex")]
    pub latex: Option<PathBuf>,
    /// Draw the fiber itself, for networks with three weights
    #[arg(long, value_name = "FILE.svg")]
    pub space: Option<PathBuf>,
}

/// Tell in which stratum of its fiber a network lies
///
/// MODEL must be linear (identity activations); with --layers, a run of layers without ReLU between them;
/// with --block, the neurons of a ReLU layer that are always active on the box.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope linear inspect zoo:linear-network\n  fiberscope linear inspect model.onnx --block 1 \
    --box -1,1\n  fiberscope linear inspect model.npz --exact --flow flow.svg\n  fiberscope linear inspect \
    zoo:linear-network --subspaces --lattice lattice.tex"
)]
pub struct InspectArgs {
    /// The network
    pub model: String,
    /// Layers A to B only, counted from 1
    #[arg(long, value_name = "A-B", value_parser = layer_range, conflicts_with = "block")]
    pub layers: Option<(usize, usize)>,
    /// The always-active neurons of this ReLU layer, counted from 1
    #[arg(long, value_name = "LAYER", value_parser = positive)]
    pub block: Option<usize>,
    /// Where neurons must be active: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true, requires = "block")]
    pub domain: Option<String>,
    #[command(flatten)]
    pub tolerance: ToleranceArgs,
    /// Also compute the ranks exactly, over the rationals
    #[arg(long)]
    pub exact: bool,
    /// With --json: add flow bases and canonical weights
    #[arg(long)]
    pub bases: bool,
    /// With --json: add orthonormal tangent and normal bases
    #[arg(long)]
    pub spaces: bool,
    /// Add the subspaces A_kji and B_kji of the layers: dimensions, prebases, and what Lemma 1 says of them;
    /// with --json also bases
    #[arg(long)]
    pub subspaces: bool,
    /// Write the basis-flow diagram: .svg, .png, .pdf or .tex (TikZ)
    #[arg(long, value_name = "FILE")]
    pub flow: Option<PathBuf>,
    /// Write the tables of subspaces as a picture: .svg, .png, .pdf or .tex (TikZ)
    #[arg(long, value_name = "FILE")]
    pub lattice: Option<PathBuf>,
    /// Write the network with the block replaced by as few neurons as possible
    #[arg(long, value_name = "FILE", requires = "block", requires = "domain")]
    pub compress: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Connect two networks by a path in their fiber, or tell why there is none
///
/// The path stays in the stratum of A and B. Without B it leads to the canonical point of the stratum. Exit
/// code 1: there is no path.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope linear path a.json b.json --steps 20 -o path/\n  fiberscope linear path a.json -o path/"
)]
pub struct PathArgs {
    /// The network to start from
    #[arg(value_name = "A")]
    pub a: String,
    /// The network to go to
    #[arg(value_name = "B")]
    pub b: Option<String>,
    /// The number of steps
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub steps: u32,
    /// Leave the stratum: down to the minimal stratum, along it, and up again
    #[arg(long, requires = "b")]
    pub through_minimum: bool,
    /// Write the points of the path into this folder
    #[arg(long = "out", short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub tolerance: ToleranceArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// List the moves of a network to other strata of its fiber, or make one
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope linear move model.json\n  fiberscope linear move model.json --up 0-0,1-2 -o up.json\n  \
    fiberscope linear move model.json --cut 0-1,0 -o down.json"
)]
pub struct MoveArgs {
    /// The network
    pub model: String,
    /// Connect or swap: the bars `[h,k]` and `[i,l]` become `[h,l]` and `[i,k]`
    #[arg(long, value_name = "h-k,i-l", value_parser = two_bars, group = "step")]
    pub up: Option<(Bar, Bar)>,
    /// Swap back: the bar `[h,l]` and the bar `[i,k]` inside it become `[h,k]` and `[i,l]`
    #[arg(long, value_name = "h-l,i-k", value_parser = two_bars, group = "step")]
    pub down: Option<(Bar, Bar)>,
    /// Cut the bar `[h,l]` after layer k
    #[arg(long, value_name = "h-l,k", value_parser = bar_and_layer, group = "step")]
    pub cut: Option<(Bar, usize)>,
    /// Cut all bars but those from input to output
    #[arg(long, group = "step")]
    pub to_minimum: bool,
    /// The size of a move up
    #[arg(long, value_name = "X", default_value_t = 1.0, allow_hyphen_values = true)]
    pub epsilon: f64,
    /// Write the network after the move
    #[arg(long = "out", short, value_name = "FILE", requires = "step")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub tolerance: ToleranceArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Write random networks of a stratum
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope linear sample --widths 4,6,5 --rank 1 --stratum 3 -n 5 -o points/\n  fiberscope linear \
    sample --widths 2,3,2 --rank 1 --integer -o points/"
)]
pub struct SampleArgs {
    #[command(flatten)]
    pub fiber: FiberArgs,
    /// The stratum, by its number in `linear strata` [default: one of the largest dimension]
    #[arg(long, value_name = "N")]
    pub stratum: Option<usize>,
    /// Sample the fiber of this network's product (default: a random product)
    #[arg(long, value_name = "MODEL", conflicts_with = "integer")]
    pub product: Option<String>,
    /// Small integers as weights
    #[arg(long)]
    pub integer: bool,
    /// The number of networks
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1)]
    pub count: usize,
    /// The folder to write to
    #[arg(long = "out", short, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub tolerance: ToleranceArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Walk from a network along its stratum with a given velocity
///
/// The weights are W_j(t) = exp(t X_j) W_j exp(-t X_{j-1}): ranks and product stay as they are. The velocity
/// at t = 0 is given by a linear network of the same widths whose weights are the derivatives, or chosen at
/// random (--seed) among the tangents of length 1.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope linear walk zoo:linear-network --length 2 --steps 20 -o walk/\n  fiberscope linear walk \
    model.json --velocity gradient.json --project"
)]
pub struct WalkArgs {
    /// The network to start from
    pub model: String,
    /// The velocity: a linear network of the same widths
    #[arg(long, value_name = "FILE")]
    pub velocity: Option<String>,
    /// Take the tangent part of the velocity, along the flow bases
    #[arg(long, requires = "velocity")]
    pub project: bool,
    /// The time to walk
    #[arg(long, value_name = "T", default_value_t = 1.0, allow_hyphen_values = true, value_parser = finite)]
    pub length: f64,
    /// The number of steps
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub steps: u32,
    /// Write the points of the walk into this folder
    #[arg(long = "out", short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub tolerance: ToleranceArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

fn finite(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| "expected a finite number".into())
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "layers count from 1".into())
}

fn layer_range(text: &str) -> Result<(usize, usize), String> {
    let (a, b) = text.split_once('-').ok_or("expected A-B, as in 2-4")?;
    Ok((positive(a)?, positive(b)?))
}

fn bar(text: &str) -> Result<Bar, String> {
    let ends = text.split_once('-').and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
    let (start, end) = ends.ok_or("expected a bar START-END, as in 0-2")?;
    if start > end {
        return Err(format!("the bar {text} ends before it starts"));
    }
    Ok(Bar { start, end })
}

fn two_bars(text: &str) -> Result<(Bar, Bar), String> {
    let (first, second) = text.split_once(',').ok_or("expected two bars, as in 0-1,2-3")?;
    Ok((bar(first)?, bar(second)?))
}

fn bar_and_layer(text: &str) -> Result<(Bar, usize), String> {
    let (first, after) = text.split_once(',').ok_or("expected a bar and a layer, as in 0-2,1")?;
    Ok((bar(first)?, after.parse().map_err(|_| "expected a layer after the comma")?))
}
