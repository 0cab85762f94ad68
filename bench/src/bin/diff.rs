//! The certified difference of pairs of networks, beside NeuroDiff.
//!
//! Every pair of `bench/data/difference/cases.json` is decided at its epsilons, for all outputs, on one
//! thread: search, certificate written, read and checked. NeuroDiff's numbers are those that the file states:
//! a program in single precision, for one output, without a proof. An argument names another folder with a
//! `cases.json`; `epsilon` and `gap` choose a table, any other word cases by their names.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fiberscope::check::{Checked, Checker, Outcome};
use fiberscope::difference::{Decision, Difference, DifferenceOptions, measure};
use fiberscope::limit::Deadline;
use fiberscope_core::{Domain, Network, Rational, decimal};
use fiberscope_io::{Normalization, ReadOptions, domain, load};
use rayon::ThreadPoolBuilder;
use serde_json::Value;

/// The limit of a decision, and of a search for both bounds.
const DECIDE: Duration = Duration::from_secs(60);
const MEASURE: Duration = Duration::from_secs(10);

type Failure = Box<dyn Error + Send + Sync>;

struct Case {
    name: String,
    a: Network,
    b: Network,
    domain: Domain,
    value: Value,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let tables: Vec<&String> =
        arguments.iter().filter(|word| ["epsilon", "gap"].contains(&word.as_str())).collect();
    let wanted = |name: &str| tables.is_empty() || tables.iter().any(|table| *table == name);
    let folder = arguments
        .iter()
        .find(|word| Path::new(word).is_dir())
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data/difference"), PathBuf::from);
    let only = arguments.iter().find(|word| !Path::new(word).is_dir() && !tables.contains(word));
    let mut cases = read_cases(&folder)?;
    cases.retain(|case| only.is_none_or(|part| case.name.contains(part.as_str())));
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| {
        if wanted("epsilon") {
            decisions(&cases)?;
        }
        if wanted("gap") {
            bounds(&cases)?;
        }
        Ok(())
    })
}

fn read_cases(folder: &Path) -> Result<Vec<Case>, Failure> {
    let list: Vec<Value> = serde_json::from_slice(&fs::read(folder.join("cases.json"))?)?;
    let options = ReadOptions { normalization: Normalization::Ignore, ..ReadOptions::default() };
    let mut cases = Vec::new();
    for value in list {
        let path = |key: &str| folder.join(value[key].as_str().unwrap_or_default()).display().to_string();
        let (a, b) = (load(&path("a"), &options)?.network, load(&path("b"), &options)?.network);
        let bounds = match (value["lo"].as_array(), value["hi"].as_array()) {
            (Some(lo), Some(hi)) => {
                let ends = lo.iter().zip(hi).map(|(lo, hi)| Some((lo.as_f64()?, hi.as_f64()?)));
                ends.collect::<Option<Vec<_>>>().ok_or("a box of numbers")?
            }
            _ => domain::parse_box(&path("box"), a.input_width())?.bounds,
        };
        let domain = Domain::from_bounds(&bounds).ok_or("a bounded box")?;
        let name = value["name"].as_str().unwrap_or_default().to_owned();
        cases.push(Case { name, a, b, domain, value });
    }
    Ok(cases)
}

/// CPU seconds of the process.
fn cpu() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(f64::NAN);
    (ticks(11) + ticks(12)) / 100.0
}

/// Checks the certificate as it is written; its length in bytes and the CPU seconds.
fn checked(case: &Case, found: &Difference) -> Result<(usize, f64), Failure> {
    let certificate = found.certificate.as_ref().ok_or("no certificate")?.to_json();
    let start = cpu();
    let Checked { outcome, .. } = Checker::new(&case.a, &case.b).check_reader(certificate.as_bytes())?;
    match outcome {
        Outcome::Proved(_) => Ok((certificate.len(), cpu() - start)),
        other => Err(format!("{}: {other:?}", case.name).into()),
    }
}

fn decisions(cases: &[Case]) -> Result<(), Failure> {
    println!("## Decisions at a given epsilon\n");
    println!(
        "All outputs, one thread, CPU seconds, limit {} s. NeuroDiff decides one output in single precision, without a proof.\n",
        DECIDE.as_secs()
    );
    println!(
        "| case | epsilon | NeuroDiff, s | search, s | boxes | decision | certificate, bytes | check, s |"
    );
    println!("|---|---:|---:|---:|---:|---|---:|---:|");
    for case in cases {
        for epsilon in case.value["epsilon"].as_array().into_iter().flatten() {
            let exact =
                epsilon.to_string().parse::<f64>().ok().and_then(Rational::from_f64).ok_or("a number")?;
            let options = DifferenceOptions::new().epsilon(exact).deadline(Deadline::after(Some(DECIDE)));
            let start = cpu();
            let found = measure(&case.a, &case.b, &case.domain, &options)?;
            let seconds = cpu() - start;
            let decision = found.decision.map_or("", Decision::name);
            let proof = if found.decision == Some(Decision::Within) {
                let (bytes, seconds) = checked(case, &found)?;
                format!("{bytes} | {seconds:.2}")
            } else {
                "- | -".into()
            };
            let peer = case.value["neurodiff"].as_array().into_iter().flatten();
            let peer =
                peer.filter(|row| row["epsilon"] == *epsilon).map(|row| row["cpu_seconds"].to_string());
            let peer = peer.collect::<String>().replace('"', "");
            println!(
                "| {} | {epsilon} | {peer} | {seconds:.2} | {} | {decision} | {proof} |",
                case.name, found.cells
            );
        }
    }
    println!();
    Ok(())
}

fn bounds(cases: &[Case]) -> Result<(), Failure> {
    println!("## Both bounds\n");
    println!(
        "All outputs, one thread, gap 0.05, at most {} s (wall); lower is exact, upper certified.\n",
        MEASURE.as_secs()
    );
    println!("| case | lower | upper | upper / lower | boxes | search, CPU s | check, CPU s |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for case in cases {
        let options = DifferenceOptions::new().gap(0.05).deadline(Deadline::after(Some(MEASURE)));
        let start = cpu();
        let found = measure(&case.a, &case.b, &case.domain, &options)?;
        let seconds = cpu() - start;
        let (_, check) = checked(case, &found)?;
        let upper = found.upper.clone().unwrap_or_default();
        let ratio = if found.lower.is_zero() { f64::INFINITY } else { (&upper / &found.lower).to_f64() };
        println!(
            "| {} | {} | {} | {ratio:.3} | {} | {seconds:.2} | {check:.2} |",
            case.name,
            decimal::lower(&found.lower),
            decimal::upper(&upper),
            found.cells
        );
    }
    println!();
    Ok(())
}
