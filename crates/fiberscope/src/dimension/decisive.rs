//! The full functional dimension: the rank on a decisive set.
//!
//! A decisive set has `n_0 + 1` affinely independent points in the interior of every linear region
//! [grigsby2022functional, Section 3]. In a region the rows of the Jacobian are linear in `(x, 1)`, so for a
//! region that is known to have an interior the unit vectors of `R^{n_0 + 1}` serve as well as any such
//! points: what is needed of a region is its activation pattern. Patterns come from the polyhedral complex
//! ([`list_regions`]), or from sampling ([`sample_regions`]); then the rank is a lower bound, and the
//! estimated share of the samples' distribution that lies in regions not seen is `singletons / samples`
//! [good1953population, Section 2].

use fiberscope_core::{Domain, Matrix, Network, SignVector};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::batch::{Batch, RankInterval};
use super::bounds::{Bounds, parameters};
use super::device::{DeviceError, DeviceUse};
use super::field::Field;
use super::jacobian::{At, Factors};
use super::options::DimensionOptions;
use super::pattern::{LayerStates, Patterns};
use crate::complex::{Built, ComplexError, ComplexOptions, PolyhedralComplex, region_bound, walk_regions};
use crate::limit::LimitReached;

/// Complexes of at most so many inputs are built with all their cells; with more inputs the regions are
/// walked, if they can be at most [`WALKED`].
const BUILT: usize = 4;
const WALKED: f64 = 2000.0;
/// All regions are used, where some leave a doubt, if that takes at most so many multiplications.
const WORK: f64 = 1e11;

/// Regions and how they were found.
#[derive(Clone, Debug)]
pub struct RegionSample {
    patterns: Patterns,
    /// How much of the domain they cover.
    pub coverage: Coverage,
}

/// How much of the domain a list of regions covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coverage {
    /// All regions.
    Complete,
    /// The regions of random points.
    Sampled {
        /// The number of points.
        samples: usize,
        /// The share of further points that would lie in a region not listed, estimated.
        unseen: f64,
    },
}

impl RegionSample {
    /// A complete list of regions by their sign vectors, as a polyhedral complex gives it. A neuron that is
    /// zero on a whole region counts as inactive there.
    pub fn complete(network: &Network, regions: &[SignVector]) -> Self {
        RegionSample { patterns: Patterns::from_signs(network, regions.iter()), coverage: Coverage::Complete }
    }

    /// What the neurons do on all regions; `None` if not all are listed, or if a neuron is zero on a whole region, where it
    /// is neither on nor off.
    pub fn states(&self) -> Option<Vec<LayerStates>> {
        let all = self.coverage == Coverage::Complete && self.patterns.zeros() == 0;
        all.then(|| self.patterns.states())
    }

    /// The number of regions.
    pub fn count(&self) -> usize {
        self.patterns.count()
    }

    /// Which neurons of each hidden layer are on, region by region; `None` if a neuron is zero on a whole region.
    pub(crate) fn masks(&self, network: &Network) -> Option<Vec<Vec<Vec<bool>>>> {
        let widths = network.widths();
        let layer =
            |i: usize, l: usize| (0..widths[l + 1]).map(|unit| self.patterns.is_active(i, l, unit)).collect();
        let region = |i: usize| (0..network.hidden_depth()).map(|l| layer(i, l)).collect();
        (self.patterns.zeros() == 0).then(|| (0..self.count()).map(region).collect())
    }
}

/// All regions that meet the interior of a domain, exactly, from the polyhedral complex. `None` if the limits
/// are reached first, if the domain is a half-space, or if there are too many inputs to try.
pub fn list_regions(
    network: &Network,
    domain: &Domain,
    options: &ComplexOptions,
) -> Result<Option<RegionSample>, ComplexError> {
    let signs: Vec<SignVector> = if network.input_width() <= BUILT {
        // Of the cells the regions are enough.
        match PolyhedralComplex::build(network, domain, &options.clone().codimension(0)) {
            Ok(Built::Complete(complex)) => {
                complex.regions().map(|region| region.cell().sign_vector()).collect()
            }
            Ok(Built::Stopped { .. }) => return Ok(None),
            Err(ComplexError::HalfBounded { .. } | ComplexError::NotDouble { .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
    } else {
        let most = options.regions.map_or(WALKED, |regions| WALKED.min(regions as f64));
        if region_bound(network) > most {
            domain.check(network.input_width())?;
            return Ok(None);
        }
        let walked = walk_regions(network, domain, options)?;
        if !walked.complete {
            return Ok(None);
        }
        walked.sign_vectors(network)
    };
    Ok(Some(RegionSample::complete(network, &signs)))
}

/// The regions of random points: uniform in a box; in all of `R^n` along random directions at all distances
/// from 1/16 to 4096. Of the options the seed and the deadline count.
///
/// The domain must fit the network's inputs.
///
/// ```
/// use fiberscope::dimension::{Coverage, DimensionOptions, sample_regions};
/// use fiberscope::{Activation, Domain, Layer, Matrix, Network};
///
/// let hidden = Layer::new(Matrix::from_rows(&[[1.0], [-1.0]]).unwrap(), vec![0.0, 0.0], Activation::Relu);
/// let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
/// let network = Network::new(vec![hidden, output]).unwrap();
/// let regions = sample_regions(&network, &Domain::Space, 100, &DimensionOptions::new()).unwrap();
/// assert_eq!(regions.count(), 2);
/// assert!(matches!(regions.coverage, Coverage::Sampled { samples: 100, .. }));
/// ```
pub fn sample_regions(
    network: &Network,
    domain: &Domain,
    samples: usize,
    options: &DimensionOptions,
) -> Result<RegionSample, LimitReached> {
    options.deadline.check_room("the points that look for regions", sample_bytes(network, samples))?;
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let inputs = network.input_width();
    let mut points = Matrix::from_fn(samples, inputs, |_, _| 0.0);
    for i in 0..samples {
        sample_point(domain, points.row_mut(i), &mut rng);
    }
    let patterns = Patterns::of(network, &points, options)?;
    let open = if patterns.zeros() == 0 { None } else { Some(interior(network, &points, options)?) };
    let groups = patterns.regions();
    let is_open = |group: &&Vec<usize>| open.as_ref().is_none_or(|open| group.iter().any(|&i| open[i]));
    let kept: Vec<&Vec<usize>> = groups.iter().filter(is_open).collect();
    let singletons = kept.iter().filter(|group| group.len() == 1).count();
    let first: Vec<usize> = kept.iter().map(|group| group[0]).collect();
    let patterns = Patterns::of(network, &points.select_rows(&first), options)?;
    let unseen = singletons as f64 / samples.max(1) as f64;
    Ok(RegionSample { patterns, coverage: Coverage::Sampled { samples, unseen } })
}

/// About how many bytes so many points and their patterns take.
fn sample_bytes(network: &Network, samples: usize) -> usize {
    let words: usize = network.hidden_layers().iter().map(|layer| layer.width().div_ceil(64)).sum();
    samples.saturating_mul(8 * (2 * network.input_width() + 2 * words + 8))
}

/// Which points lie on no bent hyperplane.
fn interior(
    network: &Network,
    points: &Matrix,
    options: &DimensionOptions,
) -> Result<Vec<bool>, LimitReached> {
    let row = |i| Matrix::from_entries(1, points.cols(), points.row(i).to_vec()).expect("one row");
    (0..points.rows()).map(|i| Ok(Patterns::of(network, &row(i), options)?.zeros() == 0)).collect()
}

fn sample_point(domain: &Domain, point: &mut [f64], rng: &mut impl Rng) {
    match domain {
        Domain::Box(sides) => {
            for (x, side) in point.iter_mut().zip(sides) {
                let at: f64 = rng.random();
                let bound = |end: &Option<fiberscope_core::Rational>, other: f64| {
                    end.as_ref().map_or(other, fiberscope_core::Rational::to_f64)
                };
                let (low, high) = (bound(&side.lower, -4096.0), bound(&side.upper, 4096.0));
                *x = (low + at * (high - low)).clamp(low, high);
            }
        }
        Domain::Space => {
            let distance = 2f64.powf(rng.random_range(-4.0..12.0));
            point.iter_mut().for_each(|x| *x = rng.random_range(-1.0..1.0));
            let norm = point.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
            point.iter_mut().for_each(|x| *x *= distance / norm);
        }
    }
}

/// The functional dimension on a decisive set.
#[derive(Clone, Debug)]
pub struct FullDimension {
    /// The rank on the regions used: a lower bound of the functional dimension.
    pub rank: RankInterval,
    /// A certified upper bound of the functional dimension: that of the regions if they are complete, else
    /// that of the scalings.
    pub upper: usize,
    /// The regions known.
    pub regions: usize,
    /// The regions whose rows were used: no more than were needed, or than can raise the rank, with a margin.
    pub regions_used: usize,
    /// Whether the memory did not hold the rows of all regions that were needed.
    pub out_of_memory: bool,
    /// How much of the domain they cover.
    pub coverage: Coverage,
    /// The number `D` of parameters.
    pub parameters: usize,
    /// The bounds for all regions, or for those used if the regions are sampled and too many.
    pub bounds: Bounds,
    /// The states of the neurons over the same regions.
    pub states: Vec<LayerStates>,
    /// What the eliminations ran on; an error if the device that was asked for failed: then the rank is not known.
    pub device: Result<DeviceUse, DeviceError>,
}

/// The rank of the parameter Jacobian on a decisive set of the given regions.
///
/// ```
/// use fiberscope::complex::ComplexOptions;
/// use fiberscope::dimension::{DimensionOptions, full_functional_dimension, list_regions};
/// use fiberscope::{Activation, Domain, Layer, Matrix, Network};
///
/// // |x| has 7 parameters; scaling a hidden neuron changes nothing, and the last bias moves as the others do.
/// let hidden = Layer::new(Matrix::from_rows(&[[1.0], [-1.0]]).unwrap(), vec![0.0, 0.0], Activation::Relu);
/// let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
/// let network = Network::new(vec![hidden, output]).unwrap();
/// let regions = list_regions(&network, &Domain::Space, &ComplexOptions::new()).unwrap().unwrap();
/// let found = full_functional_dimension(&network, &regions, &DimensionOptions::new());
/// assert_eq!((found.rank.value(), found.parameters), (Some(4), 7));
/// ```
pub fn full_functional_dimension(
    network: &Network,
    regions: &RegionSample,
    options: &DimensionOptions,
) -> FullDimension {
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let widths = network.widths();
    let scaling = parameters(&widths) - widths[1..widths.len() - 1].iter().sum::<usize>();
    let rows_per_region = (widths[0] + 1) * network.output_width();
    // Three times as many rows as the rank can have, and never less than 64 regions.
    let most = (3 * scaling).div_ceil(rows_per_region).max(64);
    // The factors of one region after the other, in half of the memory: fewer regions give a lower bound,
    // too.
    let per_region = Factors::bytes(network, widths[0] + 1).max(1);
    let fit = (options.room() / 2 / per_region).max(1);
    let out_of_memory = fit < most.min(regions.count());
    let most = most.min(fit);
    let few = regions.patterns.first(most);
    let complete = regions.coverage == Coverage::Complete;
    let rows = (regions.count() * rows_per_region) as f64;
    let affordable = rows * (scaling as f64).powi(2) < WORK;
    let all = if complete || affordable { &regions.patterns } else { &few };
    let mut batch = Batch::of_regions(network, all);
    let field = Field::random(&mut rng).until(&options.deadline);
    if options.layer_bound {
        batch.add_layer_bound(&field, options, &mut rng);
    }
    let mut used = few.count();
    let mut first = Batch::of_regions(network, &few);
    first.bounds = batch.bounds.clone();
    let mut rank = first.rank(field, At::Network, options, &mut rng);
    let mut device = first.run.finish();
    if used < all.count() && affordable && rank.lower < rank.upper && rank.value().is_some() {
        let lower = rank.lower;
        let field = Field::random(&mut rng).until(&options.deadline);
        rank = batch.rank(field, At::Network, options, &mut rng);
        rank.lower = rank.lower.max(lower);
        used = all.count();
        device = device.and(batch.run.finish());
    }
    FullDimension {
        rank,
        upper: if complete { rank.upper } else { scaling },
        regions: regions.count(),
        regions_used: used,
        out_of_memory: out_of_memory && used < regions.count(),
        coverage: regions.coverage,
        parameters: parameters(&widths),
        bounds: batch.bounds,
        states: batch.states,
        device,
    }
}
