//! Pictures of linear networks: the stratum dag, the flow of bases through the layers, and fibers in space.

mod dag;
mod flow;
mod space;

pub use dag::{DagEdge, DagNode, DagPicture};
pub use flow::{FlowBar, FlowPicture};
pub use space::{SpaceFiber, draw_fiber};
