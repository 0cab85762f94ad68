//! The tasks of the project:
//! `cargo xtask test | ci | web | bench NAME.. | bless | fuzz NAME | soak | package | program TARGET | site | version VERSION`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to the person who runs it")]

mod bench;
mod browser;
mod compiler;
mod python;
mod release;
mod shell;
mod site;
mod soak;
mod web;
mod workflows;

use std::process::ExitCode;

use compiler::linting;
use shell::{Failure, beside, cargo, root};

const USAGE: &str = "usage: cargo xtask TASK

  test            everything that must pass: format, lints, Rust tests, docs, Python tests, browser tests
  ci              the same, as run for every submission
  test cluster    long work on a Ray cluster of three nodes and a Dask cluster of three processes, a worker killed
  web             build the explorer page and the checker as WebAssembly, for the crate that embeds them
  bench NAME..    run benchmarks against their peers and store the tables in bench/results/; `build` times the compiler
  bench NAME ARG  print a part of a benchmark, such as extract table
  bless           rewrite the golden transcripts and the digests in zoo/certificates/
  fuzz NAME [-- ARGS]
                  fuzz a parser (needs a nightly toolchain); NAME is one of fuzz/fuzz_targets/
  soak [--minutes N] [--seed S] [--pairs-only | --parsers-only]
                  generated pairs through equiv and both checkers, broken files through all readers, until the
                  time is up or Ctrl-C; counts and findings go to bench/results/soak.md (--report FILE: there).
                  Ends with 1 if there are findings; --case K and --round K (with --seed) show one again
  package [crates] [wheel] [sdist]
                  make the packages of a release (all of them, or those named), and try each out: crates are compiled
                  from their packages, wheels installed in a clean environment
  program TARGET  the command as an archive to download, such as for x86_64-unknown-linux-musl (static)
  site            the documentation as a site with search, in target/site/
  version VERSION [--notes]
                  check that workspace and changelog have this version; print its changes
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if compiler::is_called(&arguments) {
        return compiler::run(&arguments);
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test" | "ci"] => test(),
        ["test", "cluster"] => python::test_cluster(),
        ["web"] => web::build(web::Effort::Full),
        ["package", kinds @ ..] => release::package(kinds),
        ["program", target] => release::program(target),
        ["site"] => site::build(),
        ["version", version] => release::version(version, false),
        ["version", version, "--notes"] => release::version(version, true),
        ["bench", names @ ..] if !names.is_empty() => bench::run(names),
        ["bless"] => bless(),
        ["fuzz", name, rest @ ..] => fuzz(name, rest),
        ["soak", rest @ ..] => match soak::run(rest) {
            Ok(true) => Ok(()),
            Ok(false) => return ExitCode::from(1),
            Err(failure) => Err(failure),
        },
        _ => Err(Failure(USAGE.into())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(message)) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn test() -> Result<(), Failure> {
    cargo(&["fmt", "--all", "--check"]).run()?;
    workflows::lint()?;
    let packages = std::thread::spawn(python::prepare);
    // First: the command embeds what this builds.
    web::build(web::Effort::Tests)?;
    build_tests()?;
    let python =
        packages.join().map_err(|_| Failure("the installation of Python packages broke off".into()))??;
    // Many tests wait, for a limit or for another process: two suites at a time use both cores.
    beside(
        || linting(&["test", "--workspace"])?.run(),
        move || python::test(&python).and_then(|()| browser::test()),
    )
}

/// Builds the tests, the command, the native part of the Python package, the benchmarks and the documentation, all with
/// the same features: built alone, one would compile everything a second time.
fn build_tests() -> Result<(), Failure> {
    linting(&["build", "--workspace", "--all-targets"])?.run()
}

fn bless() -> Result<(), Failure> {
    for tests in ["zoo::", "golden::"] {
        let one = ["test", "--workspace", "--test", "suite"];
        let these = ["--", tests, "--skip", "extract_zoo::", "--test-threads=1"];
        cargo(&[&one[..], &these].concat()).env("FIBERSCOPE_BLESS", "1").run()?;
    }
    Ok(())
}

/// Fuzzes with a scratch corpus that starts from the committed one.
fn fuzz(name: &str, rest: &[&str]) -> Result<(), Failure> {
    if !cargo(&["+nightly", "fuzz", "--version"]).quiet().succeeds() {
        cargo(&["install", "--locked", "cargo-fuzz"]).run()?;
    }
    let scratch = root().join("fuzz/target/corpus").join(name);
    std::fs::create_dir_all(&scratch).map_err(|error| Failure(format!("{}: {error}", scratch.display())))?;
    let committed = match name {
        "certificate" => root().join("crates/fiberscope-io/zoo/certificates"),
        _ => root().join("crates/fiberscope-io/tests/corpus").join(name),
    };
    std::fs::create_dir_all(&committed)
        .map_err(|error| Failure(format!("{}: {error}", committed.display())))?;
    let (scratch, committed) = (scratch.display().to_string(), committed.display().to_string());
    let mut words = vec!["+nightly", "fuzz", "run", name, &scratch, &committed];
    words.extend(rest);
    cargo(&words).run()
}
