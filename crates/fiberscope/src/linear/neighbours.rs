//! How far a network is from strata of smaller ranks, and from the one that a tolerance names.
//!
//! The networks with rank list `r` have as boundary those whose ranks are `<= r` and somewhere smaller. So
//! the distance of `theta` to the neighbouring strata below is the smallest distance to a set `{rk W_{k~i} <=
//! r_{k~i} - 1}`, in the Frobenius norm of all weights together. For one matrix it is the smallest singular
//! value that counts (Eckart and Young). For a product `M = W_{k~i}` there are bounds:
//!
//! - below: a displacement of size `delta` moves `M` by at most `prod (|W_j| + delta) - prod |W_j|` in the
//!   spectral norm, and this has to reach the singular value of `M` that counts as the last one;
//! - above: `W_j - x y^T / (y^T N x)` with `N = W_{j-1~i} M^+ W_{k~j}`, `a = W_{k~j} x` in `col M` and
//!   `b = W_{j-1~i}^T y` in `row M`, takes a multiple of `a b^T` with `b^T M^+ a = 1` off `M`, which then
//!   has one rank less. The smallest such step has size `1 / |N|` on these spaces; the best `j` counts.

use faer::{Mat, MatRef};

use super::{FlowBases, LinearError, LinearNetwork, Tolerance, dense};

/// How far away the networks are in which one product has a smaller rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankGap {
    /// The product is `W_k ... W_{i+1}`.
    pub k: usize,
    /// See `k`.
    pub i: usize,
    /// Its rank.
    pub rank: usize,
    /// No network with a smaller rank of this product is nearer.
    pub lower: f64,
    /// There is one as near as this.
    pub upper: f64,
}

/// A network and the strata around it.
#[derive(Clone, Debug)]
pub struct Neighbourhood {
    /// The stratum that the tolerance names.
    pub flow: FlowBases,
    /// An upper bound of the distance to a network that has these ranks exactly.
    pub offset: f64,
    /// The products of positive rank, short ones first.
    pub gaps: Vec<RankGap>,
}

impl Neighbourhood {
    /// What lies around a network. Distances are of floating point: exact up to its rounding.
    ///
    /// ```
    /// use fiberscope::Matrix;
    /// use fiberscope::linear::{LinearNetwork, Neighbourhood, Tolerance};
    ///
    /// let weights = [[[3.0, 0.0], [0.0, 0.5]], [[1.0, 0.0], [0.0, 2.0]]];
    /// let weights = weights.map(|rows| Matrix::from_rows(&rows).unwrap());
    /// let network = LinearNetwork::from_weights(weights.to_vec())?;
    /// let around = Neighbourhood::of(&network, Tolerance::default())?;
    /// // The nearest network of smaller rank has the 0.5 taken away.
    /// assert!((around.below().unwrap().1 - 0.5).abs() < 1e-12);
    /// # Ok::<(), fiberscope::linear::LinearError>(())
    /// ```
    pub fn of(network: &LinearNetwork, tolerance: Tolerance) -> Result<Self, LinearError> {
        let flow = FlowBases::compute(network, tolerance)?;
        let weights = network.dense_weights();
        let near: Vec<Mat<f64>> = (1..=weights.len()).map(|j| in_normal_form(&flow, j)).collect();
        let offset = weights.iter().zip(&near).map(|(w, v)| (w - v).squared_norm_l2()).sum::<f64>().sqrt();
        let ranks = flow.barcode().rank_list();
        let mut gaps = Vec::new();
        for length in 1..=weights.len() {
            for i in 0..=weights.len() - length {
                let (k, rank) = (i + length, ranks.get(i + length, i));
                if rank > 0 {
                    let numerical = LinearError::Numerical { layer: k };
                    let (lower, upper) = bounds(&near[i..k], rank).ok_or(numerical)?;
                    gaps.push(RankGap { k, i, rank, lower, upper });
                }
            }
        }
        Ok(Neighbourhood { flow, offset, gaps })
    }

    /// Between which two numbers the distance to the nearest stratum of smaller ranks lies, from the network
    /// with what counts as zero taken away; `None` if all ranks are zero.
    pub fn below(&self) -> Option<(f64, f64)> {
        let least = |value: fn(&RankGap) -> f64| self.gaps.iter().map(value).reduce(f64::min);
        least(|gap| gap.lower).zip(least(|gap| gap.upper))
    }
}

/// `J_j I~_j J_{j-1}^{-1}`: the matrix with what counts as zero taken away.
fn in_normal_form(flow: &FlowBases, j: usize) -> Mat<f64> {
    let (before, after) = (flow.alive(j - 1), flow.alive(j));
    let (basis, inverse) = (flow.dense_basis(j), flow.dense_inverse(j - 1));
    let mut matrix = Mat::zeros(basis.nrows(), inverse.ncols());
    for (column, copy) in after.iter().enumerate() {
        if let Some(row) = before.iter().position(|other| other == copy) {
            matrix += basis.col(column) * inverse.row(row);
        }
    }
    matrix
}

/// The bounds for the product of some matrices, which has this rank.
fn bounds(weights: &[Mat<f64>], rank: usize) -> Option<(f64, f64)> {
    let product = dense::product(weights, weights[0].ncols());
    let svd = dense::svd(&product, true)?;
    let last = svd.values[rank - 1];
    let norms = weights.iter().map(dense::spectral_norm).collect::<Option<Vec<f64>>>()?;
    let lower = smallest_reach(&norms, last);
    let inverse = Mat::from_fn(product.ncols(), product.nrows(), |r, c| {
        (0..rank).map(|s| svd.v[(r, s)] / svd.values[s] * svd.u[(c, s)]).sum::<f64>()
    });
    let mut upper = f64::INFINITY;
    for j in 0..weights.len() {
        let before = dense::product(&weights[..j], weights[0].ncols());
        let after = dense::product(&weights[j + 1..], weights[j].nrows());
        let middle = &before * &inverse * &after;
        // The x that stay in the columns of the product, and the y that stay in its rows.
        let x = kept_inside(&after, svd.u.subcols(0, rank))?;
        let y = kept_inside(&before.transpose().to_owned(), svd.v.subcols(0, rank))?;
        let size = dense::spectral_norm(&(y.transpose() * &middle * &x))?;
        upper = upper.min(1.0 / size);
    }
    Some((lower.min(upper), upper))
}

/// An orthonormal basis of the vectors that a matrix maps into the span of orthonormal ones, up to rounding.
fn kept_inside(matrix: &Mat<f64>, span: MatRef<'_, f64>) -> Option<Mat<f64>> {
    let outside = matrix - span * (span.transpose() * matrix);
    let svd = dense::svd(&outside, true)?;
    let size = matrix.nrows().max(matrix.ncols()) as f64;
    let least = 16.0 * size * f64::EPSILON * matrix.norm_l2();
    let seen = svd.values.iter().filter(|&&value| value > least).count();
    Some(svd.v.subcols(seen, svd.v.ncols() - seen).to_owned())
}

/// The smallest `delta` with `prod (n_j + delta) - prod n_j >= wanted`, from below.
fn smallest_reach(norms: &[f64], wanted: f64) -> f64 {
    if let [_] = norms {
        return wanted;
    }
    let moved = |delta: f64| norms.iter().map(|n| n + delta).product::<f64>() - norms.iter().product::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    while moved(high) < wanted && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if moved(middle) < wanted { low = middle } else { high = middle }
    }
    low
}
