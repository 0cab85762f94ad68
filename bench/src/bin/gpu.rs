//! Functional dimension on a GPU, by the command, beside torch and jax on the same GPU.
//!
//! The tables are made by `bench/peers/gpu.py`, which needs no compiler, so that it also runs where only the command and a
//! GPU are: `python gpu.py FIBERSCOPE`. Here it runs in the first Python of `FIBERSCOPE_BENCH_PYTHON` with the command that was built
//! beside this program. Words after the name choose a part: `ranks`, `tracker`.

#![allow(clippy::print_stderr, reason = "a benchmark says why it does not run")]

use std::env;
use std::process::{Command, ExitCode};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/gpu.py");

fn main() -> ExitCode {
    let pythons = env::var_os("FIBERSCOPE_BENCH_PYTHON").unwrap_or_else(|| "python3".into());
    let python = env::split_paths(&pythons).next().unwrap_or_else(|| "python3".into());
    let command = env::current_exe().ok().and_then(|path| Some(path.parent()?.join("fiberscope")));
    let Some(command) = command else { return ExitCode::FAILURE };
    // Without words the ranks: the tracker needs the Python package and torch.
    let words: Vec<String> = env::args().skip(1).collect();
    let words = if words.is_empty() { vec!["ranks".to_owned()] } else { words };
    match Command::new(&python).arg(SCRIPT).arg(&command).args(&words).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}: {error}", python.display());
            ExitCode::FAILURE
        }
    }
}
