//! The subspaces of the layers of a linear network [shewchuk2024geometry, Lemma 1].
//!
//! With `null W_{L+1~j} = R^{d_j}` and `col W_{j~-1} = 0`, for `0 <= i <= j <= k <= L`
//!
//! ```text
//! A_kji = null W_{k+1~j} ∩ col W_{j~i}            dim A_kji = r_{j~i} - r_{k+1~i}
//! B_kji = row W_{k~j} ∩ null W_{j~i-1}^T          dim B_kji = r_{k~j} - r_{k~i-1}
//! ```
//!
//! `A_kji` holds the directions at layer `j` that come from layer `i` and are lost by layer `k + 1`. Lemma 1:
//! `A_kji = W_{j~x} A_kxi` for `k + 1 >= j >= x >= i`, and `B_kji = W_{y~j}^T B_kyi` for `k >= y >= j >= i -
//! 1`. Its instances with `x = j - 1` and `y = j + 1` imply the others, by composition.
//!
//! A *prebasis subspace* `a_kji` is a complement of `A_{k-1,j,i} + A_{k,j,i-1}` in `A_kji`, and `b_kji` one
//! of `B_{k+1,j,i} + B_{k,j,i+1}` in `B_kji`. Both have dimension `omega_ki`, and those of a layer add up to
//! `R^{d_j}`: the Fundamental Theorem of Linear Neural Networks. Two choices: the *standard* one, the
//! orthogonal complement, and the *flow* subspaces, chosen at the birth layer and pushed forward, `a_kji =
//! W_{j~i} a_kii`. The flow subspaces are spanned by columns of the flow bases `J_j`, those of `b` by rows of
//! `J_j^{-1}`, so that `A_kji` is spanned by the columns of the bars `[s, t]` with `s <= i`, `t <= k`, and
//! `B_kji` by the rows of those with `s >= i`, `t >= k`.

use faer::{Mat, MatRef};
use fiberscope_core::Matrix;

use super::{Bar, FlowBases, LinearError, LinearNetwork, dense};

/// Which of the two families of subspaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// `A_kji` and `a_kji`: what flows forward and where it is lost.
    Forward,
    /// `B_kji` and `b_kji`: what the layers behind look at, and since when it is there.
    Backward,
}

/// How far computed subspaces are from what they should be: sines of angles and relative sizes, zero up to
/// rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SubspaceDefects {
    /// The largest part of a unit vector of an `A_kji` or `B_kji` outside the two spaces that it is the
    /// intersection of.
    pub definition: f64,
    /// The largest sine between the two sides of a one-step instance of Lemma 1.
    pub lemma: f64,
    /// The number of one-step instances of Lemma 1 with a side that is not zero.
    pub instances: usize,
    /// The largest condition number of the bases of a layer that prebases make up, columns normalised.
    pub condition: f64,
}

/// All subspaces of a network, from its flow bases.
///
/// ```
/// use fiberscope::Matrix;
/// use fiberscope::linear::{Family, FlowBases, LinearNetwork, Subspaces, Tolerance};
///
/// // The second input is lost at once, the first one by the second matrix.
/// let weights = [vec![[1.0, 0.0], [0.0, 0.0]], vec![[0.0, 1.0]]];
/// let weights = weights.iter().map(|rows| Matrix::from_rows(rows).unwrap());
/// let network = LinearNetwork::from_weights(weights.collect())?;
/// let flow = FlowBases::compute(&network, Tolerance::default())?;
/// let subspaces = Subspaces::new(&flow);
/// assert_eq!(subspaces.dimension(Family::Forward, 0, 0, 0), 1);
/// assert_eq!(subspaces.dimension(Family::Forward, 1, 1, 0), 1);
/// assert!(subspaces.defects(&network)?.lemma < 1e-12);
/// # Ok::<(), fiberscope::linear::LinearError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Subspaces<'a> {
    flow: &'a FlowBases,
}

impl<'a> Subspaces<'a> {
    /// The subspaces of the network with these flow bases.
    pub fn new(flow: &'a FlowBases) -> Self {
        Subspaces { flow }
    }

    /// The number `L` of matrices.
    pub fn depth(&self) -> usize {
        self.flow.depth()
    }

    /// The indices `(k, j, i)`, `0 <= i <= j <= k <= L`, by `j`, then by `k`, then by `i`; all other
    /// subspaces are zero.
    pub fn indices(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let depth = self.depth();
        (0..=depth).flat_map(move |j| (j..=depth).flat_map(move |k| (0..=j).map(move |i| (k, j, i))))
    }

    /// The dimension of `A_kji` or `B_kji`, by the barcode.
    pub fn dimension(&self, family: Family, k: usize, j: usize, i: usize) -> usize {
        let bars = self.flow.barcode().bars().filter(|(bar, _)| bar.contains(j) && family.spans(*bar, k, i));
        bars.map(|(_, count)| count).sum()
    }

    /// The multiplicity `omega_ki`: the dimension of `a_kji` and of `b_kji` for every `j` from `i` to `k`.
    pub fn multiplicity(&self, k: usize, i: usize) -> usize {
        self.flow.barcode().get(Bar::new(i, k))
    }

    /// An orthonormal basis of `A_kji` or `B_kji`, one column per vector.
    pub fn basis(&self, family: Family, k: usize, j: usize, i: usize) -> Matrix {
        dense::from_faer(self.dense(family, k, j, i).as_ref())
    }

    /// The flow prebasis `a_kji` or `b_kji`: columns of `J_j`, or rows of its inverse, as columns.
    pub fn flow_prebasis(&self, family: Family, k: usize, j: usize, i: usize) -> Matrix {
        dense::from_faer(self.vectors(family, j, |bar| bar == Bar::new(i, k)).as_ref())
    }

    /// The standard prebasis: an orthonormal basis of the orthogonal complement of the smaller subspaces.
    pub fn standard_prebasis(&self, family: Family, k: usize, j: usize, i: usize) -> Matrix {
        let own = Bar::new(i, k);
        let smaller = self.vectors(family, j, |bar| family.spans(bar, k, i) && bar != own);
        let vectors = joined(&smaller, &self.vectors(family, j, |bar| bar == own));
        let all = orthonormal(&vectors);
        dense::from_faer(all.subcols(smaller.ncols(), all.ncols() - smaller.ncols()))
    }

    /// Holds the subspaces against their definition, Lemma 1 and the Fundamental Theorem, for the network
    /// that the flow bases belong to.
    pub fn defects(&self, network: &LinearNetwork) -> Result<SubspaceDefects, LinearError> {
        let weights = network.dense_weights();
        let (found, expected) = (network.widths(), self.flow.barcode().widths());
        if found != expected {
            return Err(LinearError::WidthsDiffer { expected, found });
        }
        let mut defects = SubspaceDefects::default();
        for (k, j, i) in self.indices() {
            for family in [Family::Forward, Family::Backward] {
                let space = self.dense(family, k, j, i);
                if space.ncols() == 0 {
                    continue;
                }
                defects.definition =
                    defects.definition.max(self.definition(&weights, family, (k, j, i), &space)?);
                if let Some(sine) = self.step(&weights, family, (k, j, i), &space) {
                    defects.lemma = defects.lemma.max(sine);
                    defects.instances += 1;
                }
            }
        }
        for layer in 0..=self.depth() {
            let basis = self.flow.dense_basis(layer);
            let lengths: Vec<f64> = (0..basis.ncols()).map(|c| basis.col(c).norm_l2()).collect();
            let unit = Mat::from_fn(basis.nrows(), basis.ncols(), |r, c| basis[(r, c)] / lengths[c]);
            let values = dense::svd(&unit, false).ok_or(LinearError::Numerical { layer })?.values;
            if let (Some(most), Some(least)) = (values.first(), values.last()) {
                defects.condition = defects.condition.max(most / least);
            }
        }
        Ok(defects)
    }

    /// The part of the space outside `null W_{k+1~j}` (in units of that matrix) or outside `col W_{j~i}`.
    fn definition(
        &self,
        weights: &[Mat<f64>],
        family: Family,
        (k, j, i): (usize, usize, usize),
        space: &Mat<f64>,
    ) -> Result<f64, LinearError> {
        let (depth, width) = (self.depth(), space.nrows());
        let ahead = |to: usize| dense::product(&weights[j..to], width);
        let behind = |from: usize| {
            let before = if from == 0 { weights[0].ncols() } else { weights[from - 1].nrows() };
            dense::product(&weights[from..j], before)
        };
        let ranks = self.flow.barcode().rank_list();
        // The space must be killed by `null`, and lie in the span of the first columns of `inside`.
        let (null, inside, rank) = match family {
            Family::Forward => {
                let null = (k < depth).then(|| ahead(k + 1));
                (null, behind(i), ranks.get(j, i))
            }
            Family::Backward => {
                let null = (i > 0).then(|| behind(i - 1).transpose().to_owned());
                (null, ahead(k).transpose().to_owned(), ranks.get(k, j))
            }
        };
        let killed = null.map_or(0.0, |null| relative((&null * space).norm_l2(), null.norm_l2()));
        let svd = dense::svd(&inside, true).ok_or(LinearError::Numerical { layer: j })?;
        let kept = svd.u.subcols(0, rank.min(svd.u.ncols()));
        Ok(killed.max(outside(kept, space)))
    }

    /// The sine between the two sides of the instance of Lemma 1 that maps this space to a neighbouring
    /// layer; `None` if there is no such instance, or its image is beyond doubles.
    fn step(
        &self,
        weights: &[Mat<f64>],
        family: Family,
        (k, j, i): (usize, usize, usize),
        space: &Mat<f64>,
    ) -> Option<f64> {
        let (image, norm, next) = match family {
            Family::Forward if j < self.depth() => {
                let weight = &weights[j];
                (weight * space, weight.norm_l2(), (j < k).then_some(j + 1))
            }
            Family::Backward if j > 0 => {
                let weight = &weights[j - 1];
                (weight.transpose() * space, weight.norm_l2(), (j > i).then(|| j - 1))
            }
            _ => return None,
        };
        // Beyond the last layer of the bar the image is zero.
        let Some(next) = next else { return Some(relative(image.norm_l2(), norm)) };
        let expected = self.dense(family, k, next, i);
        let rank = expected.ncols();
        // The image may have fewer dimensions than the space: what dies on the way is mapped to zero.
        let svd = dense::svd(&image, true)?;
        if rank > svd.values.len() {
            return Some(1.0);
        }
        let found = svd.u.subcols(0, rank);
        Some(relative(outside(expected.as_ref(), &image), norm).max(outside(found, &expected)))
    }

    fn dense(&self, family: Family, k: usize, j: usize, i: usize) -> Mat<f64> {
        orthonormal(&self.vectors(family, j, |bar| family.spans(bar, k, i)))
    }

    /// The flow vectors of a family at a layer, of the bars that are wanted.
    fn vectors(&self, family: Family, layer: usize, wanted: impl Fn(Bar) -> bool) -> Mat<f64> {
        let alive = self.flow.alive(layer);
        let columns: Vec<usize> =
            (0..alive.len()).filter(|&c| wanted(self.flow.copies()[alive[c]])).collect();
        let (basis, inverse) = (self.flow.dense_basis(layer), self.flow.dense_inverse(layer));
        Mat::from_fn(basis.nrows(), columns.len(), |row, c| match family {
            Family::Forward => basis[(row, columns[c])],
            Family::Backward => inverse[(columns[c], row)],
        })
    }
}

impl Family {
    /// `A` or `B`.
    pub fn name(self) -> &'static str {
        match self {
            Family::Forward => "A",
            Family::Backward => "B",
        }
    }

    /// Whether the vectors of a bar lie in the subspace with indices `k` and `i`.
    fn spans(self, bar: Bar, k: usize, i: usize) -> bool {
        match self {
            Family::Forward => bar.start <= i && bar.end <= k,
            Family::Backward => bar.start >= i && bar.end >= k,
        }
    }
}

/// `size / whole`, and zero if the whole is.
fn relative(size: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { size / whole }
}

fn joined(left: &Mat<f64>, right: &Mat<f64>) -> Mat<f64> {
    let split = left.ncols();
    Mat::from_fn(left.nrows(), split + right.ncols(), |r, c| {
        if c < split { left[(r, c)] } else { right[(r, c - split)] }
    })
}

/// An orthonormal basis of the span of independent columns, in whose order the spans grow.
fn orthonormal(columns: &Mat<f64>) -> Mat<f64> {
    if columns.ncols() == 0 { columns.clone() } else { columns.qr().compute_thin_Q() }
}

/// The size of the part of vectors outside the span of orthonormal ones.
fn outside(span: MatRef<'_, f64>, vectors: &Mat<f64>) -> f64 {
    (vectors - span * (span.transpose() * vectors)).norm_l2()
}
