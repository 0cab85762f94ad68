//! What a model leaks: the same extraction against answers of lower and lower precision.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::extraction::{Finding, LeakReport, LeakRow};
use fiberscope::extract::{NetworkOracle, Options, Precision, extract};
use fiberscope_core::Network;
use rayon::prelude::*;

use super::{judge, truth};
use crate::Say;

/// What an exposed model may answer with, from the most precise to the least.
const PRECISIONS: [(&str, Precision); 8] = [
    ("double", Precision { single: false, decimals: None }),
    ("12 decimals", Precision { single: false, decimals: Some(12) }),
    ("10 decimals", Precision { single: false, decimals: Some(10) }),
    ("8 decimals", Precision { single: false, decimals: Some(8) }),
    ("float32", Precision { single: true, decimals: None }),
    ("6 decimals", Precision { single: false, decimals: Some(6) }),
    ("4 decimals", Precision { single: false, decimals: Some(4) }),
    ("3 decimals", Precision { single: false, decimals: Some(3) }),
];

/// Extracts a network from answers of every precision, on several threads. `name` is that of the network.
pub fn leak(name: &str, network: &Network, options: &Options, say: Say) -> LeakReport {
    let done = AtomicUsize::new(0);
    let rows = PRECISIONS
        .par_iter()
        .map(|&(precision, answers)| {
            let row = row(precision, answers, network, options);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            say(&format!("{done} of {} precisions", PRECISIONS.len()));
            row
        })
        .collect();
    let (parameters, domain) = (network.parameter_count(), options.domain);
    LeakReport { name: name.into(), parameters, domain, rows }
}

/// An extraction from answers of this precision. That nothing can be recovered is what the owner hopes for.
fn row(name: &str, precision: Precision, network: &Network, options: &Options) -> LeakRow {
    let mut oracle = NetworkOracle::new(network.clone()).with_precision(precision);
    let mut row = LeakRow {
        precision: name.into(),
        single: precision.single,
        decimals: precision.decimals,
        finding: Finding::Failed,
        reason: None,
        queries: 0,
        max_difference: None,
        max_relative_error: None,
    };
    match extract(&mut oracle, options, &mut |_| {}) {
        Err(error) => row.reason = Some(error.to_string()),
        Ok(found) => {
            let (finding, reason, _) = judge(&found.verdict);
            (row.finding, row.reason, row.queries) = (finding, reason, found.queries);
            row.max_difference = found.fidelity.as_ref().map(|fidelity| fidelity.max_difference);
            match found.network.as_ref().map(|found| truth::align(network, found)) {
                Some(Ok(aligned)) => row.max_relative_error = Some(aligned.max_relative_error),
                Some(Err(reason)) => row.reason = row.reason.or(Some(reason)),
                None => {}
            }
        }
    }
    row
}
