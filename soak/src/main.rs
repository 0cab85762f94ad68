//! `cargo xtask soak` builds and starts this.
#![allow(clippy::print_stderr, reason = "a task talks to the person who runs it")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use fiberscope_soak::memory::Counting;
use fiberscope_soak::{Options, run};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static STOP: AtomicBool = AtomicBool::new(false);

const USAGE: &str = "usage: soak [--minutes N] [--seed S] [--pairs-only | --parsers-only] [--threads N]
            [--cases N] [--rounds N] [--case K] [--round K] [--commit NAME] [--machine WORDS] [--report FILE]";

fn main() -> ExitCode {
    stop_on_interrupt();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = options(&words).and_then(|options| run(&options, &STOP));
    match done {
        Ok(tally) if tally.findings.is_empty() => ExitCode::SUCCESS,
        Ok(tally) => {
            for finding in tally.findings.iter().rev().take(20) {
                eprintln!("{}: {} (soak {})", finding.kind, finding.what, finding.again);
            }
            eprintln!("{} findings", tally.findings.len());
            ExitCode::from(1)
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn options(words: &[String]) -> Result<Options, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned();
    let mut options = Options::new(root);
    options.threads = std::thread::available_parallelism().map_or(1, usize::from);
    let beside = std::env::current_exe().ok().map(|path| path.with_file_name("fiberscope"));
    options.command = beside.filter(|path| path.is_file());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        match word.as_str() {
            "--minutes" => {
                options.minutes = Some(number(word, value()?)?).filter(|minutes: &f64| *minutes >= 0.0)
            }
            "--seed" => options.seed = number(word, value()?)?,
            "--threads" => options.threads = number::<usize>(word, value()?)?.max(1),
            "--cases" => options.cases = Some(number(word, value()?)?),
            "--rounds" => options.rounds = Some(number(word, value()?)?),
            "--case" => options.case = Some(number(word, value()?)?),
            "--round" => options.round = Some(number(word, value()?)?),
            "--commit" => options.commit = Some(value()?.clone()),
            "--machine" => options.machine = value()?.clone(),
            "--report" => options.report = Some(PathBuf::from(value()?)),
            "--pairs-only" => options.parsers = false,
            "--parsers-only" => options.pairs = false,
            _ => return Err(format!("unknown argument {word:?}\n{USAGE}")),
        }
    }
    if !options.pairs && !options.parsers {
        return Err(format!("--pairs-only and --parsers-only leave nothing to do\n{USAGE}"));
    }
    Ok(options)
}

fn number<T: std::str::FromStr>(word: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{word}: expected a number, found {text:?}\n{USAGE}"))
}

/// Ctrl-C ends the soak with its report written; a second one ends it at once.
#[allow(
    unsafe_code,
    reason = "the handler stores a flag and restores the default, both of which a signal handler may do"
)]
fn stop_on_interrupt() {
    extern "C" fn stop(_: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
        // SAFETY: `signal` may be called in a handler.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
    }
    // SAFETY: the handler only stores a flag.
    unsafe { libc::signal(libc::SIGINT, stop as *const () as libc::sighandler_t) };
}
