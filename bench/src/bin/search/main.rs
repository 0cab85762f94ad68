//! The complete search over joint linear regions of two networks that are equal on `[-1, 1]^d`.
//!
//! The joint regions are those of the two networks side by side in one, counted as `fiberscope regions`
//! counts them. The question is whether the search covers them, with an exact certificate, as fast as they
//! are counted. A second table holds the walk over the breakpoints of functions of one variable. Arguments
//! name model files to measure instead, each against itself, or are parts of the names of pairs.

#![allow(clippy::print_stdout)]

mod pairs;

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use fiberscope::Deadline;
use fiberscope::check::{LineOutcome, Outcome, check, compare_on_line, same_on_path};
use fiberscope::complex::{ComplexOptions, CountOutcome, count_cells};
use fiberscope::core::CoverNode;
use fiberscope::equivalence::regions::{SearchLimits, SearchOutcome, search};
use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::{Activation, Certificate, Domain, Evidence, Layer, Matrix, Move, MoveChain, Network};
use fiberscope_bench::thread_seconds;
use fiberscope_io::ReadOptions;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use pairs::stacked;

const LINES: [&[usize]; 8] = [
    &[1, 32, 32, 1],
    &[1, 64, 64, 1],
    &[1, 128, 128, 1],
    &[1, 256, 256, 1],
    &[1, 1024, 1],
    &[1, 4096, 1],
    &[1, 16384, 1],
    &[1, 32, 32, 32, 32, 1],
];

const REPETITIONS: usize = 3;

/// Seconds after which a measurement is not repeated.
const ENOUGH: f64 = 2.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut pairs: Vec<(String, [Network; 2])> = Vec::new();
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let (files, words): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|name| Path::new(name).exists());
    for file in &files {
        let network = fiberscope_io::load(file, &ReadOptions::default())?.network;
        pairs.push((file.clone(), [network.clone(), network]));
    }
    let given = !files.is_empty() || !words.is_empty();
    if files.is_empty() {
        pairs = all_pairs();
        pairs.retain(|(name, _)| words.is_empty() || words.iter().any(|word| name.contains(word)));
    }
    if !pairs.is_empty() {
        println!(
            "| pair | joint regions | count, s | regions/s | cells of the proof | tree nodes | proof, 1 thread, s | regions/s | 2 threads, s | regions/s | check, s |"
        );
        println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    }
    for (name, pair) in pairs {
        measure(&name, &pair)?;
    }
    if !given || words.iter().any(|word| word == "border") {
        border()?;
    }
    if !given {
        println!("\n| one variable | parameters | pieces | walk, s | pieces/s |\n|---|---:|---:|---:|---:|");
        LINES.iter().try_for_each(|widths| measure_line(widths))?;
    }
    Ok(())
}

fn all_pairs() -> Vec<(String, [Network; 2])> {
    let mut pairs = Vec::new();
    for widths in [&[2, 16, 16, 1][..], &[3, 16, 16, 1]] {
        let network = random_network(widths);
        pairs.push((format!("itself, {}", name(widths)), [network.clone(), network]));
    }
    for (widths, changed) in [
        (&[2, 32, 32, 32, 1][..], 4),
        (&[2, 64, 64, 1], 4),
        (&[3, 24, 24, 1], 4),
        (&[4, 12, 12, 1], 3),
        (&[5, 10, 10, 1], 2),
    ] {
        let title = format!("{changed} dominated pieces in layer 1, {}", name(widths));
        pairs.push((title, pairs::dominated(widths, changed)));
        let title = format!("{changed} sorted pairs in layer 1, {}", name(widths));
        pairs.push((title, pairs::sorted(widths, 0, changed)));
    }
    for (widths, changed) in [
        (&[2, 16, 16, 16, 1][..], 2),
        (&[2, 32, 32, 32, 1], 2),
        (&[3, 16, 16, 16, 1], 2),
        (&[4, 8, 8, 8, 1], 2),
    ] {
        let title = format!("{changed} sorted pairs in layer 2, {}", name(widths));
        pairs.push((title, pairs::sorted(widths, 1, changed)));
    }
    for (inputs, m) in [(2, 8), (2, 16), (3, 8), (4, 8), (5, 8)] {
        pairs.push((format!("maximum of {m} functions of {inputs} inputs"), pairs::maxima(inputs, m)));
    }
    pairs
}

/// Seconds after which the search on a pair of the border is given up.
const BORDER: u64 = 30;

/// Where equivalence ends in practice: networks with 4 to 6 inputs and 60 to 180 hidden neurons in the smaller of the
/// two. Measured is the whole decision, with the check of its certificate.
fn border() -> Result<(), Box<dyn Error>> {
    println!("\n| pair | 4 inputs, s | 5 inputs, s | 6 inputs, s |\n|---|---:|---:|---:|");
    type Pair = Box<dyn Fn(usize) -> [Network; 2]>;
    let dominated = |changed: usize, a: usize, b: usize| -> (String, Pair) {
        let name = format!("{changed} dominated pieces in layer 1, n-{a}-{b}-1");
        (name, Box::new(move |inputs| pairs::dominated(&[inputs, a, b, 1], changed)))
    };
    let sorted = |layer: usize, changed: usize, hidden: &'static [usize]| -> (String, Pair) {
        let name = format!("{changed} sorted pairs in layer {}, n-{}-1", layer + 1, name(hidden));
        let widths = move |inputs: usize| [&[inputs], hidden, &[1]].concat();
        (name, Box::new(move |inputs| pairs::sorted(&widths(inputs), layer, changed)))
    };
    let maxima = |m: usize| -> (String, Pair) {
        (format!("maximum of {m} functions"), Box::new(move |inputs| pairs::maxima(inputs, m)))
    };
    let rows = [
        dominated(4, 50, 50),
        dominated(8, 100, 60),
        sorted(0, 3, &[50, 50]),
        sorted(0, 5, &[60, 60]),
        sorted(0, 8, &[60, 60]),
        sorted(1, 1, &[40, 40, 40]),
        sorted(1, 2, &[30, 40, 30]),
        maxima(10),
        maxima(14),
    ];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for (name, pair) in rows {
        print!("| {name} |");
        for inputs in 4..=6 {
            let pair = pair(inputs);
            let domain = cube(&pair[0])?;
            let deadline = Deadline::after(Some(Duration::from_secs(BORDER)));
            let options = EquivalenceOptions::new().deadline(deadline);
            let start = pool.install(thread_seconds);
            let decision = pool.install(|| decide(&pair[0], &pair[1], &domain, &options))?;
            let seconds = pool.install(thread_seconds) - start;
            match decision.verdict {
                Verdict::Equivalent { .. } => print!(" {seconds:.2} ({}) |", decision.method),
                Verdict::Undecided { explored, .. } => {
                    print!(" {:.0} % in {BORDER} s |", (100.0 * explored).floor());
                }
                _ => return Err("networks that are equal were not found to be so".into()),
            }
        }
        println!();
    }
    Ok(())
}

/// A network with one input against itself with its first layer in another order.
fn measure_line(widths: &[usize]) -> Result<(), Box<dyn Error>> {
    let network = random_network(widths);
    let exact = network.to_exact();
    let mut twin = exact.clone();
    let order = (0..widths[1]).rev().collect();
    Move::Permute { layer: 0, order }.apply(&mut twin, &Domain::Space)?;
    let start = Instant::now();
    let outcome = compare_on_line(&exact, &twin, &Domain::Space, &|| false);
    let seconds = start.elapsed().as_secs_f64();
    let Some(LineOutcome::Equal(breakpoints)) = outcome else { return Err("not equal to itself".into()) };
    let pieces = breakpoints.len() + 1;
    let parameters = network.parameter_count();
    println!(
        "| {} | {parameters} | {pieces} | {seconds:.4} | {:.0} |",
        name(widths),
        pieces as f64 / seconds
    );
    Ok(())
}

/// What a search took on one thread and on two, and what it found.
struct Found {
    seconds: [f64; 2],
    leaves: u64,
    nodes: usize,
    checked: f64,
}

/// Searches a pair on `[-1, 1]^d` and checks the certificate.
fn search_pair([a, b]: &[Network; 2]) -> Result<Found, Box<dyn Error>> {
    let exact = [a.to_exact(), b.to_exact()];
    let domain = cube(a)?;
    let mut seconds = [0.0; 2];
    let mut result: Option<(Vec<CoverNode>, u64)> = None;
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let run = || search(&exact[0], &exact[1], &domain, &SearchLimits::default(), &|_| ());
        let mut times = Vec::new();
        while times.len() < REPETITIONS && times.iter().sum::<f64>() < ENOUGH {
            let start = Instant::now();
            let outcome = pool.install(run)?;
            times.push(start.elapsed().as_secs_f64());
            let SearchOutcome::Equal { tree, leaves } = outcome else {
                return Err("networks that are equal were not found to be so".into());
            };
            result = Some((tree, leaves));
        }
        times.sort_by(f64::total_cmp);
        seconds[threads - 1] = times[times.len() / 2];
    }
    let (tree, leaves) = result.ok_or("measured at least once")?;
    let nodes = tree.len();
    let certificate = Certificate::new(
        a,
        b,
        domain,
        Evidence::Regions { a: MoveChain::default(), b: MoveChain::default(), prefix: 0, tree },
    );
    let start = Instant::now();
    if let Outcome::Refused(refusal) = check(&certificate, a, b) {
        return Err(refusal.to_string().into());
    }
    Ok(Found { seconds, leaves, nodes, checked: start.elapsed().as_secs_f64() })
}

/// The number of joint linear regions of a pair, and the seconds that it took to count them on one thread.
fn count(pair: &[Network; 2]) -> Result<(u64, f64), Box<dyn Error>> {
    let (network, domain) = (stacked(pair), cube(&pair[0])?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut times = Vec::new();
    let mut regions = 0;
    while times.len() < REPETITIONS && times.iter().sum::<f64>() < ENOUGH {
        let start = Instant::now();
        let outcome = pool.install(|| count_cells(&network, &domain, &ComplexOptions::new()))?;
        times.push(start.elapsed().as_secs_f64());
        let CountOutcome::Complete { counts, .. } = outcome else { return Err("no limit was set".into()) };
        regions = counts.all.last().copied().unwrap_or(0);
    }
    times.sort_by(f64::total_cmp);
    Ok((regions, times[times.len() / 2]))
}

fn measure(name: &str, pair: &[Network; 2]) -> Result<(), Box<dyn Error>> {
    let exact = [pair[0].to_exact(), pair[1].to_exact()];
    let root = same_on_path(&exact[0], &exact[1], &cube(&pair[0])?, [], &|| false);
    let Found { seconds, leaves, nodes, checked } = search_pair(pair)?;
    let (regions, counted) = count(pair)?;
    let rate = |seconds: f64| regions as f64 / seconds;
    println!(
        "| {name}{} | {regions} | {counted:.4} | {:.0} | {leaves} | {nodes} | {:.4} | {:.0} | {:.4} | {:.0} | {checked:.4} |",
        if root { " (closed at the root)" } else { "" },
        rate(counted),
        seconds[0],
        rate(seconds[0]),
        seconds[1],
        rate(seconds[1])
    );
    Ok(())
}

fn cube(network: &Network) -> Result<Domain, Box<dyn Error>> {
    Ok(Domain::from_bounds(&vec![(-1.0, 1.0); network.input_width()]).ok_or("a box")?)
}

fn name(widths: &[usize]) -> String {
    widths.iter().map(usize::to_string).collect::<Vec<_>>().join("-")
}

fn random_network(widths: &[usize]) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut normal = move || {
        let (u, v): (f64, f64) = (rng.random(), rng.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let mut layer = |l: usize| {
        let (inputs, outputs) = (widths[l], widths[l + 1]);
        let deviation = (2.0 / inputs as f64).sqrt();
        let weight = Matrix::from_fn(outputs, inputs, |_, _| deviation * normal());
        let bias = (0..outputs).map(|_| 0.3 * normal()).collect();
        let last = l + 2 == widths.len();
        Layer::new(weight, bias, if last { Activation::Identity } else { Activation::Relu })
    };
    Network::new((0..widths.len() - 1).map(&mut layer).collect()).expect("the widths chain")
}
