//! The search for folds, as the command and the Python package ask for it.

use std::sync::Arc;

use fiberscope::complex::{
    ComplexError, ComplexOptions, FoldPaths, MaskedRanks, MissingCondition, Transparency,
    TransparencyOptions, WidthCondition, exact_region_bound,
};
use fiberscope::limit::LimitReached;
use fiberscope_core::{Domain, Network};
use serde_json::{Value, json};

use super::{FoldAnswer, Matched, by_parameters, opaque_at, points_json, relabelling};
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

/// The most inputs of a box whose cells are listed.
const BOX: usize = 8;

impl FoldsQuestion {
    /// Whether the box has too many faces, whatever the network.
    fn is_hopeless(&self) -> bool {
        self.view.domain != Domain::Space && self.view.network.input_width() > BOX
    }
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
///
/// Half of the time is for the cells; what needs no cells is asked for in the other half.
pub fn folds(question: &FoldsQuestion, say: Say, know: Say) -> anyhow::Result<FoldsAnswer> {
    let FoldsQuestion { view, other, limits } = question;
    let deadline = &limits.deadline;
    let is_hopeless = question.is_hopeless();
    let half = deadline.left().map_or_else(|| deadline.clone(), |left| deadline.at_most(left / 2));
    let listed = || listed(question, &limits.clone().deadline(half.clone()), say, know);
    let found = match if is_hopeless { Ok(FoldsAnswer::Stopped) } else { listed() } {
        Err(error) if is_too_large(&error) && !deadline.is_past() => FoldsAnswer::Stopped,
        found => found?,
    };
    Ok(match (found, other) {
        (FoldsAnswer::Stopped, Some(other)) => {
            let reason = "the cells are too many to be listed".to_owned();
            FoldsAnswer::Matched(by_parameters([&view.network, other], reason, deadline)?)
        }
        (found, _) => found,
    })
}

fn listed(
    question: &FoldsQuestion,
    limits: &ComplexOptions,
    say: Say,
    know: Say,
) -> anyhow::Result<FoldsAnswer> {
    let FoldsQuestion { view, other, .. } = question;
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

/// Whether an error says no more than that the complex is too large.
fn is_too_large(error: &anyhow::Error) -> bool {
    error.is::<LimitReached>() || matches!(error.downcast_ref(), Some(ComplexError::TooManyDimensions { .. }))
}

/// What is known where the cells are too many to be listed: linear programs may tell whether the network is
/// transparent, and whether its folds have the paths that identify it.
pub struct StoppedFolds {
    pub(super) network: Arc<Network>,
    /// Why the cells are not listed, as a sentence.
    pub(super) reason: String,
    pub(super) transparency: Transparency,
    /// Why there is no theorem for the widths.
    pub(super) missing: Option<WidthCondition>,
    /// The points that prove the paths, where the widths are those of the theorem.
    pub(super) paths: Option<FoldPaths>,
    /// Whether it is proved to be general, as one hidden layer allows without regions.
    pub(super) is_general: bool,
}

impl StoppedFolds {
    /// Asks the linear programs.
    pub fn new(question: &FoldsQuestion) -> anyhow::Result<Self> {
        let FoldsQuestion { view, limits, .. } = question;
        let programs = TransparencyOptions::new().deadline(limits.deadline.clone());
        let transparency = Transparency::new(&view.network, &view.domain, &programs)?;
        let network = Arc::clone(&view.network);
        let reason = match (question.is_hopeless(), limits.regions) {
            (true, _) => format!("a box of {} inputs has too many faces", network.input_width()),
            (false, Some(most)) => format!("more than {most} regions, or out of time"),
            (false, None) => "out of time".to_owned(),
        };
        let missing = WidthCondition::missing(&network.widths());
        let is_asked = missing.is_none() && transparency.is_transparent() == Some(true);
        let paths = is_asked.then(|| FoldPaths::find(&network.to_exact(), &view.domain, &limits.deadline));
        let is_general = match network.hidden_depth() {
            1 => {
                let ranks = MaskedRanks::new(&network, limits.seed, &limits.deadline)?;
                ranks.is_complete && ranks.deficient == 0
            }
            _ => false,
        };
        Ok(StoppedFolds { network, reason, transparency, missing, paths, is_general })
    }

    /// Whether all conditions of the theorem hold.
    pub fn is_certified(&self) -> bool {
        self.is_general && self.is_identifiable_if_general()
    }

    /// Whether all conditions of the theorem hold but that the network is general, which may not be known.
    pub fn is_identifiable_if_general(&self) -> bool {
        self.paths.as_ref().is_some_and(FoldPaths::is_complete)
    }

    /// A condition of the theorem that fails for certain.
    pub fn missing(&self) -> Option<MissingCondition> {
        let is_opaque = self.transparency.opaque().is_some();
        self.missing.map(MissingCondition::Widths).or(is_opaque.then_some(MissingCondition::Transparent))
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
            "linear_programs": self.transparency.programs + self.paths.as_ref().map_or(0, |p| p.programs),
            "general": self.is_general.then_some(true),
            "certified_identifiable": self.is_certified().then_some(true).or(self.missing().map(|_| false)),
            "identifiable_if_general": self.is_identifiable_if_general().then_some(true),
            "reason": self.missing().map(|missing| missing.to_string()),
            "paths": self.paths.as_ref().map(points_json),
            "estimate": upper(&exact_region_bound(&self.network)),
        })
    }
}
