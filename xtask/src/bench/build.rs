//! How long a newcomer waits: README's first command in a fresh clone, and again after one line of the
//! library changed.
//!
//! The crates of others are fetched before the clock starts. Beside the time on the clock stands the time
//! that all processors spent, which hardly depends on what else the machine does.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::shell::{Failure, cargo, program, root};

/// README's first command.
const FIRST: [&str; 6] = ["run", "--release", "-p", "fiberscope-cli", "--", "tour"];
/// Where a line is added: the body of this function of the library.
const CHANGED: &str = "pub fn decide(";

/// The table, measured on the commit at hand.
pub fn measure() -> Result<String, Failure> {
    let scratch = Scratch::new()?;
    let clone = scratch.0.join("fiberscope");
    let (from, to) = (root().display().to_string(), clone.display().to_string());
    program("git", &["clone", "--quiet", &from, &to]).run()?;
    here(&["fetch", "--locked"], &clone).run()?;
    let first = timed(&clone)?;
    touch(&clone.join("crates/fiberscope/src"))?;
    let again = timed(&clone)?;
    let row = |what: &str, time: &Time| {
        let spent = time.spent.map_or_else(|| "unknown".into(), |seconds| format!("{seconds:.0} s"));
        format!("| {what} | {:.0} s | {spent} |\n", time.clock)
    };
    let header = "| `cargo run --release -p fiberscope-cli -- tour` | clock | processors |\n|---|--:|--:|\n";
    let changed = row("after a line was added to `fiberscope`", &again);
    Ok(format!("{header}{}{changed}", row("in a fresh clone, crates of others fetched", &first)))
}

/// Seconds on the clock, and seconds of all processors together where the system counts them.
struct Time {
    clock: f64,
    spent: Option<f64>,
}

fn timed(clone: &Path) -> Result<Time, Failure> {
    let (begun, before) = (Instant::now(), spent());
    here(&FIRST, clone).run()?;
    let clock = begun.elapsed().as_secs_f64();
    Ok(Time { clock, spent: spent().zip(before).map(|(after, before)| after - before) })
}

/// Cargo in the clone, building into the clone.
fn here(arguments: &[&str], clone: &Path) -> crate::shell::Task {
    cargo(arguments).within(clone).env("CARGO_TARGET_DIR", clone.join("target"))
}

/// The time that processors spent on programs that this one started and that ended, in seconds.
fn spent() -> Option<f64> {
    // [proc_pid_stat(5): after the name in parentheses come state (field 3), ..., cutime (16) and cstime (17), in
    // hundredths of a second.]
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    Some((ticks(16)? + ticks(17)?) / 100.0)
}

/// Adds a line to the body of a function, as somebody at work would.
fn touch(sources: &Path) -> Result<(), Failure> {
    let mut folders = vec![sources.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in list(&folder)? {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let Some(at) = text.find(CHANGED) else { continue };
            let Some(body) = text[at..].find("{\n").map(|brace| at + brace + 2) else { continue };
            let changed = format!("{}    let _ = std::hint::black_box(1);\n{}", &text[..body], &text[body..]);
            return fs::write(&path, changed)
                .map_err(|error| Failure(format!("{}: {error}", path.display())));
        }
    }
    Err(Failure(format!("{}: no {CHANGED:?} in it", sources.display())))
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    Ok(paths)
}

/// A folder that goes away with this value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("fiberscope-build-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind lies in the system's folder for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}
