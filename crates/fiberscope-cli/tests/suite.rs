//! All tests of the command in one program: linked once, and both cores have work until the last test ends.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bad_input;
mod device;
mod difference;
mod dimension;
mod extract;
mod fiber;
mod golden;
mod limits;
mod linear;
mod report;
mod rewrite;
mod survey;
mod tasks;
