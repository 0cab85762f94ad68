//! The decision procedure against pairs with known answers. Every verdict comes with a certificate that
//! the checker accepts here once more.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use fiberscope::check::{Outcome, check};
use fiberscope::core::{Certificate, Domain, Network};
use fiberscope::equivalence::{Decision, EquivalenceOptions, Verdict, decide};
use fiberscope_io::json;
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pairs")
}

fn network(name: &str) -> Network {
    let bytes = fs::read(folder().join(format!("{name}.json"))).unwrap();
    json::read(&bytes, &Default::default()).unwrap().network
}

fn exactly(a: &Network, b: &Network, domain: &Domain) -> Decision {
    let options = EquivalenceOptions { exact: true, ..EquivalenceOptions::default() };
    decide(a, b, domain, &options, &|_| ()).unwrap()
}

fn certificate(decision: &Decision) -> &Certificate {
    match &decision.verdict {
        Verdict::Equivalent { certificate }
        | Verdict::EquivalentUpToRounding { certificate, .. }
        | Verdict::Different { certificate, .. } => certificate,
        Verdict::Undecided { .. } => panic!("undecided"),
    }
}

#[test]
fn golden_pairs() {
    let manifest: Vec<Value> =
        serde_json::from_slice(&fs::read(folder().join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest.len(), 78);
    for entry in manifest {
        let name = entry["name"].as_str().unwrap();
        let (a, b) = (network(&format!("{name}.a")), network(&format!("{name}.b")));
        let decision = exactly(&a, &b, &Domain::Space);
        let equal = matches!(decision.verdict, Verdict::Equivalent { .. });
        assert_eq!(equal, entry["equivalent"].as_bool().unwrap(), "{name} by {}", decision.method);
        assert!(matches!(check(certificate(&decision), &a, &b), Outcome::Proved(_)), "{name}");
    }
}

fn zoo(name: &str) -> Network {
    fiberscope_io::zoo::network(name).unwrap().network
}

#[test]
fn rounding_is_told_from_a_difference() {
    let options = EquivalenceOptions { precision: f64::EPSILON, ..EquivalenceOptions::default() };
    let verdict = |a: &str, b: &str, options: &EquivalenceOptions| {
        decide(&zoo(a), &zoo(b), &Domain::Space, options, &|_| ()).unwrap().verdict
    };
    let rounded = verdict("deep", "deep-rounded", &options);
    assert!(matches!(rounded, Verdict::EquivalentUpToRounding { .. }));
    let nudged = verdict("identifiable", "identifiable-nudged", &options);
    assert!(matches!(nudged, Verdict::Different { .. }));
    let generous = EquivalenceOptions { tolerance: Some(1e-5), ..options.clone() };
    let nudged = verdict("identifiable", "identifiable-nudged", &generous);
    assert!(matches!(nudged, Verdict::EquivalentUpToRounding { .. }));
    let exact = EquivalenceOptions { exact: true, ..options };
    assert!(matches!(verdict("deep", "deep-rounded", &exact), Verdict::Different { .. }));
}
