//! Training.

use anyhow::{Context, bail};
use fiberscope::tasks::{Plan as Tasks, TrainingGroup, TrainingQuestion};
use fiberscope::train::{
    Decay, Initialization, Loss, Optimizer, Task, TrackOptions, TrainEvent, TrainOptions, TrainRun,
    TrainStart, train as train_seeds,
};
use fiberscope_report::tasks::Command;
use fiberscope_report::training::Dynamics;
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::answer::{Course, Networks, Picture, Samples};
use crate::network::matrix;
use crate::tasks::{Plan, note, planned};
use crate::work::{Terms, work};

/// An initialisation by its name.
pub fn read_init(name: &str) -> anyhow::Result<Initialization> {
    match name {
        "he" => Ok(Initialization::He),
        "torch" => Ok(Initialization::Torch),
        other => bail!("init {other:?}: expected \"he\" or \"torch\""),
    }
}

/// The inputs and targets of a data set of the paper.
#[pyfunction]
pub fn task_samples(py: Python, name: &str) -> PyResult<Option<Samples>> {
    let Some(task) = Task::from_name(name) else { return Ok(None) };
    let array = |matrix: fiberscope_core::Matrix| {
        let shape = [matrix.rows(), matrix.cols()];
        matrix.into_entries().into_pyarray(py).reshape(shape)
    };
    let (inputs, targets) = task.samples();
    Ok(Some(Samples { inputs: array(inputs)?.unbind(), targets: array(targets)?.unbind() }))
}

/// What happened along a run, from its records as JSON.
#[pyfunction]
pub fn dynamics(py: Python, records: &str) -> PyResult<Course> {
    let run: Dynamics = serde_json::from_str(records)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(format!("no records of a run: {error}")))?;
    let (json, text) = (run.to_json().to_string(), run.to_text());
    Ok(Course { json, text, picture: Picture::new(py, move || run.draw())? })
}

/// The settings of a training.
#[derive(FromPyObject)]
pub struct Settings {
    widths: Vec<usize>,
    epochs: u64,
    seeds: u64,
    loss: String,
    optimizer: String,
    rate: f64,
    weight_decay: f64,
    momentum: f64,
    batch: usize,
    init: String,
    precision: String,
    every: u64,
    dimension: bool,
}

impl Settings {
    fn is_single(&self) -> anyhow::Result<bool> {
        match self.precision.as_str() {
            "f32" => Ok(true),
            "f64" => Ok(false),
            other => bail!("precision {other:?}: expected \"f32\" or \"f64\""),
        }
    }

    fn options(&self) -> anyhow::Result<TrainOptions> {
        let (optimizer, decay) = match self.optimizer.as_str() {
            "adam" => (Optimizer::ADAM, Decay::Coupled),
            "adamw" => (Optimizer::ADAM, Decay::Decoupled),
            "sgd" => (Optimizer::Sgd { momentum: self.momentum }, Decay::Coupled),
            other => bail!("optimizer {other:?}: expected \"adam\", \"adamw\" or \"sgd\""),
        };
        let loss = match self.loss.as_str() {
            "mse" => Loss::Mse,
            "cross-entropy" => Loss::CrossEntropy,
            other => bail!("loss {other:?}: expected \"mse\" or \"cross-entropy\""),
        };
        let init = read_init(&self.init)?;
        Ok(TrainOptions::paper(&self.widths, self.epochs)
            .loss(loss)
            .optimizer(optimizer)
            .rate(self.rate)
            .weight_decay(self.weight_decay, decay)
            .batch(self.batch)
            .init(init))
    }
}

/// Trains networks from several seeds; the JSON is a list with an object per seed.
#[pyfunction]
pub fn train(
    py: Python,
    inputs: PyReadonlyArray2<f64>,
    targets: PyReadonlyArray2<f64>,
    settings: Settings,
    terms: Terms,
) -> PyResult<Networks> {
    let (inputs, targets) = (matrix(&inputs), matrix(&targets));
    let runs = work(py, &terms, move |watch| {
        let options = settings.options()?;
        let last = watch.seed.checked_add(settings.seeds).context("seed: too large")?;
        let starts: Vec<_> = (watch.seed..last).map(TrainStart::Seed).collect();
        let on = |event: TrainEvent| -> anyhow::Result<()> {
            if let TrainEvent::Record(record) = event {
                let (seed, epoch) = (record.seed, record.epoch);
                watch.say(&format!(
                    "seed {seed}, epoch {epoch}: loss {:.2e}, dimension {}",
                    record.loss, record.rank
                ));
            }
            Ok(())
        };
        let track = TrackOptions::new()
            .every(settings.every)
            .dimension(settings.dimension)
            .deadline(watch.deadline.clone())
            .listener(&on);
        let runs = match settings.is_single()? {
            true => train_seeds::<f32, anyhow::Error>(&options, &track, &inputs, &targets, &starts)?,
            false => train_seeds::<f64, anyhow::Error>(&options, &track, &inputs, &targets, &starts)?,
        };
        runs.into_iter().collect::<anyhow::Result<Vec<TrainRun>>>()
    })?;
    Networks::trained(py, runs)
}

/// A plan for trainings from several seeds.
#[pyfunction]
pub fn plan_train(
    py: Python,
    inputs: PyReadonlyArray2<f64>,
    targets: PyReadonlyArray2<f64>,
    settings: Settings,
    tasks: usize,
    terms: Terms,
) -> PyResult<Plan> {
    let (inputs, targets) = (matrix(&inputs), matrix(&targets));
    planned(py, &terms, move |watch| {
        let (options, single) = (settings.options()?, settings.is_single()?);
        options.check(&inputs, &targets)?;
        watch.seed.checked_add(settings.seeds).context("seed: too large")?;
        let track = TrackOptions::new().every(settings.every).dimension(settings.dimension);
        let note = note(Command::Train { single, dimension: settings.dimension });
        let seeds = (watch.seed, settings.seeds);
        let group = TrainingGroup::new(&options, &track, (&inputs, &targets), seeds, single);
        let question = TrainingQuestion::new(vec![group]);
        Ok(Tasks::about(question, &[], tasks, note, &watch.deadline)?)
    })
}
