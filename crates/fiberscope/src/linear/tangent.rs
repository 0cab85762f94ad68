//! Tangent and normal spaces of a stratum at a point, from flow bases [shewchuk2024geometry].
//!
//! For bar copies `e = [i, l]`, `f = [h, k]` let `P` be the layers `max(i, h+1)..=min(l, k+1)` and for `j` in
//! `P`
//!
//! ```text
//! t_j(e,f) = J_j[:,e] J_{j-1}^{-1}[f,:],      n_j(e,f) = J_j^{-1}[e,:]^T J_{j-1}[:,f]^T
//! ```
//!
//! be directions of the matrix `W_j` (dual to each other: `<t_j, n_j'> = delta`). The pair is *normal* if
//! `Ext(f, e) = 1`, or if `h = 0, l = L` and (`i = 0` or `k = L`). Then
//!
//! - a normal pair gives the tangents `t_j - t_{j+1}` and the normal `sum_j n_j`,
//! - any other pair gives the tangents `t_j`.
//!
//! Normals with `h = 0, l = L` span the row space of `d mu`; the others are the rank-increasing degrees of
//! freedom.

use faer::Mat;
use fiberscope_core::Matrix;

use super::{Bar, FlowBases, LinearError, dense};

/// Whether moving along a normal changes the product or raises ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormalKind {
    /// In the row space of the differential: leaves the fiber.
    Product,
    /// In the null space of the differential: leaves the stratum, to first order in the fiber.
    Rank,
}

/// The tangent and normal space of the stratum at a point.
#[derive(Clone, Debug)]
pub struct TangentSpace<'a> {
    flow: &'a FlowBases,
    pairs: Vec<Pair>,
}

/// A pair of copies with a layer range that is not empty.
#[derive(Clone, Copy, Debug)]
struct Pair {
    e: usize,
    f: usize,
    first: usize,
    last: usize,
    normal: Option<NormalKind>,
}

impl<'a> TangentSpace<'a> {
    /// The tangent space at the point with these flow bases.
    pub fn new(flow: &'a FlowBases) -> Self {
        let copies = flow.copies();
        let depth = flow.depth();
        let mut pairs = Vec::new();
        for (e, &target) in copies.iter().enumerate() {
            for (f, &source) in copies.iter().enumerate() {
                let first = target.start.max(source.start + 1);
                let last = target.end.min(source.end + 1);
                if first <= last {
                    pairs.push(Pair { e, f, first, last, normal: normal_kind(source, target, depth) });
                }
            }
        }
        TangentSpace { flow, pairs }
    }

    /// The dimension of the tangent space: that of the stratum.
    pub fn dimension(&self) -> usize {
        self.pairs.iter().map(Pair::tangent_count).sum()
    }

    /// The widths of the network, input first.
    pub fn widths(&self) -> Vec<usize> {
        (0..=self.flow.depth()).map(|layer| self.flow.dense_basis(layer).nrows()).collect()
    }

    /// The number of normals of a kind.
    pub fn normal_count(&self, kind: NormalKind) -> usize {
        self.pairs.iter().filter(|pair| pair.normal == Some(kind)).count()
    }

    /// A basis of the tangent space: velocities `(dW_1, ..., dW_L)`. Not orthonormal.
    pub fn tangents(&self) -> impl Iterator<Item = Vec<Matrix>> + '_ {
        self.pairs.iter().flat_map(move |pair| {
            (pair.first..pair.first + pair.tangent_count()).map(move |layer| match pair.normal {
                Some(_) => self.direction(&[(layer, 1.0), (layer + 1, -1.0)], |j| self.tangent(pair, j)),
                None => self.direction(&[(layer, 1.0)], |j| self.tangent(pair, j)),
            })
        })
    }

    /// A basis of the normal space of a kind.
    pub fn normals(&self, kind: NormalKind) -> impl Iterator<Item = Vec<Matrix>> + '_ {
        self.pairs.iter().filter(move |pair| pair.normal == Some(kind)).map(move |pair| {
            let terms: Vec<_> = (pair.first..=pair.last).map(|layer| (layer, 1.0)).collect();
            self.direction(&terms, |j| self.normal(pair, j))
        })
    }

    /// Velocities that, together with [`TangentSpace::tangents`], span the null space of the differential of
    /// `mu`: one per normal of kind [`NormalKind::Rank`]. Moving along one raises ranks and keeps the
    /// product.
    pub fn rank_increasing(&self) -> impl Iterator<Item = Vec<Matrix>> + '_ {
        let pairs = self.pairs.iter().filter(|pair| pair.normal == Some(NormalKind::Rank));
        pairs.map(move |pair| self.direction(&[(pair.first, 1.0)], |j| self.tangent(pair, j)))
    }

    /// The part of a direction that is tangent, along flow bases: the coordinates
    /// `y_j = J_j^{-1} dW_j J_{j-1}` of every normal pair lose their mean over `P`. A tangent stays what it
    /// is. The projection is oblique, and costs no more than inverting the weights.
    pub fn project(&self, direction: &[Matrix]) -> Result<Vec<Matrix>, LinearError> {
        let depth = self.flow.depth();
        let expected = self.widths();
        let found = chained_widths(direction);
        if expected != found {
            return Err(LinearError::WidthsDiffer { expected, found });
        }
        let mut coordinates: Vec<Mat<f64>> = (1..=depth)
            .map(|j| {
                self.flow.dense_inverse(j) * dense::to_faer(&direction[j - 1]) * self.flow.dense_basis(j - 1)
            })
            .collect();
        for pair in self.pairs.iter().filter(|pair| pair.normal.is_some()) {
            let place = |j: usize| (self.flow.column(j, pair.e), self.flow.column(j - 1, pair.f));
            let layers = pair.first..=pair.last;
            let sum: f64 = layers.clone().map(|j| coordinates[j - 1][place(j)]).sum();
            let mean = sum / (pair.last - pair.first + 1) as f64;
            layers.for_each(|j| coordinates[j - 1][place(j)] -= mean);
        }
        let back = |j: usize| self.flow.dense_basis(j) * &coordinates[j - 1] * self.flow.dense_inverse(j - 1);
        Ok((1..=depth).map(|j| dense::from_faer(back(j).as_ref())).collect())
    }

    fn direction(&self, terms: &[(usize, f64)], part: impl Fn(usize) -> Mat<f64>) -> Vec<Matrix> {
        let depth = self.flow.depth();
        let matrix = |j: usize| {
            let (rows, cols) = (self.flow.dense_basis(j).nrows(), self.flow.dense_basis(j - 1).nrows());
            match terms.iter().find(|(layer, _)| *layer == j) {
                Some(&(_, factor)) => {
                    let part = part(j);
                    Matrix::from_fn(rows, cols, |r, c| factor * part[(r, c)])
                }
                None => Matrix::from_fn(rows, cols, |_, _| 0.0),
            }
        };
        (1..=depth).map(matrix).collect()
    }

    fn tangent(&self, pair: &Pair, j: usize) -> Mat<f64> {
        let column = self.flow.dense_basis(j).col(self.flow.column(j, pair.e));
        let row = self.flow.dense_inverse(j - 1).row(self.flow.column(j - 1, pair.f));
        column * row
    }

    fn normal(&self, pair: &Pair, j: usize) -> Mat<f64> {
        let column = self.flow.dense_inverse(j).row(self.flow.column(j, pair.e)).transpose();
        let row = self.flow.dense_basis(j - 1).col(self.flow.column(j - 1, pair.f)).transpose();
        column * row
    }

    /// An orthonormal basis of the span of some directions, as columns of one matrix: entries of `W_1`, then
    /// `W_2`, ..., each row by row.
    pub fn orthonormal(directions: impl Iterator<Item = Vec<Matrix>>) -> Matrix {
        let columns: Vec<Vec<f64>> = directions
            .map(|direction| direction.iter().flat_map(|part| part.entries().to_vec()).collect())
            .collect();
        let rows = columns.first().map_or(0, Vec::len);
        let stacked = Mat::from_fn(rows, columns.len(), |i, j| columns[j][i]);
        if columns.is_empty() {
            dense::from_faer(stacked.as_ref())
        } else {
            dense::from_faer(stacked.qr().compute_thin_Q().as_ref())
        }
    }
}

/// The widths that a list of matrices chains, input first.
pub(super) fn chained_widths(matrices: &[Matrix]) -> Vec<usize> {
    let inputs = matrices.first().map(Matrix::cols);
    inputs.into_iter().chain(matrices.iter().map(Matrix::rows)).collect()
}

impl Pair {
    fn tangent_count(&self) -> usize {
        self.last - self.first + usize::from(self.normal.is_none())
    }
}

fn normal_kind(f: Bar, e: Bar, depth: usize) -> Option<NormalKind> {
    let across = f.start == 0 && e.end == depth;
    if across && (f.ext(e) || e.start == 0 || f.end == depth) {
        Some(NormalKind::Product)
    } else {
        f.ext(e).then_some(NormalKind::Rank)
    }
}
