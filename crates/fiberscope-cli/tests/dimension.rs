//! `funcdim`, `train` and `reproduce` as users run them: files, exit codes, errors.
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn fiberscope(folder: &Path, line: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fiberscope"));
    let output = command.args(line.split_whitespace()).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn json(folder: &Path, line: &str) -> Value {
    let ran = fiberscope(folder, &format!("{line} --json"));
    assert_eq!(ran.code, 0, "{line}: {}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// `|x|` as JSON.
const ABSOLUTE: &str = r#"{"format": "fiberscope-network", "version": 1, "layers": [
    {"weight": [[1], [-1]], "bias": [0, 0], "activation": "relu"},
    {"weight": [[1, 1]], "bias": [0], "activation": "identity"}]}"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("abs.json"), ABSOLUTE).unwrap();
    fs::write(folder.path().join("x.csv"), "x\n-1\n2\n3\n4\n").unwrap();
    folder
}

#[test]
fn the_dimension_of_the_absolute_value() {
    let folder = folder();
    let at = folder.path();
    let value = json(at, "funcdim abs.json x.csv --generic --spectrum --ntk k.npy --plot bar.png");
    for (key, expected) in [
        ("rank", 3),
        ("rank_float32", 3),
        ("rank_float64", 3),
        ("rank_generic", 3),
        ("rows", 4),
        ("parameters", 7),
    ] {
        assert_eq!(value[key], expected, "{key}: {value}");
    }
    assert_eq!((&value["lower"], &value["upper"]), (&value["rank"], &value["rank"]));
    assert_eq!((value["regions_sampled"].as_u64(), value["symmetry_dimension"].as_u64()), (Some(2), Some(4)));
    assert_eq!(value["bounds"]["regions"], 3);
    let kernel = fs::read(at.join("k.npy")).unwrap();
    assert_eq!(kernel.len(), 128 + 4 * 4 * 8);
    assert!(fs::read(at.join("bar.png")).unwrap().starts_with(b"\x89PNG"));
    // At x = -1 one neuron is active with h = 1: the first layer adds |(x, 1)|^2 = 2, the second |(0, h,
    // 1)|^2 = 2.
    let first = f64::from_le_bytes(kernel[128..136].try_into().unwrap());
    assert_eq!(first, 4.0);
    for (how, coverage) in [("", "all of them"), ("--max-regions 1 --samples 100", "found by 100 random")] {
        let full = json(at, &format!("funcdim abs.json {how}"));
        assert_eq!((full["rank"].as_u64(), full["regions_sampled"].as_u64()), (Some(4), Some(2)), "{how}");
        assert!(full["coverage"].as_str().unwrap().starts_with(coverage), "{how}: {full}");
    }
    let flat = fiberscope(at, "funcdim abs.json --box 1,1");
    assert_eq!(flat.code, 2);
    assert!(flat.err.contains("a side of length 0"), "{}", flat.err);
    let text = fiberscope(at, "funcdim abs.json x.csv").out;
    assert!(text.contains("dimension     3 (proved)"), "{text}");
}

#[test]
fn bad_data_are_refused_in_a_sentence() {
    let folder = folder();
    let at = folder.path();
    let cases = [
        (
            "1,2\n3,4\n",
            "x.csv: expected 1 columns, as the network has inputs, found 2; --inputs 1 takes the first ones",
        ),
        ("x\n1\n\n,\n", "line 4, column 1: the cell is empty; expected a finite number"),
        ("x\n1\nNA\n", "line 3, column 1: found \"NA\"; expected a finite number"),
        ("x\n1\nred\n", "line 3, column 1: found \"red\"; expected a finite number"),
        ("x\n", "line 1 is a header; expected rows of numbers after it"),
    ];
    for (text, expected) in cases {
        fs::write(at.join("x.csv"), text).unwrap();
        let ran = fiberscope(at, "funcdim abs.json x.csv");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{text:?}");
        assert!(ran.err.contains(expected), "{text:?}: {}", ran.err);
    }
    fs::write(at.join("x.csv"), "5\n5\n5\n").unwrap();
    let warned = json(at, "funcdim abs.json x.csv");
    assert_eq!(warned["warnings"][0], "column 1 is constant on the batch");
    assert_eq!(warned["rank"], 1);
    assert_eq!(fiberscope(at, "funcdim abs.json --box 1,1").code, 2);
}

#[test]
fn a_training_is_resumed_and_its_network_is_a_model() {
    let folder = folder();
    let at = folder.path();
    let flags = "--task f1 --widths 1,5,5,1 --seeds 2 --every 5 --checkpoint 5";
    let whole = json(at, &format!("train {flags} --epochs 20 -o whole"));
    assert_eq!(whole["runs"].as_array().unwrap().len(), 2);
    json(at, &format!("train {flags} --epochs 10 -o parts"));
    let again = fiberscope(at, &format!("train {flags} --epochs 20 -o parts"));
    assert!(again.code == 2 && again.err.contains("--resume goes on with it"), "{}", again.err);
    let other = fiberscope(at, &format!("train {flags} --rate 0.5 --epochs 20 -o parts --resume"));
    assert!(other.code == 2 && other.err.contains("other settings"), "{}", other.err);
    json(at, "train parts/config.json --epochs 20 -o parts --resume");
    for file in [
        "seed-0000.safetensors",
        "seed-0001.safetensors",
        "trajectory.csv",
        "trajectory.parquet",
        "dimension.svg",
    ] {
        let same =
            fs::read(at.join("whole").join(file)).unwrap() == fs::read(at.join("parts").join(file)).unwrap();
        assert!(same, "{file}");
    }
    let trajectory = fs::read_to_string(at.join("parts/trajectory.csv")).unwrap();
    assert_eq!(trajectory.lines().count(), 1 + 2 * 5);
    let last = &whole["runs"][0]["last"];
    fs::write(at.join("one.csv"), "0.25\n0.5\n0.75\n").unwrap();
    let value = json(at, "funcdim whole/seed-0000.safetensors one.csv");
    assert!(value["rank"].as_u64().unwrap() <= last["rank"].as_u64().unwrap());
}

#[test]
fn divergence_and_failing_checkpoints_are_told() {
    let folder = folder();
    let at = folder.path();
    let ran =
        fiberscope(at, "train --task f1 --widths 1,6,6,1 --optimizer sgd --rate 1e9 --epochs 30 -o bad");
    assert!(
        ran.code == 1 && ran.err.contains("note: seed 0: the loss is not finite in epoch"),
        "{}",
        ran.err
    );
    assert!(at.join("bad/trajectory.csv").exists());
    // A checkpoint that cannot be written ends its seed; the other's files are written all the same.
    fs::create_dir_all(at.join("full/seed-0001.checkpoint")).unwrap();
    let ran = fiberscope(at, "train --task f1 --widths 1,4,1 --seeds 2 --epochs 4 -o full");
    assert!(
        ran.code == 2 && ran.err.contains("seed-0001.checkpoint: expected a file, found a folder"),
        "{}",
        ran.err
    );
    assert!(at.join("full/seed-0000.checkpoint").is_file() && at.join("full/trajectory.csv").is_file());
    let ran = fiberscope(at, "train -o nothing");
    assert!(ran.code == 2 && ran.err.contains("--task NAME or --data FILE"), "{}", ran.err);
    fs::write(at.join("config.json"), r#"{"task": "f1", "learning-rate": 1}"#).unwrap();
    let ran = fiberscope(at, "train config.json -o nothing");
    assert!(ran.code == 2 && ran.err.contains("unknown field `learning-rate`"), "{}", ran.err);
}

#[test]
fn experiments_are_rerun_in_small() {
    let folder = folder();
    let at = folder.path();
    let value = json(at, "reproduce ntk-weight-decay --seeds 2 --epochs 8 -o out");
    let experiment = &value["experiments"][0];
    assert_eq!(experiment["groups"].as_array().unwrap().len(), 3);
    assert_eq!(experiment["comparisons"].as_array().unwrap().len(), 3);
    for file in [
        "ntk-weight-decay.html",
        "ntk-weight-decay-exact.svg",
        "ntk-weight-decay-float32.png",
        "ntk-weight-decay-decay-1e-4.parquet",
    ] {
        assert!(at.join("out").join(file).exists(), "{file}");
    }
    let value = json(at, "reproduce ntk-init --seeds 3 -o out");
    assert_eq!(value["experiments"][0]["groups"][2]["runs"], 3);
    // One page of claims for several experiments, with a width as an axis.
    let value = json(at, "reproduce ntk-sweep --widths 4,6 --seeds 3 --epochs 40 -o sweep");
    assert_eq!(value["experiments"].as_array().unwrap().len(), 2);
    assert_eq!(value["experiments"][1]["hidden_width"], 6);
    let course = &value["experiments"][0]["course"]["by_epoch"];
    assert!(course.as_array().unwrap().len() >= 4 && course[0]["rank"].as_array().unwrap().len() == 3);
    assert!(value["claims"].as_array().unwrap().iter().all(|claim| claim["verdict"].is_string()));
    let page = fs::read_to_string(at.join("sweep/ntk-sweep.html")).unwrap();
    assert!(page.contains("Claims and verdicts") && page.contains("hidden width 6"));
    assert_eq!(fiberscope(at, "reproduce ntk-sweep --widths 0 -o sweep").code, 2);
    let ran = fiberscope(at, "reproduce ntk-nothing");
    assert!(ran.code == 2 && ran.err.contains("expected all or one of ntk-init"), "{}", ran.err);
}

#[test]
fn stabilisers_are_told_with_the_dimension() {
    let folder = folder();
    let at = folder.path();
    let layers = r#"{"format": "fiberscope-network", "version": 1, "layers": [
        {"weight": [[1], [-2], [0.5], [3]], "bias": [1, 0.25, -1, 2], "activation": "relu"},
        {"weight": [[1, 2, 0.5, -1], [0, 1, -3, 2], [2, -1, 1, 0.75]], "bias": [0, 1, -1], "activation": "identity"}]}"#;
    fs::write(at.join("grows.json"), layers).unwrap();
    let value = json(at, "funcdim grows.json x.csv --stabiliser");
    let groups = value["orbits"]["groups"].as_array().unwrap();
    assert_eq!(groups.iter().map(|group| group["dimension"].as_u64().unwrap()).collect::<Vec<_>>()[2], 16);
    assert_eq!(groups[2]["stabiliser"], serde_json::json!([2, 2]));
    assert_eq!(groups[0]["stabiliser"], serde_json::json!([0, 0]));
    assert_eq!(
        (&value["orbits"]["roughly_monotonic_i"], &value["orbits"]["roughly_monotonic_ii"]),
        (&false.into(), &true.into())
    );
    let text = fiberscope(at, "funcdim grows.json x.csv --stabilizer").out;
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("false for widths 1,4,3"), "{text}");
}

#[test]
fn a_linear_network_is_trained_and_its_strata_are_recorded() {
    let folder = folder();
    let at = folder.path();
    let rows = ["1,1,3,1", "1,-1,3,-1", "-1,1,-3,1", "-1,-1,-3,-1"];
    fs::write(at.join("data.csv"), format!("a,b,u,v\n{}\n", rows.join("\n"))).unwrap();
    let line = "train --data data.csv --targets 2 --widths 2,3,2 --linear --no-bias --init-scale 0.001 --optimizer sgd \
        --momentum 0 --rate 0.02 --weight-decay 0 --precision f64 --epochs 600 --every 20 --stratum-threshold 0.3 -o run";
    let value = json(at, line);
    assert_eq!(value["runs"][0]["last"]["stratum"]["ranks"], serde_json::json!([[2], [2, 2]]));
    let table = fs::read_to_string(at.join("run/trajectory.csv")).unwrap();
    assert!(table.starts_with("seed,epoch,") && table.lines().next().unwrap().contains(",r_2_0,"));
    for file in ["strata.svg", "distances.png"] {
        assert!(at.join("run").join(file).exists(), "{file}");
    }
    let wrong = fiberscope(at, "train --task f1 --stratum-threshold 0.1 -o other");
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("--linear"), "{}", wrong.err);
}

/// Plain gradient descent drifts as the step; what is told of neurons is what the states of the records say.
#[test]
fn the_course_of_a_training_is_told() {
    let folder = folder();
    let at = folder.path();
    let line = "train --task f1 --widths 1,6,5,1 --optimizer sgd --momentum 0 --weight-decay 0 --rate 0.005 --batch 100 \
        --precision f64 --epochs 64 --every 8 --halvings 2 -o run";
    let found = json(at, line);
    let dynamics = &found["runs"][0]["dynamics"];
    let steps: Vec<f64> = dynamics["drift_by_step"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each["step"].as_f64().unwrap())
        .collect();
    assert_eq!(steps, [0.005, 0.0025, 0.00125]);
    for order in dynamics["orders"].as_array().unwrap() {
        assert!((0.9..1.2).contains(&order.as_f64().unwrap()), "{dynamics}");
    }
    let rows = |name: &str| -> Vec<Vec<f64>> {
        let text = fs::read_to_string(at.join("run").join(name)).unwrap();
        let row = |line: &str| line.split(',').map(|x| x.parse().unwrap()).collect();
        text.lines().skip(1).map(row).collect()
    };
    // Nine records of 11 neurons; the largest change at the end is the drift of the trajectory.
    let conserved = rows("conserved.csv");
    assert_eq!(conserved.len(), 9 * 11);
    let largest =
        conserved.iter().filter(|row| row[1] == 64.0).fold(0.0f64, |most, row| most.max(row[4].abs()));
    assert_eq!(largest, found["runs"][0]["last"]["drift"].as_f64().unwrap());
    // Ranks change where the events say, and nowhere else.
    let ranks: Vec<(f64, f64)> = rows("trajectory.csv").iter().map(|row| (row[1], row[4])).collect();
    let expected: Vec<[f64; 4]> = ranks
        .windows(2)
        .filter(|pair| pair[0].1 != pair[1].1)
        .map(|pair| [pair[0].0, pair[1].0, pair[0].1, pair[1].1])
        .collect();
    let events = rows("events.csv");
    let told: Vec<[f64; 4]> =
        events.iter().filter(|row| row[3] == 0.0).map(|row| [row[1], row[2], row[5], row[6]]).collect();
    assert_eq!(told, expected);
    let picture = fs::read_to_string(at.join("run/dynamics-0000.svg")).unwrap();
    assert!(picture.contains("Neurons on the data") && picture.contains("Drift and step"));
    let ran = fiberscope(at, "plan train --task f1 --halvings 1 -o plan");
    assert!(ran.code == 2 && ran.err.contains("--halvings is for `fiberscope train`"), "{}", ran.err);
}
