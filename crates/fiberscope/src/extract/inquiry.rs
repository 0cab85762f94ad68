//! The only way to the oracle: every query is counted, answered once and kept.
//!
//! Points are kept relative to the centre of the domain; `radius` is half its width. The noise of an answer
//! at `x` is `eta(x) = eta_1 (1 + |x|)`: all tolerances of the extraction are multiples of it.

use fiberscope_algebra::dense::{along, direction, peak};
use fiberscope_core::Matrix;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::algebra::Svd;
use super::census::Census;
use super::{ExtractError, ExtractOptions, ExtractProgress, ExtractStep, Oracle, OracleError};

/// How many times as many inputs as rows there are, for points to be drawn within the span of the rows.
const NARROWER: usize = 4;

/// Why the extraction ends early.
#[derive(Debug)]
pub(super) enum Halt {
    /// The oracle or the options are at fault.
    Error(ExtractError),
    /// Queries or time are used up: a sentence.
    Limit(String),
}

impl From<OracleError> for Halt {
    fn from(error: OracleError) -> Self {
        Halt::Error(ExtractError::Oracle(error))
    }
}

impl From<ExtractError> for Halt {
    fn from(error: ExtractError) -> Self {
        Halt::Error(error)
    }
}

/// All questions and answers so far, and what they cost.
pub(super) struct Inquiry<'a> {
    oracle: &'a mut dyn Oracle,
    pub options: &'a ExtractOptions<'a>,
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// Half the width of the domain.
    pub radius: f64,
    center: f64,
    /// Orthonormal directions within which random points and directions lie; all if there are none.
    span: Vec<Vec<f64>>,
    /// Random choices.
    pub rng: ChaCha8Rng,
    points: Vec<f64>,
    answers: Vec<f64>,
    /// Queries by layer and step.
    pub spent: Vec<(usize, ExtractStep, u64)>,
    layer: usize,
    step: ExtractStep,
    neurons: usize,
    kinks: usize,
    /// The noise of an answer at the centre.
    pub eta: f64,
    /// The lines that were looked at, and where the function bends on them.
    pub census: Census,
}

impl<'a> Inquiry<'a> {
    /// Nothing asked yet.
    pub fn new(oracle: &'a mut dyn Oracle, options: &'a ExtractOptions<'a>) -> Result<Self, ExtractError> {
        let (lo, hi) = options.domain;
        if !(lo < hi && lo.is_finite() && hi.is_finite() && (hi - lo).is_finite()) {
            return Err(ExtractError::Domain { lo, hi });
        }
        let (inputs, outputs) = (oracle.inputs(), oracle.outputs());
        if inputs == 0 || outputs == 0 {
            return Err(ExtractError::Oracle(OracleError(format!(
                "the oracle has {inputs} inputs and {outputs} outputs, expected at least one of each"
            ))));
        }
        Ok(Inquiry {
            oracle,
            options,
            inputs,
            outputs,
            radius: (hi - lo) / 2.0,
            center: lo + (hi - lo) / 2.0,
            span: Vec::new(),
            rng: ChaCha8Rng::seed_from_u64(options.seed),
            points: Vec::new(),
            answers: Vec::new(),
            spent: Vec::new(),
            layer: 0,
            step: ExtractStep::Noise,
            neurons: 0,
            kinks: 0,
            eta: 0.0,
            census: Census::default(),
        })
    }

    /// What is being done from now on.
    pub fn begin(&mut self, layer: usize, step: ExtractStep) {
        (self.layer, self.step) = (layer, step);
    }

    /// What a progress bar shows beside the queries.
    pub fn note(&mut self, neurons: usize, kinks: usize) {
        (self.neurons, self.kinks) = (neurons, kinks);
    }

    /// The number of queries so far.
    pub fn count(&self) -> u64 {
        (self.answers.len() / self.outputs) as u64
    }

    /// Halts where a limit has come: for long work between two questions.
    pub fn go_on(&self) -> Result<(), Halt> {
        self.options.deadline.limit().map_or(Ok(()), |limit| Err(Halt::Limit(limit.to_string())))
    }

    /// The answers to these questions, one per row.
    pub fn ask(&mut self, rows: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, Halt> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        self.go_on()?;
        if let Some(most) = self.options.max_queries.filter(|&most| self.count() + rows.len() as u64 > most) {
            return Err(Halt::Limit(format!("the limit of {most} queries was reached")));
        }
        let points = Matrix::from_fn(rows.len(), self.inputs, |i, j| rows[i][j] + self.center);
        let answers = self.oracle.query(&points).map_err(|error| match self.options.deadline.limit() {
            // It was not given the time to answer: what is known so far counts.
            Some(limit) => Halt::Limit(format!("{limit} while the oracle was asked ({error})")),
            None => error.into(),
        })?;
        self.accept(&points, &answers)?;
        self.points.extend(rows.iter().flatten());
        self.answers.extend(answers.entries());
        self.charge(rows.len() as u64);
        Ok(answers.iter_rows().map(<[f64]>::to_vec).collect())
    }

    /// The noise of an answer at `x`.
    pub fn noise_at(&self, x: &[f64]) -> f64 {
        self.eta * (1.0 + peak(x))
    }

    /// The centre of the domain, the same for every input.
    pub fn center(&self) -> f64 {
        self.center
    }

    /// All questions and answers whose question lies within `reach` times the radius, at most `most` of them,
    /// the last ones first.
    pub fn recent(&self, reach: f64, most: usize) -> (Matrix, Matrix) {
        let kept: Vec<usize> = (0..self.answers.len() / self.outputs)
            .rev()
            .filter(|&i| peak(self.question(i)) < reach * self.radius)
            .take(most)
            .collect();
        self.select(&kept)
    }

    /// The questions and answers within `reach` times the radius, evenly thinned to at most `most`.
    pub fn stored(&self, reach: f64, most: usize) -> (Matrix, Matrix) {
        let near: Vec<usize> = (0..self.answers.len() / self.outputs)
            .filter(|&i| peak(self.question(i)) < reach * self.radius)
            .collect();
        let kept: Vec<usize> =
            if near.len() <= most { near } else { (0..most).map(|k| near[k * near.len() / most]).collect() };
        self.select(&kept)
    }

    fn question(&self, i: usize) -> &[f64] {
        &self.points[i * self.inputs..(i + 1) * self.inputs]
    }

    fn select(&self, kept: &[usize]) -> (Matrix, Matrix) {
        let points = Matrix::from_fn(kept.len(), self.inputs, |i, j| self.points[kept[i] * self.inputs + j]);
        let answers =
            Matrix::from_fn(kept.len(), self.outputs, |i, j| self.answers[kept[i] * self.outputs + j]);
        (points, answers)
    }

    /// Draws random points and directions from now on within the span of the rows, of which there are far fewer than
    /// inputs: nothing else matters to what lies behind them, and of a random step among many inputs only a small part
    /// would. Without rows from among all inputs.
    pub fn look_along(&mut self, rows: &[(Vec<f64>, f64)]) {
        let weights: Vec<&[f64]> = rows.iter().map(|(w, _)| w.as_slice()).collect();
        let few = !rows.is_empty() && NARROWER * rows.len() <= self.inputs;
        let svd = Matrix::from_rows(&weights).filter(|_| few).and_then(|matrix| Svd::of(&matrix));
        self.span = svd.map_or_else(Vec::new, |svd| {
            let rank = svd.rank(1e-9);
            svd.v.into_iter().take(rank).collect()
        });
    }

    /// A random direction.
    pub fn direction(&mut self) -> Vec<f64> {
        loop {
            let v = self.spread();
            if let Some(unit) = direction(&v) {
                return unit;
            }
        }
    }

    /// A random point at about `reach` times the radius from the centre.
    pub fn point(&mut self, reach: f64) -> Vec<f64> {
        let dimension = if self.span.is_empty() { self.inputs } else { self.span.len() };
        let scale = self.radius * reach / (dimension as f64).sqrt();
        self.spread().iter().map(|v| scale * v).collect()
    }

    /// Normally distributed numbers along the directions within which points lie.
    fn spread(&mut self) -> Vec<f64> {
        if self.span.is_empty() {
            return self.normals(self.inputs);
        }
        let along = self.normals(self.span.len());
        (0..self.inputs).map(|k| self.span.iter().zip(&along).map(|(v, c)| c * v[k]).sum()).collect()
    }

    /// A random point of the domain.
    pub fn point_of_domain(&mut self) -> Vec<f64> {
        let radius = self.radius;
        (0..self.inputs).map(|_| self.rng.random_range(-radius..radius)).collect()
    }

    /// A number between `lo` and `hi`.
    pub fn uniform(&mut self, lo: f64, hi: f64) -> f64 {
        self.rng.random_range(lo..hi)
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        self.rng.random_range(0..count)
    }

    /// Normally distributed numbers.
    pub fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| normal(&mut self.rng)).collect()
    }

    fn accept(&self, points: &Matrix, answers: &Matrix) -> Result<(), ExtractError> {
        if answers.rows() != points.rows() || answers.cols() != self.outputs {
            return Err(ExtractError::Shape {
                expected_rows: points.rows(),
                expected_columns: self.outputs,
                found_rows: answers.rows(),
                found_columns: answers.cols(),
            });
        }
        for (x, y) in points.iter_rows().zip(answers.iter_rows()) {
            if let Some(output) = y.iter().position(|v| !v.is_finite()) {
                return Err(ExtractError::NotFinite { x: x.to_vec(), output, value: y[output] });
            }
        }
        Ok(())
    }

    fn charge(&mut self, count: u64) {
        let entry = self.spent.iter_mut().find(|(layer, step, _)| (*layer, *step) == (self.layer, self.step));
        match entry {
            Some((_, _, spent)) => *spent += count,
            None => self.spent.push((self.layer, self.step, count)),
        }
        let queries = self.count();
        let (layer, step, neurons, kinks) = (self.layer, self.step, self.neurons, self.kinks);
        self.options.progress.report(ExtractProgress { layer, step, neurons, kinks, queries });
    }
}

/// A normally distributed number.
pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let u: f64 = 1.0 - rng.random_range(0.0..1.0);
    let v: f64 = rng.random_range(0.0..1.0);
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Bits of an answer's grid beyond which it is taken for a double that was not rounded.
const MOST_DECIMALS: i32 = 12;

/// Fewer different answers than this are no sign of rounding.
const FEW_VALUES: usize = 8;

/// Differences between two answers to one question, relative to the largest answer, that batches of other
/// sizes may cause.
const BATCH_ROUNDING: f64 = 1e3 * f64::EPSILON;

/// Measures the noise: second differences over steps far too short for a kink, the grid of rounded answers,
/// and that the oracle is deterministic and does not bend everywhere.
pub(super) fn measure_noise(inquiry: &mut Inquiry<'_>) -> Result<(), Halt> {
    inquiry.begin(0, ExtractStep::Noise);
    const PLACES: usize = 6;
    let (near, far) = (1e-6 * inquiry.radius, 1e-3 * inquiry.radius);
    let mut questions = Vec::new();
    for _ in 0..PLACES {
        let (x, u) = (inquiry.point(2.0), inquiry.direction());
        for t in [-far, -near, 0.0, near, far] {
            questions.push(along(&x, t, &u));
        }
    }
    let answers = inquiry.ask(&questions)?;
    let repeated = repeat(inquiry, &questions[..2], &answers[..2])?;
    let second = |k: usize, step: usize| -> f64 {
        let y = &answers[5 * k..5 * k + 5];
        (0..inquiry.outputs)
            .map(|o| (y[2 - step][o] - 2.0 * y[2][o] + y[2 + step][o]).abs())
            .fold(0.0, f64::max)
    };
    let mut short: Vec<f64> = (0..PLACES).map(|k| second(k, 1)).collect();
    let mut long: Vec<f64> = (0..PLACES).map(|k| second(k, 2)).collect();
    short.sort_by(f64::total_cmp);
    long.sort_by(f64::total_cmp);
    let size = answers.iter().map(|y| peak(y)).fold(1e-3, f64::max);
    let floor = (8.0 * f64::EPSILON * size).max(grid(&answers)).max(2.0 * repeated);
    if inquiry.options.noise.is_none() && long[1] > 100.0 * short[PLACES - 2].max(floor) {
        return Err(Halt::Error(ExtractError::NotPiecewiseLinear(format!(
            "over steps of {far:.1e} the second differences are {:.1e} and more at {} of {PLACES} places, over steps of {near:.1e} only {:.1e}",
            long[1],
            PLACES - 1,
            short[PLACES - 2]
        ))));
    }
    inquiry.eta = match inquiry.options.noise {
        Some(noise) => noise.max(f64::EPSILON * size / (1.0 + inquiry.radius)),
        None => short[PLACES - 1].max(floor) / (1.0 + inquiry.radius),
    };
    Ok(())
}

/// The unit of the last decimal, or of the last bit of a single, if all answers are rounded to it.
fn grid(answers: &[Vec<f64>]) -> f64 {
    let values = || answers.iter().flatten().copied();
    // A function that is constant nearly everywhere says nothing about rounding.
    let mut distinct: Vec<u64> = values().map(f64::to_bits).collect();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() < FEW_VALUES {
        return 0.0;
    }
    let on_grid =
        |unit: f64| values().all(|y| ((y * unit).round() / unit - y).abs() <= 4.0 * f64::EPSILON * y.abs());
    for decimals in 0..=MOST_DECIMALS {
        if on_grid(10f64.powi(decimals)) {
            return 10f64.powi(-decimals);
        }
    }
    if values().all(|y| f64::from(y as f32) == y) {
        return 4.0 * f64::from(f32::EPSILON) * values().fold(0.0, |most, y| f64::max(most, y.abs()));
    }
    0.0
}

/// Asks again what was asked before; gives the largest difference.
fn repeat(inquiry: &mut Inquiry<'_>, questions: &[Vec<f64>], answers: &[Vec<f64>]) -> Result<f64, Halt> {
    let again = inquiry.ask(questions)?;
    let size = answers.iter().map(|y| peak(y)).fold(f64::MIN_POSITIVE, f64::max);
    let mut largest = 0.0f64;
    for ((x, first), second) in questions.iter().zip(answers).zip(&again) {
        for output in 0..inquiry.outputs {
            let (first, second) = (first[output], second[output]);
            let difference = (first - second).abs();
            if difference > BATCH_ROUNDING * size && inquiry.options.noise.is_none() {
                let x = x.iter().map(|v| v + inquiry.center).collect();
                return Err(Halt::Error(ExtractError::NotDeterministic { x, output, first, second }));
            }
            largest = largest.max(difference);
        }
    }
    Ok(largest)
}
