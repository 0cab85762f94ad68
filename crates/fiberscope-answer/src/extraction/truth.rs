//! A recovered network against the true one.

use std::time::Duration;

use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::extract::{self, Extraction, Options};
use fiberscope_core::{Domain, Network, decimal};
use fiberscope_report::extraction::Comparison;

use crate::equivalence::name;

/// The exact comparison is given up after so long, unless the time is up before.
const LONGEST: Duration = Duration::from_secs(60);

/// Aligns the recovered network with the truth and compares the two on the domain.
pub fn compare(truth: &Network, found: &Network, extraction: &Extraction, options: &Options) -> Comparison {
    let equiv = on_domain(truth, found, extraction, options);
    match align(truth, found) {
        Ok(aligned) => Comparison {
            max_error: Some(aligned.max_error),
            not_aligned: None,
            max_relative_error: Some(aligned.max_relative_error),
            layer_errors: aligned.layers,
            equiv,
        },
        Err(reason) => Comparison { not_aligned: Some(reason), equiv, ..Comparison::default() },
    }
}

/// The errors of all layers, or why there are none.
pub fn align(truth: &Network, found: &Network) -> Result<extract::Comparison, String> {
    let widths =
        |network: &Network| network.widths().iter().map(usize::to_string).collect::<Vec<_>>().join("-");
    extract::compare(truth, found)
        .ok_or_else(|| format!("the truth has widths {}, the network {}", widths(truth), widths(found)))
}

/// The verdict of the exact comparison and the bound it proves.
fn on_domain(
    truth: &Network,
    found: &Network,
    extraction: &Extraction,
    options: &Options,
) -> Option<(String, Option<f64>)> {
    let domain = Domain::from_bounds(&vec![options.domain; truth.input_width()])?;
    // Parameters with the error of many answers are still equal up to rounding.
    let size = options.domain.0.abs().max(options.domain.1.abs());
    let tolerance = 1e-6f64.max(1e6 * extraction.noise * (1.0 + size));
    let asked = EquivalenceOptions::new()
        .tolerance(tolerance)
        .deadline(options.deadline.at_most(LONGEST))
        .seed(options.seed);
    let decision = decide(truth, found, &domain, &asked).ok()?;
    let bound = match &decision.verdict {
        Verdict::Equivalent { .. } => Some(0.0),
        Verdict::EquivalentUpToRounding { agreement, .. } => agreement.bound().map(decimal::upper_f64),
        Verdict::Different { .. } | Verdict::Undecided { .. } => None,
    };
    Some((name(&decision.verdict).into(), bound))
}
