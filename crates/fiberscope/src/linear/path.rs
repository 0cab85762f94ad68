//! Paths between two points of a fiber, or the reason why there is none.
//!
//! Two points of one fiber and stratum have flow bases `J`, `J'` of the same barcode, and
//! `x_j = J_j^{-1} J'_j` leads from one to the other:
//! `W_j(t) = J_j x_j(t) I~_j x_{j-1}(t)^{-1} J_{j-1}^{-1}`. The product stays iff
//!
//! ```text
//! x_0 = [P 0; Q R],   x_L = [P S; 0 T]       (bars [0, L] first),
//! ```
//!
//! so a path of invertible hidden `x_j`, of `P`, `R`, `T` and any `Q`, `S` to the identity is a path in the
//! stratum. It exists iff all determinants can be made positive by flipping bars (see `signs.rs`). Off the
//! stratum, cutting all bars but `[0, L]` leads to the minimal stratum, whose components are those of the
//! whole fiber.

use faer::Mat;
use fiberscope_core::Matrix;

use super::canonical::flow_over;
use super::general_linear::GeneralLinearPath;
use super::{
    Bar, FlowBases, LinearError, LinearNetwork, Tolerance, canonical_weights, cuts_to_minimum, dense,
    point_over, signs,
};

/// The answer to: are two networks connected?
#[derive(Clone, Debug)]
#[must_use]
pub enum Connection<P> {
    /// Yes, by this path.
    Path(P),
    /// No: they compute different functions.
    DifferentFunctions {
        /// The largest difference of an entry of their products and constants.
        difference: f64,
        /// Differences up to this count as rounding.
        allowed: f64,
    },
    /// No: they lie in different strata of the fiber.
    DifferentStrata,
    /// No: signs of determinants that no motion can change differ.
    DifferentComponents,
}

/// A path in a stratum and in a fiber.
#[derive(Clone, Debug)]
pub struct StratumPath {
    start: LinearNetwork,
    end: LinearNetwork,
    flow: FlowBases,
    canonical: Vec<Mat<f64>>,
    hidden: Vec<GeneralLinearPath>,
    ends: EndPaths,
}

/// Paths of the blocks of `x_0` and `x_L`.
#[derive(Clone, Debug)]
struct EndPaths {
    p: GeneralLinearPath,
    r: GeneralLinearPath,
    t: GeneralLinearPath,
    q: Mat<f64>,
    s: Mat<f64>,
}

impl StratumPath {
    /// A path between two networks of one stratum of one fiber.
    pub fn between(
        a: &LinearNetwork,
        b: &LinearNetwork,
        tolerance: Tolerance,
    ) -> Result<Connection<Self>, LinearError> {
        if let Some(different) = different_functions(a, b, tolerance)? {
            return Ok(different);
        }
        let (flow_a, flow_b) = (FlowBases::compute(a, tolerance)?, FlowBases::compute(b, tolerance)?);
        if flow_a.barcode() != flow_b.barcode() {
            return Ok(Connection::DifferentStrata);
        }
        let changes = changes(&flow_a, &flow_b);
        let Some(flips) = signs::solve(flow_a.barcode(), sign_bits(&changes, rank(&flow_a))) else {
            return Ok(Connection::DifferentComponents);
        };
        let changes = flipped(&flow_a, changes, &flips);
        Ok(Connection::Path(Self::along(a, b, flow_a, &changes)))
    }

    /// The path from a network to the canonical point of its fiber and stratum, or to its mirror image in
    /// some coordinates if that lies in another component; and whether it does.
    pub fn to_canonical(a: &LinearNetwork, tolerance: Tolerance) -> Result<(Self, bool), LinearError> {
        let flow = FlowBases::compute(a, tolerance)?;
        let negligible = negligible(a, &flow);
        let over = flow_over(flow.barcode(), &a.product(), negligible)?;
        let mut changes = changes(&flow, &over);
        let rank = rank(&flow);
        let bits = sign_bits(&changes, rank);
        if let Some(flips) = signs::solve(flow.barcode(), bits) {
            let changes = flipped(&flow, changes, &flips);
            let point = point_over(flow.barcode(), &a.product(), negligible)?;
            let end = a.with_weights(point.weights().to_vec(), None)?;
            return Ok((Self::along(a, &end, flow, &changes), false));
        }
        let depth = flow.depth();
        for (layer, change) in changes.iter_mut().enumerate() {
            let negative = |bit: usize| bits >> bit & 1 == 1;
            let outer = layer == 0 || layer == depth;
            if outer && negative(depth + 1) || !outer && negative(layer) {
                negate(change, 0);
            }
            if outer && negative(layer) {
                negate(change, rank);
            }
        }
        let end =
            transformed(&flow, &canonical(&flow), &changes).ok_or(LinearError::Numerical { layer: depth })?;
        let end = a.with_weights(end, None)?;
        Ok((Self::along(a, &end, flow, &changes), true))
    }

    /// The path for changes of basis whose determinants are positive.
    fn along(a: &LinearNetwork, b: &LinearNetwork, flow: FlowBases, changes: &[Mat<f64>]) -> Self {
        let depth = flow.depth();
        let rank = rank(&flow);
        let path = |block: Mat<f64>| GeneralLinearPath::new(&block);
        let (first, last) = (&changes[0], &changes[depth]);
        let (n, m) = (first.nrows() - rank, last.nrows() - rank);
        let ends = EndPaths {
            p: path(first.submatrix(0, 0, rank, rank).to_owned()),
            r: path(first.submatrix(rank, rank, n, n).to_owned()),
            t: path(last.submatrix(rank, rank, m, m).to_owned()),
            q: first.submatrix(rank, 0, n, rank).to_owned(),
            s: last.submatrix(0, rank, rank, m).to_owned(),
        };
        let hidden = changes[1..depth].iter().map(|change| path(change.clone())).collect();
        let canonical = canonical(&flow);
        StratumPath { start: a.clone(), end: b.clone(), flow, canonical, hidden, ends }
    }

    /// The point at time `t`, from the first network at 0 to the second at 1.
    pub fn at(&self, t: f64) -> Result<LinearNetwork, LinearError> {
        if t <= 0.0 || t >= 1.0 {
            return Ok(if t <= 0.0 { self.start.clone() } else { self.end.clone() });
        }
        let depth = self.flow.depth();
        let mut changes = vec![self.ends.first(t)];
        changes.extend(self.hidden.iter().map(|path| path.at(t)));
        changes.push(self.ends.last(t));
        let weights = transformed(&self.flow, &self.canonical, &changes)
            .ok_or(LinearError::Numerical { layer: depth })?;
        let hidden = self.start.biases()[..depth - 1].iter().zip(self.end.biases());
        let mix = |(from, to): (&Vec<f64>, &Vec<f64>)| {
            from.iter().zip(to).map(|(x, y)| (1.0 - t) * x + t * y).collect()
        };
        self.start.with_weights(weights, Some(hidden.map(mix).collect()))
    }
}

impl EndPaths {
    fn first(&self, t: f64) -> Mat<f64> {
        blocks(&self.p.at(t), None, Some(&(faer::Scale(t) * &self.q)), &self.r.at(t))
    }

    fn last(&self, t: f64) -> Mat<f64> {
        blocks(&self.p.at(t), Some(&(faer::Scale(t) * &self.s)), None, &self.t.at(t))
    }
}

/// A path in a fiber through the minimal stratum.
#[derive(Clone, Debug)]
pub struct ProductFiberPath {
    start: (LinearNetwork, FlowBases),
    middle: StratumPath,
    end: (LinearNetwork, FlowBases),
}

impl ProductFiberPath {
    /// A path between two networks of one fiber, whatever their strata.
    pub fn between(
        a: &LinearNetwork,
        b: &LinearNetwork,
        tolerance: Tolerance,
    ) -> Result<Connection<Self>, LinearError> {
        if let Some(different) = different_functions(a, b, tolerance)? {
            return Ok(different);
        }
        let (flow_a, flow_b) = (FlowBases::compute(a, tolerance)?, FlowBases::compute(b, tolerance)?);
        let (low_a, low_b) = (cuts_to_minimum(a, &flow_a, 1.0)?, cuts_to_minimum(b, &flow_b, 1.0)?);
        let path = |middle| ProductFiberPath { start: (a.clone(), flow_a), middle, end: (b.clone(), flow_b) };
        Ok(match StratumPath::between(&low_a, &low_b, tolerance)? {
            Connection::Path(middle) => Connection::Path(path(middle)),
            Connection::DifferentFunctions { difference, allowed } => {
                Connection::DifferentFunctions { difference, allowed }
            }
            Connection::DifferentStrata => Connection::DifferentStrata,
            Connection::DifferentComponents => Connection::DifferentComponents,
        })
    }

    /// The point at time `t`: down for `t <= 1/3`, along the minimal stratum, up from `t = 2/3`.
    pub fn at(&self, t: f64) -> Result<LinearNetwork, LinearError> {
        if t <= 0.0 || t >= 1.0 {
            return Ok(if t <= 0.0 { self.start.0.clone() } else { self.end.0.clone() });
        }
        if t < 1.0 / 3.0 {
            cuts_to_minimum(&self.start.0, &self.start.1, 3.0 * t)
        } else if t <= 2.0 / 3.0 {
            self.middle.at(3.0 * t - 1.0)
        } else {
            cuts_to_minimum(&self.end.0, &self.end.1, 3.0 * (1.0 - t))
        }
    }
}

/// Products and constants that differ by more than rounding: `tolerance` times the product of the norms of
/// the matrices.
fn different_functions<P>(
    a: &LinearNetwork,
    b: &LinearNetwork,
    tolerance: Tolerance,
) -> Result<Option<Connection<P>>, LinearError> {
    if a.widths() != b.widths() {
        return Err(LinearError::WidthsDiffer { expected: a.widths(), found: b.widths() });
    }
    let constant = a.constant().iter().fold(0f64, |largest, c| largest.max(c.abs()));
    let allowed = tolerance.relative.max(1e-12) * (norm_product(a).max(norm_product(b)) + constant);
    let difference = a.function_difference(b);
    Ok((difference > allowed).then_some(Connection::DifferentFunctions { difference, allowed }))
}

/// The product of the norms of the matrices: the scale of rounding errors of their product.
fn norm_product(network: &LinearNetwork) -> f64 {
    network.dense_weights().iter().map(|weight| weight.norm_l2()).product()
}

/// How far setting singular values up to the threshold of the flow bases to zero can move the product, plus
/// rounding.
fn negligible(network: &LinearNetwork, flow: &FlowBases) -> f64 {
    let norms: Vec<f64> = network.dense_weights().iter().map(|weight| weight.norm_l2()).collect();
    let others =
        |j: usize| norms.iter().enumerate().filter(|(i, _)| *i != j).map(|(_, norm)| norm).product::<f64>();
    let moved: f64 = (0..norms.len()).map(|j| flow.threshold() * others(j)).sum();
    moved + 1e-14 * norms.iter().product::<f64>()
}

fn rank(flow: &FlowBases) -> usize {
    flow.barcode().get(Bar::new(0, flow.depth()))
}

fn canonical(flow: &FlowBases) -> Vec<Mat<f64>> {
    canonical_weights(flow.barcode()).iter().map(dense::to_faer).collect()
}

/// The changes of basis `x_j = J_j^{-1} J'_j`.
fn changes(a: &FlowBases, b: &FlowBases) -> Vec<Mat<f64>> {
    (0..=a.depth()).map(|layer| a.dense_inverse(layer) * b.dense_basis(layer)).collect()
}

/// The signs of the determinants, as in [`signs::sign_row`].
fn sign_bits(changes: &[Mat<f64>], rank: usize) -> u128 {
    let depth = changes.len() - 1;
    let mut bits = 0u128;
    let mut note =
        |bit: usize, block: Mat<f64>| bits |= u128::from(dense::has_negative_determinant(&block)) << bit;
    let rest = |change: &Mat<f64>| {
        let n = change.nrows() - rank;
        change.submatrix(rank, rank, n, n).to_owned()
    };
    note(0, rest(&changes[0]));
    note(depth, rest(&changes[depth]));
    note(depth + 1, changes[0].submatrix(0, 0, rank, rank).to_owned());
    for (layer, change) in changes.iter().enumerate().take(depth).skip(1) {
        note(layer, change.clone());
    }
    bits
}

/// The changes with one copy of each of the given bars flipped in the second basis.
fn flipped(flow: &FlowBases, mut changes: Vec<Mat<f64>>, flips: &[Bar]) -> Vec<Mat<f64>> {
    for bar in flips {
        let copy = flow.copies().iter().position(|copy| copy == bar).expect("the bar is present");
        for (layer, change) in changes.iter_mut().enumerate().take(bar.end + 1).skip(bar.start) {
            negate(change, flow.column(layer, copy));
        }
    }
    changes
}

fn negate(matrix: &mut Mat<f64>, column: usize) {
    for i in 0..matrix.nrows() {
        matrix[(i, column)] = -matrix[(i, column)];
    }
}

/// `W_j = J_j x_j I~_j x_{j-1}^{-1} J_{j-1}^{-1}`.
pub(super) fn transformed(
    flow: &FlowBases,
    canonical: &[Mat<f64>],
    changes: &[Mat<f64>],
) -> Option<Vec<Matrix>> {
    let bases: Vec<Mat<f64>> = changes.iter().enumerate().map(|(j, x)| flow.dense_basis(j) * x).collect();
    let weight = |j: usize| {
        let inverse = dense::inverse(&bases[j - 1])?;
        Some(dense::from_faer((&bases[j] * &canonical[j - 1] * inverse).as_ref()))
    };
    (1..changes.len()).map(weight).collect()
}

/// The matrix `[a b; c d]`, missing blocks zero.
pub(super) fn blocks(a: &Mat<f64>, b: Option<&Mat<f64>>, c: Option<&Mat<f64>>, d: &Mat<f64>) -> Mat<f64> {
    let rank = a.nrows();
    let n = rank + d.nrows();
    Mat::from_fn(n, n, |i, j| match (i < rank, j < rank) {
        (true, true) => a[(i, j)],
        (true, false) => b.map_or(0.0, |b| b[(i, j - rank)]),
        (false, true) => c.map_or(0.0, |c| c[(i - rank, j)]),
        (false, false) => d[(i - rank, j - rank)],
    })
}
