//! Evaluation: batches in doubles beside numpy, and single points exactly.
//!
//! Prints Markdown tables. Ours and numpy take turns, so that both meet the same load of the
//! machine. The Python that has numpy is named by the variable `FIBERSCOPE_BENCH_PYTHON`.

#![allow(clippy::print_stdout, reason = "the tables are the output of a benchmark")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use fiberscope_bench::Peer;
use fiberscope_core::{Activation, ExactEvaluator, Layer, Matrix, Network, Rational, Scalar};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::{ThreadPool, ThreadPoolBuilder};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Widths, number of points, number of turns.
const BATCHES: [(&[usize], usize, usize); 3] = [
    (&[784, 512, 512, 10], 10_000, 25),
    (&[5, 50, 50, 50, 50, 50, 50, 5], 100_000, 25),
    (&[2, 16, 16, 1], 1_000_000, 25),
];

/// Widths, number of evaluations.
const EXACT: [(&[usize], usize); 3] =
    [(&[784, 512, 512, 10], 9), (&[5, 50, 50, 50, 50, 50, 50, 5], 101), (&[2, 16, 16, 1], 1001)];

const NUMPY_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/eval_numpy.py");

fn main() -> Result<()> {
    println!("## Batched evaluation in doubles\n");
    println!("Medians (and minima) in milliseconds; ours and numpy take turns in one run.\n");
    println!("| network | points | threads | turns | ours | numpy | ours / numpy | numpy version |");
    println!("|---|---|---|---|---|---|---|---|");
    for (widths, points, turns) in BATCHES {
        for threads in [1, 2] {
            println!("{}", batch_row(widths, points, threads, turns)?);
        }
    }
    println!("\n## Exact evaluation\n");
    println!(
        "Medians (and minima) in milliseconds, one thread; random doubles as parameters and coordinates.\n"
    );
    println!(
        "| network | preparing the evaluator | one point, in doubles | one point, exactly | signs, exactly |"
    );
    println!("|---|---|---|---|---|");
    for (widths, turns) in EXACT {
        println!("{}", exact_row(widths, turns)?);
    }
    Ok(())
}

fn batch_row(widths: &[usize], count: usize, threads: usize, turns: usize) -> Result<String> {
    let (network, points) = (random_network(widths)?, random_points(count, widths[0]));
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    let arguments = [name(widths).replace('-', ","), count.to_string()];
    let mut numpy = Peer::start(NUMPY_SCRIPT, &arguments, threads);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // The first turn of each warms up.
    for turn in 0..=turns {
        let seconds = time_batch(&pool, &network, &points)?;
        let answer = numpy.as_mut().ok().map(Peer::ask).transpose()?;
        let peer_seconds = answer.map(|answer| answer.parse::<f64>()).transpose()?;
        if turn > 0 {
            ours.push(seconds);
            theirs.extend(peer_seconds);
        }
    }
    let (ours, ours_text) = summary(&mut ours);
    let start = format!("| {} | {count} | {threads} | {turns} | {ours_text} |", name(widths));
    Ok(match numpy {
        Ok(numpy) => {
            let (theirs, theirs_text) = summary(&mut theirs);
            format!("{start} {theirs_text} | {:.2} | {} |", ours / theirs, numpy.version)
        }
        Err(reason) => format!("{start} not available | | {reason} |"),
    })
}

fn time_batch(pool: &ThreadPool, network: &Network, points: &Matrix) -> Result<f64> {
    let start = Instant::now();
    black_box(pool.install(|| network.evaluate_batch(black_box(points)))?);
    Ok(start.elapsed().as_secs_f64())
}

fn exact_row(widths: &[usize], turns: usize) -> Result<String> {
    let network = random_network(widths)?;
    let evaluator = ExactEvaluator::new(&network);
    let [mut prepare, mut doubles, mut exact, mut signs] = [const { Vec::new() }; 4];
    for x in random_points(turns, widths[0]).iter_rows() {
        let rational: Vec<Rational> = x.iter().map(Scalar::to_rational).collect();
        prepare.push(time(|| ExactEvaluator::new(black_box(&network))));
        doubles.push(time(|| network.evaluate(black_box(x))));
        exact.push(time(|| evaluator.evaluate(black_box(&rational))));
        signs.push(time(|| evaluator.sign_vector(black_box(&rational))));
    }
    let columns = [prepare, doubles, exact, signs].map(|mut times| summary(&mut times).1);
    Ok(format!("| {} | {} |", name(widths), columns.join(" | ")))
}

fn time<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_secs_f64()
}

/// The median in seconds, and the median with the minimum as text in milliseconds.
fn summary(seconds: &mut [f64]) -> (f64, String) {
    seconds.sort_by(f64::total_cmp);
    let (median, least) = (seconds[seconds.len() / 2], seconds[0]);
    (median, format!("{} ({})", milliseconds(median), milliseconds(least)))
}

/// Three digits or more.
fn milliseconds(seconds: f64) -> String {
    let value = seconds * 1e3;
    let decimals = [100.0, 10.0, 1.0, 0.1, 0.01].iter().take_while(|&&limit| value < limit).count();
    format!("{value:.decimals$}")
}

/// `784-512-512-10`.
fn name(widths: &[usize]) -> String {
    widths.iter().map(usize::to_string).collect::<Vec<_>>().join("-")
}

fn random_network(widths: &[usize]) -> Result<Network> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut layers = Vec::new();
    for (l, pair) in widths.windows(2).enumerate() {
        let scale = (pair[0] as f64).sqrt();
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| uniform(&mut rng) / scale);
        let bias = (0..pair[1]).map(|_| uniform(&mut rng)).collect();
        let activation = if l + 2 < widths.len() { Activation::Relu } else { Activation::Identity };
        layers.push(Layer::new(weight, bias, activation));
    }
    Ok(Network::new(layers)?)
}

fn random_points(count: usize, width: usize) -> Matrix {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    Matrix::from_fn(count, width, |_, _| uniform(&mut rng))
}

/// A double in `[-1, 1)`.
fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / 2f64.powi(52) - 1.0
}
