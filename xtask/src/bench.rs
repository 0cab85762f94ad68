//! Benchmarks: each is a program of `bench/` that measures Fiberscope and its peers in one run and
//! prints a Markdown table.

use std::fs;
use std::path::PathBuf;

use crate::python;
use crate::shell::{Failure, cargo, program, root};

/// Runs the benchmarks and stores their tables. Words that follow the name of a benchmark and are no such name themselves
/// are its arguments: they choose a part of it, which is printed and not stored.
pub fn run(words: &[&str]) -> Result<(), Failure> {
    let known = root().join("bench/src/bin");
    let mut benchmarks: Vec<(&str, Vec<&str>)> = Vec::new();
    for word in words {
        if known.join(format!("{word}.rs")).exists() {
            benchmarks.push((word, Vec::new()));
        } else if let Some((_, arguments)) = benchmarks.last_mut() {
            arguments.push(word);
        } else {
            return Err(Failure(format!("no benchmark {word:?} in bench/src/bin/")));
        }
    }
    let python = python::environment("bench/peers/requirements.txt")?;
    // Some benchmarks run the command itself; built together, both share their dependencies.
    cargo(&["build", "--release", "--package", "fiberscope-cli", "--package", "fiberscope-bench"]).run()?;
    for (name, arguments) in benchmarks {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        let built = target.join("release").join(name);
        let task = program(built, &arguments);
        let table = task.env("FIBERSCOPE_BENCH_PYTHON", &python).output()?;
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
