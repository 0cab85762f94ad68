//! Trainings from many seeds. A slice ends between two records, so that a run that was sliced gives, bit by bit, what
//! one that was not gives.

use fiberscope_core::{Matrix, Network};
use serde::{Deserialize, Serialize};

use crate::limit::Deadline;
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Known, Means, Merging, Question, Worked};
use crate::train::{Real, TrackOptions, TrainError, TrainOptions, TrainRun, TrainStart, TrainState, train};

/// Trainings of one network on one table of samples, from seeds that follow each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingGroup {
    options: TrainOptions,
    seed: u64,
    seeds: u64,
    single: bool,
    every: u64,
    dimension: bool,
    strata: Option<f64>,
    /// Columns and entries, row by row.
    inputs: (usize, Vec<f64>),
    targets: (usize, Vec<f64>),
}

/// Trainings, group by group.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingQuestion {
    groups: Vec<TrainingGroup>,
}

/// Trainings to begin or to go on with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrainingPiece {
    /// All groups, one piece for each of their seeds.
    Whole,
    /// A group from a seed.
    Seed(usize, u64),
    /// A group from a state.
    State(usize, Box<TrainState>),
}

impl TrainingQuestion {
    /// All trainings of these groups.
    pub fn new(groups: Vec<TrainingGroup>) -> Self {
        TrainingQuestion { groups }
    }

    fn group(&self, number: usize) -> Result<&TrainingGroup, TaskError> {
        self.groups.get(number).ok_or_else(|| TaskError::Damaged("there is no such group".into()))
    }

    /// The groups and seeds of all trainings, in order.
    fn starts(&self) -> impl Iterator<Item = (usize, u64)> {
        let of_group =
            |(number, group): (usize, &TrainingGroup)| group.range().map(move |seed| (number, seed));
        self.groups.iter().enumerate().flat_map(of_group)
    }
}

impl TrainingGroup {
    /// Trainings of networks on samples, from so many seeds on. Of `track` count when there are records, and of what.
    pub fn new(
        options: &TrainOptions,
        track: &TrackOptions,
        (inputs, targets): (&Matrix, &Matrix),
        (seed, seeds): (u64, u64),
        single: bool,
    ) -> Self {
        let stored = |matrix: &Matrix| (matrix.cols(), matrix.entries().to_vec());
        TrainingGroup {
            options: options.clone(),
            seed,
            seeds: seeds.max(1),
            single,
            every: track.every,
            dimension: track.dimension,
            strata: track.strata,
            inputs: stored(inputs),
            targets: stored(targets),
        }
    }

    fn range(&self) -> std::ops::Range<u64> {
        self.seed..self.seed.saturating_add(self.seeds)
    }

    /// Trains until an epoch.
    fn run(&self, epochs: u64, start: TrainStart, stop: &Deadline) -> Result<TrainRun, TaskError> {
        match self.single {
            true => self.run_in::<f32>(epochs, start, stop),
            false => self.run_in::<f64>(epochs, start, stop),
        }
    }

    fn run_in<T: Real>(
        &self,
        epochs: u64,
        start: TrainStart,
        stop: &Deadline,
    ) -> Result<TrainRun, TaskError> {
        let options = self.options.clone().epochs(epochs);
        let track = TrackOptions::new()
            .every(self.every)
            .dimension(self.dimension)
            .strata(self.strata)
            .deadline(stop.clone());
        let (inputs, targets) = (matrix(&self.inputs)?, matrix(&self.targets)?);
        let runs = train::<T, TrainError>(&options, &track, &inputs, &targets, &[start])?;
        let run = runs.into_iter().next().ok_or_else(|| TaskError::Damaged("no training".into()))??;
        if stop.is_past() { Err(TaskError::Stopped) } else { Ok(run) }
    }

    fn is_finished(&self, state: &TrainState) -> bool {
        state.diverged.is_some() || state.epoch >= self.options.epochs
    }

    /// A finished training as it was at its end.
    fn ended(&self, state: TrainState) -> Result<TrainRun, TaskError> {
        let mut run = self.run(state.epoch, TrainStart::State(state), &Deadline::NEVER)?;
        run.finished = run.state.epoch == self.options.epochs && run.state.diverged.is_none();
        Ok(run)
    }
}

fn matrix((columns, entries): &(usize, Vec<f64>)) -> Result<Matrix, TaskError> {
    if *columns == 0 || entries.len() % columns != 0 {
        return Err(TaskError::Damaged("a table has no columns, or rows of other lengths".into()));
    }
    Ok(Matrix::from_fn(entries.len() / columns, *columns, |i, j| entries[i * columns + j]))
}

impl From<Vec<TrainRun>> for Answer {
    fn from(runs: Vec<TrainRun>) -> Self {
        Answer::Trainings(runs)
    }
}

impl Question for TrainingQuestion {
    const KIND: &'static str = "training";
    type Piece = TrainingPiece;
    type Part = Option<(usize, Box<TrainState>)>;
    type Answer = Vec<TrainRun>;

    fn whole(&self, _: &[Network], _: usize) -> Result<TrainingPiece, TaskError> {
        Ok(TrainingPiece::Whole)
    }

    fn work(
        &self,
        _: &[Network],
        piece: &TrainingPiece,
        Means { deadline, .. }: &Means,
    ) -> Result<Worked<Self>, TaskError> {
        let (number, mut start) = match piece {
            TrainingPiece::Whole => {
                let left = self.starts().map(|(group, seed)| TrainingPiece::Seed(group, seed));
                return Ok(Worked { part: None, left: left.collect() });
            }
            TrainingPiece::Seed(group, seed) => (*group, TrainStart::Seed(*seed)),
            TrainingPiece::State(group, state) => (*group, TrainStart::State((**state).clone())),
        };
        let (group, stop) = (self.group(number)?, deadline.endless());
        loop {
            let done = if let TrainStart::State(state) = &start { state.epoch } else { 0 };
            let next = done.checked_div(group.every).map_or(u64::MAX, |records| (records + 1) * group.every);
            let state = group.run(next.min(group.options.epochs), start, &stop)?.state;
            if group.is_finished(&state) {
                return Ok(Worked { part: Some((number, Box::new(state))), left: Vec::new() });
            }
            if deadline.is_past() {
                return Ok(Worked { part: None, left: vec![TrainingPiece::State(number, Box::new(state))] });
            }
            start = TrainStart::State(state);
        }
    }

    fn merge(
        &self,
        _: &[Network],
        known: &Known<'_, Self>,
        _: &Deadline,
    ) -> Result<Merging<Self>, TaskError> {
        let gathered = known.gather_all()?;
        if !gathered.missing.is_empty() {
            return Ok(Merging::Missing(gathered.missing));
        }
        let mut states: Vec<(usize, TrainState)> = gathered
            .parts
            .iter()
            .filter_map(|(part, _)| part.as_ref())
            .map(|(g, s)| (*g, (**s).clone()))
            .collect();
        states.sort_by_key(|(group, state)| (*group, state.seed));
        if !states.iter().map(|(group, state)| (*group, state.seed)).eq(self.starts()) {
            return Err(TaskError::Damaged("the results do not have every seed once".into()));
        }
        let runs = states.into_iter().map(|(group, state)| self.group(group)?.ended(state));
        Ok(Merging::Answer(Box::new(runs.collect::<Result<Vec<_>, _>>()?)))
    }
}
