//! `fiberscope funcdim`

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use fiberscope::dimension::ntk::{Kernel, KernelKind};
use fiberscope::dimension::{Device, DeviceChoice, DimensionOptions};
use fiberscope::limit::Deadline;
use fiberscope_core::Network;
use fiberscope_io::{Data, IoError, load_data, npz, write_atomically};
use fiberscope_report::dimension::DimensionSummary;
use fiberscope_report::dimension::{self, BatchQuestion, RegionQuestion};

use super::{read_dense_model, read_domain};
use crate::Answer;
use crate::args::{Global, ReadArgs};
use crate::output::{Output, write_picture};

/// Bytes of the kernel that are computed at a time.
const BLOCK: usize = 64 << 20;

/// The functional dimension of a network: the rank of its parameter Jacobian, exactly
///
/// With DATA (.csv, .npy, .npz) on that batch: the rank of the empirical neural tangent kernel. Without DATA
/// on a decisive set: points of every linear region, all of which are listed if they are few, or else those
/// that random points find. The rank is that of the stored numbers, with a certified interval; upper bounds
/// and a decomposition explain it. Exit code 3: the limits ended the computation.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope funcdim model.safetensors inputs.csv\n  fiberscope funcdim model.onnx data.csv --inputs 8 --spectrum --ntk kernel.npy\n  fiberscope funcdim zoo:deep --box -1,1 --json\n  fiberscope funcdim zoo:deep --box -1,1 --stabiliser\n  fiberscope funcdim model.safetensors inputs.csv --device auto"
)]
pub struct FuncdimArgs {
    /// The network
    pub model: String,
    /// The batch: one point per row
    pub data: Option<PathBuf>,
    /// Use the first N columns of DATA as inputs (the others may be targets)
    #[arg(long, value_name = "N", requires = "data")]
    pub inputs: Option<usize>,
    /// Without DATA: regions that meet a box, LO,HI for every input or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true, conflicts_with = "data")]
    pub domain: Option<String>,
    /// Without DATA, if not all regions are listed: the number of random points that look for them
    #[arg(long, value_name = "N", default_value_t = 10_000, conflicts_with = "data")]
    pub samples: usize,
    /// Without DATA: list all regions if there are at most so many; 0: random points only
    #[arg(long, value_name = "N", default_value_t = 10_000, conflicts_with = "data")]
    pub max_regions: u64,
    /// Also the generic rank: random parameters with the same activation patterns
    #[arg(long, requires = "data")]
    pub generic: bool,
    /// Also singular values, float64 rank and effective rank
    #[arg(long, requires = "data")]
    pub spectrum: bool,
    /// Also the float32 rank where it takes long
    #[arg(long, requires = "data")]
    pub float32: bool,
    /// Write the kernel to this npy file
    #[arg(long, value_name = "FILE", requires = "data")]
    pub ntk: Option<PathBuf>,
    /// The kernel summed over the outputs, one row per point
    #[arg(long, requires = "data")]
    pub trace: bool,
    /// Also the orbits of the network under its hidden symmetry groups and their stabilisers, exactly
    #[arg(long, visible_alias = "stabilizer")]
    pub stabiliser: bool,
    /// Draw the decomposition (.svg, .png, .pdf or .tex)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// The number of primes [default: until the probability of an error is below 1e-6, at most 3]
    #[arg(long, value_name = "N")]
    pub primes: Option<usize>,
    /// Where eliminations run: cpu, cuda, cuda:N (the GPU of number N, from 0), or auto (a GPU if one can be used)
    ///
    /// The answer is the same everywhere. A GPU needs NVIDIA's driver (CUDA 11.8 or later) and compute
    /// capability 8.0 or later. What it holds counts towards --memory; what does not fit it lies in the memory
    /// of the host.
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceChoice::Cpu)]
    pub device: DeviceChoice,
    #[command(flatten)]
    pub read: ReadArgs,
}

pub fn run(args: &FuncdimArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let deadline = global.deadline();
    let model = read_dense_model(&args.model, &args.read.options(), output)?;
    let device = Device::open(args.device).with_context(|| format!("--device {}", args.device))?;
    let options = DimensionOptions::new()
        .device(device)
        .seed(global.seed)
        .primes(args.primes)
        .generic(args.generic)
        .memory(deadline.room().unwrap_or(usize::MAX))
        .deadline(deadline);
    let deadline = options.deadline.clone();
    let (mut summary, written) = match &args.data {
        Some(path) => on_batch(args, &model.network, path, &options, output)?,
        None => (on_regions(args, &model.network, &options, output)?, true),
    };
    if args.stabiliser {
        dimension::add_orbits(&mut summary, &model.network, &deadline)?;
    }
    if let Some(path) = &args.plot {
        write_picture(path, &summary.draw())?;
    }
    // What was asked for beyond the rank, and is missing, is named in a warning.
    let complete = summary.rank.is_some()
        && (!args.generic || summary.rank_generic.is_some())
        && (!args.spectrum || summary.singular_values.is_some())
        && (!args.float32 || summary.rank_float32.is_some())
        && (!args.stabiliser || summary.orbits.len() == 3)
        && written;
    output.result(&summary.to_text(), &summary.to_json())?;
    Ok(if complete { Answer::Yes } else { Answer::Undecided })
}

/// The functional dimension on the batch of a data file, and whether all files were written.
fn on_batch(
    args: &FuncdimArgs,
    network: &Network,
    path: &Path,
    options: &DimensionOptions,
    output: &Output,
) -> anyhow::Result<(DimensionSummary, bool)> {
    let data = read_inputs(path, args.inputs, network)?;
    let place = || path.display().to_string();
    let kind = if args.trace { KernelKind::Trace } else { KernelKind::Full };
    let question = BatchQuestion {
        place: place(),
        points: &data.points,
        columns: data.columns.as_deref(),
        spectrum: args.spectrum,
        kind,
        float32: args.float32,
    };
    let summary =
        dimension::on_batch(&args.model, network, &question, options, &|text| output.progress(text));
    output.end_progress();
    let mut summary = summary.with_context(place)?;
    if let Some(path) = &args.ntk {
        let kernel = Kernel::new(network, &data.points).with_context(place)?;
        let written = write_kernel(&kernel, kind, path, &options.deadline);
        match (written, options.deadline.limit()) {
            (Err(_), Some(limit)) => {
                summary.warnings.push(format!("{limit}: {} was not written", path.display()));
                return Ok((summary, false));
            }
            (written, _) => written?,
        }
    }
    Ok((summary, true))
}

/// Writes the kernel block by block, unless the deadline comes first.
fn write_kernel(kernel: &Kernel, kind: KernelKind, path: &Path, deadline: &Deadline) -> Result<(), IoError> {
    let size = kernel.size(kind);
    write_atomically(path, |file| {
        npz::write_npy_header(&[size, size], file)?;
        kernel.blocks(kind, BLOCK, |block| {
            deadline.check("before the kernel was written").map_err(io::Error::other)?;
            npz::write_npy_numbers(block, file)
        })?;
        file.flush()
    })
}

fn on_regions(
    args: &FuncdimArgs,
    network: &Network,
    options: &DimensionOptions,
    output: &Output,
) -> anyhow::Result<DimensionSummary> {
    if args.samples == 0 {
        bail!("--samples 0: expected at least one point");
    }
    let domain = read_domain(args.domain.as_deref(), network.input_width())?;
    let question = RegionQuestion { domain: &domain, samples: args.samples, max_regions: args.max_regions };
    let summary =
        dimension::on_regions(&args.model, network, &question, options, &|text| output.progress(text));
    output.end_progress();
    summary
}

/// The columns of a data file that are the network's inputs.
pub fn read_inputs(path: &Path, inputs: Option<usize>, network: &Network) -> anyhow::Result<Data> {
    let mut data = load_data(path)?;
    let (expected, found) = (network.input_width(), data.points.cols());
    match inputs {
        Some(count) if count > found => {
            bail!("{}: --inputs {count}, but there are {found} columns", path.display())
        }
        Some(count) => {
            data.points = data.points.select_columns(&(0..count).collect::<Vec<_>>());
            data.columns = data.columns.map(|names| names.into_iter().take(count).collect());
        }
        None if found > expected => bail!(
            "{}: expected {expected} columns, as the network has inputs, found {found}; --inputs {expected} takes the first ones",
            path.display()
        ),
        None => {}
    }
    Ok(data)
}
