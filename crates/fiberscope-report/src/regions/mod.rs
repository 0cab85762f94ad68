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
    BreakpointComplex, BreakpointNumbers, CellCounts, CellMethod, ComplexOptions, PolyhedralComplex, Walked,
    exact_region_bound,
};
use fiberscope_core::{Domain, Network, Neuron, decimal};
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
    /// The cells were counted and their facets weighed.
    Weighed {
        /// Their numbers.
        counts: CellCounts,
        /// How they were found.
        method: CellMethod,
        /// What the weights say.
        numbers: BreakpointNumbers,
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
        /// Whether all regions were counted, and the limit came while their cells were listed or weighed.
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
            Found::Weighed { counts, method, numbers } => {
                counts_text(&self.view, counts, *method) + &weights_text(numbers)
            }
            Found::Listed { complex, breakpoints } => {
                counts_text(&self.view, &complex.counts(), complex.method())
                    + &weights_text(&breakpoints.numbers(complex))
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
            Found::Weighed { counts, method, numbers } => weighed(view, counts, *method, numbers),
            Found::Listed { complex, breakpoints } => {
                weighed(view, &complex.counts(), complex.method(), &breakpoints.numbers(complex))
            }
            Found::Stopped { regions, explored, .. } => stopped(view, *regions, *explored),
        }
    }

    /// Whether [`RegionsAnswer::draw`] draws it.
    pub fn is_drawable(&self) -> bool {
        match &self.found {
            Found::Listed { complex, .. } => complex.factor_dimension() <= 2,
            Found::Weighed { .. } => self.view.network.input_width() <= 2,
            _ => false,
        }
    }

    /// The picture of a complex with one or two dimensions whose facets were weighed; cells that were not listed are
    /// listed now.
    pub fn draw(&self) -> Option<Svg> {
        match &self.found {
            Found::Listed { complex, breakpoints, .. } => picture::svg(&self.view, complex, breakpoints),
            Found::Weighed { .. } if self.is_drawable() => {
                let built = build(&self.view, &ComplexOptions::new(), &|_| (), &|_| ());
                let (complex, breakpoints) = built.ok()??;
                picture::svg(&self.view, &complex, &breakpoints)
            }
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
fn weights_text(numbers: &BreakpointNumbers) -> String {
    let (facets, visible) = (numbers.facets, numbers.visible_facets);
    let mut text = format!("  facets               {facets} between regions, {visible} visible\n");
    let _ = writeln!(
        text,
        "  weights              balanced at {} ridges up to {}; two formulas agree up to {}",
        numbers.ridges,
        significant_upper(numbers.imbalance, 2),
        significant_upper(numbers.disagreement, 2)
    );
    let yes = |is: bool| if is { "yes" } else { "no" };
    let _ = writeln!(
        text,
        "  bending              at {} ridges; honest: {}; cancellation-free: {}",
        numbers.bending_ridges,
        yes(numbers.dishonest_ridges == 0),
        yes(numbers.cancelling_facets == 0)
    );
    let layers = match numbers.recovered_rightly {
        Some(right) => format!("recovered from the function alone for {right} of {visible} visible facets"),
        None => "with one input the function does not tell them".to_owned(),
    };
    let _ = writeln!(text, "  layers               {layers}");
    if !numbers.hidden_neurons.is_empty() {
        let name = |n: &Neuron| format!("{} of layer {}", n.unit + 1, n.layer + 1);
        let names: Vec<String> = numbers.hidden_neurons.iter().map(name).collect();
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
fn weighed(
    view: &ComplexView,
    counts: &CellCounts,
    method: CellMethod,
    numbers: &BreakpointNumbers,
) -> Value {
    let mut value = counted(view, counts, method);
    let visible = numbers.visible_facets;
    let hidden: Vec<[usize; 2]> = numbers.hidden_neurons.iter().map(|n| [n.layer + 1, n.unit + 1]).collect();
    value["visible_facets"] = json!(visible);
    value["facets"] = json!(numbers.facets);
    value["balance"] = json!({
        "ridges": numbers.ridges,
        "largest_error": numbers.imbalance,
        "formulas_differ_by": numbers.disagreement,
    });
    value["bending_ridges"] = json!(numbers.bending_ridges);
    value["honest"] = json!(numbers.dishonest_ridges == 0);
    value["cancellation_free"] = json!(numbers.cancelling_facets == 0);
    value["layers_recovered"] = match numbers.recovered_rightly {
        Some(right) => json!({"right": right, "of": visible}),
        None => Value::Null,
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
