//! Linear regions: counts and facets of polyhedral complexes as text, JSON, pictures, meshes and a section of
//! a page.
//!
//! Hidden layers count from 0 here and from 1 in what is shown. Layers are told apart by the colours of Okabe
//! and Ito and by name; what is invisible is dashed.

mod export;
mod mesh;
pub mod picture;
mod plane;
mod polyhedra;
mod question;
pub mod section;
pub mod slice;
mod space;

pub use export::export;
pub use mesh::{Mesh, MeshFacet};
pub use plane::{Fold, PlanePicture, PlaneRegion};
pub use polyhedra::cell_complex;
pub use question::{Depth, RegionsQuestion, Search, build, regions, with_counts};
pub use space::space_page;

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use fiberscope::complex::{
    BreakpointComplex, CellCounts, CellMethod, PolyhedralComplex, Walked, exact_region_bound,
};
use fiberscope_core::{Domain, Network, decimal};
use serde_json::{Value, json};

use crate::Svg;
use crate::json::upper;
use crate::number::significant_upper;

/// The most regions whose cells are listed for weights unless a picture or an export needs them.
pub(crate) const LISTED: u64 = 100_000;
/// The most regions of a picture or an export.
pub const DRAWN: u64 = 1_000_000;
/// The most regions counted without being asked for more.
pub const COUNTED: u64 = 100_000_000;
/// The most inputs for which edges are subdivided: a box has `2^d` corners.
const EDGES: usize = 8;

/// What a complex is of.
#[derive(Clone, Debug)]
pub struct ComplexView {
    /// The network's name.
    pub name: String,
    /// The network, or its restriction to a slice.
    pub network: Arc<Network>,
    /// The inputs.
    pub domain: Domain,
    /// What the axes of a slice are; `None` if it is none.
    pub axes: Option<[String; 2]>,
}

impl ComplexView {
    /// The domain in words.
    pub fn place(&self) -> &'static str {
        match (self.axes.is_some(), &self.domain) {
            (true, _) => "the slice",
            (_, Domain::Space) => "the whole input space",
            _ => "the box",
        }
    }
}

/// The linear regions that were found.
pub struct RegionsAnswer {
    /// What they are of.
    pub view: ComplexView,
    /// What was found.
    pub found: Found,
}

/// What is known of the regions.
pub enum Found {
    /// They were walked through.
    Walked(Walked),
    /// The cells were counted.
    Counted {
        /// Their numbers.
        counts: CellCounts,
        /// How they were found.
        method: CellMethod,
        /// Whether weights were asked for, and there are too many regions.
        weights: bool,
    },
    /// The cells were listed.
    Listed {
        /// The cells.
        complex: Box<PolyhedralComplex>,
        /// The weights of the facets.
        breakpoints: BreakpointComplex,
    },
    /// A limit came first.
    Stopped {
        /// So many regions were found.
        regions: u64,
        /// In this part of the domain.
        explored: f64,
        /// Whether all regions were counted, and the limit came while their cells were listed.
        listing: bool,
        /// The file with the state of the count.
        saved: Option<PathBuf>,
    },
}

impl RegionsAnswer {
    /// Whether no limit came first.
    pub fn is_complete(&self) -> bool {
        !matches!(self.found, Found::Stopped { .. })
    }

    /// The facts for a terminal.
    pub fn to_text(&self) -> String {
        let place = self.view.place();
        match &self.found {
            Found::Walked(walked) => format!(
                "{} regions ({} bounded), {} facets between them, on {place} (method: walk)\n",
                walked.regions, walked.bounded, walked.facets,
            ),
            Found::Counted { counts, method, weights } => {
                let mut text = counts_text(&self.view, counts, *method);
                if *weights {
                    let _ =
                        writeln!(text, "  weights              not computed for more than {LISTED} regions");
                }
                text
            }
            Found::Listed { complex, breakpoints } => {
                counts_text(&self.view, &complex.counts(), complex.method())
                    + &weights_text(complex, breakpoints)
            }
            Found::Stopped { regions, explored, saved, .. } => {
                let bound = decimal::upper(&exact_region_bound(&self.view.network));
                let mut text = format!(
                    "stopped at a limit: about {regions} regions so far on {place} ({:.1} % of its volume); there may be up to {bound}\n",
                    100.0 * explored.max(0.0)
                );
                if let Some(path) = saved {
                    let _ = writeln!(text, "wrote {}; the same command goes on from there", path.display());
                }
                text
            }
        }
    }

    /// The facts with the keys of `fiberscope regions --json`.
    pub fn to_json(&self) -> Value {
        let view = &self.view;
        match &self.found {
            Found::Walked(found) => walked(view, found),
            Found::Counted { counts, method, .. } => counted(view, counts, *method),
            Found::Listed { complex, breakpoints } => listed(view, complex, breakpoints),
            Found::Stopped { regions, explored, .. } => stopped(view, *regions, *explored),
        }
    }

    /// The picture of a complex with one or two dimensions whose cells were listed.
    pub fn draw(&self) -> Option<Svg> {
        match &self.found {
            Found::Listed { complex, breakpoints, .. } => picture::svg(&self.view, complex, breakpoints),
            _ => None,
        }
    }
}

fn counts_text(view: &ComplexView, counts: &CellCounts, method: CellMethod) -> String {
    let numbers: Vec<String> = counts.all.iter().map(ToString::to_string).collect();
    let regions = counts.all.last().copied().unwrap_or(0);
    let bounded = counts.bounded.last().copied().unwrap_or(0);
    let unbounded = if view.domain == Domain::Space && view.axes.is_none() {
        format!(" ({bounded} bounded, {} unbounded)", regions - bounded)
    } else {
        String::new()
    };
    let how = match method {
        CellMethod::Cells => "subdivision of all cells in exact arithmetic: the complex is not simple",
        _ => "subdivision of edges, certified in exact arithmetic",
    };
    format!(
        "{regions} regions on {}{unbounded}\n  cells by dimension   {} (alternating sum {})\n  method               {how}\n",
        view.place(),
        numbers.join(", "),
        counts.euler()
    )
}

/// What the weights of the facets say.
fn weights_text(complex: &PolyhedralComplex, breakpoints: &BreakpointComplex) -> String {
    let (facets, visible) = (breakpoints.facets.len(), breakpoints.visible_facets());
    let hidden = breakpoints.hidden_neurons(complex);
    let mut text = format!("  facets               {facets} between regions, {visible} visible\n");
    let _ = writeln!(
        text,
        "  weights              balanced at {} ridges up to {}; two formulas agree up to {}",
        breakpoints.ridges,
        significant_upper(breakpoints.imbalance, 2),
        significant_upper(breakpoints.disagreement, 2)
    );
    let yes = |is: bool| if is { "yes" } else { "no" };
    let _ = writeln!(
        text,
        "  bending              at {} ridges; honest: {}; cancellation-free: {}",
        breakpoints.bending_ridges,
        yes(breakpoints.dishonest_ridges == 0),
        yes(breakpoints.cancelling_facets == 0)
    );
    let layers = match complex.factor_dimension() > 1 {
        true => {
            let right = breakpoints.recovered_rightly();
            format!("recovered from the function alone for {right} of {visible} visible facets")
        }
        false => "with one input the function does not tell them".to_owned(),
    };
    let _ = writeln!(text, "  layers               {layers}");
    if !hidden.is_empty() {
        let names: Vec<String> =
            hidden.iter().map(|n| format!("{} of layer {}", n.unit + 1, n.layer + 1)).collect();
        let _ = writeln!(text, "  hidden neurons       {}", names.join(", "));
    }
    text
}

/// Cell counts with the keys of `fiberscope regions --json`.
fn counted(view: &ComplexView, counts: &CellCounts, method: CellMethod) -> Value {
    json!({
        "regions": counts.all.last(),
        "f_vector": counts.all,
        "bounded_regions": counts.bounded.last(),
        "bounded_f_vector": counts.bounded,
        "euler": counts.euler(),
        "visible_facets": null,
        "method": method.name(),
        "domain": view.domain,
        "widths": view.network.widths(),
    })
}

/// Cell counts and what the weights of the facets say.
fn listed(view: &ComplexView, complex: &PolyhedralComplex, breakpoints: &BreakpointComplex) -> Value {
    let mut value = counted(view, &complex.counts(), complex.method());
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
fn walked(view: &ComplexView, walked: &Walked) -> Value {
    json!({
        "regions": walked.regions,
        "f_vector": null,
        "bounded_regions": walked.bounded,
        "euler": null,
        "visible_facets": walked.visible_facets,
        "facets": walked.facets,
        "method": CellMethod::Walk.name(),
        "domain": view.domain,
        "widths": view.network.widths(),
    })
}

/// The same keys for a count that a limit stopped after `explored` of the domain.
fn stopped(view: &ComplexView, regions: u64, explored: f64) -> Value {
    json!({
        "regions": null,
        "partial_regions": regions,
        "estimate": upper(&exact_region_bound(&view.network)),
        "explored": explored,
        "f_vector": null,
        "bounded_regions": null,
        "euler": null,
        "visible_facets": null,
        "domain": view.domain,
        "widths": view.network.widths(),
    })
}
