//! All tests of the algebra in one program: linked once, and both cores have work until the last test ends.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod elimination;
mod programs;
