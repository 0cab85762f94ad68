//! What the tests of the tensor formats share.

#![allow(dead_code, clippy::unwrap_used)]

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use fiberscope_core::{Activation, Layer, Matrix, Network};
use fiberscope_io::{Data, FormatError, Model};
use serde_json::Value;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A file of `tests/data`.
pub fn data_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The `expected.json` of a folder of `tests/data`.
pub fn expected(folder: &str) -> serde_json::Map<String, Value> {
    let text = std::fs::read_to_string(data_file(folder).join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Checks a network bit for bit against its entry in `expected.json`.
pub fn check_model(name: &str, model: &Model, expected: &Value) {
    assert_eq!(model.precision.name(), expected["precision"], "{name}");
    let layers = expected["layers"].as_array().unwrap();
    assert_eq!(model.network.depth(), layers.len(), "{name}");
    for (layer, expected) in model.network.layers().iter().zip(layers) {
        let shape = serde_json::json!([layer.width(), layer.input_width()]);
        assert_eq!(shape, expected["shape"], "{name}");
        assert_eq!(bits(layer.weight().entries()), expected["weight"], "{name}");
        assert_eq!(bits(layer.bias()), expected["bias"], "{name}");
    }
}

/// Checks data bit for bit against their entry in `expected.json`.
pub fn check_data(name: &str, data: &Data, expected: &Value) {
    assert_eq!(serde_json::json!([data.points.rows(), data.points.cols()]), expected["shape"], "{name}");
    assert_eq!(bits(data.points.entries()), expected["entries"], "{name}");
}

fn bits(numbers: &[f64]) -> Value {
    numbers.iter().map(|x| format!("{:016x}", x.to_bits())).collect()
}

/// A network with the given hidden activations whose numbers need all bits of a double.
pub fn network(hidden: &[Activation]) -> Network {
    let widths: Vec<usize> = (0..hidden.len() + 2).map(|l| 2 + l % 3).collect();
    let activations = hidden.iter().copied().chain([Activation::Identity]);
    let number = |l: usize, i: usize, j: usize| ((7 * l + 3 * i + j) as f64 - 8.0) / 3.0;
    let layer = |(l, activation): (usize, Activation)| {
        let weight = Matrix::from_fn(widths[l + 1], widths[l], |i, j| number(l, i, j));
        Layer::new(weight, (0..widths[l + 1]).map(|i| number(l, i, 99)).collect(), activation)
    };
    Network::new(activations.enumerate().map(layer).collect()).unwrap()
}

/// The same network with parameters that single precision can hold.
pub fn rounded(network: &Network) -> Network {
    network.map(|&w| f64::from(w as f32)).unwrap()
}

/// A zip archive of these entries.
pub fn zip(entries: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, contents) in entries {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(contents).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Replaces every occurrence of a run of bytes by another of the same length.
pub fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    let mut replaced = 0;
    for at in 0..=bytes.len() - old.len() {
        if bytes[at..].starts_with(old) {
            bytes[at..at + new.len()].copy_from_slice(new);
            replaced += 1;
        }
    }
    assert!(replaced > 0, "nothing to replace");
}

/// Reads every proper beginning of a file, which must fail, and many copies with one or two wrong
/// bytes, which may do anything but panic. Messages must fit on a line or two.
pub fn mistreat<T>(bytes: &[u8], read: impl Fn(&[u8]) -> Result<T, FormatError>) {
    let short = |error: FormatError| {
        let message = error.to_string();
        assert!(message.chars().count() < 400 && message.lines().count() <= 2, "{message}");
    };
    for length in 0..bytes.len() {
        short(
            read(&bytes[..length]).err().unwrap_or_else(|| panic!("{length} of {} bytes pass", bytes.len())),
        );
    }
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for round in 0..4000 {
        let mut bad = bytes.to_vec();
        for _ in 0..1 + round % 2 {
            let at = random(bad.len());
            bad[at] = if round % 3 == 0 { bad[at] ^ 1 << random(8) } else { random(256) as u8 };
        }
        read(&bad).err().map(short);
    }
}
