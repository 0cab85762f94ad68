//! Walking along a stratum with a given velocity.
//!
//! A tangent `dW` keeps the product to first order, and there are `X_j` with `X_j W_j - W_j X_{j-1} = dW_j`;
//! then `X_L W = W X_0`, and `W_j(t) = exp(t X_j) W_j exp(-t X_{j-1})` stays on the stratum and in the fiber
//! and has velocity `dW` at `t = 0`. In flow bases, `y_j = J_j^{-1} dW_j J_{j-1}`, the equations are
//! differences along each pair of bars.

use faer::{Mat, Scale};
use fiberscope_core::Matrix;

use super::tangent::chained_widths;
use super::{Bar, FlowBases, LinearError, LinearNetwork, dense};

/// A curve in a stratum and in a fiber.
#[derive(Clone, Debug)]
pub struct Walk {
    start: LinearNetwork,
    generators: Vec<Mat<f64>>,
}

impl Walk {
    /// The walk from a point with a velocity. Fails if the velocity is no tangent, up to `tolerance` relative
    /// to its size.
    pub fn new(
        network: &LinearNetwork,
        flow: &FlowBases,
        velocity: &[Matrix],
        tolerance: f64,
    ) -> Result<Self, LinearError> {
        let expected = network.widths();
        let found = chained_widths(velocity);
        if expected != found {
            return Err(LinearError::WidthsDiffer { expected, found });
        }
        let velocity: Vec<Mat<f64>> = velocity.iter().map(dense::to_faer).collect();
        let generators = generators(flow, &velocity);
        let weights = network.dense_weights();
        let size = velocity.iter().map(|part| part.norm_l2()).fold(0.0, f64::max);
        let reached = |j: usize| &generators[j + 1] * &weights[j] - &weights[j] * &generators[j];
        let missed = (0..weights.len()).map(|j| (reached(j) - &velocity[j]).norm_l2()).fold(0.0, f64::max);
        let (drift, largest) = product_velocity(&weights, &velocity);
        let defect = (missed / size).max(drift / (size * largest));
        // A velocity of 0 gives NaN, and is a tangent.
        if defect > tolerance {
            return Err(LinearError::NotTangent { defect });
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

/// The size of `sum_j W_{L~j} dW_j W_{j-1~0}`, and the largest product of all `|W_i|` but one that it is
/// measured by.
fn product_velocity(weights: &[Mat<f64>], velocity: &[Mat<f64>]) -> (f64, f64) {
    let (inputs, outputs) = (weights[0].ncols(), weights[weights.len() - 1].nrows());
    let mut total = Mat::<f64>::zeros(outputs, inputs);
    let mut largest = f64::MIN_POSITIVE;
    for (j, part) in velocity.iter().enumerate() {
        let after = dense::product(&weights[j + 1..], part.nrows());
        let before = dense::product(&weights[..j], inputs);
        total += &after * part * &before;
        let others = weights.iter().enumerate().filter(|&(i, _)| i != j);
        largest = largest.max(others.map(|(_, weight)| weight.norm_l2()).product());
    }
    (total.norm_l2(), largest)
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
