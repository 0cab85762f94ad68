//! Functions of one variable, at any depth ([`fiberscope_check::compare_on_line`]).

use fiberscope_check::{LineOutcome, compare_on_line};
use fiberscope_core::Evidence;

use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};
use crate::equivalence::verdict::Method;

/// Walks over the breakpoints of both reduced networks.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    let (a, b) = question.reduced()?;
    let stop = || question.deadline().is_past();
    Ok(match compare_on_line(&a.network, &b.network, question.domain, &stop) {
        Some(LineOutcome::Equal(breakpoints)) => {
            let evidence = Evidence::Line { a: a.moves.clone(), b: b.moves.clone(), breakpoints };
            Step::of(question.equal(evidence, Method::Breakpoints))
        }
        Some(LineOutcome::Different(x)) => question.refined([x]),
        Some(LineOutcome::Stopped) | None => Step::Nothing,
    })
}
