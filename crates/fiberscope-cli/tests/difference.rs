//! `diff`, `bounds`, `equiv --tolerance` and `report` on files: pictures, balls, classes, pages.
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn run(folder: &Path, line: &str) -> (i32, String, String) {
    let words = line.split_whitespace();
    let output =
        Command::new(env!("CARGO_BIN_EXE_fiberscope")).args(words).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(folder: &Path, line: &str) -> (i32, Value) {
    let (code, out, err) = run(folder, &format!("{line} --json"));
    (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{line}: {out}{err}")))
}

/// `abs(x)` and `relu(x) + slope relu(-x)` with a second output, their negative.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, slope) in [("a", 1.0), ("b", 1.5)] {
        let network = serde_json::json!({
            "format": "fiberscope-network",
            "version": 1,
            "layers": [
                {"weight": [[1.0], [-1.0]], "bias": [0.0, 0.0], "activation": "relu"},
                {"weight": [[1.0, slope], [-1.0, -1.0]], "bias": [0.0, 0.5], "activation": "identity"},
            ],
        });
        fs::write(folder.path().join(format!("{name}.json")), network.to_string()).unwrap();
    }
    fs::write(folder.path().join("rows.csv"), "x\n-1\n-0.25\n0.5\n3\n").unwrap();
    folder
}

/// On `[x - r, x + r]` the first outputs differ by `relu(-x) / 2`, the second ones by nothing.
#[test]
fn balls_have_bounds_of_every_output() {
    let folder = folder();
    let line = "diff a.json b.json --around rows.csv --radius 0.5";
    let (code, value) = json(folder.path(), line);
    let outputs = value["outputs"].as_array().unwrap();
    assert_eq!(outputs.len(), 2);
    let (least, most) = (outputs[0]["lower"].as_f64().unwrap(), outputs[0]["upper"].as_f64().unwrap());
    assert!(least <= 0.75 && (0.75..=1.1 * 0.75).contains(&most), "{value}");
    assert_eq!(outputs[1]["lower"].as_f64(), Some(0.0));
    // The search ends when the largest difference is known; the other output has some bound.
    assert!((0.0..0.75).contains(&outputs[1]["upper"].as_f64().unwrap()), "{value}");
    assert_eq!(value["around"]["rows"].as_array().unwrap().len(), 4);
    assert!(code == 0 || code == 3);
}

#[test]
fn pictures_show_what_was_found() {
    let folder = folder();
    let at = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (code, ..) = run(folder.path(), "diff a.json b.json --box -2,2 --data rows.csv --plot box.svg");
    assert_eq!(code, 0);
    let svg = at("box.svg");
    // Curves over the only input, bounds of two outputs, a histogram of four rows.
    for part in [
        "a.json and b.json",
        "output 1: B - A",
        ">output 2</text>",
        "Differences on 4 rows of data",
        "on the box (certified)",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    let (code, ..) = run(
        folder.path(),
        "diff a.json b.json --around rows.csv --radius 0.5 --epsilon 0.1 --plot balls.svg",
    );
    assert_eq!(code, 1);
    assert!(at("balls.svg").contains("epsilon 0.1"));
    let (code, _, err) = run(folder.path(), "diff a.json b.json --box -2,2 --plot box.gif");
    assert_eq!(code, 2);
    assert!(err.contains("box.gif: expected a file name ending in .svg, .png, .pdf or .tex"), "{err}");
}

/// The second output of `a` is `1/2 - abs(x)`, the first `abs(x)`: they meet at 1/4 and -1/4.
#[test]
fn classes_are_certain_up_to_where_they_change() {
    let folder = folder();
    fs::write(folder.path().join("one.csv"), "x\n1\n0\n").unwrap();
    let (code, certain) = json(folder.path(), "bounds a.json --around one.csv --radius 0.2");
    assert_eq!((code, certain["certain"].as_u64()), (0, Some(2)), "{certain}");
    assert_eq!(
        (&certain["rows"][0]["class"], &certain["rows"][1]["class"]),
        (&Value::from(1), &Value::from(2))
    );
    // At 1 the first leads by 3/2; it loses at least 2 * 0.2 of it.
    let margin = certain["rows"][0]["margin"].as_f64().unwrap();
    assert!(margin > 0.0 && margin <= 1.1, "{margin}");
    let (code, broken) = json(folder.path(), "bounds a.json --around one.csv --radius 0.3");
    assert_eq!((code, broken["certain"].as_u64(), broken["broken"].as_u64()), (1, Some(1), Some(1)));
    let witness = &broken["rows"][1]["witness"];
    assert!(witness["x"][0].as_f64().unwrap().abs() >= 0.25 && witness["class"] == 1, "{witness}");
    let (code, text, _) = run(folder.path(), "bounds a.json --around one.csv --radius 0.3 --box 0.9,2");
    assert_eq!(code, 0);
    assert!(text.contains("row 1: class 1, certain") && text.contains("row 2: outside the box"), "{text}");
    for (line, part) in [
        ("bounds a.json --around one.csv", "--radius"),
        ("bounds a.json --around one.csv --radius nan", "--radius"),
        ("bounds a.json", "--around FILE --radius R"),
        ("bounds a.json --box 2,1", "--box 2,1"),
    ] {
        let (code, _, err) = run(folder.path(), line);
        assert!(code == 2 && err.contains(part), "{line}: {err}");
    }
}

/// The largest difference on `[-2, 2]` is 1, at -2.
#[test]
fn a_tolerance_is_decided_on_both_sides_of_the_largest_difference() {
    let folder = folder();
    let asked = |tolerance: &str| {
        json(
            folder.path(),
            &format!("equiv a.json b.json --box -2,2 --tolerance {tolerance} --method difference"),
        )
    };
    let (code, within) = asked("1.01");
    assert_eq!((code, within["verdict"].as_str()), (0, Some("equivalent_up_to_rounding")), "{within}");
    assert_eq!(within["method"], "difference");
    let bound = within["bound"].as_f64().unwrap();
    assert!((1.0..=1.01).contains(&bound));
    let (code, beyond) = asked("0.99");
    assert_eq!((code, beyond["verdict"].as_str()), (1, Some("different")));
    assert!(beyond["difference"].as_f64().unwrap() > 0.99);
    let (code, _, err) = run(folder.path(), "equiv a.json b.json --box -2,2 --tolerance -1");
    assert!(code == 2 && err.contains("--tolerance"), "{err}");
}

#[test]
fn a_report_tells_how_far_apart_networks_are() {
    let folder = folder();
    let (code, out, _) = run(folder.path(), "report a.json b.json --box -2,2 --data rows.csv -o page.html");
    assert_eq!(code, 0);
    assert!(out.contains("how far apart they are: at least 1,"), "{out}");
    let html = fs::read_to_string(folder.path().join("page.html")).unwrap();
    for part in ["How far apart", "The worst input", "On the data", "checked: within"] {
        assert!(html.contains(part), "{part}");
    }
    let (_, out, _) = run(folder.path(), "report a.json b.json -o page.html");
    assert!(out.contains("needs a bounded box"), "{out}");
}
