//! Drawings: elements of markup whose text is escaped, SVG with its style, PNG made from it, and charts that
//! several questions share.

pub mod graph;
pub mod heat;
pub mod histogram;
pub(crate) mod markup;
pub mod png;
pub(crate) mod svg;
pub mod trajectory;

pub use svg::Svg;
