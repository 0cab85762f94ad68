//! Local identifiability of ordinary networks: what is proved, with how many inputs, in what time?
//!
//! CPU seconds of one thread; a search ends by itself, and its certificate is checked once more, by itself. Trained
//! networks begin as the random ones of their seed and fit the heating loads (Adam, rate 0.01). Arguments choose
//! rows by their widths.

#![allow(clippy::print_stdout, reason = "the tables are the output of a benchmark")]

use std::error::Error;

use fiberscope::check::{Checker, Outcome};
use fiberscope::rigidity::{RigidityOptions, rigidity};
use fiberscope::train::{Initialization, initial_network};
use fiberscope::{Domain, Network};
use fiberscope_bench::thread_seconds;
use fiberscope_bench::trained::fitted;
use rayon::ThreadPoolBuilder;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Widths, how many seeds are random, and how many trained, with the epochs.
const NETWORKS: [(&[usize], u64, u64, u64); 8] = [
    (&[4, 16, 16, 16, 1], 3, 0, 0),
    (&[8, 32, 32, 1], 3, 3, 100),
    (&[8, 64, 64, 64, 1], 1, 1, 100),
    (&[8, 200, 200, 1], 1, 1, 40),
    (&[64, 32, 32, 10], 1, 0, 0),
    (&[64, 128, 128, 64, 10], 1, 0, 0),
    (&[64, 192, 128, 64, 10], 1, 0, 0),
    (&[784, 64, 10], 1, 0, 0),
];

fn main() -> Result<()> {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|name| name != "--").collect();
    let one = ThreadPoolBuilder::new().num_threads(1).build()?;
    println!("CPU seconds of one thread.\n");
    println!(
        "| network | parameters | hidden neurons | proved rank | parameters - hidden | gap | inputs | search and check, s | check alone, s | certificate, bytes |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (widths, random, trained, epochs) in NETWORKS {
        let name = widths.iter().map(usize::to_string).collect::<Vec<_>>().join("-");
        if !chosen.is_empty() && !chosen.contains(&name) {
            continue;
        }
        for seed in 0..random {
            let network = initial_network(widths, Initialization::He, false, seed);
            one.install(|| row(&format!("{name}, random {seed}"), &network))?;
        }
        for seed in 0..trained {
            let network = fitted(widths, seed, epochs)?;
            one.install(|| row(&format!("{name}, trained {seed}"), &network))?;
        }
    }
    Ok(())
}

fn row(name: &str, network: &Network) -> std::result::Result<(), String> {
    let start = thread_seconds();
    let found =
        rigidity(network, &Domain::Space, &RigidityOptions::new()).map_err(|error| error.to_string())?;
    let searched = thread_seconds() - start;
    let certificate = found.certificate.as_ref().ok_or("no certificate")?;
    let start = thread_seconds();
    if !matches!(Checker::new(network, network).check(certificate), Outcome::Proved(_)) {
        return Err(format!("{name}: the certificate was refused"));
    }
    let checked = thread_seconds() - start;
    println!(
        "| {name} | {} | {} | {} | {} | {} | {} | {searched:.2} | {checked:.2} | {} |",
        found.parameters,
        found.scalings,
        found.rank,
        found.parameters - found.scalings,
        found.unexplained(),
        found.used[0],
        certificate.to_json().len(),
    );
    Ok(())
}
