//! Real pairs of networks made by others: each gets its verdict.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use fiberscope::check::{Outcome, check};
use fiberscope::equivalence::{Agreement, Decision, EquivalenceOptions, Verdict, decide};
use fiberscope::{Domain, Network, Rational};
use fiberscope_io::ReadOptions;

fn network(file: &str) -> Network {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fiberscope_io::load(path.to_str().unwrap(), &ReadOptions::default()).unwrap().network
}

fn decided(a: &Network, b: &Network, domain: &Domain) -> Decision {
    let options = EquivalenceOptions::new().precision(f64::from(f32::EPSILON));
    decide(a, b, domain, &options).unwrap()
}

const DATA: &str = "tests/data/networks";
const IO_DATA: &str = "../fiberscope-io/tests/data";

#[test]
fn the_same_network_from_two_collections_is_equivalent() {
    let a = network(&format!("{IO_DATA}/onnx/acasxu_1_1.onnx"));
    let b = network(&format!("{DATA}/iso_acasxu_1_1.onnx"));
    assert!(matches!(decided(&a, &b, &Domain::Space).verdict, Verdict::Equivalent { .. }));
}

#[test]
fn truncated_and_perturbed_networks_are_different() {
    for (a, b) in [
        (format!("{IO_DATA}/nnet/acasxu_1_1.nnet"), format!("{DATA}/acasxu_1_1_16bit.nnet")),
        (format!("{DATA}/iso_acasxu_1_1.onnx"), format!("{IO_DATA}/onnx/iso_acasxu_1_1_perturbed.onnx")),
    ] {
        let (a, b) = (network(&a), network(&b));
        let Verdict::Different { x, .. } = decided(&a, &b, &Domain::Space).verdict else {
            panic!("not different")
        };
        assert_ne!(a.evaluate_exact(&x).unwrap(), b.evaluate_exact(&x).unwrap());
    }
}

/// One network has a layer more, whose neurons come in pairs that cancel up to rounding.
#[test]
fn a_split_network_is_equivalent_up_to_rounding() {
    let a = network(&format!("{DATA}/relusplitter_base.onnx"));
    let b = network(&format!("{DATA}/relusplitter_pct0.2.onnx"));
    let domain = Domain::from_bounds(&[(0.0, 1.0); 784]).unwrap();
    let Verdict::EquivalentUpToRounding { agreement, certificate, differ_at } =
        decided(&a, &b, &domain).verdict
    else {
        panic!("not equivalent up to rounding")
    };
    let Agreement::Outputs { bound, size: Some(size) } = agreement else { panic!("no bound") };
    assert!(&bound * &Rational::from(1024) <= size);
    assert!(matches!(check(&certificate, &a, &b), Outcome::Proved(_)));
    let x = differ_at.unwrap().x;
    let (y, z) = (a.evaluate_exact(&x).unwrap(), b.evaluate_exact(&x).unwrap());
    assert!(y != z && y.iter().zip(&z).all(|(y, z)| (y - z).abs() <= bound));
}
