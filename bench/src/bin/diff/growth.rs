//! How the time of a box grows with depth and width.
//!
//! Random networks (weights of variance `2 / inputs`) against their roundings to single precision's half, 10
//! bits, on a box of radius 0.05 around the middle of the unit cube: so many leaves are bounded in a second or two,
//! and what they cost and give is shown.

use fiberscope::difference::{DifferenceOptions, measure};
use fiberscope_core::{Activation, Domain, Layer, Matrix, Network, decimal};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::limit::Limited;
use crate::{Failure, cpu};

/// CPU seconds of a search.
const LIMIT: f64 = 10.0;
const RADIUS: f64 = 0.05;
/// Bits of a rounded weight.
const BITS: i32 = 10;

/// The shapes: inputs, width and number of the hidden layers, outputs.
const SHAPES: [(usize, usize, usize, usize); 10] = [
    (5, 50, 2, 5),
    (5, 50, 4, 5),
    (5, 50, 6, 5),
    (5, 50, 12, 5),
    (5, 100, 6, 5),
    (5, 200, 6, 5),
    (784, 64, 4, 10),
    (784, 128, 4, 10),
    (784, 256, 2, 10),
    (784, 256, 4, 10),
];

pub fn table() -> Result<(), Failure> {
    println!("## Growth with depth and width\n");
    println!(
        "Random networks against themselves rounded to {BITS} bits, box of radius {RADIUS}, one thread, gap 0.05, at most {LIMIT} CPU seconds.\n"
    );
    println!("| network | parameters | leaves | CPU s | ms per leaf | lower | upper | upper / lower |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for (inputs, width, depth, outputs) in SHAPES {
        let a = random(inputs, width, depth, outputs)?;
        let b = rounded(&a)?;
        let domain = Domain::from_bounds(&vec![(0.5 - RADIUS, 0.5 + RADIUS); inputs]).ok_or("a box")?;
        let limited = Limited::to(LIMIT);
        let options = DifferenceOptions::new().gap(0.05).deadline(limited.deadline());
        let start = cpu();
        let found = measure(&a, &b, &domain, &options)?;
        let seconds = cpu() - start;
        let upper = found.upper.clone().unwrap_or_default();
        println!(
            "| {inputs}-{width}x{depth}-{outputs} | {} | {} | {seconds:.2} | {:.3} | {} | {} | {:.3} |",
            a.layers().iter().map(|layer| layer.width() * (layer.input_width() + 1)).sum::<usize>(),
            found.cells,
            1e3 * seconds / found.cells as f64,
            decimal::lower(&found.lower),
            decimal::upper(&upper),
            (&upper / &found.lower).to_f64(),
        );
    }
    println!();
    Ok(())
}

fn random(inputs: usize, width: usize, depth: usize, outputs: usize) -> Result<Network, Failure> {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let mut layers = Vec::new();
    for l in 0..=depth {
        let columns = if l == 0 { inputs } else { width };
        let rows = if l == depth { outputs } else { width };
        // A sum of twelve uniform numbers is normal enough.
        let spread = (2.0 / columns as f64).sqrt();
        let mut normal = || (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>() * spread;
        let weight = Matrix::from_fn(rows, columns, |_, _| normal());
        let bias = (0..rows).map(|_| 0.1 * normal()).collect();
        let activation = if l == depth { Activation::Identity } else { Activation::Relu };
        layers.push(Layer::new(weight, bias, activation));
    }
    Ok(Network::new(layers)?)
}

fn rounded(network: &Network) -> Result<Network, Failure> {
    let short = |x: f64| {
        let unit = 2f64.powi(x.abs().log2().floor() as i32 - BITS);
        if x == 0.0 { 0.0 } else { (x / unit).round() * unit }
    };
    let layer = |layer: &Layer<f64>| {
        let weight = layer.weight();
        let rows: Vec<Vec<f64>> =
            weight.iter_rows().map(|row| row.iter().map(|&x| short(x)).collect()).collect();
        let matrix = Matrix::from_fn(layer.width(), layer.input_width(), |i, j| rows[i][j]);
        Layer::new(matrix, layer.bias().iter().map(|&x| short(x)).collect(), layer.activation())
    };
    Ok(Network::new(network.layers().iter().map(layer).collect())?)
}
