//! What is published is complete: every crate has what crates.io and its readers ask for, and needs nothing
//! outside its own folder. (`cargo xtask package` compiles the packages; this is the part that takes no
//! time.)
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The crates of the workspace that may be published.
fn published() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    // `publish = false` is an empty list of registries there.
    packages.filter(|package| package["publish"].is_null()).cloned().collect()
}

fn folder(package: &Value) -> PathBuf {
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

#[test]
fn the_library_and_the_command_are_published_and_the_workshop_is_not() {
    let names: Vec<String> = published().iter().map(|p| p["name"].as_str().unwrap().to_owned()).collect();
    assert!(
        names.iter().any(|name| name == "fiberscope") && names.iter().any(|name| name == "fiberscope-cli")
    );
    for package in published() {
        let folder = folder(&package);
        assert!(folder.parent() == Some(&root().join("crates")), "{}: publish = false", folder.display());
    }
}

#[test]
fn published_crates_say_what_they_are() {
    for package in published() {
        let name = package["name"].as_str().unwrap();
        for key in ["description", "license", "repository", "readme", "rust_version"] {
            assert!(package[key].is_string(), "{name}: its manifest has no {key}");
        }
        for key in ["keywords", "categories", "authors"] {
            assert!(!package[key].as_array().unwrap().is_empty(), "{name}: its manifest has no {key}");
        }
        let manifest = fs::read_to_string(folder(&package).join("Cargo.toml")).unwrap();
        assert!(manifest.contains("include.workspace = true"), "{name}: what its package holds is not said");
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let path = folder(&package).join(licence);
            assert!(path.exists(), "{}: link ../../{licence} here", path.display());
        }
    }
}

#[test]
fn published_crates_take_in_nothing_from_outside() {
    for package in published() {
        let folder = folder(&package);
        let mut folders = vec![folder.join("src")];
        let mut sources = vec![folder.join("build.rs")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { sources.push(path) }
            }
        }
        for path in sources.iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
            let Ok(text) = fs::read_to_string(path) else { continue };
            let depth = path.parent().unwrap().strip_prefix(&folder).unwrap().components().count();
            for (at, _) in text.match_indices("include_") {
                let call = text[at..].split(';').next().unwrap();
                let steps = call.matches("../").count();
                assert!(steps <= depth, "{}: {call}", path.display());
            }
        }
    }
}

/// What `release` compiles in less time, `dist` optimises again, or leaves as it is because it is never
/// called.
#[test]
fn what_is_released_is_optimised() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let levels = |header: &str| -> Vec<(String, String)> {
        let lines = manifest.lines().skip_while(|line| *line != header).skip(1);
        let lines = lines.take_while(|line| !line.starts_with('['));
        let pairs = lines.filter_map(|line| line.split_once(" = { opt-level = "));
        pairs.map(|(name, level)| (name.to_owned(), level.trim_end_matches(" }").to_owned())).collect()
    };
    let quick = levels("[profile.release.package]");
    let quick =
        quick.iter().filter(|(_, level)| level != "0").map(|(name, _)| (name.clone(), "3".to_owned()));
    assert_eq!(quick.collect::<Vec<_>>(), levels("[profile.dist.package]"));
}
