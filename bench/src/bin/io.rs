//! Reading a safetensors file of 100 million parameters, against reading its bytes.
//!
//! For f64 and f32: `std::fs::read` of the file (the bytes, nothing understood), then
//! `fiberscope_io::safetensors::read_file` (a checked network of doubles), interleaved, from a warm
//! page cache. With `FIBERSCOPE_BENCH_PYTHON` naming a Python that has numpy and safetensors, also
//! `safetensors.numpy.load_file`. The ratio is the speed over that of `std::fs::read`.
//!
//! `FIBERSCOPE_BENCH_TMP` names a folder for the file (800 MB), else the system's is used.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use fiberscope_core::{Activation, Layer, Matrix, Network};
use fiberscope_io::{Precision, ReadOptions, safetensors};

const WIDTH: usize = 5774;
const REPETITIONS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let python = std::env::var_os("FIBERSCOPE_BENCH_PYTHON");
    println!("| reading 100 million parameters | bytes | seconds | GB/s | ratio |");
    println!("|---|---:|---:|---:|---:|");
    for precision in [Precision::F64, Precision::F32] {
        let folder = match std::env::var_os("FIBERSCOPE_BENCH_TMP") {
            Some(parent) => tempfile::tempdir_in(parent)?,
            None => tempfile::tempdir()?,
        };
        let path = folder.path().join("large.safetensors");
        write_file(&path, precision)?;
        let bytes = std::fs::metadata(&path)?.len();

        let (mut plain, mut network) = (Vec::new(), Vec::new());
        for _ in 0..REPETITIONS {
            plain.push(seconds(|| std::fs::read(&path).map_err(Into::into))?);
            network
                .push(seconds(|| Ok(safetensors::read_file(&File::open(&path)?, &ReadOptions::default())?))?);
        }
        let plain = median(plain);
        print_row("std::fs::read", precision, bytes, plain, plain);
        print_row("fiberscope_io::safetensors::read_file", precision, bytes, median(network), plain);
        if let Some(python) = &python {
            let script =
                Command::new(python).args(["-c", PYTHON, &REPETITIONS.to_string()]).arg(&path).output()?;
            if !script.status.success() {
                return Err(String::from_utf8_lossy(&script.stderr).into());
            }
            let seconds: f64 = String::from_utf8(script.stdout)?.trim().parse()?;
            print_row("safetensors.numpy.load_file (Python)", precision, bytes, seconds, plain);
        }
    }
    Ok(())
}

const PYTHON: &str = "
import statistics, sys, time
from safetensors.numpy import load_file
times = []
for _ in range(int(sys.argv[1])):
    start = time.perf_counter()
    tensors = load_file(sys.argv[2])
    times.append(time.perf_counter() - start)
    del tensors
print(statistics.median(times))
";

/// Three layers of `WIDTH x WIDTH`: 100,034,550 parameters, all different from zero.
fn write_file(path: &Path, precision: Precision) -> Result<(), Box<dyn Error>> {
    let mut state = 1u64;
    let mut number = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut layer = |activation| {
        let weight = Matrix::from_fn(WIDTH, WIDTH, |_, _| number());
        let bias = (0..WIDTH).map(|_| number()).collect();
        Layer::new(weight, bias, activation)
    };
    let layers = vec![layer(Activation::Relu), layer(Activation::Relu), layer(Activation::Identity)];
    let network = Network::new(layers)?;
    let mut out = BufWriter::new(File::create(path)?);
    safetensors::write(&network, precision, &mut out)?;
    out.flush()?;
    out.get_ref().sync_all()?;
    Ok(())
}

/// The time to make a value; freeing it is not counted.
fn seconds<T>(make: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let made = black_box(make()?);
    let seconds = start.elapsed().as_secs_f64();
    drop(made);
    Ok(seconds)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn print_row(name: &str, precision: Precision, bytes: u64, seconds: f64, plain: f64) {
    let speed = bytes as f64 / seconds / 1e9;
    println!("| {name}, {precision} | {bytes} | {seconds:.3} | {speed:.2} | {:.2} |", plain / seconds);
}
