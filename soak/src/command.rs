//! The command itself, in a process of its own, with files.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use fiberscope_core::{Domain, Interval, Rational};
use fiberscope_io::{Precision, save};
use serde_json::{Value, json};

use crate::generate::Case;
use crate::judge::Question;

/// Whether the box of a case can be given to the command: its ends are doubles.
pub fn can_ask(case: &Case) -> bool {
    let double = |end: &Option<Rational>| end.as_ref().is_some_and(Rational::is_f64);
    match &case.domain {
        Domain::Space => true,
        Domain::Box(sides) => sides.iter().all(|side| double(&side.lower) && double(&side.upper)),
    }
}

/// The exit code of `fiberscope equiv --json`, its answer and its certificate.
pub fn ask(command: &Path, case: &Case, question: &Question) -> io::Result<(i32, Value, Option<Value>)> {
    let folder = tempfile::tempdir()?;
    write_case(case, folder.path())?;
    let certificate = folder.path().join("certificate.json");
    let mut run = Command::new(command);
    run.current_dir(folder.path())
        .args(["equiv", "a.json", "b.json", "--json", "--certificate"])
        .arg(&certificate);
    run.args(["--time-limit", &question.seconds.max(0.001).to_string()]);
    if case.domain != Domain::Space {
        run.args(["--box", "box.json"]);
    }
    if question.exact {
        run.arg("--exact");
    }
    if let Some(eps) = question.tolerance {
        run.args(["--tolerance", &format!("{eps:e}")]);
    }
    let output = run.output()?;
    let code = output.status.code().ok_or_else(|| io::Error::other("ended by a signal"))?;
    let answer = serde_json::from_slice(&output.stdout).map_err(|error| {
        io::Error::other(format!("exit code {code}, {error}: {}", String::from_utf8_lossy(&output.stderr)))
    })?;
    let certificate = fs::read(certificate).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Ok((code, answer, certificate))
}

/// Writes the networks and the box of a case into a folder.
pub fn write_case(case: &Case, folder: &Path) -> io::Result<()> {
    let write = |network, name| save(network, &folder.join(name), Precision::F64).map_err(io::Error::other);
    write(&case.networks.0, "a.json")?;
    write(&case.networks.1, "b.json")?;
    if let Domain::Box(sides) = &case.domain {
        let end = |x: &Option<Rational>| x.as_ref().map(Rational::to_f64);
        let side = |side: &Interval| json!([end(&side.lower), end(&side.upper)]);
        fs::write(folder.join("box.json"), Value::from_iter(sides.iter().map(side)).to_string())?;
    }
    Ok(())
}
