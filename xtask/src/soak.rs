//! The soak: the program of `soak/`, built for speed and started beside the command that it asks now and
//! then.

use crate::bench::machine;
use crate::shell::{Failure, cargo, program, root, target};

/// Runs the soak; whether it found nothing.
pub fn run(words: &[&str]) -> Result<bool, Failure> {
    cargo(&["build", "--profile", "dist", "--package", "fiberscope-cli", "--package", "fiberscope-soak"])
        .run()?;
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
    match program(target().join("dist/fiberscope-soak"), &arguments).code()? {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        Some(code) => Err(Failure(format!("the soak ended with {code}"))),
        None => Err(Failure(
            "the soak was ended by a signal. If nobody sent it, a reader overflowed the stack or took all memory: --round K for the rounds after the \
             last ones in soak/ (in the target folder) writes each input to soak/input before it is read"
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
