//! `fiberscope regions`, `fiberscope folds` and `fiberscope construct identifiable`

pub mod args;
pub mod construct;
mod endings;
pub mod folds;
pub mod regions;
mod slice;
