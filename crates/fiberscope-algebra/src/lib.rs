//! Linear algebra and linear programs: the mathematics that several questions of Fiberscope share.
//!
//! - [`dense`]: vectors and small matrices of doubles.
//!
//! Doubles propose, exact arithmetic disposes: nothing here that is called exact rests on a tolerance.

pub mod dense;
