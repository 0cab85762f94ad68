//! `plan`, `work` and `merge`: several worker processes on one folder, killed at any moment, and folders that are not what they should be.

mod folders;
mod killed;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const FIBERSCOPE: &str = env!("CARGO_BIN_EXE_fiberscope");

fn run(arguments: &[&str]) -> Output {
    Command::new(FIBERSCOPE).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A worker, begun and left alone.
fn worker(folder: &Path, slice: &str) -> Child {
    Command::new(FIBERSCOPE)
        .args(["work", folder.to_str().unwrap(), "--slice", slice, "--threads", "1", "--quiet"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Makes a plan in a new folder.
fn plan(place: &Path, name: &str, question: &[&str], tasks: &str) -> PathBuf {
    let folder = place.join(name);
    let out = ["-o", folder.to_str().unwrap(), "--tasks", tasks, "--quiet"];
    let done = run(&[&["plan"], question, &out].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    folder
}

/// The answer without what depends on the clock.
fn object(output: &Output) -> Value {
    let mut value: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}{}", text(&output.stdout), text(&output.stderr)));
    value.as_object_mut().unwrap().remove("seconds");
    value
}

fn merge(folder: &Path) -> Output {
    run(&["merge", folder.to_str().unwrap(), "--json"])
}

/// What one worker with one thread makes of a plan.
fn alone(folder: &Path) -> (Value, Option<i32>) {
    let done = run(&["work", folder.to_str().unwrap(), "--threads", "1", "--quiet"]);
    assert_eq!(done.status.code(), Some(0), "{}{}", text(&done.stdout), text(&done.stderr));
    let merged = merge(folder);
    (object(&merged), merged.status.code())
}

/// A network of three inputs with some thousands of regions.
fn network(place: &Path, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut number = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut layer = |rows: usize, columns: usize, activation: &str| {
        let weight: Vec<Vec<f64>> = (0..rows).map(|_| (0..columns).map(|_| number()).collect()).collect();
        let bias: Vec<f64> = (0..rows).map(|_| 0.3 * number()).collect();
        serde_json::json!({"weight": weight, "bias": bias, "activation": activation})
    };
    let layers = vec![layer(14, 3, "relu"), layer(10, 14, "relu"), layer(2, 10, "identity")];
    let value = serde_json::json!({"format": "fiberscope-network", "version": 1, "layers": layers});
    let path = place.join(format!("net-{seed}.json"));
    std::fs::write(&path, value.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}
