//! A first look at a few points.

use std::ops::ControlFlow;

use crate::equivalence::first;
use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};
use crate::equivalence::settle::suffices;
use crate::equivalence::verdict::{Difference, Method};

/// Evaluates both networks at a few points. The first difference that is enough answers.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    let (data, seed) = (&question.options.data, question.options.seed);
    let enough = |difference: &Difference| suffices(question, difference);
    Ok(match first::look(question.networks(), question.domain, data, seed, &enough) {
        ControlFlow::Continue(found) => Step::Refined(found),
        ControlFlow::Break(found) => match question.different(found.clone(), Method::Evaluation) {
            Some(decision) => Step::Decided(Box::new(decision)),
            None => Step::Refined(vec![found]),
        },
    })
}
