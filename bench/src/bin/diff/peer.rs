//! NeuroDiff on the pairs of NNet files, in the same run.
//!
//! Its program takes the number of a property, two NNet files and an epsilon, and compares one output in
//! single precision. `FIBERSCOPE_BENCH_NEURODIFF` names the program `delta_network_test`, built from the public
//! artifact as that describes for the full NeuroDiff, on one thread; without it the numbers that the list of
//! cases states are shown.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where the program is.
pub const VARIABLE: &str = "FIBERSCOPE_BENCH_NEURODIFF";

/// How long it may take, in CPU seconds.
const LIMIT: f64 = 60.0;
/// How long it may take by the clock: it may wait for others on a busy machine, but not for ever.
const PATIENCE: Duration = Duration::from_secs(3600);

/// What it says: `None` if it is not there or cannot read the case.
pub fn ask(name: &str, a: &Path, b: &Path, epsilon: &str) -> Option<String> {
    let program = env::var_os(VARIABLE)?;
    let property = name.rsplit_once("property ")?.1;
    if ![a, b].iter().all(|file| file.extension().is_some_and(|end| end == "nnet")) {
        return None;
    }
    let before = children();
    let command = &mut Command::new(program);
    command.arg(property).args([a, b]).arg(epsilon).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().ok()?;
    let start = Instant::now();
    loop {
        let seconds = crate::cpu_of(&child.id().to_string());
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if seconds < LIMIT && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Some(format!("> {:.0}", seconds.min(LIMIT)));
            }
        }
    }
    let output = child.wait_with_output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    said.contains("No adv!").then_some(())?;
    Some(format!("{:.2}", children() - before))
}

/// CPU seconds of the children that have ended.
fn children() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    crate::ticks(&text, 13) + crate::ticks(&text, 14)
}
