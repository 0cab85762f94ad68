//! The data of the experiments of [ntk2026complexity, Section 5].
//!
//! ```text
//! f1 = 1.5 + sin(2 pi x)                          g1 = 1.5 + sin(2 pi x) + sin(2 pi y)
//! f2 = f1 + 0.5 sin(4 pi x)                       g2 = g1 + 0.5 sin(4 pi x)
//! f3 = f2 + 0.4 sin(16 pi x)                      g3 = g2 + 0.4 sin(4 pi y)
//! ```
//!
//! on 100 equally spaced points of `[0, 1]` and on a 20 x 20 grid, with normal noise of deviation 0.01 added
//! to inputs and outputs; and heating and cooling loads of buildings [tsanas2012energy, Section 2], whose
//! inputs satisfy `X2 = X3 + 2 X4` exactly.

use std::f64::consts::TAU;

use fiberscope_core::Matrix;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::trainer::normal;

const ENERGY: &str = include_str!("../../data/energy_efficiency.csv");
const NOISE: f64 = 0.01;
/// The noise is that of the data, not of the runs: one draw for each function.
const NOISE_SEED: u64 = 0x6e74_6b00;

/// A data set of the experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// `f1`, `f2` or `f3`.
    Univariate(u8),
    /// `g1`, `g2` or `g3`.
    Bivariate(u8),
    /// The heating load.
    Heating(ColumnScaling),
    /// The cooling load.
    Cooling(ColumnScaling),
}

/// What is done to the columns of the energy data, inputs and target alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnScaling {
    /// Mean 0 and deviation 1.
    Standard,
    /// From 0 to 1.
    MinMax,
    /// Nothing.
    Raw,
}

impl Task {
    /// The task of that name: `f1`, `f2`, `f3`, `g1`, `g2`, `g3`, `heating`, `cooling`, the last two also
    /// with `-minmax` or `-raw`.
    pub fn from_name(name: &str) -> Option<Self> {
        let digit = |text: &str| text.parse::<u8>().ok().filter(|k| (1..=3).contains(k));
        if let Some(k) = name.strip_prefix('f').and_then(digit) {
            return Some(Task::Univariate(k));
        }
        if let Some(k) = name.strip_prefix('g').and_then(digit) {
            return Some(Task::Bivariate(k));
        }
        let (base, scaling) = match name.split_once('-') {
            None => (name, ColumnScaling::Standard),
            Some((base, "minmax")) => (base, ColumnScaling::MinMax),
            Some((base, "raw")) => (base, ColumnScaling::Raw),
            Some(_) => return None,
        };
        match base {
            "heating" => Some(Task::Heating(scaling)),
            "cooling" => Some(Task::Cooling(scaling)),
            _ => None,
        }
    }

    /// The inputs and the targets, one sample per row.
    pub fn samples(self) -> (Matrix, Matrix) {
        match self {
            Task::Univariate(k) => {
                noisy(u64::from(k), Matrix::from_fn(100, 1, |i, _| i as f64 / 99.0), |x| univariate(k, x[0]))
            }
            Task::Bivariate(k) => {
                let grid = Matrix::from_fn(400, 2, |i, j| if j == 0 { i / 20 } else { i % 20 } as f64 / 19.0);
                noisy(10 + u64::from(k), grid, |x| bivariate(k, x[0], x[1]))
            }
            Task::Heating(scaling) => energy(8, scaling),
            Task::Cooling(scaling) => energy(9, scaling),
        }
    }

    /// The function behind the samples, without noise; `None` for measured data.
    pub fn exact(self, x: &[f64]) -> Option<f64> {
        match (self, x) {
            (Task::Univariate(k), &[x]) => Some(univariate(k, x)),
            (Task::Bivariate(k), &[x, y]) => Some(bivariate(k, x, y)),
            _ => None,
        }
    }

    /// The number of inputs.
    pub fn inputs(self) -> usize {
        match self {
            Task::Univariate(_) => 1,
            Task::Bivariate(_) => 2,
            Task::Heating(_) | Task::Cooling(_) => 8,
        }
    }
}

fn univariate(k: u8, x: f64) -> f64 {
    let mut y = 1.5 + (TAU * x).sin();
    if k >= 2 {
        y += 0.5 * (2.0 * TAU * x).sin();
    }
    if k >= 3 {
        y += 0.4 * (8.0 * TAU * x).sin();
    }
    y
}

fn bivariate(k: u8, x: f64, y: f64) -> f64 {
    let mut value = 1.5 + (TAU * x).sin() + (TAU * y).sin();
    if k >= 2 {
        value += 0.5 * (2.0 * TAU * x).sin();
    }
    if k >= 3 {
        value += 0.4 * (2.0 * TAU * y).sin();
    }
    value
}

fn noisy(stream: u64, exact: Matrix, f: impl Fn(&[f64]) -> f64) -> (Matrix, Matrix) {
    let mut rng = ChaCha8Rng::seed_from_u64(NOISE_SEED);
    rng.set_stream(stream);
    let targets: Vec<f64> = exact.iter_rows().map(|x| f(x) + NOISE * normal(&mut rng)).collect();
    let inputs = exact.map(|x| x + NOISE * normal(&mut rng));
    let rows = targets.len();
    (inputs, Matrix::from_entries(rows, 1, targets).expect("one target per row"))
}

/// The eight inputs of the energy data and the target in the given column (8: heating, 9: cooling).
pub fn energy(target: usize, scaling: ColumnScaling) -> (Matrix, Matrix) {
    let rows: Vec<Vec<f64>> = ENERGY
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.trim().parse().expect("the file is ours")).collect())
        .collect();
    let mut table = Matrix::from_rows(&rows).expect("the file is ours");
    for j in 0..table.cols() {
        let column: Vec<f64> = table.column(j).copied().collect();
        let (shift, scale) = match scaling {
            ColumnScaling::Raw => (0.0, 1.0),
            ColumnScaling::Standard => {
                let mean = column.iter().sum::<f64>() / column.len() as f64;
                let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / column.len() as f64;
                (mean, variance.sqrt())
            }
            ColumnScaling::MinMax => {
                let (low, high) = column.iter().fold((f64::MAX, f64::MIN), |(l, h), &x| (l.min(x), h.max(x)));
                (low, high - low)
            }
        };
        for i in 0..table.rows() {
            table[(i, j)] = (table[(i, j)] - shift) / scale;
        }
    }
    (table.select_columns(&(0..8).collect::<Vec<_>>()), table.select_columns(&[target]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes() {
        for (name, rows, cols) in
            [("f3", 100, 1), ("g1", 400, 2), ("heating", 768, 8), ("cooling-minmax", 768, 8)]
        {
            let task = Task::from_name(name).unwrap();
            let (inputs, targets) = task.samples();
            assert_eq!(
                (inputs.rows(), inputs.cols(), targets.rows(), task.inputs()),
                (rows, cols, rows, cols)
            );
        }
        for name in ["f0", "f4", "g", "heat", "cooling-x", ""] {
            assert_eq!(Task::from_name(name), None, "{name}");
        }
    }

    /// Values of the formulas of the paper at places where sines are 0, 1 or -1; the noise is as said.
    #[test]
    fn samples_lie_on_the_functions() {
        for (name, x, y) in [
            ("f1", &[0.25][..], 2.5),
            ("f1", &[0.75], 0.5),
            ("f2", &[0.125], 2.0 + 0.5f64.sqrt()),
            ("f3", &[1.0 / 32.0], 1.9 + (TAU / 32.0).sin() + 0.5 * (TAU / 16.0).sin()),
            ("g1", &[0.25, 0.75], 1.5),
            ("g2", &[0.125, 0.25], 3.0 + 0.5f64.sqrt()),
            ("g3", &[0.25, 0.125], 2.9 + 0.5f64.sqrt()),
        ] {
            let value = Task::from_name(name).unwrap().exact(x).unwrap();
            assert!((value - y).abs() < 1e-12, "{name}({x:?}) = {value}, not {y}");
        }
        for name in ["f1", "f2", "f3", "g1", "g2", "g3"] {
            let task = Task::from_name(name).unwrap();
            let (inputs, targets) = task.samples();
            let side = if task.inputs() == 1 { 100 } else { 20 };
            let place = |i: usize, j: usize| if j + 1 == task.inputs() { i % side } else { i / side };
            let at = |i: usize| -> Vec<f64> {
                (0..task.inputs()).map(|j| place(i, j) as f64 / (side - 1) as f64).collect()
            };
            let (mut noise, rows) = ([0.0, 0.0], inputs.rows());
            for i in 0..rows {
                noise[0] += (inputs[(i, 0)] - at(i)[0]).powi(2);
                noise[1] += (targets[(i, 0)] - task.exact(&at(i)).unwrap()).powi(2);
            }
            let deviations = noise.map(|sum| (sum / rows as f64).sqrt());
            assert!(deviations.iter().all(|d| (0.007..0.013).contains(d)), "{name}: {deviations:?}");
        }
        assert_eq!(Task::Heating(ColumnScaling::Raw).exact(&[0.0; 8]), None);
    }

    #[test]
    fn the_energy_data_satisfy_their_relation() {
        let (inputs, targets) = energy(8, ColumnScaling::Raw);
        assert!(inputs.iter_rows().all(|x| x[1] == x[2] + 2.0 * x[3]));
        assert_eq!(targets[(0, 0)], 15.55);
        let (scaled, _) = energy(9, ColumnScaling::Standard);
        let mean: f64 = scaled.column(0).sum::<f64>() / 768.0;
        assert!(mean.abs() < 1e-12);
    }
}
