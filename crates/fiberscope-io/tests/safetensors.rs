//! Reading and writing safetensors files: files of the reference implementation, round trips, files
//! from strangers.

use crate::tensor_support;

use std::fs::File;
use std::io::Write;

use fiberscope_core::{Activation, Layer, Matrix, Network};
use fiberscope_io::{FormatError, Model, Precision, ReadOptions, safetensors};
use tensor_support::{check_model, data_file, expected, mistreat, network, rounded};

fn read(bytes: &[u8]) -> Result<Model, FormatError> {
    safetensors::read(bytes, &ReadOptions::default())
}

fn written(network: &Network, precision: Precision) -> Vec<u8> {
    let mut bytes = Vec::new();
    safetensors::write(network, precision, &mut bytes).unwrap();
    bytes
}

/// A file with this header and these bytes of data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn refused(bytes: &[u8], expected: &str) {
    assert_eq!(read(bytes).unwrap_err().to_string(), expected);
}

#[test]
fn files_of_the_reference_implementation() {
    for (name, expected) in &expected("safetensors") {
        let path = data_file("safetensors").join(name);
        check_model(name, &read(&std::fs::read(&path).unwrap()).unwrap(), expected);
        check_model(
            name,
            &safetensors::read_file(&File::open(&path).unwrap(), &ReadOptions::default()).unwrap(),
            expected,
        );
    }
}

#[test]
fn round_trips_are_exact() {
    use Activation::{Identity, Relu};
    for hidden in [&[][..], &[Relu], &[Relu, Relu, Relu], &[Identity, Relu], &[Relu, Identity, Identity]] {
        let network = network(hidden);
        let model = read(&written(&network, Precision::F64)).unwrap();
        assert_eq!((model.network, model.precision), (network.clone(), Precision::F64));
        assert!(model.notes.is_empty());
        let model = read(&written(&network, Precision::F32)).unwrap();
        assert_eq!((model.network, model.precision), (rounded(&network), Precision::F32));
    }
}

#[test]
fn a_file_larger_than_one_chunk_arrives_whole() {
    let weight = |rows, cols| Matrix::from_fn(rows, cols, |i, j| (i * cols + j) as f64 + 0.5);
    let layer = |rows, cols, activation| Layer::new(weight(rows, cols), vec![0.25; rows], activation);
    let network =
        Network::new(vec![layer(300, 301, Activation::Relu), layer(3, 300, Activation::Identity)]).unwrap();
    for precision in [Precision::F32, Precision::F64] {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&written(&network, precision)).unwrap();
        assert_eq!(safetensors::read_file(&file, &ReadOptions::default()).unwrap().network, network);
    }
}

#[test]
fn names_are_those_of_a_sequential_module() {
    use Activation::{Identity, Relu};
    let bytes = written(&network(&[Relu, Identity, Relu]), Precision::F32);
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    assert_eq!(length % 8, 0);
    let header: serde_json::Map<_, _> = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let names: Vec<&str> = header.keys().map(String::as_str).collect();
    let expected = "__metadata__ 0.weight 0.bias 2.weight 2.bias 3.weight 3.bias 5.weight 5.bias";
    assert_eq!(names, expected.split(' ').collect::<Vec<_>>());
    assert_eq!(header["__metadata__"]["fiberscope.activations"], "relu,identity,relu,identity");
    assert_eq!(header["0.weight"]["shape"], serde_json::json!([3, 2]));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let layer = Layer::new(Matrix::from_rows(&[[1e300]]).unwrap(), vec![0.0], Activation::Identity);
    let network = Network::new(vec![layer]).unwrap();
    let failed =
        |precision| safetensors::write(&network, precision, &mut Vec::new()).unwrap_err().to_string();
    assert!(failed(Precision::F32).ends_with("is beyond single precision; write f64"));
    assert_eq!(failed(Precision::F16), "expected precision f32 or f64, found f16");
}

#[test]
fn headers_that_lie() {
    refused(b"", "expected 8 bytes with the length of the header, found a file of 0 bytes");
    refused(&[0xff; 20], "expected a header of at most 12 bytes, found the length 18446744073709551615");
    refused(&file("{}", &[]), "the file holds no tensors");
    refused(&file("{}", &[1]), "expected 0 bytes of data after the header, found 1");
    refused(
        &file("[]", &[]),
        "header: invalid type: sequence, expected an object of tensors at line 1 column 0",
    );
    let mut not_utf8 = file(r#"{"W?":1}"#, &[]);
    not_utf8[8 + 3] = 0xff;
    refused(&not_utf8, "header: byte 3 is not UTF-8");
    let nested = format!("{{\"a\":{}", "[".repeat(100_000));
    assert!(read(&file(&nested, &[])).unwrap_err().to_string().starts_with("header: "));
    let unknown = format!("{{\"W1\":{{\"x\":{}", "[".repeat(100_000));
    assert!(read(&file(&unknown, &[])).unwrap_err().to_string().starts_with("header: "));
}

#[test]
fn tensors_that_lie() {
    let one = |dtype: &str, shape: &str, offsets: &str, data: &[u8]| {
        file(&format!(r#"{{"W1":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#), data)
    };
    let check = |bytes: Vec<u8>, expected: &str| refused(&bytes, expected);
    let lies = |shape: &str, from: u64, to: u64| {
        format!("tensor `W1`: shape {shape} of F32 does not fill the bytes from {from} to {to}")
    };
    check(
        one("F32", "[1099511627776,1099511627776]", "[0,4]", &[0; 4]),
        &lies("[1099511627776, 1099511627776]", 0, 4),
    );
    check(one("F32", "[4294967296,4294967296]", "[0,0]", &[]), &lies("[4294967296, 4294967296]", 0, 0));
    check(one("F32", "[1,1]", "[4,0]", &[0; 4]), &lies("[1, 1]", 4, 0));
    check(
        one("F32", "[1,1]", "[18446744073709551612,18446744073709551615]", &[0; 4]),
        &lies("[1, 1]", u64::MAX - 3, u64::MAX),
    );
    check(
        one("F32", "[1,1]", "[18446744073709551611,18446744073709551615]", &[0; 4]),
        "tensor `W1`: expected it to begin at byte 0 of the data, found 18446744073709551611, which leaves a gap",
    );
    check(
        one("F32", "[1,1]", "[0,4]", &[0; 3]),
        "tensor `W1`: it ends at byte 4 of the data, but the file has only 3",
    );
    check(
        one("F32", "[0,1099511627776]", "[0,0]", &[]),
        "tensor `W1`: expected dimensions of at least 1, found shape [0, 1099511627776]",
    );
    check(
        one("F8_E4M3", "[1,1]", "[0,1]", &[0]),
        "tensor `W1`: expected dtype F64, F32, F16 or BF16, found `F8_E4M3`",
    );
    check(one("BOOL", "[1,1]", "[0,1]", &[0]), "tensor `W1`: expected numbers, found booleans");
    check(one("I64", "[1,1]", "[0,8]", &[0x7f; 8]), "tensor `W1`: an integer beyond 2^53 is no parameter");
    let many = format!("[{}1]", "1,".repeat(100));
    let message = read(&one("F32", &many, "[0,4]", &[0; 4])).unwrap_err().to_string();
    assert!(message.starts_with("header: a shape has more than 64 dimensions"), "{message}");
    let nan = one("F64", "[1,1]", "[0,8]", &f64::NAN.to_le_bytes());
    check(nan, "layer 1: weight[1][1] is NaN; expected a finite number");
}

#[test]
fn tensors_that_overlap_or_repeat() {
    let tensor = |name: &str, from: usize, to: usize| {
        format!(r#""{name}":{{"dtype":"F32","shape":[1,{}],"data_offsets":[{from},{to}]}}"#, (to - from) / 4)
    };
    let check = |tensors: &[String], data: usize, expected: &str| {
        refused(&file(&format!("{{{}}}", tensors.join(",")), &vec![0; data]), expected);
    };
    check(
        &[tensor("W1", 0, 8), tensor("W2", 4, 8)],
        8,
        "tensor `W2`: expected it to begin at byte 8 of the data, found 4, which leaves an overlap",
    );
    check(
        &[tensor("W1", 0, 4), tensor("W2", 8, 12)],
        12,
        "tensor `W2`: expected it to begin at byte 4 of the data, found 8, which leaves a gap",
    );
    check(&[tensor("W1", 0, 4), tensor("W1", 4, 8)], 8, "tensor `W1`: the file holds it twice");
    let metadata = r#""__metadata__":{"a":"1","a":"2"}"#.to_owned();
    check(&[metadata, tensor("W1", 0, 4)], 4, "header: metadata `a` is there twice at line 1 column 33");
    let bad = r#""__metadata__":{"fiberscope.activations":"relu,identity"}"#.to_owned();
    check(&[bad, tensor("W1", 0, 4)], 4, "expected 1 activations, one per layer, found 2");
}

#[test]
fn names_from_strangers_are_printed_on_one_line() {
    let header = r#"{"\u001b[31m\n":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}"#;
    let expected = r#"tensor `\u{1b}[31m\n`: expected names like `W1`, `b1` or `0.weight`, `0.bias`; such a file does not say how its numbers are used; export the model with torch.onnx.export(model, example_input, "model.onnx"), or use fs.from_torch(model, example_input) in Python"#;
    refused(&file(header, &[0; 4]), expected);
}

#[test]
fn ten_thousand_layers() {
    let layer = |activation| Layer::new(Matrix::from_rows(&[[1.0]]).unwrap(), vec![0.5], activation);
    let mut layers = vec![layer(Activation::Relu); 9_999];
    layers.push(layer(Activation::Identity));
    let network = Network::new(layers).unwrap();
    assert_eq!(read(&written(&network, Precision::F64)).unwrap().network, network);
}

#[test]
fn broken_files_are_errors() {
    mistreat(&written(&network(&[Activation::Relu]), Precision::F32), read);
}
