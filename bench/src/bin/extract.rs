//! Extraction: queries, error and time on named networks beside what others needed, and success rates on
//! random ones.
//!
//! `extract table` runs the first part, `extract rates` the second, `extract wide` success rates of layers
//! wider than their input and of few inputs, `extract 10-8-1` what there is of one architecture; a number after
//! it is that of random networks, instead of 50, and one more that of seconds for each of them. `extract files FOLDER` runs
//! the networks of a folder, named by architecture and seed as `64-32-10_s0.npz`, for inputs between 0 and 1: those that
//! `bench/peers/extract_trained.py` writes. A network is extracted on one thread; several run at once. A result that is
//! called verified is compared with the truth in four ways: its parameters after alignment, the exact comparison on the whole
//! domain, outputs where neurons of the truth are extreme, and outputs at many random inputs. The verdict
//! claims a share of the domain; a result for which that claim is wrong is the worst outcome.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fiberscope::core::{Domain, Matrix, Network, decimal};
use fiberscope::equivalence::{self, EquivalenceOptions, decide};
use fiberscope::extract::{self, ExtractOptions, ExtractOutcome, Extraction, NetworkOracle, extract};
use fiberscope::limit::Deadline;
use fiberscope_bench::adversary::largest_difference;
use fiberscope_bench::random::{median, name, random};
use fiberscope_io::{ReadOptions, load};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The bound of the difference of outputs below which two functions count as equal up to rounding.
const TOLERANCE: f64 = 1e-6;
/// The longest time of an exact comparison.
const COMPARISON: Duration = Duration::from_secs(30);
/// Random inputs at which outputs are compared.
const POINTS: usize = 100_000;
/// Random networks of each architecture.
const NETWORKS: u64 = 50;

/// A line of the table: what was asked of us (logarithms of queries and error, seconds), and what others
/// needed.
struct Case {
    widths: &'static [usize],
    asked: Option<(f64, f64, f64)>,
    others: &'static str,
    prototype: &'static str,
}

const CASES: [Case; 9] = [
    Case {
        widths: &[20, 10, 1],
        asked: Some((11.3, -48.0, 1.0)),
        others: "2^13.85, 2^-35.7, 47 s",
        prototype: "2^11.30, 2^-50.7, 1 s",
    },
    Case {
        widths: &[40, 20, 1],
        asked: None,
        others: "2^15.22, 2^-37.3, 53 s",
        prototype: "2^12.98, 2^-48.7, 25 s",
    },
    Case {
        widths: &[10, 10, 10, 1],
        asked: Some((12.6, -48.0, 1.0)),
        others: "2^15.57, 2^-39.4, 50 s",
        prototype: "2^12.60, 2^-50.0, 3 s",
    },
    Case {
        widths: &[20, 10, 10, 1],
        asked: Some((13.0, -47.0, 2.0)),
        others: "2^16.08, 2^-38.2, 118 s",
        prototype: "2^12.93, 2^-48.8, 6 s",
    },
    Case {
        widths: &[10, 15, 15, 1],
        asked: Some((14.7, -47.0, 5.0)),
        others: "2^16.37, 2^-38.5, 104 s",
        prototype: "2^14.69, 2^-49.8, 23 s",
    },
    Case {
        widths: &[40, 20, 10, 10, 1],
        asked: Some((15.9, -47.0, 20.0)),
        others: "none within 590 s",
        prototype: "2^15.86, 2^-49.7, 87 s",
    },
    Case {
        widths: &[80, 40, 20, 1],
        asked: Some((15.7, -45.0, 30.0)),
        others: "none within 590 s",
        prototype: "2^15.67, 2^-39.7, 16 s (widths given)",
    },
    Case {
        widths: &[784, 32, 1],
        asked: Some((17.4, -37.0, 60.0)),
        others: "",
        prototype: "2^17.43, 2^-37.2 (widths given)",
    },
    Case {
        widths: &[784, 128, 1],
        asked: Some((19.5, -35.0, 600.0)),
        others: "",
        prototype: "2^17.52, 2^-24",
    },
];

/// The architectures of the success rates, and the rate that was asked.
const RATES: [(&[usize], u32); 6] = [
    (&[10, 8, 1], 100),
    (&[20, 16, 3], 100),
    (&[10, 8, 6, 1], 98),
    (&[10, 10, 10, 1], 98),
    (&[16, 12, 8, 4, 1], 90),
    (&[40, 20, 10, 10, 1], 90),
];

/// Layers wider than their input, and few inputs.
const WIDE: [(&[usize], u32); 8] = [
    (&[5, 20, 1], 95),
    (&[5, 40, 1], 95),
    (&[2, 8, 8, 1], 95),
    (&[2, 16, 16, 1], 95),
    (&[2, 10, 10, 10, 1], 95),
    (&[3, 16, 16, 1], 95),
    (&[10, 20, 20, 1], 95),
    (&[8, 8, 8, 8, 1], 95),
];

/// The longest time for one network, in seconds; those that take longer are not verified.
const LONGEST: u64 = 60;

/// The inputs of trained networks.
const TRAINED: (f64, f64) = (0.0, 1.0);

fn main() -> Result<(), Box<dyn Error>> {
    let part = std::env::args().nth(1);
    let longest = std::env::args().nth(3).map_or(Ok(LONGEST), |seconds| seconds.parse::<u64>())?.max(1);
    let limits = Limits { domain: ExtractOptions::default().domain, longest: Duration::from_secs(longest) };
    if part.as_deref() == Some("files") {
        let folder = std::env::args().nth(2).ok_or("expected a folder after `files`")?;
        success("Networks of a folder", "", &folder_groups(&folder)?, &Limits { domain: TRAINED, ..limits });
        return Ok(());
    }
    let networks = std::env::args().nth(2).map_or(Ok(NETWORKS), |count| count.parse::<u64>())?.max(1);
    let wanted = |part: Option<&str>, kind: &str, widths: &[usize]| {
        part.is_none_or(|part| part == kind || part == name(widths))
    };
    let cases: Vec<&Case> =
        CASES.iter().filter(|case| wanted(part.as_deref(), "table", case.widths)).collect();
    let chosen = |all: &'static [(&'static [usize], u32)], kind: &str| -> Vec<_> {
        all.iter().filter(|(widths, _)| wanted(part.as_deref(), kind, widths)).collect()
    };
    let (rates, wide) = (chosen(&RATES, "rates"), chosen(&WIDE, "wide"));
    if cases.is_empty() && rates.is_empty() && wide.is_empty() {
        return Err("expected table, rates, wide, or an architecture such as 10-8-1".into());
    }
    if !cases.is_empty() {
        table(&cases, &limits)?;
    }
    let made = format!(
        "{networks} random networks each, seeds 0 to {}: weights from N(0, 2 / inputs of the layer), biases from N(0, 1/4). ",
        networks.saturating_sub(1)
    );
    for (title, chosen) in [("Success rates", rates), ("Wide layers and few inputs", wide)] {
        let group = |(widths, asked): &&(&[usize], u32)| Group {
            name: name(widths),
            asked: format!("{asked} %"),
            networks: (0..networks).map(|seed| random(widths, seed)).collect(),
        };
        let groups: Vec<Group> = chosen.iter().map(group).collect();
        if !groups.is_empty() {
            success(title, &made, &groups, &limits);
        }
    }
    Ok(())
}

/// The inputs for which functions are wanted, and the longest time for one network.
#[derive(Clone, Copy)]
struct Limits {
    domain: (f64, f64),
    longest: Duration,
}

/// Networks of one architecture.
struct Group {
    name: String,
    asked: String,
    networks: Vec<Network>,
}

/// The networks of a folder by architecture, in the order of their names.
fn folder_groups(folder: &str) -> Result<Vec<Group>, Box<dyn Error>> {
    let mut files: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "npz"));
    files.sort();
    let mut groups: Vec<Group> = Vec::new();
    for path in files {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = stem.split('_').next().unwrap_or_default().to_string();
        let network = load(&path.to_string_lossy(), &ReadOptions::default())?.network;
        match groups.last_mut().filter(|group| group.name == name) {
            Some(group) => group.networks.push(network),
            None => groups.push(Group { name, asked: "-".into(), networks: vec![network] }),
        }
    }
    if groups.is_empty() {
        return Err(format!("no .npz file in {folder}").into());
    }
    Ok(groups)
}

/// What came of one network.
struct Trial {
    found: Result<Extraction, String>,
    seconds: f64,
    error: Option<extract::Comparison>,
    compared: Option<Compared>,
    /// The share of random inputs at which the outputs differ by more than [`TOLERANCE`].
    share: f64,
}

/// What comparing outputs on the whole domain said.
#[derive(Clone, Copy)]
enum Compared {
    /// They differ by at most this, which is proved.
    Proved(f64),
    /// They differ by this at some input.
    Differ(f64),
    /// No input was found at which they differ by more than [`TOLERANCE`].
    Agree,
}

impl Trial {
    fn verified(&self) -> bool {
        self.found.as_ref().is_ok_and(|found| found.outcome == ExtractOutcome::Verified)
    }

    /// Whether the outputs are the same on all of the domain, as far as is known.
    fn equal(&self) -> bool {
        matches!(self.compared, Some(Compared::Proved(_) | Compared::Agree))
    }

    /// Whether the outputs differ on more of the domain than the verdict says.
    fn refuted(&self) -> bool {
        let delta =
            self.found.as_ref().ok().and_then(|found| found.fidelity.as_ref()).map_or(0.0, |f| f.delta);
        self.verified() && self.share > delta
    }

    /// Whether the result says that not all parameters are determined.
    fn said_open(&self) -> bool {
        self.found.as_ref().is_ok_and(|found| !found.undetermined.is_empty())
    }

    fn same_parameters(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.max_error < TOLERANCE)
    }

    fn queries(&self) -> u64 {
        self.found.as_ref().map_or(0, |found| found.queries)
    }

    fn reason(&self) -> String {
        match self.found.as_ref().map(|found| &found.outcome) {
            Err(error) => error.clone(),
            Ok(ExtractOutcome::Verified) if self.equal() => "verified".into(),
            Ok(ExtractOutcome::Verified) => {
                let widths =
                    self.found.as_ref().ok().and_then(|found| found.network.as_ref()).map(Network::widths);
                let difference = match self.compared {
                    Some(Compared::Differ(difference)) => difference,
                    _ => 0.0,
                };
                format!(
                    "verified{}: widths {}, outputs differ by {difference:.1e} at an input, and at {} of {POINTS} random inputs",
                    if self.refuted() { ", but **wrong**" } else { "" },
                    name(&widths.unwrap_or_default()),
                    (self.share * POINTS as f64).round()
                )
            }
            Ok(ExtractOutcome::Partial { reason, .. }) => format!("partial: {reason}"),
            Ok(ExtractOutcome::Failed { reason }) => format!("failed: {reason}"),
        }
    }
}

/// Extracts a network on one thread and compares the result with it.
fn attempt(network: &Network, limits: &Limits) -> Trial {
    let (lower, upper) = limits.domain;
    let options =
        ExtractOptions::default().domain(lower, upper).deadline(Deadline::after(Some(limits.longest)));
    let mut oracle = NetworkOracle::new(network.clone());
    let start = cpu_time();
    let found = extract(&mut oracle, &options).map_err(|error| error.to_string());
    let seconds = cpu_time() - start;
    let recovered = found.as_ref().ok().and_then(|found| found.network.as_ref());
    let error = recovered.and_then(|recovered| extract::compare(network, recovered));
    let compared = recovered.map(|recovered| compare(network, recovered, options.domain));
    let share = recovered.map_or(0.0, |recovered| disagreement(network, recovered, options.domain));
    Trial { seconds, error, compared, share, found }
}

/// The share of random inputs at which the outputs differ.
fn disagreement(truth: &Network, found: &Network, (lo, hi): (f64, f64)) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let points = Matrix::from_fn(POINTS, truth.input_width(), |_, _| rng.random_range(lo..hi));
    let (Ok(a), Ok(b)) = (truth.evaluate_batch(&points), found.evaluate_batch(&points)) else { return 1.0 };
    let differ = |(a, b): &(&[f64], &[f64])| a.iter().zip(*b).any(|(a, b)| (a - b).abs() > TOLERANCE);
    a.iter_rows().zip(b.iter_rows()).filter(differ).count() as f64 / POINTS as f64
}

fn compare(truth: &Network, found: &Network, domain: (f64, f64)) -> Compared {
    let bounds = Domain::from_bounds(&vec![domain; truth.input_width()]).expect("a bounded interval");
    let options = EquivalenceOptions::new().tolerance(TOLERANCE).deadline(Deadline::after(Some(COMPARISON)));
    let mut difference = 0.0;
    match decide(truth, found, &bounds, &options).map(|decision| decision.verdict) {
        Ok(equivalence::Verdict::Equivalent { .. }) => return Compared::Proved(0.0),
        Ok(equivalence::Verdict::EquivalentUpToRounding { agreement, .. }) if agreement.bound().is_some() => {
            return Compared::Proved(agreement.bound().map_or(0.0, decimal::upper_f64));
        }
        Ok(equivalence::Verdict::Different { a, b, .. }) => {
            difference = a.iter().zip(&b).map(|(a, b)| (a - b).to_f64().abs()).fold(0.0, f64::max);
        }
        Ok(_) | Err(_) => {}
    }
    difference = largest_difference(truth, found, domain).max(difference);
    if difference > TOLERANCE { Compared::Differ(difference) } else { Compared::Agree }
}

fn table(cases: &[&Case], limits: &Limits) -> Result<(), Box<dyn Error>> {
    let networks: Vec<Network> = cases.iter().map(|case| named(case.widths)).collect::<Result<_, _>>()?;
    let trials = on_all_cores(&networks, limits);
    println!("## Named networks\n");
    println!(
        "The architecture is not given. Double precision, inputs from -3 to 3. The error is that of the worst parameter after permutation and scaling; \
         the time is that of one thread. CRYPTO 2020 is the program of that paper on the same files, the prototype is in numpy.\n"
    );
    println!(
        "| network | verdict | queries | error | seconds | outputs differ by at most | asked | met | CRYPTO 2020 | prototype |"
    );
    println!("|---|---|---:|---:|---:|---:|---|---|---|---|");
    for (case, trial) in cases.iter().zip(&trials) {
        let queries = (trial.queries() as f64).log2();
        let error = trial.error.as_ref().map(|error| error.max_error.log2());
        let exact = match trial.compared {
            Some(Compared::Proved(bound)) => format!("{bound:.1e}"),
            Some(Compared::Differ(difference)) => format!("differ by {difference:.1e}"),
            Some(Compared::Agree) => "not proved".into(),
            None => "-".into(),
        };
        let asked = case.asked.map_or("-".into(), |(q, e, s)| format!("2^{q}, 2^{e}, {s} s"));
        let met = match (case.asked, error) {
            (Some((q, e, s)), Some(error)) if trial.verified() => {
                // What was asked has one decimal.
                let late = [
                    (queries < q + 0.05, "queries"),
                    (error < e + 0.05, "error"),
                    (trial.seconds <= s, "time"),
                ];
                let missed: Vec<_> = late.iter().filter(|(met, _)| !met).map(|(_, name)| *name).collect();
                if missed.is_empty() { "yes".into() } else { format!("not: {}", missed.join(", ")) }
            }
            (Some(_), _) => "no".into(),
            (None, _) => "-".into(),
        };
        println!(
            "| {} | {} | 2^{queries:.2} ({}) | {} | {:.2} | {exact} | {asked} | {met} | {} | {} |",
            name(case.widths),
            trial.reason(),
            trial.queries(),
            error.map_or("-".into(), |error| format!("2^{error:.1}")),
            trial.seconds,
            case.others,
            case.prototype,
        );
    }
    println!();
    Ok(())
}

fn success(title: &str, made: &str, groups: &[Group], limits: &Limits) {
    println!("## {title}\n");
    println!(
        "{made}The architecture is not given, inputs are from {} to {}, and no network may take more than {} s. \
         *Verified* counts results with that verdict. Of them, *said open* are those that say that the answers do not determine all parameters, *other* those that do not say so and have other parameters than the truth (an error above {TOLERANCE:e}, or other widths), *proved* are those for which the exact comparison proves that outputs differ by at most {TOLERANCE:e} on the whole domain, \
         *agree* those that cannot be aligned (a neuron that never switches on the domain, or a weight that is never felt there) and for which no input with a larger difference was found, neither by the exact comparison nor \
         where neurons of the truth are extreme, *tiny set* those for which one was found, though outputs differ at no more of {POINTS} random inputs than the verdict says, and \
         *wrong* those that differ at more. Counted strictly, a tiny set is wrong too.\n",
        limits.domain.0,
        limits.domain.1,
        limits.longest.as_secs()
    );
    println!(
        "| architecture | verified | asked | said open | other | proved | agree | tiny set | wrong | partial | failed | queries (median) | largest error | seconds (median) |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let mut failures = Vec::new();
    for Group { name, asked, networks } in groups {
        let trials = on_all_cores(networks, limits);
        let count = |wanted: &dyn Fn(&Trial) -> bool| trials.iter().filter(|trial| wanted(trial)).count();
        let partial = |trial: &Trial| {
            matches!(&trial.found, Ok(Extraction { outcome: ExtractOutcome::Partial { .. }, .. }))
        };
        let equal = |trial: &Trial| trial.verified() && trial.equal();
        let verified = count(&Trial::verified);
        let proved = |trial: &&Trial| trial.verified() && matches!(trial.compared, Some(Compared::Proved(_)));
        let errors = trials.iter().filter(proved).filter_map(|trial| trial.error.as_ref());
        let worst = errors.map(|error| error.max_error).fold(0.0, f64::max);
        println!(
            "| {name} | {verified} ({} %) | {asked} | {} | {} | {} | {} | {} | {} | {} | {} | {} | 2^{:.1} | {:.2} |",
            100 * verified / trials.len().max(1),
            count(&|trial| trial.verified() && trial.said_open()),
            count(&|trial| trial.verified() && !trial.said_open() && !trial.same_parameters()),
            count(&|trial| trial.verified() && matches!(trial.compared, Some(Compared::Proved(_)))),
            count(&|trial| trial.verified() && matches!(trial.compared, Some(Compared::Agree))),
            count(&|trial| trial.verified() && !trial.equal() && !trial.refuted()),
            count(&Trial::refuted),
            count(&partial),
            count(&|trial| !trial.verified() && !partial(trial)),
            median(trials.iter().map(|trial| trial.queries() as f64).collect()),
            worst.log2(),
            median(trials.iter().map(|trial| trial.seconds).collect()),
        );
        let failed = trials.iter().enumerate().filter(|(_, trial)| !equal(trial));
        failures.extend(
            failed.map(|(seed, trial)| {
                format!("| {name} | {seed} | {} | {} |", trial.queries(), trial.reason())
            }),
        );
    }
    println!("\n### All that were not recovered on the whole domain\n");
    if failures.is_empty() {
        println!("None.");
        return;
    }
    println!("| architecture | seed | queries | reason |\n|---|---:|---:|---|");
    failures.iter().for_each(|line| println!("{line}"));
}

/// Extracts all networks, one per core at a time; the results are in the order of the networks.
fn on_all_cores(networks: &[Network], limits: &Limits) -> Vec<Trial> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Trial)>> = Mutex::new(Vec::new());
    let workers = thread::available_parallelism().map_or(1, usize::from).min(networks.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(network) = networks.get(at) else { return };
                    let trial = pool.install(|| attempt(network, limits));
                    results.lock().expect("no worker panics with the lock").push((at, trial));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("all workers have ended");
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, trial)| trial).collect()
}

/// The network of a file, or a random one where there is no file.
fn named(widths: &[usize]) -> Result<Network, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/extract/{}_s42.npz", name(widths)));
    if !path.exists() {
        return Ok(random(widths, 0));
    }
    Ok(load(&path.to_string_lossy(), &ReadOptions::default())?.network)
}

/// The seconds that this thread has computed; elsewhere than on Linux those that have passed.
fn cpu_time() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let passed = START.get_or_init(Instant::now).elapsed().as_secs_f64();
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent = text.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok());
    spent.map_or(passed, |nanoseconds| nanoseconds * 1e-9)
}
