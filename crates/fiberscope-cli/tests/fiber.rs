//! `fiberscope fiber`, `volume`, `construct` and `conserve`: JSON keys, files, pictures and exit codes.
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn run(folder: &Path, line: &str) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_fiberscope"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(folder: &Path, line: &str, code: i32) -> Value {
    let (found, out, error) = run(folder, &format!("{line} --json"));
    assert_eq!(found, code, "{line}: {error}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn the_description_has_the_promised_keys() {
    let folder = tempfile::tempdir().unwrap();
    let value = json(folder.path(), "fiber zoo:linear-many", 0);
    for key in ["dimension", "components", "hidden", "symmetries", "latex"] {
        assert!(value.get(key).is_some(), "{key}");
    }
    let component = &value["components"][0];
    assert_eq!(
        (&component["empty"], component["dimension"].as_u64()),
        (&Value::Bool(false), value["dimension"].as_u64())
    );
    assert!(component["orientation"].is_string());
    // m(m+1) + d for one output and three inputs; the Jacobian agrees.
    assert_eq!(value["dimension"], 5);
    assert_eq!(value["dimension_in_parameters"], value["local_dimension"]);
    let hidden = &json(folder.path(), "fiber zoo:hiding-two", 0)["hidden"];
    assert_eq!((hidden["neuron"].as_u64(), hidden["t_min"].as_f64()), (Some(2), Some(-1.0)));
    let info = json(folder.path(), "info zoo:identifiable", 0);
    assert_eq!(
        (&info["identifiable"], &info["fiber_dimension"], &info["fiber_components"]),
        (&Value::Bool(true), &0.into(), &1.into())
    );
    assert_eq!(info["generic"]["holds"], true);
}

#[test]
fn the_dimension_is_that_of_the_jacobian_on_the_zoo() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "identifiable",
        "hiding-one",
        "hiding-two",
        "linear-few",
        "linear-square",
        "linear-pointed",
        "linear-many",
        "dead",
    ] {
        let value = json(folder.path(), &format!("fiber zoo:{name}"), 0);
        assert_eq!(value["dimension_in_parameters"], value["local_dimension"], "{name}");
        assert_eq!(value["local_dimension_complete"], true, "{name}");
    }
}

#[test]
fn outside_the_theory_the_condition_is_named_with_exit_code_3() {
    let folder = tempfile::tempdir().unwrap();
    for (name, expected) in [("duplicate", "neurons 1 and 2 of layer 1"), ("deep", "hidden layers")] {
        let value = json(folder.path(), &format!("fiber zoo:{name}"), 3);
        assert_eq!(value["covered"], false);
        let failing = value["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .find(|condition| condition["holds"] == false)
            .unwrap();
        assert!(failing["detail"].as_str().unwrap().contains(expected), "{failing}");
        assert!(value["lower_bound"].as_u64().unwrap() <= value["local_dimension"].as_u64().unwrap());
        assert!(value["dimension"].is_null());
    }
}

#[test]
fn points_and_paths_are_written_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sampled = json(folder, "fiber zoo:linear-many --sample 4 --exact -o points", 0);
    assert_eq!(
        (sampled["files"].as_array().unwrap().len(), sampled["max_difference"].as_f64()),
        (4, Some(0.0))
    );
    assert_eq!(sampled["exact"], 4);
    for k in 0..4 {
        assert_eq!(run(folder, &format!("equiv zoo:linear-many points/point-00{k}.json --exact")).0, 0);
    }
    let again = json(folder, "fiber zoo:linear-many --sample 4 --exact -o again --threads 1", 0);
    assert_eq!(again["exact"], 4);
    assert_eq!(
        fs::read(folder.join("points/point-003.json")).unwrap(),
        fs::read(folder.join("again/point-003.json")).unwrap()
    );
    let path = json(folder, "fiber --path points/point-000.json points/point-002.json --steps 6 -o path", 0);
    assert_eq!(path["files"].as_array().unwrap().len(), 7);
    assert!(path["max_difference"].as_f64().unwrap() < 1e-6, "{path}");
    assert_eq!(path["unproved"], 0);
    let apart =
        json(folder, "fiber zoo:linear-square --path zoo:linear-square zoo:linear-square-turned -o apart", 1);
    assert!(apart["reason"].as_str().unwrap().contains("different pieces"));
}

/// The networks A and B of the guide: a visible and a dead neuron, and the same function with the visible
/// neuron turned and the other one linear.
#[test]
fn a_dead_neuron_may_be_linear_in_an_equal_network() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/fiber");
    for name in ["a.json", "b.json"] {
        fs::copy(guide.join(name), folder.join(name)).unwrap();
    }
    let [a, b] = ["a.json", "b.json"].map(|name| json(folder, &format!("fiber {name}"), 0));
    for key in ["components", "dimension", "generic_dimension", "pieces", "nonempty", "nonempty_generic"] {
        assert_eq!(a[key], b[key], "{key}");
    }
    let row = |component: &Value| {
        ["orientation", "linear", "dead", "generic", "empty", "dimension"].map(|key| component[key].clone())
    };
    let expected = serde_json::json!([["+", 0, 1, true, false, 3], ["-", 1, 0, false, false, 1]]);
    let rows: Vec<_> = a["components"].as_array().unwrap().iter().map(row).collect();
    assert_eq!(serde_json::json!(rows), expected);
    assert_eq!((&b["given"]["orientation"], &b["given"]["generic"]), (&"-".into(), &Value::Bool(false)));
    assert!(b["latex"].as_str().unwrap().contains("not generic"));
    let info = json(folder, "info b.json", 0);
    assert_eq!((&info["fiber_dimension"], &info["fiber_components"]), (&3.into(), &2.into()));
    assert_eq!(
        (&info["identifiable"], &info["generic"]["holds"]),
        (&Value::Bool(false), &Value::Bool(false))
    );
    for (name, signs, linear) in [("a.json", "+", 0), ("b.json", "-", 1)] {
        let member = json(folder, &format!("fiber a.json --member {name}"), 0);
        assert_eq!((&member["orientation"], &member["linear"]), (&signs.into(), &linear.into()));
        let line =
            format!("fiber b.json --sample 2 --exact --orientation {signs} --linear {linear} -o {linear}");
        assert_eq!(json(folder, &line, 0)["exact"], 2);
        assert_eq!(run(folder, &format!("equiv a.json {linear}/point-001.json --exact")).0, 0);
    }
    let apart = json(folder, "fiber --path a.json b.json -o none", 1);
    assert!(apart["reason"].as_str().unwrap().contains("stays inside one piece"), "{apart}");
    let (code, _, error) = run(folder, "fiber a.json --sample 1 --orientation + --linear 1 -o none");
    assert_eq!((code, error.contains("has no piece (+, 1 linear)")), (2, true), "{error}");
}

#[test]
fn pictures_and_documents_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = "fiber zoo:linear-square --graph graph.svg --slice slice.svg --latex fiber.tex";
    assert_eq!(run(folder, line).0, 0);
    assert_eq!(run(folder, "fiber zoo:hiding-two --strip strip.svg --graph one.png").0, 0);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("graph.svg").matches("class=\"number\"").count(), 2);
    assert!(read("slice.svg").contains("the component"));
    assert_eq!(read("strip.svg").matches("same function").count(), 4);
    assert_eq!(read("strip.svg").matches("another function").count(), 1);
    assert!(read("fiber.tex").starts_with("\\documentclass"));
    assert!(fs::read(folder.join("one.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn conserved_quantities_drift_with_the_step() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut data = String::new();
    for k in 0..8 {
        let x = f64::from(k) / 4.0 - 1.0;
        data += &format!("{x},{},{},{}\n", 0.5 - x, x * x, x * x - 0.5);
    }
    fs::write(folder.join("data.csv"), data).unwrap();
    let value = json(folder, "conserve zoo:hiding-two data.csv --time 0.05 --plot drift.svg", 0);
    assert_eq!(value["drift"].as_array().unwrap().len(), 10);
    assert!(
        value["hidden"]["neuron"] == 2 && value["gradient_along_translation"].as_f64().unwrap() < 1e-9,
        "{value}"
    );
    assert!(folder.join("drift.svg").exists());
    let (code, _, error) = run(folder, "conserve zoo:linear-many data.csv --time -1");
    assert_eq!(code, 2, "{error}");
    let (code, _, error) = run(folder, "conserve zoo:abs data.csv");
    assert_eq!(code, 2);
    assert!(error.contains("expected 2 columns (1 inputs and 1 targets), found 4"), "{error}");
}

#[test]
fn the_volume_of_large_widths_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let value = json(folder.path(), "volume --widths 2,2,4,1", 0);
    assert_eq!(value["decimal"], 0.31591796875);
    let large = json(folder.path(), "volume --widths 500,500,40,2 --samples 100", 0);
    assert!(large["exact"].as_str().unwrap().len() > 10_000);
    let complement = large["complement"].as_f64().unwrap();
    assert!(complement > 0.0 && complement < 1e-140, "{complement}");
    assert_eq!(large["monte_carlo"], 1.0);
}

#[test]
fn time_limits_end_what_would_take_long() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let volume = json(folder, "volume --widths 9,9,9,1 --samples 1000000000000 --time-limit 0.5", 0);
    let drawn = volume["monte_carlo_samples"].as_u64().unwrap();
    assert!(volume["exact"].is_string() && drawn < 1_000_000_000_000);
    let rows: String = (0..200).map(|i| format!("{},{},{},1\n", i % 7, i % 5, i % 3)).collect();
    fs::write(folder.join("data.csv"), rows).unwrap();
    let flow = json(folder, "conserve zoo:hiding-two data.csv --steps 100000000 --time-limit 0.5", 3);
    assert_eq!((&flow["complete"], &flow["drift"]), (&Value::Bool(false), &serde_json::json!([])));
    let (code, out, _) = run(folder, "canon zoo:deep --time-limit 0.000000001");
    assert!(code == 3 && out.starts_with("undecided: the time limit was reached"), "{code} {out}");
}
