//! `--time-limit` and `--memory` hold in every command: work of minutes with a small limit ends with code 3
//! and a sentence about what is known.
//!
//! The commands are those of the command line's definition: a new one without an entry in [`WORK`] fails. How
//! long a command may take here is a net against hanging, not a measurement.

mod files;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A command that runs longer hangs.
const HANGS: Duration = Duration::from_secs(90);

/// How work ends that would take minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// A limit ends it.
    AtTheLimit,
    /// It has nothing to do that takes long: it may be done before.
    MaybeBefore,
}

use Ends::{AtTheLimit, MaybeBefore};

/// The commands, each with work of minutes if it has any. Files are those of [`files::write`].
const WORK: &[(&str, &str, Ends)] = &[
    ("tour", "-o tour.html", MaybeBefore),
    ("info", "square.safetensors", AtTheLimit),
    ("convert", "square.safetensors square.onnx", MaybeBefore),
    ("equiv", "deep.json deep-with-more.json --box -1,1 --exact", AtTheLimit),
    ("diff", "deep.json deep-with-more.json --box -1,1 --gap 0", AtTheLimit),
    ("diff", "classes.json classes-doubled.json --box -1,1 --top1", AtTheLimit),
    ("bounds", "deep.json --box -1,1 --gap 0", AtTheLimit),
    ("check", "zoo-proof.json zoo:deep zoo:deep-shuffled", MaybeBefore),
    ("reduce", "linear.npz -o reduced.json", MaybeBefore),
    ("canon", "linear.npz", MaybeBefore),
    ("align", "square.safetensors other.safetensors -o aligned.json", AtTheLimit),
    ("regions", "wide.json", AtTheLimit),
    ("regions", "wide.json --method edges --count-only", AtTheLimit),
    ("regions", "deep.json --box -1,1 --method walk --max-regions 1000000000", AtTheLimit),
    ("folds", "plane.json --max-regions 1000000000", AtTheLimit),
    ("folds", "deep.json --max-regions 1000000000", AtTheLimit),
    ("construct identifiable", "--widths 300,300,300,300,1 -o identifiable.json", AtTheLimit),
    ("construct hiding", "--widths 60,50,50,1 -o hiding.json", MaybeBefore),
    ("construct nonlocal", "--widths 20,20,20,2,1 -o nonlocal.json", MaybeBefore),
    ("fiber", "wide.json --sample 1000000 -o points", AtTheLimit),
    ("fiber", "--path wide.json wide.json --steps 100000 -o path", AtTheLimit),
    ("fiber", "deep.json", MaybeBefore),
    ("symmetries", "narrow.json -o symmetries", AtTheLimit),
    ("volume", "--widths 2000,1500,1500,1000", MaybeBefore),
    ("conserve", "deep.json samples.csv --halvings 12", AtTheLimit),
    ("funcdim", "wide.json", AtTheLimit),
    ("funcdim", "deep.json points.csv --spectrum", AtTheLimit),
    ("funcdim", "deep.json points.csv --ntk kernel.npy", AtTheLimit),
    ("funcdim", "deep.json points.csv --stabiliser", MaybeBefore),
    ("extract", "deep.json -o extracted.json", AtTheLimit),
    ("answer", "deep.json", MaybeBefore),
    ("train", "--task f1 --epochs 100000000 -o trained", AtTheLimit),
    ("train", "--data samples.csv --widths 8,1500,1500,1 -o large", AtTheLimit),
    ("train", "--task f1 --widths 1,5,5,1 --linear --epochs 100000000 -o strata", AtTheLimit),
    ("reproduce", "ntk-univariate -o figures", AtTheLimit),
    ("reproduce", "ntk-functions -o functions", MaybeBefore),
    ("reproduce", "extraction --seeds 1000 -o networks", AtTheLimit),
    (
        "survey",
        "--widths 8,64,64,1 --count 1000000 --measure regions,locally-identifiable -o survey",
        AtTheLimit,
    ),
    ("plan regions", "wide.json --box -1,1 -o plan-regions", MaybeBefore),
    ("plan diff", "deep.json deep-with-more.json --box -1,1 -o plan-diff", MaybeBefore),
    ("plan equiv", "deep.json deep-with-more.json --box -1,1 -o plan-equiv", MaybeBefore),
    ("plan funcdim", "deep.json --data points.csv -o plan-funcdim", MaybeBefore),
    ("plan reproduce", "ntk-univariate -o plan-reproduce", MaybeBefore),
    ("plan survey", "--widths 3,3,2,1 --count 1000000 --measure dead -o plan-survey", MaybeBefore),
    ("plan train", "--task f1 -o plan-train", MaybeBefore),
    ("plan volume", "--widths 2000,1500,1500,1000 -o plan-volume", MaybeBefore),
    ("work", "planned", MaybeBefore),
    ("merge", "planned", AtTheLimit),
    ("linear strata", "--widths 12,12,12,12,12,12 --rank 3 --max-strata 100000000", AtTheLimit),
    ("linear strata", "--widths 40,40,40,40,40 --count-only", MaybeBefore),
    ("linear inspect", "linear.npz", MaybeBefore),
    ("linear inspect", "linear.npz --layers 1-2 --subspaces", MaybeBefore),
    ("linear path", "linear.npz --steps 100000", AtTheLimit),
    ("linear move", "linear.npz --to-minimum", MaybeBefore),
    ("linear sample", "--widths 30,30,30 --rank 10 --count 1000000 -o samples", AtTheLimit),
    ("linear walk", "linear.npz --steps 100000", AtTheLimit),
    ("report", "plane.json -o report.html", MaybeBefore),
    ("explore", "deep.json", MaybeBefore),
    ("zoo list", "", MaybeBefore),
    ("completions", "bash", MaybeBefore),
    ("man", "", MaybeBefore),
];

/// The names of all commands that do something.
fn commands(command: &clap::Command, before: &str) -> Vec<String> {
    let name = |command: &clap::Command| format!("{before} {}", command.get_name()).trim().to_owned();
    let below = |command: &clap::Command| match command.has_subcommands() {
        true => commands(command, &name(command)),
        false => vec![name(command)],
    };
    command.get_subcommands().flat_map(below).collect()
}

#[test]
fn every_command_has_work() {
    let defined: BTreeSet<String> = commands(&fiberscope_cli::definition(), "").into_iter().collect();
    let tested: BTreeSet<String> = WORK.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(defined, tested, "every command needs an entry in WORK");
}

struct Ended {
    code: i32,
    out: String,
    error: String,
}

/// Runs the command until it ends.
fn run(folder: &Path, words: &[&str]) -> Ended {
    let out = tempfile::NamedTempFile::new().unwrap();
    let error = tempfile::NamedTempFile::new().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fiberscope"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(out.reopen().unwrap())
        .stderr(error.reopen().unwrap())
        .spawn()
        .unwrap();
    // Standard input stays open and silent.
    let _input = child.stdin.take();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > HANGS {
            child.kill().unwrap();
            panic!("{words:?}: still running after {HANGS:?}");
        }
        thread::sleep(Duration::from_millis(20));
    };
    let read = |file: &tempfile::NamedTempFile| fs::read_to_string(file.path()).unwrap();
    let code = status.code().unwrap_or_else(|| panic!("{words:?}: {status}"));
    Ended { code, out: read(&out), error: read(&error) }
}

/// No file of the folder is a temporary one.
fn nothing_half_written(folder: &Path, what: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(!name.starts_with(".fiberscope-"), "{what} left {name}");
        if path.is_dir() {
            nothing_half_written(&path, what);
        }
    }
}

/// What is wrong with how the command ended, if anything is.
fn check(folder: &Path, (name, work, ends): (&str, &str, Ends), limits: &[&str]) -> Option<String> {
    let words: Vec<&str> =
        name.split(' ').chain(work.split_whitespace()).chain(limits.iter().copied()).collect();
    let Ended { code, out, error } = run(folder, &words);
    nothing_half_written(folder, name);
    let whole = || serde_json::from_str(&out).is_ok_and(|value: Value| value.is_object());
    let wrong = match () {
        // The page is built by `cargo xtask web`.
        () if error.contains("this build has no explorer page") => return None,
        () if ends == AtTheLimit && code != 3 => "not at the limit",
        () if ![0, 1, 3].contains(&code) => "an error",
        () if error.contains("panicked") => "a panic",
        () if code == 3 && out.trim().is_empty() && error.trim().is_empty() => "nothing is said",
        () if limits.contains(&"--json") && !whole() => "no JSON object",
        () => return None,
    };
    Some(format!("{words:?}: {wrong}, code {code}\n{out}\n{error}"))
}

/// Runs all of the work with the limits.
fn check_all<'a>(work: impl IntoIterator<Item = &'a (&'a str, &'a str, Ends)>, limits: &[&str]) {
    let folder = files::write();
    let wrong: Vec<String> =
        work.into_iter().filter_map(|&each| check(folder.path(), each, limits)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_time_limit_holds_in_every_command() {
    check_all(WORK, &["--time-limit", "0.3"]);
}

/// In JSON the answer is one whole object, whether the command or the watch ends the work.
#[test]
fn a_limit_leaves_whole_objects() {
    let chosen =
        ["info", "regions", "folds", "funcdim", "construct identifiable", "linear strata", "linear walk"];
    check_all(WORK.iter().filter(|(name, ..)| chosen.contains(name)), &["--time-limit", "0.3", "--json"]);
}

/// What takes gigabytes is stopped, or does with less. The time is a net: the memory is reached before.
#[test]
fn the_memory_limit_holds() {
    let large = [
        ("funcdim", "deep.json points.csv --spectrum", AtTheLimit),
        ("regions", "wide.json --method edges --count-only", AtTheLimit),
        ("folds", "deep.json --max-regions 1000000000", AtTheLimit),
        ("linear strata", "--widths 12,12,12,12,12,12 --rank 3 --max-strata 100000000", AtTheLimit),
    ];
    check_all(&large, &["--memory", "150", "--time-limit", "60"]);
}

#[test]
fn the_limit_is_named() {
    let folder = files::write();
    let strata = ["linear", "strata", "--widths", "12,12,12,12,12,12", "--max-strata", "100000000", "--json"];
    let ended = run(folder.path(), &[&strata[..], &["--memory", "60"]].concat());
    assert!(ended.code == 3 && ended.out.contains("memory"), "{} {}", ended.out, ended.error);
    let ended = run(folder.path(), &[&strata[..], &["--time-limit", "0.2"]].concat());
    assert!(ended.code == 3 && ended.out.contains("time"), "{} {}", ended.out, ended.error);
    for (flag, value) in [("--memory", "0"), ("--memory", "-1"), ("--memory", "much"), ("--time-limit", "0")]
    {
        let flag = format!("{flag}={value}");
        assert_eq!(run(folder.path(), &["zoo", "list", &flag]).code, 2, "{flag}");
    }
}

/// Ctrl-C ends the work with what is known, how many regions there are so far, and no half-written file stays.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_work() {
    let folder = files::write();
    let interrupted = |words: &[&str]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fiberscope"))
            .args(["regions", "wide.json", "--method", "edges"])
            .args(words)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_secs(1));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let begin = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < HANGS, "the interrupt is not heeded");
            thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = interrupted(&[]);
    assert!(text.contains("regions so far") || text.contains("region so far"), "{text}");
    let value: Value = serde_json::from_str(&interrupted(&["--count-only", "--json"])).unwrap();
    let is_told = value["partial_regions"].is_u64() || value["known"].to_string().contains("regions so far");
    assert!(is_told && value["regions"].is_null(), "{value}");
    nothing_half_written(folder.path(), "regions");
}
