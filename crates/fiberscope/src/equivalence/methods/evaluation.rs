//! A first look at a few points.

use crate::equivalence::first;
use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};
use crate::equivalence::settle::suffices;
use crate::equivalence::verdict::{Difference, Method};

/// Evaluates both networks at a few points. The first difference that is enough answers.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    let (data, seed) = (&question.options.data, question.options.seed);
    let enough = |found: &Difference| suffices(question, found);
    let found = first::look(question.networks(), question.domain, data, seed, enough);
    let enough = found.iter().find(|found| suffices(question, found)).cloned();
    let decision = enough.and_then(|found| question.different(found, Method::Evaluation));
    Ok(decision.map_or(Step::Refined(found), |decision| Step::Decided(Box::new(decision))))
}
