//! Running programs.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
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
        say(&format!("$ {}\n", self.shown));
        let begun = Instant::now();
        let status = self.status().map_err(|error| Failure(format!("{}: {error}", self.shown)))?;
        say(&format!("# {} s\n", begun.elapsed().as_secs()));
        if status.success() { Ok(()) } else { Err(Failure(format!("failed: {}", self.shown))) }
    }

    /// Runs the program; what it prints goes where [`say`] puts it.
    fn status(&mut self) -> std::io::Result<ExitStatus> {
        if HEARD.with_borrow(Option::is_none) {
            return self.command.status();
        }
        let output = self.command.output()?;
        say(&String::from_utf8_lossy(&output.stdout));
        say(&String::from_utf8_lossy(&output.stderr));
        Ok(output.status)
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

thread_local! {
    /// What the programs of this thread printed, if it works beside another one.
    static HEARD: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Prints, or keeps for later what a thread beside another one has to say.
fn say(text: &str) {
    HEARD.with_borrow_mut(|heard| match heard {
        Some(heard) => heard.push_str(text),
        None => print!("{text}"),
    });
}

/// Does two things at a time. The second one's programs are heard after the first is done; both are done to the
/// end.
pub fn beside(
    first: impl FnOnce() -> Result<(), Failure>,
    second: impl FnOnce() -> Result<(), Failure> + Send + 'static,
) -> Result<(), Failure> {
    let second = thread::spawn(move || {
        HEARD.set(Some(String::new()));
        let done = second();
        (done, HEARD.take().unwrap_or_default())
    });
    let first = first();
    let (second, heard) = second.join().map_err(|_| Failure("a thread of this task broke off".into()))?;
    print!("{heard}");
    match (first, second) {
        (Err(Failure(one)), Err(Failure(other))) => Err(Failure(format!("{one}\n{other}"))),
        (first, second) => first.and(second),
    }
}
