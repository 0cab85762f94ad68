//! Three layers with a bottleneck: complete for generic parameters, sound for all.
//!
//! Let `W_1` of both networks have full row rank, so that `x -> relu(W_1 x + b_1)` is onto the orthant. After
//! reduction and with hidden hyperplanes at their fixed place, equal functions of generic parameters have
//! the same first layer up to permutation and scaling [threelayer2026, Section 6]. If the first layers match,
//! the rest is compared on the orthant by hyperplane representations, which decides. If not, the mismatch is
//! turned into a witness (module `witness`).

mod witness;

use fiberscope_core::{Domain, ExactNetwork, Interval, MoveChain, Rational};

use super::solve::Preimage;
use super::tail::{Tail, difference_points};
use crate::canonical::hidden;
use crate::limit::Deadline;
use crate::orbit::match_rows;

/// What the procedure found.
pub enum Finding {
    /// The networks are equal: after these moves, the first layers are equal and the rest has equal
    /// hyperplane representations.
    Equal {
        /// Moves on the first network.
        a: MoveChain,
        /// Moves on the second network.
        b: MoveChain,
    },
    /// The networks differ at this input.
    Different(Vec<Rational>),
    /// The parameters are not generic, or the time is up.
    Nothing,
}

/// Compares two reduced networks with two hidden ReLU layers and first weights of full row rank on
/// all of `R^n`.
pub fn compare(a: &ExactNetwork, b: &ExactNetwork, seed: u64, deadline: &Deadline) -> Finding {
    let (mut a, mut b) = (a.clone(), b.clone());
    let moves_a = fix_hidden(&mut a);
    let mut moves_b = fix_hidden(&mut b);
    let Some(matched) = match_rows(&a.layers()[0], &b.layers()[0], &Deadline::NEVER) else {
        return witness::find(&a, &b, deadline).map_or(Finding::Nothing, Finding::Different);
    };
    moves_b = moves_b.compose(matched.apply(&mut b, 0));
    let orthant = vec![Interval { lower: Some(Rational::ZERO), upper: None }; a.layers()[0].width()];
    match difference_points(&Tail::of(&a), &Tail::of(&b), &orthant, seed) {
        None => Finding::Equal { a: moves_a, b: moves_b },
        Some(activations) => {
            let x = preimages(&a, &activations)
                .take_while(|_| !deadline.is_past())
                .find(|x| witness::differ(&a, &b, x))
                .or_else(|| witness::find(&a, &b, deadline));
            x.map_or(Finding::Nothing, Finding::Different)
        }
    }
}

/// Brings a hidden hyperplane of layer 1 to its fixed place.
fn fix_hidden(network: &mut ExactNetwork) -> MoveChain {
    let moves = MoveChain::from(hidden::normalize(network, 0));
    moves.apply(network, &Domain::Space).expect("layer 2 hides the neuron");
    moves
}

/// Inputs of the network whose first-layer pre-activations are the given ones, in floats and then
/// exactly.
fn preimages<'a>(
    network: &'a ExactNetwork,
    wanted: &'a [Vec<Rational>],
) -> impl Iterator<Item = Vec<Rational>> + 'a {
    [false, true].into_iter().flat_map(|exact| {
        let preimage = Preimage::new(&network.layers()[0]);
        let solve = move |z: &Vec<Rational>| {
            let preimage = preimage.as_ref()?;
            if exact { preimage.exact(z) } else { preimage.approximate(z) }
        };
        wanted.iter().filter_map(solve)
    })
}
