//! Do two networks compute the same function?
//!
//! A question goes through the methods of [`METHODS`] in turn: cheap proofs come first, then attempts to
//! refute, then the complete search. A method answers, or refines the question by a point where the networks
//! differ (module `settle` says what that means), or finds nothing. What agreement up to rounding is, says
//! module `agreement`; with a tolerance the question is another one: do the outputs differ by at most that
//! much?
//!
//! Every answer but "undecided" carries a certificate, which the checker has accepted before it is given:
//! no verdict rests on the code here. Deciding is coNP-hard in general [threelayer2026, Section 6], so that a
//! limit may be reached first.

mod agreement;
mod apart;
mod bottleneck;
pub mod falsify;
mod first;
mod methods;
mod options;
mod question;
pub mod regions;
mod residues;
mod settle;
pub(crate) mod solve;
mod tail;
mod verdict;

use fiberscope_core::{Domain, Network};

pub use crate::rounding::coarser_precision;

pub(crate) use question::reduced;
use question::{Question, Step};
use settle::settle;

pub use methods::{METHODS, Procedure};
pub use options::{EquivalenceError, EquivalenceOptions};
pub use verdict::{Agreement, Decision, Difference, Method, UnknownMethod, Verdict};

/// Decides whether two networks compute the same function on a domain.
///
/// ```
/// use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
/// use fiberscope::{Domain, Network};
///
/// let a = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
/// let b = Network::from_rows(&[(&[&[-1.0], &[1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
/// let decision = decide(&a, &b, &Domain::Space, &EquivalenceOptions::new())?;
/// assert!(matches!(decision.verdict, Verdict::Equivalent { .. }));
/// # Ok::<(), fiberscope::equivalence::EquivalenceError>(())
/// ```
pub fn decide(
    a: &Network,
    b: &Network,
    domain: &Domain,
    options: &EquivalenceOptions,
) -> Result<Decision, EquivalenceError> {
    let mut question = Question::new((a, b), domain, options)?;
    let large = question.is_large();
    let mut left_out = false;
    for procedure in METHODS.iter().filter(|procedure| options.methods.contains(&procedure.method)) {
        if options.deadline.is_past() {
            break;
        }
        if large && procedure.needs_dense {
            left_out = true;
            continue;
        }
        match (procedure.run)(&question)? {
            Step::Decided(decision) => return Ok(*decision),
            Step::Refined(differences) => {
                differences.into_iter().for_each(|found| question.learn(found, procedure.method));
                if let Some(decision) = settle(&mut question) {
                    return Ok(decision);
                }
            }
            Step::Nothing => {}
        }
    }
    if question.known.is_some() {
        return Err(EquivalenceError::no_witness("the values at the point were not confirmed"));
    }
    let state = options.resume.clone().map(Box::new);
    let cells = state.as_ref().map_or(0, |state| state.leaves());
    let method = if left_out { Method::TooLarge } else { Method::None };
    Ok(question.undecided((0.0, cells), state, method))
}
