//! The workflows of `.github/`: read by a linter that knows their grammar and what is dangerous in them.

use crate::python;
use crate::shell::{Failure, program};

/// Checks all of them, without asking the network about anything.
pub fn lint() -> Result<(), Failure> {
    let python = python::environment(".github/requirements.txt")?;
    let linter = python.with_file_name(if cfg!(windows) { "zizmor.exe" } else { "zizmor" });
    program(linter, &["--offline", "--quiet", "--min-severity", "medium", ".github/workflows"]).run()
}
