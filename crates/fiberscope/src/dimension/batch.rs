//! The functional dimension of a batch.

use fiberscope_core::{Matrix, Network, RankBounds};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::bounds::{Bounds, Deficit, ReducedArchitecture, StateCounts, parameters, theorem_1};
use super::data_rank::independent_rows;
use super::device::DeviceUse;
use super::field::Field;
use super::jacobian::{At, Factors, Vectors};
use super::modular::{Modular, Run};
use super::options::{DimensionOptions, DimensionProgress};
use super::pattern::{LayerStates, Patterns};
use super::{DimensionError, check_points};

/// Further primes are tried until the rank is too low with at most this probability.
const DOUBT: f64 = 1e-6;
/// More primes than this are not tried unasked.
const PRIMES: usize = 3;
/// Eliminations of more multiplications than this are not repeated unasked.
const REPEATED_WORK: f64 = 2e10;

/// What is known of a rank.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RankInterval {
    /// The rank is at least this: certain.
    pub lower: usize,
    /// The rank is at most this: certain.
    pub upper: usize,
    /// The rank is larger than `lower` with about this probability, residues taken as random; 0 if the bounds
    /// meet, 1 if the computation was stopped.
    pub failure_probability: f64,
}

impl RankInterval {
    /// The rank: certain if the bounds meet, else but for the failure probability. `None` if the computation
    /// was stopped.
    pub fn value(&self) -> Option<usize> {
        (self.failure_probability < 1.0).then_some(self.lower)
    }
}

/// The functional dimension of a batch and what explains it.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct FunctionalDimension {
    /// The rank of the parameter Jacobian on the batch.
    pub rank: RankInterval,
    /// The generic rank of the activation cell, if it was asked for.
    pub generic: Option<RankInterval>,
    /// Points times outputs.
    pub rows: usize,
    /// The number `D` of parameters.
    pub parameters: usize,
    /// Distinct activation patterns on the batch.
    pub regions_sampled: usize,
    /// The rank of `(X, 1)`.
    pub data_rank: RankBounds,
    /// The upper bounds.
    pub bounds: Bounds,
    /// The states of the hidden neurons, layer by layer.
    pub states: Vec<LayerStates>,
    /// What `D - FD` is made of; `None` if the computation was stopped.
    pub deficit: Option<Deficit>,
    /// Points whose pattern was settled in exact arithmetic.
    pub settled: usize,
    /// Pre-activations that are exactly zero: there the network has a kink, and the neuron counts as
    /// inactive.
    pub zeros: usize,
    /// What the eliminations ran on. (Not stored: results are the same bytes wherever they were computed.)
    #[serde(skip)]
    pub device: DeviceUse,
}

/// The functional dimension of a network on a batch, one point per row of `points`.
///
/// ```
/// use fiberscope::core::{Activation, Layer, Matrix, Network};
/// use fiberscope::dimension::{DimensionOptions, functional_dimension};
///
/// // |x| on two points on either side of the kink: 7 parameters, 2 rows.
/// let hidden = Layer::new(Matrix::from_rows(&[[1.0], [-1.0]]).unwrap(), vec![0.0, 0.0], Activation::Relu);
/// let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
/// let network = Network::new(vec![hidden, output]).unwrap();
/// let points = Matrix::from_rows(&[[-1.0], [2.0], [3.0], [4.0]]).unwrap();
/// let found = functional_dimension(&network, &points, &DimensionOptions::new()).unwrap();
/// assert_eq!(found.rank.value(), Some(3));
/// assert_eq!(found.rank.upper, 3);
/// assert_eq!(found.regions_sampled, 2);
/// ```
pub fn functional_dimension(
    network: &Network,
    points: &Matrix,
    options: &DimensionOptions,
) -> Result<FunctionalDimension, DimensionError> {
    check_points(network, points)?;
    let patterns = Patterns::of(network, points, options)?;
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let field = Field::random(&mut rng).until(&options.deadline);
    let homogeneous = homogeneous(points);
    let mut batch = Batch::new(&field, network, &patterns, homogeneous, &mut rng);
    if options.layer_bound {
        batch.add_layer_bound(&field, options, &mut rng);
    }
    let rank = batch.rank(field, At::Network, options, &mut rng);
    let generic = options.generic.then(|| {
        let field = Field::random(&mut rng).until(&options.deadline);
        batch.rank(field, At::Random, options, &mut rng)
    });
    let widths = network.widths();
    let affine_dimension = batch.data_rank.upper - 1;
    let deficit =
        rank.value().map(|rank| Deficit::new(&widths, &batch.counts, affine_dimension, &batch.bounds, rank));
    Ok(FunctionalDimension {
        rank,
        generic,
        rows: batch.bounds.rows,
        parameters: parameters(&widths),
        regions_sampled: batch.regions,
        data_rank: batch.data_rank,
        bounds: batch.bounds,
        states: batch.states,
        deficit,
        settled: patterns.settled(),
        zeros: patterns.zeros(),
        device: batch.run.finish()?,
    })
}

/// `(X, 1)`.
fn homogeneous(points: &Matrix) -> Matrix {
    let cols = points.cols();
    Matrix::from_fn(points.rows(), cols + 1, |i, j| if j < cols { points[(i, j)] } else { 1.0 })
}

/// Vectors with patterns, reduced to as many per region as are independent, and the bounds.
pub(super) struct Batch<'a> {
    network: &'a Network,
    patterns: &'a Patterns,
    vectors: Vectors,
    pub regions: usize,
    pub data_rank: RankBounds,
    pub states: Vec<LayerStates>,
    pub counts: Vec<StateCounts>,
    pub bounds: Bounds,
    pub run: Run,
}

impl<'a> Batch<'a> {
    /// Row `i` of `homogeneous` has pattern `i`.
    pub fn new(
        field: &Field,
        network: &'a Network,
        patterns: &'a Patterns,
        homogeneous: Matrix,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let (widths, outputs) = (network.widths(), network.output_width());
        let states = patterns.states();
        let counts: Vec<StateCounts> = states.iter().map(StateCounts::from).collect();
        let all: Vec<usize> = (0..patterns.count()).collect();
        let (_, data_rank) = independent_rows(field, &homogeneous, &all, homogeneous.cols(), rng);
        let regions = patterns.regions();
        let (kept, live) = representatives(field, patterns, &homogeneous, &regions, data_rank.upper, rng);
        let symmetry = ReducedArchitecture::new(widths[0], &counts, outputs).bound();
        let bounds = Bounds {
            rows: patterns.count() * outputs,
            scaling: parameters(&widths) - widths[1..widths.len() - 1].iter().sum::<usize>(),
            theorem_1: theorem_1(&widths, &counts),
            symmetry,
            symmetry_on_data: ReducedArchitecture::new(data_rank.upper - 1, &counts, outputs).bound(),
            regions: outputs * live,
            layers: None,
        };
        let vectors = Vectors { coordinates: homogeneous.select_rows(&kept), pattern: kept };
        let (regions, run) = (regions.len(), Run::default());
        Batch { network, patterns, vectors, regions, data_rank, states, counts, bounds, run }
    }

    /// The batch of regions all of whose interior points count: one pattern per region, the unit vectors in
    /// each.
    pub fn of_regions(network: &'a Network, patterns: &'a Patterns) -> Self {
        let (widths, outputs) = (network.widths(), network.output_width());
        let states = patterns.states();
        let counts: Vec<StateCounts> = states.iter().map(StateCounts::from).collect();
        let dimension = widths[0] + 1;
        let mut dead = std::collections::BTreeSet::new();
        let mut pattern = Vec::new();
        for i in 0..patterns.count() {
            match patterns.last_dead_layer(i) {
                None => pattern.extend(std::iter::repeat_n(i, dimension)),
                Some(layer) if dead.insert(layer) => pattern.extend(std::iter::repeat_n(i, dimension)),
                Some(_) => {}
            }
        }
        let live = (0..patterns.count()).filter(|&i| patterns.last_dead_layer(i).is_none()).count();
        let coordinates =
            Matrix::from_fn(pattern.len(), dimension, |i, j| if i % dimension == j { 1.0 } else { 0.0 });
        let symmetry = ReducedArchitecture::new(widths[0], &counts, outputs).bound();
        let bounds = Bounds {
            rows: pattern.len() * outputs,
            scaling: parameters(&widths) - widths[1..widths.len() - 1].iter().sum::<usize>(),
            theorem_1: theorem_1(&widths, &counts),
            symmetry,
            symmetry_on_data: symmetry,
            regions: outputs * (live * dimension + dead.len()),
            layers: None,
        };
        let data_rank = RankBounds { lower: dimension, upper: dimension };
        let vectors = Vectors { coordinates, pattern };
        let (regions, run) = (patterns.count(), Run::default());
        Batch { network, patterns, vectors, regions, data_rank, states, counts, bounds, run }
    }

    /// Adds the layer bound, with ranks modulo the prime at random parameters: at special ones a layer's
    /// features can have a lower rank while its symmetries no longer act freely, and the sum of the minima
    /// would be too low. The bound is left out if time or memory do not suffice.
    pub fn add_layer_bound(&mut self, field: &Field, options: &DimensionOptions, rng: &mut ChaCha8Rng) {
        let vectors = self.vectors.pattern.len();
        let widest = self.network.widths().into_iter().max().unwrap_or(0) + 1;
        let mixed = 8 * widest.saturating_mul(vectors.saturating_add(widest));
        if Factors::bytes(self.network, vectors).saturating_add(mixed) > options.room() || field.is_late() {
            return;
        }
        let factors = Factors::new(field, self.network, self.patterns, &self.vectors, At::Random, rng);
        let outputs = self.network.output_width();
        let reduced = ReducedArchitecture::new(self.data_rank.upper - 1, &self.counts, outputs);
        let hidden = self.network.hidden_depth();
        let layer = |l: usize| {
            let groups = self.patterns.groups(&self.vectors.pattern, l - 1);
            let features = factors.input_ranks(l - 1, &groups, rng);
            reduced.share(l).min(outputs * features)
        };
        let bound = (1..=hidden + 1).map(layer).sum();
        if !field.is_late() {
            self.bounds.layers = Some(bound);
        }
    }

    /// The rank of the Jacobian, by eliminations modulo several primes, `field` the first.
    pub fn rank(
        &self,
        field: Field,
        at: At,
        options: &DimensionOptions,
        rng: &mut ChaCha8Rng,
    ) -> RankInterval {
        let upper = self.bounds.certified();
        let mut field = field;
        let mut interval = RankInterval { lower: 0, upper, failure_probability: 1.0 };
        let most = options.primes.unwrap_or(PRIMES).max(1);
        for attempt in 0..most {
            if attempt > 0 {
                field = Field::random(rng).until(&options.deadline);
            }
            let found = self.modular_rank(&field, at, options, rng, &mut interval.lower);
            let Some(Modular { work, degree }) = found else { return interval };
            if interval.lower == upper {
                interval.failure_probability = 0.0;
                return interval;
            }
            let one = (degree * interval.lower.max(1) * self.network.depth()) as f64 / field.prime();
            interval.failure_probability *= one.min(0.5);
            let enough = interval.failure_probability < DOUBT || work > REPEATED_WORK;
            if options.primes.is_none() && enough {
                break;
            }
        }
        interval
    }

    /// Raises `lower` to the rank modulo one prime; `None` if time or memory ran out or a device failed,
    /// `lower` then being what was found.
    fn modular_rank(
        &self,
        field: &Field,
        at: At,
        options: &DimensionOptions,
        rng: &mut ChaCha8Rng,
        lower: &mut usize,
    ) -> Option<Modular> {
        if Factors::bytes(self.network, self.vectors.pattern.len()) > options.room() || field.is_late() {
            return None;
        }
        let factors = Factors::new(field, self.network, self.patterns, &self.vectors, at, rng);
        let upper = self.bounds.certified().min(factors.rows());
        if self.data_rank.lower == self.vectors.pattern.len() {
            *lower = factors.signal_ranks(rng).max(*lower);
            if *lower == upper {
                return Some(Modular { work: 0.0, degree: 2 });
            }
        }
        let go_on = |done: usize, bytes: usize| {
            options.progress.report(DimensionProgress { done, total: upper });
            bytes <= options.memory && !options.deadline.is_past()
        };
        let only = self.ample_layer(upper);
        let (symmetric, plain) = self.costs(factors.rows(), upper);
        if symmetric < plain {
            let on = (&options.device, symmetric);
            let (rank, ended) = self.run.symmetric_rank(on, &factors, (upper, only), &go_on, rng);
            *lower = rank.max(*lower);
            if !ended {
                return None;
            }
            if rank == upper || only.is_none() {
                return Some(Modular { work: symmetric, degree: 4 });
            }
        }
        let on = (&options.device, plain);
        let (rank, ended) = self.run.sketched_rank(on, &factors, (upper, only), &go_on, rng);
        *lower = rank.max(*lower);
        ended.then_some(Modular { work: plain, degree: 2 })
    }

    /// About how many multiplications the symmetric and the plain elimination take.
    fn costs(&self, rows: usize, rank: usize) -> (f64, f64) {
        let cost = |l: usize| self.layer_cost(l);
        let columns = self.ample_layer(rank).map_or_else(|| (0..self.network.depth()).map(cost).sum(), cost);
        let (m, r, w) = (rows as f64, rank as f64, columns as f64);
        ((m.powi(3) - (m - r).powi(3)) / 6.0 + m * r * w, m * r * (r / 2.0 + w) - r.powi(3) / 6.0)
    }

    /// The multiplications per entry of a sketch or kernel of a layer.
    fn layer_cost(&self, layer: usize) -> usize {
        let widths = self.network.widths();
        widths[layer] + 1 + widths[layer + 1]
    }

    /// The narrowest layer whose share of the symmetry bound is enough for a rank, if that saves work.
    fn ample_layer(&self, rank: usize) -> Option<usize> {
        let reduced =
            ReducedArchitecture::new(self.data_rank.upper - 1, &self.counts, self.network.output_width());
        let cost = |l: usize| self.layer_cost(l);
        let total: usize = (0..self.network.depth()).map(cost).sum();
        let ample = (0..self.network.depth()).filter(|&l| reduced.share(l + 1) >= rank);
        ample.min_by_key(|&l| cost(l)).filter(|&l| 3 * cost(l) < 2 * total)
    }
}

/// Independent vectors of every region, one region with each last dead layer, and the sum of the (certified
/// upper) ranks of the live regions plus the number of distinct last dead layers.
fn representatives(
    field: &Field,
    patterns: &Patterns,
    homogeneous: &Matrix,
    regions: &[Vec<usize>],
    data_rank: usize,
    rng: &mut ChaCha8Rng,
) -> (Vec<usize>, usize) {
    let (mut kept, mut sum) = (Vec::new(), 0);
    let mut dead = std::collections::BTreeSet::new();
    for region in regions {
        match patterns.last_dead_layer(region[0]) {
            None => {
                let (chosen, bounds) = independent_rows(field, homogeneous, region, data_rank, rng);
                kept.extend(chosen);
                sum += bounds.upper;
            }
            // The rows are the same at all points behind the same dead layer.
            Some(layer) => {
                if dead.insert(layer) {
                    kept.push(region[0]);
                    sum += 1;
                }
            }
        }
    }
    kept.sort_unstable();
    (kept, sum)
}
