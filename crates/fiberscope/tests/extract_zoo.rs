//! Extraction from the networks of the zoo, most of which are as degenerate as networks can be: what is
//! called verified is the function, by the exact comparison on the domain.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use fiberscope::core::Domain;
use fiberscope::equivalence::{self, EquivalenceOptions, decide};
use fiberscope::extract::{ExtractOptions, ExtractOutcome, NetworkOracle, extract};
use fiberscope::limit::Deadline;
use fiberscope_io::zoo;

#[test]
fn no_wrong_network_is_called_verified() {
    // Most networks that do not come back within this do not come back at all.
    let options = ExtractOptions::new().max_queries(15_000);
    let mut verified = 0;
    for entry in zoo::entries() {
        let truth = zoo::network(&entry.name).unwrap().network;
        let found = extract(&mut NetworkOracle::new(truth.clone()), &options);
        let Ok(found) = found else { continue };
        if found.outcome != ExtractOutcome::Verified {
            continue;
        }
        verified += 1;
        let domain = Domain::from_bounds(&vec![options.domain; truth.input_width()]).unwrap();
        let asked =
            EquivalenceOptions::new().tolerance(1e-6).deadline(Deadline::after(Some(Duration::from_secs(5))));
        let decision = decide(&truth, found.network.as_ref().unwrap(), &domain, &asked).unwrap();
        if let equivalence::Verdict::Different { x, a, b, .. } = decision.verdict {
            // Rounded parameters always differ somewhere; what counts is by how much.
            let apart = a.iter().zip(&b).map(|(a, b)| (a.to_f64() - b.to_f64()).abs()).fold(0.0, f64::max);
            if apart < 1e-6 {
                continue;
            }
            panic!("{}: verified, but {a:?} and {b:?} at {x:?}; {:?}", entry.name, found.fidelity);
        }
    }
    assert!(verified > 0, "nothing was recovered");
}
