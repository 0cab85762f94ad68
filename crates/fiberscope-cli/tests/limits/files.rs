//! Networks and data on which every command has work of minutes.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use fiberscope_core::{Activation, Layer, Matrix, Network};
use fiberscope_io::{Precision, save};

/// A small generator; quality does not matter here.
struct Random(u64);

impl Random {
    /// A number between -1 and 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn network(widths: &[usize], seed: u64, hidden: Activation) -> Network {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let scale = 1.7 / (pair[0] as f64).sqrt();
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| scale * random.next());
        let bias = (0..pair[1]).map(|_| 0.3 * random.next()).collect();
        let activation = if l + 2 == widths.len() { Activation::Identity } else { hidden };
        Layer::new(weight, bias, activation)
    });
    Network::new(layers.collect()).unwrap()
}

/// The network with one more neuron in its last hidden layer, which is off at all points but hard to prove
/// so.
fn with_more(network: &Network) -> Network {
    let mut layers = network.layers().to_vec();
    let (output, hidden) = (layers.pop().unwrap(), layers.pop().unwrap());
    let mut random = Random(99);
    let row: Vec<f64> = (0..hidden.input_width()).map(|_| 0.2 * random.next()).collect();
    let rows: Vec<Vec<f64>> = hidden.weight().iter_rows().map(<[f64]>::to_vec).chain([row]).collect();
    let bias = hidden.bias().iter().copied().chain([-2.5]).collect();
    let out: Vec<Vec<f64>> =
        output.weight().iter_rows().map(|row| row.iter().copied().chain([1.0]).collect()).collect();
    layers.push(Layer::new(Matrix::from_rows(&rows).unwrap(), bias, Activation::Relu));
    layers.push(Layer::new(Matrix::from_rows(&out).unwrap(), output.bias().to_vec(), Activation::Identity));
    Network::new(layers).unwrap()
}

/// The network with outputs twice as large: the classes are the same, with ties at the same inputs, which no
/// bound shows.
fn doubled(network: &Network) -> Network {
    let mut layers = network.layers().to_vec();
    let output = layers.pop().unwrap();
    let rows: Vec<Vec<f64>> =
        output.weight().iter_rows().map(|row| row.iter().map(|w| 2.0 * w).collect()).collect();
    let bias = output.bias().iter().map(|b| 2.0 * b).collect();
    layers.push(Layer::new(Matrix::from_rows(&rows).unwrap(), bias, Activation::Identity));
    Network::new(layers).unwrap()
}

fn table(path: &Path, rows: usize, columns: usize) {
    let mut random = Random(7);
    let mut text = String::new();
    for _ in 0..rows {
        let row: Vec<String> = (0..columns).map(|_| format!("{:.6}", random.next())).collect();
        writeln!(text, "{}", row.join(",")).unwrap();
    }
    fs::write(path, text).unwrap();
}

/// A folder with the files that the commands name.
pub fn write() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let relu = |widths: &[usize], seed: u64| network(widths, seed, Activation::Relu);
    let deep = relu(&[8, 64, 64, 64, 1], 1);
    let classes = relu(&[8, 64, 64, 5], 7);
    for (name, network) in [
        ("classes-doubled.json", doubled(&classes)),
        ("classes.json", classes),
        ("deep-with-more.json", with_more(&deep)),
        ("deep.json", deep),
        ("narrow.json", relu(&[6, 24, 24, 24, 1], 8)),
        ("plane.json", relu(&[2, 64, 64, 64, 64, 1], 2)),
        ("wide.json", relu(&[10, 5000, 1], 3)),
        ("square.safetensors", relu(&[1500, 1500, 1], 4)),
        ("other.safetensors", relu(&[1500, 1500, 1], 5)),
        ("linear.npz", network(&[100, 100, 100, 100], 6, Activation::Identity)),
    ] {
        save(&network, &at(name), Precision::F64).unwrap();
    }
    table(&at("points.csv"), 20_000, 8);
    table(&at("samples.csv"), 2000, 9);
    let zoo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fiberscope-io/zoo");
    fs::copy(zoo.join("certificates/deep-shuffled.json"), at("zoo-proof.json")).unwrap();
    let plan = ["plan", "regions", "deep.json", "--box", "-1,1", "-o", "planned"];
    let planned =
        Command::new(env!("CARGO_BIN_EXE_fiberscope")).args(plan).current_dir(folder.path()).output();
    assert!(planned.unwrap().status.success());
    folder
}
