//! Linear networks: strata, moves, paths, samples and walks.

use anyhow::{Context, bail, ensure};
use fiberscope::linear::{
    ActiveBlock, Bar, FlowBases, LinearError, LinearNetwork, ProductFiber, Stratum, StratumDag,
    StratumOptions, Tolerance, compress_block, count_strata,
};
use fiberscope_report::linear::inspect::{InspectQuestion, inspect, value};
use fiberscope_report::linear::motion::{
    SampleOver, StepRequest, along, path, product_difference, sample, walk,
};
use fiberscope_report::linear::moves::{Moved, list_value};
use fiberscope_report::linear::{stratum_json, write_json};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::answer::{Networks, Search};
use crate::network::{Net, Place, read_domain};
use crate::work::{Terms, Watch, work};

/// The relative tolerance and the scale.
type Zero = (f64, Option<f64>);

fn tolerance((relative, scale): Zero) -> Tolerance {
    Tolerance { relative, scale }
}

fn named(py: Python, networks: &[LinearNetwork], name: &str, value: &Value) -> PyResult<Networks> {
    let object = |network: &LinearNetwork| Net::object(py, network.to_network(), name);
    let networks = networks.iter().map(object).collect::<PyResult<_>>()?;
    Ok(Networks { networks, json: value.to_string() })
}

fn dag(widths: Vec<usize>, rank: usize, strata: usize, watch: &Watch) -> anyhow::Result<StratumDag> {
    let limits = StratumOptions::new().strata(strata).deadline(watch.deadline.clone());
    match StratumDag::build(&ProductFiber::new(widths, rank)?, &limits) {
        Err(error @ LinearError::TooManyStrata { .. }) => {
            bail!("{error}; raise max_strata, or use count_only=True")
        }
        built => Ok(built?),
    }
}

/// The strata of a fiber: JSON.
#[pyfunction]
pub fn linear_strata(
    py: Python,
    widths: Vec<usize>,
    rank: usize,
    max_strata: usize,
    count_only: bool,
    terms: Terms,
) -> PyResult<String> {
    work(py, &terms, move |watch| {
        if count_only {
            let fiber = ProductFiber::new(widths, rank)?;
            let count = count_strata(&fiber)?.to_string();
            return Ok(json!({"widths": fiber.widths(), "rank": rank, "count": count}).to_string());
        }
        let mut bytes = Vec::new();
        write_json(&dag(widths, rank, max_strata, watch)?, &mut bytes)?;
        Ok(String::from_utf8(bytes)?)
    })
}

/// The stratum of a network: JSON.
#[pyfunction]
pub fn linear_inspect(
    py: Python,
    net: &Net,
    layers: Option<(usize, usize)>,
    block: Option<usize>,
    place: Option<Place>,
    zero: Zero,
    exact: bool,
    bases: bool,
    spaces: bool,
    terms: Terms,
) -> PyResult<String> {
    let (network, name) = (net.dense(py)?, net.name.clone());
    work(py, &terms, move |_| {
        ensure!(block != Some(0), "block: layers count from 1");
        ensure!(layers.is_none_or(|(first, _)| first > 0), "layers: layers count from 1");
        let domain = read_domain(place, network.input_width())?;
        let question = InspectQuestion {
            name,
            layers,
            block,
            tolerance: tolerance(zero),
            exact,
            bases,
            spaces,
            subspaces: false,
        };
        let found = inspect(&question, &network, &domain)?;
        Ok(value(&question, &found)?.to_string())
    })
}

/// The network with the always-active neurons of a layer replaced by as few as possible.
#[pyfunction]
pub fn linear_compress(
    py: Python,
    net: &Net,
    block: usize,
    place: Option<Place>,
    zero: Zero,
    terms: Terms,
) -> PyResult<Net> {
    let network = net.dense(py)?;
    let small = work(py, &terms, move |_| {
        ensure!(block > 0, "block: layers count from 1");
        let domain = read_domain(place, network.input_width())?;
        let block = ActiveBlock::find(&network, block - 1, &domain)?;
        Ok(compress_block(&network, &block, &domain, zero.0)?)
    })?;
    Ok(net.derived(small, "compressed"))
}

/// A path between two networks, or to the canonical point.
#[pyfunction]
pub fn linear_path(
    py: Python,
    a: &Net,
    b: Option<PyRef<Net>>,
    steps: u32,
    through_minimum: bool,
    zero: Zero,
    terms: Terms,
) -> PyResult<Networks> {
    let (first, second) = (a.dense(py)?, b.map(|b| b.dense(py)).transpose()?);
    let (points, value) = work(py, &terms, move |watch| {
        let a = LinearNetwork::from_network(&first).context("the first network")?;
        let b = second.map(|b| LinearNetwork::from_network(&b)).transpose().context("the second network")?;
        let (curve, note) = match path(&a, b.as_ref(), through_minimum, tolerance(zero))? {
            Ok(found) => found,
            Err(reason) => return Ok((Vec::new(), json!({"connected": false, "reason": reason}))),
        };
        let (points, difference) = along(&curve, &a, steps, &watch.deadline)?;
        watch.deadline.check("before all points of the path were known")?;
        Ok((points, json!({"connected": true, "path": note, "max_difference": difference})))
    })?;
    named(py, &points, "a point of the path", &value)
}

/// The moves of a network, or the network after one of them.
#[pyfunction]
pub fn linear_move(
    py: Python,
    net: &Net,
    kind: Option<String>,
    numbers: Vec<usize>,
    epsilon: f64,
    zero: Zero,
    terms: Terms,
) -> PyResult<Search> {
    let network = net.dense(py)?;
    let (end, value) = work(py, &terms, move |_| {
        let network = LinearNetwork::from_network(&network)?;
        let flow = FlowBases::compute(&network, tolerance(zero))?;
        let bar = |at: usize| Bar { start: numbers[at], end: numbers[at + 1] };
        let request = match (kind.as_deref(), numbers.len()) {
            (None, _) => return Ok((None, list_value(&Stratum::new(flow.barcode().rank_list())))),
            (Some("up"), 4) => StepRequest::Up(bar(0), bar(2), epsilon),
            (Some("down"), 4) => StepRequest::Down(bar(0), bar(2)),
            (Some("cut"), 3) => StepRequest::Cut(bar(0), numbers[2]),
            (Some("minimum"), 0) => StepRequest::ToMinimum,
            (Some(kind), _) => bail!(
                "{kind}: expected up=((h, k), (i, l)), down=((h, l), (i, k)), cut=((h, l), k) or to_minimum=True"
            ),
        };
        let moved = Moved::new(&network, &flow, request, tolerance(zero))?;
        let value = moved.to_json();
        Ok((Some(moved.step.end), value))
    })?;
    let moved = |end: LinearNetwork| Py::new(py, net.derived(end.to_network(), "moved"));
    Ok(Search { network: end.map(moved).transpose()?, json: value.to_string() })
}

/// Random networks of a stratum.
#[pyfunction]
pub fn linear_sample(
    py: Python,
    widths: Vec<usize>,
    rank: usize,
    max_strata: usize,
    stratum: Option<usize>,
    product: Option<PyRef<Net>>,
    integer: bool,
    count: usize,
    zero: Zero,
    terms: Terms,
) -> PyResult<Networks> {
    let product = product.map(|net| net.dense(py)).transpose()?;
    let (points, value) = work(py, &terms, move |watch| {
        let dag = dag(widths, rank, max_strata, watch)?;
        let at = match stratum {
            Some(at) if at < dag.len() => at,
            Some(at) => bail!("stratum {at}: the strata have numbers 0 to {}", dag.len() - 1),
            None => (0..dag.len()).find(|&at| dag.dim(at) == dag.fiber_dimension()).unwrap_or(0),
        };
        let stratum = dag.stratum(at);
        let product = product.map(|net| LinearNetwork::from_network(&net)).transpose().context("product")?;
        let over = match &product {
            Some(model) => SampleOver::Product(model, tolerance(zero)),
            None if integer => SampleOver::Integers,
            None => SampleOver::Anything,
        };
        let draw = |k: usize| sample(stratum.barcode(), &over, watch.seed.wrapping_add(k as u64));
        let points = (0..count).map(draw).collect::<Result<Vec<_>, _>>()?;
        let difference = product
            .as_ref()
            .map(|model| points.iter().map(|point| product_difference(point, model)).fold(0.0, f64::max));
        Ok((points, json!({"stratum": stratum_json(&stratum), "number": at, "max_difference": difference})))
    })?;
    named(py, &points, "a network of the stratum", &value)
}

/// A walk along a stratum.
#[pyfunction]
pub fn linear_walk(
    py: Python,
    net: &Net,
    velocity: Option<PyRef<Net>>,
    project: bool,
    length: f64,
    steps: u32,
    zero: Zero,
    terms: Terms,
) -> PyResult<Networks> {
    let (network, velocity) = (net.dense(py)?, velocity.map(|net| net.dense(py)).transpose()?);
    let (points, value) = work(py, &terms, move |watch| {
        ensure!(length.is_finite(), "length: expected a finite number");
        let network = LinearNetwork::from_network(&network)?;
        let velocity =
            velocity.map(|net| LinearNetwork::from_network(&net)).transpose().context("velocity")?;
        let velocity = velocity.as_ref().map(|velocity| (velocity, project));
        let walked = walk(&network, velocity, (length, steps), tolerance(zero), watch.seed, &watch.deadline)?;
        watch.deadline.check("before the end of the walk")?;
        let value = walked.to_json(length, steps as usize);
        Ok((walked.points, value))
    })?;
    named(py, &points, &format!("{}, walked", net.name), &value)
}
