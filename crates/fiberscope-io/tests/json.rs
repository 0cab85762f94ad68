//! The JSON format: what is written, what reads back, and what is refused with which sentence.

use fiberscope_core::{Activation, Digest, Layer, Matrix, Network, SparseMatrix, Weights};
use fiberscope_io::{FormatError, Model, Precision, ReadOptions, json};

fn layer(rows: &[&[f64]], bias: &[f64], activation: Activation) -> Layer {
    Layer::new(Matrix::from_rows(rows).unwrap(), bias.to_vec(), activation)
}

fn read(text: &str) -> Result<Model, FormatError> {
    json::read(text.as_bytes(), &ReadOptions::default())
}

fn written(network: &Network) -> String {
    let mut out = Vec::new();
    json::write(network, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn bits(network: &Network) -> Vec<u64> {
    let layers = network.layers().iter();
    layers
        .flat_map(|layer| layer.weight().entries().iter().chain(layer.bias()))
        .map(|w| w.to_bits())
        .collect()
}

#[test]
fn the_written_form_has_one_row_per_line() {
    let network = Network::new(vec![
        layer(&[&[1.0, 0.5], &[-1.0, 2.0]], &[0.0, 0.25], Activation::Relu),
        layer(&[&[1.0, 1e-300]], &[-0.0], Activation::Identity),
    ])
    .unwrap();
    assert_eq!(written(&network), include_str!("data/json/small.json"));
}

#[test]
fn round_trips_keep_every_bit() {
    let mut row = vec![0.0, -0.0, 0.1, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, -5e-324, 1e-310, 1e23];
    row.extend([1.0 / 3.0, 9007199254740993.0, 2f64.powi(-1022) - 5e-324, 123456789012345680.0]);
    // Bit patterns without structure, finite since the top bit of the exponent is cleared.
    let mut state = 1u64;
    row.extend((0..2000).map(|_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        f64::from_bits((state ^ state >> 32) & !(1 << 62))
    }));
    let network = Network::new(vec![layer(&[&row, &row], &[5e-324, -0.0], Activation::Identity)]).unwrap();
    let model = read(&written(&network)).unwrap();
    assert_eq!(bits(&model.network), bits(&network));
    assert_eq!((model.precision, model.notes.len()), (Precision::F64, 0));
}

#[test]
fn keys_come_in_any_order_and_integers_are_numbers() {
    let text = r#" {"layers": [{"activation": "identity", "bias": [-0, 18446744073709551617],
        "weight": [[1, -2], [9007199254740993, 1e2]]}], "version": 1, "format": "fiberscope-network"} "#;
    let network = read(text).unwrap().network;
    assert_eq!(network.layers()[0].weight().entries(), [1.0, -2.0, 9007199254740992.0, 100.0]);
    assert_eq!(network.layers()[0].bias()[0].to_bits(), (-0.0f64).to_bits());
    assert_eq!(network.layers()[0].bias()[1], 18446744073709551616.0);
}

#[test]
fn a_last_relu_is_closed_by_an_identity_layer() {
    let model = read(&file(r#"{"weight": [[1]], "bias": [0], "activation": "relu"}"#)).unwrap();
    assert_eq!((model.network.widths(), model.notes.len()), (vec![1, 1, 1], 1));
}

/// A file with these layers.
fn file(layers: &str) -> String {
    format!(r#"{{"format": "fiberscope-network", "version": 1, "layers": [{layers}]}}"#)
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(read(text).unwrap_err().to_string(), expected, "{text}");
}

/// A layer that begins on line 2, column 1, in a file that is otherwise right.
#[track_caller]
fn check_layer(layer: &str, expected: &str) {
    check(&file(&format!("\n{layer}")), &format!("layer 1: {expected}"));
}

#[test]
fn wrong_numbers_are_named() {
    let weight = |weight: &str, expected: &str| check_layer(&format!(r#"{{"weight": {weight}"#), expected);
    weight("[[1, 2], [3]]", "weight: row 2 has 1 entries; expected 2, as in row 1 (line 2, column 24)");
    weight("[[1], [2, 3]]", "weight: row 2 has 2 entries; expected 1, as in row 1 (line 2, column 24)");
    weight("[[1, null]]", "weight[1][2]: invalid type: null, expected a number (line 2, column 20)");
    weight("[[1, 1e999]]", "weight[1][2]: number out of range (line 2, column 21)");
    weight("[[1], [-1e999]]", "weight[2][1]: number out of range (line 2, column 24)");
    weight("[[NaN]]", "weight[1][1]: expected value (line 2, column 14)");
    weight("[[\"1\"]]", "weight[1][1]: invalid type: string \"1\", expected a number (line 2, column 16)");
    weight("[[[1]]]", "weight[1][1]: invalid type: sequence, expected a number (line 2, column 13)");
    weight("[1]", "weight[1]: invalid type: integer `1`, expected a list of numbers (line 2, column 13)");
    weight("{}", "weight: the key \"columns\" is missing (line 2, column 13)");
    weight("[[1], [2,", "weight[2][2]: trailing comma (line 2, column 21)");
    let bias = |bias: &str, expected: &str| check_layer(&format!(r#"{{"bias": {bias}"#), expected);
    bias("[0, true]", "bias[2]: invalid type: boolean `true`, expected a number (line 2, column 17)");
    bias("3", "bias: invalid type: integer `3`, expected a list of numbers (line 2, column 10)");
}

#[test]
fn wrong_layers_are_named() {
    let keys = "an object with the keys \"weight\", \"bias\" and \"activation\"";
    check_layer("[]", &format!("invalid type: sequence, expected {keys} (line 2, column 0)"));
    check_layer(r#"{"bias": [0], "bias": [0]}"#, "bias: the key occurs twice (line 2, column 26)");
    let known = r#"["weight", "bias", "activation"]"#;
    check_layer(r#"{"w": 1}"#, &format!("unknown key \"w\"; expected one of {known} (line 2, column 4)"));
    check_layer(r#"{"weight": [[1]], "bias": [0]}"#, "the key \"activation\" is missing (line 2, column 30)");
    let names = "\"relu\" or \"identity\"";
    let tanh = format!("activation: unknown activation \"tanh\"; expected {names} (line 2, column 21)");
    check_layer(r#"{"activation": "tanh"}"#, &tanh);
    let number = format!("activation: invalid type: integer `1`, expected {names} (line 2, column 16)");
    check_layer(r#"{"activation": 1}"#, &number);
    let shape = |weight: &str, bias: &str, expected: &str| {
        check_layer(
            &format!(r#"{{"weight": {weight}, "bias": {bias}, "activation": "identity"}}"#),
            expected,
        );
    };
    shape("[]", "[]", "the weight has shape 0 x 0; widths must be at least 1");
    shape("[[], []]", "[0, 0]", "the weight has shape 2 x 0; widths must be at least 1");
    shape("[[1]]", "[0, 1]", "expected a bias of length 1 (one per row of the weight), found 2");
}

#[test]
fn wrong_files_are_named() {
    check("", "EOF while parsing a value (line 1, column 0)");
    let keys = "an object with the keys \"format\", \"version\" and \"layers\"";
    check("[]", &format!("invalid type: sequence, expected {keys} (line 1, column 0)"));
    check("{\"version\": 1", "EOF while parsing an object (line 1, column 13)");
    check("{}", "the key \"format\" is missing (line 1, column 2)");
    let format = "format: the format is \"x\"; expected \"fiberscope-network\" (line 1, column 14)";
    check("{\"format\": \"x\"}", format);
    check("{\"version\": 3}", "version: the version is 3; expected 1 or 2 (line 1, column 13)");
    let float =
        "version: invalid type: floating point `1.5`, expected the version 1 or 2 (line 1, column 15)";
    check("{\"version\": 1.5}", float);
    check(&file(""), "a network needs at least one layer");
    check(&(file("") + "x"), "trailing characters (line 1, column 61)");
    let invalid = json::read(b"{\"\xff\": 1}", &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(invalid, "invalid unicode code point (line 1, column 3)");
}

#[test]
fn messages_stay_short() {
    let long = "\u{e9}".repeat(1 << 20);
    let message = read(&format!("{{\"format\": \"{long}\"}}")).unwrap_err().to_string();
    assert!(message.len() < 500, "{} bytes", message.len());
    let end = "...\"; expected \"fiberscope-network\" (line 1, column 2097165)";
    assert!(message.ends_with(end), "{message}");
    let message = read(&format!("{{\"version\": \"{long}\"}}")).unwrap_err().to_string();
    assert!(message.len() < 1000, "{} bytes", message.len());
    assert!(message.ends_with("\u{e9}\", expected the version 1 or 2 (line 1, column 2097166)"), "{message}");
}

/// A layer with three entries, stored by them.
fn by_entries() -> Network {
    let mut weight = SparseMatrix::new(5);
    weight.push_row([(1, 0.5), (4, -1.0)]);
    weight.push_row([]);
    weight.push_row([(0, 1e-300)]);
    let last = layer(&[&[1.0, 0.0, 2.0]], &[0.0], Activation::Identity);
    Network::new(vec![Layer::new(Weights::Sparse(weight), vec![0.0, 0.25, -0.0], Activation::Relu), last])
        .unwrap()
}

#[test]
fn layers_stored_by_their_entries_are_written_so() {
    let text = written(&by_entries());
    assert_eq!(
        text,
        "{\"format\": \"fiberscope-network\", \"version\": 2,\n \"layers\": [\n  {\"weight\": {\"columns\": 5, \"rows\": [\n    \
         [[2, 0.5], [5, -1.0]],\n    [],\n    [[1, 1e-300]]]},\n   \"bias\": [0.0, 0.25, -0.0],\n   \"activation\": \"relu\"},\n  \
         {\"weight\": [\n    [1.0, 0.0, 2.0]],\n   \"bias\": [0.0],\n   \"activation\": \"identity\"}\n ]}\n"
    );
    let network = read(&text).unwrap().network;
    assert_eq!(network, by_entries());
    assert_eq!(bits(&network), bits(&by_entries()));
    assert_eq!(Digest::of(&network), Digest::of(&by_entries()));
    // A small layer is held densely, a large one by its entries, and large ones come back as they were.
    assert!(!network.layers()[0].weights().is_sparse());
    let mut band = SparseMatrix::new(300);
    (0..300).for_each(|i| band.push_row((i..300.min(i + 3)).map(|j| (j, (i + j) as f64 + 0.1))));
    let wide = Network::new(vec![Layer::new(band, vec![0.1; 300], Activation::Identity)]).unwrap();
    let again = read(&written(&wide)).unwrap().network;
    assert!(again.layers()[0].weights().is_sparse());
    assert_eq!((written(&again), again), (written(&wide), wide));
}

#[test]
fn bad_entries_are_refused() {
    let file = |version: u32, weight: &str| {
        let layer = format!(r#"{{"weight": {weight}, "bias": [0, 0], "activation": "identity"}}"#);
        format!(r#"{{"format": "fiberscope-network", "version": {version}, "layers": [{layer}]}}"#)
    };
    let check = |version: u32, weight: &str, expected: &str| {
        let message = read(&file(version, weight)).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    assert!(read(&file(2, r#"{"columns": 3, "rows": [[[1, 2]], [[2, 0], [3, 1]]]}"#)).is_ok());
    assert!(read(&file(2, "[[1], [2]]")).is_ok());
    let entries = r#"{"columns": 3, "rows": [[], []]}"#;
    check(1, entries, "layer 1 gives its weight by entries; that needs version 2, found version 1");
    check(
        2,
        r#"{"columns": 3, "rows": [[], [[4, 1]]]}"#,
        "row 2 has an entry in column 4; expected at most 3",
    );
    check(
        2,
        r#"{"columns": 3, "rows": [[], [[2, 1], [2, 1]]]}"#,
        "weight row 2: column 2 does not come after the one before",
    );
    check(2, r#"{"columns": 3, "rows": [[[0, 1]], []]}"#, "columns count from 1, found 0");
    check(2, r#"{"columns": 3, "rows": [[[1, 1, 1]], []]}"#, "expected a pair [column, number]");
    check(2, r#"{"columns": 3, "rows": [[[1]], []]}"#, "expected a pair [column, number]");
    check(2, r#"{"columns": 3}"#, "the key \"rows\" is missing");
    check(2, r#"{"rows": []}"#, "the key \"columns\" is missing");
    check(
        2,
        r#"{"columns": 99999999999, "rows": [[], []]}"#,
        "99999999999 columns; expected at most 67108864",
    );
    check(
        2,
        r#"{"columns": 3, "rows": [[]]}"#,
        "expected a bias of length 1 (one per row of the weight), found 2",
    );
    check(2, r#"{"columns": 0, "rows": [[], []]}"#, "widths must be at least 1");
}
