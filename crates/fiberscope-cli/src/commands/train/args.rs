//! The settings of a training: flags, or a file with the same names.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use fiberscope::train::{Decay, Initialization, Loss, Optimizer, Task, TrainOptions};
use fiberscope_core::Matrix;
use fiberscope_io::load_data;
use serde::{Deserialize, Serialize};

/// Train dense networks and track their functional dimension, or the strata of linear ones
///
/// Settings come from flags, from CONFIG (a JSON object whose keys are the names of the flags, such as
/// "weight-decay"), and from the defaults, which are those of the paper: Adam, rate 0.01, weight decay 1e-4,
/// batches of 16, squared error, single precision. Writes into -o: trajectory.csv and trajectory.parquet, a
/// network and a checkpoint per seed, plots, and what happened along every run: dynamics-SEED.svg (loss,
/// functional dimension, neurons, conserved quantities), events.csv (when neurons died or became linear on the
/// data, when the dimension changed) and conserved.csv.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope train --task f1 --epochs 500 --seeds 5 -o run\n  fiberscope train --data table.csv --targets 1 --widths 8,32,32,1 --optimizer adamw -o run\n  fiberscope train run/config.json --epochs 2000 -o run --resume\n  fiberscope train --data table.csv --targets 3 --widths 4,5,5,3 --linear --no-bias --init-scale 0.01 --optimizer sgd --every 5 -o strata\n  fiberscope train --task f1 --optimizer sgd --momentum 0 --weight-decay 0 --rate 0.02 --precision f64 --halvings 3 --epochs 200 -o drift"
)]
pub struct TrainArgs {
    /// A JSON file with settings
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub settings: Settings,
    /// The folder to write to
    #[arg(long = "out", short, value_name = "DIR")]
    pub output: PathBuf,
    /// Go on where the checkpoints in the folder end
    #[arg(long)]
    pub resume: bool,
}

#[derive(Clone, Debug, Default, Args, Deserialize, Serialize, PartialEq)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// A data set of the paper: f1, f2, f3, g1, g2, g3, heating, cooling (also -minmax, -raw)
    #[arg(long, value_name = "NAME", conflicts_with = "data")]
    pub task: Option<String>,
    /// A table of samples (.csv, .npy, .npz): inputs, then targets
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// How many of the last columns are targets [default: 1]
    #[arg(long, value_name = "N")]
    pub targets: Option<usize>,
    /// Widths from inputs to outputs [default: four hidden layers of 10]
    #[arg(long, value_name = "N,N,..", value_delimiter = ',')]
    pub widths: Option<Vec<usize>>,
    /// Passes over the data [default: 1000]
    #[arg(long, value_name = "N")]
    pub epochs: Option<u64>,
    /// How many seeds, counted from --seed [default: 1]
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// What is minimised [default: mse]
    #[arg(long, value_name = "LOSS")]
    pub loss: Option<LossName>,
    /// The optimiser; adamw has decoupled weight decay [default: adam]
    #[arg(long, value_name = "NAME")]
    pub optimizer: Option<OptimizerName>,
    /// The learning rate [default: 0.01]
    #[arg(long, value_name = "X")]
    pub rate: Option<f64>,
    /// The weight decay [default: 1e-4]
    #[arg(long, value_name = "X")]
    pub weight_decay: Option<f64>,
    /// The momentum of sgd [default: 0.9]
    #[arg(long, value_name = "X")]
    pub momentum: Option<f64>,
    /// Samples per step [default: 16]
    #[arg(long, value_name = "N")]
    pub batch: Option<usize>,
    /// Initialisation: he (as in the paper) or torch (as torch.nn.Linear) [default: he]
    #[arg(long, value_name = "NAME")]
    pub init: Option<InitName>,
    /// Precision of the training [default: f32]
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<PrecisionName>,
    /// Record every so many epochs [default: 50]
    #[arg(long, value_name = "N")]
    pub every: Option<u64>,
    /// Store a checkpoint every so many epochs [default: 500]
    #[arg(long, value_name = "N")]
    pub checkpoint: Option<u64>,
    /// Train again with half the rate for twice as many epochs, and so on N times, and tell how the drift of
    /// conserved quantities depends on the step [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=8))]
    pub halvings: Option<u32>,
    /// Do not compute functional dimensions
    #[arg(long)]
    pub no_dimension: bool,
    /// Multiply the initial parameters by this [default: 1]
    #[arg(long, value_name = "X")]
    pub init_scale: Option<f64>,
    /// Train a linear network (no ReLU), and record its rank list, its stratum and the distances to
    /// neighbouring strata
    #[arg(long)]
    pub linear: bool,
    /// Biases are zero and stay so
    #[arg(long)]
    pub no_bias: bool,
    /// With --linear: singular values up to this count as zero when a stratum is named [default: 0.1]
    #[arg(long, value_name = "X")]
    pub stratum_threshold: Option<f64>,
}

#[derive(Clone, Copy, Debug, ValueEnum, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum LossName {
    /// Mean squared error
    Mse,
    /// Cross-entropy; the target is a class, from 0
    CrossEntropy,
}

#[derive(Clone, Copy, Debug, ValueEnum, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum OptimizerName {
    /// Adam, weight decay added to the gradient
    Adam,
    /// Adam, weight decay decoupled
    Adamw,
    /// Gradient descent with momentum
    Sgd,
}

#[derive(Clone, Copy, Debug, ValueEnum, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum InitName {
    /// Normal with variance 2 / inputs, biases too
    He,
    /// Uniform within 1 / sqrt(inputs)
    Torch,
}

#[derive(Clone, Copy, Debug, ValueEnum, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum PrecisionName {
    /// Single precision
    F32,
    /// Double precision
    F64,
}

impl Settings {
    /// These settings, those of the file where these say nothing.
    pub fn over(self, file: Settings) -> Settings {
        let data = self.task.is_some() || self.data.is_some();
        Settings {
            task: if data { self.task } else { file.task },
            data: if data { self.data } else { file.data },
            targets: self.targets.or(file.targets),
            widths: self.widths.or(file.widths),
            epochs: self.epochs.or(file.epochs),
            seeds: self.seeds.or(file.seeds),
            loss: self.loss.or(file.loss),
            optimizer: self.optimizer.or(file.optimizer),
            rate: self.rate.or(file.rate),
            weight_decay: self.weight_decay.or(file.weight_decay),
            momentum: self.momentum.or(file.momentum),
            batch: self.batch.or(file.batch),
            init: self.init.or(file.init),
            precision: self.precision.or(file.precision),
            every: self.every.or(file.every),
            checkpoint: self.checkpoint.or(file.checkpoint),
            halvings: self.halvings.or(file.halvings),
            no_dimension: self.no_dimension || file.no_dimension,
            init_scale: self.init_scale.or(file.init_scale),
            linear: self.linear || file.linear,
            no_bias: self.no_bias || file.no_bias,
            stratum_threshold: self.stratum_threshold.or(file.stratum_threshold),
        }
    }

    pub fn read(path: &Path) -> anyhow::Result<Settings> {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        serde_json::from_slice(&bytes)
            .with_context(|| format!("{}: no settings of a training", path.display()))
    }

    /// The inputs and the targets.
    pub fn samples(&self) -> anyhow::Result<(Matrix, Matrix)> {
        match (&self.task, &self.data) {
            (Some(name), None) => match Task::from_name(name) {
                Some(task) => Ok(task.samples()),
                None => bail!(
                    "no task {name:?}; expected f1, f2, f3, g1, g2, g3, heating or cooling (also -minmax, -raw)"
                ),
            },
            (None, Some(path)) => {
                let points = load_data(path)?.points;
                let (targets, columns) = (self.targets.unwrap_or(1), points.cols());
                if targets == 0 || targets >= columns {
                    bail!(
                        "{}: found {columns} column(s), {targets} of them target(s); expected at least one input and one target",
                        path.display()
                    );
                }
                let split = columns - targets;
                let take = |range: std::ops::Range<usize>| points.select_columns(&range.collect::<Vec<_>>());
                Ok((take(0..split), take(split..columns)))
            }
            (Some(_), Some(_)) => bail!("expected a task or data, found both"),
            (None, None) => bail!("nothing to train on: --task NAME or --data FILE"),
        }
    }

    /// Where the samples come from.
    fn source(&self) -> String {
        match (&self.data, &self.task) {
            (Some(path), _) => path.display().to_string(),
            (None, task) => format!("task {}", task.as_deref().unwrap_or("none")),
        }
    }

    /// What is odd about the samples.
    pub fn oddities(&self, inputs: &Matrix, targets: &Matrix) -> Vec<String> {
        let constant = |matrix: &Matrix| -> Vec<usize> {
            let same = |&j: &usize| matrix.column(j).all(|x| *x == matrix[(0, j)]);
            (0..matrix.cols()).filter(same).collect()
        };
        let place = |j: usize| format!("{}: column {}", self.source(), j + 1);
        let idle = constant(inputs).into_iter().map(|j| format!("{}, an input, is constant", place(j)));
        let flat = constant(targets).into_iter().map(|j| {
            format!(
                "{}, a target, is constant: there is nothing to explain, and r^2 means nothing",
                place(inputs.cols() + j)
            )
        });
        idle.chain(flat).collect()
    }

    /// What counts as zero when a stratum is named; `None` if no strata are wanted.
    pub fn strata(&self) -> anyhow::Result<Option<f64>> {
        match (self.linear, self.stratum_threshold) {
            (false, Some(_)) => {
                bail!("--stratum-threshold is for --linear: only linear networks have strata")
            }
            (false, None) => Ok(None),
            (true, threshold) => Ok(Some(threshold.unwrap_or(0.1))),
        }
    }

    /// The options, the defaults filled in.
    pub fn options(&self, inputs: &Matrix, targets: &Matrix) -> anyhow::Result<TrainOptions> {
        let loss = match self.loss.unwrap_or(LossName::Mse) {
            LossName::Mse => Loss::Mse,
            LossName::CrossEntropy => Loss::CrossEntropy,
        };
        let widths = match (&self.widths, loss) {
            (Some(widths), _) => widths.clone(),
            (None, Loss::Mse) => vec![inputs.cols(), 10, 10, 10, 10, targets.cols()],
            (None, Loss::CrossEntropy) => {
                bail!("cross-entropy needs --widths: the last width is the number of classes")
            }
        };
        let name = self.optimizer.unwrap_or(OptimizerName::Adam);
        if self.momentum.is_some() && name != OptimizerName::Sgd {
            bail!("--momentum is for --optimizer sgd");
        }
        let optimizer = match name {
            OptimizerName::Adam | OptimizerName::Adamw => Optimizer::ADAM,
            OptimizerName::Sgd => Optimizer::Sgd { momentum: self.momentum.unwrap_or(0.9) },
        };
        let decay = if name == OptimizerName::Adamw { Decay::Decoupled } else { Decay::Coupled };
        let init = match self.init.unwrap_or(InitName::He) {
            InitName::He => Initialization::He,
            InitName::Torch => Initialization::Torch,
        };
        let options = TrainOptions::paper(&widths, self.epochs.unwrap_or(1000))
            .loss(loss)
            .optimizer(optimizer)
            .rate(self.rate.unwrap_or(0.01))
            .weight_decay(self.weight_decay.unwrap_or(1e-4), decay)
            .batch(self.batch.unwrap_or(16))
            .init(init)
            .init_scale(self.init_scale.unwrap_or(1.0))
            .linear(self.linear)
            .no_bias(self.no_bias);
        options.check(inputs, targets).with_context(|| self.source())?;
        Ok(options)
    }
}
