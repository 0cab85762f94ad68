//! Questions cut into tasks, for executors of Python.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use fiberscope::difference::DifferenceOptions;
use fiberscope::dimension::{Device as Eliminator, DimensionOptions};
use fiberscope::equivalence::EquivalenceOptions;
use fiberscope::tasks::{
    Answer, CellsQuestion, DifferenceQuestion, DimensionQuestion, EquivalenceQuestion, Merged, Plan as Tasks,
    Results, VolumeQuestion,
};
use fiberscope_core::{Matrix, Network, Rational};
use fiberscope_report::equivalence::data_points;
use fiberscope_report::reading::HowRead;
use fiberscope_report::tasks::{Command, DataNote, Remembered, tell};
use fiberscope_report::volume::samples_for;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::answer::{Measured, Networks};
use crate::dimension::Device;
use crate::error::raise;
use crate::network::{Net, Place, matrix, read_domain};
use crate::work::{Terms, work};

/// A question with its networks, cut into tasks.
#[pyclass(frozen, module = "fiberscope._native")]
pub struct Plan {
    tasks: Arc<Tasks>,
}

/// Results of the tasks of a plan.
#[pyclass(frozen, module = "fiberscope._native")]
pub struct TaskResults {
    plan: Arc<Tasks>,
    results: Arc<Mutex<Results>>,
}

#[pymethods]
impl Plan {
    /// Reads the bytes of a plan.
    #[new]
    fn new(py: Python, bytes: &[u8]) -> PyResult<Self> {
        let tasks = Tasks::from_bytes(bytes.to_vec()).map_err(|error| raise(py, &error.into()))?;
        Ok(Plan { tasks: Arc::new(tasks) })
    }

    /// The plan as bytes.
    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.tasks.bytes())
    }

    /// Its name.
    #[getter]
    fn digest(&self) -> &str {
        self.tasks.digest()
    }

    /// Does a task, eliminations on a device, and hands over its result; after `slice` seconds what is left are new tasks.
    fn work<'py>(
        &self,
        py: Python<'py>,
        task: Vec<u8>,
        slice: Option<f64>,
        device: Option<&Device>,
        terms: Terms,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let plan = Arc::clone(&self.tasks);
        let device = device.map_or_else(Eliminator::cpu, |device| device.0.clone());
        let result = work(py, &terms, move |watch| {
            let slice = slice.and_then(|slice| Duration::try_from_secs_f64(slice).ok());
            let deadline = slice.map_or(watch.deadline.clone(), |slice| watch.deadline.at_most(slice));
            Ok(plan.work_on(&device, &task, &deadline)?)
        })?;
        Ok(PyBytes::new(py, &result))
    }

    /// No results so far.
    fn results(&self) -> TaskResults {
        let results = Arc::new(Mutex::new(Results::new(&self.tasks)));
        TaskResults { plan: Arc::clone(&self.tasks), results }
    }
}

#[pymethods]
impl TaskResults {
    /// Adds a result; how many tasks it leaves.
    fn add(&self, py: Python, result: &[u8]) -> PyResult<usize> {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.add(result).map(|added| added.left).map_err(|error| raise(py, &error.into()))
    }

    /// The tasks that are missing, each with its name.
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        match results.missing().map_err(|error| raise(py, &error.into()))? {
            Merged::Missing(tasks) => {
                Ok(tasks.into_iter().map(|task| (task.name, PyBytes::new(py, &task.bytes))).collect())
            }
            Merged::Answer(_) | Merged::Known => Ok(Vec::new()),
        }
    }

    /// The networks of a plan for trainings.
    fn trained(&self, py: Python, terms: Terms) -> PyResult<Networks> {
        let runs = self.merged(py, &terms, |answer| match answer {
            Answer::Trainings(runs) => Some(runs),
            _ => None,
        })?;
        Networks::trained(py, runs)
    }

    /// The rows of a plan for a survey.
    fn surveyed(&self, py: Python, terms: Terms) -> PyResult<String> {
        let rows = self.merged(py, &terms, |answer| match answer {
            Answer::Survey(rows) => Some(rows),
            _ => None,
        })?;
        Ok(serde_json::json!(rows).to_string())
    }

    /// The answer; pages and tables are written into a folder.
    #[pyo3(signature = (terms, folder=None))]
    fn answer(&self, py: Python, terms: Terms, folder: Option<PathBuf>) -> PyResult<Measured> {
        let (plan, results) = (Arc::clone(&self.plan), Arc::clone(&self.results));
        work(py, &terms, move |watch| {
            let merged = results.lock().unwrap_or_else(PoisonError::into_inner).merge(&watch.deadline)?;
            let Merged::Answer(answer) = merged else { bail!("tasks are missing") };
            let told = tell(&plan, *answer, folder.as_deref().unwrap_or(Path::new(".")), &watch.deadline)?;
            let certificate = told.certificate.map(|certificate| certificate.to_json());
            Ok(Measured { json: told.value.to_string(), text: told.text, certificate })
        })
    }
}

impl TaskResults {
    /// The answer, if it is of this kind.
    fn merged<T: Send + 'static>(
        &self,
        py: Python,
        terms: &Terms,
        kind: impl FnOnce(Answer) -> Option<T> + Send + 'static,
    ) -> PyResult<T> {
        let results = Arc::clone(&self.results);
        work(py, terms, move |watch| {
            let merged = results.lock().unwrap_or_else(PoisonError::into_inner).merge(&watch.deadline)?;
            let Merged::Answer(answer) = merged else { bail!("tasks are missing") };
            kind(*answer).context("the plan is for another question")
        })
    }
}

/// A note of the command that asks, for [`tell`]; how networks were read is known to who has them.
pub fn note(command: Command) -> serde_json::Value {
    Remembered::new(command, &HowRead::default()).note()
}

pub fn planned(
    py: Python,
    terms: &Terms,
    plan: impl FnOnce(&crate::work::Watch) -> anyhow::Result<Tasks> + Send + 'static,
) -> PyResult<Plan> {
    Ok(Plan { tasks: Arc::new(work(py, terms, plan)?) })
}

/// A plan for the regions of a network.
#[pyfunction]
pub fn plan_regions(
    py: Python,
    net: &Net,
    place: Option<Place>,
    count_only: bool,
    tasks: usize,
    terms: Terms,
) -> PyResult<Plan> {
    let (network, model) = (net.dense(py)?, net.name.clone());
    planned(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let note = note(Command::Regions { model, domain: domain.clone(), count_only });
        Ok(Tasks::about(CellsQuestion::new(domain), &[&network], tasks, note, &watch.deadline)?)
    })
}

/// A plan for bounds of the largest difference.
#[pyfunction]
pub fn plan_diff(
    py: Python,
    a: &Net,
    b: &Net,
    place: Option<Place>,
    epsilon: Option<f64>,
    gap: f64,
    as_given: bool,
    data: Option<PyReadonlyArray2<f64>>,
    tasks: usize,
    terms: Terms,
) -> PyResult<Plan> {
    let (a, b, points) = (a.dense(py)?, b.dense(py)?, data.as_ref().map(matrix));
    planned(py, &terms, move |watch| {
        let domain = read_domain(place, a.input_width())?;
        let rows =
            points.map(|points| fiberscope_report::difference::rows(&points, a.input_width())).transpose()?;
        let exactly = |epsilon| Rational::from_f64(epsilon).context("epsilon: expected a finite number");
        let epsilon = epsilon.map(exactly).transpose()?;
        let mut options = DifferenceOptions::new()
            .align(!as_given)
            .seed(watch.seed)
            .gap(gap)
            .deadline(watch.deadline.clone())
            .points(rows.unwrap_or_default());
        options.epsilon.clone_from(&epsilon);
        let note = note(Command::Diff { domain: domain.clone(), epsilon, gap });
        let question = DifferenceQuestion::new(&a, &b, &domain, &options)?;
        Ok(Tasks::about(question, &[&a, &b], tasks, note, &watch.deadline)?)
    })
}

/// A plan for the question whether two networks are equal.
#[pyfunction]
pub fn plan_equiv(
    py: Python,
    a: &Net,
    b: &Net,
    place: Option<Place>,
    exact: bool,
    tolerance: Option<f64>,
    data: Option<PyReadonlyArray2<f64>>,
    tasks: usize,
    terms: Terms,
) -> PyResult<Plan> {
    let precision = a.precision.min(b.precision).epsilon();
    let (a, b, points) = (a.dense(py)?, b.dense(py)?, data.as_ref().map(matrix));
    planned(py, &terms, move |watch| {
        let domain = read_domain(place, a.input_width())?;
        let data = points.map(|points| data_points(&points, a.input_width())).transpose()?;
        let options = EquivalenceOptions::new()
            .exact(exact)
            .tolerance(tolerance)
            .precision(precision)
            .data(data.unwrap_or_default())
            .deadline(watch.deadline.clone())
            .seed(watch.seed);
        let note = note(Command::Equiv { domain: domain.clone() });
        let question = EquivalenceQuestion::new(&a, &b, &domain, &options)?;
        Ok(Tasks::about(question, &[&a, &b], tasks, note, &watch.deadline)?)
    })
}

/// A plan for the functional dimension of every network on every batch.
#[pyfunction]
pub fn plan_dimensions(
    py: Python,
    nets: Vec<PyRef<Net>>,
    data: Vec<PyReadonlyArray2<f64>>,
    generic: bool,
    primes: Option<usize>,
    tasks: usize,
    terms: Terms,
) -> PyResult<Plan> {
    let names: Vec<String> = nets.iter().map(|net| net.name.clone()).collect();
    let networks = nets.iter().map(|net| net.dense(py)).collect::<PyResult<Vec<Arc<Network>>>>()?;
    let data: Vec<Matrix> = data.iter().map(matrix).collect();
    planned(py, &terms, move |watch| {
        for (number, points) in data.iter().enumerate() {
            for network in &networks {
                fiberscope::dimension::check_points(network, points)
                    .with_context(|| format!("batch {number}"))?;
            }
        }
        let place = |number: usize| DataNote { place: format!("batch {number}"), columns: None };
        let notes = (0..data.len()).map(place).collect();
        let note = note(Command::Funcdim { models: names, data: notes });
        let options = DimensionOptions::new().seed(watch.seed).primes(primes).generic(generic);
        let networks: Vec<&Network> = networks.iter().map(|network| &**network).collect();
        let question = DimensionQuestion::new(&data, &options);
        Ok(Tasks::about(question, &networks, tasks, note, &watch.deadline)?)
    })
}

/// A plan for the estimate of a volume.
#[pyfunction]
pub fn plan_volume(
    py: Python,
    widths: Vec<usize>,
    samples: Option<u64>,
    tasks: usize,
    terms: Terms,
) -> PyResult<Plan> {
    planned(py, &terms, move |watch| {
        let samples = samples_for(&widths, samples)?;
        let note = note(Command::Volume { widths: widths.clone() });
        let question = VolumeQuestion::new(&widths, samples, watch.seed);
        Ok(Tasks::about(question, &[], tasks, note, &watch.deadline)?)
    })
}
