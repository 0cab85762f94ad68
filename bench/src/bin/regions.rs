//! The polyhedral complex beside public tools: the f-vector on `[-1, 1]^d`, and how time grows with the
//! number of cells.
//!
//! Prints Markdown tables of CPU time on one thread; ours and the peers take turns, so that all meet the same
//! load of the machine. The Python that has the peers is named by the variable `FIBERSCOPE_BENCH_PYTHON`, a
//! folder with the PyTorch program of edge subdivision by `FIBERSCOPE_BENCH_EDGES`, SyReNN's
//! (`peers/syrenn/README.md`) by `FIBERSCOPE_BENCH_SYRENN`. Names of sections as arguments (`peers`, `space`,
//! `growth`, `stored`, `threads`, `stream`) run these only.

#![allow(clippy::print_stdout, reason = "the tables are the output of a benchmark")]

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use fiberscope::complex::{Built, CellCounts, ComplexOptions, CountOutcome, PolyhedralComplex, count_cells};
use fiberscope_bench::Peer;
use fiberscope_core::{Activation, Domain, Layer, Matrix, Network};
use fiberscope_report::draw::graph::{Curve, Graph};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::{ThreadPool, ThreadPoolBuilder};

type Result<T> = std::result::Result<T, Box<dyn Error>>;
/// Prints a section, with a pool of one thread.
type Section = fn(&ThreadPool) -> Result<()>;

const NETS: [&str; 7] =
    ["2-16-16-1", "2-32-32-1", "2-64-64-64-1", "3-16-16-1", "3-32-32-1", "4-12-12-1", "5-10-10-1"];
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/fiberscope/tests/data/complex");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/regions.py");

/// The peers and their titles.
const TOOLS: [(&str, &str); 5] = [
    ("regioncam", "regioncam"),
    ("syrenn", "SyReNN"),
    ("edges-torch", "edge subdivision (PyTorch f64)"),
    ("edges", "edge subdivision (numpy)"),
    ("affinitree", "affinitree"),
];

/// Turns of fast tools; slow ones get one.
const TURNS: usize = 9;

fn main() -> Result<()> {
    let one = ThreadPoolBuilder::new().num_threads(1).build()?;
    let sections: [(&str, Section); 6] = [
        ("peers", peers),
        ("space", space),
        ("growth", growth),
        ("stored", stored),
        ("threads", threads),
        ("stream", stream),
    ];
    let wanted: Vec<String> = env::args().skip(1).filter(|name| name != "--").collect();
    for (name, section) in sections {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            section(&one)?;
            println!();
        }
    }
    Ok(())
}

fn peers(one: &ThreadPool) -> Result<()> {
    println!("## Against public tools\n");
    println!(
        "Medians of CPU milliseconds on one thread, box `[-1, 1]^d`, and how many times ours they are. Ours is the whole certified f-vector; regioncam, SyReNN and affinitree count regions, edge subdivision gives vertices and edges only.\n"
    );
    println!("| net | regions / vertices / edges | ours | {} |", TOOLS.map(|(_, title)| title).join(" | "));
    println!("|---|---|---|{}", "---|".repeat(TOOLS.len()));
    for name in NETS {
        println!("{}", peer_row(one, name)?);
    }
    Ok(())
}

fn space(one: &ThreadPool) -> Result<()> {
    println!("## Whole space\n");
    println!("CPU milliseconds on one thread; unbounded regions included.\n");
    println!("| net | regions | bounded | CPU ms |\n|---|---|---|---|");
    for name in NETS {
        let network = load(name)?;
        let before = one.install(thread_seconds)?;
        let counts = count_on(one, &network, &Domain::Space)?;
        let time = one.install(thread_seconds)? - before;
        let d = network.input_width();
        println!("| {name} | {} | {} | {} |", counts.all[d], counts.bounded[d], milliseconds(time));
    }
    Ok(())
}

fn growth(one: &ThreadPool) -> Result<()> {
    println!("## Growth\n");
    println!(
        "One thread; `cells` are all cells of all dimensions. Peak memory is that of the process so far.\n"
    );
    let head = "regions | cells | CPU ms | ns per cell | peak memory, MiB |\n|---|---|---|---|---|---|";
    let mut boxes = Vec::new();
    println!("One network, 3-130-130-1, on growing boxes `[-s, s]^3`:\n\n| s | {head}");
    let network = random_network(&[3, 130, 130, 1])?;
    for s in [0.007, 0.015, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0] {
        boxes.push(growth_row(one, &s.to_string(), &network, s)?);
    }
    let mut depths = Vec::new();
    println!("\nGrowing depth, width 16, on `[-1, 1]^3`:\n\n| net | {head}");
    for depth in [1, 2, 3, 5, 8, 12] {
        let widths: Vec<usize> = [3].into_iter().chain(vec![16; depth]).chain([1]).collect();
        depths.push(growth_row(one, &name_of(&widths), &random_network(&widths)?, 1.0)?);
    }
    println!("\nGrowing width, on `[-1, 1]^d`:\n\n| net | {head}");
    for (d, n) in [(2, 4), (2, 12), (2, 40), (2, 120), (3, 6), (3, 14), (3, 40), (3, 80), (3, 130)] {
        let widths = [d, n, n, 1];
        growth_row(one, &name_of(&widths), &random_network(&widths)?, 1.0)?;
    }
    std::fs::write(CURVE, growth_curve(boxes, depths).draw().to_document())?;
    println!("\n![Time against cells, both axes logarithmic](regions-growth.svg)");
    Ok(())
}

/// Where the picture of the growth is written.
const CURVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/results/regions-growth.svg");

/// CPU seconds against cells, beside a line of slope one through the middle of the boxes.
fn growth_curve(boxes: Vec<(f64, f64)>, depths: Vec<(f64, f64)>) -> Graph {
    let rate = boxes[boxes.len() / 2].1 / boxes[boxes.len() / 2].0;
    let ends = [boxes[0].0, boxes[boxes.len() - 1].0].map(|cells| (cells, rate * cells));
    let curve = |name: String, points: &[(f64, f64)], is_marked: bool| {
        let points: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.log10(), y.log10())).collect();
        let breakpoints = if is_marked { points.clone() } else { Vec::new() };
        Curve { name, points, breakpoints }
    };
    Graph {
        title: "Time against cells, one thread".to_owned(),
        x_label: "cells, as a power of ten".to_owned(),
        y_label: "CPU seconds, as a power of ten".to_owned(),
        curves: vec![
            curve("3-130-130-1, growing boxes".to_owned(), &boxes, true),
            curve(format!("{:.0} ns per cell", rate * 1e9), &ends, false),
            curve("width 16, 1 to 12 layers".to_owned(), &depths, true),
        ],
    }
}

fn name_of(widths: &[usize]) -> String {
    widths.iter().map(ToString::to_string).collect::<Vec<_>>().join("-")
}

fn stored(one: &ThreadPool) -> Result<()> {
    println!("## All cells in memory\n");
    println!(
        "`PolyhedralComplex`: every cell of every dimension with its sign vector and its facets. One process per net; bytes per region are what its resident memory grew by, at the peak and at the end.\n"
    );
    println!(
        "| net | regions | cells | CPU ms | peak bytes per region | bytes per region |\n|---|---|---|---|---|---|"
    );
    // A process of its own for every net, so that no memory is used again.
    if let Ok(name) = env::var(STORED) {
        println!("{}", stored_row(one, &name)?);
        return Ok(());
    }
    for name in NETS {
        let row = Command::new(env::current_exe()?).arg("stored").env(STORED, name).output()?;
        let text = String::from_utf8(row.stdout)?;
        println!("{}", text.lines().rfind(|line| !line.is_empty()).ok_or("no row")?);
    }
    Ok(())
}

/// Names the only net of a process.
const STORED: &str = "FIBERSCOPE_BENCH_STORED";

fn stored_row(one: &ThreadPool, name: &str) -> Result<String> {
    let network = load(name)?;
    let cube = cube(&network)?;
    let memory = || Ok::<_, Box<dyn Error>>([status_line("VmRSS:")?, status_line("VmHWM:")?]);
    let ([start, _], before) = (memory()?, one.install(thread_seconds)?);
    let built = one.install(|| PolyhedralComplex::build(&network, &cube, &ComplexOptions::new()))?;
    let time = one.install(thread_seconds)? - before;
    let [end, peak] = memory()?;
    let Built::Complete(complex) = built else { return Err("there is no limit".into()) };
    let counts = complex.counts();
    let regions = counts.all[network.input_width()];
    let cells: u64 = counts.all.iter().sum();
    let bytes = |mib: f64| (mib - start) * 1048576.0 / regions as f64;
    Ok(format!(
        "| {name} | {regions} | {cells} | {} | {:.0} | {:.0} |",
        milliseconds(time),
        bytes(peak),
        bytes(end)
    ))
}

fn threads(one: &ThreadPool) -> Result<()> {
    println!("## Threads\n");
    println!("Seconds of wall time; the machine's load decides as much as the program.\n");
    println!("| net | regions | one thread | two threads | speed-up |");
    println!("|---|---|---|---|---|");
    println!("{}", thread_row(one, 3, 130)?);
    Ok(())
}

/// More than ten million regions, counted and forgotten.
fn stream(_: &ThreadPool) -> Result<()> {
    println!("## Streaming\n");
    println!("Two threads, wall time; run alone (`-- stream`) for the peak of memory.\n");
    println!("| net | regions | cells | seconds | peak memory, MiB |\n|---|---|---|---|---|");
    let two = ThreadPoolBuilder::new().num_threads(2).build()?;
    let network = random_network(&[3, 250, 250, 1])?;
    let start = Instant::now();
    let counts = count(&two, &network)?;
    let cells: u64 = counts.all.iter().sum();
    println!(
        "| 3-250-250-1 | {} | {cells} | {:.1} | {:.0} |",
        counts.all[3],
        start.elapsed().as_secs_f64(),
        status_line("VmHWM:")?
    );
    Ok(())
}

fn load(name: &str) -> Result<Network> {
    Ok(fiberscope_io::load(&format!("{FOLDER}/{name}.npz"), &Default::default())?.network)
}

fn cube(network: &Network) -> Result<Domain> {
    Ok(Domain::from_bounds(&vec![(-1.0, 1.0); network.input_width()]).ok_or("finite bounds")?)
}

fn count(pool: &ThreadPool, network: &Network) -> Result<CellCounts> {
    count_on(pool, network, &cube(network)?)
}

fn count_on(pool: &ThreadPool, network: &Network, domain: &Domain) -> Result<CellCounts> {
    match pool.install(|| count_cells(network, domain, &ComplexOptions::new()))? {
        CountOutcome::Complete { counts, .. } => Ok(counts),
        CountOutcome::Stopped { .. } => Err("there is no limit".into()),
    }
}

fn peer_row(pool: &ThreadPool, name: &str) -> Result<String> {
    let network = load(name)?;
    let counts = count(pool, &network)?;
    let d = network.input_width();
    let slow = ["2-64-64-64-1", "3-32-32-1"].contains(&name);
    let tools = TOOLS.map(|(tool, _)| tool);
    let mut peers: Vec<Option<Peer>> = tools
        .iter()
        .map(|&tool| {
            let runs = match tool {
                "regioncam" | "syrenn" => d == 2,
                "affinitree" => !slow,
                _ => true,
            };
            runs.then(|| Peer::start(SCRIPT, &[tool, &format!("{FOLDER}/{name}.npz")], 1).ok()).flatten()
        })
        .collect();
    let mut ours = Vec::new();
    let mut theirs = vec![Vec::new(); tools.len()];
    for turn in 0..TURNS {
        ours.push(cpu_time(pool, &network)?);
        for ((peer, times), tool) in peers.iter_mut().zip(&mut theirs).zip(tools) {
            if let Some(peer) = peer.as_mut().filter(|_| turn == 0 || tool != "affinitree") {
                let answer = peer.ask()?;
                times.push(answer.split_whitespace().next().ok_or("an empty answer")?.parse()?);
            }
        }
    }
    let cells = format!("{} / {} / {}", counts.all[d], counts.all[0], counts.all[1]);
    let own = median(&mut ours);
    let shown = |times: &mut Vec<f64>| match times.is_empty() {
        true => "-".to_owned(),
        false => {
            let time = median(times);
            format!("{} ({:.1}x)", milliseconds(time), time / own)
        }
    };
    let shown: Vec<String> = theirs.iter_mut().map(shown).collect();
    Ok(format!("| {name} | {cells} | {} | {} |", milliseconds(own), shown.join(" | ")))
}

/// CPU seconds of one count, on the pool's only thread.
fn cpu_time(pool: &ThreadPool, network: &Network) -> Result<f64> {
    cpu_time_on(pool, network, &cube(network)?)
}

fn cpu_time_on(pool: &ThreadPool, network: &Network, domain: &Domain) -> Result<f64> {
    let before = pool.install(thread_seconds)?;
    black_box(count_on(pool, black_box(network), domain)?);
    Ok(pool.install(thread_seconds)? - before)
}

/// CPU seconds of the calling thread.
fn thread_seconds() -> std::result::Result<f64, String> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").map_err(|error| error.to_string())?;
    let nanoseconds: f64 =
        text.split_whitespace().next().and_then(|x| x.parse().ok()).ok_or("no CPU time of the thread")?;
    Ok(nanoseconds * 1e-9)
}

/// Prints a row; the number of cells and the CPU seconds.
fn growth_row(pool: &ThreadPool, name: &str, network: &Network, reach: f64) -> Result<(f64, f64)> {
    let d = network.input_width();
    let domain = Domain::from_bounds(&vec![(-reach, reach); d]).ok_or("finite bounds")?;
    let counts = count_on(pool, network, &domain)?;
    let mut times: Vec<f64> = Vec::new();
    let cells: u64 = counts.all.iter().sum();
    for _ in 0..if cells < 1_000_000 { 9 } else { 3 } {
        times.push(cpu_time_on(pool, network, &domain)?);
    }
    let time = median(&mut times);
    println!(
        "| {name} | {} | {cells} | {} | {:.0} | {:.0} |",
        counts.all[d],
        milliseconds(time),
        time * 1e9 / cells as f64,
        status_line("VmHWM:")?
    );
    Ok((cells as f64, time))
}

fn thread_row(one: &ThreadPool, d: usize, n: usize) -> Result<String> {
    let network = random_network(&[d, n, n, 1])?;
    let two = ThreadPoolBuilder::new().num_threads(2).build()?;
    let wall = |pool: &ThreadPool| -> Result<(f64, CellCounts)> {
        let start = Instant::now();
        let counts = count(pool, &network)?;
        Ok((start.elapsed().as_secs_f64(), counts))
    };
    let ((single, counts), (double, again)) = (wall(one)?, wall(&two)?);
    if counts != again {
        return Err("the number of threads changed the counts".into());
    }
    let regions = counts.all[d];
    Ok(format!("| {d}-{n}-{n}-1 | {regions} | {single:.2} | {double:.2} | {:.2} |", single / double))
}

/// A line of the process's status, in MiB.
fn status_line(name: &str) -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(name)).ok_or("no such line of the status")?;
    Ok(line.split_whitespace().nth(1).ok_or("an empty line of the status")?.parse::<f64>()? / 1024.0)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Three digits.
fn milliseconds(seconds: f64) -> String {
    let value = seconds * 1e3;
    let decimals = [100.0, 10.0, 1.0].iter().take_while(|&&limit| value < limit).count();
    format!("{value:.decimals$}")
}

/// Weights `N(0, 2 / fan_in)` and biases `N(0, 0.3^2)`, as the stored nets.
fn random_network(widths: &[usize]) -> Result<Network> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut layers = Vec::new();
    for (l, pair) in widths.windows(2).enumerate() {
        let scale = (2.0 / pair[0] as f64).sqrt();
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| scale * normal(&mut rng));
        let bias = (0..pair[1]).map(|_| 0.3 * normal(&mut rng)).collect();
        let activation = if l + 2 < widths.len() { Activation::Relu } else { Activation::Identity };
        layers.push(Layer::new(weight, bias, activation));
    }
    Ok(Network::new(layers)?)
}

/// A normal random number, by the sum of twelve uniform ones.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| (rng.next_u64() >> 11) as f64 / 2f64.powi(53)).sum::<f64>() - 6.0
}
