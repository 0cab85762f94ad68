//! The exact functional dimension beside the ranks of the usual tools, and training beside PyTorch.
//!
//! Prints Markdown tables. Ours and the peers take turns in one run; times are CPU times of one thread each.
//! The Pythons that have the peers are named, separated by colons, by the variable `FIBERSCOPE_BENCH_PYTHON`;
//! a peer that none of them can import is left out. `funcdim S1 S3` runs some of the cases only,
//! `funcdim training` the trainings, and `funcdim large [POINTS]` the case of 50,000 rows, on all threads.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the tables are the output of a benchmark")]

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use fiberscope::dimension::{DimensionOptions, functional_dimension};
use fiberscope::train::{
    Initialization, Samples, Task, TrackOptions, TrainError, TrainOptions, TrainStart, Trainer, train,
};
use fiberscope_bench::{Peer, thread_seconds};
use fiberscope_core::{Matrix, Network};
use fiberscope_io::{Precision, npz, save};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::ThreadPoolBuilder;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Name, points, widths, turns of ours and of the Gram trick.
const CASES: [(&str, usize, &[usize], usize); 4] = [
    ("S1", 100, &[1, 10, 10, 10, 10, 1], 21),
    ("S2", 768, &[8, 10, 10, 10, 10, 1], 7),
    ("S3", 2000, &[8, 64, 64, 64, 1], 3),
    ("S4a", 100, &[784, 128, 128, 10], 5),
];
const PEERS: [&str; 5] = ["gram", "torch32", "torch64", "jax", "neural-tangents"];
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/funcdim.py");

fn main() -> Result<()> {
    let chosen: Vec<String> = env::args().skip(1).collect();
    match chosen.first().map(String::as_str) {
        Some("large") => large(),
        Some("training") => training(),
        Some(_) => ranks(&chosen),
        None => ranks(&[]).and_then(|()| training()),
    }
}

/// The table of the cases with these names, or of all.
fn ranks(chosen: &[String]) -> Result<()> {
    println!("## Ranks\n");
    println!(
        "Medians of CPU seconds, one thread (rank in parentheses); `floor` is the time of the multiplications at the speed of our matrix product.\n"
    );
    println!(
        "| case | points | widths | ours | rows x U | floor | numpy Gram / ours | {} |",
        PEERS.join(" | ")
    );
    println!("|---|---|---|---|---|---|---|{}", "---|".repeat(PEERS.len()));
    let speed = product_speed();
    for (name, points, widths, turns) in CASES {
        if chosen.is_empty() || chosen.iter().any(|each| each == name) {
            println!("{}", case(name, points, widths, turns, speed)?);
        }
    }
    println!("\nOur matrix product: {:.1} GFlop/s.\n", speed / 1e9);
    Ok(())
}

fn problem(points: usize, widths: &[usize]) -> Result<(Network, Matrix)> {
    let options = TrainOptions::paper(widths, 0).init(Initialization::He);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let inputs = Matrix::from_fn(points, widths[0], |_, _| rng.random_range(-1.0..1.0));
    let samples = Samples::<f64>::new(&inputs, &inputs);
    let network = Trainer::new(&options, &samples, 1).network().ok_or("no network")?;
    Ok((network, inputs))
}

fn case(name: &str, points: usize, widths: &[usize], turns: usize, speed: f64) -> Result<String> {
    let (network, inputs) = problem(points, widths)?;
    let folder = tempfile::tempdir()?;
    save(&network, &folder.path().join("net.npz"), Precision::F64)?;
    write_npy(&folder.path().join("points.npy"), &inputs)?;
    let mut peers: Vec<_> = PEERS.iter().map(|peer| start(peer, folder.path())).collect();
    let versions: Vec<_> = peers.iter().flatten().map(|peer| peer.version.as_str()).collect();
    eprintln!("{name}: {}", versions.join(", "));
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    let options = DimensionOptions::new().layer_bound(false);
    let (mut ours, mut theirs) = (Vec::new(), vec![Vec::new(); PEERS.len()]);
    let (mut rank, mut upper, mut ranks) = (0, 0, vec![0; PEERS.len()]);
    // The first turn warms up.
    for turn in 0..=turns {
        // The clock of the kernel ticks in milliseconds: short computations are repeated.
        let repeats = if points * widths.iter().sum::<usize>() < 10_000 { 200 } else { 1 };
        let (seconds, found) = pool.install(|| {
            let start = thread_seconds();
            let mut found = functional_dimension(&network, &inputs, &options);
            for _ in 1..repeats {
                found = functional_dimension(&network, &inputs, &options);
            }
            ((thread_seconds() - start) / f64::from(repeats), found)
        });
        let found = found?;
        (rank, upper) = (found.rank.lower, found.rank.upper);
        if turn > 0 {
            ours.push(seconds);
        }
        for (k, peer) in peers.iter_mut().enumerate() {
            // The slow ones take two turns.
            if let Some(peer) = peer.as_mut().ok().filter(|_| k == 0 || turn < 2) {
                let (seconds, value) = time(peer)?;
                ranks[k] = value;
                if turn > 0 {
                    theirs[k].push(seconds);
                }
            }
        }
    }
    let rows = points * widths[widths.len() - 1];
    let ours = median(&mut ours);
    let floor = multiplications(rows, rank, widths) / speed;
    let cells: Vec<String> = theirs
        .iter_mut()
        .zip(&ranks)
        .map(|(times, rank)| match times.is_empty() {
            true => "-".into(),
            false => format!("{} ({rank})", seconds(median(times))),
        })
        .collect();
    let ratio =
        if theirs[0].is_empty() { "-".into() } else { format!("{:.1}", median(&mut theirs[0]) / ours) };
    let shape: Vec<String> = widths.iter().map(usize::to_string).collect();
    Ok(format!(
        "| {name} | {points} | {} | {} ({rank}, proved {rank} to {upper}) | {rows} x {upper} | {} ({:.0} %) | {ratio} | {} |",
        shape.join("-"),
        seconds(ours),
        seconds(floor),
        100.0 * floor / ours,
        cells.join(" | ")
    ))
}

/// Twice the multiplications of a plain or a symmetric elimination, whichever has less, of columns of the
/// layer that takes least, if no region had two points.
fn multiplications(rows: usize, rank: usize, widths: &[usize]) -> f64 {
    let (m, r) = (rows as f64, rank as f64);
    let factors = widths.windows(2).map(|pair| pair[0] + 1 + pair[1]).min().unwrap_or(0);
    let plain = 2.0 * m * r * factors as f64 + m * r * r - r * r * r / 3.0;
    let symmetric = m * m * factors as f64 + (m * m * m - (m - r).powi(3)) / 3.0;
    plain.min(symmetric)
}

/// Operations per second of the matrix product of doubles that we use.
fn product_speed() -> f64 {
    const N: usize = 768;
    let a = Mat::from_fn(N, N, |i, j| (i * 7 + j) as f64 % 5.0);
    let mut c = Mat::zeros(N, N);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = thread_seconds();
        matmul(&mut c, Accum::Replace, &a, &a, 1.0, Par::Seq);
        best = best.min(thread_seconds() - start);
    }
    2.0 * (N * N * N) as f64 / best
}

fn training() -> Result<()> {
    let (x, y) = Task::Univariate(1).samples();
    let folder = tempfile::tempdir()?;
    write_npy(&folder.path().join("inputs.npy"), &x)?;
    write_npy(&folder.path().join("targets.npy"), &y)?;
    let options = TrainOptions::paper(&[1, 10, 10, 10, 10, 1], 2000);
    let track = TrackOptions::new().every(50).dimension(true);
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    let seeds: Vec<_> = (0..15).map(TrainStart::Seed).collect();
    let ours = pool.install(|| -> std::result::Result<f64, TrainError> {
        let start = thread_seconds();
        train::<f32, TrainError>(&options, &track, &x, &y, &seeds)?;
        Ok(thread_seconds() - start)
    })?;
    println!(
        "## Training\n\nThe 1-D experiment (f1, 2000 epochs, rank recorded every 50), CPU seconds of one thread, in one run.\n"
    );
    println!("| | seeds | seconds | seconds per seed |\n|---|---|---|---|");
    println!("| ours (exact and float32 rank) | 15 | {ours:.2} | {:.3} |", ours / 15.0);
    match start("train", folder.path()) {
        Ok(mut peer) => {
            let theirs = time(&mut peer)?.0;
            println!("| {} (float32 rank) | 1 | {theirs:.2} | {theirs:.3} |", peer.version);
            println!("\nOurs is {:.0} times as fast per seed.", theirs / (ours / 15.0));
        }
        Err(reason) => println!("\nPyTorch is not available: {reason}"),
    }
    Ok(())
}

/// S4 with 5000 points: 50,000 rows.
fn large() -> Result<()> {
    let points = env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(5000);
    let (network, inputs) = problem(points, &[784, 128, 128, 10])?;
    let options = DimensionOptions::new().layer_bound(false).memory(12 << 30);
    let start = Instant::now();
    let found = functional_dimension(&network, &inputs, &options)?;
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or("unknown", str::trim);
    println!(
        "S4, {points} points, {} rows: rank {} (proved {} to {}), {:.0} s on {} threads, peak memory {peak}",
        found.rows,
        found.rank.lower,
        found.rank.lower,
        found.rank.upper,
        start.elapsed().as_secs_f64(),
        rayon::current_num_threads()
    );
    Ok(())
}

fn write_npy(path: &Path, matrix: &Matrix) -> Result<()> {
    let mut file = fs::File::create(path)?;
    npz::write_npy_header(&[matrix.rows(), matrix.cols()], &mut file)?;
    npz::write_npy_numbers(matrix.entries(), &mut file)?;
    Ok(())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Three significant digits, in seconds or milliseconds.
fn seconds(value: f64) -> String {
    if value >= 0.1 { format!("{value:.2} s") } else { format!("{:.3} ms", value * 1e3) }
}

/// A peer for the networks and points of a folder.
fn start(method: &str, folder: &Path) -> std::result::Result<Peer, String> {
    Peer::start(SCRIPT, &[method.as_ref(), folder.as_os_str()], 1)
}

/// The CPU seconds of one computation, and the rank.
fn time(peer: &mut Peer) -> Result<(f64, usize)> {
    let line = peer.ask()?;
    let (seconds, rank) = line.split_once(' ').ok_or("expected two numbers")?;
    Ok((seconds.parse()?, rank.parse()?))
}
