//! Linear networks: the stratum dag over several orders of magnitude, counting, and inspecting large
//! networks.
//!
//! Each time is the best of three after a warm-up. "ns per item" divides by strata plus edges: a flat column
//! is linear time.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use fiberscope::linear::{
    Bar, Barcode, FlowBases, ProductFiber, StratumDag, StratumOptions, Tolerance, count_strata,
    sample_stratum,
};

const LIMIT: usize = 50_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    println!("## Strata and covering edges ({} threads)\n", rayon::current_num_threads());
    println!("| widths | rank | strata | edges | seconds | ns per item | bytes per stratum |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let equal = |width: usize, depth: usize| vec![width; depth + 1];
    for widths in [
        equal(6, 3),
        equal(10, 3),
        equal(16, 3),
        equal(24, 3),
        equal(36, 3),
        equal(6, 4),
        equal(8, 4),
        equal(10, 4),
        equal(12, 4),
        equal(14, 4),
        equal(3, 6),
        equal(4, 6),
        equal(1, 20),
    ] {
        strata(&ProductFiber::new(widths, 0)?)?;
    }
    println!("\n## Counting only\n");
    println!("| widths | rank | strata | seconds |");
    println!("|---|---:|---:|---:|");
    for (widths, rank) in
        [(equal(30, 4), 0), (equal(100, 4), 0), (equal(100, 4), 40), (equal(50, 5), 0), (equal(1000, 3), 0)]
    {
        let fiber = ProductFiber::new(widths, rank)?;
        let count = count_strata(&fiber)?;
        let seconds = best(|| count_strata(&fiber))?;
        println!("| {} | {rank} | {count} | {seconds:.3} |", name(&fiber));
    }
    println!("\n## Inspecting ten matrices\n");
    println!("| width | barcode | residual | seconds |");
    println!("|---:|---|---:|---:|");
    for width in [32, 128, 512] {
        inspect(width)?;
    }
    Ok(())
}

fn strata(fiber: &ProductFiber) -> Result<(), Box<dyn Error>> {
    let dag = StratumDag::build(fiber, &StratumOptions::new().strata(LIMIT))?;
    let seconds = best(|| StratumDag::build(fiber, &StratumOptions::new().strata(LIMIT)))?;
    let items = (dag.len() + dag.edge_count()) as f64;
    println!(
        "| {} | {} | {} | {} | {seconds:.4} | {:.0} | {:.0} |",
        name(fiber),
        fiber.rank(),
        dag.len(),
        dag.edge_count(),
        seconds * 1e9 / items,
        dag.bytes() as f64 / dag.len() as f64,
    );
    Ok(())
}

/// A random network of ten square matrices with bars of several kinds.
fn inspect(width: usize) -> Result<(), Box<dyn Error>> {
    let part = width / 4;
    let cut = [(0, 4), (5, 10), (0, 6), (7, 10)].map(|(start, end)| (Bar::new(start, end), part));
    let bars = [cut.as_slice(), &[(Bar::new(0, 10), width - 2 * part)]].concat();
    let barcode = Barcode::from_bars(&[width; 11], &bars)?;
    let network = sample_stratum(&barcode, 0)?;
    let flow = FlowBases::compute(&network, Tolerance::default())?;
    if flow.barcode() != &barcode {
        return Err(format!("found the barcode {}", flow.barcode()).into());
    }
    let seconds = best(|| FlowBases::compute(&network, Tolerance::default()))?;
    println!("| {width} | {barcode} | {:.1e} | {seconds:.3} |", flow.residual());
    Ok(())
}

fn name(fiber: &ProductFiber) -> String {
    let widths: Vec<String> = fiber.widths().iter().map(ToString::to_string).collect();
    widths.join(",")
}

fn best<T, E>(mut work: impl FnMut() -> Result<T, E>) -> Result<f64, E> {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        black_box(work()?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}
