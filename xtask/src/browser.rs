//! The tests of pages in a real browser: headless Chromium, driven from Python.

use crate::python;
use crate::shell::{Failure, program, target};

/// Clicks through the explorer and reports; needs what [`crate::web::build`] and [`crate::build_tests`] made.
pub fn test() -> Result<(), Failure> {
    install_chromium()?;
    let python = python::environment("web/tests/browser/requirements.txt")?;
    program(&python, &["-m", "pytest", "-q", "-p", "no:cacheprovider", "web/tests/browser"])
        .env("FIBERSCOPE", target().join("debug/fiberscope"))
        .run()
}

fn install_chromium() -> Result<(), Failure> {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let there = |name: &&str| program(name, &["--version"]).quiet().succeeds();
    if std::env::var_os("FIBERSCOPE_CHROMIUM").is_some() || names.iter().any(there) {
        return Ok(());
    }
    let missing = || {
        Failure("Chromium is needed for the tests of pages: install the package chromium, or name the program in FIBERSCOPE_CHROMIUM".into())
    };
    // Only root can install packages.
    let root = program("id", &["-u"]).output().is_ok_and(|id| id.trim() == "0");
    if !root || !program("apt-get", &["--version"]).quiet().succeeds() {
        return Err(missing());
    }
    program("apt-get", &["update"]).run().map_err(|_| missing())?;
    program("apt-get", &["install", "--yes", "--no-install-recommends", "chromium"])
        .run()
        .map_err(|_| missing())
}
