//! Reports, made from results and certificates only: text for terminals, JSON, SVG drawings and HTML
//! pages that are one self-contained file.
//!
//! Everything a page shows is put together from elements whose text is escaped when it enters, so that
//! names found in files cannot become markup. Nothing here reads a file, prints or evaluates a
//! network; equal inputs give equal output. Layers and neurons count from 1 in everything that is shown.
//!
//! ```
//! use fiberscope_report::page::{Page, Section};
//!
//! let section = Section::new("Greeting").paragraph("<b> is shown as it is written.");
//! let html = Page::new("A page").section(section).to_html();
//! assert!(html.contains("&lt;b&gt; is shown"));
//! ```

pub mod anatomy;
pub mod certificate;
pub mod complex;
pub mod diagram;
pub mod dimension;
pub mod extraction;
pub mod fiber;
pub mod graph;
pub mod json;
pub mod linear;
mod markup;
pub mod moves;
pub mod number;
pub mod page;
pub mod png;
pub mod sections;
mod svg;
pub mod text;
pub mod trajectory;
pub mod web;
mod words;

pub use svg::Svg;
