//! The NNet format: agreement with other programs on a real network, and what is refused.

use fiberscope_core::{Activation, Network};
use fiberscope_io::{Model, Normalization, Precision, ReadOptions, csv, nnet};

const ACASXU: &[u8] = include_bytes!("data/nnet/acasxu_1_1.nnet");
const SMALL: &str = include_str!("data/nnet/small.nnet");

fn read(bytes: &[u8], normalization: Normalization) -> Model {
    nnet::read(bytes, &ReadOptions { normalization, ..Default::default() }).unwrap()
}

fn evaluate(network: &Network, x: &[f64]) -> Vec<f64> {
    network.layers().iter().fold(x.to_vec(), |a, layer| {
        let row = |(row, b): (&[f64], &f64)| row.iter().zip(&a).map(|(w, a)| w * a).sum::<f64>() + b;
        let z = layer.weight().iter_rows().zip(layer.bias()).map(row);
        z.map(|z| if layer.activation() == Activation::Relu { z.max(0.0) } else { z }).collect()
    })
}

/// The largest difference between the network's outputs and those in the table.
fn largest_difference(network: &Network, table: &[u8]) -> f64 {
    let points = csv::read(table).unwrap().points;
    assert_eq!(points.cols(), network.input_width() + network.output_width());
    let mut largest = 0f64;
    for row in points.iter_rows() {
        let (x, expected) = row.split_at(network.input_width());
        for (found, expected) in evaluate(network, x).iter().zip(expected) {
            largest = largest.max((found - expected).abs());
        }
    }
    largest
}

#[test]
fn normalised_acasxu_agrees_with_onnxruntime() {
    let model = read(ACASXU, Normalization::Ignore);
    assert_eq!(model.network.widths(), [5, 50, 50, 50, 50, 50, 50, 5]);
    assert_eq!((model.precision, model.notes.len()), (Precision::F64, 1));
    // The text holds 6 digits of every weight, and onnxruntime computes in single precision; the
    // outputs are about 0.02.
    let difference =
        largest_difference(&model.network, include_bytes!("data/nnet/acasxu_1_1_normalised.csv"));
    assert!(difference < 2e-6, "{difference}");
}

#[test]
fn folded_networks_agree_with_the_definition() {
    let acasxu = read(ACASXU, Normalization::Fold);
    assert_eq!(
        acasxu.notes[0],
        "the header lists 7 inputs, the network has 5: the first 5 means and ranges are those of the inputs, \
         the last ones those of the outputs"
    );
    assert!(
        acasxu.notes[1].ends_with("the clipping of inputs to [minimum, maximum] is not part of the network")
    );
    // Both sides compute in double precision, in different orders; the outputs are up to 1e3.
    let difference = largest_difference(&acasxu.network, include_bytes!("data/nnet/acasxu_1_1_physical.csv"));
    assert!(difference < 1e-9, "{difference}");
    let small = read(SMALL.as_bytes(), Normalization::Fold);
    let difference = largest_difference(&small.network, include_bytes!("data/nnet/small_physical.csv"));
    assert!(difference < 1e-12, "{difference}");
}

#[test]
fn header_lines_may_be_absent() {
    let lines: Vec<&str> = SMALL.lines().collect();
    let without = |dropped: &[usize]| {
        let kept =
            lines.iter().enumerate().filter(|(i, _)| !dropped.contains(&(i + 1))).map(|(_, &line)| line);
        kept.collect::<Vec<_>>().join("\r\n").into_bytes()
    };
    let full = read(SMALL.as_bytes(), Normalization::Fold);
    assert_eq!(read(&without(&[1, 2, 5]), Normalization::Fold).network, full.network);
    for dropped in [&[5, 6, 7, 8, 9][..], &[6, 7, 8, 9]] {
        let bare = read(&without(dropped), Normalization::Fold);
        assert_eq!(bare.network, read(SMALL.as_bytes(), Normalization::Ignore).network);
        assert_eq!(bare.notes, ["the file has no normalisation header"]);
    }
}

/// Refuses `small.nnet` with line `line` replaced.
#[track_caller]
fn refuses(line: usize, replacement: &str, expected: &str) {
    let mut lines: Vec<&str> = SMALL.lines().collect();
    lines[line - 1] = replacement;
    let refused = nnet::read(lines.join("\n").as_bytes(), &ReadOptions::default()).unwrap_err();
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn wrong_lines_are_named() {
    refuses(
        3,
        "2,2,2",
        "line 3: number of layers, inputs, outputs, largest width: expected 4 numbers, found 3",
    );
    refuses(
        3,
        "-2,2,2,3",
        "line 3: number of layers, inputs, outputs, largest width: entry 1 is \"-2\"; expected a whole number",
    );
    refuses(
        3,
        "3,2,2,3",
        "line 4: widths of the layers: the line before says 3 layers, 2 inputs and 2 outputs; found 3 widths from 2 to 2",
    );
    refuses(
        4,
        "2,99999999999999999999,2",
        "line 4: widths of the layers: entry 2 is \"99999999999999999999\"; expected a whole number",
    );
    refuses(4, "2,0,2", "line 4: widths of the layers: width 2 is 0; widths must be at least 1");
    refuses(
        4,
        "2,18446744073709551615,2",
        "line 4: widths of the layers: expected 18446744073709551615 lines of weights and biases after it, and \
         before these 5 lines (a flag, minima, maxima, means, ranges), 4 (no flag), 1 (only a flag) or none; \
         found 15 lines in all",
    );
    refuses(
        8,
        "0.1, 3.0",
        "line 8: means: expected 2 numbers for the inputs and one for the outputs, found 2",
    );
    refuses(9, "3.0, 0.7", "line 9: ranges: expected 3 numbers, found 2");
    refuses(
        9,
        "3.0, 0, 1",
        "line 9: ranges: the range of input 2 is 0; expected another number to divide by",
    );
    refuses(10, "1", "line 10: layer 1: weight row 1: expected 2 numbers, found 1");
    refuses(11, "1,,", "line 11: layer 1: weight row 2: entry 2 is \"\"; expected a finite number");
    refuses(12, "1, nan", "line 12: layer 1: weight row 3: entry 2 is \"nan\"; expected a finite number");
    refuses(13, "1e999", "line 13: layer 1: bias 1: entry 1 is \"1e999\"; expected a finite number");
    refuses(16, "1,2,3,4", "line 16: layer 2: weight row 1: expected 3 numbers, found 4");
    refuses(18, "1,2", "line 18: layer 2: bias 1: expected 1 numbers, found 2");
    refuses(9, "1e-310, 1, 1", "layer 1: weight[1][1] is inf; expected a finite number");
}

#[test]
fn truncated_files_are_refused() {
    let options = |normalization| ReadOptions { normalization, ..Default::default() };
    let lines: Vec<&str> = SMALL.lines().collect();
    for count in 0..lines.len() {
        let text = lines[..count].join("\n");
        for normalization in [Normalization::Fold, Normalization::Ignore] {
            let read = nnet::read(text.as_bytes(), &options(normalization));
            assert!(read.is_err(), "{count} lines");
        }
    }
    let empty = nnet::read(b"// nothing\n", &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(
        empty,
        "the file ends after line 1; expected number of layers, inputs, outputs, largest width"
    );
    let binary = nnet::read(b"1,1,1,1\n\xff", &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(binary, "line 2: expected text in UTF-8");
}
