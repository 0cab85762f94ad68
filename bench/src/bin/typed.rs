//! Commands as they are typed, process start and reading of files included, beside the part that they cannot do
//! without: the library call that answers, or reading and hashing the files.
//!
//! CPU seconds, user and system, best of some turns. Arguments name the tables to make: `regions`, `funcdim`,
//! `equiv`, `rewrite`.

#![allow(clippy::print_stdout, reason = "the tables are the output of a benchmark")]

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use fiberscope::complex::{ComplexOptions, count_cells};
use fiberscope::dimension::{DimensionOptions, functional_dimension};
use fiberscope::orbit::relabel;
use fiberscope_bench::{command_seconds, thread_seconds};
use fiberscope_core::{Activation, Domain, Layer, Matrix, Network};
use fiberscope_io::{Precision, load, save};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sha2::{Digest, Sha256};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const COMPLEXES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/fiberscope/tests/data/complex");
/// Turns of every measurement.
const TURNS: usize = 5;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let bench = Bench {
        command: std::env::current_exe()?.with_file_name("fiberscope"),
        folder: folder.path().to_owned(),
        one: ThreadPoolBuilder::new().num_threads(1).build()?,
    };
    let chosen: Vec<String> = std::env::args().skip(1).filter(|name| name != "--").collect();
    type Table = fn(&Bench) -> Result<()>;
    let tables: [(&str, Table); 4] = [
        ("regions", Bench::regions),
        ("funcdim", Bench::funcdim),
        ("equiv", Bench::equiv),
        ("rewrite", Bench::rewrite),
    ];
    println!("CPU seconds, the best of {TURNS}.\n");
    println!("| command | as typed, s | beside | s | ratio |\n|---|---:|---|---:|---:|");
    for (name, table) in tables {
        if chosen.is_empty() || chosen.iter().any(|wanted| wanted == name) {
            table(&bench)?;
        }
    }
    Ok(())
}

struct Bench {
    command: PathBuf,
    folder: PathBuf,
    one: ThreadPool,
}

impl Bench {
    fn regions(&self) -> Result<()> {
        for name in ["2-16-16-1", "2-64-64-64-1", "3-32-32-1", "4-12-12-1", "5-10-10-1"] {
            let path = format!("{COMPLEXES}/{name}.npz");
            let network = load(&path, &Default::default())?.network;
            let cube =
                Domain::from_bounds(&vec![(-1.0, 1.0); network.input_width()]).ok_or("finite bounds")?;
            let library =
                self.best(|| black_box(count_cells(&network, &cube, &ComplexOptions::new())).is_ok());
            let arguments = ["regions", &path, "--box", "-1,1"];
            let counted = self.typed(&[&arguments[..], &["--count-only"]].concat())?;
            row(&format!("regions {name} --box -1,1 --count-only"), counted, "library call", library);
            let whole = self.typed(&arguments)?;
            row(&format!("regions {name} --box -1,1"), whole, "--count-only, as typed", counted);
        }
        Ok(())
    }

    fn funcdim(&self) -> Result<()> {
        for (points, widths) in [(768, &[8, 10, 10, 10, 10, 1][..]), (2000, &[8, 64, 64, 64, 1])] {
            let network = random_network(widths, 1)?;
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let inputs = Matrix::from_fn(points, widths[0], |_, _| rng.random_range(-1.0..1.0));
            let (model, data) = (self.write("net.npz", &network)?, self.folder.join("points.csv"));
            let line = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n";
            std::fs::write(&data, inputs.iter_rows().map(line).collect::<String>())?;
            let options = DimensionOptions::new();
            let library = self.best(|| functional_dimension(&network, &inputs, &options).is_ok());
            let typed = self.typed(&["funcdim", &model, &data.to_string_lossy()])?;
            row(&format!("funcdim {} on {points} points", name_of(widths)), typed, "library call", library);
        }
        Ok(())
    }

    fn equiv(&self) -> Result<()> {
        for widths in [&[64, 64, 64, 1][..], &[256, 256, 256, 10]] {
            let network = random_network(widths, 2)?;
            let a = self.write("a.safetensors", &network)?;
            let others = [
                ("permuted and scaled", relabel(&network, 3).network),
                ("another network", random_network(widths, 3)?),
                ("all weights changed by 1 %", noisy(&network, 0.01)?),
            ];
            for (what, other) in others {
                let b = self.write("b.safetensors", &other)?;
                let typed = self.typed(&["equiv", &a, &b])?;
                let hashed = self.hashing(&[&a, &b]);
                row(&format!("equiv {}, {what}", name_of(widths)), typed, "reading and hashing", hashed);
            }
        }
        Ok(())
    }

    fn rewrite(&self) -> Result<()> {
        let widths = [1024, 1024, 1024, 10];
        let network = random_network(&widths, 4)?;
        let a = self.write("a.safetensors", &network)?;
        let b = self.write("b.safetensors", &noisy(&relabel(&network, 5).network, 0.05)?)?;
        let out = self.folder.join("out.safetensors").to_string_lossy().into_owned();
        let name = name_of(&widths);
        row(
            &format!("canon {name}"),
            self.typed(&["canon", &a])?,
            "reading and hashing",
            self.hashing(&[&a]),
        );
        let typed = self.typed(&["align", &a, &b, "-o", &out])?;
        row(&format!("align {name}, noise of 5 %"), typed, "reading and hashing", self.hashing(&[&a, &b]));
        Ok(())
    }

    fn typed(&self, arguments: &[&str]) -> Result<f64> {
        Ok(command_seconds(&self.command, arguments, TURNS)?)
    }

    /// The best CPU time of a call on one thread. Short calls are repeated in a turn, since the system counts ticks.
    fn best(&self, call: impl Fn() -> bool + Sync) -> f64 {
        const LONG: f64 = 0.1;
        let turn = |repeats: usize| {
            let start = thread_seconds();
            (0..repeats).for_each(|_| assert!(call(), "the call succeeds"));
            (thread_seconds() - start) / repeats as f64
        };
        let measure = || {
            let mut repeats = 1;
            while turn(repeats) * (repeats as f64) < LONG && repeats < 1 << 12 {
                repeats *= 2;
            }
            (0..TURNS).map(|_| turn(repeats)).fold(f64::INFINITY, f64::min)
        };
        self.one.install(measure)
    }

    fn hashing(&self, paths: &[&str]) -> f64 {
        self.best(|| {
            paths.iter().all(|path| std::fs::read(path).map(|file| black_box(Sha256::digest(file))).is_ok())
        })
    }

    fn write(&self, name: &str, network: &Network) -> Result<String> {
        let path = self.folder.join(name);
        save(network, Path::new(&path), Precision::F64)?;
        Ok(path.to_string_lossy().into_owned())
    }
}

fn row(command: &str, typed: f64, beside: &str, seconds: f64) {
    println!("| `{command}` | {typed:.4} | {beside} | {seconds:.4} | {:.1} |", typed / seconds);
}

/// Weights and biases uniform, with the variance `2 / fan-in`.
fn random_network(widths: &[usize], seed: u64) -> Result<Network> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let size = (6.0 / pair[0] as f64).sqrt();
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| rng.random_range(-size..size));
        let bias = (0..pair[1]).map(|_| rng.random_range(-0.3..0.3)).collect();
        let last = l + 2 == widths.len();
        Layer::new(weight, bias, if last { Activation::Identity } else { Activation::Relu })
    });
    Ok(Network::new(layers.collect())?)
}

/// Every parameter times a number between `1 - noise` and `1 + noise` that looks random.
fn noisy(network: &Network, noise: f64) -> Result<Network> {
    Ok(network.map(|&w| w * (1.0 + noise * (1e6 * w).sin()))?)
}

fn name_of(widths: &[usize]) -> String {
    widths.iter().map(ToString::to_string).collect::<Vec<_>>().join("-")
}
