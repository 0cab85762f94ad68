//! Golden transcripts: every `$ fiberscope ...` of `tests/golden/*.txt` and of the README prints what the
//! transcript says. `cargo xtask bless` rewrites the transcripts.
//!
//! Lines of standard error start with `! `; an exit code other than 0 stands on a last line `[exit N]`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs a command line in the folder and gives its part of the transcript.
fn run(line: &str, folder: &Path) -> String {
    let (line, input) = line.split_once(" < ").map_or((line, None), |(line, file)| (line, Some(file)));
    let words: Vec<_> = line.split_whitespace().skip(1).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fiberscope"));
    command.args(words).current_dir(folder).env("COLUMNS", "100");
    command.stdin(input.map_or(Stdio::null(), |file| fs::File::open(folder.join(file)).unwrap().into()));
    let output = command.output().unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    for line in String::from_utf8(output.stderr).unwrap().lines() {
        text += &format!("! {line}\n");
    }
    match output.status.code() {
        Some(0) => {}
        Some(code) => text += &format!("[exit {code}]\n"),
        None => panic!("{line}: killed"),
    }
    text
}

/// A fresh folder in which `zoo/` is the zoo.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("crates/fiberscope-io/zoo"), folder.path().join("zoo")).unwrap();
    folder
}

/// The transcript with every command's output as it is now.
fn replay(transcript: &str) -> String {
    let folder = folder();
    let mut text = String::new();
    for line in transcript.lines().filter(|line| line.starts_with("$ ")) {
        let command = line.strip_prefix("$ ").unwrap();
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!("{line}\n{}", run(command, folder.path()));
    }
    text
}

#[test]
fn transcripts() {
    let bless = std::env::var_os("FIBERSCOPE_BLESS").is_some();
    let mut paths: Vec<_> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let expected = fs::read_to_string(&path).unwrap();
        let found = replay(&expected);
        if bless {
            fs::write(&path, found).unwrap();
        } else {
            assert_eq!(found, expected, "{}; if this is right: cargo xtask bless", path.display());
        }
    }
}

/// The `console` blocks of the README whose first line is a `fiberscope` command.
#[test]
fn readme() {
    let bless = std::env::var_os("FIBERSCOPE_BLESS").is_some();
    let path = root().join("README.md");
    let text = fs::read_to_string(&path).unwrap();
    let mut updated = text.clone();
    let mut blocks = 0;
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        if block.starts_with("$ fiberscope ") {
            blocks += 1;
            updated = updated.replace(block, &replay(block));
        }
    }
    assert!(blocks > 0, "the README shows no transcript");
    if bless {
        fs::write(path, updated).unwrap();
    } else {
        assert_eq!(updated, text, "README.md; if this is right: cargo xtask bless");
    }
}
