//! A dense network for training, with ReLU or linear: one vector of parameters, and the gradient of a loss on
//! a batch.
//!
//! Batches are stored with the samples innermost, in groups of 16: `activation[unit][group][lane]`. Every
//! loop then runs over 16 neighbouring numbers that one weight multiplies, which is what vector instructions
//! do, also for networks of ten neurons. Lanes beyond the end of a batch carry zeros, and no gradient.

use fiberscope_core::{Activation, Layer, Matrix, Network, NetworkError};

use super::real::Real;

/// Samples per group.
pub(super) const LANES: usize = 16;

type Group<T> = [T; LANES];

/// What is minimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The mean over samples and outputs of the squared differences.
    Mse,
    /// The mean over samples of the cross-entropy of the softmax of the outputs; the target is a class,
    /// counted from 0.
    CrossEntropy,
}

/// The widths of a network and where its parameters lie in one vector: `W_1` row by row, `b_1`, `W_2`, ...
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub widths: Vec<usize>,
    /// Hidden layers have no ReLU.
    pub linear: bool,
    /// Of every layer the places of `W` and `b`.
    places: Vec<(usize, usize)>,
}

impl Shape {
    pub fn new(widths: &[usize], linear: bool) -> Self {
        let mut at = 0;
        let place = |pair: &[usize]| {
            let weight = at;
            let bias = weight + pair[0] * pair[1];
            at = bias + pair[1];
            (weight, bias)
        };
        Shape { widths: widths.to_vec(), linear, places: widths.windows(2).map(place).collect() }
    }

    pub fn parameters(&self) -> usize {
        crate::dimension::parameter_count(&self.widths)
    }

    /// The weight, row by row, and the bias of a layer.
    pub fn layer<'p, T>(&self, parameters: &'p [T], l: usize) -> (&'p [T], &'p [T]) {
        let ((weight, bias), end) = (self.places[l], self.places[l].1 + self.widths[l + 1]);
        (&parameters[weight..bias], &parameters[bias..end])
    }

    pub fn layer_mut<'p, T>(&self, parameters: &'p mut [T], l: usize) -> (&'p mut [T], &'p mut [T]) {
        let ((weight, bias), end) = (self.places[l], self.places[l].1 + self.widths[l + 1]);
        let (weight, bias) = parameters[weight..end].split_at_mut(bias - weight);
        (weight, bias)
    }

    pub fn depth(&self) -> usize {
        self.places.len()
    }

    /// The network with these parameters; an error if one of them is not finite.
    pub fn network<T: Real>(&self, parameters: &[T]) -> Result<Network, NetworkError> {
        let layer = |l: usize| {
            let (weight, bias) = self.layer(parameters, l);
            let entries = weight.iter().map(|w| w.to_f64()).collect();
            let weight =
                Matrix::from_entries(self.widths[l + 1], self.widths[l], entries).expect("its shape");
            let last = l + 1 == self.depth();
            let activation = if last || self.linear { Activation::Identity } else { Activation::Relu };
            Layer::new(weight, bias.iter().map(|b| b.to_f64()).collect(), activation)
        };
        Network::new((0..self.depth()).map(layer).collect())
    }
}

/// The arrays of one forward and backward pass.
#[derive(Clone, Debug)]
pub(super) struct Pass<T> {
    groups: usize,
    samples: usize,
    /// `a_0, ..., a_L`: the inputs, the activations, the outputs.
    activations: Vec<Vec<Group<T>>>,
    /// The derivatives of the loss by the pre-activations of each layer.
    deltas: Vec<Vec<Group<T>>>,
    targets: Vec<Group<T>>,
}

impl<T: Real> Pass<T> {
    /// Arrays for batches of up to `samples`.
    pub fn new(shape: &Shape, samples: usize, targets: usize) -> Self {
        let groups = samples.div_ceil(LANES);
        let zeros = |width: usize| vec![[T::ZERO; LANES]; width * groups];
        Pass {
            groups,
            samples: 0,
            activations: shape.widths.iter().map(|&width| zeros(width)).collect(),
            deltas: shape.widths[1..].iter().map(|&width| zeros(width)).collect(),
            targets: zeros(targets),
        }
    }

    /// Loads the samples: rows of `inputs` and `targets`.
    pub fn load(&mut self, inputs: &[T], targets: &[T], rows: &[u32]) {
        self.samples = rows.len();
        let groups = self.groups;
        let scatter = |from: &[T], to: &mut [Group<T>]| {
            let width = to.len() / groups;
            for (k, &row) in rows.iter().enumerate() {
                for (j, &x) in from[row as usize * width..][..width].iter().enumerate() {
                    to[j * groups + k / LANES][k % LANES] = x;
                }
            }
            for k in rows.len()..groups * LANES {
                (0..width).for_each(|j| to[j * groups + k / LANES][k % LANES] = T::ZERO);
            }
        };
        scatter(inputs, &mut self.activations[0]);
        scatter(targets, &mut self.targets);
    }

    /// The loss of the loaded samples and its gradient.
    pub fn gradient(&mut self, shape: &Shape, parameters: &[T], loss: Loss, gradient: &mut [T]) -> f64 {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                self.forward(shape, parameters);
                let value = self.output_delta(loss);
                self.backward(shape, parameters, gradient);
                value
            },
        )
    }

    /// The loss of the loaded samples.
    pub fn loss(&mut self, shape: &Shape, parameters: &[T], loss: Loss) -> f64 {
        self.forward(shape, parameters);
        self.output_delta(loss)
    }

    /// Whether a hidden neuron is active on all loaded samples.
    pub fn always_active(&self, layer: usize, unit: usize) -> bool {
        let groups = &self.activations[layer + 1][unit * self.groups..(unit + 1) * self.groups];
        (0..self.samples).all(|k| groups[k / LANES][k % LANES] > T::ZERO)
    }

    /// Output `o` of sample `k`.
    pub fn output(&self, k: usize, o: usize) -> T {
        self.activations[self.activations.len() - 1][o * self.groups + k / LANES][k % LANES]
    }

    #[inline(always)]
    fn forward(&mut self, shape: &Shape, parameters: &[T]) {
        let groups = self.groups;
        for l in 0..shape.depth() {
            let (weight, bias) = shape.layer(parameters, l);
            let inputs = shape.widths[l];
            let bent = !shape.linear && l + 1 < shape.depth();
            let (before, after) = self.activations.split_at_mut(l + 1);
            let (input, output) = (&before[l], &mut after[0]);
            for ((row, &b), out) in weight.chunks_exact(inputs).zip(bias).zip(output.chunks_exact_mut(groups))
            {
                for (g, out) in out.iter_mut().enumerate() {
                    let mut sum = [b; LANES];
                    for (&w, input) in row.iter().zip(input.chunks_exact(groups)) {
                        let input = &input[g];
                        for k in 0..LANES {
                            sum[k] += w * input[k];
                        }
                    }
                    if bent {
                        for x in &mut sum {
                            // Written so that NaN stays NaN.
                            *x = if *x <= T::ZERO { T::ZERO } else { *x };
                        }
                    }
                    *out = sum;
                }
            }
        }
    }

    /// Sets the derivatives by the outputs and gives the loss.
    #[inline(always)]
    fn output_delta(&mut self, loss: Loss) -> f64 {
        let (outputs, delta) = match (self.activations.last(), self.deltas.last_mut()) {
            (Some(outputs), Some(delta)) => (outputs, delta),
            _ => return 0.0,
        };
        let (groups, width) = (self.groups, outputs.len() / self.groups);
        let mut sum = 0.0;
        delta.iter_mut().for_each(|group| *group = [T::ZERO; LANES]);
        match loss {
            Loss::Mse => {
                let count = (self.samples * width) as f64;
                let factor = T::from_f64(2.0 / count);
                for (at, (y, t)) in outputs.iter().zip(&self.targets).enumerate() {
                    let lanes = LANES.min(self.samples.saturating_sub(at % groups * LANES));
                    for k in 0..lanes {
                        let difference = y[k] - t[k];
                        sum += (difference * difference).to_f64();
                        delta[at][k] = factor * difference;
                    }
                }
                sum / count
            }
            Loss::CrossEntropy => {
                let share = T::from_f64(1.0 / self.samples as f64);
                for k in 0..self.samples {
                    let (g, lane) = (k / LANES, k % LANES);
                    let class = self.targets[g][lane].to_f64() as usize;
                    let z = |o: usize| outputs[o * groups + g][lane];
                    let most = (1..width).fold(z(0), |most, o| if z(o) > most { z(o) } else { most });
                    let total = (0..width).fold(T::ZERO, |total, o| total + (z(o) - most).exp());
                    sum += total.to_f64().ln() - (z(class) - most).to_f64();
                    for o in 0..width {
                        let p = (z(o) - most).exp() / total;
                        let target = if o == class { T::ONE } else { T::ZERO };
                        delta[o * groups + g][lane] = (p - target) * share;
                    }
                }
                sum / self.samples as f64
            }
        }
    }

    #[inline(always)]
    fn backward(&mut self, shape: &Shape, parameters: &[T], gradient: &mut [T]) {
        let groups = self.groups;
        for l in (0..shape.depth()).rev() {
            let inputs = shape.widths[l];
            let (before, after) = self.deltas.split_at_mut(l);
            let delta = &after[0];
            let input = &self.activations[l];
            let (weights, biases) = shape.layer_mut(gradient, l);
            let rows = weights.chunks_exact_mut(inputs).zip(biases).zip(delta.chunks_exact(groups));
            for ((row, bias), delta) in rows {
                for (w, input) in row.iter_mut().zip(input.chunks_exact(groups)) {
                    *w = dot(delta, input);
                }
                *bias = total(delta);
            }
            let Some(lower) = before.last_mut() else { continue };
            let (weight, _) = shape.layer(parameters, l);
            for (i, (lower, input)) in
                lower.chunks_exact_mut(groups).zip(input.chunks_exact(groups)).enumerate()
            {
                for g in 0..groups {
                    let mut sum = [T::ZERO; LANES];
                    for (row, delta) in weight.chunks_exact(inputs).zip(delta.chunks_exact(groups)) {
                        let (w, delta) = (row[i], &delta[g]);
                        for k in 0..LANES {
                            sum[k] += w * delta[k];
                        }
                    }
                    for k in 0..LANES {
                        lower[g][k] = if shape.linear || input[g][k] > T::ZERO { sum[k] } else { T::ZERO };
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn dot<T: Real>(x: &[Group<T>], y: &[Group<T>]) -> T {
    let mut sum = [T::ZERO; LANES];
    for (x, y) in x.iter().zip(y) {
        for k in 0..LANES {
            sum[k] += x[k] * y[k];
        }
    }
    fold(sum)
}

#[inline(always)]
fn total<T: Real>(x: &[Group<T>]) -> T {
    let mut sum = [T::ZERO; LANES];
    for x in x {
        for k in 0..LANES {
            sum[k] += x[k];
        }
    }
    fold(sum)
}

#[inline(always)]
fn fold<T: Real>(mut sum: Group<T>) -> T {
    for half in [8, 4, 2, 1] {
        for k in 0..half {
            sum[k] += sum[k + half];
        }
    }
    sum[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, factor: f64) -> Vec<f64> {
        (0..count).map(|i| factor * ((i * 37 % 101) as f64 / 50.0 - 1.0)).collect()
    }

    fn check(loss: Loss, samples: usize, targets: &[f64], width: usize, linear: bool) {
        let shape = Shape::new(&[3, 5, 4, width], linear);
        let parameters = numbers(shape.parameters(), 0.7);
        let inputs = numbers(3 * samples, 1.3);
        let rows: Vec<u32> = (0..samples as u32).collect();
        let mut pass = Pass::new(&shape, samples + 20, targets.len() / samples);
        let mut gradient = vec![0.0; shape.parameters()];
        pass.load(&inputs, targets, &rows);
        pass.gradient(&shape, &parameters, loss, &mut gradient);
        for at in 0..parameters.len() {
            let mut moved = |by: f64| {
                let mut parameters = parameters.clone();
                parameters[at] += by;
                pass.loss(&shape, &parameters, loss)
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((slope - gradient[at]).abs() < 1e-7, "{at}: {slope} {}", gradient[at]);
        }
    }

    #[test]
    fn gradients_are_derivatives() {
        for linear in [false, true] {
            check(Loss::Mse, 7, &numbers(14, 1.0), 2, linear);
            check(Loss::Mse, 33, &numbers(33, 1.0), 1, linear);
            check(Loss::CrossEntropy, 5, &[0.0, 2.0, 1.0, 2.0, 0.0], 3, linear);
        }
    }

    #[test]
    fn the_network_computes_the_same() {
        [false, true].into_iter().for_each(compare_with_the_network);
    }

    fn compare_with_the_network(linear: bool) {
        let shape = Shape::new(&[2, 6, 3], linear);
        let parameters = numbers(shape.parameters(), 1.0);
        let network = shape.network(&parameters).unwrap();
        let mut pass = Pass::new(&shape, 4, 3);
        let inputs = numbers(8, 2.0);
        pass.load(&inputs, &[0.0; 12], &[0, 1, 2, 3]);
        pass.loss(&shape, &parameters, Loss::Mse);
        for k in 0..4 {
            let expected = network.evaluate(&inputs[2 * k..2 * k + 2]).unwrap();
            for (o, y) in expected.iter().enumerate() {
                assert!((y - pass.output(k, o)).abs() < 1e-12);
            }
        }
    }
}
