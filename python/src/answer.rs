//! What native functions hand to the package: frozen objects whose attributes `_native.pyi` types.
//!
//! `json` is the object that the command prints with `--json`; `text` says the same in words. A picture is
//! drawn when it is asked for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use fiberscope::train::TrainRun;
use fiberscope_report::Svg;
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyType;
use serde_json::json;

use crate::network::Net;
use crate::work::panicked;

/// An answer and its words.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Answer {
    pub json: String,
    pub text: String,
}

/// An answer about a polyhedral complex and its picture.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Complex {
    pub json: String,
    pub picture: Py<Picture>,
}

/// A functional dimension, its words and its picture.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Dimension {
    pub json: String,
    pub text: String,
    pub picture: Py<Picture>,
}

/// A decision, its words, and its certificate, if it has one.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Decision {
    pub json: String,
    pub text: String,
    pub certificate: Option<String>,
}

/// Bounds of the difference of two networks, their words, and the certificate, if there is one.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Measured {
    pub json: String,
    pub text: String,
    pub certificate: Option<String>,
}

/// Ranges of outputs, their words, the certificate, and the constant network that it names.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Ranges {
    pub json: String,
    pub text: String,
    pub certificate: Option<String>,
    pub constant: Py<Net>,
}

/// A network made from another, what is to be said of it, and the certificate that says how they compare, if there is one.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Rewriting {
    pub network: Py<Net>,
    pub json: String,
    pub text: String,
    pub certificate: Option<String>,
}

/// A network that was looked for, if it was found.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Search {
    pub network: Option<Py<Net>>,
    pub json: String,
}

/// Several networks.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Networks {
    pub networks: Vec<Py<Net>>,
    pub json: String,
}

impl Networks {
    /// The networks of trainings, with a list of objects.
    pub fn trained(py: Python, runs: Vec<TrainRun>) -> PyResult<Self> {
        let value = runs.iter().map(|run| {
            json!({
                "seed": run.state.seed, "finished": run.finished, "diverged": run.state.diverged,
                "records": run.state.records,
            })
        });
        let json = json!(value.collect::<Vec<_>>()).to_string();
        let net =
            |run: TrainRun| Net::object(py, run.network, &format!("trained from seed {}", run.state.seed));
        Ok(Networks { networks: runs.into_iter().map(net).collect::<PyResult<_>>()?, json })
    }
}

/// A network with a proved property, and other parameters with the same function if there are some.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Construction {
    pub network: Py<Net>,
    pub twin: Option<Py<Net>>,
    pub certificate: String,
    pub claims: Vec<String>,
}

/// Experiments that were run again, the page about them, and whether nothing was cut short.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Reproduction {
    pub json: String,
    pub text: String,
    pub page: PathBuf,
    pub complete: bool,
}

/// What happened along a training.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Course {
    pub json: String,
    pub text: String,
    pub picture: Py<Picture>,
}

/// The samples of a data set.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Samples {
    pub inputs: Py<PyArray2<f64>>,
    pub targets: Py<PyArray2<f64>>,
}

type Draw = Box<dyn FnOnce() -> Option<String> + Send>;

/// A picture that is drawn once, when it is asked for.
#[pyclass(frozen, module = "fiberscope._native")]
pub struct Picture {
    svg: OnceLock<Option<String>>,
    draw: Mutex<Option<Draw>>,
}

impl Picture {
    /// The picture that `draw` makes, if there is something to be seen.
    pub fn new(py: Python, draw: impl FnOnce() -> Option<Svg> + Send + 'static) -> PyResult<Py<Self>> {
        let document = || draw().map(|svg| svg.to_document());
        Py::new(py, Picture { svg: OnceLock::new(), draw: Mutex::new(Some(Box::new(document))) })
    }

    fn document(&self) -> Option<&str> {
        let draw = || self.draw.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.svg.get_or_init(|| draw().and_then(|draw| draw())).as_deref()
    }
}

#[pymethods]
impl Picture {
    /// A picture that was drawn before.
    #[new]
    fn of(svg: Option<String>) -> Self {
        Picture { svg: OnceLock::from(svg), draw: Mutex::default() }
    }

    /// Whether it was drawn already.
    #[getter]
    fn drawn(&self) -> bool {
        self.svg.get().is_some()
    }

    /// The SVG document, if there is something to be seen.
    fn svg(&self, py: Python) -> PyResult<Option<&str>> {
        let drawn = py.detach(|| catch_unwind(AssertUnwindSafe(|| self.document())));
        drawn.map_err(|payload| panicked(py, &*payload))
    }

    /// Pickles and copies hold the drawn picture.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, (Option<String>,))> {
        let svg = slf.get().svg(slf.py())?.map(str::to_owned);
        Ok((slf.get_type(), (svg,)))
    }
}
