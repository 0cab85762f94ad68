//! The soak: the program of `soak/`, built for speed and started beside the command that it asks now and then.

use std::path::PathBuf;

use crate::bench::machine;
use crate::shell::{Failure, cargo, program, root};

/// Runs the soak; whether it found nothing.
pub fn run(words: &[&str]) -> Result<bool, Failure> {
    cargo(&["build", "--release", "--package", "fiberscope-cli", "--package", "fiberscope-soak"]).run()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let machine = machine();
    let report = root().join("bench/results/soak.md").display().to_string();
    let commit = commit()?;
    let mut arguments = vec!["--machine", &machine];
    if let Some(commit) = &commit {
        arguments.extend(["--commit", commit]);
    }
    // One case or one round is looked at, not counted.
    if !words.iter().any(|word| ["--case", "--round", "--report"].contains(word)) {
        arguments.extend(["--report", &report]);
    }
    arguments.extend(words);
    match program(target.join("release/fiberscope-soak"), &arguments).code()? {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        Some(code) => Err(Failure(format!("the soak ended with {code}"))),
        None => Err(Failure(
            "the soak was ended by a signal. If nobody sent it, a reader overflowed the stack or took all memory: --round K for the rounds after the \
             last ones in target/soak/ writes each input to target/soak/input before it is read"
                .into(),
        )),
    }
}

/// The commit at hand; `None` if files that are built differ from it.
fn commit() -> Result<Option<String>, Failure> {
    let changed =
        program("git", &["status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results"])
            .output()?;
    if !changed.trim().is_empty() {
        return Ok(None);
    }
    let name = program("git", &["rev-parse", "--short=12", "HEAD"]).output()?;
    Ok(Some(name.trim().to_owned()))
}
