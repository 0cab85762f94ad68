//! Extraction from the networks of the zoo, most of which are as degenerate as networks can be: what is
//! called verified is the function, by the exact comparison on the domain.
use std::time::Duration;

use fiberscope::core::Domain;
use fiberscope::equivalence::{self, EquivalenceOptions, decide};
use fiberscope::extract::{ExtractOptions, ExtractOutcome, NetworkOracle, extract};
use fiberscope::limit::Deadline;
use fiberscope_io::zoo;
use rayon::prelude::*;

#[test]
fn no_wrong_network_is_called_verified() {
    // Most networks that do not come back within this do not come back at all.
    let options = ExtractOptions::new().max_queries(2_500);
    let entries = zoo::entries();
    let verified: usize =
        entries.par_iter().map(|entry| usize::from(is_verified(&entry.name, &options))).sum();
    assert!(verified > 0, "nothing was recovered");
}

/// Whether a network is called verified, which it then has to be.
fn is_verified(name: &str, options: &ExtractOptions) -> bool {
    let truth = zoo::network(name).unwrap().network;
    let found = extract(&mut NetworkOracle::new(truth.clone()), options);
    let Ok(found) = found else { return false };
    if found.outcome != ExtractOutcome::Verified {
        return false;
    }
    let domain = Domain::from_bounds(&vec![options.domain; truth.input_width()]).unwrap();
    let asked =
        EquivalenceOptions::new().tolerance(1e-6).deadline(Deadline::after(Some(Duration::from_secs(5))));
    let decision = decide(&truth, found.network.as_ref().unwrap(), &domain, &asked).unwrap();
    if let equivalence::Verdict::Different { x, a, b, .. } = decision.verdict {
        // Rounded parameters always differ somewhere; what counts is by how much.
        let apart = a.iter().zip(&b).map(|(a, b)| (a.to_f64() - b.to_f64()).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-6, "{name}: verified, but {a:?} and {b:?} at {x:?}; {:?}", found.fidelity);
    }
    true
}
