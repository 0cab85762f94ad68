//! `fiberscope plan`, `fiberscope work`, `fiberscope merge`: long questions on many machines

pub mod args;
mod gathering;
pub mod merge;
pub mod plan;
pub mod work;
