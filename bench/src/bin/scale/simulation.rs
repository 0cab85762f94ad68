//! A thousand workers: makespan and idle time with the task times that were measured.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use fiberscope_report::draw::graph::{Curve, Graph};

use crate::Result;

const WORKERS: usize = 1000;
/// Tasks per worker at the beginning.
const TASKS: [usize; 4] = [1, 4, 16, 64];
/// Time slices in seconds; the last is none.
const SLICES: [f64; 4] = [10.0, 60.0, 600.0, f64::INFINITY];
/// What handing out a task and taking in its result costs a worker, by the larger of the aims of the engines.
const OVERHEAD: f64 = 0.01;
/// The regions of the count that is thought of.
const REGIONS: f64 = 1e10;
/// The CPU seconds of a region in tasks, as `workers` finds it on ten million.
const PER_REGION: f64 = 6e-6;

/// How a run ended: seconds until the last worker is done, and the share of all that workers waited.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub makespan: f64,
    pub idle: f64,
}

/// Workers take tasks as they become free. A task that is not done when its slice is over is handed back as two
/// halves of what is left.
pub fn run(tasks: &[f64], workers: usize, slice: f64) -> Ended {
    // Seconds as integers of microseconds, which are ordered.
    let micro = |seconds: f64| (1e6 * seconds).round() as u64;
    let mut waiting: std::collections::VecDeque<f64> = tasks.iter().copied().collect();
    let mut busy: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let (mut free, mut now, mut worked, mut last) = (workers, 0u64, 0u64, 0u64);
    loop {
        while free > 0
            && let Some(task) = waiting.pop_front()
        {
            let done = task.min(slice);
            let length = micro(OVERHEAD + done);
            worked += length;
            busy.push(Reverse((now + length, micro(task - done))));
            free -= 1;
        }
        let Some(Reverse((end, left))) = busy.pop() else { break };
        now = end;
        last = last.max(end);
        free += 1;
        if left > 0 {
            waiting.extend([left as f64 / 2e6; 2]);
        }
    }
    let makespan = last as f64 / 1e6;
    Ended { makespan, idle: 1.0 - worked as f64 / 1e6 / (makespan * workers as f64) }
}

/// Prints what a thousand workers would take, and draws it.
pub fn print(times: &[f64]) -> Result<()> {
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quantile = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize] / mean;
    println!(
        "{} tasks of one count: CPU seconds relative to their mean of {:.1} ms: median {:.2}, 90 % below {:.2}, the longest {:.1}.\n",
        times.len(),
        1e3 * mean,
        quantile(0.5),
        quantile(0.9),
        quantile(1.0)
    );
    let work = REGIONS * PER_REGION;
    println!(
        "{WORKERS} workers on {REGIONS:.0e} regions at {:.0} microseconds each, {:.1} hours of one core, with these times (simulated; a task costs {:.0} ms to hand out, and what is left after a slice is two new tasks):\n",
        1e6 * PER_REGION,
        work / 3600.0,
        1e3 * OVERHEAD
    );
    println!(
        "| tasks | mean task | without slices | slices of 600 s | 60 s | 10 s |\n|---:|---:|---|---|---|---|"
    );
    let mut curves: Vec<Curve> = SLICES.iter().rev().map(|slice| curve(*slice)).collect();
    for per_worker in TASKS {
        let count = WORKERS * per_worker;
        let tasks: Vec<f64> =
            (0..count).map(|i| times[i % times.len()] / mean * work / count as f64).collect();
        let cells = SLICES.iter().rev().zip(&mut curves).map(|(&slice, curve)| {
            let ended = run(&tasks, WORKERS, slice);
            curve.points.push(((per_worker as f64).log2(), ended.makespan));
            format!("{:.0} s, idle {:.0} %", ended.makespan, 100.0 * ended.idle)
        });
        let cells: Vec<String> = cells.collect();
        println!("| {count} | {:.1} s | {} |", work / count as f64, cells.join(" | "));
    }
    let graph = Graph {
        title: format!("{REGIONS:.0e} regions on {WORKERS} workers, simulated"),
        x_label: "log2 of the tasks per worker".into(),
        y_label: "seconds until all are done".into(),
        curves,
    };
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/results/scale.svg");
    std::fs::write(Path::new(file), graph.draw().to_document())?;
    println!(
        "\nWithout any loss it would be {:.0} s.\n\n![makespan against tasks](scale.svg)",
        work / WORKERS as f64
    );
    Ok(())
}

fn curve(slice: f64) -> Curve {
    let name = if slice.is_finite() { format!("slices of {slice} s") } else { "without slices".into() };
    Curve { name, ..Curve::default() }
}
