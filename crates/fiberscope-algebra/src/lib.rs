//! Linear algebra and linear programs: the mathematics that several questions of Fiberscope share.
//!
//! - [`elimination`]: Gaussian elimination, written once for every kind of [`Number`]: rank, determinant,
//!   solution, inverse, reduced echelon form. [`Echelon`] takes rows one at a time and tells which are
//!   independent.
//! - [`modular`]: ranks and independent rows modulo the prime `2^61 - 1`, which are certified lower bounds.
//! - [`rational`]: scalar products, ranks, coordinates and kernels over the rationals, and fraction-free
//!   elimination over the integers.
//! - [`rank`]: bounds for the rank of a matrix of doubles, which agree unless it is large and deficient.
//! - [`dense`]: vectors and small matrices of doubles. [`Approximate`] ones know how far they are off.
//! - [`program`]: linear programs, doubles first and rational numbers last.
//!
//! Doubles propose, exact arithmetic disposes: nothing here that is called exact rests on a tolerance.
//!
//! There is no clock in this crate. What may take long asks a callback `is_late` between two steps, and hands
//! over nothing, or what is known so far, once it says yes; [`never()`] is the callback without an end.

mod approximate;
pub mod dense;
mod echelon;
pub mod elimination;
pub mod modular;
mod number;
pub mod program;
pub mod rank;
pub mod rational;

pub use approximate::{Approximate, ApproximateSum};
pub use echelon::Echelon;
pub use number::{Number, Ordered};

/// The callback of work that may take as long as it needs.
pub fn never() -> bool {
    false
}
