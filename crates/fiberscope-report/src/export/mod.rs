//! What other programs read: systems of polynomial equations and inequalities for LaTeX, Sage and Macaulay2,
//! polyhedral complexes for polymake and Oscar, and drawings as TikZ and PDF.
//!
//! Here are the languages, none of the questions: fibers, strata and complexes are turned into a [`System`]
//! or a [`CellComplex`] where they are described. Numbers are written as they are, fractions of integers of
//! any length; only drawings are rounded.

mod complex;
mod drawing;
mod pdf;
mod polynomial;
mod system;
mod tex;
mod tikz;

pub use complex::CellComplex;
pub use polynomial::{Polynomial, Variable};
pub use system::{Piece, System};
pub(crate) use tex::{article, comment, escaped};

use std::path::Path;

/// The ending of a file's name, in small letters; empty if there is none.
pub fn ending(path: &Path) -> String {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or("").to_lowercase()
}

/// A program that reads systems of equations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// LaTeX, `.tex`.
    Latex,
    /// Sage, `.sage`.
    Sage,
    /// Macaulay2, `.m2`.
    Macaulay2,
}

impl Program {
    /// The program that reads files with the ending of this name.
    pub fn of(path: &Path) -> Option<Self> {
        match ending(path).as_str() {
            "tex" => Some(Program::Latex),
            "sage" => Some(Program::Sage),
            "m2" => Some(Program::Macaulay2),
            _ => None,
        }
    }

    /// What begins a comment.
    pub(crate) fn comment(self) -> &'static str {
        match self {
            Program::Latex => "%",
            Program::Sage => "#",
            Program::Macaulay2 => "--",
        }
    }
}
