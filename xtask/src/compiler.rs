//! What compiles our own crates for the tests: Clippy, which is a compiler with more lints, and then rustdoc for what is
//! not a test. A crate is read by both with the metadata that the build makes anyway; `cargo clippy` and `cargo doc` would
//! read everything that it uses another time.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;
use std::{env, fs};

use crate::shell::{Failure, Task, cargo, target};

/// Where the documentation goes: into this folder, for what the environment names so.
const DOCUMENTATION: &str = "XTASK_DOCUMENTATION";
/// What rustdoc says of a program, which has nothing public.
const PRIVATE: &str = "--document-private-items";

/// Cargo with this program as the compiler of our own crates.
pub fn linting(arguments: &[&str]) -> Result<Task, Failure> {
    Ok(through(&itself()?, arguments).env(DOCUMENTATION, target().join("doc")))
}

/// Cargo with this compiler of our own crates; lints are errors, said to Clippy as `cargo clippy` says it.
fn through(compiler: &Path, arguments: &[&str]) -> Task {
    let denied = ["-D", "warnings", ""].join("__CLIPPY_HACKERY__");
    cargo(arguments).env("RUSTC_WORKSPACE_WRAPPER", compiler).env("CLIPPY_ARGS", denied)
}

/// A copy of this program, made before cargo builds it anew beside the tests.
fn itself() -> Result<PathBuf, Failure> {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    if let Some(copy) = COPY.get() {
        return Ok(copy.clone());
    }
    let folder = target().join("tmp");
    let copy = folder.join("compiler").with_extension(env::consts::EXE_EXTENSION);
    let placed = || {
        let this = env::current_exe()?;
        if !fs::read(&copy).is_ok_and(|old| fs::read(&this).is_ok_and(|new| new == old)) {
            fs::create_dir_all(&folder)?;
            fs::copy(this, &copy)?;
        }
        Ok(())
    };
    placed().map_err(|error: std::io::Error| Failure(format!("{}: {error}", copy.display())))?;
    Ok(COPY.get_or_init(|| copy).clone())
}

/// Whether cargo calls this program as a compiler: its name comes first.
pub fn is_called(words: &[String]) -> bool {
    words.first().is_some_and(|word| Path::new(word).file_stem().is_some_and(|stem| stem == "rustc"))
}

/// Compiles, and documents what is to be documented.
pub fn run(words: &[String]) -> ExitCode {
    let succeeds = |mut command: Command| command.status().is_ok_and(|status| status.success());
    let mut clippy = Command::new("clippy-driver");
    clippy.args(words);
    if !succeeds(clippy) {
        return ExitCode::FAILURE;
    }
    match (env::var_os(DOCUMENTATION), documented(words)) {
        (Some(folder), Some(arguments)) => {
            let mut rustdoc = Command::new("rustdoc");
            // A program may have the name of a library.
            let part = if arguments.last() == Some(&PRIVATE) { "programs" } else { "" };
            rustdoc.args(arguments).arg("-Dwarnings").arg("--out-dir").arg(Path::new(&folder).join(part));
            if succeeds(rustdoc) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        _ => ExitCode::SUCCESS,
    }
}

/// The arguments of rustdoc for the crate that these compile; `None` for tests, build scripts and questions.
fn documented(words: &[String]) -> Option<Vec<&str>> {
    let after = |name: &str| words.iter().skip_while(|word| *word != name).nth(1).map(String::as_str);
    let (kind, name) = (after("--crate-type")?, after("--crate-name")?);
    if name == "___" || name.starts_with("build_script") {
        return None;
    }
    let of_the_compiler = ["--error-format", "--json", "--emit", "--deny=clippy::", "--diagnostic-width"];
    let mut arguments = Vec::new();
    let mut rest = words[1..].iter().map(String::as_str);
    while let Some(word) = rest.next() {
        if ["--out-dir", "-C"].contains(&word) {
            rest.next();
        } else if !of_the_compiler.iter().any(|start| word.starts_with(start)) {
            arguments.push(word);
        }
    }
    if kind == "bin" {
        arguments.push(PRIVATE);
    }
    Some(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn libraries_and_programs_are_documented() {
        let library = "rustc --crate-name a --edition=2024 src/lib.rs --error-format=json --json=artifacts --crate-type lib \
                       --emit=link -C opt-level=1 --deny=clippy::todo --deny=missing_docs --out-dir x --extern b=libb.rmeta";
        let kept = "--crate-name a --edition=2024 src/lib.rs --crate-type lib --deny=missing_docs \
                    --extern b=libb.rmeta";
        assert_eq!(documented(&split(library)), Some(kept.split(' ').collect()));
        let program = split("rustc --crate-name a src/main.rs --crate-type bin");
        let program = documented(&program).expect("a program");
        assert_eq!(program.last(), Some(&PRIVATE));
    }

    #[test]
    fn tests_build_scripts_and_questions_are_not() {
        for line in [
            "rustc --crate-name a src/lib.rs --test",
            "rustc --crate-name build_script_build build.rs --crate-type bin",
            "rustc - --crate-name ___ --print=file-names --crate-type bin",
            "rustc -vV",
        ] {
            assert_eq!(documented(&split(line)), None, "{line}");
            assert!(is_called(&split(line)));
        }
        assert!(!is_called(&split("test")));
    }

    /// A crate of its own with this program.
    fn compiles(program: &str) -> bool {
        let folder = target().join("tmp/linted");
        fs::create_dir_all(&folder).expect("a folder beside what cargo builds");
        let manifest = "[package]\nname = \"linted\"\nedition = \"2024\"\n[[bin]]\nname = \"linted\"\npath = \"main.rs\"\n[workspace]\n";
        for (name, text) in [("Cargo.toml", manifest), ("main.rs", program)] {
            fs::write(folder.join(name), text).expect("a file in that folder");
        }
        through(Path::new("clippy-driver"), &["check", "--offline", "--target-dir", "built"])
            .within(&folder)
            .quiet()
            .succeeds()
    }

    #[test]
    fn lints_are_errors() {
        assert!(compiles("fn main() {\n    assert!(!String::from(\"a\").is_empty());\n}\n"));
        assert!(!compiles("fn main() {\n    assert!(String::from(\"a\").len() != 0);\n}\n"));
    }
}
