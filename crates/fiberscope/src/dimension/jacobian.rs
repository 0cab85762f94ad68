//! The parameter Jacobian modulo a prime, never formed.
//!
//! Where the activation pattern is fixed, everything is linear in homogeneous coordinates `v = (x, 1)`: with
//! masks `M_l`, `h_l = M_l (W_l h_{l-1} + b_l t)` and `t` the last coordinate of `v`. Row `(v, o)` of the
//! Jacobian has, for the parameters of layer `l`, the block
//!
//! ```text
//! B_l(v, o) (x) (h_{l-1}, t),     B_L = e_o,   B_l = (W_{l+1}^T B_{l+1}) o M_l .
//! ```
//!
//! The product of the Jacobian with a parameter direction that is of rank one in every layer, `u_l (x) v_l`,
//! is therefore `sum_l (B_l u_l) o (H_{l-1} v_l)`: two products of small matrices. Such directions span the
//! parameter space and form an irreducible variety, so `s` generic ones give columns of rank
//! `min(s, rank J)`.
//!
//! With weights `d_l (x) e_l` of the parameters the kernel `J diag(d) J^T` is
//! `sum_l (B_l diag(d_l) B_l^T) o (H_{l-1} diag(e_l) H_{l-1}^T)`: again products of small matrices.

use fiberscope_core::{Matrix, Network};
use ndarray::{Array2, ArrayView2, s};
use rand::Rng;
use rayon::prelude::*;

use super::elimination::{Elimination, factor};
use super::field::Field;
use super::pattern::Patterns;

/// Points whose rows are computed at a time.
const TILE: usize = 256;

/// A layer with its `u` and `v`, one column per direction.
pub(super) type Direction = (usize, Array2<f64>, Array2<f64>);

/// A layer with the weights of its outputs and of its inputs.
pub(super) type LayerWeights = (usize, Vec<f64>, Vec<f64>);

/// Homogeneous vectors with the activation pattern of each: what the rows of the Jacobian are made of.
///
/// A point `x` is the vector `(x, 1)`. For a region of which an interior point is known the unit vectors will
/// do, since the region contains affinely independent points and their homogeneous vectors span the same
/// space.
#[derive(Clone, Debug)]
pub(super) struct Vectors {
    /// One row per vector, `n_0 + 1` columns.
    pub coordinates: Matrix,
    /// The pattern of each vector, as the number of a point of `patterns`.
    pub pattern: Vec<usize>,
}

/// Which parameters the Jacobian is taken at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// The network's own, as the dyadic numbers they are.
    Network,
    /// Random residues: the generic rank of the activation cell.
    Random,
}

/// The factors `H_{l-1}` and `B_l` of the Jacobian of a network at vectors, modulo a prime.
pub(super) struct Factors<'f> {
    field: &'f Field,
    outputs: usize,
    points: usize,
    /// `(h_{l-1}, t)`, one row per vector.
    inputs: Vec<Array2<f64>>,
    /// `B_l` of the hidden layers, one row per vector and output.
    signals: Vec<Array2<f64>>,
}

impl<'f> Factors<'f> {
    /// About how many bytes the factors take for so many vectors.
    pub fn bytes(network: &Network, vectors: usize) -> usize {
        let widths = network.widths();
        let hidden = &widths[1..widths.len() - 1];
        let inputs: usize = widths[..widths.len() - 1].iter().map(|width| width + 1).sum();
        let signals = network.output_width() * hidden.iter().sum::<usize>();
        let scratch = hidden.iter().max().copied().unwrap_or(0);
        vectors.saturating_mul(8 * (inputs + signals + scratch))
    }

    pub fn new(
        field: &'f Field,
        network: &Network,
        patterns: &Patterns,
        vectors: &Vectors,
        at: At,
        rng: &mut impl Rng,
    ) -> Self {
        let mut parameter = |values: &[f64]| match at {
            At::Network => field.residues(values),
            At::Random => values.iter().map(|_| field.sample(rng)).collect(),
        };
        let layers: Vec<(Array2<f64>, Vec<f64>)> = network
            .layers()
            .iter()
            .map(|layer| {
                let shape = (layer.width(), layer.input_width());
                let weight = Array2::from_shape_vec(shape, parameter(layer.weight().entries()));
                (weight.expect("the weight's shape"), parameter(layer.bias()))
            })
            .collect();
        let inputs = forward(field, &layers, patterns, vectors);
        let signals = backward(field, &layers, patterns, vectors);
        let (outputs, points) = (network.output_width(), vectors.pattern.len());
        Factors { field, outputs, points, inputs, signals }
    }

    /// The integers modulo the prime.
    pub fn field(&self) -> &'f Field {
        self.field
    }

    /// The number of rows of the Jacobian.
    pub fn rows(&self) -> usize {
        self.points * self.outputs
    }

    /// The number of vectors.
    #[cfg(any(test, feature = "cuda"))]
    pub fn points(&self) -> usize {
        self.points
    }

    /// The number of outputs.
    #[cfg(any(test, feature = "cuda"))]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// `(h_{l-1}, t)` of every layer, one row per vector.
    #[cfg(any(test, feature = "cuda"))]
    pub fn inputs(&self) -> &[Array2<f64>] {
        &self.inputs
    }

    /// `B_l` of the hidden layers, one row per vector and output.
    #[cfg(any(test, feature = "cuda"))]
    pub fn signals(&self) -> &[Array2<f64>] {
        &self.signals
    }

    /// Random directions, of all parameters or of those of one layer.
    pub fn directions(&self, count: usize, only: Option<usize>, rng: &mut impl Rng) -> Vec<Direction> {
        let mut random = |rows: usize| Array2::from_shape_fn((rows, count), |_| self.field.sample(rng));
        let direction = |l: usize| (l, random(self.signal_width(l)), random(self.inputs[l].ncols()));
        let chosen = (0..self.inputs.len()).filter(|l| only.is_none_or(|only| only == *l));
        chosen.map(direction).collect()
    }

    /// The Jacobian times `count` random directions, of all parameters or of those of one layer; row `(v, o)`
    /// stands at `v * outputs + o`.
    pub fn sketch(&self, count: usize, only: Option<usize>, rng: &mut impl Rng) -> Array2<f64> {
        let directions = self.directions(count, only, rng);
        let mut product = Array2::zeros((self.rows(), count));
        let entries = product.as_slice_mut().expect("a new matrix is contiguous");
        entries.par_chunks_mut(TILE * self.outputs * count).enumerate().for_each(|(tile, out)| {
            if self.field.is_late() {
                return;
            }
            self.sketch_tile(tile * TILE, &directions, count, out);
        });
        product
    }

    fn sketch_tile(&self, first: usize, directions: &[Direction], count: usize, out: &mut [f64]) {
        let (rows, outputs) = (out.len() / count, self.outputs);
        let points = rows / outputs;
        let mut right = Array2::zeros((points, count));
        let mut left = Array2::zeros((rows, count));
        for &(l, ref u, ref v) in directions {
            let input = self.inputs[l].slice(s![first..first + points, ..]);
            self.field.multiply_here(input, v.view(), &mut right);
            let last = l == self.signals.len();
            if !last {
                let signal = self.signals[l].slice(s![first * outputs..first * outputs + rows, ..]);
                self.field.multiply_here(signal, u.view(), &mut left);
            }
            let right = right.as_slice().expect("contiguous");
            let left = if last { u.as_slice() } else { left.as_slice() }.expect("contiguous");
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || {
                    for (row, sum) in out.chunks_exact_mut(count).enumerate() {
                        let from = if last { row % outputs } else { row };
                        let (x, y) =
                            (&left[from * count..][..count], &right[row / outputs * count..][..count]);
                        sum.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum += x * y);
                    }
                },
            );
            if l % 256 == 255 {
                self.field.reduce_all(out);
            }
        }
        self.field.reduce_all(out);
    }

    /// Random weights of all parameters or of those of one layer.
    pub fn weights(&self, only: Option<usize>, rng: &mut impl Rng) -> Vec<LayerWeights> {
        let mut random = |count: usize| (0..count).map(|_| self.field.sample(rng)).collect::<Vec<_>>();
        let chosen = (0..self.inputs.len()).filter(|l| only.is_none_or(|only| only == *l));
        chosen.map(|l| (l, random(self.signal_width(l)), random(self.inputs[l].ncols()))).collect()
    }

    fn signal_width(&self, layer: usize) -> usize {
        self.signals.get(layer).map_or(self.outputs, Array2::ncols)
    }

    /// A block of the weighted kernel.
    pub fn kernel(&self, weights: &[LayerWeights], rows: &[usize], cols: &[usize]) -> Array2<f64> {
        let sides: Vec<KernelSide> = weights.iter().map(|each| KernelSide::new(self, each, cols)).collect();
        let mut block = Array2::zeros((rows.len(), cols.len()));
        let tiles: Vec<_> =
            block.axis_chunks_iter_mut(ndarray::Axis(0), TILE).zip(rows.chunks(TILE)).collect();
        tiles.into_par_iter().for_each(|(mut out, rows)| {
            let out = out.as_slice_mut().expect("whole rows are contiguous");
            for (count, side) in sides.iter().enumerate() {
                if self.field.is_late() {
                    return;
                }
                side.add(self, rows, cols, out);
                if count % 256 == 255 {
                    self.field.reduce_all(out);
                }
            }
            self.field.reduce_all(out);
        });
        block
    }

    /// The sum over the vectors of the rank of `B_1`: the rank of the first layer's block if the vectors are
    /// independent, since a change of basis then turns them into unit vectors. Zero if it is late.
    pub fn signal_ranks(&self, rng: &mut impl Rng) -> usize {
        let outputs = self.outputs;
        let Some(signal) = self.signals.first() else { return self.rows() };
        let mix = Array2::from_shape_fn((signal.ncols(), outputs), |_| self.field.sample(rng));
        let mut mixed = Array2::zeros((self.rows(), outputs));
        self.field.multiply(signal.view(), mix.view(), mixed.view_mut());
        let ranks = mixed
            .axis_chunks_iter_mut(ndarray::Axis(0), outputs)
            .map(|each| factor(self.field, each).0)
            .sum();
        if self.field.is_late() { 0 } else { ranks }
    }

    /// The rank of `(h_{l-1}, t)` over each group of vectors, summed; to be used only if it is not late then.
    pub fn input_ranks(&self, layer: usize, groups: &[Vec<usize>], rng: &mut impl Rng) -> usize {
        let width = self.inputs[layer].ncols();
        let mix = Array2::from_shape_fn((width, width), |_| self.field.sample(rng));
        let rank = |group: &Vec<usize>| match group.len() {
            1 => 1,
            _ if self.field.is_late() => 0,
            _ => {
                let rows = self.inputs[layer].select(ndarray::Axis(0), group);
                independent(self.field, rows.view(), mix.view()).len()
            }
        };
        groups.par_iter().map(rank).sum()
    }
}

/// What a block of the kernel takes from one layer and its columns.
struct KernelSide {
    layer: usize,
    /// `diag(d) B^T`; for the last layer, whose `B` are unit vectors, nothing.
    signals: Option<Array2<f64>>,
    output_weights: Vec<f64>,
    /// `diag(e) H^T`, one column per vector.
    inputs: Array2<f64>,
    /// Which of these a column of the block takes.
    places: Vec<usize>,
}

impl KernelSide {
    fn new(factors: &Factors, (layer, outputs, inputs): &LayerWeights, cols: &[usize]) -> Self {
        let field = factors.field;
        let weighted = |matrix: &Array2<f64>, rows: &[usize], weights: &[f64]| {
            let entry = |(k, i): (usize, usize)| field.reduce(weights[k] * matrix[(rows[i], k)]);
            Array2::from_shape_fn((weights.len(), rows.len()), entry)
        };
        let (vectors, places) = vectors_of(cols, factors.outputs);
        KernelSide {
            layer: *layer,
            signals: factors.signals.get(*layer).map(|signal| weighted(signal, cols, outputs)),
            output_weights: outputs.clone(),
            inputs: weighted(&factors.inputs[*layer], &vectors, inputs),
            places,
        }
    }

    /// Adds the layer's part to rows of a block, not reduced.
    fn add(&self, factors: &Factors, rows: &[usize], cols: &[usize], out: &mut [f64]) {
        let (field, outputs, count) = (factors.field, factors.outputs, cols.len());
        let (vectors, places) = vectors_of(rows, outputs);
        let input = factors.inputs[self.layer].select(ndarray::Axis(0), &vectors);
        let mut narrow = Array2::zeros((vectors.len(), self.inputs.ncols()));
        field.multiply_here(input.view(), self.inputs.view(), &mut narrow);
        let right = match outputs {
            1 => narrow,
            _ => Array2::from_shape_fn((vectors.len(), count), |(i, j)| narrow[(i, self.places[j])]),
        };
        let mut left = Array2::zeros((rows.len(), count));
        match &self.signals {
            Some(signals) => {
                let signal = factors.signals[self.layer].select(ndarray::Axis(0), rows);
                field.multiply_here(signal.view(), signals.view(), &mut left);
            }
            None => {
                for ((i, j), entry) in left.indexed_iter_mut() {
                    let (o, same) = (rows[i] % outputs, rows[i] % outputs == cols[j] % outputs);
                    *entry = if same { self.output_weights[o] } else { 0.0 };
                }
            }
        }
        let (left, right) = (left.as_slice().expect("new"), right.as_slice().expect("new"));
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for (row, sum) in out.chunks_exact_mut(count).enumerate() {
                    let (x, y) = (&left[row * count..][..count], &right[places[row] * count..][..count]);
                    sum.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum += x * y);
                }
            },
        );
    }
}

/// The vectors that rows of the Jacobian belong to, neighbours merged, and the place of each row's.
fn vectors_of(rows: &[usize], outputs: usize) -> (Vec<usize>, Vec<usize>) {
    let mut vectors: Vec<usize> = Vec::new();
    let mut places = Vec::with_capacity(rows.len());
    for row in rows {
        if vectors.last() != Some(&(row / outputs)) {
            vectors.push(row / outputs);
        }
        places.push(vectors.len() - 1);
    }
    (vectors, places)
}

/// Independent rows, as many as the rank: the columns are mixed by a random square matrix, so that the
/// elimination needs no column exchange.
pub(super) fn independent(field: &Field, rows: ArrayView2<f64>, mix: ArrayView2<f64>) -> Vec<usize> {
    let mut elimination = Elimination::new(field, rows.nrows());
    for mix in mix.axis_chunks_iter(ndarray::Axis(1), super::PANEL) {
        if elimination.rank() == rows.nrows() {
            break;
        }
        let mut mixed = Array2::zeros((rows.nrows(), mix.ncols()));
        field.multiply(rows, mix, mixed.view_mut());
        if !elimination.push(mixed) {
            break;
        }
    }
    elimination.pivot_rows().to_vec()
}

fn forward(
    field: &Field,
    layers: &[(Array2<f64>, Vec<f64>)],
    patterns: &Patterns,
    vectors: &Vectors,
) -> Vec<Array2<f64>> {
    let points = vectors.pattern.len();
    let shape = (points, vectors.coordinates.cols());
    let first = field.residues(vectors.coordinates.entries());
    let mut inputs = vec![Array2::from_shape_vec(shape, first).expect("one row per vector")];
    for (l, (weight, bias)) in layers[..layers.len() - 1].iter().enumerate() {
        let input = &inputs[l];
        let (width, before) = weight.dim();
        let mut z = Array2::zeros((points, width));
        field.multiply(input.slice(s![.., ..before]), weight.t(), z.view_mut());
        let mut next = Array2::zeros((points, width + 1));
        for (i, mut row) in next.rows_mut().into_iter().enumerate() {
            let t = input[(i, before)];
            let mask = patterns.layer(vectors.pattern[i], l);
            for unit in 0..width {
                if mask[unit / 64] >> (unit % 64) & 1 == 1 {
                    row[unit] = field.reduce(z[(i, unit)] + bias[unit] * t);
                }
            }
            row[width] = t;
        }
        inputs.push(next);
    }
    inputs
}

fn backward(
    field: &Field,
    layers: &[(Array2<f64>, Vec<f64>)],
    patterns: &Patterns,
    vectors: &Vectors,
) -> Vec<Array2<f64>> {
    let (outputs, points) = (layers[layers.len() - 1].0.nrows(), vectors.pattern.len());
    let mut signals: Vec<Array2<f64>> = Vec::new();
    for l in (0..layers.len() - 1).rev() {
        let weight = &layers[l + 1].0;
        let mut signal = Array2::zeros((points * outputs, weight.ncols()));
        match signals.last() {
            Some(next) => field.multiply(next.view(), weight.view(), signal.view_mut()),
            None => {
                for (row, mut signal) in signal.rows_mut().into_iter().enumerate() {
                    signal.assign(&weight.row(row % outputs));
                }
            }
        }
        for (row, mut signal) in signal.rows_mut().into_iter().enumerate() {
            let mask = patterns.layer(vectors.pattern[row / outputs], l);
            for (unit, x) in signal.iter_mut().enumerate() {
                if mask[unit / 64] >> (unit % 64) & 1 == 0 {
                    *x = 0.0;
                }
            }
        }
        signals.push(signal);
    }
    signals.reverse();
    signals
}
