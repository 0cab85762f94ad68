//! The orbit of a network under permutations and positive scalings of its hidden neurons.
//!
//! Let `g = D P` with a permutation matrix `P` and a diagonal matrix `D > 0`. Replacing `(W_l, b_l, W_{l+1})`
//! by `(g W_l, g b_l, W_{l+1} g^{-1})` keeps the function if layer `l` is a ReLU layer (and, for every
//! invertible `D`, if it has identity activation) [rolnick2020reverse, Lemma 1]. The products of these groups
//! over the hidden layers act on the parameters; an element is a *relabelling*, the parameters that
//! relabellings make of `theta` are its *orbit*. For some networks of every non-increasing architecture the
//! orbit is the whole fiber [phuong2020functional, Theorem 1].
//!
//! Is `A` in the orbit of `B`? Layer by layer from the first: with the columns ordered and scaled as the
//! layer before demands, each row `(w, b)` of `A` must be a positive multiple of one of `B`, its *partner*,
//! each of these once. Where no two rows of a layer lie on one ray there is at most one relabelling, and this
//! finds it. The algorithms differ in what they compare:
//!
//! - [`find`] (all layers), [`match_layers`] (as many as match), [`match_rows`], [`partners`]: rationals,
//!   exactly. Rows with the same line modulo a prime ([`lines`]) are compared.
//! - [`propose`]: doubles, as they are; fast for large networks. What it proposes must be checked.
//! - [`find_near`]: doubles up to rounding, with the factors that were meant.
//! - [`crate::align`]: the nearest element of the orbit, whether or not it is near.
//! - [`crate::complex::match_folds`]: where two functions bend, without their rows.
//!
//! [`relabel`] draws an element of the orbit at random.

pub mod directions;
mod doubles;
mod exact;
pub mod lines;
mod near;
mod random;

use fiberscope_core::{Domain, ExactNetwork, Move, MoveChain, Rational};

pub use doubles::propose;
pub use exact::{Matching, factor, find, match_layers, match_rows, partners, rows_tell};
pub use near::{NearRelabelling, find_near, relative_difference};
pub(crate) use near::{may_be_related, near_ratio};
pub use random::{Twin, relabel};

/// A relabelling of one hidden layer of `B`: the new neuron `i` is neuron `order[i]` of `B` times
/// `factors[i]`.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerRelabelling<S = Rational> {
    /// For every new neuron its partner in `B`.
    pub order: Vec<usize>,
    /// For every new neuron the positive factor on its partner's row and bias.
    pub factors: Vec<S>,
}

impl<S> Default for LayerRelabelling<S> {
    /// That of no neurons.
    fn default() -> Self {
        LayerRelabelling { order: Vec::new(), factors: Vec::new() }
    }
}

impl<S: Clone> LayerRelabelling<S> {
    /// The relabelling that changes nothing; `one` is the number 1.
    pub fn identity(width: usize, one: S) -> Self {
        LayerRelabelling { order: (0..width).collect(), factors: vec![one; width] }
    }

    /// Adds a neuron with its partner and factor.
    pub fn push(&mut self, partner: usize, factor: S) {
        self.order.push(partner);
        self.factors.push(factor);
    }
}

impl LayerRelabelling {
    /// The moves on hidden layer `layer` of `B`: a permutation and a scaling, where they change something.
    pub fn moves(&self, layer: usize) -> MoveChain {
        let LayerRelabelling { order, factors } = self.clone();
        let permuted = order.iter().enumerate().any(|(new, &old)| new != old);
        let scaled = factors.iter().any(|factor| *factor != Rational::ONE);
        let permute = permuted.then_some(Move::Permute { layer, order });
        let scale = scaled.then_some(Move::Scale { layer, factors });
        MoveChain::from([permute, scale].into_iter().flatten().collect::<Vec<_>>())
    }

    /// Relabels a hidden layer of a network, and says by which moves.
    ///
    /// # Panics
    /// If it is no permutation of this layer with positive factors.
    pub fn apply(&self, network: &mut ExactNetwork, layer: usize) -> MoveChain {
        let moves = self.moves(layer);
        moves.apply(network, &Domain::Space).expect("a permutation and positive factors");
        moves
    }

    /// How much larger neuron `order[i]` of `B` is than the new neuron `i`: the reciprocals of the factors.
    pub fn scales(&self) -> Vec<Rational> {
        self.factors.iter().map(|factor| factor.recip().expect("factors are positive")).collect()
    }
}

/// A relabelling: one of every hidden layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relabelling {
    /// Those of the hidden layers, first to last.
    pub layers: Vec<LayerRelabelling>,
}

impl Relabelling {
    /// The moves on `B`, where they change something.
    pub fn moves(&self) -> MoveChain {
        let layers = self.layers.iter().enumerate();
        layers.fold(MoveChain::default(), |chain, (layer, each)| chain.compose(each.moves(layer)))
    }

    /// Whether it turns `b` into `a`, exactly.
    pub fn turns(&self, b: &ExactNetwork, a: &ExactNetwork) -> bool {
        let mut network = b.clone();
        self.layers.len() == b.hidden_depth()
            && self.moves().apply(&mut network, &Domain::Space).is_ok()
            && network == *a
    }
}
