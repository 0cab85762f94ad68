//! How many threads there are to work with.

use std::num::NonZeroUsize;

/// The threads of the pool that this runs in, for work that brings threads of its own
/// ([`Checker::threads`](fiberscope_check::Checker::threads)).
pub fn threads() -> NonZeroUsize {
    NonZeroUsize::new(rayon::current_num_threads()).unwrap_or(NonZeroUsize::MIN)
}
