//! `survey` and `zoo --export` as users run them: folders that go on, files, exit codes, errors.
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn fiberscope(folder: &Path, line: &str) -> (i32, Value, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fiberscope"));
    let output = command.args(line.split_whitespace()).arg("--json").current_dir(folder).output().unwrap();
    let value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), value, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_survey_goes_on_where_it_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let line = |count: u64, out: &str| {
        format!("survey --widths 2,3,2,1 --widths 2,4,1 --count {count} --measure dead,regions -o {out}")
    };
    let (code, whole, err) = fiberscope(at, &line(150, "whole"));
    assert_eq!(
        (code, whole["complete"].as_bool(), whole["resumed"].as_u64()),
        (0, Some(true), Some(0)),
        "{err}"
    );
    assert_eq!(whole["networks"], 300);
    // A survey of fewer networks, of which a part is lost and another was being written when it was killed.
    fiberscope(at, &line(128, "killed"));
    fs::remove_file(at.join("killed/parts/1-64-64.json")).unwrap();
    fs::write(at.join("killed/parts/.1-64-64.json.tmp"), "[{\"seed\":").unwrap();
    let (code, resumed, err) = fiberscope(at, &line(150, "killed"));
    assert_eq!((code, resumed["resumed"].as_u64()), (0, Some(192)), "{err}");
    assert_eq!(resumed["measures"], whole["measures"]);
    let table = |out: &str| fs::read_to_string(at.join(out).join("survey.csv")).unwrap();
    assert_eq!(table("killed"), table("whole"));
    assert_eq!(table("whole").lines().next(), Some("widths,seed,dead,regions"));
    for file in ["survey.parquet", "dead.svg", "regions.tex", "plan.json"] {
        assert!(at.join("whole").join(file).exists(), "{file}");
    }
    // Another question in the same folder, a broken part, and no time at all.
    let (code, _, err) = fiberscope(at, &line(150, "whole").replace("dead,regions", "linear"));
    assert!(code == 2 && err.contains("holds another survey"), "{err}");
    fs::write(at.join("killed/parts/0-0-64.json"), "[]").unwrap();
    let (code, _, err) = fiberscope(at, &line(150, "killed"));
    assert!(code == 2 && err.contains("expected the seeds 0 to 63"), "{err}");
    let (code, none, _) = fiberscope(at, &format!("{} --time-limit 0.000001", line(150, "late")));
    assert_eq!((code, none["complete"].as_bool(), none["networks"].as_u64()), (3, Some(false), Some(0)));
}

#[test]
fn histograms_count_every_network() {
    let folder = tempfile::tempdir().unwrap();
    let line =
        "survey --widths 3,3,2,1 --count 500 --measure identifiable,fiber-dimension,hidden -o out --seed 9";
    let (code, value, err) = fiberscope(folder.path(), line);
    assert_eq!(code, 0, "{err}");
    for name in ["identifiable", "fiber-dimension", "hidden"] {
        let found = &value["measures"][name];
        let counted: u64 =
            found["histogram"].as_array().unwrap().iter().map(|bin| bin["count"].as_u64().unwrap()).sum();
        assert_eq!(counted, found["decided"].as_u64().unwrap());
        assert_eq!(counted + found["undecided"].as_u64().unwrap(), 500);
        let (mean, min, max) = (&found["mean"], &found["min"], &found["max"]);
        assert!(min.as_f64() <= mean.as_f64() && mean.as_f64() <= max.as_f64());
    }
    assert_eq!(value["measures"]["identifiable"]["exact"], 0.753_906_25);
}

#[test]
fn a_survey_of_trained_networks_keeps_its_task_and_draws_for_papers() {
    let folder = tempfile::tempdir().unwrap();
    let line = |task: &str, epochs: u64| {
        format!("survey --widths 1,3,1 --count 3 --measure regions -o out --task {task} --epochs {epochs}")
    };
    let (code, value, err) = fiberscope(folder.path(), &line("f1", 2));
    assert_eq!(code, 0, "{err}");
    assert_eq!(value["plan"]["training"], serde_json::json!({"task": "f1", "epochs": 2}));
    let picture = fs::read(folder.path().join("out/regions.pdf")).unwrap();
    assert!(picture.starts_with(b"%PDF-1.4") && picture.ends_with(b"%%EOF\n"));
    let drawn = fs::read_to_string(folder.path().join("out/regions.svg")).unwrap();
    assert!(drawn.contains("regions of trained networks"));
    for (wrong, said) in [
        (line("f1", 3), "holds another survey"),
        (line("f7", 2), "no task \"f7\""),
        (line("g1", 2).replace("1,3,1", "3,3,1"), "task g1 has 2 input(s)"),
        ("survey --widths 1,3,1 --count 1 --measure dead -o other --epochs 2".into(), "--task"),
    ] {
        let (code, _, err) = fiberscope(folder.path(), &wrong);
        assert!(code == 2 && err.contains(said), "{wrong}: {err}");
    }
}
