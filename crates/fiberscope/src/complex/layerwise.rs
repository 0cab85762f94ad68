//! The layers of a network that its function identifies, without a shrinking active set.
//!
//! [phuong2020functional, Lemma 4] chooses hyperplanes one after the other inside the set where all neurons
//! so far are positive; chosen without care, that set shrinks to nothing with the depth. Here the image of
//! that set in the activations `a` of every layer of width `n` contains one and the same body,
//!
//! ```text
//! K_n = {a >= 0 : 0 <= s <= 1, 0 <= t_j <= 1},    u = a_1,  s = a_1 + a_2 - 1,  t_j = a_j  (j = 3..n),
//! ```
//!
//! which meets all faces `{a_i = 0, others > 0}` of the orthant. In these coordinates a layer is, up to small
//! random terms, `u' ~ s`, `s' ~ u`, `t'_j ~ -t_k` with gains of about 1.6 beyond what covers `K_m`: with
//! hats for coordinates scaled to `[-1, 1]` on the body, `v' = g v + sum_k c_k w_k` with `g >= 1.5` and
//! `sum |c_k| <= 0.15`, so that every point of `K_m` has a preimage with `|v| <= 1 / (1.5 - 0.15) < 1`.
//!
//! - `z_1 = u'` leans on `s`, which is no coordinate of a face: it changes sign on all of them.
//! - `z_1 + z_2 = 1 + s'` has positive coefficients and a positive constant, so that one of the two neurons
//!   is positive wherever the activations are nonnegative: the layer is transparent.
//! - `z_j = t'_j` falls with `t_k`, so that it is positive on the face `t_k = 0`, where `z_1` passes.
//!
//! Points are pulled back layer by layer in rational numbers, to more digits than the layers above can lose.

use fiberscope_algebra::dense::invert;
use fiberscope_algebra::rational::dot;
use fiberscope_core::{Activation, ExactNetwork, Interval, Layer, Matrix, Network, Neuron, Rational};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::fold_paths::FoldPaths;
use super::fold_points::FoldPoint;
use crate::limit::{Deadline, LimitReached};

/// The sum of the small terms of a row, at most.
const SMALL: f64 = 0.15;
/// When a limit ends the construction.
const WHEN: &str = "before the network was built";

/// How a layer is undone: activations before it from those after it.
struct PullBack {
    /// The coordinates that are solved for; the others stay in the middle.
    solved: Vec<usize>,
    middle: Vec<Rational>,
    weight: Matrix<Rational>,
    bias: Vec<Rational>,
    /// The inverse of the columns that are solved for, row by row.
    inverse: Vec<f64>,
}

pub(super) struct Builder<'a> {
    widths: &'a [usize],
    sides: Vec<Interval>,
    rng: &'a mut ChaCha8Rng,
    bits: i32,
    layers: Vec<Layer>,
    undone: Vec<PullBack>,
}

impl<'a> Builder<'a> {
    /// For widths that do not increase and a bounded box.
    pub(super) fn new(widths: &'a [usize], sides: Vec<Interval>, rng: &'a mut ChaCha8Rng) -> Self {
        // Longer numbers for wider layers, in which more sums could be zero by chance.
        let bits = widths[1..].iter().max().map_or(20, |&n| 20 + n.min(28) as i32);
        Builder { widths, sides, rng, bits, layers: Vec::new(), undone: Vec::new() }
    }

    /// The network and the points that prove its paths; `None` if doubles cannot tell the sides of the box
    /// apart well enough.
    pub(super) fn build(mut self, deadline: &Deadline) -> Result<Option<(Network, FoldPaths)>, LimitReached> {
        let depth = self.widths.len() - 2;
        for l in 0..depth {
            deadline.check(WHEN)?;
            // Doubles, rationals and an inverse.
            deadline.check_room("a layer of the network", 100 * self.widths[l] * self.widths[l + 1])?;
            let layer = if l == 0 { self.first() } else { self.next(l) };
            let Some(layer) = layer else { return Ok(None) };
            self.layers.push(layer);
        }
        let weight = Matrix::from_fn(1, self.widths[depth], |_, _| self.signed(0.5, 1.5));
        let bias = vec![self.signed(0.0, 1.0)];
        self.layers.push(Layer::new(weight, bias, Activation::Identity));
        let Ok(network) = Network::new(self.layers.clone()) else { return Ok(None) };
        Ok(self.points(&network.to_exact(), deadline)?.map(|paths| (network, paths)))
    }

    /// A number that is a multiple of a power of two.
    fn short(&self, x: f64) -> f64 {
        let grid = 2f64.powi(self.bits);
        (x * grid).round() / grid
    }

    fn signed(&mut self, low: f64, high: f64) -> f64 {
        let size = self.rng.random_range(low..high);
        let size = self.short(size);
        if self.rng.random() { size } else { -size }
    }

    /// The gain of a row on the coordinate that drives it and small random numbers for the others.
    fn shares(&mut self, n: usize, driver: usize, signs: [bool; 2]) -> Vec<f64> {
        let [is_positive, others_positive] = signs;
        let gain: f64 = self.rng.random_range(1.5..1.7);
        let most = SMALL / n as f64;
        (0..n)
            .map(|k| {
                let small = self.rng.random_range(0.3 * most..most);
                let is_turned = !others_positive && self.rng.random();
                match (k == driver, is_turned) {
                    (true, _) if is_positive => gain,
                    (true, _) => -gain,
                    (false, true) => -small,
                    (false, false) => small,
                }
            })
            .collect()
    }

    /// Different numbers below `n` in random order.
    fn choose(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..n).collect();
        for i in 0..count.min(n) {
            let other = self.rng.random_range(i..n);
            numbers.swap(i, other);
        }
        numbers.truncate(count);
        numbers
    }

    /// The first layer: every row is driven by an input of its own.
    fn first(&mut self) -> Option<Layer> {
        let (n, m) = (self.widths[0], self.widths[1]);
        let drivers = self.choose(n, m);
        let ends = |side: &Interval| Some((side.lower.clone()?, side.upper.clone()?));
        let sides: Vec<(Rational, Rational)> = self.sides.iter().map(ends).collect::<Option<_>>()?;
        let half = Rational::dyadic(1, -1);
        let middle: Vec<Rational> = sides.iter().map(|(lower, upper)| &(lower + upper) * &half).collect();
        let radius: Vec<f64> =
            sides.iter().map(|(lower, upper)| (&(upper - lower) * &half).to_f64()).collect();
        let mut rows: Vec<Vec<Rational>> = Vec::new();
        for (j, &driver) in drivers.iter().enumerate() {
            let sign = self.rng.random();
            let shares = self.shares(n, driver, [sign, false]);
            // u' in [0, 2], s' and t' in [0, 1].
            let half_width = if j == 0 { 1.0 } else { 0.5 };
            let mut row = Vec::new();
            for (share, radius) in shares.iter().zip(&radius) {
                row.push(Rational::from_f64(significant(half_width * share / radius, self.bits))?);
            }
            let constant = &Rational::from_f64(half_width)? - &dot(&row, &middle);
            row.push(constant);
            rows.push(row);
        }
        let second = differences(&rows[1], &rows[0]);
        rows[1] = second;
        self.layer(rows, drivers, middle)
    }

    /// A layer above another.
    fn next(&mut self, l: usize) -> Option<Layer> {
        let (n, m) = (self.widths[l], self.widths[l + 1]);
        let t_drivers: Vec<usize> = self.choose(n - 2, m - 2).into_iter().map(|k| k + 2).collect();
        // The coordinates u, s, t_3, ...: u' is driven by s, s' by u, the others by one of the t each.
        let drivers: Vec<usize> = [1, 0].into_iter().chain(t_drivers.iter().copied()).collect();
        let mut rows: Vec<Vec<Rational>> = Vec::new();
        for (j, &driver) in drivers.iter().enumerate() {
            let sign = match j {
                0 => self.rng.random(),
                1 => true,
                _ => false,
            };
            let shares = self.shares(n, driver, [sign, j == 1]);
            let half_width = if j == 0 { 1.0 } else { 0.5 };
            // v = middle + half_width * sum share * (2 coordinate - 1), with s = a_1 + a_2 - 1.
            let coefficients: Vec<f64> =
                shares.iter().map(|share| self.short(2.0 * half_width * share)).collect();
            let mut row: Vec<f64> = coefficients.clone();
            row[0] = coefficients[0] + coefficients[1];
            let sum: f64 = coefficients.iter().sum();
            let constant = half_width - 0.5 * sum - coefficients[1];
            row.push(constant);
            rows.push(row.iter().map(|&x| Rational::from_f64(x)).collect::<Option<_>>()?);
        }
        let second = differences(&rows[1], &rows[0]);
        rows[1] = second;
        let solved = [0, 1].into_iter().chain(t_drivers).collect();
        // u = s = t = 1/2.
        let middle = (0..n).map(|k| if k == 1 { Rational::ONE } else { Rational::dyadic(1, -1) }).collect();
        self.layer(rows, solved, middle)
    }

    /// Rounds the rows to doubles and keeps how the layer is undone.
    fn layer(
        &mut self,
        rows: Vec<Vec<Rational>>,
        solved: Vec<usize>,
        middle: Vec<Rational>,
    ) -> Option<Layer> {
        let (m, n) = (rows.len(), middle.len());
        let weight = Matrix::from_fn(m, n, |i, j| rows[i][j].to_f64());
        let bias: Vec<f64> = rows.iter().map(|row| row[n].to_f64()).collect();
        if weight.entries().iter().chain(&bias).any(|x| !x.is_finite()) {
            return None;
        }
        let columns = weight.select_columns(&solved);
        // Rows of the first layer may have any size: their scale is that of the box.
        let scale: Vec<f64> =
            (0..m).map(|j| columns.column(j).fold(0.0f64, |most, x| most.max(x.abs()))).collect();
        let even = Matrix::from_fn(m, m, |i, j| columns[(i, j)] / scale[j]);
        let mut inverse = invert(even.entries(), m, 1e-9)?;
        inverse.chunks_mut(m).zip(&scale).for_each(|(row, scale)| row.iter_mut().for_each(|x| *x /= scale));
        let exact = |x: &f64| Rational::from_f64(*x).unwrap_or_default();
        self.undone.push(PullBack {
            solved,
            middle,
            weight: weight.map(exact),
            bias: bias.iter().map(exact).collect(),
            inverse,
        });
        Some(Layer::new(weight, bias, Activation::Relu))
    }

    /// The points of all neurons, checked; `None` if one fails.
    fn points(&self, network: &ExactNetwork, deadline: &Deadline) -> Result<Option<FoldPaths>, LimitReached> {
        let mut paths = FoldPaths::default();
        for (l, &width) in self.widths[1..self.widths.len() - 1].iter().enumerate() {
            let mut of_layer = Vec::new();
            for unit in 0..width {
                deadline.check(WHEN)?;
                let next = (l + 1 < self.undone.len()).then_some(0);
                let Some(x) = self.undo(l, self.on_face(l, unit)) else { return Ok(None) };
                let neuron = Neuron { layer: l, unit };
                let point = FoldPoint::near(network, &self.sides, (neuron, next), &x);
                if point.is_none() {
                    return Ok(None);
                }
                of_layer.push(point);
            }
            paths.points.push(of_layer);
        }
        Ok(Some(paths))
    }

    /// Activations of layer `l` (from 0) on the face of a neuron, where the first neuron of the next layer is
    /// zero if there is one.
    fn on_face(&self, l: usize, unit: usize) -> Vec<Rational> {
        let n = self.widths[l + 1];
        // Activations (constant, times s): a_1 + a_2 = 1 + s.
        let half = Rational::dyadic(1, -1);
        let (zero, one) = (Rational::ZERO, Rational::ONE);
        let pair = match unit {
            0 => [(zero.clone(), zero.clone()), (one.clone(), one)],
            1 => [(one.clone(), one), (zero.clone(), zero.clone())],
            _ => [(half.clone(), zero.clone()), (half.clone(), one)],
        };
        let t = (2..n).map(|k| (if k == unit { Rational::ZERO } else { half.clone() }, zero.clone()));
        let line: Vec<(Rational, Rational)> = pair.into_iter().chain(t).collect();
        let s = match self.undone.get(l + 1) {
            None => half.clone(),
            Some(next) => {
                let row = next.weight.row(0);
                let fixed = dot(row, line.iter().map(|(fixed, _)| fixed)) + &next.bias[0];
                let slope = dot(row, line.iter().map(|(_, slope)| slope));
                // The settled point is exact; doubles are near enough here.
                Rational::from_f64(-fixed.to_f64() / slope.to_f64()).unwrap_or(half)
            }
        };
        line.into_iter().map(|(fixed, slope)| &fixed + &(&slope * &s)).collect()
    }

    /// An input whose activations in layer `l` are these, up to far less than what matters.
    fn undo(&self, l: usize, activations: Vec<Rational>) -> Option<Vec<Rational>> {
        let digits = 80 + 4 * (l as i64 + 1);
        self.undone[..=l].iter().rev().try_fold(activations, |a, layer| layer.undo(&a, digits))
    }
}

impl PullBack {
    /// Activations before the layer, so that those after it are off by less than `2^-digits`.
    fn undo(&self, after: &[Rational], digits: i64) -> Option<Vec<Rational>> {
        const STEPS: usize = 200;
        let m = after.len();
        let mut before = self.middle.clone();
        let least = Rational::dyadic(1, -digits);
        for _ in 0..STEPS {
            let value = |i: usize| dot(self.weight.row(i), &before) + &self.bias[i];
            let missing: Vec<Rational> = (0..m).map(|i| &after[i] - &value(i)).collect();
            if missing.iter().all(|x| x.abs() < least) {
                return Some(before);
            }
            let missing: Vec<f64> = missing.iter().map(Rational::to_f64).collect();
            for (k, row) in self.solved.iter().zip(self.inverse.chunks(m)) {
                let step: f64 = row.iter().zip(&missing).map(|(x, y)| x * y).sum();
                before[*k] += &Rational::from_f64(step)?;
            }
        }
        None
    }
}

/// A double with so many significant bits.
fn significant(x: f64, bits: i32) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let grid = 2f64.powi(bits - 1 - x.abs().log2().floor() as i32);
    let rounded = (x * grid).round() / grid;
    if rounded.is_finite() { rounded } else { x }
}

fn differences(x: &[Rational], y: &[Rational]) -> Vec<Rational> {
    let mut rows: Vec<Rational> = x.iter().zip(y).map(|(x, y)| x - y).collect();
    // z_1 + z_2 = 1 + s'.
    if let Some(constant) = rows.last_mut() {
        *constant += &Rational::ONE;
    }
    rows
}
