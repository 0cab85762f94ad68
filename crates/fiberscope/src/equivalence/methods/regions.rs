//! All joint linear regions of the reduced networks (module [`regions`]).

use fiberscope_core::Evidence;

use crate::equivalence::first;
use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step, Unproved};
use crate::equivalence::regions::{self, SearchLimits, SearchOutcome, SearchProgress, SearchState};
use crate::equivalence::verdict::{Method, Verdict};

/// Searches, or goes on with a search. The first search leaves what residues and doubles say to the checker;
/// where they were wrong, which it says, everything is searched again and proved on the way.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    let (a, b) = question.reduced()?;
    let limits = SearchLimits { deadline: question.deadline().clone(), leaves: None };
    let (net_a, net_b, domain) = (&a.network, &b.network, question.domain);
    let progress = |now: SearchProgress| question.options.progress.report(now);
    let outcome = match question.options.resume.clone() {
        Some(state) => regions::resume(net_a, net_b, domain, state, &limits, &progress)?,
        None => regions::propose(net_a, net_b, domain, &limits, &progress)?,
    };
    match answer(question, outcome) {
        Err(EquivalenceError::Refused(_)) => {
            answer(question, regions::search(net_a, net_b, domain, &limits, &progress)?)
        }
        answer => answer,
    }
}

/// What a search found, proved.
fn answer(question: &Question, outcome: SearchOutcome) -> Result<Step, EquivalenceError> {
    let (a, b) = question.reduced()?;
    let (net_a, net_b, domain) = (&a.network, &b.network, question.domain);
    let stopped = |explored: f64, leaves: u64, state: SearchState| {
        let state = state.named(question.names.0.sha256, question.names.1.sha256);
        question.undecided((explored, leaves), Some(Box::new(state)), Method::Regions)
    };
    let decision = match outcome {
        SearchOutcome::Equal { tree, leaves } => {
            let evidence = Evidence::Regions { a: a.moves.clone(), b: b.moves.clone(), prefix: 0, tree };
            match question.proved(evidence) {
                Ok(certificate) => question.decision(Verdict::Equivalent { certificate }, Method::Regions),
                Err(Unproved::Refused(refusal)) => return Err(EquivalenceError::Refused(refusal)),
                Err(Unproved::Stopped(Evidence::Regions { tree, .. })) => {
                    stopped(1.0, leaves, SearchState::finished((net_a, net_b, domain), tree))
                }
                Err(Unproved::Stopped(_)) => return Ok(Step::Nothing),
            }
        }
        SearchOutcome::Different { x } => {
            let found = first::compare(question.networks(), &x).filter(|_| domain.contains(&x));
            let rule = "the networks have the same outputs at the point, or it lies outside the domain";
            return match found {
                Some(found) => Ok(Step::Refined(vec![found])),
                None => Err(EquivalenceError::no_witness(rule)),
            };
        }
        SearchOutcome::Undecided { explored, leaves, state } => stopped(explored, leaves, state),
        SearchOutcome::TooLarge => question.undecided((0.0, 0), None, Method::TooLarge),
    };
    Ok(Step::Decided(Box::new(decision)))
}
