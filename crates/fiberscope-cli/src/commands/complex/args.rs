//! Flags of the commands about polyhedral complexes.

use std::path::PathBuf;

use clap::Args;

use crate::args::{AroundArgs, ReadArgs};

/// Count and draw the linear regions: the canonical polyhedral complex
///
/// Without --box the domain is the whole input space, unbounded regions included. Counts are exact: doubles
/// propose, exact arithmetic decides what is near. Exit code 3: a limit was reached; the partial count is
/// printed.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope regions zoo:deep --box -1,1 --plot regions.svg\n  fiberscope regions model.onnx --box -1,1 --count-only --max-regions 10000000 --resume count.json\n  fiberscope regions model.npz --directions 1,0,0,0;0,1,0,0 --box -2,2 --plot slice.png\n  fiberscope regions model.npz --slice data.csv:1,2,3 --plot slice.svg\n  fiberscope regions model.npz --around data.csv:7 --radius 0.1\n  fiberscope regions model.npz --around data.csv:7 --radius 0.1 --slice 1,2 --plot slice.svg\n  fiberscope regions zoo:abs --export complex.pcom --export complex.jl"
)]
pub struct RegionsArgs {
    /// The network
    pub model: String,
    /// The box: LO,HI for every input, or a file (JSON, CSV, VNN-LIB); of a slice given by directions: its
    /// coordinates
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    #[command(flatten)]
    pub around: AroundArgs,
    /// Draw the complex (.svg, .png, .pdf or .tex for one and two inputs and slices, .html for three inputs); may be
    /// repeated
    #[arg(long, value_name = "OUT")]
    pub plot: Vec<PathBuf>,
    /// Write all cells (.json), the regions with exact vertices and rays for polymake (.pcom) or Oscar (.jl), or
    /// the facets of a complex with three inputs (.obj, .vtk); may be repeated
    #[arg(long, value_name = "OUT")]
    pub export: Vec<PathBuf>,
    /// Restrict to the plane through three points: x1,..,xn;y1,..,yn;z1,..,zn, or FILE:ROW,ROW,ROW for rows of a table
    /// (.csv, .npy, .npz), counted from 1; or to the plane on which two inputs vary: I,J, counted from 1
    #[arg(long, value_name = "POINTS", allow_hyphen_values = true, conflicts_with = "directions")]
    pub slice: Option<String>,
    /// Restrict to the plane spanned by two directions: u1,..,un;v1,..,vn
    #[arg(long, value_name = "VECTORS", allow_hyphen_values = true)]
    pub directions: Option<String>,
    /// A point of the plane of --directions or of two inputs; the one with coordinates (0, 0) of --directions
    /// [default: the row of --around, or the origin]
    #[arg(long, value_name = "POINT", allow_hyphen_values = true)]
    pub origin: Option<String>,
    /// Stop at this many regions
    #[arg(long, value_name = "N")]
    pub max_regions: Option<u64>,
    /// Count only: no weights, nothing kept in memory
    #[arg(long, conflicts_with_all = ["plot", "export"])]
    pub count_only: bool,
    /// Go on with the count of this file, if it exists; written every few seconds and when a limit stops the
    /// count
    #[arg(long, value_name = "FILE", requires = "count_only")]
    pub resume: Option<PathBuf>,
    /// The algorithm [default: the faster for the dimension]
    #[arg(long, value_name = "NAME")]
    pub method: Option<RegionsMethod>,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RegionsMethod {
    /// Subdivide vertices and edges layer by layer
    Edges,
    /// Walk from region to region across facets
    Walk,
}

/// Analyse the fold-set: canonical representation, dependency graph, genericity, identifiability
///
/// The fold-set is where the function is not differentiable. Without --box the domain is the whole input
/// space. Where the cells are too many, linear programs still tell whether the network is transparent and
/// whether its function identifies it if it is general (exit code 3). --match recovers the permutation and
/// scaling matrices that turn the network into another from where the two functions bend. Exit code 1: there
/// are none.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope folds zoo:deep --box -1,1 --graph folds.svg\n  fiberscope folds model.json --box -1,1 --match other.json"
)]
pub struct FoldsArgs {
    /// The network
    pub model: String,
    /// The box: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    #[command(flatten)]
    pub around: AroundArgs,
    /// Draw the dependency graph (.svg, .png, .pdf, .tex or .dot); may be repeated
    #[arg(long, value_name = "OUT")]
    pub graph: Vec<PathBuf>,
    /// Recover the permutations and scalings that turn the network into this one
    #[arg(long = "match", value_name = "MODEL")]
    pub other: Option<String>,
    /// Stop at this many regions
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub max_regions: u64,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Build networks with a proved property
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope construct identifiable --widths 4,3,3,2,1 -o net.json")]
pub struct ConstructArgs {
    #[command(subcommand)]
    pub command: ConstructCommand,
}

#[derive(Debug, clap::Subcommand)]
pub enum ConstructCommand {
    Identifiable(IdentifiableArgs),
    Hiding(HidingArgs),
    Nonlocal(NonlocalArgs),
}

/// Build a network whose second layer hides a hyperplane of the first one
///
/// Writes the network, a twin with the hyperplane translated as far as it goes, and the certificate that both
/// compute the same function.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  fiberscope construct hiding --widths 3,3,2,1 -o net.json")]
pub struct HidingArgs {
    #[command(flatten)]
    pub build: BuildArgs,
}

/// Build a network that is not identifiable although all of its overlapping parts are
///
/// At least four layers, widths n0 >= n1 >= ... >= n(L-2) >= 2, then any two. Every sub-network of three
/// consecutive layers is identified by its function; the whole is not: a twin with other parameters and the
/// certificate that both compute the same function are written beside it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope construct nonlocal --widths 3,3,2,2,1 -o net.json\n  fiberscope construct nonlocal --widths 4,4,3,3,2,1 -o net.json"
)]
pub struct NonlocalArgs {
    #[command(flatten)]
    pub build: BuildArgs,
}

/// Where constructed networks go.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The widths n0,n1,...
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', required = true)]
    pub widths: Vec<usize>,
    /// Where to write the network
    #[arg(long = "out", short, value_name = "OUT")]
    pub output: PathBuf,
    /// Where to write the twin [default: OUT with the ending .twin.json]
    #[arg(long, value_name = "OUT")]
    pub twin: Option<PathBuf>,
    /// Where to write the certificate [default: OUT with the ending .certificate.json]
    #[arg(long, value_name = "OUT")]
    pub certificate: Option<PathBuf>,
}

/// Build a network that its function on a box identifies among general networks of its widths
///
/// Widths do not increase, are at least 2, and end with 1; any depth, any bounded box. Transparency and the
/// paths in the dependency graph of the fold-set are proved by exact points, without the complex; that the
/// network is general is checked where the regions are few, and holds with probability one elsewhere. The
/// certificate lists what was proved, and the points.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope construct identifiable --widths 4,3,3,2,1 -o net.json --certificate paths.json\n  fiberscope construct identifiable --widths 50,40,30,20,10,1 --box 0,1 -o net.json"
)]
pub struct IdentifiableArgs {
    /// The widths n0,n1,...,1
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', required = true)]
    pub widths: Vec<usize>,
    /// The box: LO,HI for every input, or a file (JSON, CSV, VNN-LIB) [default: -1,1]
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    /// Where to write the network
    #[arg(long = "out", short, value_name = "OUT")]
    pub output: PathBuf,
    /// Where to write the certificate [default: OUT with the ending .certificate.json]
    #[arg(long, value_name = "OUT")]
    pub certificate: Option<PathBuf>,
}
