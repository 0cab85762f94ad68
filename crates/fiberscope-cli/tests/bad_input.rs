//! `equiv` on bad input: exit code 2, an error that says what is wrong, and no file touched.
use std::fs;
use std::path::Path;
use std::process::Command;

/// A network `R^2 -> R^outputs` with one hidden layer; `w` is its first weight.
fn network(w: &str, outputs: usize) -> String {
    let row = vec!["[1, -1]"; outputs].join(", ");
    let bias = vec!["0"; outputs].join(", ");
    format!(
        r#"{{"format": "fiberscope-network", "version": 1, "layers": [
        {{"weight": [[{w}, 2], [3, 4]], "bias": [1, 2], "activation": "relu"}},
        {{"weight": [{row}], "bias": [{bias}], "activation": "identity"}}]}}"#
    )
}

/// Runs `fiberscope` in a folder: exit code, standard output, standard error.
fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_fiberscope")).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The command fails with this message, prints nothing and leaves the folder as it is.
fn refused(folder: &Path, arguments: &[&str], expected: &str) {
    let files = |folder: &Path| {
        let read = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.unwrap().path();
            (fs::read(&path).unwrap(), path)
        };
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(read).collect();
        files.sort();
        files
    };
    let before = files(folder);
    let (code, out, error) = run(folder, arguments);
    assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {error}");
    assert!(error.contains(expected), "{arguments:?}: {error}");
    assert!(error.lines().count() <= 2, "{error}");
    assert_eq!(files(folder), before, "{arguments:?}");
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let digest = "0".repeat(64);
    let state = format!(
        r#"{{"format": "fiberscope-search", "version": 1, "given": ["{digest}", "{digest}"],
        "a": "{digest}", "b": "{digest}", "domain": "space",
        "leaves": 0, "items": []}}"#
    );
    for (file, text) in [
        ("a.json", network("1", 1)),
        ("b.json", network("1.5", 1)),
        ("two.json", network("1", 2)),
        ("nan.json", network("NaN", 1)),
        ("huge.json", network("1e999", 1)),
        ("short.csv", "0,1\n".into()),
        ("search.json", state),
        ("old.json", r#"{"format": "fiberscope-search", "version": 7}"#.into()),
        ("cut.json", r#"{"format": "fiberscope-search", "vers"#.into()),
    ] {
        fs::write(folder.path().join(file), text).unwrap();
    }
    folder
}

#[test]
fn networks_that_cannot_be_compared() {
    let folder = folder();
    let folder = folder.path();
    refused(folder, &["equiv", "a.json", "two.json"], "the networks have 1 and 2 outputs");
    refused(folder, &["equiv", "a.json", "zoo:abs"], "the networks have 2 and 1 inputs");
    refused(folder, &["equiv", "a.json", "nan.json"], "nan.json");
    refused(folder, &["equiv", "huge.json", "a.json"], "huge.json");
    refused(folder, &["equiv", "a.json", "missing.json"], "missing.json");
}

#[test]
fn boxes_that_do_not_fit() {
    let folder = folder();
    let folder = folder.path();
    refused(
        folder,
        &["equiv", "a.json", "b.json", "--box", "1,-1"],
        "lower bound 1 is above the upper bound -1",
    );
    refused(folder, &["equiv", "a.json", "b.json", "--box", "short.csv"], "short.csv");
    refused(folder, &["equiv", "a.json", "b.json", "--box", "0,NaN"], "0,NaN");
    refused(folder, &["reduce", "a.json", "-o", "small.json", "--box", "short.csv"], "short.csv");
}

#[test]
fn states_of_other_searches() {
    let folder = folder();
    let folder = folder.path();
    let resume =
        |file: &'static str| ["equiv", "a.json", "b.json", "--resume", file, "--certificate", "proof.json"];
    refused(folder, &resume("search.json"), "search.json: the state belongs to another search");
    let identical = ["equiv", "a.json", "a.json", "--resume", "search.json"];
    refused(folder, &identical, "search.json: the state belongs to another search");
    refused(folder, &resume("old.json"), "old.json");
    refused(folder, &resume("cut.json"), "cut.json: not the state of a search");
    refused(folder, &resume("a.json"), "a.json");
}

#[test]
fn a_certificate_for_other_networks_is_rejected() {
    let folder = folder();
    let folder = folder.path();
    let (code, _, error) = run(folder, &["equiv", "a.json", "b.json", "--certificate", "proof.json"]);
    assert_eq!(code, 1, "{error}");
    assert_eq!(run(folder, &["check", "proof.json", "a.json", "b.json"]).0, 0);
    let (code, out, _) = run(folder, &["check", "proof.json", "b.json", "a.json"]);
    assert!(code == 1 && out.contains("network A"), "{out}");
}

#[test]
fn no_time_is_no_answer() {
    let folder = folder();
    let folder = folder.path();
    let arguments = ["equiv", "a.json", "b.json", "--time-limit", "1e-9", "--resume", "new.json"];
    let (code, out, error) = run(folder, &arguments);
    assert_eq!(code, 3, "{error}");
    assert!(out.contains("undecided: the time limit was reached"), "{out}");
    assert!(!folder.join("new.json").exists());
    let (code, out, error) = run(folder, &["reduce", "a.json", "-o", "small.json", "--time-limit", "1e-9"]);
    assert!(code == 3 && out.contains("2-2-1 -> 2-2-1"), "{out} {error}");
}
