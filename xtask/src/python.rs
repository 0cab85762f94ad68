//! Python for the tests that compare with real libraries, and for the peers in benchmarks.

use std::path::{Path, PathBuf};

use crate::build_tests;
use crate::shell::{Failure, program, root, target};

const INTEROP: &str = "crates/fiberscope-io/tests/interop";
const PACKAGE: &str = "python";
/// Installs packages in half the time of pip's.
const INSTALLER: &str = "uv==0.13.8";

/// Installs what the Python tests need. Most of it is PyTorch, which takes a minute to fetch and none to compile, and is
/// fetched beside the compiler.
pub fn prepare() -> Result<PathBuf, Failure> {
    environment(&format!("{INTEROP}/requirements.txt"))?;
    environment(&format!("{PACKAGE}/tests/requirements.txt"))
}

/// Runs the Python tests, with what [`crate::build_tests`] built, in a Python that has what they need.
pub fn test(python: &Path) -> Result<(), Failure> {
    lint(python)?;
    let built = target().join("debug");
    install(&built)?;
    let binary = built.join("fiberscope");
    let pytest = |arguments: &[&str]| {
        let words = [&["-m", "pytest", "-q", "-p", "no:cacheprovider"], arguments].concat();
        program(python, &words).env("FIBERSCOPE", &binary).env("PYTHONPATH", root().join(PACKAGE)).run()
    };
    pytest(&[INTEROP])?;
    pytest(&["--doctest-modules", PACKAGE])
}

/// Runs long work on real engines, which are installed apart: they are large, and no other test needs them.
pub fn test_cluster() -> Result<(), Failure> {
    build_tests()?;
    let built = target().join("debug");
    install(&built)?;
    let folder = target().join("cluster");
    let mut python = interpreter(&folder);
    if !python.exists() {
        python = create(&folder)?;
    }
    let requirements = format!("{PACKAGE}/tests/cluster-requirements.txt");
    install_packages(&python, &requirements)?;
    let command = built.join("fiberscope").display().to_string();
    program(&python, &[&format!("{PACKAGE}/tests/scale_files.py"), &command]).run()?;
    let script = format!("{PACKAGE}/tests/cluster.py");
    program(&python, &[&script]).env("PYTHONPATH", root().join(PACKAGE)).run()
}

/// Format, lints and types of the package, as `pyproject.toml` has them.
fn lint(python: &Path) -> Result<(), Failure> {
    let configuration = format!("{PACKAGE}/pyproject.toml");
    let ruff =
        |words: &[&str]| program(python, &[&["-m", "ruff"], words, &["--no-cache", PACKAGE]].concat()).run();
    ruff(&["check"])?;
    ruff(&["format", "--check"])?;
    let cache = target().join("mypy").display().to_string();
    let sources = format!("{PACKAGE}/fiberscope");
    let words = ["-m", "mypy", "--strict", "--config-file", &configuration, "--cache-dir", &cache, &sources];
    program(python, &words).run()
}

/// Puts the native part into the package, where Python finds it.
fn install(built: &Path) -> Result<(), Failure> {
    let (prefix, ending) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_EXTENSION);
    let from = built.join(format!("{prefix}_native.{ending}"));
    let to = root().join(PACKAGE).join("fiberscope").join(if cfg!(windows) {
        "_native.pyd"
    } else {
        "_native.abi3.so"
    });
    // A library that an interpreter holds open is replaced, not overwritten.
    let beside = to.with_extension("new");
    let placed = std::fs::copy(&from, &beside).and_then(|_| std::fs::rename(&beside, &to));
    placed.map_err(|error| Failure(format!("{} to {}: {error}", from.display(), to.display())))
}

/// A Python with the packages of a requirements file, in a virtual environment beside what cargo builds.
pub fn environment(requirements: &str) -> Result<PathBuf, Failure> {
    let folder = target().join("python");
    let mut python = interpreter(&folder);
    if !python.exists() {
        python = create(&folder)?;
    }
    install_packages(&python, requirements)?;
    Ok(python)
}

/// Installs the packages of a requirements file: with [`INSTALLER`], or with pip where that does not run or does not
/// know what pip was told about mirrors and certificates.
fn install_packages(python: &Path, requirements: &str) -> Result<(), Failure> {
    let pip = |words: &[&str]| {
        program(python, &[&["-m", "pip", "install", "--quiet", "--no-compile"], words].concat())
    };
    let this = python.display().to_string();
    let fast = ["-m", "uv", "pip", "install", "--quiet", "--python", &this, "--requirement", requirements];
    let installs = pip(&[INSTALLER]).quiet().succeeds() && program(python, &fast).run().is_ok();
    if installs { Ok(()) } else { pip(&["--requirement", requirements]).run() }
}

/// Where a virtual environment has its Python.
fn interpreter(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Makes a virtual environment with nothing in it, and returns its Python.
pub fn create(folder: &Path) -> Result<PathBuf, Failure> {
    let python = interpreter(folder);
    let folder = folder.display().to_string();
    let make = || program("python3", &["-m", "venv", "--clear", &folder]);
    if make().quiet().succeeds() {
        return Ok(python);
    }
    // Debian ships the module apart.
    if program("apt-get", &["--version"]).quiet().succeeds() {
        program("apt-get", &["update"]).run()?;
        program("apt-get", &["install", "--yes", "python3-venv"]).run()?;
    }
    make().run().map_err(|_| Failure("Python 3 with its venv module is needed for this task".into()))?;
    Ok(python)
}
