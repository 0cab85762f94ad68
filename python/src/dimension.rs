//! Functional dimension and the neural tangent kernel.

use anyhow::Context;
use fiberscope::dimension::ntk::{Kernel, KernelKind};
use fiberscope::dimension::{
    Device as Eliminator, DeviceChoice, DimensionError, DimensionOptions, DimensionProgress, NeuronState,
    Patterns, functional_dimension,
};
use fiberscope::limit::{Limit, LimitReached, Progress};
use fiberscope::train::state_signs;
use fiberscope_report::dimension::{BatchQuestion, DimensionSummary, RegionQuestion, on_batch, on_regions};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use serde_json::json;

use crate::answer::{Dimension, Picture};
use crate::error::raise;
use crate::network::{Net, Place, matrix, read_domain};
use crate::work::{Terms, Watch, work};

/// Where eliminations run, started once.
#[pyclass(frozen, module = "fiberscope._native")]
pub struct Device(pub Eliminator);

#[pymethods]
impl Device {
    /// What is called `cpu`, `cuda`, `cuda:N` or `auto`.
    #[new]
    fn new(py: Python, name: &str) -> PyResult<Self> {
        let opened = py.detach(|| {
            let choice: DeviceChoice = name.parse().map_err(anyhow::Error::msg)?;
            Eliminator::open(choice).map_err(DimensionError::from).with_context(|| format!("device {name:?}"))
        });
        opened.map(Device).map_err(|error| raise(py, &error))
    }

    /// Why there is no GPU where one would have been taken.
    #[getter]
    fn fallback(&self) -> Option<String> {
        self.0.fallback().map(ToString::to_string)
    }
}

fn options(
    watch: &Watch,
    device: &Eliminator,
    primes: Option<usize>,
    generic: bool,
    memory: usize,
) -> DimensionOptions<'static> {
    DimensionOptions::new()
        .device(device.clone())
        .seed(watch.seed)
        .primes(primes)
        .generic(generic)
        .memory(memory.saturating_mul(1 << 20))
        .deadline(watch.deadline.clone())
}

/// The functional dimension on a batch.
#[pyfunction]
pub fn dimension_on_batch(
    py: Python,
    net: &Net,
    points: PyReadonlyArray2<f64>,
    spectrum: bool,
    float32: bool,
    generic: bool,
    primes: Option<usize>,
    memory: usize,
    device: &Device,
    terms: Terms,
) -> PyResult<Dimension> {
    let (network, name, points) = (net.dense(py)?, net.name.clone(), matrix(&points));
    let device = device.0.clone();
    let found = work(py, &terms, move |watch| {
        let question = BatchQuestion {
            place: "an array".into(),
            points: &points,
            columns: None,
            spectrum,
            kind: KernelKind::Full,
            float32,
        };
        let options = options(watch, &device, primes, generic, memory);
        on_batch(&name, &network, &question, &options, &|text| watch.say(text))
    })?;
    answer(py, found)
}

/// The functional dimension on a decisive set.
#[pyfunction]
pub fn dimension_on_regions(
    py: Python,
    net: &Net,
    place: Option<Place>,
    samples: usize,
    max_regions: u64,
    primes: Option<usize>,
    memory: usize,
    device: &Device,
    terms: Terms,
) -> PyResult<Dimension> {
    let (network, name, device) = (net.dense(py)?, net.name.clone(), device.0.clone());
    let found = work(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let question = RegionQuestion { domain: &domain, samples, max_regions };
        let options = options(watch, &device, primes, false, memory);
        on_regions(&name, &network, &question, &options, &|text| watch.say(text))
    })?;
    answer(py, found)
}

fn answer(py: Python, found: DimensionSummary) -> PyResult<Dimension> {
    let (json, text) = (found.to_json().to_string(), found.to_text());
    Ok(Dimension { json, text, picture: Picture::new(py, move || Some(found.draw()))? })
}

/// The empirical neural tangent kernel; with `trace` summed over the outputs.
#[pyfunction]
pub fn kernel<'py>(
    py: Python<'py>,
    net: &Net,
    points: PyReadonlyArray2<f64>,
    trace: bool,
    memory: usize,
    terms: Terms,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (network, points) = (net.dense(py)?, matrix(&points));
    let (size, entries) = work(py, &terms, move |watch| {
        let kernel = Kernel::new(&network, &points)?;
        let kind = if trace { KernelKind::Trace } else { KernelKind::Full };
        let size = kernel.size(kind);
        let (needed, allowed) = (size.saturating_mul(size) >> 17, memory);
        if needed > allowed {
            let when = format!("by the kernel, which takes {needed} MB where {allowed} MB are allowed");
            return Err(LimitReached { limit: Limit::Memory, when }.into());
        }
        let mut entries = Vec::with_capacity(size * size);
        kernel.blocks(kind, memory.saturating_mul(1 << 18), |block| {
            watch.say(&format!("{} of {size} rows of the kernel", entries.len() / size.max(1)));
            entries.extend_from_slice(block);
            anyhow::ensure!(!watch.is_stopped(), "nobody waits for the kernel");
            Ok(())
        })?;
        Ok((size, entries))
    })?;
    entries.into_pyarray(py).reshape([size, size])
}

/// What training is watched by: regions on a batch, states of neurons by layer, and with `dimension` the
/// rank; JSON.
#[pyfunction]
pub fn observe(
    py: Python,
    net: &Net,
    points: PyReadonlyArray2<f64>,
    dimension: bool,
    memory: usize,
    device: &Device,
    terms: Terms,
) -> PyResult<String> {
    let (network, points, device) = (net.dense(py)?, matrix(&points), device.0.clone());
    work(py, &terms, move |watch| {
        let tell = |_: DimensionProgress| watch.say("rank");
        let options =
            options(watch, &device, None, false, memory).layer_bound(false).progress(Progress::to(&tell));
        let (rank, doubt, regions, states) = if dimension {
            let found = functional_dimension(&network, &points, &options)?;
            let bounds = (found.rank.lower, found.rank.upper);
            (Some(bounds), Some(found.rank.failure_probability), found.regions_sampled, found.states)
        } else {
            if points.cols() != network.input_width() {
                let (expected, found) = (network.input_width(), points.cols());
                return Err(DimensionError::Columns { expected, found }.into());
            }
            let patterns = Patterns::of(&network, &points, &options)?;
            (None, None, patterns.regions().len(), patterns.states())
        };
        let layers = states.iter().map(|layer| {
            let count = |state| layer.count(state);
            json!({
                "switching": count(NeuronState::Switching), "active": count(NeuronState::Active),
                "inactive": count(NeuronState::Inactive),
            })
        });
        Ok(json!({
            "rank": rank.map(|rank| rank.0), "rank_upper": rank.map(|rank| rank.1), "doubt": doubt,
            "regions": regions,
            "layers": layers.collect::<Vec<_>>(), "states": state_signs(&states),
        })
        .to_string())
    })
}
