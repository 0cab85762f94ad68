//! Boxes: one box in every notation, and what is refused with which sentence.

use fiberscope_io::domain::{InputBox, OutputQuestion, parse_box, read, read_property};

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

/// Two networks of two inputs and two outputs, which are the same for both.
fn two_networks(rest: &str) -> String {
    let network = |name, more| {
        format!(
            "(declare-network {name} {more}(declare-input X_{name} real [2]) (declare-output Y_{name} real [2]))\n"
        )
    };
    let same = "(assert (<= 0 X_f[0] 1)) (assert (<= 0 X_f[1] 1)) (assert (== X_f[0] X_g[0])) (assert (== X_f[1] X_g[1]))";
    format!("{}{}{same}\n{rest}", network("f", ""), network("g", "(isomorphic-to f) "))
}

fn outputs_of(rest: &str) -> Result<OutputQuestion, String> {
    let property =
        read_property(two_networks(rest).as_bytes(), 2, 2, false).map_err(|error| error.to_string())?;
    assert!(property.isomorphic && property.widened.is_none());
    assert_eq!(property.inputs.bounds, [(0.0, 1.0); 2]);
    Ok(property.outputs)
}

#[test]
fn properties_of_two_networks() {
    let epsilon: fiberscope_core::Rational = "1/20".parse().unwrap();
    assert_eq!(outputs_of(""), Ok(OutputQuestion::Nothing));
    let apart = "(assert (or (> Y_g[0] (+ Y_f[0] 0.05)) (< Y_g[0] (- Y_f[0] 0.05)) (or (> (- Y_g[1] Y_f[1]) 0.05) (< (* -1 0.1) (* 2.0 (- Y_g[1] Y_f[1])) ))))";
    // The last comparison is the other way round.
    assert!(outputs_of(apart).unwrap_err().contains("are not understood"));
    let apart = "(assert (or (> Y_g[0] (+ Y_f[0] 0.05)) (< Y_g[0] (- Y_f[0] 0.05)) (or (> (- Y_g[1] Y_f[1]) 0.05) (< (* 2.0 (- Y_g[1] Y_f[1])) (- 0.1)))))";
    assert_eq!(outputs_of(apart), Ok(OutputQuestion::Apart(epsilon.clone())));
    // A bound that may be reached is another question.
    assert!(outputs_of(&apart.replace("> Y", ">= Y")).unwrap_err().contains("are not understood"));
    let contradictory = apart.replace("or", "and");
    let Ok(OutputQuestion::Contradiction { place, intended }) = outputs_of(&contradictory) else { panic!() };
    assert!(place.contains("(< Y_g[0] (- Y_f[0] 0.05)): it contradicts another one"), "{place}");
    assert_eq!(intended, Some(epsilon));
    // Nothing is contradictory in a band, and what is left out shows no meaning.
    let band = "(assert (and (< Y_g[0] (+ Y_f[0] 0.05)) (> Y_g[0] (- Y_f[0] 0.05))))";
    assert!(outputs_of(band).unwrap_err().contains("are not understood"));
    let one = "(assert (and (> Y_g[0] Y_f[0]) (< Y_g[0] Y_f[0])))";
    assert!(matches!(outputs_of(one), Ok(OutputQuestion::Contradiction { intended: None, .. })));
    let touching = "(assert (and (>= Y_g[0] Y_f[0]) (<= Y_g[0] Y_f[0])))";
    assert!(outputs_of(touching).unwrap_err().contains("are not understood"));
}

#[test]
fn the_benchmark_contradicts_itself() {
    let bytes = include_bytes!("data/domain/iso_acasxu_instance_0.vnnlib");
    let property = read_property(bytes, 5, 5, false).unwrap();
    assert_eq!(property.inputs.bounds[0], (0.6, 0.679857769));
    let OutputQuestion::Contradiction { intended, .. } = property.outputs else { panic!() };
    assert_eq!(intended, "1/20".parse().ok());
}

#[test]
fn properties_of_one_network() {
    let one = |rest: &str| {
        let text = format!("(assert (<= 0 X_0 1))\n{rest}");
        read_property(text.as_bytes(), 1, 1, false).unwrap().outputs
    };
    assert_eq!(one(""), OutputQuestion::Nothing);
    assert_eq!(one("(assert (>= Y_0 1))"), OutputQuestion::OfOneNetwork);
}

#[test]
fn properties_that_are_none() {
    let refuses = |text: &str, expected: &str| {
        let error = read_property(text.as_bytes(), 2, 2, false).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refuses("[[0, 1], [0, 1]]", "expected a VNN-LIB file");
    refuses(&two_networks("").replace("(== X_f[1] X_g[1])", "(<= 0 1)"), "input 2 is the same for both");
    refuses(&two_networks("").replace("isomorphic-to f", "isomorphic-to h"), "declared before");
    refuses(&two_networks("").replace("Y_g real [2]", "Y_g real [3]"), "expected 2 outputs");
    refuses(&two_networks("(assert (> Y_f[2] 0))"), "expected an index into Y_f[2]");
    refuses(&two_networks("(assert (> (* Y_f[0] Y_g[0]) 0))"), "expected a sum");
    refuses(&two_networks("(assert (not (> Y_f[0] 0)))"), "expected <, <=, >, >=, and, or");
    refuses(&two_networks("(assert (or (> Y_f[0] 0) (and (> Y_f[1] 0) (> Y_g[1] 0))))"), "inside each other");
    let deep = format!("(assert (> {}Y_f[0]{} 0))", "(+ ".repeat(100), ")".repeat(100));
    refuses(&two_networks(&deep), "nested too deeply");
    let deep = format!("(assert {}(> Y_f[0] 0){})", "(and ".repeat(100), ")".repeat(100));
    refuses(&two_networks(&deep), "nested too deeply");
}

#[test]
fn boxes_around_what_is_no_box() {
    let around = |rest: &str| {
        let text = format!("(assert (<= 0 X_0 4)) (assert (<= 0 X_1 4))\n{rest}");
        assert!(read_property(text.as_bytes(), 2, 1, false).is_err(), "{rest}");
        read_property(text.as_bytes(), 2, 1, true).map(|found| (found.inputs.bounds, found.widened))
    };
    let bounds = |rest: &str| around(rest).unwrap().0;
    assert_eq!(bounds("(assert (<= (+ X_0 X_1) 1))"), [(0.0, 4.0), (0.0, 4.0)]);
    assert_eq!(bounds("(assert (< X_0 1))"), [(0.0, 1.0), (0.0, 4.0)]);
    let or =
        "(assert (or (and (<= 1 X_0 2) (>= X_1 3)) (and (<= 2 X_0 3) (<= 1 X_1 2) (>= Y_0 1)) (>= X_0 5)))";
    assert_eq!(bounds(or), [(1.0, 3.0), (1.0, 4.0)]);
    assert!(around(or).unwrap().1.unwrap().contains("line 2: (or (and (<= 1 X_0 2)"));
    // What one alternative leaves free is free.
    assert_eq!(bounds("(assert (or (<= X_0 1) (<= X_1 1)))"), [(0.0, 4.0), (0.0, 4.0)]);
    let none = around("(assert (or (>= X_0 5) (>= X_1 5)))").unwrap_err().to_string();
    assert!(none.contains("no input satisfies any of the alternatives"), "{none}");
}

/// Whatever becomes of a file, it is read or refused, and what `read` takes for a box is the box.
#[test]
fn broken_properties_are_refused() {
    let bytes = include_bytes!("data/domain/iso_acasxu_instance_0.vnnlib");
    let mut state = 7u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % n
    };
    for round in 0..1500 {
        let mut broken = bytes.to_vec();
        match round % 3 {
            0 => broken.truncate(random(bytes.len())),
            1 => broken[random(bytes.len())] = b"()<>=+-*0_[]; \nYX"[random(17)],
            _ => {
                let (from, length) = (random(bytes.len() - 60), 1 + random(60));
                broken.drain(from..from + length);
            }
        }
        for widen in [false, true] {
            let found = read_property(&broken, 5, 5, widen);
            if let (Ok(plain), Ok(found)) = (read(&broken, 5), found) {
                assert_eq!(plain, found.inputs);
            }
        }
    }
}
