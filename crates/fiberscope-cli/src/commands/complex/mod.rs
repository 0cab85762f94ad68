//! `fiberscope regions`, `fiberscope folds` and `fiberscope construct identifiable`

pub mod args;
pub mod construct;
mod export;
pub mod folds;
pub mod picture;
pub mod regions;
mod slice;
