//! The layers that are known already, with the signs of their neurons.
//!
//! On the region of `x` the known layers are affine: `h(x') = G x' + g`, with `G = D_l W_l ... D_1 W_1`.
//! Where they flip on a line is computed from them, without queries.

use fiberscope_algebra::dense::{along, dot, product, times};
use fiberscope_core::Matrix;

/// Rows `z_j = w_j . h + b_j` of one layer.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// The weights, one row per neuron.
    pub weight: Matrix,
    /// The biases.
    pub bias: Vec<f64>,
}

impl Rows {
    /// These rows.
    pub fn new(rows: &[(Vec<f64>, f64)]) -> Option<Rows> {
        let weights: Vec<&[f64]> = rows.iter().map(|(w, _)| w.as_slice()).collect();
        Some(Rows { weight: Matrix::from_rows(&weights)?, bias: rows.iter().map(|(_, b)| *b).collect() })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.bias.len()
    }

    /// `W h + b`.
    pub fn at(&self, h: &[f64]) -> Vec<f64> {
        self.weight.iter_rows().zip(&self.bias).map(|(w, b)| dot(w, h) + b).collect()
    }

    /// The gradients of the rows in the input, at a point behind the layers before.
    pub fn gradients(&self, prefix: &Prefix, local: &Local) -> Matrix {
        if prefix.layers.is_empty() { self.weight.clone() } else { product(&self.weight, &local.gradient) }
    }

    /// The rows, one by one.
    pub fn iter(&self) -> impl Iterator<Item = (&[f64], f64)> {
        self.weight.iter_rows().zip(self.bias.iter().copied())
    }
}

/// Known layers, the input itself if there are none.
#[derive(Clone, Debug)]
pub(super) struct Prefix {
    /// Number of inputs.
    pub inputs: usize,
    /// The layers, all followed by a ReLU.
    pub layers: Vec<Rows>,
}

/// The affine piece of the known layers at a point.
pub(super) struct Local {
    /// `h(x)`.
    pub hidden: Vec<f64>,
    /// `G`: the derivative of `h`, rows of inactive neurons zero.
    pub gradient: Matrix,
    /// Which neurons of the last known layer are active.
    pub active: Vec<bool>,
    /// The pre-activations of the last known layer.
    pub pre: Vec<f64>,
    /// Their derivative.
    pub pre_gradient: Matrix,
    /// Pre-activation and derivative of every known neuron.
    pub walls: Vec<(f64, Vec<f64>)>,
}

impl Prefix {
    /// No layers.
    pub fn empty(inputs: usize) -> Self {
        Prefix { inputs, layers: Vec::new() }
    }

    /// These layers.
    pub fn of(inputs: usize, layers: &[Rows]) -> Self {
        Prefix { inputs, layers: layers.to_vec() }
    }

    /// With one layer more.
    #[must_use]
    pub fn extended(&self, rows: Rows) -> Self {
        let mut layers = self.layers.clone();
        layers.push(rows);
        Prefix { inputs: self.inputs, layers }
    }

    /// The number of features `h`.
    pub fn width(&self) -> usize {
        self.layers.last().map_or(self.inputs, Rows::len)
    }

    /// `h(x)`.
    pub fn hidden(&self, x: &[f64]) -> Vec<f64> {
        let mut h = x.to_vec();
        for layer in &self.layers {
            h = layer.at(&h).into_iter().map(|z| z.max(0.0)).collect();
        }
        h
    }

    /// `h` at every row.
    pub fn hidden_batch(&self, points: &Matrix) -> Matrix {
        let rows: Vec<Vec<f64>> = points.iter_rows().map(|x| self.hidden(x)).collect();
        Matrix::from_fn(points.rows(), self.width(), |i, j| rows[i][j])
    }

    /// The affine piece at `x`.
    pub fn local(&self, x: &[f64]) -> Local {
        let axes = if self.layers.is_empty() { self.inputs } else { 0 };
        let mut local = Local {
            hidden: x.to_vec(),
            gradient: Matrix::from_fn(axes, self.inputs, |i, j| f64::from(u8::from(i == j))),
            active: vec![true; self.inputs],
            pre: x.to_vec(),
            pre_gradient: Matrix::from_fn(0, self.inputs, |_, _| 0.0),
            walls: Vec::new(),
        };
        for (index, layer) in self.layers.iter().enumerate() {
            local.pre = layer.at(&local.hidden);
            local.pre_gradient =
                if index == 0 { layer.weight.clone() } else { product(&layer.weight, &local.gradient) };
            local.active = local.pre.iter().map(|&z| z > 0.0).collect();
            local.hidden = local.pre.iter().map(|z| z.max(0.0)).collect();
            local.gradient = local.pre_gradient.clone();
            for (i, &active) in local.active.iter().enumerate() {
                local.walls.push((local.pre[i], local.pre_gradient.row(i).to_vec()));
                if !active {
                    local.gradient.row_mut(i).fill(0.0);
                }
            }
        }
        local
    }

    /// Where known neurons flip on `x + t u`, `from < t < to`.
    pub fn flips(&self, x: &[f64], u: &[f64], from: f64, to: f64) -> Vec<f64> {
        let mut found = Vec::new();
        let mut t = from;
        while !self.layers.is_empty() && found.len() < 10_000 {
            let small = 1e-12 * t.abs().max(1.0);
            let next = self.next_flip(&along(x, t + small, u), u, 10.0 * small);
            let Some(step) = next else { break };
            t += small + step;
            if t >= to {
                break;
            }
            found.push(t);
        }
        found
    }

    /// The next flip at a distance of at least `least`.
    fn next_flip(&self, x: &[f64], u: &[f64], least: f64) -> Option<f64> {
        let mut next = f64::INFINITY;
        let (mut h, mut slope) = (x.to_vec(), u.to_vec());
        for layer in &self.layers {
            let z = layer.at(&h);
            let s = times(&layer.weight, &slope);
            for (z, s) in z.iter().zip(&s) {
                let step = -z / s;
                if step > least && step < next {
                    next = step;
                }
            }
            slope = z.iter().zip(&s).map(|(&z, &s)| if z > 0.0 { s } else { 0.0 }).collect();
            h = z.into_iter().map(|z| z.max(0.0)).collect();
        }
        next.is_finite().then_some(next)
    }
}

impl Local {
    /// How far one may go from the point along `u`, in either direction, before a known neuron flips.
    pub fn room(&self, u: &[f64]) -> f64 {
        self.walls
            .iter()
            .map(|(z, g)| {
                let speed = dot(g, u).abs();
                if speed > 0.0 { z.abs() / speed } else { f64::INFINITY }
            })
            .fold(f64::INFINITY, f64::min)
    }

    /// The indices of the active neurons.
    pub fn active_set(&self) -> Vec<usize> {
        (0..self.active.len()).filter(|&i| self.active[i]).collect()
    }
}
