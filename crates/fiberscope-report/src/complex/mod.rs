//! Polyhedral complexes as pictures and meshes: plain data in, SVG, HTML, OBJ and VTK out.
//!
//! Hidden layers count from 0 here and from 1 in what is shown. Layers are told apart by the colours of Okabe and Ito and by name; what is invisible
//! is dashed.

mod graph;
mod mesh;
mod plane;
mod space;

pub use graph::{FoldEdge, FoldNode, FoldPicture};
pub use mesh::{Mesh, MeshFacet};
pub use plane::{Fold, PlanePicture, PlaneRegion};
pub use space::space_page;
