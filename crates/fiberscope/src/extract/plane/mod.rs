//! Functions of two inputs: the whole complex, traced from queries.

mod arcs;
mod cell;
mod explore;
mod measure;
mod peel;

pub(super) use arcs::Traced;

use arcs::Arcs;
use explore::Plane;
