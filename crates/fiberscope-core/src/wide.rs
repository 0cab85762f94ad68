//! Loops that run with the vector instructions of the processor, as [pulp](https://docs.rs/pulp) offers them: chosen at run time,
//! without unsafe code.
//!
//! What is to run so is inlined into what is compiled for each kind of them; closures are not.

pub use pulp::{Simd, WithSimd};

/// Does work with the vector instructions that the processor has.
///
/// ```
/// use fiberscope_core::wide::{Simd, WithSimd, wide};
///
/// struct Doubled<'a>(&'a mut [f64]);
///
/// impl WithSimd for Doubled<'_> {
///     type Output = ();
///
///     #[inline(always)]
///     fn with_simd<S: Simd>(self, _: S) {
///         self.0.iter_mut().for_each(|x| *x *= 2.0);
///     }
/// }
///
/// let mut numbers = [1.0, 2.5, -4.0];
/// wide(Doubled(&mut numbers));
/// assert_eq!(numbers, [2.0, 5.0, -8.0]);
/// ```
pub fn wide<W: WithSimd>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(work)
}
