//! `funcdim --device` where something is wrong with the GPU: no driver, an old one, too little memory, a GPU that is gone.
//!
//! A library that stands for the driver (`fake_driver.c`) is compiled with the C compiler that links Rust programs too.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Widths of the network, and the number of points: an elimination that `auto` would give to a GPU.
const WIDTHS: [usize; 4] = [6, 40, 40, 1];
const POINTS: usize = 1900;

struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// Numbers that look random.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn network() -> String {
    let layers: Vec<String> = WIDTHS
        .windows(2)
        .enumerate()
        .map(|(l, pair)| {
            let all = numbers(pair[1] * (pair[0] + 1), l as u64 + 1);
            let weight: Vec<&[f64]> = all[pair[1]..].chunks(pair[0]).collect();
            let activation = if l + 2 == WIDTHS.len() { "identity" } else { "relu" };
            format!(
                r#"{{"weight": {weight:?}, "bias": {:?}, "activation": "{activation}"}}"#,
                &all[..pair[1]]
            )
        })
        .collect();
    format!(r#"{{"format": "fiberscope-network", "version": 1, "layers": [{}]}}"#, layers.join(", "))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("net.json"), network()).unwrap();
    let rows = |count: usize| -> String {
        let row = |row: &[f64]| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(",") + "\n";
        numbers(WIDTHS[0] * count, 9).chunks(WIDTHS[0]).map(row).collect()
    };
    fs::write(folder.path().join("x.csv"), rows(POINTS)).unwrap();
    fs::write(folder.path().join("few.csv"), rows(60)).unwrap();
    folder
}

/// The driver's library, as the program looks for it.
fn driver(folder: &Path, flags: &[&str]) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/device/fake_driver.c");
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o", "libcuda.so", source])
        .args(flags)
        .current_dir(folder)
        .status();
    assert!(made.unwrap().success());
}

fn funcdim(folder: &Path, line: &str, variables: &[(&str, &str)]) -> Ran {
    fiberscope(folder, &format!("funcdim {line}"), variables)
}

fn fiberscope(folder: &Path, line: &str, variables: &[(&str, &str)]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_fiberscope"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("LD_LIBRARY_PATH", folder)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// The error of `--device cuda` with a driver in such a state, and that of `auto`, which is no error.
fn refused(folder: &Path, variables: &[(&str, &str)], sentence: &str) {
    let ran = funcdim(folder, "net.json few.csv --device cuda", variables);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains(sentence), "{}", ran.err);
    assert!(ran.err.contains("--device cuda"), "{}", ran.err);
    let auto = funcdim(folder, "net.json few.csv --device auto --json", variables);
    let found: Value = serde_json::from_str(&auto.out).unwrap();
    assert!(found["device"].as_str().unwrap().starts_with("CPU, since "), "{found}");
    assert!(found["device"].as_str().unwrap().contains(sentence), "{found}");
    assert_eq!(auto.code, 0);
}

#[test]
fn a_driver_that_cannot_be_used_is_named() {
    let folder = folder();
    let at = folder.path();
    driver(at, &["-DFAKE_OLD"]);
    refused(at, &[], "the CUDA driver is too old, or none: its library has no function cuDriverGetVersion");
    driver(at, &[]);
    refused(at, &[("FAKE_INIT", "100")], "sees no GPU");
    refused(at, &[("FAKE_GPUS", "0")], "sees no GPU");
    refused(at, &[("FAKE_INIT", "804")], "the CUDA driver does not start: CUDA_ERROR");
    refused(at, &[("FAKE_MAJOR", "7")], "the GPU Fake GPU has compute capability 7.0; expected 8.0 or later");
    refused(at, &[("FAKE_LOAD", "222")], "is too old: it knows CUDA 11.4; expected 11.8 or later");
    let ran = funcdim(at, "net.json few.csv --device cuda:3", &[]);
    assert!(ran.err.contains("there is no GPU cuda:3: the CUDA driver sees 1"), "{}", ran.err);
    let ran = funcdim(at, "net.json few.csv --device gpu", &[]);
    assert!(ran.err.contains("expected cpu, cuda, cuda:N"), "{}", ran.err);
    // The processor needs no driver.
    let ran = funcdim(at, "net.json few.csv", &[("FAKE_INIT", "100")]);
    assert!(ran.code == 0 && !ran.out.contains("device"), "{}{}", ran.out, ran.err);
}

#[test]
fn too_little_memory_is_refused_with_both_numbers() {
    let folder = folder();
    let at = folder.path();
    driver(at, &[]);
    let ran = funcdim(at, "net.json few.csv --device cuda", &[("FAKE_MEMORY", "50000000")]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("the GPU Fake GPU (cuda:0) has too little memory: "), "{}", ran.err);
    assert!(ran.err.contains(" MB are needed, 47 MB are free"), "{}", ran.err);
}

#[test]
fn a_gpu_that_vanishes_gives_an_error_and_no_rank_and_auto_goes_on_without_it() {
    let folder = folder();
    let at = folder.path();
    driver(at, &[]);
    for call in [1, 2, 5, 10, 20, 30] {
        let ran = funcdim(at, "net.json few.csv --device cuda", &[("FAKE_FAIL_AT", &call.to_string())]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{call}: {}", ran.err);
        assert!(ran.err.contains("the GPU Fake GPU (cuda:0) failed "), "{call}: {}", ran.err);
        assert!(ran.err.contains("CUDA_ERROR_LAUNCH_FAILED"), "{call}: {}", ran.err);
    }
    // A GPU that does nothing and says that all is well.
    let ran = funcdim(at, "net.json x.csv --device cuda", &[]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("gave numbers that no elimination gives"), "{}", ran.err);
    // Too little work for it.
    let small = funcdim(at, "net.json few.csv --device auto", &[]);
    assert!(small.out.contains("CPU: too little to eliminate for Fake GPU (cuda:0)"), "{}", small.out);
    let value = |line: &str, variables: &[(&str, &str)]| -> Value {
        let ran = funcdim(at, &format!("net.json x.csv --json {line}"), variables);
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{line}: {}", ran.err))
    };
    let mut auto = value("--device auto", &[("FAKE_GONE", "1")]);
    let device = auto.as_object_mut().unwrap().remove("device").unwrap();
    assert!(device.as_str().unwrap().starts_with("CPU, since the GPU Fake GPU (cuda:0) failed"), "{device}");
    assert_eq!(auto, value("", &[]));
}

/// Workers on several GPUs: each takes tasks to its own. One that is gone gives its task back.
#[test]
fn workers_have_a_gpu_each() {
    let folder = folder();
    let at = folder.path();
    driver(at, &[]);
    let gpus = ("FAKE_GPUS", "2");
    let ok = |line: &str, variables: &[(&str, &str)]| {
        let ran = fiberscope(at, line, variables);
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
        ran
    };
    ok("plan funcdim net.json --data x.csv --data few.csv -o plan", &[]);
    let gone = fiberscope(at, "work plan --device cuda:1 --task 1", &[gpus, ("FAKE_GONE", "1")]);
    assert_eq!((gone.code, gone.out.as_str()), (2, ""), "{}", gone.err);
    assert!(gone.err.contains("the GPU Fake GPU (cuda:1) failed"), "{}", gone.err);
    // A GPU that computes nothing gives no result either.
    let idle = fiberscope(at, "work plan --device cuda:0 --task 1", &[gpus]);
    assert!(idle.code == 2 && idle.err.contains("gave numbers that no elimination gives"), "{}", idle.err);
    let none = fiberscope(at, "work plan --device cuda:2", &[gpus]);
    assert!(
        none.err.contains("--device cuda:2: there is no GPU cuda:2: the CUDA driver sees 2"),
        "{}",
        none.err
    );
    assert_eq!(fiberscope(at, "merge plan", &[]).code, 3);
    // The processor goes on where a GPU that was there at the start is gone.
    ok("work plan --device auto", &[gpus, ("FAKE_GONE", "1")]);
    ok("plan funcdim net.json --data x.csv --data few.csv -o other", &[]);
    ok("work other", &[]);
    let rows = |line: &str| -> Value {
        let answer: Value = serde_json::from_str(&ok(line, &[]).out).unwrap();
        answer["rows"].clone()
    };
    let found = rows("merge plan --json");
    assert!(found.as_array().is_some_and(|rows| rows.len() == 2), "{found}");
    assert_eq!(found, rows("merge other --json"));
    // Other tasks do not eliminate.
    ok("plan volume --widths 3,3,2,1 -o volume", &[]);
    let other = fiberscope(at, "work volume --device cuda", &[gpus]);
    assert!(
        other.code == 2 && other.err.contains("a plan for volume, whose tasks run on the processor"),
        "{}",
        other.err
    );
}
