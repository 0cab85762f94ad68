//! The polyhedral complex beside public tools: the f-vector on `[-1, 1]^d`, and how time grows with the number of cells.
//!
//! Prints Markdown tables of CPU time on one thread; ours and the peers take turns, so that all meet the same load of the machine. The Python that has
//! the peers is named by the variable `FIBERSCOPE_BENCH_PYTHON`.

#![allow(clippy::print_stdout, reason = "the tables are the output of a benchmark")]

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use fiberscope::complex::{CellCounts, ComplexLimits, CountOutcome, count_cells};
use fiberscope_core::{Activation, Domain, Layer, Matrix, Network};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::{ThreadPool, ThreadPoolBuilder};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const NETS: [&str; 7] =
    ["2-16-16-1", "2-32-32-1", "2-64-64-64-1", "3-16-16-1", "3-32-32-1", "4-12-12-1", "5-10-10-1"];
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/fiberscope/tests/data/complex");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/regions.py");

/// Turns of fast tools; slow ones get one.
const TURNS: usize = 9;

fn main() -> Result<()> {
    let one = ThreadPoolBuilder::new().num_threads(1).build()?;
    println!("## Against public tools\n");
    println!(
        "Medians of CPU milliseconds on one thread, box `[-1, 1]^d`. Ours is the whole certified f-vector; regioncam and affinitree count regions, edge subdivision gives vertices and edges only.\n"
    );
    println!(
        "| net | regions / vertices / edges | ours | regioncam | edge subdivision (numpy) | affinitree |"
    );
    println!("|---|---|---|---|---|---|");
    for name in NETS {
        println!("{}", peer_row(&one, name)?);
    }
    println!("\n## Growth\n");
    println!(
        "One thread; `cells` are all cells of all dimensions. Peak memory is that of the process so far.\n"
    );
    println!("| net | regions | cells | CPU ms | ns per cell | peak memory, MiB |");
    println!("|---|---|---|---|---|---|");
    for (d, n) in [(2, 4), (2, 12), (2, 40), (2, 120), (3, 6), (3, 14), (3, 40), (3, 80), (3, 130)] {
        println!("{}", growth_row(&one, d, n)?);
    }
    println!("\n## Threads\n");
    println!("Seconds of wall time; the machine's load decides as much as the program.\n");
    println!("| net | regions | one thread | two threads | speed-up |");
    println!("|---|---|---|---|---|");
    println!("{}", thread_row(&one, 3, 130)?);
    Ok(())
}

fn load(name: &str) -> Result<Network> {
    Ok(fiberscope_io::load(&format!("{FOLDER}/{name}.npz"), &Default::default())?.network)
}

fn count(pool: &ThreadPool, network: &Network) -> Result<CellCounts> {
    let cube = Domain::from_bounds(&vec![(-1.0, 1.0); network.input_width()]).ok_or("finite bounds")?;
    match pool.install(|| count_cells(network, &cube, &ComplexLimits::default(), None, &|_| ()))? {
        CountOutcome::Complete { counts, .. } => Ok(counts),
        CountOutcome::Stopped { .. } => Err("there is no limit".into()),
    }
}

fn peer_row(pool: &ThreadPool, name: &str) -> Result<String> {
    let network = load(name)?;
    let counts = count(pool, &network)?;
    let d = network.input_width();
    let slow = ["2-64-64-64-1", "3-32-32-1"].contains(&name);
    let tools = ["regioncam", "edges", "affinitree"];
    let mut peers: Vec<Option<Peer>> = tools
        .iter()
        .map(|&tool| {
            let runs = match tool {
                "regioncam" => d == 2,
                "affinitree" => !slow,
                _ => true,
            };
            runs.then(|| Peer::start(tool, name).ok()).flatten()
        })
        .collect();
    let mut ours = Vec::new();
    let mut theirs = vec![Vec::new(); tools.len()];
    for turn in 0..TURNS {
        ours.push(cpu_time(pool, &network)?);
        for ((peer, times), tool) in peers.iter_mut().zip(&mut theirs).zip(tools) {
            if let Some(peer) = peer.as_mut().filter(|_| turn == 0 || tool != "affinitree") {
                times.push(peer.time()?);
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
    let before = pool.install(thread_seconds)?;
    black_box(count(pool, black_box(network))?);
    Ok(pool.install(thread_seconds)? - before)
}

/// CPU seconds of the calling thread.
fn thread_seconds() -> std::result::Result<f64, String> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").map_err(|error| error.to_string())?;
    let nanoseconds: f64 =
        text.split_whitespace().next().and_then(|x| x.parse().ok()).ok_or("no CPU time of the thread")?;
    Ok(nanoseconds * 1e-9)
}

fn growth_row(pool: &ThreadPool, d: usize, n: usize) -> Result<String> {
    let network = random_network(&[d, n, n, 1])?;
    let counts = count(pool, &network)?;
    let mut times: Vec<f64> = Vec::new();
    let cells: u64 = counts.all.iter().sum();
    for _ in 0..if cells < 1_000_000 { 5 } else { 1 } {
        times.push(cpu_time(pool, &network)?);
    }
    let time = median(&mut times);
    Ok(format!(
        "| {d}-{n}-{n}-1 | {} | {cells} | {} | {:.0} | {} |",
        counts.all[d],
        milliseconds(time),
        time * 1e9 / cells as f64,
        peak_memory().map_or("unknown".into(), |mib| format!("{mib:.0}"))
    ))
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

/// The peak of resident memory in MiB.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib / 1024.0)
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

/// A Python process that runs a tool whenever it is asked to.
struct Peer {
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start(tool: &str, name: &str) -> Result<Self> {
        let python = env::var_os("FIBERSCOPE_BENCH_PYTHON").ok_or("FIBERSCOPE_BENCH_PYTHON is not set")?;
        let mut process = Command::new(python)
            .args([SCRIPT, tool, &format!("{FOLDER}/{name}.npz")])
            .envs(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"].map(|k| (k, "1")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let requests = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().ok_or("Python has no output")?);
        let mut peer = Peer { process, requests, answers };
        peer.line()?;
        Ok(peer)
    }

    /// The CPU seconds of one run.
    fn time(&mut self) -> Result<f64> {
        let requests = self.requests.as_mut().ok_or("Python has no input")?;
        requests.write_all(b"\n")?;
        requests.flush()?;
        Ok(self.line()?.split_whitespace().next().ok_or("an empty answer")?.parse()?)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err("the process ended without an answer".into());
        }
        Ok(line.trim().to_owned())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The script ends with its input. A failure to wait leaves nothing to clean up.
        drop(self.requests.take());
        let _ = self.process.wait();
    }
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
