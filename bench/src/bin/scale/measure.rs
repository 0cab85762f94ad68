//! Measuring commands and tasks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fiberscope::tasks::{CellsQuestion, Merged, Plan, Results};
use fiberscope::{Activation, Deadline, Domain, Layer, Matrix, Network};
use fiberscope_bench::thread_seconds;
use fiberscope_io::{Precision, save};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Result;

/// Seconds by the clock and of the processors.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    pub wall: f64,
    pub cpu: f64,
}

/// A command that was run.
pub struct Run {
    pub spent: Spent,
    pub output: String,
}

/// Runs a line of the shell, with all processes that it starts.
pub fn spent(line: &str) -> Result<Run> {
    let script = format!("TIMEFORMAT='%3R %3U %3S'; time {{ {line}; }}");
    let run = Command::new("bash").args(["-c", &script]).output()?;
    let text = String::from_utf8_lossy(&run.stderr);
    let last = text.lines().last().unwrap_or_default();
    let times: Option<Vec<f64>> = last.split_whitespace().map(|word| word.parse().ok()).collect();
    match times.as_deref() {
        Some([wall, user, system]) if run.status.success() => Ok(Run {
            spent: Spent { wall: *wall, cpu: user + system },
            output: String::from_utf8_lossy(&run.stdout).into_owned(),
        }),
        _ => Err(format!("{line}: {text}").into()),
    }
}

/// The number of regions in the JSON of an answer.
pub fn regions(output: &str) -> Result<u64> {
    let value: serde_json::Value = serde_json::from_str(output)?;
    value["regions"].as_u64().ok_or_else(|| format!("no regions in {output}").into())
}

/// A network with weights of variance 2 / inputs and biases of deviation 0.3, always the same.
pub fn network(widths: &[usize]) -> Result<Network> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut normal = || {
        let (u, v): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random_range(0.0..1.0));
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let layers = widths.windows(2).enumerate().map(|(at, pair)| {
        let scale = (2.0 / pair[0] as f64).sqrt();
        let rows: Vec<Vec<f64>> =
            (0..pair[1]).map(|_| (0..pair[0]).map(|_| scale * normal()).collect()).collect();
        let bias = (0..pair[1]).map(|_| 0.3 * normal()).collect();
        let activation = if at + 2 == widths.len() { Activation::Identity } else { Activation::Relu };
        Ok(Layer::new(Matrix::from_rows(&rows).ok_or("rows of different lengths")?, bias, activation))
    });
    Ok(Network::new(layers.collect::<Result<Vec<_>>>()?)?)
}

/// Stores that network.
pub fn store(widths: &[usize], place: &Path) -> Result<PathBuf> {
    fs::create_dir_all(place)?;
    let path = place.join(format!("{}.json", crate::name(widths)));
    save(&network(widths)?, &path, Precision::F64)?;
    Ok(path)
}

/// CPU seconds of every task of a count that is cut into so many, each done to its end.
pub fn task_times(widths: &[usize], tasks: usize) -> Result<Vec<f64>> {
    let network = network(widths)?;
    let domain = Domain::from_bounds(&vec![(-1.0, 1.0); widths[0]]).ok_or("bounds out of order")?;
    let plan = Plan::new(CellsQuestion::new(domain), &[&network], tasks, &Deadline::NEVER)?;
    let mut results = Results::new(&plan);
    let mut times = Vec::new();
    while let Merged::Missing(missing) = results.missing()? {
        for task in missing {
            let before = thread_seconds();
            let result = plan.work(&task.bytes, &Deadline::NEVER)?;
            times.push(thread_seconds() - before);
            results.add(&result)?;
        }
    }
    Ok(times)
}
