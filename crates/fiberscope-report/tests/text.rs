//! Text and JSON against what they should be.

use crate::common;

use common::{certificate, hiding_two, hiding_two_anatomy, long_chain, motley_anatomy, translation};
use fiberscope_check::{Outcome, check};
use fiberscope_core::{Claim, Evidence, MoveChain, Rational};
use fiberscope_report::{anatomy, certificate};
use serde_json::json;

const HIDING: &str = "\
zoo:hiding-two
  widths        3-3-2-1
  parameters    23
  sha256        060a8592d96a1c52a73448827dde717862b7d9ad15923d2350a91e84e0dce077
  domain        all of R^3
  bottleneck    yes: W_1 has full row rank 3
  layer 1       3 nonlinear
  layer 2       2 nonlinear
  hidden        neuron 2 of layer 1
  generic       not decided: the 2 conditions that were checked hold; the full check is
                  exponential
                holds  no hidden neuron has only zero incoming weights
                holds  no two neurons of a layer are positive multiples of each other
  identifiable  no: the next layer hides neuron 2 of layer 1, so its hyperplane can be
                  translated
";

const MOTLEY: &str = "\
motley
  widths        2-3-4-2-1
  parameters    38
  sha256        99c0a5887b926fbef94e2e3997e0ded21de4c7deb982fb4be933fc0c4c2adb17
  domain        all of R^2
  bottleneck    no: layer 1 is wider (3) than the input (2)
  layer 1       1 linear, 2 nonlinear
  layer 2       1 dead, 1 linear, 2 nonlinear
  layer 3       2 linear (identity activation)
  hidden        none
  generic       no: 1 of the 2 conditions that were checked fails
                holds  no hidden neuron has only zero incoming weights
                fails  no two neurons of a layer are positive multiples of each other (neurons 3
                  and 4 of layer 2)
  identifiable  no: neuron 2 of layer 2 is dead, so its weights are free
";

const PROVED: &str = "\
certificate: hiding-two and hiding-two-translated
  claim         on all of R^3, the networks compute the same function
  A             3-3-2-1 060a8592d96a1c52a73448827dde717862b7d9ad15923d2350a91e84e0dce077
  B             3-3-2-1 dde64556c05f22d1c2b1497e2946c32c8f1710d1e2aeea8eec688fdf7789c8b2
  kind          moves
  evidence      1 move on A and no moves on B, to make the same network of both
  moves on A    1. translate the hidden hyperplane of neuron 2 of layer 1 by -1
  checker       proved: the networks compute the same function
";

const REFUSED: &str = "\
certificate: A.onnx and B.onnx
  claim         on all of R^3, the networks compute different functions
  A             3-3-2-1 060a8592d96a1c52a73448827dde717862b7d9ad15923d2350a91e84e0dce077
  B             3-3-2-1 dde64556c05f22d1c2b1497e2946c32c8f1710d1e2aeea8eec688fdf7789c8b2
  kind          witness
  evidence      a point with 3 coordinates, and the values there
  x             (0, 0, 0)
  A(x)          1
  B(x)          0.016733273153113265
  checker       refused at witness, value of A: the stated value is not the network's value at x
";

fn check_text(found: &str, expected: &str) {
    assert!(found.lines().all(|line| line.chars().count() <= 96), "{found}");
    assert_eq!(found, expected, "\n{found}");
}

#[test]
fn the_anatomy_of_a_network_that_hides() {
    check_text(&anatomy::text("zoo:hiding-two", &hiding_two_anatomy()), HIDING);
}

#[test]
fn the_anatomy_of_a_network_with_every_kind_of_neuron() {
    check_text(&anatomy::text("motley", &motley_anatomy()), MOTLEY);
}

#[test]
fn a_certificate_that_is_proved() {
    let (a, b) = (hiding_two(0.0), hiding_two(-1.0));
    let certificate = certificate(&a, &b, translation(-1));
    let outcome = check(&certificate, &a, &b);
    check_text(&certificate::text(("hiding-two", "hiding-two-translated"), &certificate, &outcome), PROVED);
}

#[test]
fn a_certificate_that_is_refused() {
    let (a, b) = (hiding_two(0.0), hiding_two(-1.0));
    let x = vec![Rational::ZERO; 3];
    let value: Rational = "602879701896397/36028797018963968".parse().unwrap();
    let certificate = certificate(&a, &b, Evidence::Witness { x, a: vec![Rational::ONE], b: vec![value] });
    let outcome = check(&certificate, &a, &b);
    check_text(&certificate::text(("A.onnx", "B.onnx"), &certificate, &outcome), REFUSED);
}

#[test]
fn long_chains_are_cut() {
    let a = hiding_two(0.0);
    let certificate = certificate(&a, &a, Evidence::Moves { a: long_chain(), b: MoveChain::default() });
    let text = certificate::text(("a", "b"), &certificate, &Outcome::Proved(Claim::Equivalent));
    assert!(text.contains("30. scale the neurons of layer 2 by 1\n"), "{text}");
    assert!(text.contains("... and 10 more\n") && !text.contains("31."), "{text}");
}

#[test]
fn the_keys_of_info() {
    let found = anatomy::value(&motley_anatomy());
    let expected = json!({
        "widths": [2, 3, 4, 2, 1],
        "activations": ["relu", "relu", "identity", "identity"],
        "parameters": 38,
        "sha256": found["sha256"],
        "domain": "space",
        "neurons": [
            {"layer": 1, "dead": 0, "linear": 1, "nonlinear": 2, "undecided": 0},
            {"layer": 2, "dead": 1, "linear": 1, "nonlinear": 2, "undecided": 0},
            {"layer": 3, "dead": 0, "linear": 2, "nonlinear": 0, "undecided": 0},
        ],
        "bottleneck": false,
        "generic": {"holds": false, "checked": [
            {"condition": "no hidden neuron has only zero incoming weights", "holds": true},
            {"condition": "no two neurons of a layer are positive multiples of each other", "holds": false,
             "detail": "neurons 3 and 4 of layer 2"},
        ]},
        "hides": [],
        "identifiable": false,
        "reason": "neuron 2 of layer 2 is dead, so its weights are free",
        "needed": null,
        "fiber_dimension": null,
        "fiber_generic_dimension": null,
        "fiber_components": null,
    });
    assert_eq!(found, expected);
    assert_eq!(found["sha256"], motley_anatomy().digest.to_string());
    let found = anatomy::value(&hiding_two_anatomy());
    assert_eq!(found["hides"], json!([{"layer": 1, "neuron": 2}]));
    assert_eq!(found["generic"]["holds"], json!(null));
}

#[test]
fn the_keys_of_check() {
    let (a, b) = (hiding_two(0.0), hiding_two(-1.0));
    let moved = certificate(&a, &b, translation(-1));
    let proved = certificate::value(&moved, &check(&moved, &a, &b));
    let expected = json!({
        "valid": true, "holds": true, "claim": "equivalent", "domain": "space", "bound": null, "kind": "moves",
        "reason": "the networks compute the same function",
    });
    assert_eq!(proved, expected);

    let too_far = certificate(&a, &b, translation(-2));
    let outcome = check(&too_far, &a, &b);
    let refused = certificate::value(&too_far, &outcome);
    assert_eq!((&refused["valid"], &refused["claim"]), (&json!(false), &json!("equivalent")));
    assert!(refused["reason"].as_str().unwrap().starts_with("move 1 on A (translate, layer 1): "));

    let bound: Rational = "1/1000000000000".parse().unwrap();
    let (a, b) = (MoveChain::default(), MoveChain::default());
    let evidence = Evidence::Rounding { a, b, bound: bound.clone() };
    let claim = Claim::EquivalentUpToRounding { bound: bound.clone() };
    let rounded =
        certificate::value(&fiberscope_core::Certificate { evidence, ..too_far }, &Outcome::Proved(claim));
    assert_eq!(rounded["claim"], "equivalent_up_to_rounding");
    assert_eq!(rounded["bound_exact"], "1/1000000000000");
    assert!(Rational::from_f64(rounded["bound"].as_f64().unwrap()).unwrap() >= bound);
}
