//! Python for the tests that compare with real libraries, and for the peers in benchmarks.

use std::path::PathBuf;

use crate::shell::{Failure, cargo, program, root};

const INTEROP: &str = "crates/fiberscope-io/tests/interop";

/// Runs the Python tests with the command built in the same profile as the Rust tests.
pub fn test() -> Result<(), Failure> {
    let python = environment(&format!("{INTEROP}/requirements.txt"))?;
    // The whole workspace, as in the Rust tests: one package alone would be built with other features.
    cargo(&["build", "--workspace", "--bins"]).run()?;
    let binary = root().join("target/debug/fiberscope");
    program(&python, &["-m", "pytest", "-q", "-p", "no:cacheprovider", INTEROP])
        .env("FIBERSCOPE", binary)
        .run()
}

/// A Python with the packages of a requirements file, in a virtual environment under `target/`.
pub fn environment(requirements: &str) -> Result<PathBuf, Failure> {
    let folder = root().join("target/python");
    let python = folder.join("bin/python");
    if !python.exists() {
        create(&folder)?;
    }
    program(&python, &["-m", "pip", "install", "--quiet", "--requirement", requirements]).run()?;
    Ok(python)
}

fn create(folder: &std::path::Path) -> Result<(), Failure> {
    let folder = folder.display().to_string();
    let make = || program("python3", &["-m", "venv", "--clear", &folder]);
    if make().quiet().succeeds() {
        return Ok(());
    }
    // Debian ships the module apart.
    if program("apt-get", &["--version"]).quiet().succeeds() {
        program("apt-get", &["update"]).run()?;
        program("apt-get", &["install", "--yes", "python3-venv"]).run()?;
    }
    make().run().map_err(|_| {
        Failure("Python 3 with its venv module is needed for the tests against real libraries".into())
    })
}
