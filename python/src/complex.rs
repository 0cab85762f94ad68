//! Polyhedral complexes: counts, folds, pictures, slices.

use std::sync::Arc;

use anyhow::ensure;
use fiberscope::complex::{
    BreakpointComplex, Built, ComplexLimits, CountOutcome, PolyhedralComplex, Transparency,
    TransparencyLimits, count_cells, walk_regions,
};
use fiberscope_answer::complex::{self as answer, COUNTED, ComplexView, DRAWN, EDGES, LISTED};
use fiberscope_answer::folds::{self as fold_answer, FoldAnswer, relabelling};
use fiberscope_answer::{picture, slice};
use fiberscope_core::Network;
use fiberscope_report::Svg;
use fiberscope_report::complex::{FoldEdge, FoldNode, FoldPicture};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::answer::{Complex, Picture};
use crate::error::raise;
use crate::network::{Net, Place, read_domain};
use crate::work::{Terms, Watch, work};

/// An answer, and what draws it.
type Drawable = (Value, Box<dyn FnOnce() -> Option<Svg> + Send>);

fn drawn_by(value: Value, draw: impl FnOnce() -> Option<Svg> + Send + 'static) -> Drawable {
    (value, Box::new(draw))
}

fn undrawn(value: Value) -> Drawable {
    drawn_by(value, || None)
}

fn hand_over(py: Python, (value, draw): Drawable) -> PyResult<Complex> {
    Ok(Complex { json: value.to_string(), picture: Picture::new(py, draw)? })
}

/// The regions of a network; their picture is that of one or two inputs.
#[pyfunction]
pub fn regions(
    py: Python,
    net: &Net,
    place: Option<Place>,
    max_regions: Option<u64>,
    count_only: bool,
    method: Option<String>,
    terms: Terms,
) -> PyResult<Complex> {
    let (network, name) = (Arc::clone(&net.network), net.name.clone());
    let found = work(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let of = ComplexView { name: &name, network: &network, domain, axes: None };
        let limits =
            ComplexLimits { deadline: watch.deadline.clone(), regions: Some(max_regions.unwrap_or(COUNTED)) };
        let walk = match method.as_deref() {
            None => network.input_width() > EDGES,
            Some("walk") => true,
            Some("edges") => false,
            Some(other) => anyhow::bail!("method {other:?}: expected \"edges\" or \"walk\""),
        };
        if walk { walked(&of, &limits, watch) } else { counted(&of, &network, &limits, count_only, watch) }
    })?;
    hand_over(py, found)
}

fn walked(of: &ComplexView, limits: &ComplexLimits, watch: &Watch) -> anyhow::Result<Drawable> {
    let walked =
        walk_regions(of.network, &of.domain, limits, &|regions| watch.say(&format!("{regions} regions")))?;
    let value = match walked.complete {
        true => answer::walked(of, &walked),
        false => answer::stopped(of, walked.regions as u64, 0.0),
    };
    Ok(undrawn(value))
}

fn counted(
    of: &ComplexView,
    network: &Arc<Network>,
    limits: &ComplexLimits,
    count_only: bool,
    watch: &Watch,
) -> anyhow::Result<Drawable> {
    let outcome = count_cells(of.network, &of.domain, limits, None, &|progress| {
        watch.say(&format!("{:.0} % of the domain, {} regions", 100.0 * progress.explored, progress.regions));
    })?;
    let (counts, method) = match outcome {
        CountOutcome::Complete { counts, method } => (counts, method),
        CountOutcome::Stopped { regions, explored, .. } => {
            return Ok(undrawn(answer::stopped(of, regions, explored)));
        }
    };
    let regions = counts.all.last().copied().unwrap_or(0);
    if count_only || regions > LISTED {
        return Ok(undrawn(answer::counted(of, &counts, method)));
    }
    let Some((complex, breakpoints)) = build(of, limits, watch)? else {
        return Ok(undrawn(answer::stopped(of, regions, 0.0)));
    };
    let value = answer::listed(of, &counts, &complex, &breakpoints);
    if complex.factor_dimension() > 2 {
        return Ok(undrawn(value));
    }
    let (network, name, domain) = (Arc::clone(network), of.name.to_owned(), of.domain.clone());
    Ok(drawn_by(value, move || {
        let of = ComplexView { name: &name, network: &network, domain, axes: None };
        picture::svg(&of, &complex, &breakpoints)
    }))
}

fn build(
    of: &ComplexView,
    limits: &ComplexLimits,
    watch: &Watch,
) -> anyhow::Result<Option<(PolyhedralComplex, BreakpointComplex)>> {
    let built = PolyhedralComplex::build(of.network, &of.domain, limits, &|progress| {
        watch.say(&format!("{} regions", progress.regions));
    })?;
    let Built::Complete(complex) = built else { return Ok(None) };
    let breakpoints = BreakpointComplex::new(&complex);
    Ok(Some((*complex, breakpoints)))
}

/// What a picture of a network shows, as JSON: regions and folds of two inputs, curves of one.
#[pyfunction]
pub fn plot(py: Python, net: &Net, place: Option<Place>, terms: Terms) -> PyResult<String> {
    let (network, name) = (Arc::clone(&net.network), net.name.clone());
    work(py, &terms, move |watch| {
        let inputs = network.input_width();
        ensure!(
            inputs <= 2,
            "a network with {inputs} inputs cannot be drawn; draw a slice: net.slice(points=...) or net.slice(directions=...)"
        );
        let domain = read_domain(place, inputs)?;
        let of = ComplexView { name: &name, network: &network, domain, axes: None };
        let limits = ComplexLimits { deadline: watch.deadline.clone(), regions: Some(DRAWN) };
        let (complex, breakpoints) = build(&of, &limits, watch)?.ok_or_else(|| {
            anyhow::anyhow!("a limit stopped the picture: more than {DRAWN} regions, or out of time")
        })?;
        Ok(shown(&of, &complex, &breakpoints).to_string())
    })
}

fn shown(of: &ComplexView, complex: &PolyhedralComplex, breakpoints: &BreakpointComplex) -> Value {
    if complex.factor_dimension() == 1 {
        let graph = picture::line(of, complex, breakpoints);
        let curves = graph.curves.iter().map(
            |curve| json!({"name": curve.name, "points": curve.points, "breakpoints": curve.breakpoints}),
        );
        return json!({"title": graph.title, "curves": curves.collect::<Vec<_>>()});
    }
    let plane = picture::plane(of, complex, breakpoints);
    let regions =
        plane.regions.iter().map(|region| json!({"corners": region.corners, "value": region.value}));
    let folds = plane.folds.iter().map(|fold| {
        json!({"from": fold.from, "to": fold.to, "layer": fold.layer + 1, "weight": fold.weight, "hidden": fold.hidden})
    });
    json!({
        "title": plane.title,
        "axes": plane.axes,
        "view": plane.view,
        "regions": regions.collect::<Vec<_>>(),
        "folds": folds.collect::<Vec<_>>(),
        "layers": plane.layers,
    })
}

/// The fold-set of a network; the picture is the dependency graph.
#[pyfunction]
pub fn folds(
    py: Python,
    net: &Net,
    place: Option<Place>,
    max_regions: u64,
    terms: Terms,
) -> PyResult<Complex> {
    let (network, name) = (Arc::clone(&net.network), net.name.clone());
    let found = work(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let of = ComplexView { name: &name, network: &network, domain, axes: None };
        let limits = ComplexLimits { deadline: watch.deadline.clone(), regions: Some(max_regions) };
        let Some((complex, breakpoints)) = build(&of, &limits, watch)? else {
            let programs =
                TransparencyLimits { deadline: watch.deadline.clone(), ..TransparencyLimits::default() };
            let transparency = Transparency::new(&network, &of.domain, &programs)?;
            return Ok(undrawn(fold_answer::stopped(&network, &transparency)));
        };
        let found = FoldAnswer::new(&network, &complex, &breakpoints, watch.seed);
        let picture = FoldPicture {
            title: format!("Dependency graph of the fold-set of {name}"),
            nodes: (1..)
                .zip(&found.folds.pieces)
                .map(|(at, piece)| FoldNode { name: at.to_string(), level: piece.level })
                .collect(),
            edges: found.graph.edges.iter().map(|&(from, to)| FoldEdge { from, to }).collect(),
        };
        Ok(drawn_by(found.to_json(), move || Some(picture.draw())))
    })?;
    hand_over(py, found)
}

/// Whether permutations and scalings turn one network into another, from their folds: JSON.
#[pyfunction]
pub fn match_folds(
    py: Python,
    a: &Net,
    b: &Net,
    place: Option<Place>,
    max_regions: u64,
    terms: Terms,
) -> PyResult<Option<String>> {
    let (networks, name) = ([Arc::clone(&a.network), Arc::clone(&b.network)], a.name.clone());
    work(py, &terms, move |watch| {
        let [a, b] = networks;
        let domain = read_domain(place, a.input_width())?;
        let of = ComplexView { name: &name, network: &a, domain, axes: None };
        let limits = ComplexLimits { deadline: watch.deadline.clone(), regions: Some(max_regions) };
        let Some((complex, breakpoints)) = build(&of, &limits, watch)? else { return Ok(None) };
        Ok(Some(relabelling(&complex, &breakpoints, [&a, &b], &watch.deadline)?.to_json().to_string()))
    })
}

/// The network on the plane through a point along two directions.
#[pyfunction]
pub fn slice_along(py: Python, net: &Net, origin: Vec<f64>, directions: [Vec<f64>; 2]) -> PyResult<Net> {
    sliced(py, net, |network| slice::along(network, &origin, &directions))
}

/// The network on the plane through three points.
#[pyfunction]
pub fn slice_through(py: Python, net: &Net, points: [Vec<f64>; 3]) -> PyResult<Net> {
    sliced(py, net, |network| slice::through(network, &points))
}

fn sliced(
    py: Python,
    net: &Net,
    cut: impl FnOnce(&Network) -> anyhow::Result<slice::Slice>,
) -> PyResult<Net> {
    let slice = cut(&net.network).map_err(|error| raise(py, &error))?;
    Ok(Net::computed(slice.network, &format!("a slice of {}", net.name)))
}
