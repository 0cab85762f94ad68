//! An extraction of a network that is known, beside it.

use fiberscope_core::Network;
use serde::{Deserialize, Serialize};

use super::{ExtractError, ExtractOptions, ExtractOutcome, NetworkOracle, compare, extract};

/// What became of the extraction of a known network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ExtractTrial {
    /// Queries that were asked.
    pub queries: u64,
    /// Whether the extraction called its network verified.
    pub verified: bool,
    /// Why it did not.
    pub reason: Option<String>,
    /// The largest error of a parameter, if the widths are those of the truth.
    pub error: Option<f64>,
    /// Whether it said that its network is one of many with the same function.
    pub undetermined: bool,
}

/// Extracts a network from its own answers and compares it with the truth; `None` if the deadline came first.
///
/// ```
/// use fiberscope::Network;
/// use fiberscope::extract::{ExtractOptions, extract_trial};
///
/// let truth = Network::from_rows(&[
///     (&[&[1.0, 0.5], &[-1.0, 2.0]], &[0.1, 0.2]),
///     (&[&[1.0, -1.0]], &[0.0]),
/// ])?;
/// let trial = extract_trial(&truth, &ExtractOptions::new())?.expect("there is no deadline");
/// assert!(trial.queries > 0 && trial.verified == trial.reason.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn extract_trial(
    truth: &Network,
    options: &ExtractOptions,
) -> Result<Option<ExtractTrial>, ExtractError> {
    let found = extract(&mut NetworkOracle::new(truth.clone()), options)?;
    if found.stopped {
        return Ok(None);
    }
    let error = found.network.as_ref().and_then(|network| compare(truth, network)).map(|c| c.max_error);
    let reason = match found.outcome {
        ExtractOutcome::Verified => None,
        ExtractOutcome::Partial { reason, .. } | ExtractOutcome::Failed { reason } => Some(reason),
    };
    let undetermined = !found.undetermined.is_empty();
    Ok(Some(ExtractTrial { queries: found.queries, verified: reason.is_none(), reason, error, undetermined }))
}
