//! Training one network from one seed.

use fiberscope_core::{Matrix, Network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::optimizer::{Decay, Moments, Optimizer};
use super::perceptron::{Loss, Pass, Shape};
use super::real::Real;
use super::{TrainError, TrainState};
use crate::limit::Deadline;

/// How the parameters are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initialization {
    /// Weights and biases normal with variance `2 / inputs`, the variant of [he2015delving, Section 2.2] in
    /// [ntk2026complexity, Section 5].
    He,
    /// Weights and biases uniform within `1 / sqrt(inputs)`, as `torch.nn.Linear` draws them.
    Torch,
}

/// How a network is trained. [`TrainOptions::paper`] has the defaults.
///
/// ```
/// use fiberscope::train::{Initialization, TrainOptions};
///
/// let options = TrainOptions::paper(&[1, 10, 10, 1], 500).rate(0.001).init(Initialization::Torch);
/// assert_eq!((options.epochs, options.batch), (500, 16));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainOptions {
    /// `n_0, ..., n_L`.
    pub widths: Vec<usize>,
    /// What is minimised.
    pub loss: Loss,
    /// The optimiser.
    pub optimizer: Optimizer,
    /// The learning rate.
    pub rate: f64,
    /// The weight decay.
    pub weight_decay: f64,
    /// What it does.
    pub decay: Decay,
    /// Samples per step; the data are shuffled before every epoch.
    pub batch: usize,
    /// Passes over the data.
    pub epochs: u64,
    /// How parameters are drawn.
    pub init: Initialization,
    /// They are multiplied by this after they were drawn.
    #[serde(default = "one")]
    pub init_scale: f64,
    /// Hidden layers have no ReLU: a linear network.
    #[serde(default)]
    pub linear: bool,
    /// Layers have no biases that change: they start at zero and stay there.
    #[serde(default)]
    pub no_bias: bool,
}

fn one() -> f64 {
    1.0
}

impl TrainOptions {
    /// The training of the paper [ntk2026complexity, Section 5]: Adam, rate 0.01, coupled weight decay 1e-4,
    /// batches of 16, squared error.
    pub fn paper(widths: &[usize], epochs: u64) -> Self {
        TrainOptions {
            widths: widths.to_vec(),
            loss: Loss::Mse,
            optimizer: Optimizer::ADAM,
            rate: 0.01,
            weight_decay: 1e-4,
            decay: Decay::Coupled,
            batch: 16,
            epochs,
            init: Initialization::He,
            init_scale: 1.0,
            linear: false,
            no_bias: false,
        }
    }

    /// The widths, inputs and outputs included.
    pub fn widths(self, widths: &[usize]) -> Self {
        TrainOptions { widths: widths.to_vec(), ..self }
    }

    /// What is minimised.
    pub fn loss(self, loss: Loss) -> Self {
        TrainOptions { loss, ..self }
    }

    /// The optimiser.
    pub fn optimizer(self, optimizer: Optimizer) -> Self {
        TrainOptions { optimizer, ..self }
    }

    /// The learning rate.
    pub fn rate(self, rate: f64) -> Self {
        TrainOptions { rate, ..self }
    }

    /// The weight decay and what it does.
    pub fn weight_decay(self, weight_decay: f64, decay: Decay) -> Self {
        TrainOptions { weight_decay, decay, ..self }
    }

    /// Samples per step.
    pub fn batch(self, batch: usize) -> Self {
        TrainOptions { batch, ..self }
    }

    /// Passes over the data.
    pub fn epochs(self, epochs: u64) -> Self {
        TrainOptions { epochs, ..self }
    }

    /// How parameters are drawn.
    pub fn init(self, init: Initialization) -> Self {
        TrainOptions { init, ..self }
    }

    /// Parameters are multiplied by this after they were drawn.
    pub fn init_scale(self, init_scale: f64) -> Self {
        TrainOptions { init_scale, ..self }
    }

    /// Whether the network is linear: without ReLU.
    pub fn linear(self, linear: bool) -> Self {
        TrainOptions { linear, ..self }
    }

    /// Whether biases are zero and stay so.
    pub fn no_bias(self, no_bias: bool) -> Self {
        TrainOptions { no_bias, ..self }
    }

    /// Whether the numbers make sense and fit the data.
    pub fn check(&self, inputs: &Matrix, targets: &Matrix) -> Result<(), TrainError> {
        let wrong = |what: String| Err(TrainError::Options(what));
        if self.widths.len() < 2 || self.widths.contains(&0) {
            return wrong(format!("widths {:?}: expected at least two, none of them 0", self.widths));
        }
        if self.batch == 0 {
            return wrong("a batch of 0 samples: expected at least 1".into());
        }
        let finite = |name: &str, x: f64| match x.is_finite() && x >= 0.0 {
            true => Ok(()),
            false => wrong(format!("{name} {x}: expected a finite number that is not negative")),
        };
        finite("learning rate", self.rate)?;
        finite("weight decay", self.weight_decay)?;
        finite("scale of the initial parameters", self.init_scale)?;
        if inputs.rows() == 0 {
            return Err(TrainError::Data("the data have no rows; expected at least one sample".into()));
        }
        let (n, m) = (self.widths[0], self.widths[self.widths.len() - 1]);
        if inputs.cols() != n {
            let found = inputs.cols();
            return Err(TrainError::Data(format!(
                "expected {n} input columns (the first width), found {found}"
            )));
        }
        let expected = if self.loss == Loss::Mse { m } else { 1 };
        if targets.cols() != expected {
            let found = targets.cols();
            return Err(TrainError::Data(format!("expected {expected} target columns, found {found}")));
        }
        if self.loss == Loss::CrossEntropy {
            let bad = |y: &f64| !(y.fract() == 0.0 && *y >= 0.0 && *y < m as f64);
            if let Some(row) = targets.entries().iter().position(bad) {
                let y = targets.entries()[row];
                let what = format!("row {}: expected a class from 0 to {}, found {y}", row + 1, m - 1);
                return Err(TrainError::Data(what));
            }
        }
        Ok(())
    }
}

/// Inputs and targets in the precision of training.
#[derive(Clone, Debug)]
pub struct Samples<T> {
    pub(super) inputs: Vec<T>,
    pub(super) targets: Vec<T>,
    pub(super) count: usize,
    target_width: usize,
}

impl<T: Real> Samples<T> {
    /// The samples, one per row of both matrices.
    pub fn new(inputs: &Matrix, targets: &Matrix) -> Self {
        let convert = |matrix: &Matrix| matrix.entries().iter().map(|&x| T::from_f64(x)).collect();
        Samples {
            inputs: convert(inputs),
            targets: convert(targets),
            count: inputs.rows(),
            target_width: targets.cols(),
        }
    }
}

/// A network being trained.
#[derive(Clone, Debug)]
pub struct Trainer<'a, T> {
    options: &'a TrainOptions,
    samples: &'a Samples<T>,
    seed: u64,
    shape: Shape,
    parameters: Vec<T>,
    moments: Moments<T>,
    epoch: u64,
    gradient: Vec<T>,
    pass: Pass<T>,
    order: Vec<u32>,
}

impl<'a, T: Real> Trainer<'a, T> {
    /// The network as it is initialised by a seed. The options have been checked against the samples.
    pub fn new(options: &'a TrainOptions, samples: &'a Samples<T>, seed: u64) -> Self {
        let shape = Shape::new(&options.widths, options.linear);
        let count = shape.parameters();
        let parameters = initialize(options, seed);
        Trainer {
            options,
            samples,
            seed,
            parameters,
            moments: Moments::new(options.optimizer, count),
            epoch: 0,
            gradient: vec![T::ZERO; count],
            pass: Pass::new(&shape, options.batch.min(samples.count), samples.target_width),
            order: Vec::new(),
            shape,
        }
    }

    /// The network as a state left it.
    pub fn resume(
        options: &'a TrainOptions,
        samples: &'a Samples<T>,
        state: &TrainState,
    ) -> Result<Self, TrainError> {
        let mut trainer = Trainer::new(options, samples, state.seed);
        let take = |to: &mut Vec<T>, from: &[f64], what: &str| {
            if to.len() != from.len() {
                let (expected, found) = (to.len(), from.len());
                return Err(TrainError::State(format!(
                    "expected {expected} numbers in {what}, found {found}"
                )));
            }
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = T::from_f64(from));
            Ok(())
        };
        take(&mut trainer.parameters, &state.parameters, "parameters")?;
        take(&mut trainer.moments.first, &state.first_moment, "first_moment")?;
        take(&mut trainer.moments.second, &state.second_moment, "second_moment")?;
        (trainer.moments.steps, trainer.epoch) = (state.steps, state.epoch);
        Ok(trainer)
    }

    /// Sets the parameters: weights row by row and biases, layer by layer. `None` if there are not as many as
    /// the network has.
    pub fn set_parameters(&mut self, parameters: &[T]) -> Option<()> {
        (parameters.len() == self.parameters.len()).then(|| self.parameters.copy_from_slice(parameters))
    }

    /// The parameters: `W_1` row by row, `b_1`, `W_2`, ...
    pub fn parameters(&self) -> &[T] {
        &self.parameters
    }

    /// The epochs done.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether the network is linear.
    pub(super) fn is_linear(&self) -> bool {
        self.options.linear
    }

    /// What is needed to go on later.
    pub fn state(&self) -> TrainState {
        let widen = |numbers: &[T]| numbers.iter().map(|x| x.to_f64()).collect();
        TrainState {
            seed: self.seed,
            epoch: self.epoch,
            steps: self.moments.steps,
            parameters: widen(&self.parameters),
            first_moment: widen(&self.moments.first),
            second_moment: widen(&self.moments.second),
            records: Vec::new(),
            diverged: None,
        }
    }

    /// The network; `None` if a parameter is not finite.
    pub fn network(&self) -> Option<Network> {
        self.shape.network(&self.parameters).ok()
    }

    /// One pass over the shuffled samples; the mean of the losses of its steps. `None` if the deadline comes
    /// first, everything being as before the epoch then.
    pub fn run_epoch(&mut self, deadline: &Deadline) -> Option<f64> {
        let before = (self.parameters.clone(), self.moments.clone());
        self.shuffle();
        let order = std::mem::take(&mut self.order);
        let mut sum = 0.0;
        for rows in order.chunks(self.options.batch) {
            if deadline.is_past() {
                (self.parameters, self.moments) = before;
                self.order = order;
                return None;
            }
            sum += self.step(rows) * rows.len() as f64;
        }
        self.epoch += 1;
        self.order = order;
        Some(sum / self.samples.count as f64)
    }

    /// One step on the given samples; their loss before it.
    pub fn step(&mut self, rows: &[u32]) -> f64 {
        self.pass.load(&self.samples.inputs, &self.samples.targets, rows);
        let options = self.options;
        let loss = self.pass.gradient(&self.shape, &self.parameters, options.loss, &mut self.gradient);
        if options.no_bias {
            (0..self.shape.depth()).for_each(|l| self.shape.layer_mut(&mut self.gradient, l).1.fill(T::ZERO));
        }
        let rates = (options.rate, options.weight_decay, options.decay);
        self.moments.step(options.optimizer, rates, &mut self.parameters, &mut self.gradient);
        loss
    }

    /// The order of the samples depends on the seed and the epoch alone, so that training can be resumed.
    fn shuffle(&mut self) {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(self.epoch + 1);
        self.order.clear();
        self.order.extend(0..self.samples.count as u32);
        for i in (1..self.order.len()).rev() {
            self.order.swap(i, rng.random_range(0..=i));
        }
    }

    /// The loss on all samples, and the score: `r^2`, or for cross-entropy the share of the samples whose
    /// class is the largest output.
    pub fn evaluate(&self) -> (f64, f64) {
        let (count, width) = (self.samples.count, self.samples.target_width);
        let rows: Vec<u32> = (0..count as u32).collect();
        let mut pass = Pass::new(&self.shape, count, width);
        pass.load(&self.samples.inputs, &self.samples.targets, &rows);
        let loss = pass.loss(&self.shape, &self.parameters, self.options.loss);
        let target = |k: usize, o: usize| self.samples.targets[k * width + o].to_f64();
        let outputs = self.shape.widths[self.shape.depth()];
        let score = match self.options.loss {
            Loss::Mse => {
                let mean = |o: usize| (0..count).map(|k| target(k, o)).sum::<f64>() / count as f64;
                let means: Vec<f64> = (0..width).map(mean).collect();
                let spread: f64 = (0..count)
                    .flat_map(|k| (0..width).map(move |o| (k, o)))
                    .map(|(k, o)| (target(k, o) - means[o]).powi(2))
                    .sum();
                1.0 - loss * (count * width) as f64 / spread
            }
            Loss::CrossEntropy => {
                let best = |k: usize| {
                    (1..outputs)
                        .fold(0, |best, o| if pass.output(k, o) > pass.output(k, best) { o } else { best })
                };
                (0..count).filter(|&k| best(k) as f64 == target(k, 0)).count() as f64 / count as f64
            }
        };
        (loss, score)
    }
}

/// The network that a training from this seed starts with.
///
/// ```
/// use fiberscope::train::{Initialization, initial_network};
///
/// let network = initial_network(&[2, 3, 1], Initialization::Torch, true, 7);
/// assert_eq!((network.widths(), network.layers()[0].bias()), (vec![2, 3, 1], &[0.0; 3][..]));
/// ```
pub fn initial_network(widths: &[usize], init: Initialization, no_bias: bool, seed: u64) -> Network {
    let options = TrainOptions { no_bias, ..TrainOptions::paper(widths, 0) }.init(init);
    let mut parameters = initialize::<f64>(&options, seed).into_iter();
    let network = Network::from_widths(widths, || parameters.next().expect("as many as the widths ask for"));
    network.expect("widths of at least two layers, each at least 1")
}

fn initialize<T: Real>(options: &TrainOptions, seed: u64) -> Vec<T> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut parameters = Vec::new();
    for pair in options.widths.windows(2) {
        let inputs = pair[0] as f64;
        for at in 0..pair[1] * (pair[0] + 1) {
            let x = match options.init {
                Initialization::He => normal(&mut rng) * (2.0 / inputs).sqrt(),
                Initialization::Torch => rng.random_range(-1.0..1.0) / inputs.sqrt(),
            };
            let none = options.no_bias && at >= pair[0] * pair[1];
            parameters.push(T::from_f64(if none { 0.0 } else { options.init_scale * x }));
        }
    }
    parameters
}

/// A standard normal number, by the method of Box and Muller.
pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}
