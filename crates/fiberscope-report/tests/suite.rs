//! All tests of the words and pictures in one program: linked once, and both cores have work until the last test ends.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod exports;
mod page;
mod text;
