//! Answers: what the library found, as the summaries and JSON values that the command prints, the Python package returns and pages show.
//!
//! One module per question. A function here asks the library as the command does, and returns a summary of [`fiberscope_report`] or a JSON value with
//! the keys of `--json`; it reads no model and prints nothing. What takes long reports through a [`Say`]. Pages (reports, the tour, the explorer)
//! are made here too, with what `cargo xtask web` built in them.

pub mod check;
pub mod complex;
pub mod conserve;
pub mod difference;
pub mod dimension;
pub mod equivalence;
pub mod explore;
pub mod extraction;
pub mod fiber;
pub mod files;
pub mod folds;
pub mod linear;
pub mod picture;
pub mod points;
pub mod report;
pub mod reproduce;
pub mod rewrite;
pub mod slice;
pub mod tour;
pub mod volume;
pub mod web;

/// Where long work says how far it is, in a few words.
pub type Say<'a> = &'a (dyn Fn(&str) + Sync);
