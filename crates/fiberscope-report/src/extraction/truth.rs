//! A recovered network against the true one.

use std::time::Duration;

use fiberscope::check::{Checker, Outcome};
use fiberscope::difference::{DifferenceOptions, measure};
use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::extract::{self, Comparison, ExtractOptions, Extraction};
use fiberscope_core::{Domain, Network, Rational, decimal};

use crate::equivalence::name;
use crate::words::joined;

/// The exact comparison is given up after so long, unless the time is up before.
const LONGEST: Duration = Duration::from_secs(60);

/// The search for a bound on top of the verdict takes no longer.
const SHORT: Duration = Duration::from_secs(10);

/// A recovered network against the true one.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The errors of the parameters after alignment, or why the two cannot be aligned.
    pub aligned: Result<Comparison, String>,
    /// The verdict of the exact comparison on the domain, and a proved bound of the difference there.
    pub equiv: Option<(&'static str, Option<f64>)>,
}

impl Truth {
    /// The largest error of every layer, output included; empty if the two cannot be aligned.
    pub(super) fn layer_errors(&self) -> &[f64] {
        self.aligned.as_ref().map_or(&[], |aligned| &aligned.layers)
    }
}

/// Aligns the recovered network with the truth and compares the two on the domain.
pub fn compare(truth: &Network, found: &Network, extraction: &Extraction, options: &ExtractOptions) -> Truth {
    Truth { aligned: align(truth, found), equiv: on_domain(truth, found, extraction, options) }
}

/// The errors of all layers, or why there are none.
pub fn align(truth: &Network, found: &Network) -> Result<Comparison, String> {
    extract::compare(truth, found).ok_or_else(|| other_widths(truth, found))
}

/// The same for a network from classes.
pub fn align_labels(truth: &Network, found: &Network) -> Result<Comparison, String> {
    extract::compare_labels(truth, found).ok_or_else(|| other_widths(truth, found))
}

fn other_widths(truth: &Network, found: &Network) -> String {
    let (truth, found) = (joined(&truth.widths(), "-"), joined(&found.widths(), "-"));
    format!("the truth has widths {truth}, the network {found}")
}

/// The verdict of the exact comparison and the bound it proves.
fn on_domain(
    truth: &Network,
    found: &Network,
    extraction: &Extraction,
    options: &ExtractOptions,
) -> Option<(&'static str, Option<f64>)> {
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
        Verdict::Equivalent { .. } => Some(Rational::ZERO),
        Verdict::EquivalentUpToRounding { agreement, .. } => agreement.bound().cloned(),
        Verdict::Different { .. } | Verdict::Undecided { .. } => at_most(truth, found, &domain, options),
    };
    Some((name(&decision.verdict), bound.as_ref().map(decimal::upper_f64)))
}

/// The bound that a short search proves, however far apart the networks are; the checker has accepted it.
fn at_most(truth: &Network, found: &Network, domain: &Domain, options: &ExtractOptions) -> Option<Rational> {
    let deadline = options.deadline.at_most(SHORT);
    let asked = DifferenceOptions::new().deadline(deadline).seed(options.seed);
    let apart = measure(truth, found, domain, &asked).ok()?;
    let proved = Checker::new(truth, found).stop(&|| options.deadline.is_past()).check(&apart.certificate?);
    apart.upper.filter(|_| matches!(proved, Outcome::Proved(_)))
}
