//! Reading and writing npz and npy files: files of numpy, round trips, files from strangers.

use crate::tensor_support;

use fiberscope_core::{Activation, Layer, Matrix, Network};
use fiberscope_io::{FormatError, Model, Precision, ReadOptions, npz};
use tensor_support::{
    check_data, check_model, data_file, expected, mistreat, network, replace, rounded, zip,
};
use zip::CompressionMethod::{Deflated, Stored};

fn read(bytes: &[u8]) -> Result<Model, FormatError> {
    npz::read(bytes, &ReadOptions::default())
}

fn written(network: &Network, precision: Precision) -> Vec<u8> {
    let mut bytes = Vec::new();
    npz::write(network, precision, &mut bytes).unwrap();
    bytes
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((dictionary.len() as u16).to_le_bytes());
    bytes.extend(dictionary.as_bytes());
    bytes.extend(data);
    bytes
}

fn refused(bytes: &[u8], expected: &str) {
    assert_eq!(read(bytes).unwrap_err().to_string(), expected);
}

#[test]
fn files_of_numpy() {
    for (name, expected) in &expected("npz") {
        let bytes = std::fs::read(data_file("npz").join(name)).unwrap();
        match name.as_str() {
            _ if name.ends_with(".npy") => check_data(name, &npz::read_npy_data(&bytes).unwrap(), expected),
            _ if name.starts_with("data") => check_data(name, &npz::read_npz_data(&bytes).unwrap(), expected),
            _ => check_model(name, &read(&bytes).unwrap(), expected),
        }
    }
}

#[test]
fn listed_activations_are_honoured() {
    use Activation::{Identity, Relu};
    let bytes = std::fs::read(data_file("npz/activations.npz")).unwrap();
    let network = read(&bytes).unwrap().network;
    assert_eq!(
        network.layers().iter().map(Layer::activation).collect::<Vec<_>>(),
        [Identity, Relu, Identity]
    );
}

#[test]
fn python_objects_are_refused() {
    let bytes = std::fs::read(data_file("npz/objects.npz")).unwrap();
    refused(
        &bytes,
        "array `W1`: expected floats, integers or booleans, found dtype `|O` (Python objects, which could run code)",
    );
}

#[test]
fn round_trips_are_exact() {
    use Activation::{Identity, Relu};
    for hidden in [&[][..], &[Relu], &[Relu, Relu, Relu], &[Identity, Relu], &[Relu, Identity, Identity]] {
        let network = network(hidden);
        let model = read(&written(&network, Precision::F64)).unwrap();
        assert_eq!((model.network, model.precision), (network.clone(), Precision::F64));
        let model = read(&written(&network, Precision::F32)).unwrap();
        assert_eq!((model.network, model.precision), (rounded(&network), Precision::F32));
    }
    assert_eq!(written(&network(&[Relu]), Precision::F64), written(&network(&[Relu]), Precision::F64));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let layer = Layer::new(Matrix::from_rows(&[[-1e39]]).unwrap(), vec![0.0], Activation::Identity);
    let network = Network::new(vec![layer]).unwrap();
    let failed = npz::write(&network, Precision::F32, &mut Vec::new()).unwrap_err().to_string();
    assert!(failed.ends_with("is beyond single precision; write f64"), "{failed}");
}

#[test]
fn arrays_that_lie() {
    let check = |array: Vec<u8>, expected: &str| refused(&zip(&[("W1.npy", &array)], Stored), expected);
    check(
        npy("<f8", "(1099511627776, 1099511627776)", &[0; 8]),
        "array `W1`: expected more than there can be bytes of entries (shape [1099511627776, 1099511627776]), found 8",
    );
    check(
        npy("<f8", "(1048576, 1048576)", &[0; 8]),
        "array `W1`: expected 8796093022208 bytes of entries (shape [1048576, 1048576]), found 8",
    );
    check(npy("<f8", "(1, 1)", &[0; 9]), "array `W1`: expected 8 bytes of entries (shape [1, 1]), found 9");
    check(
        npy("<f8", "(0, 1099511627776)", &[]),
        "tensor `W1`: expected dimensions of at least 1, found shape [0, 1099511627776]",
    );
    check(
        npy("<f8", "(1, 1)", &f64::NAN.to_le_bytes()),
        "layer 1: weight[1][1] is NaN; expected a finite number",
    );
    check(
        npy("<i8", "(1, 1)", &[0x7f; 8]),
        "array `W1`: an integer is beyond 2^53, so that it might be no double",
    );
    check(npy("<U1", "(1, 1)", &[0; 4]), "array `W1`: expected numbers, found strings");
    check(b"\x93NUMPY\x04\x00".to_vec(), "array `W1`: expected npy version 1.0, 2.0 or 3.0, found 4.0");
    check(b"hello, world".to_vec(), "array `W1`: expected a npy array, which begins with \\x93NUMPY");
    check(b"short".to_vec(), "entry `W1.npy`: expected 8 more bytes, found 5");
    let mut long = npy("<f8", "(1, 1)", &[0; 8]);
    long[6] = 2;
    check(long, "array `W1`: expected a npy header of at most 10000 bytes, found 662372412");
}

#[test]
fn archives_that_lie() {
    let one = npy("<f8", "(1, 1)", &1f64.to_le_bytes());
    let good = zip(&[("W1.npy", &one)], Stored);
    assert!(read(&good).is_ok());
    assert!(
        read(b"PK\x03\x04 and then something else").unwrap_err().to_string().starts_with("no zip archive: ")
    );

    let mut twice = zip(&[("W1.npy", &one), ("W2.npy", &one)], Stored);
    replace(&mut twice, b"W2.npy", b"W1.npy");
    refused(&twice, "entry `W1.npy`: the archive holds it twice");

    let mut corrupt = good.clone();
    replace(&mut corrupt, &1f64.to_le_bytes(), &2f64.to_le_bytes());
    refused(&corrupt, "entry `W1.npy`: its checksum is wrong");

    let mut encrypted = good.clone();
    let directory = encrypted.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    encrypted[directory + 8] |= 1;
    refused(&encrypted, "entry `W1.npy`: it is encrypted");

    let mut not_utf8 = good.clone();
    replace(&mut not_utf8, b"W1.npy", b"W\xff.npy");
    refused(&not_utf8, "entry `W\u{fffd}.npy`: its name is not UTF-8");

    let other = zip(&[("notes.txt", b"hello")], Stored);
    refused(&other, "entry `notes.txt`: expected arrays, with names ending in .npy");
}

#[test]
fn bombs_are_not_inflated() {
    let size = 200 << 20;
    let bomb = zip(&[("W1.npy", &npy("<f8", "(1, 26214400)", &vec![0; size]))], Deflated);
    assert!(bomb.len() < 1 << 20);
    let message = read(&bomb).unwrap_err().to_string();
    let expected = format!("the archive has {} bytes and declares 20971", bomb.len());
    assert!(message.starts_with(&expected) && message.contains("64 MiB + 32 x the file's size"), "{message}");
    assert!(npz::read_npz_data(&bomb).is_err());

    // The same bomb, declared to be harmless.
    let array = npy("<f8", "(1, 1)", &vec![0; size]);
    let mut liar = zip(&[("W1.npy", &array)], Deflated);
    let declared = npy("<f8", "(1, 1)", &[0; 8]).len() as u32;
    replace(&mut liar, &(array.len() as u32).to_le_bytes(), &declared.to_le_bytes());
    refused(&liar, "entry `W1.npy`: it inflates to more bytes than the archive declares");
}

#[test]
fn data_that_are_none() {
    let check = |array: Vec<u8>, expected: &str| {
        assert_eq!(npz::read_npy_data(&array).unwrap_err().to_string(), expected);
    };
    check(npy("<f8", "()", &[0; 8]), "expected 1 or 2 dimensions, found 0");
    check(npy("<f8", "(1, 1, 1)", &[0; 8]), "expected 1 or 2 dimensions, found 3");
    check(
        npy("<f8", "(1099511627776, 0)", &[]),
        "expected at least one row and column, found 1099511627776 x 0",
    );
    let infinite = [1f64, 2.0, 3.0, f64::NEG_INFINITY].map(f64::to_le_bytes).concat();
    check(npy("<f8", "(2, 2)", &infinite), "row 2, column 2: expected a finite number, found -inf");
    let array = npy("<f8", "(1,)", &[0; 8]);
    let two = zip(&[("a.npy", &array), ("b.npy", &array)], Stored);
    let message = npz::read_npz_data(&two).unwrap_err().to_string();
    assert_eq!(message, "expected one array, or one named `X`, found `a`, `b`");
    let message = npz::read_npz_data(&zip(&[], Stored)).unwrap_err().to_string();
    assert_eq!(message, "expected one array, or one named `X`, found none");
}

#[test]
fn broken_files_are_errors() {
    mistreat(&written(&network(&[Activation::Identity]), Precision::F32), read);
    mistreat(&std::fs::read(data_file("npz/f32_compressed.npz")).unwrap(), read);
    mistreat(&std::fs::read(data_file("npz/data_f64.npy")).unwrap(), npz::read_npy_data);
    mistreat(&std::fs::read(data_file("npz/data_two.npz")).unwrap(), npz::read_npz_data);
}
