//! What gradient flow conserves, and the ranks it can therefore not reach.
//!
//! For a linear network with biases, any loss, and hidden layer `l`, the symmetric matrix
//!
//! ```text
//! C_l = W_{l+1}^T W_{l+1} - W_l W_l^T - b_l b_l^T
//! ```
//!
//! is constant along gradient flow: `W_{l+1}^T G_{l+1} = G_l W_l^T + g_l b_l^T` for the gradients. Of a ReLU
//! network the diagonal is conserved, and the entries between neurons that are active on the same samples.
//! Weight decay `lambda` scales it by `exp(-2 lambda t)`. By the inertia of sums of semidefinite matrices,
//!
//! ```text
//! rk W_{l+1} >= n_+(C_l),     rk [W_l b_l] >= n_-(C_l)
//! ```
//!
//! with the numbers of positive and negative eigenvalues, so strata of smaller ranks are out of reach.

use fiberscope_core::{Layer, Matrix, Network};

use super::{LinearError, dense};

/// The conserved matrices `C_1, ..., C_{L-1}` of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Conserved {
    matrices: Vec<Matrix>,
}

/// Numbers of eigenvalues by sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inertia {
    /// Eigenvalues above the threshold: a lower bound for `rk W_{l+1}`.
    pub positive: usize,
    /// Eigenvalues below minus the threshold: a lower bound for `rk [W_l b_l]`.
    pub negative: usize,
}

impl Conserved {
    /// The conserved matrices of a network; for a ReLU network see above which entries are conserved.
    pub fn of(network: &Network) -> Self {
        let pair = |pair: &[Layer]| {
            let (before, behind) = (&pair[0], &pair[1]);
            let n = before.width();
            Matrix::from_fn(n, n, |p, q| {
                let outgoing: f64 =
                    behind.weight().column(p).zip(behind.weight().column(q)).map(|(x, y)| x * y).sum();
                let incoming: f64 =
                    before.weight().row(p).iter().zip(before.weight().row(q)).map(|(x, y)| x * y).sum();
                outgoing - incoming - before.bias()[p] * before.bias()[q]
            })
        };
        Conserved { matrices: network.layers().windows(2).map(pair).collect() }
    }

    /// The matrices, one per hidden layer.
    pub fn matrices(&self) -> &[Matrix] {
        &self.matrices
    }

    /// The largest change of an entry from one network to another of the same widths: 0 along gradient flow
    /// of a linear network.
    pub fn drift(&self, other: &Conserved) -> f64 {
        let pairs = self.matrices.iter().zip(&other.matrices);
        let entries = pairs.flat_map(|(a, b)| a.entries().iter().zip(b.entries()));
        entries.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
    }

    /// The inertia of each matrix; eigenvalues up to `tolerance` times the largest of the network count as
    /// zero.
    pub fn inertia(&self, tolerance: f64) -> Result<Vec<Inertia>, LinearError> {
        let spectra: Vec<Vec<f64>> = self
            .matrices
            .iter()
            .enumerate()
            .map(|(l, matrix)| {
                let spectrum = dense::symmetric_eigenvalues(&dense::to_faer(matrix));
                spectrum.ok_or(LinearError::Numerical { layer: l + 1 })
            })
            .collect::<Result<_, _>>()?;
        let largest = spectra.iter().flatten().fold(0f64, |largest, value| largest.max(value.abs()));
        let count =
            |values: &Vec<f64>, sign: f64| values.iter().filter(|&&v| sign * v > tolerance * largest).count();
        let inertia =
            |values: &Vec<f64>| Inertia { positive: count(values, 1.0), negative: count(values, -1.0) };
        Ok(spectra.iter().map(inertia).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::LinearNetwork;

    /// `dW_j = -W_{L~j}^T (W - target) W_{j-1~0}^T`: gradient flow of half the squared distance of the
    /// product and the constant.
    fn velocity(network: &LinearNetwork, target: &Matrix) -> (Vec<Matrix>, Vec<Vec<f64>>) {
        let weights = network.dense_weights();
        let depth = weights.len();
        let constant = network.constant();
        let error = network.dense_product() - dense::to_faer(target);
        let mut parts = (Vec::new(), Vec::new());
        for j in 0..depth {
            let after = dense::product(&weights[j + 1..], weights[j].nrows());
            let before = dense::product(&weights[..j], weights[0].ncols());
            let into: Vec<f64> = prefix_constant(network, j);
            // Inputs: unit vectors around the origin, and the origin itself.
            let gradient = after.transpose() * &error * before.transpose();
            let at_origin: Vec<f64> = (0..weights[j].nrows())
                .map(|i| (0..constant.len()).map(|o| after[(o, i)] * (constant[o] - 1.0)).sum())
                .collect();
            parts.0.push(Matrix::from_fn(weights[j].nrows(), weights[j].ncols(), |r, c| {
                -gradient[(r, c)] - at_origin[r] * into[c]
            }));
            parts.1.push(at_origin.iter().map(|g| -g).collect());
        }
        parts
    }

    fn prefix_constant(network: &LinearNetwork, layers: usize) -> Vec<f64> {
        if layers == 0 {
            return vec![0.0; network.widths()[0]];
        }
        LinearNetwork::new(network.weights()[..layers].to_vec(), network.biases()[..layers].to_vec())
            .unwrap()
            .constant()
    }

    fn step(network: &LinearNetwork, by: &(Vec<Matrix>, Vec<Vec<f64>>), h: f64) -> LinearNetwork {
        let weights = network
            .weights()
            .iter()
            .zip(&by.0)
            .map(|(w, d)| Matrix::from_fn(w.rows(), w.cols(), |i, j| w[(i, j)] + h * d[(i, j)]));
        let biases = network
            .biases()
            .iter()
            .zip(&by.1)
            .map(|(b, d)| b.iter().zip(d).map(|(b, d)| b + h * d).collect());
        LinearNetwork::new(weights.collect(), biases.collect()).unwrap()
    }

    #[test]
    fn gradient_flow_of_a_linear_network_with_biases_conserves_it() {
        let entry =
            |seed: usize| move |i: usize, j: usize| ((7 * i + 3 * j + 5 * seed) % 11) as f64 / 6.0 - 0.8;
        let weights = vec![
            Matrix::from_fn(3, 2, entry(1)),
            Matrix::from_fn(4, 3, entry(2)),
            Matrix::from_fn(2, 4, entry(3)),
        ];
        let biases = vec![vec![0.3, -0.2, 0.5], vec![0.1, 0.2, -0.4, 0.6], vec![0.0, 0.7]];
        let start = LinearNetwork::new(weights, biases).unwrap();
        let target = Matrix::from_fn(2, 2, |i, j| if i == j { 1.0 } else { -0.5 });
        let mut network = start.clone();
        let h = 1e-3;
        for _ in 0..2000 {
            // The midpoint rule: an error of h^2 per unit of time.
            let half = step(&network, &velocity(&network, &target), h / 2.0);
            network = step(&network, &velocity(&half, &target), h);
        }
        let (before, after) = (Conserved::of(&start.to_network()), Conserved::of(&network.to_network()));
        assert!(start.function_difference(&network) > 0.1, "training moved");
        assert!(before.drift(&after) < 1e-5, "{}", before.drift(&after));
    }

    #[test]
    fn inertia_bounds_the_ranks() {
        // W_2 of rank 2 dominates, W_1 = 0.
        let network = LinearNetwork::from_weights(vec![
            Matrix::from_fn(3, 2, |_, _| 0.0),
            Matrix::from_rows(&[[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]).unwrap(),
        ])
        .unwrap();
        let inertia = Conserved::of(&network.to_network()).inertia(1e-10).unwrap();
        assert_eq!(inertia, [Inertia { positive: 2, negative: 0 }]);
    }
}
