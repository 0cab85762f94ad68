//! Extraction: a network from a Python function that stands for it.

use std::sync::{Arc, Mutex, PoisonError};

use fiberscope::extract::{Extraction, Options, Oracle, OracleError, Verdict, extract as recover};
use fiberscope_core::Matrix;
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use serde_json::{Value, json};

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
        let value = value(&found).to_string();
        Ok((found.network, value))
    });
    let raised = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (network, value) = match (done, raised) {
        (Err(_), Some(exception)) => return Err(exception),
        (done, _) => done?,
    };
    Ok((network.map(|network| Net::computed(network, "extracted network")), value))
}

fn value(found: &Extraction) -> Value {
    let (verdict, reason, disagreements) = match &found.verdict {
        Verdict::Verified => ("verified", None, &[][..]),
        Verdict::Partial { reason, disagreements } => ("partial", Some(reason), disagreements.as_slice()),
        Verdict::Failed { reason } => ("failed", Some(reason), &[][..]),
    };
    let layers = found
        .layers
        .iter()
        .map(|layer| json!({"neurons": layer.neurons, "always_active": layer.always_active}));
    let spent = found
        .spent
        .iter()
        .map(|(layer, step, queries)| json!({"layer": layer + 1, "step": step.name(), "queries": queries}));
    let disagreements = disagreements
        .iter()
        .map(|each| json!({"x": each.x, "oracle": each.oracle, "recovered": each.recovered}));
    json!({
        "verdict": verdict,
        "reason": reason,
        "disagreements": disagreements.collect::<Vec<_>>(),
        "queries": found.queries,
        "layers": layers.collect::<Vec<_>>(),
        "spent": spent.collect::<Vec<_>>(),
        "fidelity": found.fidelity.as_ref().map(|fidelity| json!({
            "points": fidelity.points, "max_difference": fidelity.max_difference, "epsilon": fidelity.epsilon,
            "delta": fidelity.delta, "lines": fidelity.lines, "kinks": fidelity.kinks,
        })),
        "noise": found.noise,
        "remarks": found.remarks,
    })
}
