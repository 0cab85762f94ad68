//! Training from many seeds in parallel, with records on the way.

use fiberscope_core::{Matrix, Network};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::neurons::{changes, state_signs};
use super::real::Real;
use super::strata::StratumRecord;
use super::trainer::{Samples, TrainOptions, Trainer};
use super::{TrainError, TrainState};
use crate::dimension::ntk::Kernel;
use crate::dimension::{
    DimensionError, DimensionOptions, LayerStates, NeuronState, Patterns, functional_dimension,
};
use crate::limit::Deadline;
use crate::linear::Conserved;

/// Strata of larger networks are not recorded: each record takes a decomposition of every partial product.
const STRATA_WIDTH: usize = 200;
/// See [`STRATA_WIDTH`].
const STRATA_DEPTH: usize = 12;

/// What is recorded and when, and who is told. By default there is a record at the start and one at the end,
/// without the functional dimension, and nobody is told.
///
/// ```
/// use fiberscope::train::{TrackOptions, TrainEvent};
///
/// let note = |event: TrainEvent| -> std::io::Result<()> {
///     if let TrainEvent::Record(record) = event {
///         println!("epoch {}: dimension {}", record.epoch, record.rank);
///     }
///     Ok(())
/// };
/// let track = TrackOptions::new().every(50).dimension(true).listener(&note);
/// assert_eq!((track.every, track.checkpoint), (50, 0));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct TrackOptions<'a, E = TrainError> {
    /// A record every so many epochs, and one at the end; 0 for none between.
    pub every: u64,
    /// Records have the functional dimension on all inputs.
    pub dimension: bool,
    /// Records have the stratum, singular values up to this counting as zero; for linear networks only.
    pub strata: Option<f64>,
    /// A state is handed over every so many epochs, and at the end; 0 for none between.
    pub checkpoint: u64,
    /// When to stop, at the end of an epoch.
    pub deadline: Deadline,
    /// Who is told what happens, from several threads. An error of the listener ends the training of that
    /// seed.
    pub listener: Option<TrainListener<'a, E>>,
}

/// A function that is told what happens, from several threads.
pub type TrainListener<'a, E> = &'a (dyn Fn(TrainEvent) -> Result<(), E> + Sync);

impl Default for TrackOptions<'_> {
    fn default() -> Self {
        TrackOptions {
            every: 0,
            dimension: false,
            strata: None,
            checkpoint: 0,
            deadline: Deadline::NEVER,
            listener: None,
        }
    }
}

impl TrackOptions<'_> {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<E> TrackOptions<'_, E> {
    /// A record every so many epochs.
    pub fn every(self, epochs: u64) -> Self {
        TrackOptions { every: epochs, ..self }
    }

    /// Whether records have the functional dimension.
    pub fn dimension(self, dimension: bool) -> Self {
        TrackOptions { dimension, ..self }
    }

    /// Whether records have the stratum, and what counts as zero.
    pub fn strata(self, threshold: impl Into<Option<f64>>) -> Self {
        TrackOptions { strata: threshold.into(), ..self }
    }

    /// A state every so many epochs.
    pub fn checkpoint(self, epochs: u64) -> Self {
        TrackOptions { checkpoint: epochs, ..self }
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        TrackOptions { deadline, ..self }
    }

    /// Who is told what happens.
    pub fn listener<F>(self, listener: TrainListener<'_, F>) -> TrackOptions<'_, F> {
        let TrackOptions { every, dimension, strata, checkpoint, deadline, listener: _ } = self;
        TrackOptions { every, dimension, strata, checkpoint, deadline, listener: Some(listener) }
    }

    /// Tells the listener, if there is one.
    fn tell(&self, event: TrainEvent) -> Result<(), E> {
        self.listener.map_or(Ok(()), |listener| listener(event))
    }
}

/// Where a training starts.
#[derive(Clone, Debug, PartialEq)]
pub enum TrainStart {
    /// At the parameters that a seed draws.
    Seed(u64),
    /// Where an earlier training ended.
    State(TrainState),
}

impl TrainStart {
    fn seed(&self) -> u64 {
        match self {
            TrainStart::Seed(seed) => *seed,
            TrainStart::State(state) => state.seed,
        }
    }
}

/// A network in training, at the end of an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainRecord {
    /// The seed.
    pub seed: u64,
    /// Epochs done.
    pub epoch: u64,
    /// The loss on all samples.
    pub loss: f64,
    /// `r^2`, or the accuracy.
    pub score: f64,
    /// The functional dimension on all inputs, certified from below.
    pub rank: usize,
    /// A certified upper bound of it.
    pub rank_upper: usize,
    /// About the probability that the functional dimension is above `rank`; 1 where records do not say it.
    #[serde(default = "unknown")]
    pub rank_doubt: f64,
    /// The rank with the float32 threshold.
    pub rank_float32: usize,
    /// Distinct activation patterns.
    pub regions: usize,
    /// Neurons that are active at some inputs only.
    pub switching: usize,
    /// Neurons that are active at every input.
    pub active: usize,
    /// Neurons that are active at no input.
    pub inactive: usize,
    /// The largest change, since the start, of what gradient flow conserves: `|w_out|^2 - |w_in|^2 - b^2` of
    /// a hidden neuron.
    pub drift: f64,
    /// What every hidden neuron does on the inputs, one text per hidden layer: `~` active at some, `+` at all,
    /// `0` at none. Empty for linear networks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<String>,
    /// The change of that quantity since the start, neuron by neuron.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Vec<f64>>,
    /// The stratum of a linear network, if it is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stratum: Option<StratumRecord>,
}

/// The doubt of a record that does not tell any.
fn unknown() -> f64 {
    1.0
}

/// The training from one seed.
#[derive(Clone, Debug)]
pub struct TrainRun {
    /// The state at the end; the last finite one if the loss diverged.
    pub state: TrainState,
    /// The network at the end.
    pub network: Network,
    /// Whether all epochs were done.
    pub finished: bool,
}

/// What happens during training.
#[derive(Clone, Copy, Debug)]
pub enum TrainEvent<'a> {
    /// A record was made.
    Record(&'a TrainRecord),
    /// The state should be stored.
    Checkpoint(&'a TrainState),
    /// The loss of a seed ceased to be finite in this epoch; its training ends.
    Diverged {
        /// The seed.
        seed: u64,
        /// The epoch, from 1.
        epoch: u64,
    },
}

/// Trains a network from each of the starts, in parallel, in the precision `T`. An error of the listener ends
/// the training of that seed and is returned in its place.
///
/// ```
/// use fiberscope::train::{Task, TrackOptions, TrainOptions, TrainStart, train};
///
/// let (inputs, targets) = Task::Univariate(1).samples();
/// let options = TrainOptions::paper(&[1, 4, 1], 3);
/// let track = TrackOptions::new().every(1);
/// let starts = [TrainStart::Seed(0), TrainStart::Seed(1)];
/// let runs = train::<f32, _>(&options, &track, &inputs, &targets, &starts)?;
/// for run in runs {
///     let run = run?;
///     assert!(run.finished);
///     assert_eq!(run.state.records.len(), 4);
/// }
/// # Ok::<(), fiberscope::train::TrainError>(())
/// ```
pub fn train<T: Real, E: Send + From<TrainError>>(
    options: &TrainOptions,
    track: &TrackOptions<E>,
    inputs: &Matrix,
    targets: &Matrix,
    starts: &[TrainStart],
) -> Result<Vec<Result<TrainRun, E>>, TrainError> {
    options.check(inputs, targets)?;
    if track.strata.is_some() && !options.linear {
        return Err(TrainError::Options("strata are those of linear networks; this one has ReLUs".into()));
    }
    let (widest, depth) = (options.widths.iter().max().copied().unwrap_or(0), options.widths.len() - 1);
    if track.strata.is_some() && (widest > STRATA_WIDTH || depth > STRATA_DEPTH) {
        return Err(TrainError::Options(format!(
            "strata are recorded for up to {STRATA_DEPTH} matrices and widths up to {STRATA_WIDTH}, found {depth} and {widest}"
        )));
    }
    if track.strata.is_some_and(|threshold| !(threshold > 0.0 && threshold.is_finite())) {
        return Err(TrainError::Options("the threshold of strata must be a positive number".into()));
    }
    let samples = Samples::<T>::new(inputs, targets);
    // The inputs as they are trained on: rounded to the precision.
    let seen = inputs.map(|&x| T::from_f64(x).to_f64());
    let one = |start: &TrainStart| train_one(options, track, &samples, &seen, start);
    Ok(starts.par_iter().map(one).collect())
}

fn train_one<T: Real, E: From<TrainError>>(
    options: &TrainOptions,
    track: &TrackOptions<E>,
    samples: &Samples<T>,
    inputs: &Matrix,
    start: &TrainStart,
) -> Result<TrainRun, E> {
    let seed = start.seed();
    let fresh = Trainer::new(options, samples, seed);
    let first = fresh.network().expect("initial parameters are finite");
    let conserved = Conserved::of(&first);
    let (mut trainer, mut records) = match start {
        TrainStart::State(state) => (Trainer::resume(options, samples, state)?, state.records.clone()),
        TrainStart::Seed(_) => (fresh, Vec::new()),
    };
    let mut state = TrainState { records: records.clone(), ..trainer.state() };
    if let TrainStart::State(earlier) = start {
        state.diverged = earlier.diverged;
    }
    let mut network =
        trainer.network().ok_or_else(|| TrainError::State("a parameter is not finite".into()))?;
    let record = |trainer: &Trainer<T>, network: &Network, records: &mut Vec<TrainRecord>| -> Result<(), E> {
        let made = observe(trainer, network, inputs, &conserved, track.dimension, &track.deadline)?;
        if let Some(mut each) = made {
            let stratum = |threshold: f64| StratumRecord::of(network, threshold);
            each.stratum = track.strata.map(stratum).transpose()?;
            track.tell(TrainEvent::Record(&each))?;
            records.push(each);
        }
        Ok(())
    };
    if records.is_empty() {
        record(&trainer, &network, &mut records)?;
    }
    while trainer.epoch() < options.epochs && state.diverged.is_none() {
        if track.deadline.is_past() {
            break;
        }
        let Some(loss) = trainer.run_epoch(&track.deadline) else { break };
        let epoch = trainer.epoch();
        let last = epoch == options.epochs;
        let due = |every: u64| last || every > 0 && epoch.is_multiple_of(every);
        let alive = if loss.is_finite() && !due(track.every) && !due(track.checkpoint) {
            continue;
        } else {
            trainer.network().filter(|_| loss.is_finite())
        };
        let Some(alive) = alive else {
            state.diverged = Some(epoch);
            track.tell(TrainEvent::Diverged { seed, epoch })?;
            break;
        };
        network = alive;
        if due(track.every) {
            record(&trainer, &network, &mut records)?;
        }
        if due(track.checkpoint) {
            state = TrainState { records: records.clone(), ..trainer.state() };
            track.tell(TrainEvent::Checkpoint(&state))?;
        }
    }
    if state.diverged.is_none()
        && state.epoch != trainer.epoch()
        && let Some(alive) = trainer.network()
    {
        (network, state) = (alive, trainer.state());
    }
    state.records = records;
    let finished = state.diverged.is_none() && trainer.epoch() == options.epochs;
    if !finished {
        track.tell(TrainEvent::Checkpoint(&state))?;
    }
    Ok(TrainRun { state, network, finished })
}

/// What there is to record, with the functional dimension if it is wanted; nothing if the deadline comes
/// first.
fn observe<T: Real>(
    trainer: &Trainer<T>,
    network: &Network,
    inputs: &Matrix,
    start: &Conserved,
    dimension: bool,
    deadline: &Deadline,
) -> Result<Option<TrainRecord>, TrainError> {
    let (loss, score) = trainer.evaluate();
    let changes = changes(start, &Conserved::of(network));
    let mut record = TrainRecord {
        seed: trainer.seed(),
        epoch: trainer.epoch(),
        loss,
        score,
        rank: 0,
        rank_upper: 0,
        rank_doubt: unknown(),
        rank_float32: 0,
        regions: 0,
        switching: 0,
        active: 0,
        inactive: 0,
        drift: changes.iter().flatten().fold(0.0, |most, change: &f64| most.max(change.abs())),
        states: Vec::new(),
        changes,
        stratum: None,
    };
    let seen = |states: &[LayerStates]| match trainer.is_linear() {
        true => Vec::new(),
        false => state_signs(states),
    };
    let options = DimensionOptions::new().seed(trainer.seed()).layer_bound(false).deadline(deadline.clone());
    if !dimension {
        // A record is worth having without them.
        let patterns = Patterns::of(network, inputs, &options).ok();
        record.states = patterns.map_or_else(Vec::new, |patterns| seen(&patterns.states()));
    } else {
        let wrong = |error: DimensionError| TrainError::Data(error.to_string());
        let found = match functional_dimension(network, inputs, &options) {
            Err(DimensionError::Limit(_)) => return Ok(None),
            found => found.map_err(wrong)?,
        };
        if deadline.is_past() {
            return Ok(None);
        }
        let kernel = Kernel::new(network, inputs).map_err(wrong)?;
        let states = |state| found.states.iter().map(|layer| layer.count(state)).sum();
        record.rank = found.rank.lower;
        record.rank_upper = found.rank.upper;
        record.rank_doubt = found.rank.failure_probability;
        record.rank_float32 = kernel.rank_float32(usize::MAX).map_err(wrong)?;
        record.regions = found.regions_sampled;
        record.switching = states(NeuronState::Switching);
        record.active = states(NeuronState::Active);
        record.inactive = states(NeuronState::Inactive);
        record.states = seen(&found.states);
    }
    Ok(Some(record))
}
