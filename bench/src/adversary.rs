//! Looking for an input at which two networks differ, knowing one of them.
//!
//! A network that was recovered but for a neuron that is nearly always in one state differs where that neuron
//! is in the other one: at inputs where its pre-activation is largest or smallest. These are looked for by
//! following gradients with ever shorter steps; neurons that are off count in part at first, since nothing is
//! felt of them otherwise. The gate of the extraction climbs in the same way without knowing where to; this
//! shares no code with it, as a check should not.

use fiberscope::Network;
use fiberscope::algebra::dense::dot;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const STARTS: usize = 16;
const STEPS: usize = 200;
const LAST_STEP: f64 = 0.002;
const LEAK: f64 = 0.5;

/// The largest difference of outputs at inputs of the box where neurons of `truth` are extreme.
pub fn largest_difference(truth: &Network, found: &Network, (lo, hi): (f64, f64)) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut largest = 0.0f64;
    for (depth, layer) in truth.hidden_layers().iter().enumerate() {
        for row in layer.weight().iter_rows() {
            for sign in [1.0, -1.0] {
                let goal: Vec<f64> = row.iter().map(|w| sign * w).collect();
                for _ in 0..STARTS {
                    let start = (0..truth.input_width()).map(|_| rng.random_range(lo..hi)).collect();
                    let x = climb(truth, depth, &goal, start, (lo, hi));
                    largest = largest.max(difference(truth, found, &x));
                }
            }
        }
    }
    largest
}

fn difference(a: &Network, b: &Network, x: &[f64]) -> f64 {
    match (a.evaluate(x), b.evaluate(x)) {
        (Ok(a), Ok(b)) => a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max),
        _ => f64::INFINITY,
    }
}

/// An input where `goal . h` is large, `h` the outputs of the first `depth` layers.
fn climb(network: &Network, depth: usize, goal: &[f64], start: Vec<f64>, (lo, hi): (f64, f64)) -> Vec<f64> {
    let layers = &network.layers()[..depth];
    let (mut x, mut best, mut highest) = (start.clone(), start, f64::NEG_INFINITY);
    let first_step = (hi - lo) / 2.0 * (x.len() as f64).sqrt();
    for step in 0..STEPS {
        let share = step as f64 / STEPS as f64;
        let mut values = vec![x.clone()];
        for layer in layers {
            let before = &values[values.len() - 1];
            let value = |(w, b): (&[f64], &f64)| (dot(w, before) + b).max(0.0);
            let next = layer.weight().iter_rows().zip(layer.bias()).map(value).collect();
            values.push(next);
        }
        let height = dot(goal, &values[depth]);
        if height > highest {
            highest = height;
            best.clone_from(&x);
        }
        let leak = LEAK * (1.0 - 1.5 * share).max(0.0);
        let mut gradient = goal.to_vec();
        for (layer, h) in layers.iter().zip(&values[1..]).rev() {
            gradient.iter_mut().zip(h).filter(|(_, h)| **h <= 0.0).for_each(|(g, _)| *g = leak * g.max(0.0));
            let weight = layer.weight();
            let column = |j: usize| (0..weight.rows()).map(|i| gradient[i] * weight[(i, j)]).sum();
            gradient = (0..weight.cols()).map(column).collect();
        }
        let size = dot(&gradient, &gradient).sqrt();
        if size == 0.0 {
            break;
        }
        let length = first_step * LAST_STEP.powf(share) / size;
        x.iter_mut().zip(&gradient).for_each(|(x, g)| *x = (*x + length * g).clamp(lo, hi));
    }
    best
}
