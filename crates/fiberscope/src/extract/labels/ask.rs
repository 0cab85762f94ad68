//! The way to an oracle that answers classes. Unlike scores, labels are not kept: there are many, and nearly all
//! of them only halve an interval.

use fiberscope_algebra::dense::direction;
use fiberscope_core::Matrix;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::inquiry::{Halt, normal};
use super::super::{ExtractError, ExtractOptions, ExtractProgress, ExtractStep, Oracle, OracleError};

/// Classes beyond this are taken for something else.
const MOST_CLASSES: usize = 100_000;

/// Asks, counts, and draws random numbers. Points are relative to the centre of the domain.
pub(super) struct Asker<'a> {
    oracle: &'a mut dyn Oracle,
    pub options: &'a ExtractOptions<'a>,
    /// Number of inputs.
    pub inputs: usize,
    /// Half the width of the domain.
    pub radius: f64,
    /// The centre of the domain, the same for every input.
    pub center: f64,
    rng: ChaCha8Rng,
    /// All queries.
    pub count: u64,
    /// Queries by layer and step.
    pub spent: Vec<(usize, ExtractStep, u64)>,
    layer: usize,
    step: ExtractStep,
    /// Neurons of the layer that are known, for the line of progress.
    pub neurons: usize,
    /// Classes that were answered.
    pub seen: Vec<bool>,
}

impl<'a> Asker<'a> {
    /// Nothing asked yet.
    pub fn new(oracle: &'a mut dyn Oracle, options: &'a ExtractOptions<'a>) -> Result<Self, ExtractError> {
        let (lo, hi) = options.domain;
        if !(lo < hi && lo.is_finite() && hi.is_finite() && (hi - lo).is_finite()) {
            return Err(ExtractError::Domain { lo, hi });
        }
        if oracle.inputs() == 0 || oracle.outputs() != 1 {
            return Err(OracleError("an oracle of classes has inputs and answers one number".into()).into());
        }
        Ok(Asker {
            inputs: oracle.inputs(),
            oracle,
            options,
            radius: (hi - lo) / 2.0,
            center: lo + (hi - lo) / 2.0,
            rng: ChaCha8Rng::seed_from_u64(options.seed),
            count: 0,
            spent: Vec::new(),
            layer: 0,
            step: ExtractStep::Lines,
            neurons: 0,
            seen: Vec::new(),
        })
    }

    /// What is being done from now on.
    pub fn begin(&mut self, layer: usize, step: ExtractStep) {
        (self.layer, self.step) = (layer, step);
    }

    /// The classes of these points.
    pub fn classes(&mut self, rows: &[Vec<f64>]) -> Result<Vec<usize>, Halt> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(limit) = self.options.deadline.limit() {
            return Err(Halt::Limit(limit.to_string()));
        }
        if let Some(most) = self.options.max_queries.filter(|&most| self.count + rows.len() as u64 > most) {
            return Err(Halt::Limit(format!("the limit of {most} queries was reached")));
        }
        let points = Matrix::from_fn(rows.len(), self.inputs, |i, j| rows[i][j] + self.center);
        let answers = self.oracle.query(&points).map_err(|error| match self.options.deadline.limit() {
            Some(limit) => Halt::Limit(format!("{limit} while the oracle was asked ({error})")),
            None => error.into(),
        })?;
        if answers.rows() != rows.len() || answers.cols() != 1 {
            return Err(Halt::Error(ExtractError::Shape {
                expected_rows: rows.len(),
                expected_columns: 1,
                found_rows: answers.rows(),
                found_columns: answers.cols(),
            }));
        }
        self.charge(rows.len() as u64);
        answers.entries().iter().map(|&answer| self.class(answer)).collect()
    }

    fn class(&mut self, answer: f64) -> Result<usize, Halt> {
        if !(answer >= 0.0 && answer < MOST_CLASSES as f64 && answer.fract() == 0.0) {
            let text = format!("the oracle answered {answer}, expected a class: 0, 1, 2, ...");
            return Err(OracleError(text).into());
        }
        let class = answer as usize;
        if self.seen.len() <= class {
            self.seen.resize(class + 1, false);
        }
        self.seen[class] = true;
        Ok(class)
    }

    /// A random unit vector.
    pub fn direction(&mut self, dimension: usize) -> Vec<f64> {
        loop {
            let v: Vec<f64> = (0..dimension).map(|_| normal(&mut self.rng)).collect();
            if let Some(unit) = direction(&v) {
                return unit;
            }
        }
    }

    /// A random point of the domain, blown up by `scale`.
    pub fn point(&mut self, scale: f64) -> Vec<f64> {
        let reach = self.radius * scale;
        (0..self.inputs).map(|_| self.rng.random_range(-reach..reach)).collect()
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        self.rng.random_range(0..count)
    }

    fn charge(&mut self, count: u64) {
        self.count += count;
        let at = self.spent.iter().position(|&(layer, step, _)| (layer, step) == (self.layer, self.step));
        match at {
            Some(at) => self.spent[at].2 += count,
            None => self.spent.push((self.layer, self.step, count)),
        }
        let (layer, step, neurons, queries) = (self.layer, self.step, self.neurons, self.count);
        self.options.progress.report(ExtractProgress { layer, step, neurons, kinks: 0, queries });
    }
}
