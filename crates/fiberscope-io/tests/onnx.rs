//! ONNX files made by other programs mean to us what they mean to onnxruntime.

use std::path::PathBuf;

use fiberscope_core::{Activation, Network};
use fiberscope_io::{Model, Precision, ReadOptions, onnx};
use serde_json::Value;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx").join(name)
}

fn load(name: &str) -> Model {
    let bytes = std::fs::read(path(name)).unwrap();
    onnx::read(&bytes, &ReadOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The plainest evaluation there is.
fn evaluate(network: &Network, x: &[f64]) -> Vec<f64> {
    network.layers().iter().fold(x.to_vec(), |a, layer| {
        let z = layer.weight().iter_rows().zip(layer.bias());
        let z = z.map(|(row, b)| row.iter().zip(&a).map(|(w, a)| w * a).sum::<f64>() + b);
        match layer.activation() {
            Activation::Relu => z.map(|z| z.max(0.0)).collect(),
            Activation::Identity => z.collect(),
        }
    })
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn outputs_agree_with_onnxruntime() {
    let text = std::fs::read_to_string(path("outputs.json")).unwrap();
    let files: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
    let stored = std::fs::read_dir(path("")).unwrap().filter(|entry| {
        entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "onnx")
    });
    assert_eq!(files.len(), stored.count(), "outputs.json is out of date");
    for (name, cases) in &files {
        let model = load(name);
        let tolerance = 16.0 * model.precision.epsilon();
        for case in cases.as_array().unwrap() {
            let expected = numbers(&case["output"]);
            let found = evaluate(&model.network, &numbers(&case["input"]));
            assert_eq!(found.len(), expected.len(), "{name}");
            let size = expected.iter().fold(1.0, |size: f64, y| size.max(y.abs()));
            for (found, expected) in found.iter().zip(&expected) {
                assert!(
                    (found - expected).abs() <= tolerance * size,
                    "{name}: {found}, onnxruntime {expected}"
                );
            }
        }
    }
}

#[test]
fn widths_precisions_and_notes() {
    let check = |name: &str, widths: &[usize], precision: Precision, notes: &[&str]| {
        let model = load(name);
        assert_eq!(model.network.widths(), widths, "{name}");
        assert_eq!(model.precision, precision, "{name}");
        assert_eq!(model.notes, notes, "{name}");
    };
    use Precision::{F16, F32, F64};
    check("acasxu_1_1.onnx", &[5, 50, 50, 50, 50, 50, 50, 5], F32, &[]);
    check("torch_mlp.onnx", &[4, 7, 5, 3], F32, &[]);
    check("torch_mlp_dynamo.onnx", &[4, 7, 5, 3], F32, &[]);
    check("torch_double.onnx", &[3, 5, 2], F64, &[]);
    check("torch_no_bias.onnx", &[3, 6, 2], F32, &[]);
    check("torch_flatten.onnx", &[12, 5, 2], F32, &[]);
    let column = "input `onnx::MatMul_0`: all of its shape 4 x 1 is read, as its first dimension is not a batch of samples that are treated alike";
    check("torch_column.onnx", &[4, 6, 2], F32, &[column]);
    check("helper_half.onnx", &[3, 4, 2], F16, &[]);
    check("helper_rows.onnx", &[8, 12, 2], F32, &[]);
    let behind = "the network ends with a ReLU: an identity layer was put behind it";
    check("torch_final_relu.onnx", &[3, 4, 3, 3], F32, &[behind]);
    let before = "node `a` (Relu) acts on the input itself: an identity layer was put before it";
    check("helper_relu_first.onnx", &[3, 3, 2, 2], F32, &[before, behind]);
    let rounded = "folded into its weights and bias, and the results rounded to double precision";
    let shifted = format!("layer 1: node `input_Sub` (Sub) {rounded}");
    check("iso_acasxu_1_1_perturbed.onnx", &[5, 50, 50, 50, 50, 50, 50, 5], F32, &[&shifted]);
    let first = format!("layer 1: node `/0/BatchNormalization` (BatchNormalization) {rounded}");
    let second = format!("layer 2: node `/3/BatchNormalization` (BatchNormalization) {rounded}");
    check("torch_batch_norm.onnx", &[4, 6, 3], F32, &[&first, &second]);
    let first = format!("layer 1: node `centre` (Sub), node `reduce` (Div), node `c` (Gemm) {rounded}");
    check("helper_normalised.onnx", &[3, 4, 2], F32, &[&first]);
    // Two matrices without a ReLU between them stay two layers, so nothing is multiplied out.
    check("helper_constants.onnx", &[3, 4, 4, 2, 2], F32, &[]);
}

#[test]
fn weights_are_the_numbers_of_the_file() {
    let network = load("torch_mlp.onnx").network;
    let dynamo = load("torch_mlp_dynamo.onnx").network;
    assert_eq!(network, dynamo, "the two exporters wrote the same module");
    let as_f32 = |w: &f64| f64::from(*w as f32).to_bits() == w.to_bits();
    assert!(network.layers().iter().all(|layer| layer.weight().entries().iter().all(as_f32)));
}
