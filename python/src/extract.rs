//! Extraction: a network from a Python function that stands for it, and what a network leaks.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fiberscope::extract::{
    ExtractError, ExtractOptions, ExtractProgress, Oracle, OracleError, extract as recover, extract_labels,
};
use fiberscope::limit::Progress;
use fiberscope_core::Matrix;
use fiberscope_io::queries::{Log, Run};
use fiberscope_report::extraction::{
    ExtractionSummary, LabelSummary, Recorder, compare, leak, place, too_many_for_classes,
};
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::answer::{Answer, Search};
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
        if self.watch.is_stopped() {
            return Err(OracleError("nobody waits for the answers".into()));
        }
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

/// So many queries are asked at once.
const BATCH: usize = 4096;

/// Recovers a network from the answers of a function. An exception of the function is passed on.
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
    truth: Option<PyRef<Net>>,
    log: Option<PathBuf>,
    labels: bool,
    terms: Terms,
) -> PyResult<Search> {
    let truth = truth.map(|truth| truth.dense(py)).transpose()?;
    let failure = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&failure);
    let done = work(py, &terms, move |watch| {
        // Where only classes are answered, an answer is one number.
        let answered = if labels { 1 } else { outputs };
        let oracle = Function { function: &function, inputs, outputs: answered, watch, failure: &seen };
        let (seed, deadline) = (watch.seed, watch.deadline.clone());
        let opened = log.as_deref().map(|path| {
            Log::open(path, &Run { inputs, outputs: answered, seed, domain, widths: widths.clone(), noise })
        });
        let mut recorder = Recorder::new(Box::new(oracle), opened.transpose()?, BATCH);
        let show = |now: ExtractProgress| {
            let layer = place(now.layer, now.step).map_or(String::new(), |l| format!("layer {}, ", l + 1));
            let (step, neurons, queries) = (now.step, now.neurons, now.queries);
            watch.say(&format!("{layer}{step}: {neurons} neurons found, {queries} queries"));
        };
        let options = ExtractOptions::new()
            .widths(widths)
            .domain(domain.0, domain.1)
            .max_queries(max_queries)
            .noise(noise)
            .seed(seed)
            .deadline(deadline)
            .progress(Progress::to(&show));
        if labels {
            if let Some(reason) = too_many_for_classes((inputs, outputs)) {
                return Err(OracleError(reason).into());
            }
            let found = extract_labels(&mut recorder, Some(outputs), &options)?;
            let mut summary = LabelSummary::new(found, "a Python function".into(), (inputs, outputs), domain);
            (summary.asked, summary.replayed) = (recorder.asked(), recorder.replayed());
            summary.log = log.map(|path| path.display().to_string());
            summary.compare(truth.as_deref());
            let value = summary.to_json().to_string();
            return Ok((summary.found.network, value));
        }
        let found = recover(&mut recorder, &options)?;
        let mut summary =
            ExtractionSummary::new(found, "a Python function".into(), (inputs, outputs), domain);
        (summary.asked, summary.replayed) = (recorder.asked(), recorder.replayed());
        summary.log = log.map(|path| path.display().to_string());
        summary.truth = truth
            .zip(summary.found.network.as_ref())
            .map(|(truth, network)| compare(&truth, network, &summary.found, &options));
        summary.look_into_identifiability(&options.deadline);
        let value = summary.to_json().to_string();
        Ok((summary.found.network, value))
    });
    let raised = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (network, json) = match (done, raised) {
        (Err(_), Some(exception)) => return Err(exception),
        (done, _) => done?,
    };
    let network = network.map(|network| Net::object(py, network, "extracted network")).transpose()?;
    Ok(Search { network, json })
}

/// What answers of lower and lower precision leak of a network.
#[pyfunction]
pub fn leak_report(
    py: Python,
    net: &Net,
    widths: Option<Vec<usize>>,
    domain: (f64, f64),
    max_queries: Option<u64>,
    noise: Option<f64>,
    terms: Terms,
) -> PyResult<Answer> {
    let (network, name) = (net.dense(py)?, net.name.clone());
    work(py, &terms, move |watch| {
        let (lo, hi) = domain;
        // Not a number is no end.
        if lo.partial_cmp(&hi) != Some(std::cmp::Ordering::Less) {
            return Err(ExtractError::Domain { lo, hi }.into());
        }
        let (seed, deadline) = (watch.seed, watch.deadline.clone());
        let options = ExtractOptions::new()
            .widths(widths)
            .domain(lo, hi)
            .max_queries(max_queries)
            .noise(noise)
            .seed(seed)
            .deadline(deadline);
        let report = leak(&name, &network, &options, None, &|text| watch.say(text), &|_| {});
        Ok(Answer { json: report.to_json().to_string(), text: report.to_text() })
    })
}
