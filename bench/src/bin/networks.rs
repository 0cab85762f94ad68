//! Convolutional networks, whose layers are stored by their entries: reading, hashing, evaluating and comparing them,
//! beside onnxruntime's loading and running.
//!
//! `FIBERSCOPE_BENCH_GRAPHS` names a folder with ONNX files (those of VNN-COMP have no licence that would let them be
//! part of this repository); all files in it that we read are measured. The Python that has onnx and onnxruntime is
//! named by `FIBERSCOPE_BENCH_PYTHON`. Ours and onnxruntime take turns.

#![allow(clippy::print_stdout, reason = "the tables are the output of a benchmark")]

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fiberscope::check::{Outcome, check};
use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::orbit::relabel;
use fiberscope_bench::{Peer, thread_seconds};
use fiberscope_core::{Activation, Digest, Domain, Matrix, Move, Network, NeuronCopy, Rational};
use fiberscope_io::{ReadOptions, load};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::{ThreadPool, ThreadPoolBuilder};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ROWS: usize = 1000;
const THREADS: usize = 2;
const TURNS: usize = 5;
/// Neurons that are split in every hidden ReLU layer of a twin.
const SPLIT: usize = 16;
/// Networks with fewer parameters are no test of this.
const SMALL: usize = 1 << 20;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/onnx_run.py");

fn main() -> Result<()> {
    let folder = std::env::var_os("FIBERSCOPE_BENCH_GRAPHS").ok_or("FIBERSCOPE_BENCH_GRAPHS is not set")?;
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "onnx"));
    files.sort();
    println!(
        "Medians in milliseconds. {ROWS} rows are evaluated on {THREADS} threads, ours in doubles, onnxruntime in single precision; `processor` is the least time of the processor that it took on one thread, \
         which other programs disturb less. A permuted twin has all hidden layers \
         in another order and scaled by powers of two, a split one {SPLIT} ReLUs of each layer split in two. The time of `equiv` has the search, the certificate and its check in it; \
         MB is what the process holds more after reading.\n"
    );
    println!(
        "| network | widths | parameters | stored | MB | read | load, onnxruntime | hash | {ROWS} rows | onnxruntime | ratio | processor | onnxruntime | ratio | equiv permuted | equiv split |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let pool = |threads: usize| ThreadPoolBuilder::new().num_threads(threads).build();
    let pools = [pool(THREADS)?, pool(1)?];
    for file in &files {
        if let Some(row) = row(file, &pools)? {
            println!("{row}");
        }
    }
    Ok(())
}

fn row(file: &Path, [pool, one]: &[ThreadPool; 2]) -> Result<Option<String>> {
    let name = file.to_str().ok_or("a name that is no text")?;
    let read = || load(name, &ReadOptions::default());
    let before = held();
    let Ok(model) = read() else { return Ok(None) };
    let megabytes = (held() - before) / 1e6;
    let network = model.network;
    if network.parameter_count() < SMALL {
        return Ok(None);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let points = Matrix::from_fn(ROWS, network.input_width(), |_, _| rng.random_range(-1.0..1.0));
    let start =
        |threads: usize| Peer::start(SCRIPT, &[name, &ROWS.to_string(), &threads.to_string()], threads);
    let (mut peer, mut alone) = (start(THREADS), start(1));
    let mut times = [const { Vec::new() }; 5];
    let mut processor = [f64::INFINITY; 2];
    for _ in 0..TURNS {
        times[0].push(milliseconds(|| Ok(read()?))?);
        // A network keeps its digest once it is known.
        let fresh = read()?.network;
        times[1].push(milliseconds(|| Ok(Digest::of(&fresh)))?);
        times[2].push(milliseconds(|| Ok(pool.install(|| network.evaluate_batch(&points))?))?);
        if let Some(answer) = peer.as_mut().ok().map(Peer::ask).transpose()? {
            let mut numbers =
                answer.split(' ').map(|number| number.parse::<f64>().map(|seconds| 1e3 * seconds));
            for list in &mut times[3..] {
                list.push(numbers.next().ok_or("expected two numbers")??);
            }
        }
        let spent = one.install(|| -> Result<f64> {
            let before = thread_seconds();
            black_box(network.evaluate_batch(&points)?);
            Ok(1e3 * (thread_seconds() - before))
        })?;
        processor[0] = processor[0].min(spent);
        if let Some(answer) = alone.as_mut().ok().map(Peer::ask).transpose()? {
            let spent: f64 = answer.split(' ').nth(2).ok_or("expected three numbers")?.parse()?;
            processor[1] = processor[1].min(1e3 * spent);
        }
    }
    let [read, hash, ours, loaded, theirs] = times.map(median);
    let shown = |time: Option<f64>| time.map_or("–".into(), |time| format!("{time:.1}"));
    let ratio = ours.zip(theirs).map(|(ours, theirs)| ours / theirs);
    let [ours_alone, theirs_alone] = processor.map(|time| time.is_finite().then_some(time));
    let ratio_alone = ours_alone.zip(theirs_alone).map(|(ours, theirs)| ours / theirs);
    let twins = [relabel(&network, 1).network, split(&network)?];
    let equal: Vec<f64> = twins.iter().map(|twin| equivalent(&network, twin)).collect::<Result<_>>()?;
    let widths: Vec<String> = network.widths().iter().map(ToString::to_string).collect();
    Ok(Some(format!(
        "| {} | {} | {} | {} | {megabytes:.0} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0} | {:.0} |",
        file.file_stem().unwrap_or_default().to_string_lossy(),
        widths.join("-"),
        network.parameter_count(),
        network.stored_count(),
        shown(read),
        shown(loaded),
        shown(hash),
        shown(ours),
        shown(theirs),
        shown(ratio),
        shown(ours_alone),
        shown(theirs_alone),
        shown(ratio_alone),
        equal[0],
        equal[1],
    )))
}

/// The network with some neurons of every hidden ReLU layer split in two with a quarter of the outgoing weights each
/// way, which are doubles again.
fn split(network: &Network) -> Result<Network> {
    let mut exact = network.to_exact();
    for layer in 0..network.hidden_depth() {
        let of = &exact.layers()[layer];
        if of.activation() != Activation::Relu {
            continue;
        }
        let width = of.width();
        let quarter = Rational::dyadic(1, -2);
        let copy = |unit: usize| NeuronCopy {
            of: unit,
            unit: width + unit,
            factor: Rational::from(2),
            out: exact.layers()[layer + 1]
                .weights()
                .dense_column(unit)
                .iter()
                .map(|v| v * &quarter)
                .collect(),
        };
        let copies = (0..SPLIT.min(width)).map(copy).collect();
        Move::Split { layer, copies }.apply(&mut exact, &Domain::Space)?;
    }
    let (network, is_exact) = exact.to_f64()?;
    if is_exact { Ok(network) } else { Err("splitting by halves rounded".into()) }
}

/// The time to find, certify and check that two networks are equal.
fn equivalent(a: &Network, b: &Network) -> Result<f64> {
    let start = Instant::now();
    let decision = decide(a, b, &Domain::Space, &EquivalenceOptions::new())?;
    let time = 1e3 * start.elapsed().as_secs_f64();
    match &decision.verdict {
        Verdict::Equivalent { certificate } if matches!(check(certificate, a, b), Outcome::Proved(_)) => {
            Ok(time)
        }
        _ => Err("a twin was not recognised".into()),
    }
}

fn milliseconds<T>(make: impl FnOnce() -> Result<T>) -> Result<f64> {
    let start = Instant::now();
    let made = black_box(make()?);
    let time = 1e3 * start.elapsed().as_secs_f64();
    drop(made);
    Ok(time)
}

fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

/// The bytes that the process holds; 0 where the system does not tell.
fn held() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<f64>().ok());
    4096.0 * pages.unwrap_or(0.0)
}
