//! Wheels of the Python package: built here, installed in a clean environment, and tried out there.

use std::fs;
use std::path::PathBuf;

use crate::python;
use crate::shell::{Failure, program, root, target};

const MANIFEST: &str = "python/Cargo.toml";
/// Run by the Python of the clean environment.
const TRIAL: &str = "python/tests/installed.py";

/// Builds a wheel as it is released, installs it and tries it.
pub fn wheel() -> Result<(), Failure> {
    let folder = emptied("wheels/built")?;
    maturin(&["build", "--profile", "dist", "--locked", "--manifest-path", MANIFEST, "--out", &folder])?;
    try_out("wheel", &only_file(&folder, ".whl")?)
}

/// Packs the sources, installs from them as `pip` does without a wheel for its machine, and tries that.
pub fn source() -> Result<(), Failure> {
    let folder = emptied("wheels/source")?;
    maturin(&["sdist", "--manifest-path", MANIFEST, "--out", &folder])?;
    try_out("sdist", &only_file(&folder, ".tar.gz")?)
}

fn maturin(arguments: &[&str]) -> Result<(), Failure> {
    let python = python::environment("python/packaging.txt")?;
    program(python, &[&["-m", "maturin"], arguments].concat()).run()
}

/// Installs a package in an environment with nothing else, and tries it from a folder that is not the
/// checkout.
fn try_out(name: &str, package: &str) -> Result<(), Failure> {
    let folder = target().join("clean").join(name);
    let python = python::create(&folder)?;
    // What was compiled for an earlier try is used again.
    program(&python, &["-m", "pip", "install", "--quiet", package])
        .env("CARGO_TARGET_DIR", target().join("source"))
        .run()?;
    let trial = root().join(TRIAL).display().to_string();
    program(&python, &[&trial]).within(&folder).run()
}

/// A folder below the target folder, without files of earlier runs.
fn emptied(name: &str) -> Result<String, Failure> {
    let folder = target().join(name);
    let failed = |error| Failure(format!("{}: {error}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    Ok(folder.display().to_string())
}

fn only_file(folder: &str, ending: &str) -> Result<String, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| Failure(format!("{folder}: {error}")))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    match (found.pop(), found.is_empty()) {
        (Some(path), true) => Ok(path.display().to_string()),
        _ => Err(Failure(format!("{folder}: there should be one file *{ending}"))),
    }
}
