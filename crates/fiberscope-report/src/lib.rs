//! What Fiberscope says and draws: results as text for terminals, JSON, SVG and PNG pictures, and HTML pages
//! that are one self-contained file.
//!
//! One module per question, which the command and the Python package share: it asks the library, and turns
//! what was found into text, a JSON value with the keys of `--json`, pictures and sections of pages. Below
//! them lie what all of them use:
//! [`draw`], [`export`], [`page`], [`number`], [`json`] and the layout of text. Whole pages are [`report`], [`tour`], [`reproduce`] and
//! [`explore`], with what `cargo xtask web` built in them.
//!
//! Everything a page shows is put together from elements whose text is escaped when it enters, so that names
//! found in files cannot become markup. Nothing here reads a model or prints; equal inputs give equal output.
//! What takes long reports through a [`Say`]. Layers and neurons count from 1 in everything that is shown.
//!
//! ```
//! use fiberscope_report::page::{Page, Section};
//!
//! let section = Section::new("Greeting").paragraph("<b> is shown as it is written.");
//! let html = Page::new("A page").section(section).to_html();
//! assert!(html.contains("&lt;b&gt; is shown"));
//! ```

pub mod anatomy;
pub mod benchmark_set;
pub mod certificate;
pub mod conserve;
pub mod construct;
pub mod convert;
pub mod difference;
pub mod dimension;
pub mod draw;
pub mod equivalence;
pub mod explore;
pub mod export;
pub mod extraction;
pub mod fiber;
pub mod files;
pub mod folds;
pub mod json;
pub mod linear;
pub mod number;
pub mod page;
pub mod reading;
pub mod regions;
pub mod report;
pub mod reproduce;
pub mod rewrite;
pub mod rigidity;
pub mod survey;
pub mod symmetries;
pub mod tasks;
mod text;
pub mod tour;
pub mod training;
pub mod volume;
pub mod web;
mod words;
pub mod zoo;

pub use draw::Svg;

/// Where long work says how far it is, in a few words.
pub type Say<'a> = &'a (dyn Fn(&str) + Sync);
