//! What is behind equal first layers.
//!
//! Where the first layers match, the networks are one map followed by two tails. Interval arithmetic gives a box that
//! holds all values of that map; tails that are equal on the box make equal networks. Neurons of a deep layer that are
//! wired up in another way are affine functions of the layer before, so that a few splits decide what takes all cells
//! of the first layers when it is asked on the inputs. The box is larger than what is computed, and often more
//! dimensional: tails that differ there prove nothing, and other methods go on.

use fiberscope_core::{Domain, Evidence, ExactNetwork, MoveChain, Network};

use crate::equivalence::options::EquivalenceError;
use crate::equivalence::question::{Question, Step};
use crate::equivalence::regions::{self, SearchLimits, SearchOutcome};
use crate::equivalence::verdict::Method;
use crate::orbit::match_layers;
use crate::reduce::Reduction;

/// The most leaves of a tree. Where more are needed, the tails are equal for reasons that lie before them.
const LEAVES: u64 = 1 << 9;

/// The part of the time that is left which a search may take.
const SHARE: u32 = 4;

/// Compares the tails behind as many layers as match, then behind fewer, of the reduced networks and, if the reduction
/// has left no layer that matches, of those that are given.
pub fn run(question: &Question) -> Result<Step, EquivalenceError> {
    if question.known.is_some() || question.options.resume.is_some() {
        return Ok(Step::Nothing);
    }
    let (a, b) = question.reduced()?;
    let Some(matching) = question.matched()? else { return Ok(Step::Nothing) };
    if matching.prefix > 0 {
        let moves = b.moves.clone().compose(matching.moves.clone());
        return compare(question, a, (&matching.network, &moves), matching.prefix);
    }
    if a.moves.is_empty() && b.moves.is_empty() {
        return Ok(Step::Nothing);
    }
    let given = |network: &Network| Reduction { network: network.to_exact(), moves: MoveChain::default() };
    let [a, b] = [question.a, question.b].map(given);
    match match_layers(&a.network, &b.network, question.deadline()) {
        Some(found) => compare(question, &a, (&found.network, &found.moves), found.prefix),
        None => Ok(Step::Nothing),
    }
}

fn compare(
    question: &Question,
    a: &Reduction,
    (b, moves): (&ExactNetwork, &MoveChain),
    prefix: usize,
) -> Result<Step, EquivalenceError> {
    let most = prefix.min(a.network.hidden_depth()).min(b.hidden_depth());
    for prefix in (1..=most).rev() {
        let deadline = question.deadline();
        if deadline.is_past() {
            break;
        }
        let share = deadline.left().map_or_else(|| deadline.clone(), |left| deadline.at_most(left / SHARE));
        let limits = SearchLimits { deadline: share, leaves: Some(LEAVES) };
        let Some(sides) = a.network.activation_ranges(question.domain).nth(prefix) else { break };
        let Some([tail_a, tail_b]) = tails(&a.network, b, prefix) else { break };
        let found = regions::propose(&tail_a, &tail_b, &Domain::Box(sides), &limits, &|_| ())?;
        if let SearchOutcome::Equal { tree, .. } = found {
            let evidence = Evidence::Regions { a: a.moves.clone(), b: moves.clone(), prefix, tree };
            if let Some(decision) = question.equal(evidence, Method::Tails) {
                return Ok(Step::Decided(Box::new(decision)));
            }
        }
    }
    Ok(Step::Nothing)
}

/// The layers of both networks behind the first ones.
fn tails(a: &ExactNetwork, b: &ExactNetwork, prefix: usize) -> Option<[ExactNetwork; 2]> {
    let tail = |network: &ExactNetwork| Network::new(network.layers()[prefix..].to_vec()).ok();
    Some([tail(a)?, tail(b)?])
}
