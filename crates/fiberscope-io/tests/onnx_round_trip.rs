//! What is written as ONNX is read back bit for bit.

use fiberscope_core::{Activation, Layer, Matrix, Network};
use fiberscope_io::{Precision, ReadOptions, onnx};

/// A network with numbers of many sizes, the same for the same seed.
fn network(widths: &[usize], seed: u64, number: impl Fn(u64) -> f64) -> Network {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        number(state)
    };
    let last = widths.len() - 2;
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| next());
        let bias = (0..pair[1]).map(|_| next()).collect();
        // One hidden layer without ReLU, which must stay a layer of its own.
        let activation = if l == last || l == 2 { Activation::Identity } else { Activation::Relu };
        Layer::new(weight, bias, activation)
    });
    Network::new(layers.collect()).unwrap()
}

fn double(state: u64) -> f64 {
    match state >> 60 {
        0 => 0.0,
        1 => -0.0,
        2 => f64::from_bits(state >> 13), // subnormal
        3 => f64::MAX,
        _ => (state as i64 as f64) * 2f64.powi((state >> 40) as i32 % 200 - 100),
    }
}

fn single(state: u64) -> f64 {
    match state >> 60 {
        0 => -0.0,
        1 => f64::from(f32::from_bits((state >> 42) as u32)),
        _ => f64::from(((state as i64) >> 40) as f32 * 1e-7),
    }
}

fn bits(network: &Network) -> Vec<(Vec<u64>, Vec<u64>, Activation)> {
    let bits = |numbers: &[f64]| numbers.iter().map(|w| w.to_bits()).collect();
    network.layers().iter().map(|l| (bits(l.weight().entries()), bits(l.bias()), l.activation())).collect()
}

fn check(network: &Network, precision: Precision) {
    let mut file = Vec::new();
    onnx::write(network, precision, &mut file).unwrap();
    let model = onnx::read(&file, &ReadOptions::default()).unwrap();
    assert_eq!(bits(&model.network), bits(network));
    assert_eq!(model.network.widths(), network.widths());
    assert_eq!(model.precision, precision);
    assert!(model.notes.is_empty(), "{:?}", model.notes);
}

#[test]
fn round_trips_are_bit_exact() {
    for (seed, widths) in
        [&[1, 1][..], &[3, 5, 2], &[2, 3, 4, 5, 3, 1], &[30, 200, 1]].into_iter().enumerate()
    {
        check(&network(widths, seed as u64, double), Precision::F64);
        check(&network(widths, seed as u64, single), Precision::F32);
        check(&network(widths, seed as u64, single), Precision::F64);
    }
}

#[test]
fn ten_thousand_layers() {
    check(&network(&vec![1; 10_001], 7, double), Precision::F64);
}

#[test]
fn other_precisions_are_refused() {
    let failed = onnx::write(&network(&[1, 1], 0, single), Precision::F16, &mut Vec::new()).unwrap_err();
    assert_eq!(failed.to_string(), "ONNX files are written in f32 or f64, not in f16");
}
