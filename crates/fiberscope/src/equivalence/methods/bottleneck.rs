//! Two hidden layers, the first weights of full row rank, on all of `R^n` (module [`bottleneck`]).

use fiberscope_algebra::{never, rank};
use fiberscope_core::{Activation, Domain, Evidence, ExactNetwork, Rational};

use crate::equivalence::bottleneck::{self, Finding};
use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};
use crate::equivalence::verdict::Method;

/// Compares the first layers, then the rest on the orthant.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    let (a, b) = question.reduced()?;
    let both = [&a.network, &b.network];
    if *question.domain != Domain::Space || !both.into_iter().all(is_bottleneck) {
        return Ok(Step::Nothing);
    }
    let (seed, deadline) = (question.options.seed, question.deadline());
    Ok(match bottleneck::compare(&a.network, &b.network, seed, deadline) {
        Finding::Equal { a: more_a, b: more_b } => {
            let (a, b) = (a.moves.clone().compose(more_a), b.moves.clone().compose(more_b));
            Step::of(question.equal(Evidence::Hyperplanes { a, b, prefix: 1 }, Method::Bottleneck))
        }
        Finding::Different(x) => question.refined([x]),
        Finding::Nothing => Step::Nothing,
    })
}

/// Whether the network has two hidden ReLU layers and its first weight has full row rank.
fn is_bottleneck(network: &ExactNetwork) -> bool {
    let layers = network.hidden_layers();
    let relu = layers.len() == 2 && layers.iter().all(|layer| layer.activation() == Activation::Relu);
    let first = network.layers()[0].weight();
    relu && first.rows() <= first.cols()
        && rank::rank(&first.map(Rational::to_f64), &never).lower == first.rows()
}
