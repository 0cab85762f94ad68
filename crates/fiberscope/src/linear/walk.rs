//! Walking along a stratum with a given velocity.
//!
//! For a tangent `dW` there are `X_j` with `X_j W_j - W_j X_{j-1} = dW_j` and `X_L W = W X_0`; then
//! `W_j(t) = exp(t X_j) W_j exp(-t X_{j-1})` stays on the stratum and in the fiber and has velocity `dW` at
//! `t = 0`. In flow bases, `y_j = J_j^{-1} dW_j J_{j-1}`, the equations are differences along each pair of bars.

use faer::{Mat, Scale};
use fiberscope_core::Matrix;

use super::{Bar, FlowBases, LinearError, LinearNetwork, dense};

/// A curve in a stratum and in a fiber.
#[derive(Clone, Debug)]
pub struct Walk {
    start: LinearNetwork,
    generators: Vec<Mat<f64>>,
}

impl Walk {
    /// The walk from a point with a velocity. Fails if the velocity is no tangent, up to `tolerance` relative to its size.
    pub fn new(
        network: &LinearNetwork,
        flow: &FlowBases,
        velocity: &[Matrix],
        tolerance: f64,
    ) -> Result<Self, LinearError> {
        let expected = network.widths();
        let found: Vec<usize> =
            velocity.first().map(Matrix::cols).into_iter().chain(velocity.iter().map(Matrix::rows)).collect();
        if expected != found {
            return Err(LinearError::WidthsDiffer { expected, found });
        }
        let velocity: Vec<Mat<f64>> = velocity.iter().map(dense::to_faer).collect();
        let generators = generators(flow, &velocity);
        let weights = network.dense_weights();
        let size = velocity.iter().map(|part| part.norm_l2()).fold(0.0, f64::max);
        let reached = |j: usize| &generators[j + 1] * &weights[j] - &weights[j] * &generators[j];
        let defect = (0..weights.len()).map(|j| (reached(j) - &velocity[j]).norm_l2()).fold(0.0, f64::max);
        if defect > tolerance * size {
            return Err(LinearError::NotTangent { defect: defect / size });
        }
        Ok(Walk { start: network.clone(), generators })
    }

    /// The point at time `t`.
    pub fn at(&self, t: f64) -> Result<LinearNetwork, LinearError> {
        let weights = self.start.dense_weights();
        let step = |j: usize| {
            let left = dense::exponential(&(Scale(t) * &self.generators[j + 1]));
            let right = dense::exponential(&(Scale(-t) * &self.generators[j]));
            dense::from_faer((left * &weights[j] * right).as_ref())
        };
        self.start.with_weights((0..weights.len()).map(step).collect(), None)
    }
}

/// The `X_0, ..., X_L` of a velocity.
fn generators(flow: &FlowBases, velocity: &[Mat<f64>]) -> Vec<Mat<f64>> {
    let depth = flow.depth();
    let coordinates: Vec<Mat<f64>> =
        (1..=depth).map(|j| flow.dense_inverse(j) * &velocity[j - 1] * flow.dense_basis(j - 1)).collect();
    let alive: Vec<Vec<usize>> = (0..=depth).map(|layer| flow.alive(layer)).collect();
    let mut solutions: Vec<Mat<f64>> = alive.iter().map(|at| Mat::zeros(at.len(), at.len())).collect();
    let place = |layer: usize, copy: usize| {
        alive[layer].binary_search(&copy).expect("the copy is alive at the layer")
    };
    let y = |j: usize, e: usize, f: usize| coordinates[j - 1][(place(j, e), place(j - 1, f))];
    for (e, &Bar { start: i, end: l }) in flow.copies().iter().enumerate() {
        for (f, &Bar { start: h, end: k }) in flow.copies().iter().enumerate() {
            let (low, high) = (i.max(h), l.min(k));
            if low > high {
                continue;
            }
            let mut put = |j: usize, value: f64| solutions[j][(place(j, e), place(j, f))] = value;
            if h < i || k >= l {
                let mut x = if h < i { y(i, e, f) } else { 0.0 };
                put(low, x);
                for j in low + 1..=high {
                    x += y(j, e, f);
                    put(j, x);
                }
            } else {
                let mut x = -y(k + 1, e, f);
                put(k, x);
                for j in (low + 1..=k).rev() {
                    x -= y(j, e, f);
                    put(j - 1, x);
                }
            }
        }
    }
    let back = |layer: usize| flow.dense_basis(layer) * &solutions[layer] * flow.dense_inverse(layer);
    (0..=depth).map(back).collect()
}
