//! Documents stay true: citation keys resolve, links lead somewhere.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// All files with these endings, outside build folders.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !["target", ".git", "node_modules", "corpus", "artifacts"].contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The citations `[key, place]` of a text: keys are a name, a year and a word, such as `someone2020word`.
fn citations(text: &str) -> Vec<&str> {
    let key = |inside: &str| -> Option<usize> {
        let name = inside.bytes().take_while(u8::is_ascii_lowercase).count();
        let year = inside.bytes().skip(name).take_while(u8::is_ascii_digit).count();
        let word = inside.bytes().skip(name + year).take_while(u8::is_ascii_lowercase).count();
        (name > 0 && year == 4).then_some(name + year + word)
    };
    let candidates = text.match_indices('[').filter_map(|(at, _)| {
        let inside = &text[at + 1..];
        let length = key(inside)?;
        matches!(inside.as_bytes().get(length), Some(b',' | b']' | b';')).then(|| &inside[..length])
    });
    candidates.collect()
}

#[test]
fn citations_are_found() {
    assert_eq!(
        citations("see [someone2020word, Theorem 1] and [x][a1] [2020] [other1999]"),
        ["someone2020word", "other1999"]
    );
}

#[test]
fn citation_keys_resolve_and_every_reference_is_cited() {
    let bibliography = fs::read_to_string(root().join("docs/references.bib")).unwrap();
    let known: BTreeSet<&str> = bibliography
        .lines()
        .filter(|line| line.starts_with('@'))
        .map(|line| line.split_once('{').unwrap().1.trim_end_matches(','))
        .collect();
    let mut cited = BTreeSet::new();
    for path in
        files(&[".rs", ".md", ".json"]).iter().filter(|path| !path.ends_with("xtask/tests/documents.rs"))
    {
        let Ok(text) = fs::read_to_string(path) else { continue };
        for key in citations(&text) {
            assert!(known.contains(key), "{}: [{key}] is not in docs/references.bib", path.display());
            cited.insert(key.to_owned());
        }
    }
    for key in known {
        assert!(cited.contains(key), "docs/references.bib: {key} is cited nowhere");
    }
}

#[test]
fn relative_links_lead_to_files() {
    for path in files(&[".md"]) {
        let text = fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap();
            let file = target.split('#').next().unwrap();
            if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
                continue;
            }
            let resolved = path.parent().unwrap().join(file);
            assert!(resolved.exists(), "{}: link to {target} leads nowhere", path.display());
        }
    }
}
