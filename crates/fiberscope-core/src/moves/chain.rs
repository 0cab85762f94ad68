//! Chains of moves.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Move, MoveError, relabel};
use crate::{Domain, ExactNetwork, Network};

/// Moves to be applied one after another.
///
/// A chain keeps the function because each of its moves does.
///
/// ```
/// use fiberscope_core::{Domain, Move, MoveChain, Rational};
/// # use fiberscope_core::{Activation, Layer, Matrix, Network};
/// # let hidden = Layer::new(Matrix::from_rows(&[[1.0], [-1.0]]).unwrap(), vec![0.0, 0.0], Activation::Relu);
/// # let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
/// # let absolute_value = Network::new(vec![hidden, output]).unwrap();
/// let swap = Move::Permute { layer: 0, order: vec![1, 0] };
/// let scale = Move::Scale { layer: 0, factors: vec![Rational::from(2), Rational::from(3)] };
/// let chain = MoveChain::from(vec![swap]).compose(MoveChain::from(vec![scale]));
///
/// let before = absolute_value.to_exact();
/// let mut network = before.clone();
/// chain.apply(&mut network, &Domain::Space).unwrap();
/// assert_eq!(network.layers()[0].weight().entries(), [Rational::from(-2), Rational::from(3)]);
///
/// let back = chain.inverse(&before, &Domain::Space).unwrap();
/// back.apply(&mut network, &Domain::Space).unwrap();
/// assert_eq!(network, before);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MoveChain {
    moves: Vec<Move>,
}

/// The first move of a chain that does not apply.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("move {} ({name}, layer {}): {error}", .step + 1, .layer + 1)]
pub struct ChainError {
    /// The place of the move in the chain, from 0.
    pub step: usize,
    /// The move's name.
    pub name: &'static str,
    /// The layer it names, from 0.
    pub layer: usize,
    /// Why it does not apply.
    pub error: MoveError,
}

impl MoveChain {
    /// The moves in order.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Whether there are no moves.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    /// Adds a move at the end.
    pub fn push(&mut self, next: Move) {
        self.moves.push(next);
    }

    /// Applies the moves one after another. On failure the network is left as the moves before the
    /// failing one made it.
    pub fn apply(&self, network: &mut ExactNetwork, domain: &Domain) -> Result<(), ChainError> {
        for (step, each) in self.moves.iter().enumerate() {
            each.apply(network, domain).map_err(|error| self.error(step, error))?;
        }
        Ok(())
    }

    /// What the moves make of a network, where they permute neurons and scale them by powers of two and no number leaves
    /// the doubles: then it is just what [`MoveChain::apply`] makes of the exact network, on every domain. `None`
    /// otherwise, and where this thread's arithmetic takes the smallest doubles for 0, in comparisons too.
    ///
    /// ```
    /// use fiberscope_core::{Domain, Move, MoveChain, Network, Rational};
    ///
    /// let network = Network::from_rows(&[(&[&[3.0], &[-1.0]], &[0.0, 0.5]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
    /// let scale = |factor: i64| {
    ///     MoveChain::from(vec![Move::Scale { layer: 0, factors: vec![Rational::ONE, Rational::from(factor)] }])
    /// };
    /// let mut exact = network.to_exact();
    /// scale(4).apply(&mut exact, &Domain::Space).unwrap();
    /// assert_eq!(scale(4).apply_in_doubles(&network).unwrap().to_exact(), exact);
    /// assert!(scale(3).apply_in_doubles(&network).is_none());
    /// ```
    pub fn apply_in_doubles(&self, network: &Network) -> Option<Network> {
        if !relabel::subnormal_numbers_count() {
            return None;
        }
        let mut made = network.clone();
        self.moves.iter().try_for_each(|each| each.apply_in_doubles(&mut made))?;
        Some(made)
    }

    /// This chain followed by another.
    #[must_use]
    pub fn compose(mut self, then: MoveChain) -> MoveChain {
        self.moves.extend(then.moves);
        self
    }

    /// The chain that leads back to `before` from the network that this chain makes of it.
    pub fn inverse(&self, before: &ExactNetwork, domain: &Domain) -> Result<MoveChain, ChainError> {
        let mut network = before.clone();
        let mut inverses = Vec::with_capacity(self.moves.len());
        for (step, each) in self.moves.iter().enumerate() {
            inverses.push(each.inverse(&network).map_err(|error| self.error(step, error))?);
            each.apply(&mut network, domain).map_err(|error| self.error(step, error))?;
        }
        Ok(inverses.into_iter().rev().fold(MoveChain::default(), MoveChain::compose))
    }

    fn error(&self, step: usize, error: MoveError) -> ChainError {
        ChainError { step, name: self.moves[step].name(), layer: self.moves[step].layer(), error }
    }
}

impl From<Vec<Move>> for MoveChain {
    fn from(moves: Vec<Move>) -> Self {
        MoveChain { moves }
    }
}
