//! Golden transcripts: every `$ fiberscope ...` of `tests/golden/*.txt`, of the README and of the guide prints what
//! the transcript says. `cargo xtask bless` rewrites the transcripts.
//!
//! Lines of standard error start with `! `; an exit code other than 0 stands on a last line `[exit N]`.
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

/// A fresh folder in which `zoo/` is the zoo and `bench/` has the data of the benchmarks.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [("crates/fiberscope-io/zoo", "zoo"), ("bench", "bench")] {
        std::os::unix::fs::symlink(root().join(from), folder.path().join(to)).unwrap();
    }
    folder
}

/// The transcript with every command's output as it is now.
fn replay(transcript: &str, folder: &Path) -> String {
    let mut text = String::new();
    for line in transcript.lines().filter(|line| line.starts_with("$ ")) {
        let command = line.strip_prefix("$ ").unwrap();
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!("{line}\n{}", run(command, folder));
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
        let found = replay(&expected, folder().path());
        if bless {
            fs::write(&path, found).unwrap();
        } else {
            assert_eq!(found, expected, "{}; if this is right: cargo xtask bless", path.display());
        }
    }
}

/// The text with every number replaced.
fn masked(text: &str) -> String {
    let mut out = String::new();
    let mut number = false;
    for c in text.chars() {
        number = c.is_ascii_digit() || number && ".,e-^".contains(c);
        match number {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(c),
        }
    }
    out
}

/// The README and the pages of the guide.
fn pages() -> Vec<PathBuf> {
    let guide = fs::read_dir(root().join("docs/guide")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = guide.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// The `console` blocks of the README and the guide whose first line is `$ fiberscope ...`. The blocks of a page
/// share a folder, in order.
#[test]
fn pages_show_what_is_printed() {
    let bless = std::env::var_os("FIBERSCOPE_BLESS").is_some();
    let mut blocks = 0;
    for path in pages() {
        let (folder, text) = (folder(), fs::read_to_string(&path).unwrap());
        let mut updated = String::new();
        for (place, part) in text.split("```console\n").enumerate() {
            let block = part.split("```").next().unwrap();
            if place > 0 {
                updated += "```console\n";
            }
            if place > 0 && block.starts_with("$ fiberscope ") {
                blocks += 1;
                let found = replay(block, folder.path());
                // The last bits of answers, and with them the queries, depend on the processor.
                let same =
                    !bless && block.starts_with("$ fiberscope extract") && masked(&found) == masked(block);
                updated += if same { block } else { &found };
                updated += &part[block.len()..];
            } else {
                updated += part;
            }
        }
        if bless {
            fs::write(path, updated).unwrap();
        } else {
            assert_eq!(updated, text, "{}; if this is right: cargo xtask bless", path.display());
        }
    }
    assert!(blocks >= 5, "the pages show few transcripts");
}
