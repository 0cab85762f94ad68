//! The certified difference of pairs of networks, beside NeuroDiff.
//!
//! Every pair of `bench/data/difference/cases.json` is decided at its epsilons, for all outputs, on one
//! thread: search, certificate written, read and checked. NeuroDiff, a program in single precision, for one output and
//! without a proof, runs beside it if it is there, or the file states its numbers. An argument names another
//! folder with a `cases.json`; `epsilon`, `gap`, `threads`, `inputs` and `growth` choose tables, any other word
//! cases by their names.

#![allow(clippy::print_stdout)]

mod growth;
mod limit;
mod peer;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fiberscope::check::{Checked, Checker, Outcome};
use fiberscope::difference::{Decision, Difference, DifferenceOptions, measure};
use fiberscope_core::{Domain, Network, Rational, decimal};
use fiberscope_io::{Normalization, ReadOptions, domain, load};
use rayon::ThreadPoolBuilder;
use serde_json::Value;

use limit::Limited;

/// The limit of a decision, and of a search for both bounds, in CPU seconds.
const DECIDE: f64 = 60.0;
const MEASURE: f64 = 10.0;
/// The tables.
const TABLES: [&str; 5] = ["epsilon", "gap", "threads", "inputs", "growth"];
/// Searches of so many leaves are long enough to be shared between threads.
const LONG: usize = 4000;

type Failure = Box<dyn Error + Send + Sync>;

struct Case {
    name: String,
    a: Network,
    b: Network,
    domain: Domain,
    value: Value,
    files: [PathBuf; 2],
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let tables: Vec<&String> = arguments.iter().filter(|word| TABLES.contains(&word.as_str())).collect();
    let wanted = |name: &str| tables.is_empty() || tables.iter().any(|table| *table == name);
    let folder = arguments
        .iter()
        .find(|word| Path::new(word).is_dir())
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data/difference"), PathBuf::from);
    let only = arguments.iter().find(|word| !Path::new(word).is_dir() && !tables.contains(word));
    let mut cases = read_cases(&folder)?;
    cases.retain(|case| only.is_none_or(|part| case.name.contains(part.as_str())));
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    let long = pool.install(|| {
        let long = if wanted("epsilon") || wanted("threads") { decisions(&cases)? } else { Vec::new() };
        if wanted("gap") {
            bounds(&cases)?;
        }
        if wanted("inputs") {
            many_inputs(&cases)?;
        }
        if wanted("growth") {
            growth::table()?;
        }
        Ok::<_, Failure>(long)
    })?;
    if wanted("threads") { threads(&long) } else { Ok(()) }
}

fn read_cases(folder: &Path) -> Result<Vec<Case>, Failure> {
    let list: Vec<Value> = serde_json::from_slice(&fs::read(folder.join("cases.json"))?)?;
    let options = ReadOptions { normalization: Normalization::Ignore, ..ReadOptions::default() };
    let mut cases = Vec::new();
    for value in list {
        let file = |key: &str| folder.join(value[key].as_str().unwrap_or_default());
        let path = |key: &str| file(key).display().to_string();
        let files = ["a", "b"].map(file);
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
        cases.push(Case { name, a, b, domain, value, files });
    }
    Ok(cases)
}

/// CPU seconds of the process.
fn cpu() -> f64 {
    cpu_of("self")
}

/// CPU seconds of a process.
fn cpu_of(process: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    ticks(&text, 11) + ticks(&text, 12)
}

/// The most CPU seconds of a thread with this in its name.
fn busiest(workers: &str) -> f64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lines = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    let lines = lines.filter(|line| line.contains(workers));
    lines.map(|line| ticks(&line, 11) + ticks(&line, 12)).fold(f64::NAN, f64::max)
}

/// A field of the kernel's line about a process, counted behind its name, in seconds.
fn ticks(text: &str, at: usize) -> f64 {
    let field = text.rsplit(')').next().unwrap_or_default().split_whitespace().nth(at);
    field.and_then(|field| field.parse::<f64>().ok()).unwrap_or(f64::NAN) / 100.0
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

/// A decision that took long: the case and its epsilon.
type Long<'c> = (&'c Case, Rational);

fn decisions(cases: &[Case]) -> Result<Vec<Long<'_>>, Failure> {
    let mut long = Vec::new();
    println!("## Decisions at a given epsilon\n");
    println!(
        "All outputs, one thread, CPU seconds, limit {DECIDE} s. NeuroDiff decides one output in single precision, without a proof; its numbers are {}.\n",
        match std::env::var_os(peer::VARIABLE) {
            Some(_) => "of this run (limit 60 CPU seconds)",
            None => "those that the list of cases states",
        }
    );
    println!(
        "| case | epsilon | NeuroDiff, s | search, s | leaves | decision | certificate, bytes | check, s |"
    );
    println!("|---|---:|---:|---:|---:|---|---:|---:|");
    let mut both = (0, 0.0, 0.0);
    for case in cases {
        for epsilon in case.value["epsilon"].as_array().into_iter().flatten() {
            let exact =
                epsilon.to_string().parse::<f64>().ok().and_then(Rational::from_f64).ok_or("a number")?;
            let limited = Limited::to(DECIDE);
            let options = DifferenceOptions::new().epsilon(exact.clone()).deadline(limited.deadline());
            let start = cpu();
            let found = measure(&case.a, &case.b, &case.domain, &options)?;
            let seconds = cpu() - start;
            let decision = found.decision.map_or("", Decision::name);
            let proof = match found.decision {
                Some(Decision::Within) => Some(checked(case, &found)?),
                _ => None,
            };
            let peer = case.value["neurodiff"].as_array().into_iter().flatten();
            let peer =
                peer.filter(|row| row["epsilon"] == *epsilon).map(|row| row["cpu_seconds"].to_string());
            let stated = peer.collect::<String>().replace('"', "");
            let [file_a, file_b] = &case.files;
            let peer = peer::ask(&case.name, file_a, file_b, &epsilon.to_string()).unwrap_or(stated);
            if let (Some((_, check)), Ok(of_peer)) = (proof, peer.parse::<f64>()) {
                both = (both.0 + 1, both.1 + of_peer, both.2 + seconds + check);
            }
            let proof =
                proof.map_or_else(|| "- | -".into(), |(bytes, seconds)| format!("{bytes} | {seconds:.2}"));
            if found.cells >= LONG && found.decision == Some(Decision::Within) {
                long.push((case, exact));
            }
            println!(
                "| {} | {epsilon} | {peer} | {seconds:.2} | {} | {decision} | {proof} |",
                case.name, found.cells
            );
        }
    }
    let (count, of_peer, ours) = both;
    if count > 0 {
        println!(
            "\nThe {count} questions that both decide: NeuroDiff {of_peer:.2} s, ours with the check {ours:.2} s, {:.1} times.",
            of_peer / ours
        );
    }
    println!();
    Ok(long)
}

/// The long decisions again, on one thread and on two, one after the other.
fn threads(long: &[Long]) -> Result<(), Failure> {
    println!("## Two threads\n");
    println!(
        "Decisions of at least {LONG} leaves. Seconds of the clock, in which a busy machine shows, and CPU seconds: of one thread, of two, and of the busier one of the two. What one thread took over the last is how much faster two are where neither waits; on a busy machine work moves to the thread that has a core, and the quotient is too small.\n"
    );
    println!(
        "| case | epsilon | 1 thread, s | CPU s | 2 threads, s | CPU s | busier one, CPU s | clock: times faster | work: times faster |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (case, epsilon) in long {
        let mut took = Vec::new();
        for count in [1, 2] {
            let workers = format!("of-{count}-");
            let name = {
                let workers = workers.clone();
                move |number| format!("{workers}{number}")
            };
            let pool = ThreadPoolBuilder::new().num_threads(count).thread_name(name).build()?;
            let options = DifferenceOptions::new().epsilon(epsilon.clone());
            let (start, clock) = (cpu(), Instant::now());
            pool.install(|| measure(&case.a, &case.b, &case.domain, &options))?;
            took.push((clock.elapsed().as_secs_f64(), cpu() - start, busiest(&workers)));
        }
        let [(one, cpu_one, most_one), (two, cpu_two, most_two)] = took[..] else { continue };
        println!(
            "| {} | {} | {one:.2} | {cpu_one:.2} | {two:.2} | {cpu_two:.2} | {most_two:.2} | {:.2} | {:.2} |",
            case.name,
            epsilon.to_f64(),
            one / two,
            most_one / most_two
        );
    }
    println!();
    Ok(())
}

/// Balls around the middle of the box of a case with hundreds of inputs: all inputs are free.
fn many_inputs(cases: &[Case]) -> Result<(), Failure> {
    println!("## Hundreds of free inputs\n");
    println!(
        "All inputs within a radius of the middle of the box, clipped to [0, 1]; one thread, limit {DECIDE} CPU seconds.\n"
    );
    println!(
        "| case | radius | epsilon | search, CPU s | leaves | decision | lower | upper | certificate, bytes | check, s |"
    );
    println!("|---|---:|---:|---:|---:|---|---:|---:|---:|---:|");
    for case in cases.iter().filter(|case| case.a.input_width() >= 100) {
        for (radius, epsilon) in [(0.01, 1.0), (0.01, 0.95), (0.02, 1.5)] {
            let Domain::Box(sides) = &case.domain else { continue };
            let middle = |side: &fiberscope_core::Interval| {
                let ends = [&side.lower, &side.upper].map(|end| end.as_ref().map_or(0.0, Rational::to_f64));
                0.5 * (ends[0] + ends[1])
            };
            let ends = sides.iter().map(|side| {
                let c = middle(side);
                ((c - radius).clamp(0.0, 1.0), (c + radius).clamp(0.0, 1.0))
            });
            let domain = Domain::from_bounds(&ends.collect::<Vec<_>>()).ok_or("a box")?;
            let exact = Rational::from_f64(epsilon).ok_or("a number")?;
            let limited = Limited::to(DECIDE);
            let options = DifferenceOptions::new().epsilon(exact).deadline(limited.deadline());
            let start = cpu();
            let found = measure(&case.a, &case.b, &domain, &options)?;
            let seconds = cpu() - start;
            let (bytes, check) = checked(case, &found)?;
            println!(
                "| {} | {radius} | {epsilon} | {seconds:.2} | {} | {} | {} | {} | {bytes} | {check:.2} |",
                case.name,
                found.cells,
                found.decision.map_or("", Decision::name),
                decimal::lower(&found.lower),
                found.upper.as_ref().map(decimal::upper).unwrap_or_default(),
            );
        }
    }
    println!();
    Ok(())
}

fn bounds(cases: &[Case]) -> Result<(), Failure> {
    println!("## Both bounds\n");
    println!(
        "All outputs, one thread, gap 0.05, at most {MEASURE} CPU seconds; lower is exact, upper certified.\n"
    );
    println!("| case | lower | upper | upper / lower | leaves | search, CPU s | check, CPU s |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for case in cases {
        let limited = Limited::to(MEASURE);
        let options = DifferenceOptions::new().gap(0.05).deadline(limited.deadline());
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
