//! Reading PyTorch files: files of PyTorch itself, files that hold no state dict, files from
//! strangers.

use crate::tensor_support;

use fiberscope_core::Activation;
use fiberscope_io::{FormatError, Model, ReadOptions, pt};
use tensor_support::{check_model, data_file, expected, mistreat, replace, zip};
use zip::CompressionMethod::{Deflated, Stored};

fn read(bytes: &[u8]) -> Result<Model, FormatError> {
    pt::read(bytes, &ReadOptions::default())
}

fn real_file(name: &str) -> Vec<u8> {
    std::fs::read(data_file("pt").join(name)).unwrap()
}

fn refused(bytes: &[u8], expected: &str) {
    assert_eq!(read(bytes).unwrap_err().to_string(), expected);
}

/// An archive with this pickle and two storages of eight bytes.
fn archive(pickle: &[u8]) -> Vec<u8> {
    let storage = [1f32, 2.0].map(f32::to_le_bytes).concat();
    zip(&[("x/data.pkl", pickle), ("x/data/0", &storage), ("x/data/1", &storage)], Stored)
}

fn text(value: &str) -> Vec<u8> {
    [b"X", &(value.len() as u32).to_le_bytes()[..], value.as_bytes()].concat()
}

fn int(value: i64) -> Vec<u8> {
    [&[0x8a, 8], &value.to_le_bytes()[..]].concat()
}

fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [b"(", &items.concat()[..], b"t"].concat()
}

fn ints(values: &[i64]) -> Vec<u8> {
    tuple(&values.iter().map(|&value| int(value)).collect::<Vec<_>>())
}

/// `_rebuild_tensor_v2` of a storage of floats.
fn tensor(key: &str, entries: i64, offset: i64, shape: &[i64], strides: &[i64]) -> Vec<u8> {
    let class = b"ctorch\nFloatStorage\n".to_vec();
    let id = tuple(&[text("storage"), class, text(key), text("cpu"), int(entries)]);
    let storage = [&id[..], b"Q"].concat();
    let arguments = tuple(&[storage, int(offset), ints(shape), ints(strides), vec![0x89], vec![b'}']]);
    [b"ctorch._utils\n_rebuild_tensor_v2\n", &arguments[..], b"R"].concat()
}

/// A pickle of a dictionary.
fn dict(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let items: Vec<Vec<u8>> =
        entries.iter().map(|(key, value)| [text(key), value.clone()].concat()).collect();
    [b"\x80\x02}(", &items.concat()[..], b"u."].concat()
}

#[test]
fn files_of_pytorch() {
    for (name, expected) in &expected("pt") {
        check_model(name, &read(&real_file(name)).unwrap(), expected);
    }
}

#[test]
fn activations_are_relu_and_last_identity() {
    let network = read(&real_file("natural_order.pth")).unwrap().network;
    assert!(network.hidden_layers().iter().all(|layer| layer.activation() == Activation::Relu));
}

#[test]
fn entries_that_are_no_tensors_are_noted() {
    let notes = read(&real_file("parameters.pt")).unwrap().notes;
    assert_eq!(notes, ["ignored entries that are no tensors: `comment` (a string), `epoch` (an integer)"]);
    assert!(read(&real_file("checkpoint_model.pt")).unwrap().notes.is_empty());
}

#[test]
fn files_without_a_state_dict_say_how_to_make_one() {
    let check = |name: &str, expected: &str| refused(&real_file(name), expected);
    check(
        "whole_module.pt",
        "the file holds a whole module of class `torch.nn.modules.container.Sequential`; nothing in it was run; these lines save what can be \
         read:\n  model = torch.load(path, weights_only=False).eval()\n  torch.onnx.export(model, example_input, \
         \"model.onnx\")",
    );
    check(
        "module_inside.pt",
        "the file holds an object of class `torch.nn.modules.container.Sequential`, which is no tensor; save \
         model.state_dict() alone",
    );
    check(
        "legacy.pt",
        "the file has PyTorch's format from before version 1.6; re-save it with torch.save(torch.load(path), path)",
    );
    check(
        "torchscript.pt",
        "the file is a TorchScript archive; export it with torch.onnx.export(torch.jit.load(path), (example_input,), \"model.onnx\", \
         dynamo=False)",
    );
    check("list.pt", "expected a dictionary of tensors, found a list");
    check("no_tensors.pt", "expected tensors by name, found `encoder` (a dictionary), `epoch` (an integer)");
    check(
        "complex.pt",
        "the pickle holds a tensor of `torch.ComplexFloatStorage`; expected floats or integers",
    );
    for (name, beginning) in [
        (
            "convolution.pt",
            "module `0` is a convolution: state the shape of the input (--shape input=1x3x32x32",
        ),
        ("batchnorm.pt", "modules `0` to `2` follow each other without room for activations"),
    ] {
        let message = read(&real_file(name)).unwrap_err().to_string();
        assert!(message.starts_with(beginning), "{message}");
    }
    let message = read(b"\x80\x04.").unwrap_err().to_string();
    assert!(message.starts_with("expected a zip archive as torch.save writes it"), "{message}");
    let other = zip(&[("x/other.pkl", b"")], Stored);
    refused(&other, "expected an archive with data.pkl, as torch.save writes it, found none");
    let two = zip(&[("x/data.pkl", b""), ("y/data.pkl", b"")], Stored);
    refused(&two, "expected one data.pkl, found `y/data.pkl` as well");
}

#[test]
fn the_builder_builds_what_is_read() {
    let good =
        archive(&dict(&[("W1", tensor("0", 2, 0, &[1, 2], &[2, 1])), ("b1", tensor("1", 2, 1, &[1], &[1]))]));
    let network = read(&good).unwrap().network;
    assert_eq!(network.layers()[0].weight().entries(), [1.0, 2.0]);
    assert_eq!(network.layers()[0].bias(), [2.0]);
}

#[test]
fn the_byte_order_is_honoured() {
    let pickle = dict(&[("W1", tensor("0", 2, 0, &[1, 2], &[2, 1]))]);
    let storage = [1f32, 2.0].map(f32::to_be_bytes).concat();
    let file = |order: &[u8]| {
        let entries: [(&str, &[u8]); 3] =
            [("x/data.pkl", &pickle), ("x/byteorder", order), ("x/data/0", &storage)];
        zip(&entries, Deflated)
    };
    assert_eq!(read(&file(b"big")).unwrap().network.layers()[0].weight().entries(), [1.0, 2.0]);
    refused(&file(b"middle"), "expected byte order little or big, found `middle`");
}

#[test]
fn pickles_that_would_run_code() {
    let check = |pickle: &[u8], expected: &str| refused(&archive(pickle), expected);
    check(
        b"cos\nsystem\n(X\x04\x00\x00\x00exittR.",
        "the pickle calls `os.system`, which is none of the functions that make tensors; nothing was run",
    );
    check(
        b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x031+1\x85R.",
        "the pickle calls `builtins.eval`, which is none of the functions that make tensors; nothing was run",
    );
    let opcode = |byte: &str| {
        format!(
            "byte 0 of the pickle: opcode {byte} is none that torch.save uses for tensors; nothing was run"
        )
    };
    check(b"i__main__\nX\n.", &opcode("0x69 ('i')"));
    check(b"o.", &opcode("0x6f ('o')"));
    check(b"\x82\x01.", &opcode("0x82"));
    check(b"P0\n.", &opcode("0x50 ('P')"));
    check(
        b"c__main__\nNet\n)\x81.",
        "the file holds a whole module of class `__main__.Net`; nothing in it was run; these lines save what can be \
         read:\n  model = torch.load(path, weights_only=False).eval()\n  torch.onnx.export(model, example_input, \
         \"model.onnx\")",
    );
    check(b"cos\nsystem\n}b.", "the pickle sets the state of the global `os.system`");
    // A name that is never called is inert.
    check(b"cos\nsystem\n.", "expected a dictionary of tensors, found the global `os.system`");
}

#[test]
fn pickles_that_make_no_sense() {
    let check = |pickle: &[u8], expected: &str| refused(&archive(pickle), expected);
    let underflow = "the pickle takes more from its stack than is there";
    for pickle in [&b"."[..], b"R", b"N(a", b"u", b"t", b"}N(s", b"\x86", b"q\x00", b"}(Nu.", b"\x81"] {
        check(pickle, underflow);
    }
    for pickle in [
        &b""[..],
        b"N",
        b"X\xff\xff\xff\xff",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff",
        b"cos",
        b"cos\n",
        b"G",
    ] {
        check(pickle, "the pickle ends in the middle");
    }
    check(b"\x80\x06.", "expected pickle protocol 2 to 5, found 6");
    check(b"h\x07.", "the pickle recalls value 7, which it has not remembered");
    check(b"X\x01\x00\x00\x00\xff.", "byte 5 of the pickle: a name is not UTF-8");
    check(b"c\xff\nx\n.", "the name of a global in the pickle is not UTF-8");
    check(b"NNNs.", "the pickle sets items of None");
    check(b"}Na.", "the pickle appends to a dictionary");
    check(b"NNR.", "the pickle calls None");
    check(b"NQ.", "the pickle names a storage in an unknown way");
    check(
        b"ccollections\nOrderedDict\nN\x85R.",
        "the pickle calls `collections.OrderedDict` with unknown arguments",
    );
    check(b"}(K\x01Nu.", "expected a dictionary with strings as keys, found an integer");
    let twice = [("W1", tensor("0", 2, 0, &[1, 2], &[2, 1])), ("W1", tensor("1", 2, 0, &[1, 2], &[2, 1]))];
    check(&dict(&twice), "tensor `W1`: the file holds it twice");
}

#[test]
fn depth_costs_no_stack() {
    let nested = |open: &[u8], close: &[u8]| {
        [open.repeat(1_000_000), b"N".to_vec(), close.repeat(1_000_000), b".".to_vec()].concat()
    };
    refused(&archive(&nested(b"]", b"a")), "expected a dictionary of tensors, found a list");
    refused(&archive(&nested(b"(", b"t")), "expected a dictionary of tensors, found a tuple");
    // A dictionary that contains itself.
    refused(
        &archive(b"}q\x00X\x01\x00\x00\x00ah\x00s."),
        "expected tensors by name, found `a` (a dictionary)",
    );
    let many = [b"]".repeat(2_200_000), b".".to_vec()].concat();
    refused(&archive(&many), "the pickle builds more than 2097152 values");
    let marks = [b"(".repeat(2_200_000), b".".to_vec()].concat();
    refused(&archive(&marks), "the pickle builds more than 2097152 values");
    let memo = [b"N".to_vec(), b"\x94".repeat(2_200_000)].concat();
    refused(&archive(&memo), "the pickle builds more than 2097152 values");
    let long = text(&"x".repeat(1_000_000));
    let global = [b"\x80\x04".to_vec(), long.clone(), long, b"\x93.".to_vec()].concat();
    refused(&archive(&global), "the pickle names a global of more than 200 characters");
    let large = zip(&[("x/data.pkl", &vec![b'N'; 20 << 20])], Deflated);
    refused(&large, "entry `x/data.pkl`: expected a pickle of at most 16777216 bytes, found 20971520");
}

#[test]
fn tensors_that_lie() {
    let check = |tensor: Vec<u8>, expected: &str| refused(&archive(&dict(&[("W1", tensor)])), expected);
    let beyond = "tensor `W1`: it reaches beyond the end of its storage";
    check(tensor("0", 2, 1, &[1, 2], &[2, 1]), beyond);
    check(tensor("0", 2, i64::MAX, &[1, 2], &[2, 1]), beyond);
    check(tensor("0", 2, 0, &[1, 2], &[2, i64::MAX]), beyond);
    check(tensor("0", 2, 0, &[1 << 40, 1 << 40], &[1 << 40, 1]), beyond);
    check(tensor("0", 2, 0, &[1 << 40, 1 << 40], &[0, 0]), beyond);
    let unknown = "the pickle calls `torch._utils._rebuild_tensor_v2` with unknown arguments";
    check(tensor("0", 2, -1, &[1, 2], &[2, 1]), unknown);
    check(tensor("0", 2, 0, &[1, 2], &[2]), unknown);
    check(tensor("0", 2, 0, &[1, 2], &[-2, 1]), unknown);
    check(tensor("0", 2, 0, &[1; 9], &[1; 9]), unknown);
    check(tensor("0", 3, 0, &[1, 2], &[2, 1]), "tensor `W1`: expected 12 bytes in `x/data/0`, found 8");
    check(
        tensor("0", i64::MAX, 0, &[1, 2], &[2, 1]),
        "tensor `W1`: expected too many bytes in `x/data/0`, found 8",
    );
    check(
        tensor("2", 2, 0, &[1, 2], &[2, 1]),
        "tensor `W1`: expected its storage in `x/data/2`, found no such entry",
    );
    check(
        tensor("0", 2, 0, &[0, 1 << 40], &[1, 1]),
        "tensor `W1`: expected dimensions of at least 1, found shape [0, 1099511627776]",
    );
    // Two numbers repeated 2^34 times.
    check(
        tensor("0", 2, 0, &[1 << 17, 1 << 17], &[0, 0]),
        "tensor `W1`: the tensors together have more than 64 MiB + 32 x the file's size as doubles",
    );
}

#[test]
fn a_wrong_checksum_is_found() {
    let mut bytes = archive(&dict(&[("W1", tensor("0", 2, 0, &[1, 2], &[2, 1]))]));
    replace(&mut bytes, &2f32.to_le_bytes(), &3f32.to_le_bytes());
    refused(&bytes, "entry `x/data/0`: its checksum is wrong");
}

#[test]
fn broken_files_are_errors() {
    mistreat(&real_file("views.pt"), read);
    mistreat(&real_file("protocol4.pt"), read);
    // Without the archive around it, so that the checksum does not hide what the pickle does.
    let pickle = dict(&[("W1", tensor("0", 2, 0, &[1, 2], &[2, 1])), ("b1", tensor("1", 2, 1, &[1], &[1]))]);
    mistreat(&pickle, |pickle| read(&archive(pickle)));
}
