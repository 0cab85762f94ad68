//! The functional dimension as data for reports.

use anyhow::bail;
use fiberscope::complex::{ComplexOptions, CountProgress};
use fiberscope::dimension::ntk::{Kernel, KernelKind, effective_rank, rank_float64};
use fiberscope::dimension::{
    Bounds, Coverage, Device, DeviceUse, DimensionError, DimensionOptions, DimensionProgress,
    FunctionalDimension, LayerStates, NeuronState, RankInterval, RegionSample, full_functional_dimension,
    functional_dimension, list_regions, sample_regions,
};
use fiberscope::limit::Progress;
use fiberscope_core::{Domain, Matrix, Network};

use super::DimensionSummary;
use crate::Say;
use crate::number::{grouped, significant};

/// Without being asked, the float32 rank is computed if the smaller side of the Jacobian is at most this: it then
/// takes at most about as long as the exact one.
const FLOAT_RANK: usize = 1024;

/// A batch of points and what to compute on it.
#[derive(Clone, Debug)]
pub struct BatchQuestion<'a> {
    /// Where the points come from.
    pub place: String,
    /// One point per row.
    pub points: &'a Matrix,
    /// The names of the columns, if they have some.
    pub columns: Option<&'a [String]>,
    /// Also singular values, float64 rank and effective rank.
    pub spectrum: bool,
    /// The effective rank is that of this kernel.
    pub kind: KernelKind,
    /// Also the float32 rank where it takes long.
    pub float32: bool,
}

impl<'a> BatchQuestion<'a> {
    /// The rank on the points of a place, and no more.
    pub fn rank(place: String, points: &'a Matrix, columns: Option<&'a [String]>) -> Self {
        BatchQuestion { place, points, columns, spectrum: false, kind: KernelKind::Full, float32: false }
    }
}

/// Where regions are looked for.
#[derive(Clone, Debug)]
pub struct RegionQuestion<'a> {
    /// The inputs.
    pub domain: &'a Domain,
    /// The number of random points that look for regions if not all are listed.
    pub samples: usize,
    /// All regions are listed if there are at most so many.
    pub max_regions: u64,
}

/// The functional dimension of the network `name` on a batch.
pub fn on_batch(
    name: &str,
    network: &Network,
    question: &BatchQuestion,
    options: &DimensionOptions,
    say: Say,
) -> anyhow::Result<DimensionSummary> {
    let points = question.points;
    let tell = |progress: DimensionProgress| show(say, progress);
    let found = functional_dimension(network, points, &options.clone().progress(Progress::to(&tell)))?;
    let mut summary = summarize(name, network, question, &found);
    summary.device = device_words(&options.device, &found.device);
    summary.warnings = warnings(question, found.data_rank.upper, found.zeros);
    let asked = question.float32 || question.spectrum;
    let small = found.rows.min(found.parameters) <= FLOAT_RANK;
    if !asked && !small {
        return Ok(summary);
    }
    if let Some(limit) = options.deadline.limit() {
        if asked {
            summary.warnings.push(format!("{limit}: singular values and float ranks were not computed"));
        }
        return Ok(summary);
    }
    if let Some(rank) = summary.rank {
        say(&format!("the rank is {rank}; now the ranks in doubles"));
    }
    let kernel = match Kernel::new(network, points) {
        Ok(kernel) => kernel,
        // The exact rank does not need doubles to hold the kernel.
        Err(_) if !asked => return Ok(summary),
        Err(error) => return Err(error.into()),
    };
    if question.float32 || small {
        let rank = kernel.rank_float32(options.memory);
        summary.rank_float32 =
            if question.float32 { within_limits(rank, &mut summary.warnings)? } else { rank.ok() };
    }
    if question.spectrum
        && let Some(values) = within_limits(kernel.singular_values(options.memory), &mut summary.warnings)?
        && let Some(spectrum) =
            within_limits(kernel.spectrum(question.kind, options.memory), &mut summary.warnings)?
    {
        summary.rank_float64 = Some(rank_float64(&values, found.rows, found.parameters));
        summary.effective_rank = Some(effective_rank(&spectrum));
        summary.singular_values = Some(values);
    }
    Ok(summary)
}

/// What was found on a batch; without warnings about its points, which are not looked at.
pub fn summarize(
    name: &str,
    network: &Network,
    question: &BatchQuestion,
    found: &FunctionalDimension,
) -> DimensionSummary {
    let points = found.rows / network.output_width().max(1);
    DimensionSummary {
        on: format!("{} ({points} points)", question.place),
        rows: found.rows,
        regions: found.regions_sampled,
        data_rank: Some((found.data_rank.lower, network.input_width() + 1)),
        rank_generic: found.generic.and_then(|rank| rank.value()),
        deficit: found.deficit.iter().flat_map(|d| d.named()).map(|(name, v)| (name.into(), v)).collect(),
        ..common(name, network, found.rank, found.rank.upper, &found.bounds, &found.states)
    }
}

/// A result, or a warning that a limit came first.
fn within_limits<T>(
    result: Result<T, DimensionError>,
    warnings: &mut Vec<String>,
) -> Result<Option<T>, DimensionError> {
    match result {
        Err(DimensionError::Limit(reached)) => {
            warnings.push(reached.to_string());
            Ok(None)
        }
        result => result.map(Some),
    }
}

/// The functional dimension of the network `name` on a decisive set.
pub fn on_regions(
    name: &str,
    network: &Network,
    question: &RegionQuestion,
    options: &DimensionOptions,
    say: Say,
) -> anyhow::Result<DimensionSummary> {
    let regions = find_regions(network, question, options, say)?;
    let tell = |progress: DimensionProgress| show(say, progress);
    let found = full_functional_dimension(network, &regions, &options.clone().progress(Progress::to(&tell)));
    let device = device_words(&options.device, &found.device?);
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
    let place =
        if *question.domain == Domain::Space { "a decisive set of R^n" } else { "a decisive set of the box" };
    let mut summary = DimensionSummary {
        on: if complete { place.to_owned() } else { format!("{place}, as far as it was found") },
        rows: found.bounds.rows,
        regions: found.regions,
        coverage: Some(coverage + &used),
        device,
        ..common(name, network, found.rank, found.upper, &found.bounds, &found.states)
    };
    // A bound for some of the regions is none for all of them.
    let few = found.regions_used < found.regions;
    let hidden = |bound: &str| {
        ["rows", "theorem_1", "symmetry_on_data"].contains(&bound) || (few && bound == "regions")
    };
    if found.out_of_memory && found.rank.lower < found.upper {
        summary.rank = None;
    }
    summary.bounds.retain(|(name, _)| !hidden(name));
    let doubt = match (found.rank.lower < found.upper, found.regions_used < found.regions) {
        (false, _) => None,
        (true, true) if found.out_of_memory => {
            Some("the memory limit was reached before the rows of all regions were used")
        }
        (true, true) => Some("the rows of some regions were not used, which would take long"),
        (true, false) if complete => None,
        (true, false) => Some("there may be regions that no random point met"),
    };
    summary.warnings.extend(doubt.map(|reason| format!("the dimension may be larger: {reason}")));
    Ok(summary)
}

/// All regions, if they can be listed within the limits, or those that random points find.
fn find_regions(
    network: &Network,
    question: &RegionQuestion,
    options: &DimensionOptions,
    say: Say,
) -> anyhow::Result<RegionSample> {
    let domain = question.domain;
    if question.samples == 0 {
        bail!("no samples: expected at least one point");
    }
    if let Domain::Box(sides) = domain
        && let Some(input) = sides.iter().position(|side| side.lower == side.upper)
    {
        bail!("input {}: the box has a side of length 0; expected one with an interior", input + 1);
    }
    if question.max_regions > 0 {
        // Half of the time is left to sampling and to the rank.
        let half = options.deadline.left().map(|left| options.deadline.at_most(left / 2));
        let deadline = half.unwrap_or_else(|| options.deadline.clone());
        let tell = |progress: CountProgress| say(&format!("regions: {} so far", progress.regions));
        let options = ComplexOptions::new()
            .regions(question.max_regions)
            .deadline(deadline)
            .progress(Progress::to(&tell));
        if let Some(regions) = list_regions(network, domain, &options)? {
            return Ok(regions);
        }
    }
    let regions = sample_regions(network, domain, question.samples, options)?;
    if regions.count() == 0 {
        bail!("none of the {} random points lies inside a region", question.samples);
    }
    Ok(regions)
}

fn common(
    name: &str,
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
        name: name.to_owned(),
        rank: rank.value(),
        interval: (rank.lower, upper),
        failure_probability: rank.failure_probability,
        parameters: network.parameter_count(),
        widths: network.widths(),
        bounds: named,
        layers: states.iter().map(count).collect(),
        neurons: fixed.collect(),
        ..DimensionSummary::default()
    }
}

fn show(say: Say, progress: DimensionProgress) {
    say(&format!("rank: {} independent rows, of at most {}", progress.done, progress.total));
}

/// What the eliminations ran on, if a device was asked for.
fn device_words(device: &Device, used: &DeviceUse) -> Option<String> {
    let why = used.fallback.as_ref().or(device.fallback());
    match (&used.gpu, why) {
        (Some(gpu), why) => {
            let rest = why.map_or(String::new(), |why| format!("; the rest on the CPU, since {why}"));
            let (seconds, bytes) = (significant(used.seconds, 3), grouped(used.bytes.div_ceil(1 << 20)));
            Some(format!("{gpu}: {seconds} s, {bytes} MB at most{rest}"))
        }
        (None, Some(why)) => Some(format!("CPU, since {why}")),
        (None, None) => device.name().map(|gpu| format!("CPU: too little to eliminate for {gpu}")),
    }
}

/// What is odd about the data.
fn warnings(question: &BatchQuestion, data_rank: usize, zeros: usize) -> Vec<String> {
    let points = question.points;
    let name = |j: usize| {
        let header = question.columns.and_then(|names| names.get(j)).map(|name| format!(" ({name})"));
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
