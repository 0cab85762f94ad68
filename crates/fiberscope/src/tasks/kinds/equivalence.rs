//! Whether two networks are equal: the search over joint linear regions, stretch by stretch of its tree.
//!
//! All other methods are tried when the plan is made. If one of them decides, there is nothing to search.

use std::sync::OnceLock;

use fiberscope_core::{Domain, ExactNetwork, Network, Rational};
use serde::{Deserialize, Serialize};

use crate::equivalence::regions::{SearchLimits, SearchOutcome, SearchState, resume};
use crate::equivalence::{Decision, EquivalenceOptions, Method, Verdict, decide, reduced};
use crate::limit::Deadline;
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Known, Means, Merging, Question, Worked};

use super::two_networks;

/// Do two networks compute the same function?
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EquivalenceQuestion {
    domain: Domain,
    exact: bool,
    tolerance: Option<f64>,
    precision: Option<f64>,
    seed: u64,
    data: Vec<Vec<Rational>>,
    methods: Vec<String>,
    /// Whether a method that is no search over regions decides.
    settled: bool,
    #[serde(skip)]
    reduced: OnceLock<(ExactNetwork, ExactNetwork)>,
}

/// A piece of the search.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegionsPiece {
    /// The whole, to be cut into about so many pieces.
    Whole(usize),
    /// Open nodes.
    Open(SearchState),
}

/// What became of a piece.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegionsPart {
    /// Nothing is to be searched: another method decides, or the networks are too large for a search.
    Nothing,
    /// Nodes that are finished, and those that are left.
    Searched(SearchState),
    /// The networks differ there.
    Different(Vec<Rational>),
}

/// The most pieces that are handed back.
const LEFT: usize = 16;

impl EquivalenceQuestion {
    /// The question of [`decide`] with these options: tries all methods but the search over regions.
    pub fn new(
        a: &Network,
        b: &Network,
        domain: &Domain,
        options: &EquivalenceOptions,
    ) -> Result<Self, TaskError> {
        let mut question = EquivalenceQuestion {
            domain: domain.clone(),
            exact: options.exact,
            tolerance: options.tolerance,
            precision: options.precision,
            seed: options.seed,
            data: options.data.clone(),
            methods: options.methods.iter().map(|method| method.word().to_owned()).collect(),
            settled: false,
            reduced: OnceLock::new(),
        };
        let searched = options.methods.contains(&Method::Regions);
        let others = options.clone().without(Method::Regions);
        let decision = decide(a, b, domain, &others)?;
        question.settled = !searched || !matches!(decision.verdict, Verdict::Undecided { .. });
        Ok(question)
    }

    fn options(&self, deadline: &Deadline) -> Result<EquivalenceOptions<'static>, TaskError> {
        let methods: Result<Vec<Method>, _> = self.methods.iter().map(|name| name.parse()).collect();
        let methods = methods.map_err(|error| TaskError::Damaged(error.to_string()))?;
        Ok(EquivalenceOptions::new()
            .exact(self.exact)
            .tolerance(self.tolerance)
            .precision(self.precision)
            .data(self.data.clone())
            .seed(self.seed)
            .deadline(deadline.clone())
            .only(methods))
    }

    fn networks(&self, networks: &[Network]) -> Result<&(ExactNetwork, ExactNetwork), TaskError> {
        if let Some(reduced) = self.reduced.get() {
            return Ok(reduced);
        }
        let (a, b) = two_networks(networks)?;
        let (a, b) = reduced(a, b, &self.domain, &Deadline::NEVER)?;
        Ok(self.reduced.get_or_init(|| (a.network, b.network)))
    }
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        Answer::Equivalence(Box::new(decision))
    }
}

impl Question for EquivalenceQuestion {
    const KIND: &'static str = "equivalence";
    type Piece = RegionsPiece;
    type Part = RegionsPart;
    type Answer = Decision;

    fn whole(&self, _: &[Network], pieces: usize) -> Result<RegionsPiece, TaskError> {
        Ok(RegionsPiece::Whole(pieces))
    }

    fn work(
        &self,
        networks: &[Network],
        piece: &RegionsPiece,
        Means { deadline, .. }: &Means,
    ) -> Result<Worked<Self>, TaskError> {
        if self.settled {
            return Ok(Worked { part: RegionsPart::Nothing, left: Vec::new() });
        }
        let (a, b) = self.networks(networks)?;
        let question = (a, b, &self.domain);
        let (start, most) = match piece {
            RegionsPiece::Whole(pieces) => (SearchState::whole(question), 2 * pieces),
            RegionsPiece::Open(state) => (state.clone(), LEFT),
        };
        let go_on = |state: SearchState, deadline: Deadline, leaves: Option<u64>| {
            let limits = SearchLimits { deadline, leaves };
            resume(a, b, &self.domain, state, &limits, &|_| ())
                .map_err(crate::equivalence::EquivalenceError::from)
        };
        // A piece that is cut is searched until there are leaves enough; any other one until at least one of its leaves is finished.
        let first = start.leaves() + if let RegionsPiece::Whole(pieces) = piece { *pieces as u64 } else { 1 };
        let mut outcome = go_on(start, deadline.endless(), Some(first))?;
        if deadline.endless().is_past() {
            return Err(TaskError::Stopped);
        }
        if let (SearchOutcome::Undecided { state, .. }, RegionsPiece::Open(_)) = (&outcome, piece)
            && !deadline.is_past()
        {
            outcome = go_on(state.clone(), deadline.clone(), None)?;
        }
        let part = match outcome {
            SearchOutcome::Equal { tree, .. } => SearchState::finished(question, tree),
            SearchOutcome::Undecided { state, .. } => state,
            SearchOutcome::Different { x } => {
                return Ok(Worked { part: RegionsPart::Different(x), left: Vec::new() });
            }
            SearchOutcome::TooLarge => return Ok(Worked { part: RegionsPart::Nothing, left: Vec::new() }),
        };
        let left = part.pieces(most).into_iter().map(RegionsPiece::Open).collect();
        Ok(Worked { part: RegionsPart::Searched(part), left })
    }

    fn merge(
        &self,
        networks: &[Network],
        known: &Known<'_, Self>,
        deadline: &Deadline,
    ) -> Result<Merging<Self>, TaskError> {
        let (a, b) = two_networks(networks)?;
        let options = self.options(deadline)?;
        let gathered = known.gather_all()?;
        let different = gathered.parts.iter().find_map(|(part, _)| match part {
            RegionsPart::Different(x) => Some(x.clone()),
            _ => None,
        });
        let nothing = gathered.parts.iter().any(|(part, _)| matches!(part, RegionsPart::Nothing));
        if !known.wanted && (different.is_some() || nothing || gathered.missing.is_empty()) {
            return Ok(Merging::Known);
        }
        let decision = if let Some(x) = different {
            let mut data = self.data.clone();
            data.insert(0, x);
            decide(a, b, &self.domain, &options.without(Method::Regions).data(data))?
        } else if nothing {
            // Either another method decides, or the search says that the networks are too large for it.
            decide(a, b, &self.domain, &options)?
        } else if gathered.missing.is_empty() {
            let state = gathered.fold(|part, left| match part {
                RegionsPart::Searched(state) => {
                    Ok(state.clone().with(left).map_err(crate::equivalence::EquivalenceError::from)?)
                }
                _ => Err(TaskError::Damaged("a part is no part of a search".into())),
            })?;
            decide(a, b, &self.domain, &options.only([Method::Regions]).resume(state))?
        } else {
            return Ok(Merging::Missing(gathered.missing));
        };
        Ok(Merging::Answer(Box::new(decision)))
    }
}
