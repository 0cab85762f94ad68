//! Walking to the bent hyperplanes of a network, in floats.
//!
//! On the region of a point `x` the pre-activation of a neuron is affine with gradient `g`. A walk moves `x`
//! to `z = 0` of a random neuron along a direction that keeps the neurons of earlier walks at zero
//! (orthogonal to their gradients), by a few Newton steps, since the gradient changes on the way.

use fiberscope_algebra::dense::{dot, reject};
use fiberscope_core::{Activation, Network, Neuron, Weights};

/// Newton steps per walk.
const STEPS: usize = 6;

/// The bent hyperplanes of a network.
pub struct Boundaries {
    network: Network,
    neurons: Vec<Neuron>,
}

impl Boundaries {
    /// The boundaries of a network.
    pub fn new(network: &Network) -> Self {
        let relu = network.hidden_layers().iter().enumerate();
        let neurons = relu
            .filter(|(_, layer)| layer.activation() == Activation::Relu)
            .flat_map(|(layer, of)| (0..of.width()).map(move |unit| Neuron { layer, unit }))
            .collect();
        Boundaries { network: network.clone(), neurons }
    }

    /// Moves a point onto the boundary of the neuron that `pick` in `[0, 1)` names, along a direction
    /// orthogonal to those that are kept, and keeps the neuron's own.
    pub fn walk(&self, x: &mut [f64], mut direction: Vec<f64>, pick: f64, kept: &mut Vec<Vec<f64>>) {
        if self.neurons.is_empty() {
            return;
        }
        let neuron = self.neurons[(pick * self.neurons.len() as f64) as usize % self.neurons.len()];
        kept.iter().for_each(|unit| reject(&mut direction, unit));
        let mut gradient = Vec::new();
        for _ in 0..STEPS {
            let (value, at) = local(&self.network, x, neuron);
            gradient = at;
            let rate = dot(&gradient, &direction);
            let step = -value / rate;
            if value == 0.0 || !step.is_finite() || step.abs() > 1e12 {
                break;
            }
            x.iter_mut().zip(&direction).for_each(|(x, u)| *x += step * u);
        }
        kept.iter().for_each(|unit| reject(&mut gradient, unit));
        let length = dot(&gradient, &gradient).sqrt();
        if length > 1e-9 {
            gradient.iter_mut().for_each(|g| *g /= length);
            kept.push(gradient);
        }
    }
}

/// The product of a row with a vector.
fn weighted_sum(weights: &Weights, i: usize, x: &[f64]) -> f64 {
    match weights {
        Weights::Dense(matrix) => dot(matrix.row(i), x),
        sparse => sparse.row(i).map(|(j, w)| w * x[j]).sum(),
    }
}

/// Adds a multiple of a row to a vector.
fn add_multiple(sum: &mut [f64], factor: f64, weights: &Weights, i: usize) {
    match weights {
        Weights::Dense(matrix) => sum.iter_mut().zip(matrix.row(i)).for_each(|(sum, w)| *sum += factor * w),
        sparse => sparse.row(i).for_each(|(j, w)| sum[j] += factor * w),
    }
}

/// The pre-activation of a neuron (an output, in the last layer) at a point and its gradient there.
pub fn local(network: &Network, x: &[f64], neuron: Neuron) -> (f64, Vec<f64>) {
    let layers = &network.layers()[..=neuron.layer];
    let mut activations = x.to_vec();
    let mut masks: Vec<Vec<bool>> = Vec::new();
    for layer in &layers[..neuron.layer] {
        let relu = layer.activation() == Activation::Relu;
        let row = |i: usize| weighted_sum(layer.weights(), i, &activations) + layer.bias()[i];
        let z: Vec<f64> = (0..layer.width()).map(row).collect();
        masks.push(z.iter().map(|z| !relu || *z > 0.0).collect());
        activations = z.iter().map(|&z| if relu { z.max(0.0) } else { z }).collect();
    }
    let last = &layers[neuron.layer];
    let mut gradient = last.weights().dense_row(neuron.unit);
    let value = dot(&gradient, &activations) + last.bias()[neuron.unit];
    for (layer, mask) in layers[..neuron.layer].iter().zip(&masks).rev() {
        let mut before = vec![0.0; layer.input_width()];
        for (i, g) in gradient.iter().enumerate().filter(|(i, g)| mask[*i] && **g != 0.0) {
            add_multiple(&mut before, *g, layer.weights(), i);
        }
        gradient = before;
    }
    (value, gradient)
}
