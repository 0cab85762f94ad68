//! The linear program of a layer that is off.
//!
//! Variables are the inputs `x`, an activation `a_j` for every neuron of the ReLU layers before whose sign
//! intervals leave open, and a level `m`. The pre-activations `z` are affine in `x` and `a`, and the rows are
//!
//! ```text
//! a_j >= 0,   a_j >= z_j,   a_j <= u_j (z_j - l_j) / (u_j - l_j)  if l_j <= z_j <= u_j is known,   z_i <= m  for the neurons i of the layer.
//! ```
//!
//! Every input with its activations and `m = max_i z_i` is a solution. Deciding that neuron `j` is on adds
//! `a_j <= z_j`, that it is off `a_j <= 0`. If `m >= 0` for all solutions, then no input with these decisions
//! has the layer off; Farkas' multipliers show it, from doubles but checked in rational numbers, or found in
//! rational numbers.

use fiberscope_algebra::program::{BoxedPolytope, Cone, Least, Side, is_proved};
use fiberscope_algebra::rational::dot;
use fiberscope_core::{Activation, Domain, ExactNetwork, Interval, Layer, Rational, preactivation_range};

use crate::limit::Deadline;

/// Rows have the constant last.
type Row = Vec<Rational>;

/// A neuron whose sign is open.
struct Split {
    variable: usize,
    /// Its pre-activation.
    value: Row,
    /// The rows for: the sign is open, on, off.
    open: Option<usize>,
    on: usize,
    off: usize,
}

pub(crate) struct Program {
    cone: Cone,
    /// The rows that doubles know; sides of the domain follow.
    rows: usize,
    splits: Vec<Split>,
    inputs: usize,
    /// The row of `m` alone.
    level: Row,
    boxed: Option<Boxed>,
}

/// The program in doubles, for a bounded domain.
struct Boxed {
    polytope: BoxedPolytope,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

/// What doubles say about some decisions.
pub(crate) enum Proposal {
    /// It is proved that `m >= 0`.
    Never,
    /// A point where `m` may be negative.
    Here(Vec<f64>),
}

impl Program {
    /// The program of a hidden layer (from 0).
    pub fn new(network: &ExactNetwork, domain: &Domain, layer: usize) -> Self {
        let ranges: Vec<Vec<Interval>> = network.activation_ranges(domain).take(layer + 1).collect();
        let is_open = |z: &Interval| {
            z.lower.as_ref().is_none_or(Rational::is_negative)
                && z.upper.as_ref().is_none_or(Rational::is_positive)
        };
        let open = |(l, rows): (usize, &Layer<Rational>)| match rows.activation() {
            Activation::Relu => {
                (0..rows.width()).filter(|&i| is_open(&preactivation_range(rows, i, &ranges[l]))).count()
            }
            Activation::Identity => 0,
        };
        let inputs = network.input_width();
        let layers = &network.layers()[..layer];
        let variables = inputs + layers.iter().enumerate().map(open).sum::<usize>() + 1;
        let mut build =
            Build { variables, used: inputs, rows: Vec::new(), splits: Vec::new(), ranges: Vec::new() };
        let mut below: Vec<Row> = (0..inputs).map(|i| build.unit(i)).collect();
        for (l, rows) in layers.iter().enumerate() {
            let mut next = Vec::with_capacity(rows.width());
            for unit in 0..rows.width() {
                let z = affine(rows, unit, &below, variables);
                let range = preactivation_range(rows, unit, &ranges[l]);
                next.push(match rows.activation() {
                    Activation::Identity => z,
                    Activation::Relu if is_open(&range) => build.split(z, range),
                    Activation::Relu if range.upper.as_ref().is_some_and(|upper| !upper.is_positive()) => {
                        vec![Rational::ZERO; variables + 1]
                    }
                    Activation::Relu => z,
                });
            }
            below = next;
        }
        let own = &network.layers()[layer];
        let mut level = Interval::new(Rational::ZERO, Rational::ZERO);
        for unit in 0..own.width() {
            let z = affine(own, unit, &below, variables);
            let row = z.iter().zip(build.unit(variables - 1)).map(|(z, m)| m - z).collect();
            build.push(row);
            let range = preactivation_range(own, unit, &ranges[layer]);
            level.lower = level.lower.zip(range.lower).map(|(a, b)| a.min(b));
            level.upper = level.upper.zip(range.upper).map(|(a, b)| a.max(b));
        }
        build.finish(&domain.sides(inputs), level)
    }

    /// How many neurons can be decided.
    pub fn splits(&self) -> usize {
        self.splits.len()
    }

    /// The number of variables.
    pub fn size(&self) -> usize {
        self.level.len() - 1
    }

    /// The rows of some decisions.
    fn keep(&self, decisions: &[Option<bool>]) -> Vec<bool> {
        let mut keep = vec![true; self.cone.rows().len()];
        for (split, decision) in self.splits.iter().zip(decisions) {
            if let Some(open) = split.open {
                keep[open] = decision.is_none();
            }
            keep[split.on] = *decision == Some(true);
            keep[split.off] = *decision == Some(false);
        }
        keep
    }

    /// What doubles say; nothing if the domain is not bounded, or if they get lost.
    pub fn propose(&self, decisions: &[Option<bool>]) -> Option<Proposal> {
        let Boxed { polytope, lower, upper } = self.boxed.as_ref()?;
        let keep = self.keep(decisions);
        let c: Vec<f64> = self.level.iter().map(Rational::to_f64).collect();
        let least: Least = polytope.least(&c, &keep[..self.rows])?;
        let proved =
            least.value > 0.0 && is_proved(&self.level, self.cone.rows(), &least.multipliers, lower, upper);
        Some(if proved { Proposal::Never } else { Proposal::Here(least.point) })
    }

    /// A solution with negative `m` in homogeneous coordinates, exactly, or that there is none; `None` if the
    /// deadline comes first.
    pub fn solve(&self, decisions: &[Option<bool>], deadline: &Deadline) -> Option<Side> {
        self.cone.side(&self.level, &self.keep(decisions), &|| deadline.is_past())
    }

    /// A solution with last coordinate positive, or that there is none, and thus no input with these
    /// decisions; `None` if the deadline comes first.
    pub fn finite(&self, decisions: &[Option<bool>], deadline: &Deadline) -> Option<Side> {
        let mut c = vec![Rational::ZERO; self.level.len()];
        c[self.size()] = -Rational::ONE;
        self.cone.side(&c, &self.keep(decisions), &|| deadline.is_past())
    }

    /// The inputs of a point, whose last coordinate may be left out.
    pub fn inputs<'a, T>(&self, point: &'a [T]) -> &'a [T] {
        &point[..self.inputs]
    }

    /// The open neuron whose activation is furthest from that of its pre-activation at a point in homogeneous
    /// coordinates, whether it is on there, and how far it is.
    pub fn worst(&self, decisions: &[Option<bool>], y: &[Rational]) -> Option<(usize, bool, Rational)> {
        let far = |(i, split): (usize, &Split)| {
            let z = dot(&split.value, y);
            let is_on = z.is_positive();
            let distance = if is_on { &y[split.variable] - &z } else { y[split.variable].clone() };
            (i, is_on, distance.abs())
        };
        let open = self.splits.iter().enumerate().filter(|(i, _)| decisions[*i].is_none());
        open.map(far).max_by(|a, b| a.2.cmp(&b.2))
    }
}

/// A program in the making.
struct Build {
    variables: usize,
    used: usize,
    rows: Vec<Row>,
    splits: Vec<Split>,
    /// The activations of the variables after the inputs.
    ranges: Vec<Interval>,
}

impl Build {
    fn unit(&self, i: usize) -> Row {
        (0..=self.variables).map(|j| if i == j { Rational::ONE } else { Rational::ZERO }).collect()
    }

    /// Adds a row, scaled by a power of two so that doubles are at ease with it.
    fn push(&mut self, row: Row) -> usize {
        let size = row.iter().map(|x| x.to_f64().abs()).fold(0.0, f64::max);
        let scale = match size.is_normal() && size.is_finite() {
            true => Rational::dyadic(1, -(size.log2().floor() as i64)),
            false => Rational::ONE,
        };
        self.rows.push(row.iter().map(|x| x * &scale).collect());
        self.rows.len() - 1
    }

    /// Adds a variable for a neuron whose sign is open, and its rows.
    fn split(&mut self, z: Row, range: Interval) -> Row {
        let variable = self.used;
        self.used += 1;
        let a = self.unit(variable);
        let minus = |x: &Row, y: &Row| -> Row { x.iter().zip(y).map(|(x, y)| x - y).collect() };
        self.push(minus(&a, &z));
        let on = self.push(minus(&z, &a));
        let off = self.push(a.iter().map(|x| -x).collect());
        let open = match (&range.lower, &range.upper) {
            (Some(lower), Some(upper)) => {
                // u (z - l) - (u - l) a >= 0.
                let mut row: Row =
                    z.iter().zip(&a).map(|(z, a)| z * upper - &(&(upper - lower) * a)).collect();
                row[self.variables] -= &(upper * lower);
                Some(self.push(row))
            }
            _ => None,
        };
        self.ranges.push(Interval { lower: Some(Rational::ZERO), upper: range.upper });
        self.splits.push(Split { variable, value: z, open, on, off });
        a
    }

    fn finish(mut self, sides: &[Interval], level: Interval) -> Program {
        let (inputs, known) = (sides.len(), self.rows.len());
        let ranges: Vec<Interval> =
            sides.iter().cloned().chain(std::mem::take(&mut self.ranges)).chain([level]).collect();
        let ends = ranges.iter().map(|range| {
            let (lower, upper) = (range.lower.as_ref()?, range.upper.as_ref()?);
            Some((down(lower), -down(&-upper)))
        });
        let ends: Option<(Vec<f64>, Vec<f64>)> =
            ends.collect::<Option<Vec<_>>>().map(|ends| ends.into_iter().unzip());
        let boxed = ends.map(|(lower, upper)| {
            let floats = self.rows.iter().map(|row| row.iter().map(Rational::to_f64).collect()).collect();
            Boxed { polytope: BoxedPolytope::new(floats, lower.clone(), upper.clone()), lower, upper }
        });
        let last = self.variables;
        for (i, range) in ranges.iter().enumerate().take(last - 1) {
            for (end, sign) in [(&range.lower, Rational::ONE), (&range.upper, -Rational::ONE)] {
                if let Some(end) = end {
                    let mut row = vec![Rational::ZERO; last + 1];
                    row[last] = -(&sign * end);
                    row[i] = sign;
                    self.push(row);
                }
            }
        }
        let positive = self.unit(last);
        self.push(positive);
        let level = self.unit(last - 1);
        let cone = Cone::new(last + 1, self.rows);
        Program { cone, rows: known, splits: self.splits, inputs, level, boxed }
    }
}

/// The pre-activation of a neuron from the activations before it.
fn affine(layer: &Layer<Rational>, unit: usize, below: &[Row], variables: usize) -> Row {
    let mut row = vec![Rational::ZERO; variables + 1];
    row[variables] = layer.bias()[unit].clone();
    for (w, a) in layer.weight().row(unit).iter().zip(below).filter(|(w, _)| !w.is_zero()) {
        row.iter_mut().zip(a).filter(|(_, a)| !a.is_zero()).for_each(|(x, a)| *x += &(w * a));
    }
    row
}

/// A double that is at most this number.
fn down(x: &Rational) -> f64 {
    let near = x.to_f64();
    if Rational::from_f64(near).is_some_and(|near| near <= *x) { near } else { near.next_down() }
}
