//! Polyhedral complexes: counts, folds, pictures, slices.

use std::sync::Arc;

use anyhow::ensure;
use fiberscope::complex::ComplexOptions;
use fiberscope_core::{Domain, Network};
use fiberscope_report::Svg;
use fiberscope_report::folds::{FoldsAnswer, FoldsQuestion, StoppedFolds, folds as find_folds};
use fiberscope_report::regions::{
    COUNTED, ComplexView, DRAWN, Depth, RegionsQuestion, Search, build, picture, regions as find_regions,
    slice,
};
use pyo3::prelude::*;
use serde_json::Value;

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

/// A network on a domain.
fn view(name: String, network: Arc<Network>, domain: Domain) -> ComplexView {
    ComplexView { name, network, domain, axes: None }
}

fn limits(watch: &Watch, regions: u64) -> ComplexOptions<'static> {
    ComplexOptions::new().regions(regions).deadline(watch.deadline.clone()).seed(watch.seed)
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
    let (network, name) = (net.dense(py)?, net.name.clone());
    let found = work(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let question = RegionsQuestion {
            view: view(name, network, domain),
            limits: limits(watch, max_regions.unwrap_or(COUNTED)),
            search: match method.as_deref() {
                None => None,
                Some("walk") => Some(Search::Walk),
                Some("edges") => Some(Search::Edges),
                Some(other) => anyhow::bail!("method {other:?}: expected \"edges\" or \"walk\""),
            },
            depth: if count_only { Depth::Counts } else { Depth::Weights },
            resume: None,
        };
        let found = find_regions(question, &|text| watch.say(text), &|_| ())?;
        let value = found.to_json();
        Ok(if found.is_drawable() { drawn_by(value, move || found.draw()) } else { undrawn(value) })
    })?;
    hand_over(py, found)
}

/// What a picture of a network shows, as JSON: regions and folds of two inputs, curves of one.
#[pyfunction]
pub fn plot(py: Python, net: &Net, place: Option<Place>, terms: Terms) -> PyResult<String> {
    let (network, name) = (net.dense(py)?, net.name.clone());
    work(py, &terms, move |watch| {
        let inputs = network.input_width();
        ensure!(
            inputs <= 2,
            "a network with {inputs} inputs cannot be drawn; draw a slice: net.slice(points=...) or net.slice(directions=...)"
        );
        let domain = read_domain(place, inputs)?;
        let of = view(name, network, domain);
        let built = build(&of, &limits(watch, DRAWN), &|text| watch.say(text), &|_| ())?;
        let (complex, breakpoints) = built.ok_or_else(|| {
            anyhow::anyhow!("a limit stopped the picture: more than {DRAWN} regions, or out of time")
        })?;
        Ok(picture::value(&of, &complex, &breakpoints).to_string())
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
    let (network, name) = (net.dense(py)?, net.name.clone());
    let found = work(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let (view, limits) = (view(name.clone(), network, domain), limits(watch, max_regions));
        let question = FoldsQuestion { view, other: None, limits };
        Ok(match find_folds(&question, &|text| watch.say(text), &|_| ())? {
            FoldsAnswer::Folds(found) => {
                let picture = found.picture(&name);
                drawn_by(found.to_json(), move || Some(picture.draw()))
            }
            _ => undrawn(StoppedFolds::new(&question)?.to_json()),
        })
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
    let (networks, name) = ([a.dense(py)?, b.dense(py)?], a.name.clone());
    work(py, &terms, move |watch| {
        let [a, b] = networks;
        let domain = read_domain(place, a.input_width())?;
        let (view, limits) = (view(name, a, domain), limits(watch, max_regions));
        let question = FoldsQuestion { view, other: Some(b), limits };
        match find_folds(&question, &|text| watch.say(text), &|_| ())? {
            FoldsAnswer::Matched(found) => Ok(Some(found.to_json().to_string())),
            _ => Ok(None),
        }
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
