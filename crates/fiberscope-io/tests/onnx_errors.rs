//! Files that are no network are refused with a sentence that names the place; damaged ones never
//! do worse.

use fiberscope_io::{ReadOptions, onnx};

/// A protobuf message in the making.
#[derive(Clone, Default)]
struct Proto(Vec<u8>);

impl Proto {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn int(mut self, field: u64, value: i64) -> Self {
        self.varint(field * 8);
        self.varint(value as u64);
        self
    }

    fn bytes(mut self, field: u64, value: impl AsRef<[u8]>) -> Self {
        self.varint(field * 8 + 2);
        self.varint(value.as_ref().len() as u64);
        self.0.extend_from_slice(value.as_ref());
        self
    }

    fn float(mut self, field: u64, value: f32) -> Self {
        self.varint(field * 8 + 5);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn all(self, field: u64, parts: &[Proto]) -> Self {
        parts.iter().fold(self, |message, part| message.bytes(field, &part.0))
    }
}

fn node(operator: &str, inputs: &[&str], output: &str, attributes: &[Proto]) -> Proto {
    let message = inputs.iter().fold(Proto::default(), |message, input| message.bytes(1, input));
    message.bytes(2, output).bytes(3, format!("n_{output}")).bytes(4, operator).all(5, attributes)
}

fn int(name: &str, value: i64) -> Proto {
    Proto::default().bytes(1, name).int(3, value)
}

fn ints(name: &str, values: &[i64]) -> Proto {
    values.iter().fold(Proto::default().bytes(1, name), |message, &value| message.int(8, value))
}

fn raw(name: &str, dims: &[i64], data: &[u8], data_type: i64) -> Proto {
    let message = dims.iter().fold(Proto::default(), |message, &dim| message.int(1, dim));
    message.int(2, data_type).bytes(8, name).bytes(9, data)
}

fn tensor(name: &str, dims: &[i64], values: &[f32]) -> Proto {
    raw(name, dims, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>(), 1)
}

fn shape(name: &str, values: &[i64]) -> Proto {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    raw(name, &[values.len() as i64], &data, 7)
}

fn value(name: &str, dims: &[i64]) -> Proto {
    let dims: Vec<_> = dims.iter().map(|&dim| Proto::default().int(1, dim)).collect();
    typed(name, 1, &dims)
}

fn typed(name: &str, element: i64, dims: &[Proto]) -> Proto {
    let shape = Proto::default().all(1, dims);
    let tensor = Proto::default().int(1, element).bytes(2, &shape.0);
    let kind = Proto::default().bytes(1, &tensor.0);
    Proto::default().bytes(1, name).bytes(2, &kind.0)
}

/// A graph from `x` (three numbers) to `y`, with `w` (2 x 3), `v` (three numbers) and whatever else
/// is given.
fn graph(nodes: &[Proto], initializers: &[Proto]) -> Vec<u8> {
    let own = [tensor("w", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), tensor("v", &[3], &[1.0, 2.0, 3.0])];
    model(nodes, &[&own[..], initializers].concat(), &[value("x", &[1, 3])], &[value("y", &[1, 2])])
}

fn model(nodes: &[Proto], initializers: &[Proto], inputs: &[Proto], outputs: &[Proto]) -> Vec<u8> {
    let graph = Proto::default().all(1, nodes).all(5, initializers).all(11, inputs).all(12, outputs);
    Proto::default().int(1, 8).bytes(7, &graph.0).0
}

fn error(file: &[u8]) -> String {
    let message = onnx::read(file, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.len() < 400 && !message.contains('\n'), "{message}");
    message
}

fn check(file: &[u8], expected: &str) {
    assert_eq!(error(file), expected);
}

fn gemm(input: &str, output: &str) -> Proto {
    node("Gemm", &[input, "w"], output, &[int("transB", 1)])
}

#[test]
fn the_plain_graph_is_fine() {
    let file = graph(&[gemm("x", "y")], &[]);
    let model = onnx::read(&file, &ReadOptions::default()).unwrap();
    assert_eq!(model.network.layers()[0].weight().entries(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

/// scikit-learn's exports choose columns, and divide by square roots of constants.
#[test]
fn columns_are_chosen_and_constants_have_roots() {
    let columns = node("ArrayFeatureExtractor", &["x", "columns"], "chosen", &[]);
    let columns = columns.bytes(7, "ai.onnx.ml");
    let root = node("Sqrt", &["variance"], "deviation", &[]);
    let over = node("Div", &["chosen", "deviation"], "y", &[]);
    let file = graph(
        &[columns, root, over],
        &[
            raw("columns", &[1, 2], &[2i64.to_le_bytes(), 0i64.to_le_bytes()].concat(), 7),
            tensor("variance", &[2], &[4.0, 0.25]),
        ],
    );
    let model = onnx::read(&file, &ReadOptions::default()).unwrap();
    assert_eq!(model.network.layers()[0].weight().entries(), [0.0, 0.0, 0.5, 2.0, 0.0, 0.0]);
    let root = node("Sqrt", &["spread"], "deviation", &[]);
    let over = node("Div", &["x", "deviation"], "y", &[]);
    let file = |values: &[f32]| graph(&[root.clone(), over.clone()], &[tensor("spread", &[3], values)]);
    check(&file(&[1.0, -1.0, 1.0]), "node `n_deviation` (Sqrt): a number of its result is not finite");
}

/// Two values that depend on the input: a product is not piecewise linear, of other operators that is not claimed.
#[test]
fn operators_of_two_values_are_refused_for_what_they_are() {
    let two = |operator: &str| {
        error(&graph(&[gemm("x", "a"), gemm("x", "b"), node(operator, &["a", "b"], "y", &[])], &[]))
    };
    let both = "reads `a` and `b`, which both depend on the input";
    let whole = "can be read by itself (--output NAME)";
    let product = format!("node `n_y` (Mul): {both}; the result is not piecewise linear, but either {whole}");
    assert_eq!(two("Mul"), product);
    let other = format!(
        "node `n_y` (SequenceConstruct): {both}; that cannot be read of this operator, but either value {whole}"
    );
    assert_eq!(two("SequenceConstruct"), other);
}

fn text(name: &str, value: &str) -> Proto {
    Proto::default().bytes(1, name).bytes(4, value)
}

/// What ONNX's formulas and onnxruntime understand differently is not read; where they agree, it is.
#[test]
fn paddings_of_two_meanings_are_refused() {
    let kernel = |size: i64| tensor("k", &[1, 1, size], &vec![1.0; size as usize]);
    let image = |operator: &str, size: i64, attributes: &[Proto]| {
        let inputs: &[&str] = if operator == "Conv" { &["x", "k"] } else { &["x"] };
        let shape = [ints("kernel_shape", &[size])];
        let nodes = [node(operator, inputs, "y", &[&shape[..], attributes].concat())];
        model(&nodes, &[kernel(size)], &[value("x", &[1, 1, 8])], &[value("y", &[1, 1, 2])])
    };
    let margin = "its windows leave a margin of axis 1, which auto_pad cuts off in onnxruntime and nowhere in ONNX's \
                  formulas; give pads instead";
    for (upper, size, stride, fits) in [
        (true, 1, 2, true),
        (true, 1, 3, true),
        (true, 1, 4, false),
        (false, 1, 4, false),
        (true, 2, 5, true),
    ] {
        for operator in ["Conv", "MaxPool", "AveragePool"] {
            let way = if upper { "SAME_UPPER" } else { "SAME_LOWER" };
            let file = image(operator, size, &[text("auto_pad", way), ints("strides", &[stride])]);
            if fits {
                onnx::read(&file, &ReadOptions::default()).unwrap();
            } else {
                check(&file, &format!("node `n_y` ({operator}): {margin}"));
            }
        }
    }
    let dilated = image("MaxPool", 3, &[text("auto_pad", "SAME_UPPER"), ints("dilations", &[2])]);
    let both =
        "auto_pad with dilations, which ONNX's formulas and onnxruntime pad differently; give pads instead";
    check(&dilated, &format!("node `n_y` (MaxPool): {both}"));
    let last = |size, stride| {
        image("MaxPool", size, &[text("auto_pad", "VALID"), int("ceil_mode", 1), ints("strides", &[stride])])
    };
    let over = "its last window along axis 1 reaches over the end, which auto_pad leaves open (ceil_mode)";
    check(&last(3, 2), &format!("node `n_y` (MaxPool): {over}"));
    let read = onnx::read(&last(2, 2), &ReadOptions::default()).unwrap().network;
    assert_eq!((read.input_width(), read.output_width()), (8, 4));
}

#[test]
fn scales_that_leave_the_size_are_refused() {
    let scaled = |scale: f32| {
        let nodes = [node("Resize", &["x", "", "s"], "y", &[text("mode", "linear")])];
        let scales = [tensor("s", &[3], &[1.0, 1.0, scale])];
        model(&nodes, &scales, &[value("x", &[1, 1, 4])], &[value("y", &[1, 1, 4])])
    };
    onnx::read(&scaled(1.0), &ReadOptions::default()).unwrap();
    let both = "its scales leave the size as it is: ONNX's formulas move entries, onnxruntime copies them";
    check(&scaled(1.2), &format!("node `n_y` (Resize): {both}"));
}

/// The graph of a classifier whose outputs are probabilities and the class.
#[test]
fn heads_of_all_outputs_are_told() {
    let nodes = [gemm("x", "h"), node("Softmax", &["h"], "p", &[]), node("ArgMax", &["h"], "c", &[])];
    let own = [tensor("w", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])];
    let file = model(&nodes, &own, &[value("x", &[1, 3])], &[value("p", &[1, 2]), value("c", &[1, 1])]);
    let read = onnx::read(&file, &ReadOptions::default()).unwrap();
    assert_eq!(read.set_aside, ["node `n_p` (Softmax)", "node `n_c` (ArgMax)"]);
}

#[test]
fn bytes_that_are_no_model() {
    check(b"", "not an ONNX model: there is no graph in it");
    check(b"a text", "the ONNX file is cut short or damaged: the model ends inside a number");
    check(&[0x80; 11], "not an ONNX file: the model has a number of more than 64 bits");
    check(
        b"\x3a\x80\x80\x80\x80\x10x",
        "the ONNX file is cut short or damaged: the model has a field of 4294967296 bytes, but 1 are left",
    );
    check(b"\x3b", "not an ONNX file: the model has a field of unknown wire type 3");
    check(b"\x38\x01", "not an ONNX file: field 7 of the model is not bytes");
    check(b"\x3a\x02\x08\x01", "not an ONNX file: field 1 of the graph is not bytes");
}

#[test]
fn graphs_that_are_no_chain() {
    let x = [value("x", &[1, 3])];
    let y = [value("y", &[1, 2])];
    check(&model(&[], &[], &[], &y), "the graph has no input");
    check(&model(&[], &[], &x, &[]), "the graph has no output");
    let two = [value("x", &[1, 3]), value("z", &[1, 3])];
    check(
        &model(&[node("Relu", &["x"], "z", &[])], &[], &x, &two),
        "the graph has several outputs; choose a value by its name (--output); the outputs are `x`, `z`",
    );
    check(&model(&[], &[], &x, &y), "output `y` is made by no node");
    check(
        &graph(&[gemm("a", "b"), gemm("b", "a")], &[]),
        "node `n_b` (Gemm): it reads what is made from its own value (a cycle)",
    );
    check(
        &graph(&[gemm("y", "y")], &[]),
        "node `n_y` (Gemm): it reads what is made from its own value (a cycle)",
    );
    check(&graph(&[gemm("z", "y")], &[]), "node `n_y` (Gemm): reads `z`, which nothing makes");
    check(
        &graph(&[node("Mul", &["x", "x"], "y", &[])], &[]),
        "node `n_y` (Mul): reads `x` and `x`, which both depend on the input; the result is not piecewise linear, but either can be read by itself (--output NAME)",
    );
    check(&graph(&[node("Neg", &["v"], "y", &[])], &[]), "output `y` does not depend on the input");
    check(
        &graph(&[node("Relu", &["x"], "a", &[]), node("Relu", &["x"], "a", &[])], &[]),
        "the value `a` is made twice",
    );
    check(&graph(&[gemm("x", "y")], &[tensor("w", &[1], &[1.0])]), "there are two initializers `w`");
    check(&graph(&[gemm("x", "y")], &[tensor("", &[1], &[1.0])]), "an initializer has no name");
    check(&graph(&[Proto::default().bytes(4, "Relu")], &[]), "a node has neither a name nor an output");
    check(&graph(&[Proto::default().bytes(3, "a")], &[]), "node `a` has no operator");
    check(
        &graph(&[Proto::default().bytes(3, b"\xff").bytes(4, "Relu")], &[]),
        "a node has a name (field 3) that is no UTF-8 text",
    );
    let mask = Proto::default().bytes(1, "x").bytes(2, "a").bytes(2, "y").bytes(4, "Dropout");
    check(&graph(&[mask], &[]), "node `a` (Dropout): its output `y` is used; expected the first");
}

#[test]
fn operators_that_are_not_read() {
    let nonlinear = "this operator is not piecewise linear";
    let first = "it stands at the input, so export what is behind it as a model of its own";
    for operator in ["Softmax", "Sigmoid", "Tanh", "Elu", "Gelu"] {
        check(
            &graph(&[node(operator, &["x"], "h", &[]), node("Relu", &["h"], "y", &[])], &[]),
            &format!("node `n_h` ({operator}): {nonlinear}; {first}"),
        );
        check(
            &graph(
                &[
                    node("Relu", &["x"], "g", &[]),
                    node(operator, &["g"], "h", &[]),
                    node("Relu", &["h"], "y", &[]),
                ],
                &[],
            ),
            &format!("node `n_h` ({operator}): {nonlinear}; the value before it can be read (--output `g`)"),
        );
    }
    check(
        &graph(&[node("Gather", &["x", "v"], "y", &[])], &[]),
        "node `n_y` (Gather): its indices are no integers",
    );
    check(
        &graph(&[node("NonZero", &["x"], "y", &[])], &[]),
        &format!("node `n_y` (NonZero): this operator cannot be read; {first}"),
    );
    check(
        &graph(&[node("Relu", &["x"], "y", &[]).bytes(7, "com.microsoft")], &[]),
        "node `n_y` (com.microsoft.Relu): operators outside the ONNX standard cannot be read",
    );
    let mut nested = Proto::default();
    for _ in 0..1000 {
        nested = node("If", &["c"], "y", &[Proto::default().bytes(1, "then_branch").bytes(6, &nested.0)]);
    }
    let branch = Proto::default().bytes(1, "then_branch").bytes(6, &nested.0);
    check(
        &graph(&[node("If", &["x"], "y", &[branch])], &[]),
        "node `n_y` (If): it contains a graph; expected one graph without loops and choices",
    );
    check(
        &graph(&[node("Div", &["v", "x"], "y", &[])], &[]),
        "node `n_y` (Div): it divides a constant by the data, which is not affine",
    );
    check(
        &graph(&[node("Div", &["x", "o"], "y", &[])], &[tensor("o", &[3], &[1.0, 0.0, 1.0])]),
        "node `n_y` (Div): it divides by zero",
    );
    check(
        &graph(&[node("Gemm", &["w", "x"], "y", &[])], &[]),
        "node `n_y` (Gemm): its input 2 is a value of the network; expected a constant",
    );
    check(
        &graph(&[node("Cast", &["x"], "y", &[int("to", 7)])], &[]),
        "node `n_y` (Cast): expected a cast to floating-point numbers, found int64",
    );
    check(
        &graph(&[node("Dropout", &["x", "v", "t"], "y", &[])], &[raw("t", &[], &[1], 9)]),
        "node `n_y` (Dropout): it is in training mode; export the model for inference",
    );
}

#[test]
fn shapes_that_do_not_fit() {
    check(
        &graph(&[node("Gemm", &["x", "w"], "y", &[])], &[]),
        "node `n_y` (Gemm): its matrix takes 2 inputs, but the value before it has 3",
    );
    check(
        &graph(&[node("MatMul", &["x", "w"], "y", &[])], &[]),
        "node `n_y` (MatMul): its matrix takes 2 inputs, but the value before it has 3",
    );
    check(
        &graph(&[node("Gemm", &["x", "v"], "y", &[])], &[]),
        "node `n_y` (Gemm): expected a matrix, found shape 3",
    );
    check(&graph(&[node("Gemm", &["x"], "y", &[])], &[]), "node `n_y` (Gemm): it has no input 2");
    check(
        &graph(&[node("Gemm", &["x", "w", "v"], "y", &[int("transB", 1)])], &[]),
        "node `n_y` (Gemm): its bias has shape 3; expected 1 x 2",
    );
    check(
        &graph(&[node("Add", &["x", "o"], "y", &[])], &[tensor("o", &[2], &[1.0, 0.0])]),
        "node `n_y` (Add): shapes 1 x 3 and 2 do not fit together",
    );
    check(
        &graph(&[node("Reshape", &["x", "s"], "y", &[])], &[shape("s", &[2, -1])]),
        "node `n_y` (Reshape): a tensor of shape 1 x 3 cannot be reshaped to 2 x -1",
    );
    check(
        &graph(&[node("Reshape", &["x", "v"], "y", &[])], &[]),
        "node `n_y` (Reshape): expected `v` to hold integers",
    );
    check(
        &graph(&[node("Transpose", &["x"], "y", &[ints("perm", &[1, 1])])], &[]),
        "node `n_y` (Transpose): 1 x 1 is no permutation of 2 dimensions",
    );
    check(
        &graph(&[node("Flatten", &["x"], "y", &[int("axis", i64::MIN)])], &[]),
        "node `n_y` (Flatten): axis -9223372036854775808 does not exist in a tensor of 2 dimensions",
    );
    check(
        &graph(
            &[node("BatchNormalization", &["x", "v", "v", "v", "n"], "y", &[])],
            &[tensor("n", &[3], &[-1.0; 3])],
        ),
        "node `n_y` (BatchNormalization): channel 1 has variance -1 + 0.000009999999747378752",
    );
    check(
        &graph(&[node("Conv", &["x", "w"], "y", &[])], &[]),
        "node `n_y` (Conv): expected an input of shape samples x channels x 1 to 3 axes, found 1 x 3",
    );
    let image = |nodes: &[Proto], initializers: &[Proto]| {
        model(nodes, initializers, &[value("x", &[1, 1, 4, 4])], &[value("y", &[1])])
    };
    let kernel = [tensor("k", &[1, 1, 2, 2], &[1.0; 4])];
    check(
        &image(&[node("Conv", &["x", "k"], "y", &[ints("strides", &[0, 1])])], &kernel),
        "node `n_y` (Conv): its kernel, strides or pads do not fit axis 1",
    );
    check(
        &image(&[node("Conv", &["x", "k"], "y", &[ints("pads", &[1, 1])])], &kernel),
        "node `n_y` (Conv): pads has 2 entries; expected 4",
    );
    check(
        &image(&[node("Conv", &["x", "k"], "y", &[ints("dilations", &[9, 1])])], &kernel),
        "node `n_y` (Conv): its kernel, strides or pads do not fit axis 1",
    );
    check(
        &image(&[node("Conv", &["x", "k"], "y", &[int("group", 2)])], &kernel),
        "node `n_y` (Conv): its kernel (1 outputs with 1 of 1 channels) does not fit its groups",
    );
}

#[test]
fn inputs_that_are_not_known() {
    let with = |input: Proto| model(&[node("Relu", &["x"], "y", &[])], &[], &[input], &[value("y", &[1])]);
    let known = |dim| Proto::default().int(1, dim);
    let open = |name: &str| Proto::default().bytes(2, name);
    check(&with(Proto::default().bytes(1, "x")), "input `x`: the file does not give its shape");
    check(&with(typed("x", 7, &[known(3)])), "input `x`: expected floating-point numbers, found int64");
    check(
        &with(typed("x", 1, &[open("n")])),
        "input `x`: its only dimension is open; expected the number of inputs",
    );
    check(
        &with(typed("x", 1, &[open("n"), open("height")])),
        "input `x`: dimension 2 is `height`; expected a number (only the batch may be open; state the shape (--shape NAME=1x3x32x32))",
    );
    check(
        &with(typed("x", 1, &[known(1), known(0)])),
        "input `x`: dimension 2 is 0; expected a positive number",
    );
    check(
        &with(typed("x", 1, &[known(1), known(-5)])),
        "input `x`: dimension 2 is -5; expected a positive number",
    );
    let ranks: Vec<_> = (0..17).map(|_| known(1)).collect();
    check(&with(typed("x", 1, &ranks)), "input `x`: it has more than 16 dimensions");
}

#[test]
fn tensors_that_do_not_hold_what_they_say() {
    let with = |tensor: Proto| graph(&[node("Gemm", &["x", "t"], "y", &[])], &[tensor]);
    check(
        &with(tensor("t", &[3, 2], &[0.0; 5])),
        "initializer `t`: expected 6 numbers for shape 3 x 2, found 5",
    );
    check(
        &with(tensor("t", &[1 << 40, 1 << 40], &[0.0; 5])),
        "initializer `t`: its shape 1099511627776 x 1099511627776 has more entries than can be counted",
    );
    check(
        &with(tensor("t", &[1 << 40, 2], &[0.0; 5])),
        "initializer `t`: expected 2199023255552 numbers for shape 1099511627776 x 2, found 5",
    );
    check(&with(tensor("t", &[3, -2], &[0.0; 6])), "initializer `t`: its shape 3 x -2 is negative");
    check(&with(tensor("t", &[1; 17], &[0.0])), "initializer `t`: it has more than 16 dimensions");
    check(
        &with(raw("t", &[3, 2], &[0; 23], 1)),
        "initializer `t`: expected a multiple of 4 bytes of data, found 23",
    );
    check(
        &with(raw("t", &[3, 2], &[0; 6], 3)),
        "initializer `t`: expected float, double, float16 or bfloat16 numbers, found int8",
    );
    check(
        &with(raw("t", &[3, 2], &[0; 48], 7)),
        "node `n_y` (Gemm): expected `t` to hold floating-point numbers, found integers",
    );
    check(
        &with(tensor("t", &[3, 2], &[0.0, 1.0, f32::NAN, 0.0, 0.0, 0.0])),
        "initializer `t`: entry 3 is NaN; expected a finite number",
    );
    check(
        &with(tensor("t", &[3, 2], &[0.0, f32::INFINITY, 0.0, 0.0, 0.0, 0.0])),
        "initializer `t`: entry 2 is inf; expected a finite number",
    );
    let location = Proto::default().bytes(1, "location").bytes(2, "model.onnx.data");
    let external =
        Proto::default().int(1, 3).int(1, 2).int(2, 1).bytes(8, "t").bytes(13, &location.0).int(14, 1);
    check(
        &with(external),
        "initializer `t`: its numbers are in another file; there is no folder to look for `model.onnx.data` in; save the model with its data inside (onnx.save_model without save_as_external_data)",
    );
    check(&with(tensor("t", &[3, 0], &[])), "node `n_y` (Gemm): `t` is empty");
    check(
        &graph(
            &[node(
                "Gemm",
                &["x", "w"],
                "y",
                &[int("transB", 1), Proto::default().bytes(1, "alpha").float(2, f32::NAN)],
            )],
            &[],
        ),
        "node `n_y` (Gemm): alpha is NaN; expected a finite number",
    );
}

/// Small files that describe much more than they hold.
#[test]
fn small_files_stay_small() {
    let limit = "for the whole of this file at most";
    let wide = |dims: &[i64], nodes: &[Proto], initializers: &[Proto]| {
        let message = error(&model(nodes, initializers, &[value("x", dims)], &[value("y", &[1])]));
        assert!(message.contains(limit), "{message}");
    };
    let relu = node("Relu", &["x"], "y", &[]);
    wide(&[1, 1 << 40, 1 << 40], std::slice::from_ref(&relu), &[]);
    wide(&[1, 1 << 23], std::slice::from_ref(&relu), &[]);
    let one = tensor("one", &[], &[1.5]);
    wide(&[1, 1 << 23], &[node("Add", &["x", "one"], "y", &[])], std::slice::from_ref(&one));
    let kernel = tensor("k", &[1, 1, 1, 1], &[1.0]);
    wide(&[1, 1, 5000, 5000], &[node("Conv", &["x", "k"], "y", &[])], std::slice::from_ref(&kernel));
    let pads = ints("pads", &[1 << 31; 4]);
    wide(&[1, 1, 100, 100], &[node("Conv", &["x", "k"], "y", &[pads])], std::slice::from_ref(&kernel));
    let square = tensor("s", &[2, 2], &[1.0; 4]);
    wide(&[1, 1 << 23, 2], &[node("MatMul", &["x", "s"], "y", &[])], std::slice::from_ref(&square));

    // One matrix of the file used for very many layers.
    let name = |at: usize| if at == 0 { "x".to_owned() } else { format!("v{at}") };
    let layer = |at: usize| node("MatMul", &[&name(at), "s"], &name(at + 1), &[]);
    let mut nodes: Vec<_> = (0..5000).map(layer).collect();
    nodes.push(node("Relu", &[&name(5000)], "y", &[]));
    wide(&[1, 100], &nodes, &[tensor("s", &[100, 100], &[1.0; 10_000])]);
}

/// Many constants in a row: their exact product would have a million digits.
#[test]
fn long_chains_of_constants_are_cut_into_layers() {
    let name = |at: usize| if at == 0 { "x".to_owned() } else { format!("v{at}") };
    let step = |at: usize| node(["Mul", "Add", "Div"][at % 3], &[&name(at), "c"], &name(at + 1), &[]);
    let mut nodes: Vec<_> = (0..20_000).map(step).collect();
    nodes.push(node("Relu", &[&name(20_000)], "y", &[]));
    let file = model(&nodes, &[tensor("c", &[1], &[1.1])], &[value("x", &[1, 2])], &[value("y", &[1])]);
    let model = onnx::read(&file, &ReadOptions::default()).unwrap();
    assert_eq!(model.network.depth(), 20_000 / 8 + 1);
    let note = &model.notes[0];
    assert!(note.starts_with("layer 3: node `n_v17` (Add), node `n_v18` (Div)"), "{note}");
}

/// Cutting a file anywhere, or changing any byte of it, gives a network or an error, never a panic.
#[test]
fn damaged_files_never_panic() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx");
    for name in ["helper_constants", "helper_same_padding", "torch_batch_norm", "helper_half"] {
        let file = std::fs::read(folder.join(name).with_extension("onnx")).unwrap();
        for length in 0..file.len() {
            let _ = onnx::read(&file[..length], &ReadOptions::default());
        }
        // A small limit keeps accidental giants quick.
        let options = ReadOptions { max_dense_entries: 1 << 12, ..ReadOptions::default() };
        let mut damaged = file.clone();
        for at in 0..file.len() {
            for change in [1, 2, 8, 0x80, 0xff] {
                damaged[at] = file[at] ^ change;
                let _ = onnx::read(&damaged, &options);
            }
            damaged[at] = file[at];
        }
    }
}

/// A convolution of a square image of this size with a 3 x 3 kernel of ones.
fn square(size: i64, channels: i64) -> Vec<u8> {
    let kernel = tensor("k", &[channels, 1, 3, 3], &vec![1.0; 9 * channels as usize]);
    let conv = node("Conv", &["x", "k"], "y", &[ints("pads", &[1, 1, 1, 1])]);
    model(&[conv], &[kernel], &[value("x", &[1, 1, size, size])], &[value("y", &[1, channels, size, size])])
}

/// A few numbers can describe a convolution of any size: its entries are counted before they are made.
#[test]
fn convolutions_cost_their_entries() {
    let network = onnx::read(&square(200, 2), &ReadOptions::default()).unwrap().network;
    assert_eq!(network.widths(), [40_000, 80_000]);
    assert!(network.layers()[0].weights().is_sparse());
    // 9 taps each, less those outside the image.
    assert_eq!(network.layers()[0].weights().stored().len(), 2 * 598 * 598);
    let point = vec![1.0; 40_000];
    let values = network.evaluate(&point).unwrap();
    assert_eq!((values[0], values[1], values[201], values[79_999]), (4.0, 6.0, 9.0, 4.0));
    for size in [3_000, 100_000, i64::from(i32::MAX)] {
        let message = error(&square(size, 500));
        assert!(
            message.starts_with("node `n_y` (Conv): it takes ") || message.starts_with("the input: "),
            "{message}"
        );
        assert!(message.ends_with(" are allowed"), "{message}");
    }
}

/// Reads a graph from `x` (1 x 2) to `y` and evaluates it.
fn evaluated(nodes: &[Proto], initializers: &[Proto], x: &[f64]) -> Vec<f64> {
    let file = model(nodes, initializers, &[value("x", &[1, 2])], &[value("y", &[1, 2])]);
    let model = onnx::read(&file, &ReadOptions::default()).unwrap();
    model.network.evaluate(x).unwrap()
}

#[test]
fn choices_between_lines_that_meet_are_read() {
    let numbers = [tensor("c", &[1], &[0.5]), tensor("a", &[2], &[2.0, -1.0]), tensor("d", &[1], &[0.25])];
    // 2x or -x above 1/2; below it the line with slope 1/4 through the same point.
    let lines = [
        node("Sub", &["x", "c"], "s", &[]),
        node("Mul", &["a", "s"], "up", &[]),
        node("Mul", &["s", "d"], "down", &[]),
    ];
    for (operator, inputs, choice) in [
        ("Greater", ["x", "c"], ["k", "up", "down"]),
        ("GreaterOrEqual", ["x", "c"], ["k", "up", "down"]),
        ("Less", ["c", "x"], ["k", "up", "down"]),
        ("Less", ["x", "c"], ["k", "down", "up"]),
        ("LessOrEqual", ["x", "c"], ["k", "down", "up"]),
    ] {
        let more = [node(operator, &inputs, "k", &[]), node("Where", &choice, "y", &[])];
        let nodes = [&lines[..], &more[..]].concat();
        assert_eq!(evaluated(&nodes, &numbers, &[1.5, 1.5]), [2.0, -1.0], "{operator}");
        assert_eq!(evaluated(&nodes, &numbers, &[-1.5, 0.5]), [-0.5, 0.0], "{operator}");
    }
    let relu = [node("Greater", &["x", "z"], "k", &[]), node("Where", &["k", "x", "z"], "y", &[])];
    let zero = [tensor("z", &[], &[0.0])];
    assert_eq!(evaluated(&relu, &zero, &[-1.0, 3.0]), [0.0, 3.0]);
}

#[test]
fn choices_by_constants_take_entries() {
    // The truth values are bytes, data type 9.
    let numbers = [raw("k", &[2], &[1, 0], 9), tensor("c", &[1], &[0.5])];
    let masked = |inputs: [&str; 3]| evaluated(&[node("Where", &inputs, "y", &[])], &numbers, &[-2.0, 7.0]);
    assert_eq!(masked(["k", "x", "c"]), [-2.0, 0.5]);
    assert_eq!(masked(["k", "c", "x"]), [0.5, 7.0]);
    // Of two values, too: the second entry is that of the ReLU.
    let both = |inputs: [&str; 3]| [node("Relu", &["x"], "r", &[]), node("Where", &inputs, "y", &[])];
    assert_eq!(evaluated(&both(["k", "x", "r"]), &numbers, &[-2.0, -7.0]), [-2.0, 0.0]);
    assert_eq!(evaluated(&both(["k", "r", "x"]), &numbers, &[-2.0, -7.0]), [0.0, -7.0]);
    // A condition is no number, though the mask would let a choice read it.
    let compared = [node("Greater", &["x", "c"], "g", &[]), node("Where", &["k", "g", "x"], "y", &[])];
    check(
        &graph(&compared, &numbers),
        "node `n_y` (Where): reads the condition `g`, whose values jump; write the choice with Where, Relu or Max",
    );
    check(
        &graph(&[node("Where", &["c", "x", "c"], "y", &[])], &numbers),
        "node `n_y` (Where): expected its condition to hold truth values",
    );
}

#[test]
fn entries_at_places_that_are_not_constant_or_numbers_that_are_not_known() {
    let numbers = [raw("i", &[1, 1], &1i64.to_le_bytes(), 7), tensor("u", &[1, 1], &[0.5])];
    let scatter = |indices: &str, attributes: &[Proto]| {
        graph(&[node("ScatterElements", &["x", indices, "u"], "y", attributes)], &numbers)
    };
    check(
        &scatter("i", &[Proto::default().bytes(1, "reduction").int(20, 3).bytes(4, "add")]),
        "node `n_y` (ScatterElements): it combines numbers at one place (reduction); expected none",
    );
    check(
        &scatter("x", &[]),
        "node `n_y` (ScatterElements): its places depend on the input; expected constants",
    );
    let random = [node("RandomNormal", &[], "r", &[]), node("Add", &["x", "r"], "y", &[])];
    check(
        &graph(&random, &[]),
        "node `n_r` (RandomNormal): its numbers are random: the network is no function of its input",
    );
    let blocks = graph(&[node("DepthToSpace", &["x"], "y", &[int("blocksize", 2)])], &[]);
    assert!(error(&blocks).contains("blocks of 2 x 2 do not fit a value of shape"), "{}", error(&blocks));
    let huge = graph(&[node("SpaceToDepth", &["x"], "y", &[int("blocksize", i64::MAX)])], &[]);
    assert!(error(&huge).contains("do not fit a value of shape"), "{}", error(&huge));
}

#[test]
fn choices_that_jump_are_refused() {
    let numbers = [tensor("c", &[1], &[0.5]), tensor("z", &[1], &[0.0])];
    let compared = node("Greater", &["x", "c"], "k", &[]);
    check(
        &graph(&[compared.clone(), node("Where", &["k", "x", "z"], "y", &[])], &numbers),
        "node `n_y` (Where): entry 1 of its result jumps: no ReLU network does",
    );
    check(
        &graph(&[compared.clone(), node("Mul", &["k", "z"], "y", &[])], &numbers),
        "node `n_y` (Mul): reads the condition `k`, whose values jump; write the choice with Where, Relu or Max",
    );
    check(
        &graph(
            &[compared.clone(), node("Relu", &["x"], "r", &[]), node("Where", &["k", "r", "z"], "y", &[])],
            &numbers,
        ),
        "node `n_y` (Where): it chooses `r`, which is no multiple of `x` plus a constant; such choices are not read",
    );
}

#[test]
fn the_axis_of_old_arithmetic_is_heeded() {
    let image = [value("x", &[1, 2, 2])];
    let nodes = [node("Add", &["x", "b"], "y", &[int("axis", 1), int("broadcast", 1)])];
    let file = model(&nodes, &[tensor("b", &[2], &[10.0, 20.0])], &image, &[value("y", &[1, 2, 2])]);
    let read = onnx::read(&file, &ReadOptions::default()).unwrap();
    assert_eq!(read.network.evaluate(&[1.0, 2.0, 3.0, 4.0]).unwrap(), [11.0, 12.0, 23.0, 24.0]);
    check(
        &graph(&[node("Add", &["x", "x2"], "y", &[int("axis", 5)])], &[tensor("x2", &[2], &[1.0, 2.0])]),
        "node `n_y` (Add): its attribute axis 5 does not fit the value",
    );
}
