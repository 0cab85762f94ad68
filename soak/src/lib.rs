//! The soak: for as long as one likes, generated pairs of networks go through `equiv` and every verdict is
//! held against the truth; every certificate goes through both checkers, as it is and changed; and all
//! readers are given broken files.
//!
//! Case `k` of a seed is always the same pair with the same questions, and so is round `k` of the readers:
//! `--case K` and `--round K` show a finding again. What may be said of a pair:
//!
//! - "equivalent": the networks are equal on the domain, by construction or by exact decomposition into cells
//!   ([`cells`]);
//! - "different": at the witness they differ, by an evaluation that shares no code with the library's
//!   ([`draft`]);
//! - "up to rounding" on a box: the bound is one, and small beside the outputs; on `R^n`: the parameters
//!   agree one by one;
//! - with a tolerance: yes only if the difference is at most that everywhere, no only with a point beyond it;
//! - "undecided": always, and counted.
#![allow(clippy::print_stderr, reason = "a task talks to the person who runs it")]

pub mod cells;
mod command;
pub mod draft;
pub mod generate;
pub mod judge;
pub mod memory;
pub mod mutate;
pub mod pairs;
pub mod parsers;
mod report;
pub mod second;
pub mod tally;
pub mod truth;

use std::panic;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pairs::Pairs;
use parsers::{Parsers, ROUND};
use second::Second;
use tally::Tally;

/// The name of the threads that work; their panics are findings and not printed.
const WORKER: &str = "soak";
/// Cases that a worker takes at a time.
const CHUNK: u64 = 50;
/// Time between two lines of progress, and between two copies of the report.
const PROGRESS: Duration = Duration::from_secs(5);
const SAVE: Duration = Duration::from_secs(60);

/// What to soak, and for how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// The root of the repository.
    pub root: PathBuf,
    /// When to stop, if ever.
    pub minutes: Option<f64>,
    /// The seed of all cases and rounds.
    pub seed: u64,
    /// Whether pairs are soaked.
    pub pairs: bool,
    /// Whether readers are soaked.
    pub parsers: bool,
    /// Stop after so many cases and rounds.
    pub cases: Option<u64>,
    /// Stop after so many rounds of the readers.
    pub rounds: Option<u64>,
    /// Only this case, shown in full.
    pub case: Option<u64>,
    /// Only this round.
    pub round: Option<u64>,
    /// Executions in a round.
    pub executions: u64,
    /// How many threads work.
    pub threads: usize,
    /// The commit that is soaked, if it is one without changes: its counts add up over runs.
    pub commit: Option<String>,
    /// The machine, in words.
    pub machine: String,
    /// The page to write.
    pub report: Option<PathBuf>,
    /// The command, if it was built.
    pub command: Option<PathBuf>,
}

impl Options {
    /// Everything, without end, from the first case of seed 1.
    pub fn new(root: PathBuf) -> Self {
        Options {
            root,
            minutes: None,
            seed: 1,
            pairs: true,
            parsers: true,
            cases: None,
            rounds: None,
            case: None,
            round: None,
            executions: ROUND,
            threads: 1,
            commit: None,
            machine: String::new(),
            report: None,
            command: None,
        }
    }

    fn folder(&self) -> PathBuf {
        // A relative name counts from the root, as it does for cargo.
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        self.root.join(target).join("soak")
    }
}

/// Soaks until the time is up or `stop` is set, and returns what was counted.
pub fn run(options: &Options, stop: &AtomicBool) -> Result<Tally, String> {
    quiet_workers();
    let folder = options.folder();
    let findings = folder.join("findings");
    let trace = options.round.map(|_| folder.join("input"));
    let pairs = Pairs {
        seed: options.seed,
        findings: findings.clone(),
        command: options.command.clone(),
        verbose: options.case.is_some(),
    };
    std::fs::create_dir_all(&findings).map_err(|error| format!("{}: {error}", findings.display()))?;
    let mut tally = Tally::default();
    if let Some(case) = options.case {
        let mut second = Second::start(&script(options)).ok();
        alone(|| pairs.run(case, &mut second, &mut tally))?;
        return Ok(tally);
    }
    let parsers = Parsers::new(&options.root, options.seed, findings, trace)?;
    if let Some(round) = options.round {
        alone(|| parsers.run(round, options.executions, &mut tally))?;
        return Ok(tally);
    }
    let tally = report::earlier(options, &folder);
    let shared = Shared {
        options,
        stop,
        end: options.minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(60.0 * minutes)),
        next_case: AtomicU64::new(tally.next_case),
        last_case: options.cases.map(|cases| tally.next_case + cases),
        next_round: AtomicU64::new(tally.next_round),
        last_round: options.rounds.map(|rounds| tally.next_round + rounds),
        earlier: tally.seconds,
        begun: Instant::now(),
        tally: Mutex::new(tally),
    };
    shared.work(&pairs, &parsers)?;
    let mut tally = shared.tally.into_inner().map_err(|_| "a worker failed")?;
    tally.next_case = shared.next_case.into_inner();
    tally.next_round = shared.next_round.into_inner();
    tally.runs += 1;
    tally.seconds = shared.earlier + shared.begun.elapsed().as_secs_f64();
    report::store(options, &folder, &tally)?;
    Ok(tally)
}

/// Says something to the person who runs the soak.
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

fn script(options: &Options) -> PathBuf {
    options.root.join("docs/formats/check.py")
}

/// Panics of workers are caught and noted; others are printed as ever.
fn quiet_workers() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().name() != Some(WORKER) {
            before(info);
        }
    }));
}

/// Runs work in a thread that is named as one of the workers, with a pool of its own.
fn alone(work: impl FnOnce() + Send) -> Result<(), String> {
    thread::scope(|scope| {
        let worker = thread::Builder::new().name(WORKER.into()).spawn_scoped(scope, || in_pool(work));
        worker.map_err(|error| error.to_string())?.join().map_err(|panic| pairs::message(&*panic))?
    })
}

/// What the library does in parallel is done by this thread's pool of one, so that workers do not wait for
/// each other.
fn in_pool(work: impl FnOnce() + Send) -> Result<(), String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).thread_name(|_| WORKER.into()).build();
    pool.map_err(|error| error.to_string())?.install(work);
    Ok(())
}

struct Shared<'a> {
    options: &'a Options,
    stop: &'a AtomicBool,
    end: Option<Instant>,
    next_case: AtomicU64,
    last_case: Option<u64>,
    next_round: AtomicU64,
    last_round: Option<u64>,
    earlier: f64,
    begun: Instant,
    tally: Mutex<Tally>,
}

impl Shared<'_> {
    fn work(&self, pairs: &Pairs, parsers: &Parsers) -> Result<(), String> {
        let left = AtomicU64::new(self.options.threads as u64);
        thread::scope(|scope| {
            let mut workers = Vec::new();
            for _ in 0..self.options.threads {
                let worker = || {
                    let done = in_pool(|| self.worker(pairs, parsers));
                    left.fetch_sub(1, Ordering::SeqCst);
                    done
                };
                let named = thread::Builder::new().name(WORKER.into());
                workers.push(named.spawn_scoped(scope, worker).map_err(|error| error.to_string())?);
            }
            self.watch(&left);
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(done) => done,
                Err(panic) => Err(format!("a worker failed: {}", pairs::message(&*panic))),
            })
        })
    }

    /// Lines of progress, and the report now and then.
    fn watch(&self, left: &AtomicU64) {
        let (mut said, mut saved) = (Instant::now(), Instant::now());
        while left.load(Ordering::SeqCst) > 0 {
            thread::sleep(Duration::from_millis(50));
            if said.elapsed() > PROGRESS
                && let Ok(tally) = self.tally.lock()
            {
                said = Instant::now();
                say(&format!(
                    "{:.0} s: {} pairs, {} certificates, {} by the second checker, {} changed ones, {} readings, {} findings",
                    self.begun.elapsed().as_secs_f64(),
                    tally.pairs(),
                    tally.certificates,
                    tally.second,
                    tally.mutants,
                    tally.executions(),
                    tally.findings.len()
                ));
            }
            if saved.elapsed() > SAVE
                && let Ok(tally) = self.tally.lock()
            {
                saved = Instant::now();
                let mut copy = tally.clone();
                drop(tally);
                copy.seconds = self.earlier + self.begun.elapsed().as_secs_f64();
                copy.runs += 1;
                copy.next_case = self.next_case.load(Ordering::SeqCst);
                copy.next_round = self.next_round.load(Ordering::SeqCst);
                // The last copy reports what goes wrong with writing.
                let _ = report::store(self.options, &self.options.folder(), &copy);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Pairs and rounds in turn, so that both get the same time.
    fn worker(&self, pairs: &Pairs, parsers: &Parsers) {
        let mut second = self.options.pairs.then(|| Second::start(&script(self.options)).ok()).flatten();
        let (mut on_pairs, mut on_parsers) = (Duration::ZERO, Duration::ZERO);
        let mut open = (self.options.pairs, self.options.parsers);
        while !self.is_over() && (open.0 || open.1) {
            let mut tally = Tally::default();
            let start = Instant::now();
            if open.0 && (!open.1 || on_pairs <= on_parsers) {
                open.0 = self.take(&self.next_case, CHUNK, self.last_case, |case| {
                    pairs.run(case, &mut second, &mut tally);
                });
                on_pairs += start.elapsed();
            } else {
                open.1 = self.take(&self.next_round, 1, self.last_round, |round| {
                    parsers.run(round, self.options.executions, &mut tally);
                });
                on_parsers += start.elapsed();
            }
            if let Ok(mut total) = self.tally.lock() {
                total.add(tally);
            }
        }
    }

    /// Takes the next numbers; false when there are none left.
    fn take(&self, next: &AtomicU64, chunk: u64, last: Option<u64>, mut work: impl FnMut(u64)) -> bool {
        let start = next.fetch_add(chunk, Ordering::SeqCst);
        let end = last.unwrap_or(u64::MAX);
        (start..(start + chunk).min(end)).for_each(&mut work);
        start + chunk < end
    }
}
