//! Trainings from many seeds. A slice ends between two records, so that a run that was sliced gives, bit by bit, what
//! one that was not gives.

use fiberscope_core::{Matrix, Network};
use serde::{Deserialize, Serialize};

use crate::limit::Deadline;
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Known, Merging, Question, Worked};
use crate::train::{Real, TrackOptions, TrainError, TrainOptions, TrainRun, TrainStart, TrainState, train};

/// Trainings from seeds that follow each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingQuestion {
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

/// Trainings to begin or to go on with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrainingPiece {
    /// From so many seeds on, one piece each.
    Whole,
    /// From a seed.
    Seed(u64),
    /// From a state.
    State(Box<TrainState>),
}

impl TrainingQuestion {
    /// Trainings of networks on samples, from so many seeds on. Of `track` count when there are records, and of what.
    pub fn new(
        options: &TrainOptions,
        track: &TrackOptions,
        (inputs, targets): (&Matrix, &Matrix),
        (seed, seeds): (u64, u64),
        single: bool,
    ) -> Self {
        let stored = |matrix: &Matrix| (matrix.cols(), matrix.entries().to_vec());
        TrainingQuestion {
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

    fn run<T: Real>(&self, epochs: u64, start: TrainStart, stop: &Deadline) -> Result<TrainRun, TaskError> {
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
    type Part = Option<Box<TrainState>>;
    type Answer = Vec<TrainRun>;

    fn whole(&self, _: &[Network], _: usize) -> Result<TrainingPiece, TaskError> {
        Ok(TrainingPiece::Whole)
    }

    fn work(
        &self,
        _: &[Network],
        piece: &TrainingPiece,
        deadline: &Deadline,
    ) -> Result<Worked<Self>, TaskError> {
        let mut start = match piece {
            TrainingPiece::Whole => {
                let seeds = self.seed..self.seed.saturating_add(self.seeds);
                return Ok(Worked { part: None, left: seeds.map(TrainingPiece::Seed).collect() });
            }
            TrainingPiece::Seed(seed) => TrainStart::Seed(*seed),
            TrainingPiece::State(state) => TrainStart::State((**state).clone()),
        };
        let stop = deadline.endless();
        loop {
            let done = if let TrainStart::State(state) = &start { state.epoch } else { 0 };
            let next = done.checked_div(self.every).map_or(u64::MAX, |records| (records + 1) * self.every);
            let epochs = next.min(self.options.epochs);
            let run = match self.single {
                true => self.run::<f32>(epochs, start, &stop)?,
                false => self.run::<f64>(epochs, start, &stop)?,
            };
            let state = run.state;
            if self.is_finished(&state) {
                return Ok(Worked { part: Some(Box::new(state)), left: Vec::new() });
            }
            if deadline.is_past() {
                return Ok(Worked { part: None, left: vec![TrainingPiece::State(Box::new(state))] });
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
        let mut states: Vec<TrainState> =
            gathered.parts.iter().filter_map(|(part, _)| part.as_deref().cloned()).collect();
        states.sort_by_key(|state| state.seed);
        let seeds = self.seed..self.seed.saturating_add(self.seeds);
        if !states.iter().map(|state| state.seed).eq(seeds) {
            return Err(TaskError::Damaged("the results do not have every seed once".into()));
        }
        let run = |state: TrainState| {
            let (epochs, start) = (state.epoch, TrainStart::State(state));
            match self.single {
                true => self.run::<f32>(epochs, start, &Deadline::NEVER),
                false => self.run::<f64>(epochs, start, &Deadline::NEVER),
            }
        };
        let mut runs = states.into_iter().map(run).collect::<Result<Vec<_>, _>>()?;
        for run in &mut runs {
            run.finished = run.state.epoch == self.options.epochs && run.state.diverged.is_none();
        }
        Ok(Merging::Answer(Box::new(runs)))
    }
}
