//! Folders that many workers share, on one machine or on many with one file system.
//!
//! ```text
//! plan             what is to be done
//! tasks/NAME       a task that is free
//! leases/NAME@W    a task that worker W does, renewed while it lives
//! results/NAME     what came of it
//! ```
//!
//! A task is taken by renaming its file, which one of several workers can do. A lease is renewed by changing the
//! time of its file; a worker that sees no change for as long as a lease lasts, by its own clock, takes it over
//! by renaming it, and at once if its worker was a process of this machine that is gone. Files appear whole:
//! nothing is lost but the work on a task when a worker is killed at any moment.
//!
//! What the bytes mean is not known here.

mod folder;
mod worker;

pub use folder::{Lease, WorkFolder};
pub use worker::Worker;
