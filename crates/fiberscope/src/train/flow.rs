//! Gradient flow on a fixed batch: the field of directions, and steps along it.

use fiberscope_core::{Matrix, Network};

use super::perceptron::{Loss, Pass, Shape};

/// The gradient of a loss on a batch as a field on the parameters (`W_1` row by row, `b_1`, `W_2`, ...).
pub(crate) struct FlowField {
    shape: Shape,
    pass: Pass<f64>,
    loss: Loss,
    scratch: Vec<f64>,
}

impl FlowField {
    /// The field for the samples in the rows of `inputs` and `targets`, which must fit the network.
    pub fn new(network: &Network, inputs: &Matrix, targets: &Matrix, loss: Loss) -> Self {
        let shape = Shape::new(&network.widths(), false);
        let mut pass = Pass::new(&shape, inputs.rows(), targets.cols());
        let rows: Vec<u32> = (0..inputs.rows() as u32).collect();
        pass.load(inputs.entries(), targets.entries(), &rows);
        let scratch = vec![0.0; shape.parameters()];
        FlowField { shape, pass, loss, scratch }
    }

    /// The parameters of a network as one vector.
    pub fn parameters(&self, network: &Network) -> Vec<f64> {
        network
            .layers()
            .iter()
            .flat_map(|layer| layer.weight().entries().iter().chain(layer.bias()).copied())
            .collect()
    }

    /// The network with these parameters, if they are finite.
    pub fn network(&self, parameters: &[f64]) -> Option<Network> {
        self.shape.network(parameters).ok()
    }

    /// The weights, row by row, and the biases of each layer in a vector.
    pub fn network_of<'p>(&self, vector: &'p [f64]) -> Vec<(&'p [f64], &'p [f64])> {
        (0..self.shape.depth()).map(|l| self.shape.layer(vector, l)).collect()
    }

    /// The loss.
    pub fn loss(&mut self, parameters: &[f64]) -> f64 {
        self.pass.loss(&self.shape, parameters, self.loss)
    }

    /// The gradient.
    pub fn gradient(&mut self, parameters: &[f64]) -> Vec<f64> {
        self.pass.gradient(&self.shape, parameters, self.loss, &mut self.scratch);
        self.scratch.clone()
    }

    /// One step down the gradient: Euler's, or the classical one of Runge and Kutta.
    pub fn advance(&mut self, parameters: &mut [f64], step: f64, fourth_order: bool) {
        let moved = |at: &[f64], by: &[f64], step: f64| -> Vec<f64> {
            at.iter().zip(by).map(|(x, g)| x - step * g).collect()
        };
        let k1 = self.gradient(parameters);
        if !fourth_order {
            parameters.iter_mut().zip(&k1).for_each(|(x, g)| *x -= step * g);
            return;
        }
        let k2 = self.gradient(&moved(parameters, &k1, step / 2.0));
        let k3 = self.gradient(&moved(parameters, &k2, step / 2.0));
        let k4 = self.gradient(&moved(parameters, &k3, step));
        for (i, x) in parameters.iter_mut().enumerate() {
            *x -= step / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
        }
    }

    /// Clears the marks of the hidden neurons that are not active on all samples.
    pub fn mark_active(&mut self, parameters: &[f64], active: &mut [Vec<bool>]) {
        self.loss(parameters);
        for (l, layer) in active.iter_mut().enumerate() {
            layer.iter_mut().enumerate().for_each(|(unit, mark)| *mark &= self.pass.always_active(l, unit));
        }
    }
}
