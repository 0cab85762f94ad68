//! Graphs with branches, bends and heads mean to us what they mean to onnxruntime.
use std::path::PathBuf;

use fiberscope_core::Rational;
use fiberscope_io::{Model, Precision, ReadOptions, load, onnx};
use serde_json::Value;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx/graphs").join(name)
}

fn read(name: &str) -> Model {
    load(path(name).to_str().unwrap(), &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Every file, at the stored inputs, sample by sample: as onnxruntime to single precision, and the exact
/// evaluation as the one in doubles.
#[test]
fn outputs_agree_with_onnxruntime() {
    let text = std::fs::read_to_string(path("outputs.json")).unwrap();
    let files: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
    let is_graph = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "onnx");
    let stored =
        std::fs::read_dir(path("")).unwrap().filter(|entry| is_graph(&entry.as_ref().unwrap().path()));
    // One of them is not piecewise linear.
    assert_eq!(files.len() + 1, stored.count(), "outputs.json is out of date");
    for (name, cases) in &files {
        let network = read(name).network;
        for case in cases.as_array().unwrap() {
            let (x, y) = (numbers(&case["input"]), numbers(&case["output"]));
            let samples = x.len() / network.input_width();
            assert_eq!(samples * network.input_width(), x.len(), "{name}");
            assert_eq!(samples * network.output_width(), y.len(), "{name}");
            let size = y.iter().fold(1.0, |size: f64, y| size.max(y.abs()));
            for (x, y) in x.chunks(network.input_width()).zip(y.chunks(network.output_width())) {
                let found = network.evaluate(x).unwrap();
                let exact: Vec<Rational> = x.iter().map(|&x| Rational::from_f64(x).unwrap()).collect();
                let exact = network.evaluate_exact(&exact).unwrap();
                for ((found, expected), exact) in found.iter().zip(y).zip(&exact) {
                    assert!(
                        (found - expected).abs() <= 1e-5 * size,
                        "{name}: {found}, onnxruntime {expected}"
                    );
                    assert!(
                        (found - exact.to_f64()).abs() <= 1e-12 * size,
                        "{name}: {found}, exactly {exact}"
                    );
                }
            }
        }
    }
}

/// What is written is read again bit for bit, with its convolutions and names; written out, the matrices of the
/// first file take fourteen million bytes.
#[test]
fn written_graphs_keep_convolutions_and_names() {
    for name in [
        "residual_image.onnx",
        "residual_image_optimised.onnx",
        "image.onnx",
        "pools.onnx",
        "branches.onnx",
        "linear_behind_a_convolution.onnx",
    ] {
        let model = read(name);
        let mut file = Vec::new();
        onnx::write_named(&model.network, model.names.as_ref(), Precision::F64, &mut file).unwrap();
        let again = onnx::read(&file, &ReadOptions::default()).unwrap();
        assert_eq!(again.network, model.network, "{name}");
        if name.starts_with("residual_image") {
            assert!(file.len() < 100_000, "{name}: {}", file.len());
            let first = |model: &Model| model.names.as_ref().unwrap().neuron(0, 300);
            assert_eq!(first(&again), first(&model), "{name}");
            assert_eq!(first(&again).unwrap(), "stem[1, 2, 12]", "{name}");
        }
    }
    // Without names there are no shapes: the same network, as matrices.
    let network = read("residual_image.onnx").network;
    let mut file = Vec::new();
    onnx::write(&network, Precision::F64, &mut file).unwrap();
    assert_eq!(onnx::read(&file, &ReadOptions::default()).unwrap().network, network);
}

#[test]
fn widths_and_notes() {
    let check = |name: &str, widths: &[usize], notes: &[&str]| {
        let model = read(name);
        assert_eq!(model.network.widths(), widths, "{name}");
        assert_eq!(model.notes, notes, "{name}");
    };
    let carried = |count| format!("{count} neurons carry values past layers that other values pass through");
    check("residual.onnx", &[3, 6, 6, 12, 2], &[&carried(6)]);
    check("branches.onnx", &[3, 15, 13, 2], &[&carried(17)]);
    let batch = "input `onnx::Reshape_0`: the file was made for batches of 2; one sample is read";
    check("batch_of_two.onnx", &[4, 8, 1], &[batch]);
    let three = "input `onnx::Gemm_0`: the file was made for batches of 3; one sample is read";
    let model = read("zeros_of_a_batch.onnx");
    assert_eq!((model.network.input_width(), model.network.output_width()), (2, 3));
    assert_eq!(model.notes.first().map(String::as_str), Some(three));
    check("unsorted.onnx", &[3, 4, 2], &[]);
    let norms = "layer 3: node `jn` (BatchNormalization), node `hn` (BatchNormalization) folded into its weights \
                 and bias, and the results rounded to double precision";
    check("normalised_sum.onnx", &[3, 4, 8, 4, 2], &[norms, &carried(4)]);
    check("external.onnx", &[3, 4, 2], &[]);
    let head =
        "node `/3/Softmax` (Softmax) set aside: the outputs are the values before (`/2/Gemm_output_0`)";
    check("softmax.onnx", &[3, 4, 3], &[head]);
}

/// A graph that cannot be read as a whole: the node, the operator and what can be done.
#[test]
fn the_part_before_a_strange_operator_can_be_read() {
    let bytes = std::fs::read(path("onnx_test_ELU.onnx")).unwrap();
    let error = onnx::read(&bytes, &ReadOptions::default()).unwrap_err().to_string();
    let advice = "it stands at the input, so export what is behind it as a model of its own";
    assert_eq!(error, format!("node `1` (Elu): this operator is not piecewise linear; {advice}"));
    let options = ReadOptions { output: Some("0".into()), ..ReadOptions::default() };
    assert_eq!(onnx::read(&bytes, &options).unwrap().network.widths(), [10, 10]);
    let options = ReadOptions { output: Some("nothing".into()), ..ReadOptions::default() };
    let error = onnx::read(&bytes, &options).unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no value `nothing`; choose a value by its name (--output); the outputs are `1`"
    );
}

/// The whole of a batch is read if its shape is given.
#[test]
fn shapes_that_are_given() {
    let bytes = std::fs::read(path("leakyRelu.onnx")).unwrap();
    let with = |dims: &[usize]| {
        let shapes = vec![("x".to_owned(), dims.to_vec())];
        onnx::read(&bytes, &ReadOptions { shapes, ..ReadOptions::default() })
    };
    assert_eq!(with(&[2, 2]).unwrap().network.widths(), [4, 8, 4]);
    assert_eq!(with(&[1, 5]).unwrap().network.widths(), [5, 10, 5]);
    let error = with(&[1, 0]).unwrap_err().to_string();
    assert_eq!(error, "input `x`: the given shape is 1 x 0; expected positive numbers");
}
