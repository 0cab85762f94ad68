//! How far apart two networks of one shape can be on a box.
//!
//! For networks A and B let layer by layer `z = W_A a + b_A`, `y = W_B a_B + b_B`, `a = act(z)`,
//! `a_B = act(y)`, `d = y - z` and `e = a_B - a`; for the inputs `a = x`, `e = 0`. With `dW = W_B - W_A` and
//! `db = b_B - b_A`,
//!
//! ```text
//! z = W_A a + b_A,   d = W_B e + dW a + db,   y = z + d,   e = act(z + d) - act(z).
//! ```
//!
//! A [`Bounder`] bounds `z`, `d` and `y` of every neuron on a box by affine forms over common symbols in
//! `[-1, 1]` (a differential zonotope), and any linear function of the outputs by going backwards through the
//! layers. All of it is arithmetic of doubles without directed rounding; with every form an error is kept
//! that is at least the sum of all that rounding can have done. The lemmas R0 to R7 (relaxations) and E1 to
//! E4 (errors) are stated and proved in `docs/formats/certificate-v1.md`, kind `difference`; the code follows
//! them in their order.
//!
//! The search for a certificate uses the very same bounds, so that what it found is what is checked.

mod activate;
mod decision;
mod exact;
mod forms;
mod inner;
mod leaves;
mod pair;
mod phases;
mod products;
mod region;
mod relax;
mod relaxed;
mod row;
mod space;
mod tree;
mod vector;
mod zonotope;

#[cfg(test)]
mod tests;

pub(crate) use decision::Walk as DecisionWalk;
pub use decision::{MAX_WEIGHT, WEIGHT_STEPS, class_change, leading_class, own_lead};
pub use leaves::Arithmetic;
pub use pair::{Pair, PairLayer};
pub use phases::Sign;
pub use region::{middle, outward};
pub use space::{Gaps, RowCoefficients};
pub use tree::MAX_DEPTH;
pub(crate) use tree::{Walk, pair};
pub use zonotope::{Bounder, LayerBounds, Ran};

/// The unit of rounding.
const U: f64 = 1.0 / (1u64 << 53) as f64;

/// `1 + 4u`, exactly.
const UP: f64 = 1.0 + 4.0 * U;

/// What covers every product that is too small for a normal double.
const TINY: f64 = 1e-290;
