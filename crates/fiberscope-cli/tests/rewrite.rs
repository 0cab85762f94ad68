//! `reduce`, `canon`, `align` and `folds --match` never round without saying so.
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// Runs a command line and gives its exit code, standard output and standard error.
fn run(folder: &Path, line: &str) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_fiberscope"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn answer(folder: &Path, line: &str) -> Value {
    let (code, out, err) = run(folder, &format!("{line} --json"));
    assert_eq!(code, 0, "{line}: {err}");
    serde_json::from_str(&out).unwrap()
}

/// A network with one hidden layer, the bias as last entry of every row.
fn write(folder: &Path, name: &str, rows: &[[f64; 2]], column: &[f64]) {
    let weight: Vec<[f64; 1]> = rows.iter().map(|row| [row[0]]).collect();
    let bias: Vec<f64> = rows.iter().map(|row| row[1]).collect();
    let network = json!({
        "format": "fiberscope-network", "version": 1,
        "layers": [
            {"weight": weight, "bias": bias, "activation": "relu"},
            {"weight": [column], "bias": [0.5], "activation": "identity"},
        ],
    });
    std::fs::write(folder.join(name), network.to_string()).unwrap();
}

fn equal(folder: &Path, a: &str, b: &str) -> bool {
    run(folder, &format!("equiv {a} {b} --exact")).0 == 0
}

#[test]
fn reductions_are_exact_by_choice_of_scales() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // 5 relu(3x + 3) + 7 relu(x + 1): merged into the first neuron the weight is 5 + 7/3.
    write(at, "third.json", &[[3.0, 3.0], [1.0, 1.0]], &[5.0, 7.0]);
    let found = answer(at, "reduce third.json -o small.json --certificate proof.json");
    assert_eq!((&found["exact"], &found["widths_after"]), (&json!(true), &json!([1, 1, 1])));
    assert_eq!((&found["bound"], &found["left"]), (&json!(0.0), &json!([])));
    assert!(equal(at, "third.json", "small.json"));
    assert_eq!(run(at, "check proof.json third.json small.json").0, 0);
}

#[test]
fn steps_that_would_leave_the_doubles_are_left_or_rounded() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // The sum of the columns has more than 53 bits, and the rows have nothing in common to give.
    write(at, "long.json", &[[1.0, 0.3], [1.0, 0.3], [1.0, -2.0], [1.0, -2.0]], &[0.1, 1e-9, 1.0, 2.0]);
    let found = answer(at, "reduce long.json -o small.json");
    assert_eq!((&found["exact"], &found["widths_after"]), (&json!(true), &json!([1, 3, 1])));
    assert_eq!(found["rational_widths"], json!([1, 2, 1]));
    assert_eq!(found["left"], json!([{"layer": 1, "neurons": [1, 2], "step": "merge"}]));
    assert!(equal(at, "long.json", "small.json"));
    let (_, text, _) = run(at, "reduce long.json -o small.json");
    assert!(text.contains("exactly (certificate checked)"), "{text}");
    assert!(text.contains("layer 1: neurons 1, 2 are multiples of each other and were not merged"), "{text}");

    let rounded = answer(at, "reduce long.json -o small.json --round");
    assert_eq!((&rounded["exact"], &rounded["bound"]), (&json!(false), &Value::Null));
    assert_eq!((&rounded["widths_after"], &rounded["certified"]), (&json!([1, 2, 1]), &json!(false)));
    let relative = rounded["relative"].as_f64().unwrap();
    assert!(relative > 0.0 && relative < 2e-16);
    let (_, text, _) = run(at, "reduce long.json -o small.json --round");
    assert!(text.contains("not kept exactly") && text.contains("the domain is not bounded"), "{text}");

    let line = "reduce long.json -o small.json --round --box -1,1 --certificate proof.json";
    let bounded = answer(at, line);
    let bound = bounded["bound"].as_f64().unwrap();
    assert!(bound > 0.0 && bound < 1e-15);
    assert_eq!(bounded["certificate"], json!("proof.json"));
    assert_eq!(run(at, "check proof.json long.json small.json").0, 0);
}

#[test]
fn a_canonical_form_is_not_rounded_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, "long.json", &[[1.0, 0.3], [1.0, 0.3]], &[0.1, 1e-9]);
    let (code, _, err) = run(at, "canon long.json -o form.json");
    assert_eq!(code, 2);
    assert!(err.contains("no doubles") && !at.join("form.json").exists(), "{err}");
    let found = answer(at, "canon long.json");
    assert_eq!((&found["class"], &found["complete"]), (&json!("one_hidden_layer"), &json!(true)));
    let rounded = answer(at, "canon long.json -o form.json --round");
    assert_eq!(rounded["exact"], json!(false));
    assert_eq!(rounded["fingerprint"], found["fingerprint"]);
    let general = answer(at, "canon zoo:deep");
    assert_eq!((&general["class"], &general["complete"]), (&json!("general"), &json!(false)));
    assert!(general["meaning"].as_str().unwrap().ends_with("another one proves nothing"));
}

#[test]
fn real_scalings_are_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let found = answer(at, "align zoo:deep zoo:deep-rounded -o aligned.json");
    let relative = found["relative"].as_f64().unwrap();
    assert!(relative > 0.0 && relative < 1e-15, "{relative}");
    assert_eq!(found["exact"], json!(false));
    let kept = answer(
        at,
        "align zoo:deep zoo:deep-rounded -o aligned.json --scaling powers-of-two --certificate proof.json",
    );
    assert_eq!((&kept["exact"], &kept["certified"]), (&json!(true), &json!(true)));
    assert_eq!(run(at, "check proof.json zoo:deep-rounded aligned.json").0, 0);
    let near = answer(at, "folds zoo:deep --match zoo:deep-rounded --box -1,1");
    assert_eq!((&near["matched"], &near["exact"]), (&json!(true), &json!(false)));
    assert!(near["relative"].as_f64().unwrap() < 1e-15);
    let (_, text, _) = run(at, "folds zoo:deep --match zoo:deep-rounded --box -1,1");
    assert!(text.contains("up to a relative difference of"), "{text}");
    let other = run(at, "folds zoo:deep --match zoo:deep-shuffled --box -1,1");
    assert!(other.0 == 0 && other.1.contains("permuted and scaled, exactly"), "{other:?}");
}

/// A neuron that is zero may be scaled by anything: where that leaves open whether networks match, no answer
/// is given.
#[test]
fn zero_neurons_leave_a_match_open() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.json", &[[1.0, 1.0], [0.0, 0.0]], &[1.0, 1.0]);
    write(folder.path(), "b.json", &[[1.0, 1.0], [0.0, 0.0]], &[1.0, 4.0]);
    write(folder.path(), "c.json", &[[1.0, 1.0], [1.0, -1.0]], &[1.0, 1.0]);
    write(folder.path(), "d.json", &[[1.0, 1.0], [1.0, -2.0]], &[1.0, 1.0]);
    let (code, out, _) = run(folder.path(), "folds a.json --match b.json");
    assert!(code == 3 && out.starts_with("undecided: "), "{code} {out}");
    assert_eq!(run(folder.path(), "folds c.json --match d.json").0, 1);
}
