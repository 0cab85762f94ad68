//! Extraction: a network from a Python function that stands for it.

use std::sync::{Arc, Mutex, PoisonError};

use fiberscope::extract::{Options, Oracle, OracleError, extract as recover};
use fiberscope_answer::extraction::summary;
use fiberscope_core::Matrix;
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::network::{Net, matrix};
use crate::work::{Terms, Watch, work};

/// A Python function that takes an array with a query per row and returns the answers.
struct Function<'a> {
    function: &'a Py<PyAny>,
    inputs: usize,
    outputs: usize,
    watch: &'a Watch,
    failure: &'a Mutex<Option<PyErr>>,
}

impl Oracle for Function<'_> {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
        self.watch.heed();
        let shape = [points.rows(), points.cols()];
        let entries = points.entries().to_vec();
        Python::attach(|py| {
            let answers = entries
                .into_pyarray(py)
                .reshape(shape)
                .and_then(|points| self.function.call1(py, (points,)))
                .and_then(|answers| Ok(matrix(&answers.bind(py).extract::<PyReadonlyArray2<f64>>()?)));
            answers.map_err(|error| {
                let sentence = OracleError(error.to_string());
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                sentence
            })
        })
    }
}

/// Recovers a network from the answers of a function: the network, and JSON. An exception of the function is passed on.
#[pyfunction]
pub fn extract(
    py: Python,
    function: Py<PyAny>,
    inputs: usize,
    outputs: usize,
    widths: Option<Vec<usize>>,
    domain: (f64, f64),
    max_queries: Option<u64>,
    noise: Option<f64>,
    terms: Terms,
) -> PyResult<(Option<Net>, String)> {
    let failure = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&failure);
    let done = work(py, &terms, move |watch| {
        let mut oracle = Function { function: &function, inputs, outputs, watch, failure: &seen };
        let options =
            Options { widths, domain, max_queries, noise, seed: watch.seed, deadline: watch.deadline() };
        let found = recover(&mut oracle, &options, &mut |now| {
            let (layer, step, neurons) = (now.layer + 1, now.step, now.neurons);
            watch.say(&format!("layer {layer}, {step}: {neurons} neurons found, {} queries", now.queries));
        })?;
        let name = "a Python function".into();
        let value = summary(&found, name, (inputs, outputs), domain).to_json().to_string();
        Ok((found.network, value))
    });
    let raised = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (network, value) = match (done, raised) {
        (Err(_), Some(exception)) => return Err(exception),
        (done, _) => done?,
    };
    Ok((network.map(|network| Net::computed(network, "extracted network")), value))
}
