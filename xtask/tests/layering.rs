//! The separation of the house: who may import whom.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// For every crate, the crates of the house that it may depend on (development dependencies aside).
const ALLOWED: &[(&str, &[&str])] = &[
    ("fiberscope-core", &[]),
    ("fiberscope-check", &["fiberscope-core"]),
    ("fiberscope-algebra", &["fiberscope-core"]),
    ("fiberscope", &["fiberscope-algebra", "fiberscope-core", "fiberscope-check"]),
    ("fiberscope-io", &["fiberscope-core"]),
    ("fiberscope-report", &["fiberscope", "fiberscope-core", "fiberscope-check", "fiberscope-io"]),
    (
        "fiberscope-cli",
        &["fiberscope", "fiberscope-core", "fiberscope-check", "fiberscope-io", "fiberscope-report"],
    ),
    (
        "fiberscope-python",
        &[
            "fiberscope",
            // For the console script, which is the command; see the test below.
            "fiberscope-cli",
            "fiberscope-core",
            "fiberscope-check",
            "fiberscope-io",
            "fiberscope-report",
        ],
    ),
    ("fiberscope-web", &["fiberscope", "fiberscope-core", "fiberscope-check", "fiberscope-io"]),
    (
        "fiberscope-bench",
        &["fiberscope", "fiberscope-core", "fiberscope-check", "fiberscope-io", "fiberscope-report"],
    ),
    (
        "fiberscope-soak",
        &["fiberscope", "fiberscope-core", "fiberscope-check", "fiberscope-io", "fiberscope-report"],
    ),
    ("xtask", &[]),
];

fn metadata() -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The ordinary dependencies of every crate of the workspace.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let metadata = metadata();
    let package = |package: &Value| {
        let ordinary = |dependency: &&Value| dependency["kind"].is_null();
        let name = |dependency: &Value| dependency["name"].as_str().unwrap().to_owned();
        let list = package["dependencies"].as_array().unwrap().iter().filter(ordinary).map(name);
        (package["name"].as_str().unwrap().to_owned(), list.collect())
    };
    metadata["packages"].as_array().unwrap().iter().map(package).collect()
}

#[test]
fn imports_follow_the_layers() {
    let dependencies = dependencies();
    let known: Vec<_> = ALLOWED.iter().map(|(name, _)| *name).collect();
    for (name, imports) in &dependencies {
        let (_, allowed) = ALLOWED.iter().find(|(known, _)| known == name).unwrap_or_else(|| {
            panic!("crate {name} has no place in the layering; give it one in this test and ARCHITECTURE.md")
        });
        for import in imports.iter().filter(|import| known.contains(&import.as_str())) {
            assert!(allowed.contains(&import.as_str()), "{name} must not import {import}");
        }
    }
    assert_eq!(dependencies.len(), ALLOWED.len());
}

#[test]
fn the_checker_depends_on_core_alone() {
    assert_eq!(dependencies()["fiberscope-check"], ["fiberscope-core"]);
}

#[test]
fn python_asks_the_command_for_nothing_but_to_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("python/src");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let text: String = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let uses: Vec<&str> = text.split("fiberscope_cli").skip(1).collect();
    assert!(uses.len() == 1 && uses[0].starts_with("::run("), "{}", uses.len());
}
