//! The separation of the house: which crate may import which, and no circles of files inside a crate (module
//! `modules` says what counts).
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod circles;
mod modules;
mod python;

use std::collections::BTreeMap;
use std::fs;
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

/// The circles of files in the library and the programs of a package, as sentences.
fn circles_of(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap();
    let is_ordinary = |target: &&Value| {
        let kinds = target["kind"].as_array().unwrap();
        kinds.iter().any(|kind| ["lib", "cdylib", "rlib", "bin"].iter().any(|known| kind == known))
    };
    let roots: Vec<&Value> = package["targets"].as_array().unwrap().iter().filter(is_ordinary).collect();
    assert!(!roots.is_empty(), "{name}");
    let sentences = roots.into_iter().flat_map(|root| {
        let modules = modules::Modules::read(Path::new(root["src_path"].as_str().unwrap()));
        let said = |circle: &Vec<modules::Module>| {
            let files: Vec<String> = circle.iter().chain([&circle[0]]).map(|file| file.join("::")).collect();
            format!("{name}: {}", files.join(" -> "))
        };
        circles::circles(&modules.uses()).iter().map(said).collect::<Vec<_>>()
    });
    sentences.collect()
}

const COMMAND: &str = "fiberscope-cli";

#[test]
fn crates_have_no_import_circles() {
    let metadata = metadata();
    let packages =
        metadata["packages"].as_array().unwrap().iter().filter(|package| package["name"] != COMMAND);
    let found: Vec<String> = packages.flat_map(circles_of).collect();
    assert!(found.is_empty(), "files that import each other in a circle:\n{}", found.join("\n"));
}

#[test]
fn the_command_has_no_import_circles() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let found = circles_of(packages.iter().find(|package| package["name"] == COMMAND).unwrap());
    assert!(found.is_empty(), "files that import each other in a circle:\n{}", found.join("\n"));
}

#[test]
fn the_python_package_has_no_import_circles() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("python/fiberscope");
    let imports = python::imports(&folder);
    assert!(imports.len() > 10 && imports.values().any(|used| used.contains("_terms")));
    let found = circles::circles(&imports);
    let sentences: Vec<String> =
        found.iter().map(|circle| format!("{} -> {}", circle.join(" -> "), circle[0])).collect();
    assert!(found.is_empty(), "modules that import each other in a circle:\n{}", sentences.join("\n"));
}

/// Files of a crate, written for the occasion, and the circles that are found.
fn found_in(files: &[(&str, &str)]) -> Vec<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("circles");
    let _ = fs::remove_dir_all(&folder);
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let modules = modules::Modules::read(&folder.join("lib.rs"));
    let found = circles::circles(&modules.uses());
    found
        .iter()
        .map(|circle| circle.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn circles_are_found_through_doors_and_paths() {
    let files = [
        ("lib.rs", "mod a;\npub mod room;\npub use room::Far;\nuse a::A;"),
        (
            "a.rs",
            "// use crate::room::Near;\npub struct A(crate::Far);\nconst TEXT: &str = \"crate::nowhere::B\";",
        ),
        (
            "room/mod.rs",
            "mod far;\nmod near;\npub use far::Far;\npub(crate) use near::{Near as Nearer, same};\npub struct Shared;",
        ),
        ("room/far.rs", "use super::{Nearer, Shared};\npub struct Far(Nearer, Shared);"),
        ("room/near.rs", "use super::Shared;\npub struct Near(Shared);\npub fn same() {}"),
    ];
    assert!(found_in(&files).is_empty(), "a door is no circle");
    let mut tested = files;
    tested[4].1 =
        "pub struct Near;\npub fn same() {}\n#[cfg(test)]\nmod tests { use super::super::far::Far; }";
    assert!(found_in(&tested).is_empty(), "tests do not count");
    let mut ring = files;
    ring[4].1 = "pub struct Near;\npub fn same() -> Option<char> { crate::a::A::new(); Some('\"') }";
    assert_eq!(found_in(&ring), ["a room::far room::near"]);
    let mut siblings = files;
    siblings[4].1 =
        "use super::{far::{self, Far}, Shared};\npub struct Near(Shared, far::Far);\npub fn same() {}";
    assert_eq!(found_in(&siblings), ["room::far room::near"]);
}

#[test]
fn python_asks_the_command_for_nothing_but_to_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("python/src");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let text: String = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let uses: Vec<&str> = text.split("fiberscope_cli").skip(1).collect();
    assert!(uses.len() == 1 && uses[0].starts_with("::run("), "{}", uses.len());
}
