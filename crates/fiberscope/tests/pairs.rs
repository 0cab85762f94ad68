//! Real pairs of networks made by others: each gets its verdict.
use std::path::Path;

use fiberscope::check::{Outcome, check};
use fiberscope::core::Claim;
use fiberscope::equivalence::{Agreement, Decision, EquivalenceOptions, Method, Verdict, decide};
use fiberscope::{Domain, Network, Rational};
use fiberscope_io::{Normalization, ReadOptions};

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
    // Ten times less than the alignment alone proves: the layer folds, and what is left is bounded as a difference.
    assert!(bound < Rational::from_f64(5e-3).unwrap(), "{bound}");
    assert_eq!(certificate.evidence.kind(), "difference");
    assert!(&bound * &Rational::from(1024) <= size);
    assert!(matches!(check(&certificate, &a, &b), Outcome::Proved(_)));
    let x = differ_at.unwrap().x;
    let (y, z) = (a.evaluate_exact(&x).unwrap(), b.evaluate_exact(&x).unwrap());
    assert!(y != z && y.iter().zip(&z).all(|(y, z)| (y - z).abs() <= bound));
}

/// A network from a text with seven digits and from single precision, in the same units: the parameters differ
/// in their last places, and the outputs by at most 1e-4 on the box of property 1.
#[test]
fn a_network_from_two_formats_is_within_a_tolerance() {
    let plain = ReadOptions { normalization: Normalization::Ignore, ..ReadOptions::default() };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(IO_DATA).join("nnet/acasxu_1_1.nnet");
    let a = fiberscope_io::load(path.to_str().unwrap(), &plain).unwrap().network;
    let b = network(&format!("{IO_DATA}/onnx/acasxu_1_1.onnx"));
    let sides = [(0.6, 0.679857769), (-0.5, 0.5), (-0.5, 0.5), (0.45, 0.5), (-0.5, -0.45)];
    let domain = Domain::from_bounds(&sides).unwrap();
    let asked = |tolerance: f64| {
        let options = EquivalenceOptions::new().precision(f64::from(f32::EPSILON)).tolerance(tolerance);
        decide(&a, &b, &domain, &options).unwrap()
    };
    let within = asked(1e-4);
    assert_eq!(within.method, Method::Difference);
    let Verdict::EquivalentUpToRounding { agreement, certificate, differ_at } = within.verdict else {
        panic!("not within 1e-4")
    };
    let bound = agreement.bound().unwrap().to_f64();
    assert!(bound <= 1e-4, "{bound}");
    assert_eq!(certificate.evidence.kind(), "difference");
    let Claim::Within { bounds } = certificate.claim() else { panic!("another claim") };
    assert!(bounds.iter().all(|bound| bound.to_f64() <= 1e-4));
    assert!(matches!(check(&certificate, &a, &b), Outcome::Proved(_)));
    assert!(differ_at.is_some());
    // A grid of points, evaluated without the library's bounds.
    for k in 0..243u32 {
        let x: Vec<f64> = (0..5)
            .map(|j| {
                let part = f64::from(k / 3u32.pow(j as u32) % 3) / 2.0;
                sides[j].0 + part * (sides[j].1 - sides[j].0)
            })
            .collect();
        let (y, z) = (a.evaluate(&x).unwrap(), b.evaluate(&x).unwrap());
        assert!(y.iter().zip(&z).all(|(y, z)| (y - z).abs() <= bound));
    }
    // Far below what is there a point shows it, exactly.
    let Verdict::Different { a: at_a, b: at_b, .. } = asked(1e-12).verdict else { panic!("within 1e-12") };
    let apart = at_a.iter().zip(&at_b).map(|(a, b)| (a - b).abs()).max().unwrap();
    assert!(apart > Rational::from_f64(1e-12).unwrap());
    // Without a tolerance the bound that is proved comes with the verdict.
    let Verdict::EquivalentUpToRounding { agreement: Agreement::Outputs { bound, size: Some(size) }, .. } =
        decided(&a, &b, &domain).verdict
    else {
        panic!("not equivalent up to rounding")
    };
    assert!(&bound * &Rational::from(1024) <= size, "{bound} {size}");
}
