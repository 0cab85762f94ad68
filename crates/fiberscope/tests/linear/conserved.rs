//! Which entries of `C_l` gradient flow of a ReLU network conserves.

use fiberscope::core::{Activation, Layer, Matrix, Network};
use fiberscope::linear::Conserved;

/// Parameters in a row: of each layer the weights, row by row, then the biases.
type Parameters = Vec<f64>;

const WIDTHS: [usize; 4] = [2, 5, 4, 2];
const SAMPLES: [([f64; 2], [f64; 2]); 4] = [
    ([1.0, 0.3], [0.5, -1.0]),
    ([-0.7, 0.9], [1.0, 0.2]),
    ([0.2, -1.1], [-0.3, 0.8]),
    ([-0.4, -0.6], [0.9, 0.1]),
];

fn network(parameters: &[f64]) -> Network {
    let mut rest = parameters;
    let mut take = |count: usize| {
        let (head, tail) = rest.split_at(count);
        rest = tail;
        head.to_vec()
    };
    let last = WIDTHS.len() - 2;
    let layer = |(l, ends): (usize, &[usize])| {
        let weight = take(ends[0] * ends[1]);
        let weight = Matrix::from_fn(ends[1], ends[0], |i, j| weight[i * ends[0] + j]);
        let activation = if l == last { Activation::Identity } else { Activation::Relu };
        Layer::new(weight, take(ends[1]), activation)
    };
    Network::new(WIDTHS.windows(2).enumerate().map(layer).collect()).unwrap()
}

/// Minus the gradient of half the squared error.
fn velocity(parameters: &[f64]) -> Parameters {
    let network = network(parameters);
    let mut total = vec![0.0; parameters.len()];
    for (x, y) in SAMPLES {
        let mut values = vec![x.to_vec()];
        for layer in network.layers() {
            let input = &values[values.len() - 1];
            let sum = |i: usize| {
                layer.bias()[i] + layer.weight().row(i).iter().zip(input).map(|(w, h)| w * h).sum::<f64>()
            };
            let relu = |z: f64| if layer.activation() == Activation::Relu { z.max(0.0) } else { z };
            values.push((0..layer.width()).map(|i| relu(sum(i))).collect());
        }
        let mut error: Vec<f64> = values[values.len() - 1].iter().zip(y).map(|(f, y)| f - y).collect();
        let mut end = parameters.len();
        for (l, layer) in network.layers().iter().enumerate().rev() {
            let (rows, cols) = (layer.width(), layer.weight().cols());
            let start = end - rows * (cols + 1);
            for i in 0..rows {
                for j in 0..cols {
                    total[start + i * cols + j] -= error[i] * values[l][j];
                }
                total[start + rows * cols + i] -= error[i];
            }
            let back = |j: usize| (0..rows).map(|i| error[i] * layer.weight()[(i, j)]).sum::<f64>();
            error = (0..cols).map(|j| if l > 0 && values[l][j] > 0.0 { back(j) } else { 0.0 }).collect();
            end = start;
        }
    }
    total
}

/// Fixed-step Runge-Kutta: the right-hand side jumps where a neuron switches.
fn flow(mut at: Parameters, step: f64, steps: usize) -> Parameters {
    let ahead = |at: &[f64], by: f64, along: &[f64]| -> Parameters {
        at.iter().zip(along).map(|(x, v)| x + by * v).collect()
    };
    for _ in 0..steps {
        let k1 = velocity(&at);
        let k2 = velocity(&ahead(&at, step / 2.0, &k1));
        let k3 = velocity(&ahead(&at, step / 2.0, &k2));
        let k4 = velocity(&ahead(&at, step, &k3));
        for (n, x) in at.iter_mut().enumerate() {
            *x += step / 6.0 * (k1[n] + 2.0 * k2[n] + 2.0 * k3[n] + k4[n]);
        }
    }
    at
}

#[test]
fn relu_training_conserves_the_diagonal_and_the_always_active_block() {
    let count: usize = WIDTHS.windows(2).map(|ends| ends[1] * (ends[0] + 1)).sum();
    let mut start: Parameters = (0..count).map(|n| 0.8 * (12.9898 * (n + 1) as f64).sin()).collect();
    // Neurons 1 and 2 of the first layer are active on all samples, by their biases.
    start[10] = 4.0;
    start[11] = 5.0;
    let end = flow(start.clone(), 2e-4, 10_000);
    let (before, after) = (Conserved::of(&network(&start)), Conserved::of(&network(&end)));
    let drift =
        |l: usize, p: usize, q: usize| (before.matrices()[l][(p, q)] - after.matrices()[l][(p, q)]).abs();
    for (l, &width) in WIDTHS[1..3].iter().enumerate() {
        for p in 0..width {
            assert!(drift(l, p, p) < 2e-3, "layer {l} neuron {p}: {}", drift(l, p, p));
        }
    }
    assert!(drift(0, 0, 1) < 2e-3, "{}", drift(0, 0, 1));
    let others = (0..5).flat_map(|p| (0..p).map(move |q| (p, q))).map(|(p, q)| drift(0, p, q));
    assert!(others.fold(0.0, f64::max) > 0.05, "neurons that switch apart conserve nothing together");
}
