//! All tests of the networks in one program: linked once, and both cores have work until the last test ends.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod hiding;
mod moves;
mod sparse;
