//! Linear regions: counts and facets of polyhedral complexes, as pictures, meshes and a section of a page.
//!
//! Hidden layers count from 0 here and from 1 in what is shown. Layers are told apart by the colours of Okabe and Ito and by name; what is invisible
//! is dashed.

mod mesh;
pub mod picture;
mod plane;
pub mod section;
pub mod slice;
mod space;

pub use mesh::{Mesh, MeshFacet};
pub use plane::{Fold, PlanePicture, PlaneRegion};
pub use space::space_page;

use crate::json::upper;
use fiberscope::complex::{
    BreakpointComplex, CellCounts, Method, PolyhedralComplex, Walked, exact_region_bound,
};
use fiberscope_core::{Domain, Network};
use serde_json::{Value, json};

/// The most regions whose cells are listed for weights unless a picture or an export needs them.
pub const LISTED: u64 = 100_000;
/// The most regions of a picture or an export.
pub const DRAWN: u64 = 1_000_000;
/// The most regions counted without being asked for more.
pub const COUNTED: u64 = 100_000_000;
/// The most inputs for which edges are subdivided: a box has `2^d` corners.
pub const EDGES: usize = 8;

/// What a complex is of.
#[derive(Clone, Debug)]
pub struct ComplexView<'a> {
    /// The network's name.
    pub name: &'a str,
    /// The network, or its restriction to a slice.
    pub network: &'a Network,
    /// The inputs.
    pub domain: Domain,
    /// What the axes of a slice are; `None` if it is none.
    pub axes: Option<[String; 2]>,
}

impl ComplexView<'_> {
    /// The domain in words.
    pub fn place(&self) -> &'static str {
        match (self.axes.is_some(), &self.domain) {
            (true, _) => "the slice",
            (_, Domain::Space) => "the whole input space",
            _ => "the box",
        }
    }
}

/// Cell counts with the keys of `fiberscope regions --json`.
pub fn counted(of: &ComplexView, counts: &CellCounts, method: Method) -> Value {
    json!({
        "regions": counts.all.last(),
        "f_vector": counts.all,
        "bounded_regions": counts.bounded.last(),
        "bounded_f_vector": counts.bounded,
        "euler": counts.euler(),
        "visible_facets": null,
        "method": method.name(),
        "domain": of.domain,
        "widths": of.network.widths(),
    })
}

/// Cell counts and what the weights of the facets say.
pub fn listed(
    of: &ComplexView,
    counts: &CellCounts,
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
) -> Value {
    let mut value = counted(of, counts, complex.method());
    let visible = breakpoints.visible_facets();
    let hidden: Vec<[usize; 2]> =
        breakpoints.hidden_neurons(complex).iter().map(|n| [n.layer + 1, n.unit + 1]).collect();
    value["visible_facets"] = json!(visible);
    value["facets"] = json!(breakpoints.facets.len());
    value["balance"] = json!({
        "ridges": breakpoints.ridges,
        "largest_error": breakpoints.imbalance,
        "formulas_differ_by": breakpoints.disagreement,
    });
    value["bending_ridges"] = json!(breakpoints.bending_ridges);
    value["honest"] = json!(breakpoints.dishonest_ridges == 0);
    value["cancellation_free"] = json!(breakpoints.cancelling_facets == 0);
    value["layers_recovered"] = if complex.factor_dimension() > 1 {
        json!({"right": breakpoints.recovered_rightly(), "of": visible})
    } else {
        Value::Null
    };
    value["hidden_neurons"] = json!(hidden);
    value
}

/// The same keys for regions that were walked through.
pub fn walked(of: &ComplexView, walked: &Walked) -> Value {
    json!({
        "regions": walked.regions,
        "f_vector": null,
        "bounded_regions": walked.bounded,
        "euler": null,
        "visible_facets": walked.visible_facets,
        "facets": walked.facets,
        "method": Method::Walk.name(),
        "domain": of.domain,
        "widths": of.network.widths(),
    })
}

/// The same keys for a count that a limit stopped after `explored` of the domain.
pub fn stopped(of: &ComplexView, regions: u64, explored: f64) -> Value {
    json!({
        "regions": null,
        "partial_regions": regions,
        "estimate": upper(&exact_region_bound(of.network)),
        "explored": explored,
        "f_vector": null,
        "bounded_regions": null,
        "euler": null,
        "visible_facets": null,
        "domain": of.domain,
        "widths": of.network.widths(),
    })
}
