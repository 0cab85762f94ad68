//! `fiberscope equiv` on pairs of one network: the whole command, reading and checking included.
//!
//! Networks have weights `N(0, 2 / fan-in)` in double precision; `B` is `A` with its neurons permuted and
//! scaled by powers of two. "read and hash" is `std::fs::read` and SHA-256 of both files, one after the
//! other. Peers decide equality within 1e-3 on `[-1, 1]^n` with a time limit; Fiberscope decides it exactly
//! and on all of `R^n`. Arguments name the tables to make: `twins`, `different`, `peers`.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use fiberscope_core::{Activation, Layer, Matrix, Network};
use fiberscope_io::{Precision, save};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

const TWINS: [&[usize]; 6] = [
    &[64, 64, 64, 1],
    &[256, 256, 256, 10],
    &[1024, 1024, 1024, 10],
    &[2048, 2048, 2048, 10],
    &[4096, 4096, 4096, 10],
    &[4096, 4096, 4096, 4096, 10],
];
const PEERS: [&[usize]; 3] = [&[4, 8, 8, 1], &[16, 16, 16, 1], &[64, 64, 64, 1]];
const PEER_SECONDS: u32 = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let command = std::env::current_exe()?.with_file_name("fiberscope");
    let bench =
        Bench { command, a: folder.path().join("a.safetensors"), b: folder.path().join("b.safetensors") };
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |table: &str| chosen.is_empty() || chosen.iter().any(|name| name == table);
    if wanted("twins") {
        println!("## Permuted and scaled pairs\n");
        println!("| network | parameters | read and hash, s | equiv, s | ratio | ns per parameter |");
        println!("|---|---:|---:|---:|---:|---:|");
        TWINS.iter().try_for_each(|widths| bench.twins(widths))?;
    }
    if wanted("different") {
        println!("\n## Different pairs\n");
        println!("| network | difference | read and hash, s | equiv --exact, s | ratio |");
        println!("|---|---|---:|---:|---:|");
        TWINS[..3].iter().try_for_each(|widths| bench.different(widths))?;
    }
    if wanted("peers") {
        println!("\n## Peers (limit {PEER_SECONDS} s)\n");
        println!("| network | equiv, s | MILP (HiGHS), s | Marabou, s |");
        println!("|---|---:|---|---|");
        PEERS.iter().try_for_each(|widths| bench.peers(widths))?;
    }
    Ok(())
}

struct Bench {
    command: PathBuf,
    a: PathBuf,
    b: PathBuf,
}

impl Bench {
    fn twins(&self, widths: &[usize]) -> Result<(), Box<dyn Error>> {
        let (a, b) = pair(widths);
        self.write(&a, &b)?;
        let (base, own) = self.measure(&[], "equivalent")?;
        let parameters = a.parameter_count();
        let per = own * 1e9 / parameters as f64;
        println!("| {} | {parameters} | {base:.4} | {own:.4} | {:.1} | {per:.0} |", name(widths), own / base);
        Ok(())
    }

    fn different(&self, widths: &[usize]) -> Result<(), Box<dyn Error>> {
        let (a, b) = pair(widths);
        let middle = |network: &Network, change: &dyn Fn(f64) -> f64| -> Result<Network, Box<dyn Error>> {
            let mut layers = network.layers().to_vec();
            let of = &layers[1];
            let (row, column) = (of.width() / 2, of.input_width() / 3);
            let weight = Matrix::from_fn(of.width(), of.input_width(), |i, j| {
                let w = of.weight()[(i, j)];
                if (i, j) == (row, column) { change(w) } else { w }
            });
            layers[1] = Layer::new(weight, of.bias().to_vec(), of.activation());
            Ok(Network::new(layers)?)
        };
        let cases = [
            ("one weight by one unit in the last place", middle(&b, &|w| f64::from_bits(w.to_bits() + 1))?),
            ("one weight by 1 %", middle(&b, &|w| 1.01 * w)?),
            ("another network", pair(widths).1.map(|w| 0.5 * w + 0.001)?),
        ];
        for (difference, other) in cases {
            self.write(&a, &other)?;
            let (base, own) = self.measure(&["--exact"], "different")?;
            println!("| {} | {difference} | {base:.4} | {own:.4} | {:.1} |", name(widths), own / base);
        }
        Ok(())
    }

    fn peers(&self, widths: &[usize]) -> Result<(), Box<dyn Error>> {
        let (a, b) = pair(widths);
        self.write(&a, &b)?;
        let (_, own) = self.measure(&[], "equivalent")?;
        let [milp, marabou] = ["milp", "marabou"].map(|method| self.peer(method));
        println!("| {} | {own:.4} | {} | {} |", name(widths), milp?, marabou?);
        Ok(())
    }

    fn peer(&self, method: &str) -> Result<String, Box<dyn Error>> {
        let Some(python) = std::env::var_os("FIBERSCOPE_BENCH_PYTHON") else { return Ok("not run".into()) };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/equiv.py");
        let run = Command::new(python)
            .arg(script)
            .arg(method)
            .args([&self.a, &self.b])
            .arg(PEER_SECONDS.to_string())
            .output()?;
        if run.status.code().is_none() {
            return Ok(format!("more than {PEER_SECONDS} (stopped)"));
        }
        if !run.status.success() {
            return Err(String::from_utf8_lossy(&run.stderr).into());
        }
        let text = String::from_utf8(run.stdout)?;
        let line = text.lines().last().unwrap_or_default();
        Ok(line.split_once(',').map_or(line.into(), |(answer, seconds)| format!("{seconds} ({answer})")))
    }

    fn write(&self, a: &Network, b: &Network) -> Result<(), Box<dyn Error>> {
        save(a, &self.a, Precision::F64)?;
        save(b, &self.b, Precision::F64)?;
        Ok(())
    }

    /// The best times to read and hash both files and to run the command, alternating.
    fn measure(&self, flags: &[&str], verdict: &str) -> Result<(f64, f64), Box<dyn Error>> {
        let (mut base, mut own) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..5 {
            let start = Instant::now();
            for path in [&self.a, &self.b] {
                black_box(Sha256::digest(std::fs::read(path)?));
            }
            base = base.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            let run = Command::new(&self.command)
                .args(["equiv", "--json"])
                .args([&self.a, &self.b])
                .args(flags)
                .output()?;
            own = own.min(start.elapsed().as_secs_f64());
            if !String::from_utf8_lossy(&run.stdout).contains(&format!("\"verdict\": \"{verdict}\"")) {
                return Err(String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into());
            }
        }
        Ok((base, own))
    }
}

/// A random network, and the same with every hidden layer permuted and scaled.
fn pair(widths: &[usize]) -> (Network, Network) {
    let mut rng = ChaCha8Rng::seed_from_u64(widths.len() as u64);
    let last = widths.len() - 2;
    let activation = |l: usize| if l == last { Activation::Identity } else { Activation::Relu };
    let mut layers: Vec<Layer> = Vec::new();
    let mut twins: Vec<Layer> = Vec::new();
    let mut before: Option<(Vec<usize>, Vec<f64>)> = None;
    for (l, ends) in widths.windows(2).enumerate() {
        let deviation = (2.0 / ends[0] as f64).sqrt();
        let weight = Matrix::from_fn(ends[1], ends[0], |_, _| deviation * gaussian(&mut rng));
        let bias: Vec<f64> = (0..ends[1]).map(|_| 0.3 * gaussian(&mut rng)).collect();
        let hidden = l < last;
        let order = if hidden { shuffle(&mut rng, ends[1]) } else { (0..ends[1]).collect() };
        let factors: Vec<f64> =
            order.iter().map(|_| if hidden { 2f64.powi(rng.random_range(-3..=3)) } else { 1.0 }).collect();
        let (columns, shrink) = before.unwrap_or_else(|| ((0..ends[0]).collect(), vec![1.0; ends[0]]));
        let entry = |i: usize, j: usize| weight[(order[i], columns[j])] * factors[i] / shrink[j];
        let twin = Matrix::from_fn(ends[1], ends[0], entry);
        let twin_bias = (0..ends[1]).map(|i| bias[order[i]] * factors[i]).collect();
        twins.push(Layer::new(twin, twin_bias, activation(l)));
        layers.push(Layer::new(weight, bias, activation(l)));
        before = Some((order, factors));
    }
    let network = |layers| Network::new(layers).expect("the shapes chain");
    (network(layers), network(twins))
}

fn shuffle(rng: &mut impl Rng, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, rng.random_range(0..=i));
    }
    order
}

fn gaussian(rng: &mut impl Rng) -> f64 {
    let (radius, angle) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

fn name(widths: &[usize]) -> String {
    widths.iter().map(ToString::to_string).collect::<Vec<_>>().join("-")
}
