//! The search for folds, as the command and the Python package ask for it.

use std::sync::Arc;

use fiberscope::complex::{
    ComplexError, ComplexOptions, Transparency, TransparencyOptions, exact_region_bound,
};
use fiberscope_core::Network;
use serde_json::{Value, json};

use super::{FoldAnswer, Matched, opaque_at, relabelling};
use crate::Say;
use crate::json::upper;
use crate::regions::{ComplexView, build};

/// What is asked of the folds.
#[derive(Clone, Debug)]
pub struct FoldsQuestion {
    /// The network and the domain.
    pub view: ComplexView,
    /// A network that may be the first one, relabelled.
    pub other: Option<Arc<Network>>,
    /// When to stop, and the seed of random masks.
    pub limits: ComplexOptions<'static>,
}

/// What the folds say.
pub enum FoldsAnswer {
    /// The fold-set.
    Folds(Box<FoldAnswer>),
    /// Whether the other network is the first one, relabelled.
    Matched(Matched),
    /// A limit came before the last cell.
    Stopped,
}

/// Lists the cells and reads the folds off them. Sentences that are true whatever happens next go to `know`.
pub fn folds(question: &FoldsQuestion, say: Say, know: Say) -> anyhow::Result<FoldsAnswer> {
    let FoldsQuestion { view, other, limits } = question;
    let Some((complex, breakpoints)) = build(view, limits, say, know)? else {
        return Ok(FoldsAnswer::Stopped);
    };
    let network = &*view.network;
    Ok(match other {
        Some(other) => {
            FoldsAnswer::Matched(relabelling(&complex, &breakpoints, [network, other], &limits.deadline)?)
        }
        None => {
            let found = FoldAnswer::new(network, &complex, &breakpoints, limits)?;
            FoldsAnswer::Folds(Box::new(found))
        }
    })
}

/// What is known where the cells are too many to be listed: linear programs may tell whether the network is
/// transparent.
pub struct StoppedFolds {
    pub(super) network: Arc<Network>,
    pub(super) most: u64,
    pub(super) transparency: Transparency,
}

impl StoppedFolds {
    /// Asks the linear programs.
    pub fn new(question: &FoldsQuestion) -> Result<Self, ComplexError> {
        let FoldsQuestion { view, limits, .. } = question;
        let programs = TransparencyOptions::new().deadline(limits.deadline.clone());
        let transparency = Transparency::new(&view.network, &view.domain, &programs)?;
        let (network, most) = (Arc::clone(&view.network), limits.regions.unwrap_or(u64::MAX));
        Ok(StoppedFolds { network, most, transparency })
    }

    /// The facts with the keys of `fiberscope folds --json`.
    pub fn to_json(&self) -> Value {
        let unknown: Vec<usize> = self.transparency.unknown().iter().map(|l| l + 1).collect();
        json!({
            "order": null,
            "pieces": null,
            "edges": null,
            "transparent": self.transparency.is_transparent(),
            "opaque_at": self.transparency.opaque().map(|(layer, x)| opaque_at(layer, x)),
            "unknown_layers": unknown,
            "linear_programs": self.transparency.programs,
            "general": null,
            "certified_identifiable": null,
            "estimate": upper(&exact_region_bound(&self.network)),
        })
    }
}
