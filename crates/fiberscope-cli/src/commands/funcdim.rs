//! `fiberscope funcdim`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use fiberscope::complex::ComplexLimits;
use fiberscope::dimension::ntk::{Kernel, KernelKind, effective_rank, rank_float64};
use fiberscope::dimension::{
    Bounds, Coverage, DimensionOptions, LayerStates, NeuronState, Progress, RankInterval, RegionSample,
    full_functional_dimension, functional_dimension, list_regions, sample_regions,
};
use fiberscope_core::{Domain, Matrix, Network};
use fiberscope_io::{Data, load_data, npz, write_atomically};
use fiberscope_report::dimension::DimensionSummary;

use super::{read_domain, read_model};
use crate::Answer;
use crate::args::{Global, ReadArgs};
use crate::output::{Output, write_picture};

/// Without being asked, the float32 rank is computed if the smaller side of the Jacobian is at most this.
const FLOAT_RANK: usize = 2048;

/// The functional dimension of a network: the rank of its parameter Jacobian, exactly
///
/// With DATA (.csv, .npy, .npz) on that batch: the rank of the empirical neural tangent kernel. Without DATA on a decisive set: points of every
/// linear region, all of which are listed if they are few, or else those that random points find. The rank is that of the stored numbers, with a certified interval; upper bounds and a
/// decomposition explain it. Exit code 3: the limits ended the computation.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope funcdim model.safetensors inputs.csv\n  fiberscope funcdim model.onnx data.csv --inputs 8 --spectrum --ntk kernel.npy\n  fiberscope funcdim zoo:deep --box -1,1 --json"
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
    /// Draw the decomposition (.svg or .png)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// The number of primes [default: until the probability of an error is below 1e-6, at most 3]
    #[arg(long, value_name = "N")]
    pub primes: Option<usize>,
    /// Memory in megabytes that matrices may use
    #[arg(long, value_name = "MB", default_value_t = 12_000)]
    pub memory: usize,
    #[command(flatten)]
    pub read: ReadArgs,
}

impl FuncdimArgs {
    /// The arguments with nothing asked for but the rank on a batch.
    pub fn plain(model: &str, inputs: Option<usize>) -> Self {
        FuncdimArgs {
            model: model.into(),
            data: None,
            inputs,
            domain: None,
            samples: 10_000,
            max_regions: 10_000,
            generic: false,
            spectrum: false,
            float32: false,
            ntk: None,
            trace: false,
            plot: None,
            primes: None,
            memory: 12_000,
            read: ReadArgs::default(),
        }
    }
}

pub fn run(args: &FuncdimArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let deadline = global.time_limit.map(|limit| Instant::now() + Duration::from_secs_f64(limit));
    let model = read_model(&args.model, &args.read.options(), output)?;
    let options = DimensionOptions {
        seed: global.seed,
        primes: args.primes,
        generic: args.generic,
        memory: args.memory << 20,
        deadline,
        ..DimensionOptions::default()
    };
    let summary = match &args.data {
        Some(path) => on_batch(args, &model.network, path, &options, output)?,
        None => on_regions(args, &model.network, &options, output)?,
    };
    if let Some(path) = &args.plot {
        write_picture(path, &summary.draw())?;
    }
    output.result(&summary.to_text(), &summary.to_json())?;
    Ok(if summary.rank.is_some() { Answer::Yes } else { Answer::Undecided })
}

/// The functional dimension on the batch of a data file.
pub fn on_batch(
    args: &FuncdimArgs,
    network: &Network,
    path: &Path,
    options: &DimensionOptions,
    output: &Output,
) -> anyhow::Result<DimensionSummary> {
    let data = read_inputs(path, args.inputs, network)?;
    let place = || path.display().to_string();
    let found =
        functional_dimension(network, &data.points, options, &|p| show(output, p)).with_context(place)?;
    output.end_progress();
    let mut summary = DimensionSummary {
        on: format!("{} ({} points)", path.display(), data.points.rows()),
        rows: found.rows,
        regions: found.regions_sampled,
        data_rank: Some((found.data_rank.lower, data.points.cols() + 1)),
        rank_generic: found.generic.and_then(|rank| rank.value()),
        deficit: found.deficit.iter().flat_map(|d| d.named()).map(|(name, v)| (name.into(), v)).collect(),
        ..common(args, network, found.rank, found.rank.upper, &found.bounds, &found.states)
    };
    summary.warnings = warnings(&data, found.data_rank.upper, found.zeros);
    let asked = args.float32 || args.spectrum || args.ntk.is_some();
    let kernel = match Kernel::new(network, &data.points) {
        Ok(kernel) => kernel,
        // The exact rank does not need doubles to hold the kernel.
        Err(_) if !asked => return Ok(summary),
        Err(error) => return Err(error).with_context(place),
    };
    let small = found.rows.min(found.parameters) <= FLOAT_RANK;
    if args.float32 || small {
        let rank = kernel.rank_float32(options.memory);
        summary.rank_float32 = if args.float32 { Some(rank.with_context(place)?) } else { rank.ok() };
    }
    let kind = if args.trace { KernelKind::Trace } else { KernelKind::Full };
    if args.spectrum {
        let values = kernel.singular_values(options.memory).with_context(place)?;
        summary.rank_float64 = Some(rank_float64(&values, found.rows, found.parameters));
        let spectrum = kernel.spectrum(kind, options.memory).with_context(place)?;
        summary.effective_rank = Some(effective_rank(&spectrum));
        summary.singular_values = Some(values);
    }
    if let Some(path) = &args.ntk {
        let size = kernel.size(kind);
        write_atomically(path, |file| {
            npz::write_npy_header(&[size, size], file)?;
            kernel.blocks(kind, options.memory / 4, |block| npz::write_npy_numbers(block, file))?;
            file.flush()
        })?;
    }
    Ok(summary)
}

fn on_regions(
    args: &FuncdimArgs,
    network: &Network,
    options: &DimensionOptions,
    output: &Output,
) -> anyhow::Result<DimensionSummary> {
    let domain = read_domain(args.domain.as_deref(), network.input_width())?;
    let regions = find_regions(args, network, &domain, options, output)?;
    let found = full_functional_dimension(network, &regions, options, &|p| show(output, p));
    output.end_progress();
    let coverage = match found.coverage {
        Coverage::Complete => "all of them".to_owned(),
        Coverage::Sampled { samples, unseen } => format!(
            "found by {samples} random points; about {:.2} % of further points would lie in others",
            100.0 * unseen
        ),
    };
    let complete = found.coverage == Coverage::Complete;
    let used = if found.regions_used < found.regions {
        format!("; rows of {} used", found.regions_used)
    } else {
        String::new()
    };
    let place = if domain == Domain::Space { "a decisive set of R^n" } else { "a decisive set of the box" };
    let mut summary = DimensionSummary {
        on: if complete { place.to_owned() } else { format!("{place}, as far as it was found") },
        rows: found.bounds.rows,
        regions: found.regions,
        coverage: Some(coverage + &used),
        ..common(args, network, found.rank, found.upper, &found.bounds, &found.states)
    };
    let hidden = |bound: &str| ["rows", "theorem_1", "symmetry_on_data"].contains(&bound);
    summary.bounds.retain(|(name, _)| !hidden(name));
    let doubt = match (found.rank.lower < found.upper, found.regions_used < found.regions) {
        (false, _) => None,
        (true, true) => Some("the rows of some regions were not used, which would take long"),
        (true, false) if complete => None,
        (true, false) => Some("there may be regions that no random point met"),
    };
    summary.warnings.extend(doubt.map(|reason| format!("the dimension may be larger: {reason}")));
    Ok(summary)
}

/// All regions, if they can be listed within the limits, or those that random points find.
fn find_regions(
    args: &FuncdimArgs,
    network: &Network,
    domain: &Domain,
    options: &DimensionOptions,
    output: &Output,
) -> anyhow::Result<RegionSample> {
    if args.samples == 0 {
        bail!("--samples 0: expected at least one point");
    }
    if let Domain::Box(sides) = domain
        && let Some(input) = sides.iter().position(|side| side.lower == side.upper)
    {
        bail!("input {}: the box has a side of length 0; expected one with an interior", input + 1);
    }
    if args.max_regions > 0 {
        // Half of the time is left to sampling and to the rank.
        let time = options.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()) / 2);
        let limits = ComplexLimits { time, regions: Some(args.max_regions) };
        let listed = list_regions(network, domain, &limits, &|regions| {
            output.progress(&format!("regions: {regions} so far"));
        })?;
        output.end_progress();
        if let Some(regions) = listed {
            return Ok(regions);
        }
    }
    let regions = sample_regions(network, domain, args.samples, options.seed);
    if regions.count() == 0 {
        bail!("none of the {} random points lies inside a region", args.samples);
    }
    Ok(regions)
}

fn common(
    args: &FuncdimArgs,
    network: &Network,
    rank: RankInterval,
    upper: usize,
    bounds: &Bounds,
    states: &[LayerStates],
) -> DimensionSummary {
    let named = bounds.named().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let count = |layer: &LayerStates| {
        [NeuronState::Switching, NeuronState::Active, NeuronState::Inactive].map(|state| layer.count(state))
    };
    let fixed = states.iter().enumerate().flat_map(|(l, layer)| {
        let neurons = layer.neurons.iter().enumerate();
        neurons
            .filter(|(_, state)| **state != NeuronState::Switching)
            .map(move |(unit, state)| (l + 1, unit + 1, state.name().to_owned()))
    });
    DimensionSummary {
        name: args.model.clone(),
        rank: rank.value(),
        interval: (rank.lower, upper),
        failure_probability: rank.failure_probability,
        parameters: network.parameter_count(),
        bounds: named,
        layers: states.iter().map(count).collect(),
        neurons: fixed.collect(),
        ..DimensionSummary::default()
    }
}

fn show(output: &Output, progress: Progress) {
    output.progress(&format!("rank: {} independent rows, of at most {}", progress.done, progress.total));
}

/// The columns of a data file that are the network's inputs.
fn read_inputs(path: &Path, inputs: Option<usize>, network: &Network) -> anyhow::Result<Data> {
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

/// What is odd about the data.
fn warnings(data: &Data, data_rank: usize, zeros: usize) -> Vec<String> {
    let points = &data.points;
    let name = |j: usize| {
        let header = data.columns.as_ref().map(|names| format!(" ({})", names[j]));
        format!("column {}{}", j + 1, header.unwrap_or_default())
    };
    let constant: Vec<usize> = (0..points.cols()).filter(|&j| is_constant(points, j)).collect();
    let mut warnings: Vec<String> =
        constant.iter().map(|&j| format!("{} is constant on the batch", name(j))).collect();
    let full = points.rows().min(points.cols() + 1);
    if data_rank < full && data_rank + constant.len() < points.cols() + 1 {
        warnings.push(format!(
            "the inputs satisfy {} linear relation(s) exactly: they span {} of {} dimensions (float32 standardisation would hide this)",
            full - data_rank,
            data_rank - 1,
            points.cols()
        ));
    }
    if zeros > 0 {
        warnings.push(format!(
            "{zeros} pre-activation(s) are exactly zero: points lie on kinks, and the neurons count as inactive there"
        ));
    }
    warnings
}

fn is_constant(points: &Matrix, j: usize) -> bool {
    points.rows() > 1 && points.column(j).all(|x| *x == points[(0, j)])
}
