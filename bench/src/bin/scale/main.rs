//! Long work in tasks: what cutting, handing out and merging cost, on two cores beside threads, per task in Python's
//! engines, and, simulated with the task times that were measured, on a thousand workers.
//!
//! Words after the name choose parts: `workers`, `growth`, `engines`, `simulation`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]

mod measure;
mod simulation;

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use measure::{Spent, spent};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The network of the large count, with about ten million regions in the cube.
const LARGE: [usize; 5] = [3, 160, 160, 160, 1];
/// The network of the others.
const SMALL: [usize; 5] = [3, 64, 64, 64, 1];

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let asked = |part: &str| words.is_empty() || words.iter().any(|word| word == part);
    let command = env::current_exe()?.with_file_name("fiberscope");
    let place = tempfile::tempdir()?;
    if asked("workers") {
        workers(&command, place.path())?;
    }
    if asked("growth") {
        growth(&command, place.path())?;
    }
    if asked("engines") {
        engines()?;
    }
    if asked("simulation") {
        simulation::print(&measure::task_times(&SMALL, 512)?)?;
    }
    Ok(())
}

fn seconds(spent: Spent) -> String {
    format!("{:.2} s", spent.wall)
}

/// A plan, worked on by this many processes of one thread each, and merged; the seconds of the three and what the
/// merge says.
fn in_tasks(
    command: &Path,
    folder: &Path,
    model: &Path,
    tasks: usize,
    workers: usize,
) -> Result<([Spent; 3], u64)> {
    let (program, folder, model) = (command.display(), folder.display(), model.display());
    let plan = spent(&format!(
        "'{program}' plan regions '{model}' --box -1,1 --count-only --tasks {tasks} -o '{folder}' -q"
    ))?;
    let one = format!("'{program}' work '{folder}' --threads 1 -q");
    let work = spent(&format!("{} wait", format!("{one} & ").repeat(workers)))?;
    let merge = spent(&format!("'{program}' merge '{folder}' --json -q"))?;
    let regions = measure::regions(&merge.output)?;
    Ok(([plan.spent, work.spent, merge.spent], regions))
}

/// Two worker processes beside two threads of one process.
fn workers(command: &Path, place: &Path) -> Result<()> {
    let model = measure::store(&LARGE, place)?;
    let direct = |threads: usize| {
        spent(&format!(
            "'{}' regions '{}' --box -1,1 --count-only --max-regions 100000000 --threads {threads} --json -q",
            command.display(),
            model.display()
        ))
    };
    let threads = direct(2)?;
    let regions = measure::regions(&threads.output)?;
    println!("{regions} regions of a random network {} in [-1,1]^3:\n", name(&LARGE));
    println!("| | wall | CPU |\n|---|---:|---:|");
    println!("| one process, two threads | {} | {:.2} s |", seconds(threads.spent), threads.spent.cpu);
    let (parts, found) = in_tasks(command, &place.join("large"), &model, 256, 2)?;
    if found != regions {
        return Err(format!("{found} regions in tasks, {regions} in one process").into());
    }
    for (what, part) in
        ["`plan --tasks 256`", "two processes `work --threads 1`", "`merge`"].iter().zip(parts)
    {
        println!("| {what} | {} | {:.2} s |", seconds(part), part.cpu);
    }
    let sum = |of: fn(&Spent) -> f64| parts.iter().map(of).sum::<f64>();
    let (wall, cpu) = (sum(|part| part.wall), sum(|part| part.cpu));
    println!(
        "\nThe same count. Efficiency against threads: {:.0} % of the wall time, {:.0} % of the CPU time.\n",
        100.0 * threads.spent.wall / wall,
        100.0 * threads.spent.cpu / cpu
    );
    Ok(())
}

/// What more tasks cost: one worker, more and more tasks.
fn growth(command: &Path, place: &Path) -> Result<()> {
    let model = measure::store(&SMALL, place)?;
    println!("The same network {} cut into more and more tasks, one worker:\n", name(&SMALL));
    println!(
        "| tasks | CPU of `plan` | CPU of `work` | CPU of `merge` | in all |\n|---:|---:|---:|---:|---:|"
    );
    for tasks in [1, 4, 16, 64, 256, 1024] {
        let (parts, _) = in_tasks(command, &place.join(tasks.to_string()), &model, tasks, 1)?;
        let cpu = parts.map(|part| part.cpu);
        let sum: f64 = cpu.iter().sum();
        println!("| {tasks} | {:.2} s | {:.2} s | {:.2} s | {sum:.2} s |", cpu[0], cpu[1], cpu[2]);
    }
    println!();
    Ok(())
}

/// What a task costs in the engines of Python, by a script, since they are its peers.
fn engines() -> Result<()> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/scale.py");
    let given = env::var_os("FIBERSCOPE_BENCH_PYTHON").unwrap_or_else(|| "python3".into());
    let pythons: Vec<PathBuf> = env::split_paths(&given).collect();
    let python = pythons.first().ok_or("FIBERSCOPE_BENCH_PYTHON names no Python")?;
    let done = Command::new(python).arg(script).output()?;
    print!("{}", String::from_utf8_lossy(&done.stdout));
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
    }
    Ok(())
}

fn name(widths: &[usize]) -> String {
    widths.iter().map(ToString::to_string).collect::<Vec<_>>().join("-")
}
