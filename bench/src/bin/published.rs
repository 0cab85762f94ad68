//! Frequencies that papers publish, or state in words, and the same ones measured here.
//!
//! `published NAME`, with `grigsby`, `brownlowe` or `volume`, prints one table; `published grigsby SECONDS` ends every row
//! of the first after so many CPU seconds, with the networks looked at by then.

#![allow(clippy::print_stdout, reason = "the tables are the output of a benchmark")]

use std::error::Error;

use fiberscope::core::Matrix;
use fiberscope::dimension::{DimensionOptions, functional_dimension};
use fiberscope::fiber::{symmetries, volume};
use fiberscope::rigidity::{RigidityOptions, rigidity};
use fiberscope::survey::{Measure, Plan, rows};
use fiberscope::train::{Initialization, initial_network};
use fiberscope::{Deadline, Domain, Network};
use fiberscope_bench::thread_seconds;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::ThreadPoolBuilder;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|name| name != "--").collect();
    let (limits, chosen): (Vec<f64>, Vec<&str>) = words.iter().fold((vec![], vec![]), |mut all, word| {
        match word.parse() {
            Ok(seconds) => all.0.push(seconds),
            Err(_) => all.1.push(word),
        }
        all
    });
    let wanted = |name: &str| chosen.is_empty() || chosen.contains(&name);
    if wanted("grigsby") {
        grigsby(limits.first().copied())?;
    }
    if wanted("brownlowe") {
        brownlowe()?;
    }
    if wanted("volume") {
        volumes()?;
    }
    Ok(())
}

/// A share of networks with its standard error, in percent.
fn percent(hits: usize, of: usize) -> String {
    let share = hits as f64 / of.max(1) as f64;
    let error = (share * (1.0 - share) / of.max(1) as f64).sqrt();
    format!("{:.1} ± {:.1}", 100.0 * share, 100.0 * error)
}

fn joined(widths: &[usize]) -> String {
    widths.iter().map(usize::to_string).collect::<Vec<_>>().join("-")
}

/// Depths, widths and networks of the first table.
const DEPTHS: [usize; 3] = [4, 5, 6];
const WIDTHS: [(usize, u64); 3] = [(5, 400), (10, 100), (15, 40)];
/// Inputs of a batch for each parameter.
const BATCHES: [usize; 2] = [1, 10];

/// What is found of one network: no hidden symmetries proved, hidden symmetries proved, and whether the ranks on
/// batches are the greatest possible.
#[derive(Clone, Copy, Default)]
struct Found {
    none: bool,
    some: bool,
    full: [bool; BATCHES.len()],
    seconds: f64,
}

fn grigsby(limit: Option<f64>) -> Result<()> {
    println!("## Hidden symmetries at initialisation\n");
    println!(
        "| n_0 = .. = n_(d-1) | d | initialisation | networks | no hidden symmetries, proved, % | hidden symmetries, proved, % | not decided, % | rank of as many normal inputs as parameters is the greatest, % | of ten times as many, % | CPU s per network |"
    );
    println!("|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|");
    // Seconds are those of one thread, which must not take up another network while it waits.
    let one = ThreadPoolBuilder::new().num_threads(1).build()?;
    for (init, kind) in [(Initialization::He, "he"), (Initialization::Torch, "torch")] {
        for (width, count) in WIDTHS {
            for depth in DEPTHS {
                let widths: Vec<usize> = std::iter::repeat_n(width, depth).chain([1]).collect();
                let look = |seed: u64| look(&initial_network(&widths, init, false, seed), seed);
                let found: Vec<Found> = one.install(|| {
                    let start = thread_seconds();
                    let in_time = |_: &u64| limit.is_none_or(|limit| thread_seconds() - start < limit);
                    (0..count).take_while(in_time).map(look).collect()
                });
                let share = |holds: &dyn Fn(&Found) -> bool| {
                    percent(found.iter().filter(|each| holds(each)).count(), found.len())
                };
                let seconds: f64 = found.iter().map(|each| each.seconds).sum();
                println!(
                    "| {width} | {depth} | {kind} | {} | {} | {} | {} | {} | {} | {:.2} |",
                    found.len(),
                    share(&|each| each.none),
                    share(&|each| each.some),
                    share(&|each| !each.none && !each.some),
                    share(&|each| each.full[0]),
                    share(&|each| each.full[1]),
                    seconds / found.len().max(1) as f64
                );
            }
        }
    }
    println!();
    Ok(())
}

fn look(network: &Network, seed: u64) -> Found {
    let start = thread_seconds();
    let known = symmetries(&network.to_exact(), &Domain::Space);
    let some = known.dimension > known.scalings;
    let mut found = Found { some, ..Found::default() };
    let hidden: usize = network.widths()[1..=network.hidden_depth()].iter().sum();
    let most = network.parameter_count() - hidden;
    if !some {
        let rigid = rigidity(network, &Domain::Space, &RigidityOptions::new());
        found.none = rigid.is_ok_and(|rigid| rigid.is_proved());
    }
    found.seconds = thread_seconds() - start;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for (full, times) in found.full.iter_mut().zip(BATCHES) {
        let rows = times * network.parameter_count();
        let points = Matrix::from_fn(rows, network.input_width(), |_, _| normal(&mut rng));
        let options = DimensionOptions::new().layer_bound(false);
        let rank = functional_dimension(network, &points, &options).ok().map(|found| found.rank.lower);
        *full = rank == Some(most);
    }
    found
}

/// A normal number (Box and Muller).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Measures the networks of a plan, on one thread; the rows, and CPU seconds.
fn surveyed(widths: &[usize], count: u64, measures: Vec<Measure>) -> Result<(Vec<Vec<Option<f64>>>, f64)> {
    let plan = Plan::new(vec![widths.to_vec()], count, measures)?;
    let one = ThreadPoolBuilder::new().num_threads(1).build()?;
    one.install(|| measured(&plan)).ok_or_else(|| "a task was stopped".into())
}

fn measured(plan: &Plan) -> Option<(Vec<Vec<Option<f64>>>, f64)> {
    let start = thread_seconds();
    let mut all = Vec::new();
    for task in plan.tasks() {
        all.extend(rows(plan, &task, &Deadline::NEVER)?.into_iter().map(|row| row.values));
    }
    Some((all, thread_seconds() - start))
}

fn brownlowe() -> Result<()> {
    const COUNT: u64 = 100_000;
    println!("## Neurons of layer 2 that are never on\n");
    println!("| n_0 | n_1 | published, exact | % | here, % | networks | not decided |");
    println!("|---:|---:|---|---:|---:|---:|---:|");
    for (inputs, first) in [(2, 2), (3, 2), (3, 3), (5, 5), (1, 2), (2, 3), (3, 4), (4, 5)] {
        let (formula, exact) = if first <= inputs {
            (format!("1 / 2^{}", first + 1), 0.5f64.powi(first as i32 + 1))
        } else {
            let n = inputs as i32;
            (format!("(2^{n} + 1) / 4^{}", n + 1), (2f64.powi(n) + 1.0) / 4f64.powi(n + 1))
        };
        let (found, _) = surveyed(&[inputs, first, 1, 1], COUNT, vec![Measure::Dead])?;
        let decided: Vec<f64> = found.iter().filter_map(|row| row[0]).collect();
        let dead = decided.iter().filter(|&&dead| dead > 0.0).count();
        println!(
            "| {inputs} | {first} | {formula} | {:.3} | {} | {} | {} |",
            100.0 * exact,
            percent(dead, decided.len()),
            decided.len(),
            found.len() - decided.len()
        );
    }
    println!();
    Ok(())
}

fn volumes() -> Result<()> {
    const COUNT: u64 = 100_000;
    println!("## Identifiable networks of three layers\n");
    println!(
        "| widths | exact | % | here, % | networks | CPU s for 100,000 networks, with hidden, dead and linear |"
    );
    println!("|---|---|---:|---:|---:|---:|");
    for widths in [[2, 2, 1, 1], [2, 2, 2, 1], [3, 3, 2, 1], [4, 4, 3, 2], [2, 2, 4, 1]] {
        let exact = volume(&widths)?.exact;
        let measures = vec![Measure::Identifiable, Measure::Hidden, Measure::Dead, Measure::Linear];
        let (found, seconds) = surveyed(&widths, COUNT, measures)?;
        let hits = found.iter().filter(|row| row[0] == Some(1.0)).count();
        println!(
            "| {} | {exact} | {:.3} | {} | {} | {seconds:.1} |",
            joined(&widths),
            100.0 * exact.to_f64(),
            percent(hits, found.len()),
            found.len()
        );
    }
    println!();
    Ok(())
}
