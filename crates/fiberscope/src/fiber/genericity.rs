//! Which pieces of a fiber are generic, as data: [`super::pieces`] finds out.

use std::sync::OnceLock;

use super::component::Piece;
use super::masks::Mask;

/// Which pieces are generic, by the ranks of all `M_S`.
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

/// Found out when it is asked for; `None` if there are too many pieces. It follows from the rest of the fiber, so that it does not
/// count when fibers are compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Cached(pub OnceLock<Option<Generic>>);

impl PartialEq for Cached {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
