//! Benchmarks: each is a program of `bench/` that measures Fiberscope and its peers in one run and prints a
//! Markdown table. One more, `build`, measures the compiler at work on Fiberscope itself.

mod build;

use std::fs;
use std::path::PathBuf;

use crate::python;
use crate::shell::{Failure, cargo, program, root, target};

/// The benchmark that is no program of `bench/`.
const BUILD: &str = "build";

/// Runs the benchmarks and stores their tables. Words that follow the name of a benchmark and are no such
/// name themselves are its arguments: they choose a part of it, which is printed and not stored.
pub fn run(words: &[&str]) -> Result<(), Failure> {
    let mut benchmarks: Vec<(&str, Vec<&str>)> = Vec::new();
    for word in words {
        if *word == BUILD || is_program(word) {
            benchmarks.push((word, Vec::new()));
        } else if let Some((_, arguments)) = benchmarks.last_mut() {
            arguments.push(word);
        } else {
            return Err(Failure(format!("no benchmark {word:?} in bench/src/bin/")));
        }
    }
    let programs: Vec<&str> =
        benchmarks.iter().map(|(name, _)| *name).filter(|name| *name != BUILD).collect();
    let python = if programs.is_empty() { PathBuf::new() } else { prepare(&programs)? };
    for (name, arguments) in benchmarks {
        let table = if name == BUILD {
            build::measure()?
        } else {
            let task = program(target().join("dist").join(name), &arguments);
            task.env("FIBERSCOPE_BENCH_PYTHON", &python).output()?
        };
        print!("{table}");
        if !arguments.is_empty() {
            continue;
        }
        let page = format!("# Benchmark `{name}`\n\n`cargo xtask bench {name}` on {}.\n\n{table}", machine());
        let path = root().join("bench/results").join(format!("{name}.md"));
        fs::write(&path, page).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

/// Whether `bench/` has a program of that name: a file, or a folder with a `main.rs`.
fn is_program(name: &str) -> bool {
    let programs = root().join("bench/src/bin");
    programs.join(format!("{name}.rs")).is_file() || programs.join(name).join("main.rs").is_file()
}

/// Builds these benchmarks as the command is released; returns a Python with their peers.
fn prepare(programs: &[&str]) -> Result<PathBuf, Failure> {
    let python = python::environment("bench/peers/requirements.txt")?;
    // Some benchmarks run the command itself; built together, both share their dependencies.
    let packages = ["--package", "fiberscope-cli", "--package", "fiberscope-bench", "--bin", "fiberscope"];
    let chosen = programs.iter().flat_map(|name| ["--bin", name]);
    let arguments: Vec<&str> =
        ["build", "--profile", "dist"].into_iter().chain(packages).chain(chosen).collect();
    cargo(&arguments).run()?;
    Ok(python)
}

/// The machine and the compiler, in words.
pub fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(": ").nth(1));
    let flags = cpu.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let simd = if flags.contains("avx512f") { " with AVX-512" } else { "" };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let rustc = program("rustc", &["--version"]).output().unwrap_or_default();
    format!("{}{simd}, {cores} cores, {}", model.unwrap_or("an unknown processor"), rustc.trim())
}

#[cfg(test)]
mod tests {
    use super::is_program;

    #[test]
    fn programs_are_files_or_folders() {
        assert!(is_program("eval") && is_program("search"));
        assert!(!is_program("nothing"));
    }
}
