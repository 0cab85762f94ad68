use super::*;

fn tensor(name: &str, shape: &[usize]) -> TensorInfo {
    TensorInfo { name: name.to_owned(), shape: shape.to_vec(), element: Element::F64 }
}

/// Reads a network whose tensor `i` is filled with `i`.
fn read(tensors: &[(&str, &[usize])], activations: Option<&[&str]>) -> Result<Model, FormatError> {
    let tensors: Vec<TensorInfo> = tensors.iter().map(|(name, shape)| tensor(name, shape)).collect();
    let activations = activations.map(|names| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
    with_options(&tensors, activations.as_deref(), &ReadOptions::default())
}

fn with_options(
    tensors: &[TensorInfo],
    activations: Option<&[String]>,
    options: &ReadOptions,
) -> Result<Model, FormatError> {
    network(tensors, activations, options, |i| Ok(vec![i as f64; tensors[i].entries().unwrap()]))
}

fn refused(tensors: &[(&str, &[usize])], expected: &str) {
    assert_eq!(read(tensors, None).unwrap_err().to_string(), expected);
}

#[test]
fn layers_come_in_natural_order_and_missing_biases_are_zero() {
    let model =
        read(&[("net.10.weight", &[1, 4]), ("net.2.bias", &[4]), ("net.2.weight", &[4, 3])], None).unwrap();
    let network = &model.network;
    assert_eq!(network.widths(), [3, 4, 1]);
    assert_eq!(network.layers()[0].weight().entries()[0], 2.0);
    assert_eq!(network.layers()[0].bias(), [1.0; 4]);
    assert_eq!(network.layers()[0].activation(), Activation::Relu);
    assert_eq!(network.layers()[1].bias(), [0.0]);
    assert_eq!(network.layers()[1].activation(), Activation::Identity);
    assert_eq!(model.notes, ["1 of 2 layers have no bias in the file: it is zero"]);
}

#[test]
fn an_order_that_rests_on_words_is_noted() {
    let model = read(&[("input.weight", &[2, 2]), ("hidden.weight", &[2, 2])], None).unwrap();
    let note = "layers in the natural order of their names: `hidden.weight`, `input.weight`";
    assert_eq!(model.notes[1], note);
}

#[test]
fn listed_activations_are_honoured_and_counted() {
    let tensors: &[(&str, &[usize])] = &[("W1", &[2, 3]), ("W2", &[2, 2]), ("W3", &[1, 2])];
    let model = read(tensors, Some(&["identity", "relu", "identity"])).unwrap();
    let activations: Vec<_> = model.network.layers().iter().map(Layer::activation).collect();
    assert_eq!(activations, [Activation::Identity, Activation::Relu, Activation::Identity]);
    let check = |names: &[&str], expected: &str| {
        assert_eq!(read(tensors, Some(names)).unwrap_err().to_string(), expected);
    };
    check(&["relu"], "expected 3 activations, one per layer, found 1");
    check(&["relu", "gelu", "identity"], "layer 2: expected activation relu or identity, found `gelu`");
    check(
        &["relu", "relu", "relu"],
        "the last layer has activation relu; expected identity (append an identity layer to end with relu)",
    );
}

#[test]
fn the_lowest_precision_counts() {
    let mut tensors = vec![tensor("W1", &[1, 1]), tensor("b1", &[1])];
    tensors[1].element = Element::F16;
    assert_eq!(
        network(&tensors, None, &ReadOptions::default(), |_| Ok(vec![1.0])).unwrap().precision,
        Precision::F16
    );
    tensors[1].element = Element::I8;
    assert_eq!(
        network(&tensors, None, &ReadOptions::default(), |_| Ok(vec![1.0])).unwrap().precision,
        Precision::F64
    );
    tensors[1].element = Element::Bool;
    let refused = network(&tensors, None, &ReadOptions::default(), |_| Ok(vec![1.0])).unwrap_err();
    assert_eq!(refused.to_string(), "tensor `b1`: expected numbers, found booleans");
}

#[test]
fn names_that_make_no_network() {
    refused(&[], "the file holds no tensors");
    refused(&[("W1", &[1, 1]), ("b2", &[1])], "tensor `b2`: expected a weight `W2` beside it, found none");
    refused(&[("bias", &[1])], "tensor `bias`: expected a weight `weight` beside it, found none");
    refused(
        &[("a.weight", &[1, 1]), ("b.bias", &[1])],
        "tensor `b.bias`: expected a weight `b.weight` beside it, found none",
    );
    refused(&[("W1", &[1, 1]), ("W3", &[1, 1])], "expected tensor `W2`, found `W3`");
    refused(&[("W1", &[1, 1]), ("W1", &[1, 1])], "tensor `W1`: the file holds it twice");
    refused(
        &[("W1", &[1, 1]), ("0.weight", &[1, 1])],
        "tensors `0.weight` and `W1`: expected either `W1`, `b1`, ... or `0.weight`, `0.bias`, ...",
    );
    refused(
        &[("W1", &[1, 1]), ("epoch", &[])],
        &format!(
            "tensor `epoch`: expected names like `W1`, `b1` or `0.weight`, `0.bias`; {}",
            betrayal::ADVICE
        ),
    );
    refused(
        &[("fc.weight", &[1, 1]), ("bn.weight", &[1]), ("bn.running_mean", &[1])],
        &format!(
            "tensor `bn.weight`: its name speaks of a batch normalisation, which weights and biases alone do not describe; {}",
            betrayal::ADVICE
        ),
    );
    refused(
        &[("0.weight", &[1, 1]), ("1.weight", &[1]), ("1.running_mean", &[1])],
        &format!(
            "module `1`: its tensors are those of no linear layer, convolution or batch normalisation; {}",
            betrayal::ADVICE
        ),
    );
}

#[test]
fn shapes_that_make_no_network() {
    refused(
        &[("first.weight", &[6, 1, 5, 5])],
        &format!(
            "tensor `first.weight`: expected 2 dimensions (out x in), found shape [6, 1, 5, 5]; a convolution has such a \
             weight: {}",
            betrayal::ADVICE
        ),
    );
    refused(
        &[("0.weight", &[3])],
        &format!(
            "tensor `0.weight`: expected 2 dimensions (out x in), found shape [3]; a normalisation or a PReLU has such a \
             weight: {}",
            betrayal::ADVICE
        ),
    );
    refused(&[("W1", &[2, 3]), ("b1", &[2, 1])], "tensor `b1`: expected 1 dimension, found shape [2, 1]");
    refused(
        &[("W1", &[1 << 40, 0])],
        "tensor `W1`: expected dimensions of at least 1, found shape [1099511627776, 0]",
    );
    refused(
        &[("W1", &[2, 3]), ("b1", &[4])],
        "tensor `b1`: expected 2 entries, one per row of `W1` (2 x 3), found 4",
    );
    refused(
        &[("W1", &[2, 3]), ("W2", &[4, 5])],
        "tensor `W2`: expected 2 columns, one per row of `W1` (2 x 3), found 4 x 5",
    );
}

#[test]
fn a_transposed_weight_is_pointed_out() {
    let hint = "; with the weight transposed it would fit (weights are out x in)";
    let both = "; with both transposed they would fit (weights are out x in)";
    refused(
        &[("W1", &[3, 5]), ("b1", &[5])],
        &format!("tensor `b1`: expected 3 entries, one per row of `W1` (3 x 5), found 5{hint}"),
    );
    refused(
        &[("W1", &[3, 5]), ("W2", &[5, 2])],
        &format!("tensor `W2`: expected 3 columns, one per row of `W1` (3 x 5), found 5 x 2{both}"),
    );
    refused(
        &[("W1", &[3, 5]), ("W2", &[3, 2])],
        &format!("tensor `W2`: expected 3 columns, one per row of `W1` (3 x 5), found 3 x 2{hint}"),
    );
}

#[test]
fn what_the_file_does_not_say_is_assumed_or_stated() {
    let tensors = [tensor("a.0.weight", &[2, 3]), tensor("a.2.weight", &[1, 2])];
    let found = |options: &ReadOptions| {
        let model = with_options(&tensors, None, options).unwrap();
        (model.assumed.unwrap().to_string(), model.network.layers()[0].activation(), model.names.unwrap())
    };
    let (words, activation, names) = found(&ReadOptions::default());
    assert_eq!((words.as_str(), activation), ("activations assumed: ReLU", Activation::Relu));
    assert_eq!((names.layer(0), names.neuron(1, 0).as_deref()), (Some("a.0"), Some("a.2[0]")));
    let stated = ReadOptions { activation: Some(Activation::Identity), ..Default::default() };
    let (words, activation, _) = found(&stated);
    assert_eq!((words.as_str(), activation), ("activations as stated: identity", Activation::Identity));
    let listed = [String::from("relu"), String::from("identity")];
    assert_eq!(with_options(&tensors, Some(&listed), &stated).unwrap().assumed, None);
    assert_eq!(with_options(&tensors[..1], None, &stated).unwrap().assumed, None);
}

#[test]
fn layers_that_a_sequential_would_have_side_by_side_are_told() {
    let notes = |names: [&str; 2], options: &ReadOptions| {
        let tensors = [tensor(names[0], &[2, 3]), tensor(names[1], &[1, 2])];
        let mut notes = with_options(&tensors, None, options).unwrap().notes;
        notes.retain(|note| note.contains("follow each other"));
        notes
    };
    let plain = ReadOptions::default();
    let said = notes(["net.1.weight", "net.2.weight"], &plain);
    assert!(said[0].starts_with("layers `net.1` and `net.2` have numbers"), "{said:?}");
    let stated = ReadOptions { activation: Some(Activation::Relu), ..Default::default() };
    assert!(notes(["net.1.weight", "net.2.weight"], &stated).is_empty());
    for apart in [["0.weight", "2.weight"], ["W1", "W2"], ["fc1.weight", "fc2.weight"]] {
        assert!(notes(apart, &plain).is_empty(), "{apart:?}");
    }
}

fn normalisation(at: usize, width: usize) -> Vec<TensorInfo> {
    let roles = ["weight", "bias", "running_mean", "running_var"];
    roles.iter().map(|role| tensor(&format!("{at}.{role}"), &[width])).collect()
}

#[test]
fn a_normalisation_of_a_plain_sequential_is_folded() {
    let mut tensors = vec![tensor("0.weight", &[2, 3]), tensor("3.weight", &[1, 2])];
    tensors.extend(normalisation(1, 2));
    let model = with_options(&tensors, None, &ReadOptions::default()).unwrap();
    assert_eq!((model.network.widths(), model.assumed.is_some()), (vec![3, 2, 1], true));
    // W = 0, so that the layer is bias - scale mean / sqrt(variance + epsilon) with the numbers of the tensors.
    let expected = 3.0 - 2.0 * 4.0 / (5.0f64 + 1e-5).sqrt();
    assert!((model.network.layers()[0].bias()[0] - expected).abs() < 1e-12);
    // No gap for an activation anywhere: parts of another model.
    let mut parts = vec![tensor("0.weight", &[2, 3]), tensor("2.weight", &[1, 2])];
    parts.extend(normalisation(1, 2));
    let refused = with_options(&parts, None, &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.starts_with("modules `0` to `2` follow each other without room"), "{refused}");
}

#[test]
fn convolutions_are_read_where_shapes_determine_them() {
    let read = |shapes: &[(&str, &[usize])], input: Option<&[usize]>| {
        let tensors: Vec<TensorInfo> = shapes.iter().map(|(name, shape)| tensor(name, shape)).collect();
        let shapes = input.map(|dims| ("input".to_owned(), dims.to_vec())).into_iter().collect();
        with_options(&tensors, None, &ReadOptions { shapes, ..Default::default() })
    };
    let net: &[(&str, &[usize])] =
        &[("0.weight", &[2, 1, 3, 3]), ("2.weight", &[3, 2, 3, 3]), ("5.weight", &[4, 192])];
    let model = read(net, Some(&[1, 1, 12, 12])).unwrap();
    assert_eq!(model.network.widths(), [144, 200, 192, 4]);
    let refused = |shapes, input, expected: &str| {
        let found = read(shapes, input).unwrap_err().to_string();
        assert!(found.contains(expected), "{found}");
    };
    refused(net, None, "state the shape of the input (--shape input=1x3x32x32, one sample)");
    refused(net, Some(&[1, 1, 9, 7]), "no strides and paddings");
    refused(net, Some(&[1, 3, 12, 12]), "module `0`: it reads 1 channels");
    let pooled: &[(&str, &[usize])] =
        &[("0.weight", &[2, 1, 3, 3]), ("3.weight", &[3, 2, 3, 3]), ("6.weight", &[4, 192])];
    refused(pooled, Some(&[1, 1, 12, 12]), "2 modules without tensors, such as pooling");
    let several: &[(&str, &[usize])] =
        &[("0.weight", &[2, 1, 3, 3]), ("2.weight", &[3, 2, 3, 3]), ("5.weight", &[4, 300])];
    refused(several, Some(&[1, 1, 12, 12]), "several strides and paddings");
}
