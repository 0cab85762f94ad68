//! Flow bases: bases `J_0, ..., J_L` of the layers in which every matrix is zeros and ones.
//!
//! `W_j J_{j-1} = J_j I~_j`, where the columns of `J_j` are the bars alive at layer `j` and `I~_j` maps each
//! bar to itself. The bars are the barcode of `theta` [shewchuk2024geometry].
//!
//! The staged decomposition never forms a product of matrices. At layer `j` the alive classes (bars born at
//! `s`, oldest first) have orthonormal columns whose first blocks span `col W_{j~s}`. A step maps each class
//! by `W_{j+1}`, takes off what older survivors span, and decomposes the rest, `R = U S V^T`: right vectors
//! with `S <= threshold` die at `j`, the others survive as `U`; histories are updated to match. The result is
//! the exact barcode of weights within a small multiple of the threshold.
//!
//! The threshold is `tolerance * scale` with one scale for all layers: with a scale per layer, a zero layer
//! with rounding noise would count as full rank.

use faer::{Mat, Scale};
use fiberscope_core::Matrix;

use super::{Bar, Barcode, LinearError, LinearNetwork, dense};

/// What counts as zero: singular values up to `relative * scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The relative tolerance.
    pub relative: f64,
    /// The scale; without it, the largest spectral norm of a matrix of the network.
    pub scale: Option<f64>,
}

impl Default for Tolerance {
    /// `1e-10` of the largest spectral norm: for weights that are exact up to rounding.
    fn default() -> Self {
        Tolerance { relative: 1e-10, scale: None }
    }
}

/// The barcode of a network with bases of all layers that flow along it.
#[derive(Clone, Debug)]
pub struct FlowBases {
    barcode: Barcode,
    copies: Vec<Bar>,
    bases: Vec<Mat<f64>>,
    inverses: Vec<Mat<f64>>,
    threshold: f64,
    smallest_kept: Option<f64>,
    largest_dropped: Option<f64>,
    residual: f64,
}

impl FlowBases {
    /// The flow bases of a network.
    ///
    /// ```
    /// use fiberscope::Matrix;
    /// use fiberscope::linear::{FlowBases, LinearNetwork, Tolerance};
    ///
    /// // (2 0; 0 0) times (1 0; 0 1): the second direction dies at the first layer.
    /// let weights = [[[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 0.0]]];
    /// let weights = weights.map(|rows| Matrix::from_rows(&rows).unwrap());
    /// let network = LinearNetwork::from_weights(weights.to_vec())?;
    /// let flow = FlowBases::compute(&network, Tolerance::default())?;
    /// assert_eq!(flow.barcode().rank_list().rows(), [vec![2], vec![1, 1]]);
    /// # Ok::<(), fiberscope::linear::LinearError>(())
    /// ```
    pub fn compute(network: &LinearNetwork, tolerance: Tolerance) -> Result<Self, LinearError> {
        let weights = network.dense_weights();
        let threshold = threshold(&weights, tolerance)?;
        let mut stages = Stages::new(weights[0].ncols(), threshold);
        for (layer, weight) in weights.iter().enumerate() {
            stages.advance(weight).ok_or(LinearError::Numerical { layer: layer + 1 })?;
        }
        stages.finish(&weights)
    }

    /// Flow bases that are already known.
    pub(super) fn from_parts(barcode: Barcode, bases: Vec<Mat<f64>>) -> Result<Self, LinearError> {
        let inverse = |(layer, basis)| dense::inverse(basis).ok_or(LinearError::Numerical { layer });
        let inverses = bases.iter().enumerate().map(inverse).collect::<Result<_, _>>()?;
        let copies = barcode.copies();
        Ok(FlowBases {
            barcode,
            copies,
            bases,
            inverses,
            threshold: 0.0,
            smallest_kept: None,
            largest_dropped: None,
            residual: 0.0,
        })
    }

    /// The barcode.
    pub fn barcode(&self) -> &Barcode {
        &self.barcode
    }

    /// Every copy of every bar, in the order of the columns.
    pub fn copies(&self) -> &[Bar] {
        &self.copies
    }

    /// The basis `J_j` of layer `j`: one column per bar alive there.
    pub fn basis(&self, layer: usize) -> Matrix {
        dense::from_faer(self.bases[layer].as_ref())
    }

    /// The singular values up to this count as zero.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The smallest singular value that was kept.
    pub fn smallest_kept(&self) -> Option<f64> {
        self.smallest_kept
    }

    /// The largest singular value that counted as zero.
    pub fn largest_dropped(&self) -> Option<f64> {
        self.largest_dropped
    }

    /// The largest `|W_j J_{j-1} - J_j I~_j| / (scale |J_{j-1}|)` in the Frobenius norm, `scale` the largest
    /// norm of a matrix.
    pub fn residual(&self) -> f64 {
        self.residual
    }

    /// The number `L` of matrices.
    pub(super) fn depth(&self) -> usize {
        self.bases.len() - 1
    }

    pub(super) fn dense_basis(&self, layer: usize) -> &Mat<f64> {
        &self.bases[layer]
    }

    pub(super) fn dense_inverse(&self, layer: usize) -> &Mat<f64> {
        &self.inverses[layer]
    }

    /// The column of `J_layer` that belongs to a copy.
    pub(super) fn column(&self, layer: usize, copy: usize) -> usize {
        self.copies[..copy].iter().filter(|bar| bar.contains(layer)).count()
    }

    /// The copies alive at a layer, in the order of the columns.
    pub(super) fn alive(&self, layer: usize) -> Vec<usize> {
        (0..self.copies.len()).filter(|&copy| self.copies[copy].contains(layer)).collect()
    }
}

fn threshold(weights: &[Mat<f64>], tolerance: Tolerance) -> Result<f64, LinearError> {
    let relative = tolerance.relative;
    if !(0.0..=1.0).contains(&relative) {
        return Err(LinearError::BadTolerance { tolerance: relative });
    }
    let mut scale = 0f64;
    for (layer, weight) in weights.iter().enumerate() {
        scale = scale.max(dense::spectral_norm(weight).ok_or(LinearError::Numerical { layer: layer + 1 })?);
    }
    Ok(relative * tolerance.scale.unwrap_or(scale))
}

/// Bars `[start, end]` that died, with their vectors at layers `start..=end`.
struct Dead {
    bar: Bar,
    history: Vec<Mat<f64>>,
}

/// The classes alive after some layers.
struct Stages {
    threshold: f64,
    /// At layer `x`, the columns of all alive classes born up to `x`, oldest first.
    alive: Vec<Mat<f64>>,
    /// How many bars of each class are alive.
    counts: Vec<usize>,
    dead: Vec<Dead>,
    smallest_kept: Option<f64>,
    largest_dropped: Option<f64>,
}

impl Stages {
    fn new(width: usize, threshold: f64) -> Self {
        Stages {
            threshold,
            alive: vec![Mat::identity(width, width)],
            counts: vec![width],
            dead: Vec::new(),
            smallest_kept: None,
            largest_dropped: None,
        }
    }

    /// Maps all classes by the next matrix.
    fn advance(&mut self, weight: &Mat<f64>) -> Option<()> {
        let layer = self.alive.len() - 1;
        let width = weight.nrows();
        let total: usize = self.counts.iter().sum();
        // Survivors, filled from the left; the last one is at the new layer and orthonormal.
        let mut next: Vec<Mat<f64>> = self.alive.iter().map(|old| Mat::zeros(old.nrows(), total)).collect();
        next.push(Mat::zeros(width, total));
        let (mut first, mut kept) = (0, 0);
        let mut counts = Vec::with_capacity(layer + 2);
        for start in 0..=layer {
            let count = self.counts[start];
            let survivors =
                if count == 0 { 0 } else { self.advance_class(weight, start, first, kept, &mut next)? };
            first += count;
            kept += survivors;
            counts.push(survivors);
        }
        let newborn = dense::complement(next[layer + 1].subcols(0, kept));
        counts.push(newborn.ncols());
        self.alive = (0..=layer)
            .map(|x| {
                let columns: usize = counts[..=x].iter().sum();
                next[x].subcols(0, columns).to_owned()
            })
            .collect();
        let old = next[layer + 1].subcols(0, kept);
        self.alive.push(Mat::from_fn(width, width, |i, j| {
            if j < kept { old[(i, j)] } else { newborn[(i, j - kept)] }
        }));
        self.counts = counts;
        Some(())
    }

    /// Maps the class born at `start`, whose columns begin at `first`, behind `kept` survivors of older
    /// classes; returns how many of it survive.
    fn advance_class(
        &mut self,
        weight: &Mat<f64>,
        start: usize,
        first: usize,
        kept: usize,
        next: &mut [Mat<f64>],
    ) -> Option<usize> {
        let layer = self.alive.len() - 1;
        let count = self.counts[start];
        let older = next[layer + 1].subcols(0, kept);
        let image = weight * self.alive[layer].subcols(first, count);
        let mut along = older.transpose() * &image;
        let mut rest = &image - older * &along;
        // Projecting twice makes the rest orthogonal to rounding.
        let again = older.transpose() * &rest;
        rest -= older * &again;
        along += &again;
        let svd = dense::svd(&rest, false)?;
        let room = weight.nrows() - kept;
        let survivors = svd.values.iter().filter(|&&value| value > self.threshold).count().min(room);
        self.note(&svd.values, survivors);
        let along = &along * &svd.v;
        let mut history = Vec::new();
        for (old, new) in self.alive.iter().zip(next.iter_mut()).skip(start) {
            let turned = old.subcols(first, count) * &svd.v - new.subcols(0, kept) * &along;
            for j in 0..survivors {
                let scale = 1.0 / svd.values[j];
                for i in 0..turned.nrows() {
                    new[(i, kept + j)] = turned[(i, j)] * scale;
                }
            }
            history.push(turned.subcols(survivors, count - survivors).to_owned());
        }
        for j in 0..survivors {
            for i in 0..weight.nrows() {
                next[layer + 1][(i, kept + j)] = svd.u[(i, j)];
            }
        }
        if survivors < count {
            self.dead.push(Dead { bar: Bar { start, end: layer }, history });
        }
        Some(survivors)
    }

    fn note(&mut self, values: &[f64], survivors: usize) {
        if let Some(&kept) = values[..survivors].last() {
            self.smallest_kept = Some(self.smallest_kept.map_or(kept, |other| other.min(kept)));
        }
        if let Some(&dropped) = values.get(survivors) {
            self.largest_dropped = Some(self.largest_dropped.map_or(dropped, |other| other.max(dropped)));
        }
    }

    /// Collects the bars and normalises each copy.
    fn finish(mut self, weights: &[Mat<f64>]) -> Result<FlowBases, LinearError> {
        let depth = weights.len();
        let mut first = 0;
        for (start, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let history = (start..=depth).map(|x| self.alive[x].subcols(first, count).to_owned()).collect();
            self.dead.push(Dead { bar: Bar { start, end: depth }, history });
            first += count;
        }
        self.dead.sort_by_key(|dead| (dead.bar.start, depth - dead.bar.end));
        let mut barcode = Barcode::empty(depth);
        for Dead { bar, history } in &mut self.dead {
            barcode.set(*bar, history[0].ncols());
            normalize(history);
        }
        let width = |layer: usize| if layer == 0 { weights[0].ncols() } else { weights[layer - 1].nrows() };
        let basis = |layer: usize| {
            let mut basis = Mat::zeros(width(layer), width(layer));
            let mut first = 0;
            for dead in self.dead.iter().filter(|dead| dead.bar.contains(layer)) {
                let columns = &dead.history[layer - dead.bar.start];
                basis.subcols_mut(first, columns.ncols()).copy_from(columns);
                first += columns.ncols();
            }
            basis
        };
        let mut flow = FlowBases::from_parts(barcode, (0..=depth).map(basis).collect())?;
        flow.threshold = self.threshold;
        flow.smallest_kept = self.smallest_kept;
        flow.largest_dropped = self.largest_dropped;
        flow.residual = residual(&flow, weights);
        Ok(flow)
    }
}

/// Divides each copy by the geometric mean of the norms of its vectors.
fn normalize(history: &mut [Mat<f64>]) {
    for j in 0..history[0].ncols() {
        let logarithms: f64 = history.iter().map(|columns| columns.col(j).norm_l2().ln()).sum();
        let mean = (logarithms / history.len() as f64).exp();
        if mean.is_finite() && mean > 0.0 {
            for columns in history.iter_mut() {
                let mut column = columns.col_mut(j);
                column *= Scale(1.0 / mean);
            }
        }
    }
}

fn residual(flow: &FlowBases, weights: &[Mat<f64>]) -> f64 {
    let scale = weights.iter().map(|weight| weight.norm_l2()).fold(0.0, f64::max);
    let step = |(j, weight): (usize, &Mat<f64>)| {
        let mapped = weight * &flow.bases[j];
        let expected = flowed(flow, j + 1);
        let size = scale * flow.bases[j].norm_l2();
        if size > 0.0 { (mapped - expected).norm_l2() / size } else { 0.0 }
    };
    weights.iter().enumerate().map(step).fold(0.0, f64::max)
}

/// `J_j I~_j`: for every bar alive at `j - 1` its vector at `j`, or zero.
fn flowed(flow: &FlowBases, layer: usize) -> Mat<f64> {
    let basis = &flow.bases[layer];
    let before = flow.alive(layer - 1);
    let mut image = Mat::zeros(basis.nrows(), before.len());
    let mut column = 0;
    for (copy, bar) in flow.copies.iter().enumerate() {
        if bar.contains(layer) {
            if let Ok(at) = before.binary_search(&copy) {
                image.col_mut(at).copy_from(basis.col(column));
            }
            column += 1;
        }
    }
    image
}
