//! Boxes: one box in every notation, and what is refused with which sentence.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fiberscope_io::domain::{InputBox, parse_box, read};

const PROPERTY_1: [(f64, f64); 5] =
    [(0.6, 0.679857769), (-0.5, 0.5), (-0.5, 0.5), (0.45, 0.5), (-0.5, -0.45)];

fn data(name: &str) -> String {
    format!("{}/tests/data/domain/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn one_box_in_every_notation() {
    for name in ["iso_acasxu_instance_0.vnnlib", "property_1.vnnlib", "property_1.json", "property_1.csv"] {
        assert_eq!(parse_box(&data(name), 5).unwrap().bounds, PROPERTY_1, "{name}");
    }
    assert_eq!(read(b" [[0.5, 0.5]]", 1).unwrap(), InputBox { bounds: vec![(0.5, 0.5)] });
    assert_eq!(read(b"0;1\n-1;1e-3", 2).unwrap().bounds, [(0.0, 1.0), (-1.0, 1e-3)]);
}

#[test]
fn arguments() {
    assert_eq!(parse_box("-1,1", 2).unwrap().bounds, [(-1.0, 1.0); 2]);
    assert_eq!(parse_box("1e-3,2", 1).unwrap().bounds, [(1e-3, 2.0)]);
    assert_eq!(parse_box(" -.5 , +1e2 ", 1).unwrap().bounds, [(-0.5, 100.0)]);
    let refuses = |argument: &str, expected: &str| {
        assert_eq!(parse_box(argument, 2).unwrap_err().to_string(), format!("{argument}: {expected}"));
    };
    refuses("2,1", "every input: the lower bound 2 is above the upper bound 1");
    refuses("nan,1", "every input: the lower bound is NaN; expected a finite number");
    refuses("0,1e999", "every input: the upper bound is inf; expected a finite number");
    let neither = "expected LO,HI (two numbers) or the name of a file; there is no such file";
    for argument in ["1", "1,2,3", "a,b", ""] {
        refuses(argument, neither);
    }
    let folder = parse_box(&data(""), 2).unwrap_err().to_string();
    assert!(folder.starts_with(&data("")) && !folder.contains("LO,HI"), "{folder}");
}

#[track_caller]
fn refuses(text: &str, inputs: usize, expected: &str) {
    assert_eq!(read(text.as_bytes(), inputs).unwrap_err().to_string(), expected, "{text}");
}

#[test]
fn broken_json() {
    refuses("[[0, 1]]", 2, "expected 2 intervals, one per input of the network, found 1");
    refuses("[[0, 1], [2]]", 2, "input 2: expected two numbers, lo and hi, found 1 (line 1, column 13)");
    refuses("[[0, 1, 2]]", 1, "input 1: expected two numbers, lo and hi, found 3 (line 1, column 11)");
    refuses("[[0, null]]", 1, "input 1: bound 2: invalid type: null, expected a number (line 1, column 9)");
    refuses("[[0, 1e999]]", 1, "input 1: bound 2: number out of range (line 1, column 10)");
    refuses("[0, 1]", 1, "input 1: invalid type: integer `0`, expected a list of numbers (line 1, column 2)");
    refuses("[[1, 0]]", 1, "input 1: the lower bound 1 is above the upper bound 0");
    refuses("{\"lo\": 0}", 1, "unknown key \"lo\"; expected one of [\"box\"] (line 1, column 5)");
    refuses("{\"box\": [], \"box\": []}", 1, "the key occurs twice (line 1, column 22)");
    refuses("{}", 1, "the key \"box\" is missing (line 1, column 2)");
    refuses(
        "{\"box\": {\"box\": []}}",
        0,
        "invalid type: map, expected a list of intervals (line 1, column 8)",
    );
}

#[test]
fn broken_csv() {
    refuses("", 1, "the file is empty; expected rows of numbers");
    refuses("0,1\n0,1", 3, "expected 3 intervals, one per input of the network, found 2");
    refuses("0,1,2", 1, "expected two columns, lower and upper bounds, found 3");
    refuses("lo,hi\n0,x", 1, "line 2, column 2: found \"x\"; expected a finite number");
    refuses("0,1\n3,2", 2, "input 2: the lower bound 3 is above the upper bound 2");
}

#[track_caller]
fn refuses_assertion(constraint: &str, expected: &str) {
    let text = format!("(assert (and (<= 0 X_0 1) (<= 0 X_1 1)))\n(assert {constraint})");
    assert_eq!(read(text.as_bytes(), 2).unwrap_err().to_string(), expected, "{text}");
}

#[test]
fn broken_vnnlib_1() {
    let expected = "expected bounds on single inputs, as in (<= X_0 1)";
    let linear = |text: &str| {
        refuses_assertion(text, &format!("line 2: {text}: a relation between inputs; {expected}"))
    };
    linear("(<= (+ X_0 X_1) 1)");
    linear("(<= (* 2.0 X_0) 1)");
    linear("(<= X_0 X_1)");
    linear("(= X_0 X_1)");
    linear("(<= (abs X_0) 1)");
    linear("(= (<= X_0 0.5) true)");
    let or = "(or (<= X_0 0.5) (>= X_1 0.5))";
    refuses_assertion(or, &format!("line 2: {or}: a disjunction over inputs; {expected}"));
    let mixed = "(or (and (<= X_0 0.5) (<= Y_0 0)) (<= Y_0 1))";
    refuses_assertion(mixed, &format!("line 2: {mixed}: a disjunction over inputs; {expected}"));
    let not = "(not (<= X_0 0.5))";
    refuses_assertion(not, &format!("line 2: {not}: a constraint of another kind on inputs; {expected}"));
    refuses_assertion("X_0", &format!("line 2: X_0: a constraint of another kind on inputs; {expected}"));
    let strict = "line 2: (< X_0 0.5): a strict bound; expected <= or >=, since a box contains its ends";
    refuses_assertion("(< X_0 0.5)", strict);
    refuses_assertion("(<= X_2 0.5)", "line 2: X_2: the network has 2 inputs, counted from 0");
    refuses_assertion("(<= X_1 1e999)", "line 2: 1e999: expected a finite number");
    refuses_assertion("(<= X_1 -inf)", "line 2: -inf: expected a finite number");
    refuses_assertion("(>= X_1 2)", "X_1: the lower bound 2 is above the upper bound 1");
    refuses(
        "(declare-const X_2 Real)",
        2,
        "line 1: (declare-const X_2 Real): the network has 2 inputs, counted from 0",
    );
    refuses("(assert (<= 0 X_0 1))\n(assert (<= X_1 1))", 2, "X_1 has no lower bound; expected a box");
    refuses("; nothing", 2, "the file has no bounds on inputs; expected a box");
    refuses("(assert\n(<= 0 X_0 1)", 1, "line 1: the \"(\" at the beginning of this form is not closed");
    let deep = format!("(assert {}(<= 0 X_0 1){})", "(and ".repeat(100), ")".repeat(100));
    assert!(
        read(deep.as_bytes(), 1).unwrap_err().to_string().ends_with("conjunctions are nested too deeply")
    );
}

/// Two networks `f` and `g` with inputs of shape `[1, 2]`.
fn version_2(rest: &str) -> String {
    let network = |name| {
        format!(
            "(declare-network {name} (declare-input X_{name} real [1, 2]) (declare-output Y_{name} real [1]))\n"
        )
    };
    format!("(vnnlib-version <2.0>)\n{}{}{rest}", network("f"), network("g"))
}

#[test]
fn vnnlib_2() {
    let bounds = "(assert (<= 0 X_f[0,0] 1)) (assert (<= -1 X_f[0, 1] 2))\n";
    let box_f = [(0.0, 1.0), (-1.0, 2.0)];
    let reads = |rest: &str| read(version_2(&format!("{bounds}{rest}")).as_bytes(), 2).unwrap().bounds;
    assert_eq!(reads(""), box_f);
    assert_eq!(reads("(assert (== X_f[0,1] X_g[0,1]))"), box_f);
    assert_eq!(reads("(assert (> Y_g[0] (+ Y_f[0] X_f[0,0])))"), box_f);
    assert_eq!(reads("(assert (and (<= 0 X_g[0,0] 1) (<= -1 X_g[0,1] 2)))"), box_f);
    let refuses = |rest: &str, expected: &str| refuses(&version_2(&format!("{bounds}{rest}")), 2, expected);
    refuses("(assert (<= 0 X_g[0,0] 1))", "X_f and X_g have different bounds; expected one box");
    let crossed = "(== X_f[0,1] X_g[0,0])";
    refuses(
        &format!("(assert {crossed})"),
        &format!(
            "line 5: {crossed}: a relation between inputs; expected bounds on single inputs, as in (<= X_0 1)"
        ),
    );
    refuses("(assert (<= X_f[1,0] 1))", "line 5: X_f[1,0]: expected an index into X_f[1, 2]");
    refuses("(assert (<= X_f[0] 1))", "line 5: X_f[0]: expected an index into X_f[1, 2]");
    refuses("(assert (<= X_f 1))", "line 5: X_f: expected an index into X_f[1, 2]");
    refuses("(assert (>= X_f[0,1] 3))", "X_f[0,1]: the lower bound 3 is above the upper bound 2");
    refuses("(assert (<= X_f[0,x] 3))", "line 5: X_f[0,x]: expected an index into X_f[1, 2]");
}

#[test]
fn broken_vnnlib_2() {
    let shape = "line 2: (declare-input X_f real [1, 2]): expected 3 inputs, as the network has";
    refuses(&version_2(""), 3, shape);
    refuses(&version_2("(assert (<= X_f[0,0] 1))"), 2, "X_f[0,0] has no lower bound; expected a box");
    let huge = "(declare-input X real [4294967296,4294967296,4294967296])";
    refuses(
        &format!("(declare-network f {huge})"),
        1,
        &format!("line 1: {huge}: expected 1 inputs, as the network has"),
    );
    let second = "(declare-network f (declare-input X real [1]) (declare-input Z real [1]))";
    let message = "line 1: (declare-input Z real [1]): a second input of the same network; expected one";
    refuses(second, 1, message);
    let long = format!("(declare-network f (declare-input {} real [1]))", "X".repeat(1 << 16));
    let message = read(long.as_bytes(), 1).unwrap_err().to_string();
    assert!(
        message.len() < 500 && message.contains("expected a printable name of at most 100 bytes"),
        "{message}"
    );
    let many = "(declare-network f (declare-input X real [1]))".repeat(17);
    assert!(read(many.as_bytes(), 1).unwrap_err().to_string().ends_with("expected at most 16 networks"));
    let control = read(b"(declare-network f (declare-input \x1b real [1]))", 1).unwrap_err().to_string();
    assert!(
        control.starts_with("line 1: (declare-input \u{fffd} real [1]): expected a printable name"),
        "{control}"
    );
    assert_eq!(read(b"(\xff)", 1).unwrap_err().to_string(), "line 1: expected text in UTF-8");
}
