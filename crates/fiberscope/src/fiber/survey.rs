//! Which pieces of a fiber are generic, as data: [`super::pieces`] finds out.

use std::sync::OnceLock;

use super::component::Piece;

/// What the ranks of all `M_S` say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Survey {
    /// Which pieces are generic.
    pub generic: Generic,
}

/// Which pieces are generic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Generic {
    All,
    Only(Piece),
    None,
}

/// A survey that is made when it is asked for. It follows from the rest of the fiber, so that it does not count when fibers are compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Cached(pub OnceLock<Option<Survey>>);

impl PartialEq for Cached {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
