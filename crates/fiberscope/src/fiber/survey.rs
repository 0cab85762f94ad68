//! Which pieces of a fiber are generic, as data: [`super::pieces`] finds out.

use std::sync::OnceLock;

use super::component::Piece;
use super::masks::Mask;

/// What the ranks of all `M_S` say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Survey {
    /// Which pieces are generic.
    pub generic: Generic,
}

/// Which pieces are generic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Generic {
    /// Those with none of these masks, whose products have too small a rank.
    Unless(Vec<Mask>),
    /// One.
    Only(Piece),
    /// None.
    None,
    /// That is too much work.
    Unknown,
}

/// A survey that is made when it is asked for. It follows from the rest of the fiber, so that it does not
/// count when fibers are compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Cached(pub OnceLock<Option<Survey>>);

impl PartialEq for Cached {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
