//! What gradient flow conserves, watched along explicit integrators.
//!
//! If the neurons `Lin` of hidden layer `l` are active on all samples throughout, then along gradient flow of
//! any loss
//!
//! ```text
//! Q = W_{l,Lin} W_{l,Lin}^T + b_{l,Lin} b_{l,Lin}^T - W_{l+1,Lin}^T W_{l+1,Lin}
//! ```
//!
//! is constant; of the other ReLU neurons the diagonal is [threelayer2026, Section 7]. Gradient descent with
//! step `h` drifts as `O(h)`, the classical Runge-Kutta method as `O(h^4)` as long as no neuron changes its
//! state on a sample.
//!
//! A symmetry conserves a quantity if its field of directions `X` is a gradient up to a factor. The
//! translation of a hidden hyperplane has `X = d/db_1[k] - sum_j W_2[j,k] d/db_2[j]`; already for one `j` the
//! form `db_1 - W db_2` is a contact form, which no factor makes a differential: there is no function whose
//! level sets are orthogonal to `X`, and none is conserved. The run shows what the potential of `X` at fixed
//! weights, `b_1[k] - sum_j W_2[j,k] b_2[j]`, does: its change does not go to zero with the step.

use fiberscope_core::{Activation, Matrix, Network, Neuron, Strictness};
use serde::Serialize;
use thiserror::Error;

use crate::limit::{Deadline, Progress};
use crate::linear::Conserved;
use crate::train::{FlowField, Loss};

/// How the flow is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Integrator {
    /// Gradient descent: the explicit Euler method.
    GradientDescent,
    /// The classical Runge-Kutta method of order 4.
    RungeKutta,
}

impl Integrator {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Integrator::GradientDescent => "gradient descent",
            Integrator::RungeKutta => "Runge-Kutta 4",
        }
    }
}

/// What is followed, for how long.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowOptions<'a> {
    /// The loss, the mean squared error by default.
    pub loss: Loss,
    /// The length of the flow, 0.5 by default.
    pub time: f64,
    /// The number of steps of the coarsest run, 32 by default.
    pub steps: usize,
    /// How often the step is halved, 4 times by default.
    pub halvings: usize,
    /// When to stop with the runs that are finished by then. By default there is no limit.
    pub deadline: Deadline,
    /// Who is told which part is done, between 0 and 1; by default nobody.
    pub progress: Progress<'a, f64>,
}

impl Default for FlowOptions<'_> {
    fn default() -> Self {
        FlowOptions {
            loss: Loss::Mse,
            time: 0.5,
            steps: 32,
            halvings: 4,
            deadline: Deadline::NEVER,
            progress: Progress::SILENT,
        }
    }
}

impl<'a> FlowOptions<'a> {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The loss.
    pub fn loss(self, loss: Loss) -> Self {
        FlowOptions { loss, ..self }
    }

    /// The length of the flow.
    pub fn time(self, time: f64) -> Self {
        FlowOptions { time, ..self }
    }

    /// The number of steps of the coarsest run.
    pub fn steps(self, steps: usize) -> Self {
        FlowOptions { steps, ..self }
    }

    /// How often the step is halved.
    pub fn halvings(self, halvings: usize) -> Self {
        FlowOptions { halvings, ..self }
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        FlowOptions { deadline, ..self }
    }

    /// Who is told which part is done.
    pub fn progress(self, progress: Progress<'a, f64>) -> Self {
        FlowOptions { progress, ..self }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRun {
    /// The integrator.
    pub integrator: Integrator,
    /// The step.
    pub step: f64,
    /// The number of steps.
    pub steps: usize,
    /// The loss at the beginning and at the end.
    pub loss: (f64, f64),
    /// The largest change of an entry of `Q` that is conserved, over all layers.
    pub drift: f64,
    /// The largest change of the other entries, those between neurons that are not always active.
    pub other: f64,
    /// The times and the largest change of a conserved entry until then.
    pub series: Vec<(f64, f64)>,
    /// The change of the translation's potential, if a hyperplane is hidden.
    pub translation: Option<f64>,
}

/// The runs and what they are about.
#[derive(Clone, Debug, PartialEq)]
pub struct Conservation {
    /// Of every hidden layer the neurons that are active on all samples in all runs, from 0.
    pub linear: Vec<Vec<usize>>,
    /// The hidden neuron whose translation is followed.
    pub hidden: Option<Neuron>,
    /// The component of the gradient along the translation at the start, relative to both norms: 0 up to
    /// rounding.
    pub along_translation: Option<f64>,
    /// The runs, coarse to fine, gradient descent first.
    pub runs: Vec<FlowRun>,
    /// Whether these are all of them; otherwise the time was up.
    pub complete: bool,
}

impl Conservation {
    /// How fast the drift falls: the slope of its logarithm against that of the step between the two finest
    /// runs of an integrator.
    pub fn order(&self, integrator: Integrator) -> Option<f64> {
        let mut runs = self.runs.iter().rev().filter(|run| run.integrator == integrator && run.drift > 0.0);
        let (fine, coarse) = (runs.next()?, runs.next()?);
        Some((coarse.drift / fine.drift).ln() / (coarse.step / fine.step).ln())
    }
}

/// Why nothing is followed.
#[derive(Clone, Debug, Error, PartialEq)]
#[allow(missing_docs)]
pub enum FlowError {
    #[error("layer {0} has identity activation; expected ReLU in all hidden layers")]
    Activation(usize),
    #[error("the network has no hidden layer")]
    NoHiddenLayer,
    #[error("expected {expected} columns ({inputs} inputs and {targets} targets), found {found}")]
    Columns { expected: usize, inputs: usize, targets: usize, found: usize },
    #[error("the data have no rows; expected at least one sample")]
    NoSamples,
    #[error("{0}")]
    Options(String),
    #[error("{integrator} with step {step} diverged; take smaller steps (more of them)")]
    Diverged { integrator: &'static str, step: f64 },
}

/// Follows gradient flow of a network on data (inputs, then targets, in the columns) with both integrators
/// and several steps.
///
/// ```
/// use fiberscope::fiber::conserve::{FlowOptions, Integrator, follow};
/// use fiberscope::{Matrix, Network};
///
/// let network = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.5, 0.5]), (&[&[1.0, 0.5]], &[0.0])]).unwrap();
/// let data = Matrix::from_rows(&[[0.25, 1.0], [0.125, 0.5]]).unwrap();
/// let found = follow(&network, &data, &FlowOptions::new().time(0.125).steps(8).halvings(1)).unwrap();
/// assert!(found.complete && found.runs.len() == 4);
/// assert!(found.order(Integrator::GradientDescent).is_some());
/// ```
pub fn follow(network: &Network, data: &Matrix, options: &FlowOptions) -> Result<Conservation, FlowError> {
    check(network, data, options)?;
    let inputs = network.input_width();
    let split = |from: usize, to: usize| data.select_columns(&(from..to).collect::<Vec<_>>());
    let (x, y) = (split(0, inputs), split(inputs, data.cols()));
    let mut field = FlowField::new(network, &x, &y, options.loss);
    let hidden = hidden_neuron(network);
    let mut traces = Vec::new();
    let work: f64 = (0..=options.halvings).map(|k| 5.0 * 2f64.powi(k as i32)).sum();
    let mut done = 0.0;
    let mut complete = true;
    for integrator in [Integrator::GradientDescent, Integrator::RungeKutta] {
        let cost = if integrator == Integrator::GradientDescent { 1.0 } else { 4.0 };
        for k in 0..=options.halvings {
            if options.deadline.is_past() {
                complete = false;
                break;
            }
            let steps = options.steps << k;
            let step = options.time / steps as f64;
            match trace(&mut field, network, (integrator, step, steps), hidden, &options.deadline)? {
                Some(trace) => traces.push(trace),
                None => complete = false,
            }
            done += cost * 2f64.powi(k as i32);
            options.progress.report(done / work);
        }
    }
    let linear: Vec<Vec<usize>> = (0..network.hidden_depth())
        .map(|l| {
            (0..network.layers()[l].width())
                .filter(|&unit| !traces.is_empty() && traces.iter().all(|trace| trace.active[l][unit]))
                .collect()
        })
        .collect();
    let along_translation = hidden.map(|neuron| along(&mut field, network, neuron));
    let runs = traces.into_iter().map(|trace| trace.finish(&linear, options.time)).collect();
    Ok(Conservation { linear, hidden, along_translation, runs, complete })
}

fn check(network: &Network, data: &Matrix, options: &FlowOptions) -> Result<(), FlowError> {
    if network.hidden_depth() == 0 {
        return Err(FlowError::NoHiddenLayer);
    }
    if let Some(l) = network.hidden_layers().iter().position(|layer| layer.activation() != Activation::Relu) {
        return Err(FlowError::Activation(l + 1));
    }
    let (inputs, found) = (network.input_width(), data.cols());
    let targets = if options.loss == Loss::Mse { network.output_width() } else { 1 };
    if found != inputs + targets {
        return Err(FlowError::Columns { expected: inputs + targets, inputs, targets, found });
    }
    if data.rows() == 0 {
        return Err(FlowError::NoSamples);
    }
    let classes = network.output_width() as f64;
    let is_class = |y: &f64| y.fract() == 0.0 && (0.0..classes).contains(y);
    if options.loss == Loss::CrossEntropy && !data.column(inputs).all(is_class) {
        return Err(FlowError::Options(format!(
            "expected classes 0 to {} in the last column",
            classes - 1.0
        )));
    }
    if !(options.time > 0.0 && options.time.is_finite()) || options.steps == 0 || options.halvings > 12 {
        return Err(FlowError::Options(
            "expected a positive time, at least one step and at most 12 halvings".into(),
        ));
    }
    Ok(())
}

/// A run with everything that is decided when all runs are known.
struct Trace {
    integrator: Integrator,
    step: f64,
    loss: (f64, f64),
    /// Of every layer the neurons that were active on all samples at all times.
    active: Vec<Vec<bool>>,
    /// The conserved matrices at the times looked at.
    matrices: Vec<Conserved>,
    steps: usize,
    translation: Option<f64>,
}

/// How many times are looked at.
const LOOKS: usize = 64;

/// One run; `None` if the time is up before its end.
fn trace(
    field: &mut FlowField,
    network: &Network,
    (integrator, step, steps): (Integrator, f64, usize),
    hidden: Option<Neuron>,
    deadline: &Deadline,
) -> Result<Option<Trace>, FlowError> {
    let mut parameters = field.parameters(network);
    let first_loss = field.loss(&parameters);
    let mut active: Vec<Vec<bool>> =
        network.hidden_layers().iter().map(|layer| vec![true; layer.width()]).collect();
    let mut matrices = vec![Conserved::of(network)];
    let every = steps.div_ceil(LOOKS).max(1);
    let diverged = || FlowError::Diverged { integrator: integrator.name(), step };
    for k in 1..=steps {
        if deadline.is_past() {
            return Ok(None);
        }
        field.advance(&mut parameters, step, integrator == Integrator::RungeKutta);
        if parameters.iter().any(|x| !x.is_finite()) {
            return Err(diverged());
        }
        field.mark_active(&parameters, &mut active);
        if k % every == 0 || k == steps {
            matrices.push(Conserved::of(&field.network(&parameters).ok_or_else(diverged)?));
        }
    }
    let end = field.network(&parameters).ok_or_else(diverged)?;
    let translation = hidden.map(|neuron| (potential(&end, neuron) - potential(network, neuron)).abs());
    let loss = (first_loss, field.loss(&parameters));
    Ok(Some(Trace { integrator, step, loss, active, matrices, steps, translation }))
}

impl Trace {
    fn finish(self, linear: &[Vec<usize>], time: f64) -> FlowRun {
        let conserved =
            |l: usize, i: usize, j: usize| i == j || (linear[l].contains(&i) && linear[l].contains(&j));
        let mut largest = (0f64, 0f64);
        let mut series = vec![(0.0, 0.0)];
        let every = self.steps.div_ceil(LOOKS).max(1);
        for (at, now) in self.matrices.iter().enumerate().skip(1) {
            for (l, (start, now)) in self.matrices[0].matrices().iter().zip(now.matrices()).enumerate() {
                for i in 0..start.rows() {
                    for j in 0..=i {
                        let change = (now[(i, j)] - start[(i, j)]).abs();
                        let of = if conserved(l, i, j) { &mut largest.0 } else { &mut largest.1 };
                        *of = of.max(change);
                    }
                }
            }
            series.push((((at * every) as f64 * self.step).min(time), largest.0));
        }
        FlowRun {
            integrator: self.integrator,
            step: self.step,
            steps: self.steps,
            loss: self.loss,
            drift: largest.0,
            other: largest.1,
            series,
            translation: self.translation,
        }
    }
}

/// The first neuron that the next layer hides, strictly.
fn hidden_neuron(network: &Network) -> Option<Neuron> {
    (0..network.hidden_depth())
        .find_map(|layer| network.hidden_unit(layer, Strictness::Strict).map(|unit| Neuron { layer, unit }))
}

fn potential(network: &Network, neuron: Neuron) -> f64 {
    let (rows, next) = (&network.layers()[neuron.layer], &network.layers()[neuron.layer + 1]);
    let moved: f64 = (0..next.width()).map(|j| next.weight()[(j, neuron.unit)] * next.bias()[j]).sum();
    rows.bias()[neuron.unit] - moved
}

/// The cosine between the gradient and the translation.
fn along(field: &mut FlowField, network: &Network, neuron: Neuron) -> f64 {
    let parameters = field.parameters(network);
    let gradient = field.gradient(&parameters);
    let gradient = field.network_of(&gradient);
    let (rows, next) = (&gradient[neuron.layer], &gradient[neuron.layer + 1]);
    let weights: Vec<f64> =
        network.layers()[neuron.layer + 1].weight().column(neuron.unit).copied().collect();
    let product = rows.1[neuron.unit] - weights.iter().zip(next.1).map(|(w, g)| w * g).sum::<f64>();
    let norm = |entries: &mut dyn Iterator<Item = f64>| entries.map(|x| x * x).sum::<f64>().sqrt();
    let sizes = norm(&mut gradient.iter().flat_map(|(w, b)| w.iter().chain(b.iter()).copied()))
        * norm(&mut weights.iter().copied().chain([1.0]));
    if sizes > 0.0 { product.abs() / sizes } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fiberscope_core::Layer;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn random(widths: &[usize], seed: u64, shift: f64) -> (Network, Matrix) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let last = widths.len() - 2;
        let layers = (0..=last).map(|l| {
            let weight = Matrix::from_fn(widths[l + 1], widths[l], |_, _| rng.random_range(-1.0..1.0));
            let bias = (0..widths[l + 1])
                .map(|_| rng.random_range(-0.5..0.5) + if l == 0 { shift } else { 0.0 })
                .collect();
            Layer::new(weight, bias, if l == last { Activation::Identity } else { Activation::Relu })
        });
        let network = Network::new(layers.collect()).unwrap();
        let data = Matrix::from_fn(12, widths[0] + widths[last + 1], |_, _| rng.random_range(-1.0..1.0));
        (network, data)
    }

    const OPTIONS: FlowOptions = FlowOptions {
        loss: Loss::Mse,
        time: 0.5,
        steps: 8,
        halvings: 3,
        deadline: Deadline::NEVER,
        progress: Progress::SILENT,
    };

    #[test]
    fn linear_neurons_conserve_the_whole_matrix() {
        let (network, data) = random(&[3, 4, 2], 1, 5.0);
        let options = FlowOptions { time: 0.05, ..OPTIONS };
        let found = follow(&network, &data, &options).unwrap();
        assert_eq!(found.linear, [vec![0, 1, 2, 3]]);
        let order = |integrator| found.order(integrator).unwrap();
        assert!(
            (order(Integrator::GradientDescent) - 1.0).abs() < 0.3,
            "{}",
            order(Integrator::GradientDescent)
        );
        assert!(order(Integrator::RungeKutta) > 3.0, "{}", order(Integrator::RungeKutta));
    }

    #[test]
    fn relu_neurons_conserve_the_diagonal_only() {
        let (network, data) = random(&[3, 6, 2], 2, 0.0);
        let found = follow(&network, &data, &OPTIONS).unwrap();
        let finest = found.runs.last().unwrap();
        assert!(finest.other > 1e3 * finest.drift, "{finest:?}");
    }

    #[test]
    fn the_translation_conserves_nothing() {
        let (network, data) = random(&[2, 2, 1, 1], 3, 0.5);
        let mut layers = network.into_layers();
        layers[1] = Layer::new(Matrix::from_rows(&[[1.5, -0.5]]).unwrap(), vec![-0.25], Activation::Relu);
        let network = Network::new(layers).unwrap();
        let found = follow(&network, &data, &OPTIONS).unwrap();
        assert_eq!(found.hidden, Some(Neuron { layer: 0, unit: 0 }));
        assert!(found.along_translation.unwrap() < 1e-12);
        let change = |run: &FlowRun| run.translation.unwrap();
        let (coarse, fine) = (change(&found.runs[0]), change(found.runs.last().unwrap()));
        assert!(fine > 1e-4 && (coarse / fine - 1.0).abs() < 0.5, "{coarse} {fine}");
    }

    #[test]
    fn data_of_the_wrong_shape_are_refused() {
        let (network, data) = random(&[3, 4, 2], 1, 0.0);
        let narrow = data.select_columns(&[0, 1, 2, 3]);
        assert!(matches!(
            follow(&network, &narrow, &OPTIONS),
            Err(FlowError::Columns { expected: 5, found: 4, .. })
        ));
        let options = FlowOptions { time: -1.0, ..OPTIONS };
        assert!(matches!(follow(&network, &data, &options), Err(FlowError::Options(_))));
    }
}
