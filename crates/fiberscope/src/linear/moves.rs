//! Moves between strata in weight space: straight lines that change one matrix by rank 1.
//!
//! With flow bases, `u` the column of `J_j` for a copy of `e = [i, l]` and `v^T` the row of `J_{j-1}^{-1}`
//! for a copy of `f = [h, k]`, the displacement `W_j + eps u v^T` with `i <= j <= k + 1` performs the move up
//! on `(f, e)` for every `eps != 0`. Down, with `X` a copy of `[h, l]` and `Y` a copy of `[i, k]` inside it,
//! the segment
//!
//! ```text
//! W_{k+1}(t) = W_{k+1} - t X_{k+1} (X_k^* - Y_k^*)     (cut: - t X_{k+1} X_k^*)
//! ```
//!
//! keeps the rank list for `t < 1` and reaches the lower one at `t = 1`. Products stay the same unless a bar
//! `[0, L]` is made or destroyed.

use faer::Mat;
use fiberscope_core::Matrix;

use super::{Bar, DownMove, FlowBases, LinearError, LinearNetwork, UpMove, dense};

/// A straight line `W_j + t D`, `D` of rank 1, in the fiber.
#[derive(Clone, Debug)]
pub struct Displacement {
    layer: usize,
    direction: Mat<f64>,
}

impl Displacement {
    /// The move up, for every `t != 0`, by changing the matrix `W_{target.start}`.
    pub fn up(flow: &FlowBases, up: &UpMove) -> Result<Self, LinearError> {
        let (f, e) = (up.source, up.target);
        if !f.ext(e) {
            return Err(LinearError::NoUpMove { source_bar: f, target: e });
        }
        if f.start == 0 && e.end == flow.depth() {
            return Err(LinearError::LeavesFiber { bar: Bar::new(f.start, e.end) });
        }
        let layer = e.start;
        let column = flow.dense_basis(layer).col(flow.column(layer, last_copy(flow, e)?));
        let row = flow.dense_inverse(layer - 1).row(flow.column(layer - 1, last_copy(flow, f)?));
        Ok(Displacement { layer, direction: column * row })
    }

    /// The move down, reached at `t = 1`.
    pub fn down(flow: &FlowBases, down: &DownMove) -> Result<Self, LinearError> {
        down.apply(flow.barcode())?;
        if down.outer == Bar::new(0, flow.depth()) {
            return Err(LinearError::LeavesFiber { bar: down.outer });
        }
        let (k, outer) = (down.after, last_copy(flow, down.outer)?);
        let column = flow.dense_basis(k + 1).col(flow.column(k + 1, outer));
        let inverse = flow.dense_inverse(k);
        let mut row = inverse.row(flow.column(k, outer)).to_owned();
        if let Some(inner) = down.inner {
            row -= inverse.row(flow.column(k, last_copy(flow, inner)?));
        }
        Ok(Displacement { layer: k + 1, direction: faer::Scale(-1.0) * (column * row) })
    }

    /// The matrix that changes, 1 for `W_1`.
    pub fn layer(&self) -> usize {
        self.layer
    }

    /// The direction `D` of rank 1.
    pub fn direction(&self) -> Matrix {
        dense::from_faer(self.direction.as_ref())
    }

    /// The size of the displacement for `t = 1`, in the Frobenius norm.
    pub fn size(&self) -> f64 {
        self.direction.norm_l2()
    }

    /// The point `W_j + t D`.
    pub fn at(&self, network: &LinearNetwork, t: f64) -> Result<LinearNetwork, LinearError> {
        let mut weights = network.weights().to_vec();
        let weight = &mut weights[self.layer - 1];
        *weight =
            Matrix::from_fn(weight.rows(), weight.cols(), |i, j| weight[(i, j)] + t * self.direction[(i, j)]);
        network.with_weights(weights, None)
    }
}

/// The point at time `t` of the straight segment to the minimal stratum: every bar but `[0, L]` is scaled by
/// `1 - t` at every step. The rank list stays the same for `t < 1`.
pub fn cuts_to_minimum(
    network: &LinearNetwork,
    flow: &FlowBases,
    t: f64,
) -> Result<LinearNetwork, LinearError> {
    let depth = flow.depth();
    let full = flow.barcode().get(Bar::new(0, depth));
    let weight = |j: usize| {
        // Bars [0, L] come first in every layer.
        let kept = flow.dense_basis(j).subcols(0, full) * flow.dense_inverse(j - 1).subrows(0, full);
        let whole = &network.weights()[j - 1];
        Matrix::from_fn(whole.rows(), whole.cols(), |r, c| (1.0 - t) * whole[(r, c)] + t * kept[(r, c)])
    };
    network.with_weights((1..=depth).map(weight).collect(), None)
}

fn last_copy(flow: &FlowBases, bar: Bar) -> Result<usize, LinearError> {
    flow.copies().iter().rposition(|&copy| copy == bar).ok_or(LinearError::NoSuchBar { bar })
}
