//! Running programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Why a task stopped.
pub struct Failure(pub String);

/// A program with its arguments, run in the root of the repository.
pub struct Task {
    command: Command,
    shown: String,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_owned()
}

/// Where cargo builds. (A relative `CARGO_TARGET_DIR` counts from the root, where every task runs.)
pub fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// A program with arguments.
pub fn program(name: impl AsRef<OsStr>, arguments: &[&str]) -> Task {
    let mut command = Command::new(name.as_ref());
    command.args(arguments).current_dir(root());
    Task { command, shown: format!("{} {}", name.as_ref().to_string_lossy(), arguments.join(" ")) }
}

/// Cargo with arguments. (The plain name, so that `+nightly` works.)
pub fn cargo(arguments: &[&str]) -> Task {
    program("cargo", arguments)
}

impl Task {
    /// Sets an environment variable.
    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Runs the program in this folder.
    pub fn within(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Hides what the program prints.
    pub fn quiet(mut self) -> Self {
        self.command.stdout(Stdio::null()).stderr(Stdio::null());
        self
    }

    /// Runs the program, showing the command line first.
    pub fn run(mut self) -> Result<(), Failure> {
        println!("$ {}", self.shown);
        let begun = Instant::now();
        let status = self.command.status().map_err(|error| Failure(format!("{}: {error}", self.shown)))?;
        println!("# {} s", begun.elapsed().as_secs());
        if status.success() { Ok(()) } else { Err(Failure(format!("failed: {}", self.shown))) }
    }

    /// Runs the program, and returns its exit code; `None` if a signal ended it.
    pub fn code(mut self) -> Result<Option<i32>, Failure> {
        println!("$ {}", self.shown);
        let status = self.command.status().map_err(|error| Failure(format!("{}: {error}", self.shown)))?;
        Ok(status.code())
    }

    /// Whether the program runs and succeeds.
    pub fn succeeds(mut self) -> bool {
        self.command.status().is_ok_and(|status| status.success())
    }

    /// What the program prints on standard output.
    pub fn output(mut self) -> Result<String, Failure> {
        println!("$ {}", self.shown);
        let output = self
            .command
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| Failure(format!("{}: {error}", self.shown)))?;
        if !output.status.success() {
            return Err(Failure(format!("failed: {}", self.shown)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
