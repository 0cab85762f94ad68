//! Fibers: listing the components of a layer with emptiness and dimension, and sampling points.
//!
//! Each time is the best of three after a warm-up, on one thread. A listing is exact: `M_S` is updated in
//! rational numbers along a Gray code, its rank is certified modulo a prime, and whether a cone is pointed is
//! proposed in doubles and verified exactly.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use fiberscope::fiber::{Fiber, FiberSampler, Ground, LayerFiber, describe};
use fiberscope::{Activation, Layer, Matrix, Network};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn main() -> Result<(), Box<dyn Error>> {
    println!("## Components of one hidden layer on the orthant, all orientations\n");
    println!(
        "| layer | numbers | linear neurons | orientations | non-empty | seconds | microseconds per orientation |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|");
    for (linear, short) in [(4, true), (4, false), (3, true), (3, false)] {
        // 12-20-3 with 16 nonlinear neurons; with 3 linear neurons, 12-19-3: every orientation needs a linear
        // programme.
        list(12, 16, linear, 3, short)?;
    }
    println!("\n## Random points of the fiber of 64-64-64-4\n");
    println!("| numbers | linear neurons | dimension | points | exact | seconds | points per second |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (linear, short) in [(0, false), (5, true), (5, false)] {
        sample(linear, short)?;
    }
    Ok(())
}

fn list(d: usize, nonlinear: usize, linear: usize, m: usize, short: bool) -> Result<(), Box<dyn Error>> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let network = layer_network(&mut rng, d, nonlinear, linear, m, short)?;
    let exact = network.to_exact();
    let [hidden, output] = exact.layers() else { return Err("one hidden layer".into()) };
    let fiber = LayerFiber::new(hidden, output, Ground::Orthant, 0)
        .map_err(|conditions| format!("{conditions:?}"))?;
    let count = || fiber.components().filter(|component| !component.is_empty()).count();
    let nonempty = count();
    let seconds = best(count);
    let orientations = 1u64 << nonlinear;
    println!(
        "| {d}-{}-{m} | {} | {linear} | {orientations} | {nonempty} | {seconds:.3} | {:.2} |",
        nonlinear + linear,
        numbers(short),
        seconds * 1e6 / orientations as f64
    );
    Ok(())
}

fn sample(linear: usize, short: bool) -> Result<(), Box<dyn Error>> {
    const POINTS: usize = 10_000;
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let rest = layer_network(&mut rng, 64, 64 - linear, linear, 4, short)?;
    let first = layer(64, 64, Activation::Relu, &mut || number(&mut rng, short));
    let network = Network::new(std::iter::once(first).chain(rest.into_layers()).collect())?;
    let fiber: Fiber =
        describe(&network.to_exact(), Ground::Space).map_err(|conditions| format!("{conditions:?}"))?;
    let sampler = FiberSampler::new(&fiber, &fiber.own()?)?;
    let mut exact = 0;
    let draw = |exact: &mut usize| {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        *exact = 0;
        for _ in 0..POINTS {
            *exact += usize::from(black_box(sampler.sample(&mut rng)).is_some_and(|point| point.exact));
        }
    };
    draw(&mut exact);
    let seconds = best(|| draw(&mut exact));
    println!(
        "| {} | {linear} | {} | {POINTS} | {exact} | {seconds:.3} | {:.0} |",
        numbers(short),
        fiber.own_dimension().unwrap_or(0),
        POINTS as f64 / seconds
    );
    Ok(())
}

fn numbers(short: bool) -> &'static str {
    if short { "12 bits" } else { "doubles" }
}

fn number(rng: &mut impl Rng, short: bool) -> f64 {
    let x = rng.random_range(-1.0..1.0);
    if short { (x * 2048.0f64).round() / 2048.0 } else { x }
}

fn layer(rows: usize, cols: usize, activation: Activation, next: &mut dyn FnMut() -> f64) -> Layer {
    let weight = Matrix::from_fn(rows, cols, |_, _| next());
    let bias = (0..rows).map(|_| next()).collect();
    Layer::new(weight, bias, activation)
}

/// A layer whose last rows are linear on the orthant, and the output layer.
fn layer_network(
    rng: &mut ChaCha8Rng,
    d: usize,
    nonlinear: usize,
    linear: usize,
    m: usize,
    short: bool,
) -> Result<Network, Box<dyn Error>> {
    let n = nonlinear + linear;
    let hidden = layer(n, d, Activation::Relu, &mut || number(rng, short));
    let (mut weight, mut bias, activation) = hidden.into_parts();
    for (i, b) in bias.iter_mut().enumerate().skip(nonlinear) {
        weight.row_mut(i).iter_mut().for_each(|w| *w = w.abs() + 1.0 / 2048.0);
        *b = b.abs();
    }
    let output = layer(m, n, Activation::Identity, &mut || number(rng, short));
    Ok(Network::new(vec![Layer::new(weight, bias, activation), output])?)
}

fn best<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        black_box(work());
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}
