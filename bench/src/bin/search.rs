//! The complete search over joint linear regions: a network against itself on `[-1, 1]^d`.
//!
//! Networks have weights `N(0, 2 / fan-in)` and biases `N(0, 0.3^2)`; every joint region is one region of the
//! network. The time includes the exact certificate, which the checker then checks. A second table holds the walk
//! over the breakpoints of functions of one variable. Arguments name model files to measure instead.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Instant;

use fiberscope::check::{LineOutcome, Outcome, check, compare_on_line};
use fiberscope::core::{
    Activation, Certificate, CoverNode, Domain, Evidence, Layer, Matrix, Move, MoveChain, Network,
    NetworkName,
};
use fiberscope::equivalence::regions::{SearchLimits, SearchOutcome, search};
use fiberscope_io::ReadOptions;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SHAPES: [&[usize]; 5] =
    [&[1, 32, 32, 1], &[2, 16, 16, 1], &[3, 16, 16, 1], &[4, 12, 12, 1], &[5, 10, 10, 1]];

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

fn main() -> Result<(), Box<dyn Error>> {
    let mut networks: Vec<(String, Network)> = Vec::new();
    for file in std::env::args().skip(1) {
        networks.push((file.clone(), fiberscope_io::load(&file, &ReadOptions::default())?.network));
    }
    let given = !networks.is_empty();
    if networks.is_empty() {
        networks = SHAPES.iter().map(|widths| (name(widths), random_network(widths))).collect();
    }
    println!(
        "| network | regions | tree nodes | 1 thread, s | regions/s | 2 threads, s | regions/s | check, s |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for (name, network) in networks {
        measure(&name, &network)?;
    }
    if !given {
        println!("\n| one variable | parameters | pieces | walk, s | pieces/s |\n|---|---:|---:|---:|---:|");
        LINES.iter().try_for_each(|widths| measure_line(widths))?;
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
    let Some(LineOutcome::Equal(pieces)) = outcome else { return Err("not equal to itself".into()) };
    let parameters = network.parameter_count();
    println!(
        "| {} | {parameters} | {pieces} | {seconds:.4} | {:.0} |",
        name(widths),
        pieces as f64 / seconds
    );
    Ok(())
}

fn measure(name: &str, network: &Network) -> Result<(), Box<dyn Error>> {
    let exact = network.to_exact();
    let domain = Domain::from_bounds(&vec![(-1.0, 1.0); network.input_width()]).ok_or("a box")?;
    let mut seconds = Vec::new();
    let mut result: Option<(Vec<CoverNode>, u64)> = None;
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let mut times = Vec::new();
        for _ in 0..REPETITIONS {
            let start = Instant::now();
            let limits = SearchLimits::default();
            let outcome = pool.install(|| search(&exact, &exact, &domain, &limits, &|_| ()))?;
            times.push(start.elapsed().as_secs_f64());
            let SearchOutcome::Equal { tree, leaves } = outcome else {
                return Err("not equal to itself".into());
            };
            result = Some((tree, leaves));
        }
        times.sort_by(f64::total_cmp);
        seconds.push(times[times.len() / 2]);
    }
    let (tree, leaves) = result.ok_or("measured at least once")?;
    let nodes = tree.len();
    let certificate = Certificate {
        a: NetworkName::of(network),
        b: NetworkName::of(network),
        domain,
        evidence: Evidence::Regions { a: MoveChain::default(), b: MoveChain::default(), tree },
    };
    let start = Instant::now();
    if let Outcome::Refused(refusal) = check(&certificate, network, network) {
        return Err(refusal.to_string().into());
    }
    let checked = start.elapsed().as_secs_f64();
    let rate = |seconds: f64| leaves as f64 / seconds;
    println!(
        "| {name} | {leaves} | {nodes} | {:.4} | {:.0} | {:.4} | {:.0} | {checked:.3} |",
        seconds[0],
        rate(seconds[0]),
        seconds[1],
        rate(seconds[1])
    );
    Ok(())
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
