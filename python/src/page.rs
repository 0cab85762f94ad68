//! Pages: reports, the tour, the experiments of the papers, the explorer; and the command itself.

use std::ffi::OsString;
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::Context;
use fiberscope::limit::{Deadline, Stop};
use fiberscope_io::write_atomically;
use fiberscope_report::dimension::BatchQuestion;
use fiberscope_report::explore::{Server, page};
use fiberscope_report::report::{Named, ReportQuestion, report as make_report};
use fiberscope_report::reproduce::{ReproduceQuestion, ReproduceSettings, reproduce as run_again};
use fiberscope_report::tasks::plan_reproduce as make_plan;
use fiberscope_report::tour::tour as make_tour;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::answer::{Answer, Reproduction};
use crate::error::raise;
use crate::network::{Net, Place, matrix, read_domain};
use crate::tasks::{Plan, planned};
use crate::work::{Terms, Watch, work};

/// Writes a report on one or two networks.
#[pyfunction]
pub fn report(
    py: Python,
    a: &Net,
    b: Option<PyRef<Net>>,
    names: (String, String),
    place: Option<Place>,
    data: Option<PyReadonlyArray2<f64>>,
    path: PathBuf,
    terms: Terms,
) -> PyResult<Answer> {
    let of = |net: &Net| (Arc::clone(&net.network), net.precision, net.assumed, net.set_aside.clone());
    let (a, b, points) = (of(a), b.as_deref().map(of), data.as_ref().map(matrix));
    work(py, &terms, move |watch| {
        let domain = read_domain(place, a.0.input_width())?;
        let question = ReportQuestion {
            a: Named { name: &names.0, network: &a.0, precision: a.1, assumed: a.2, set_aside: &a.3 },
            b: b.as_ref().map(|b| Named {
                name: &names.1,
                network: &b.0,
                precision: b.1,
                assumed: b.2,
                set_aside: &b.3,
            }),
            domain: &domain,
            batch: points.as_ref().map(|points| BatchQuestion::rank("an array".into(), points, None)),
            seed: watch.seed,
            deadline: watch.deadline.clone(),
        };
        let made = make_report(&question, &|text| watch.say(text))?;
        write_page(&path, &made.html, watch)?;
        Ok(Answer { json: made.to_json(&path).to_string(), text: made.to_text(&path) })
    })
}

/// Writes the tour.
#[pyfunction]
pub fn tour(py: Python, path: PathBuf, terms: Terms) -> PyResult<Answer> {
    work(py, &terms, move |watch| {
        let made = make_tour(watch.seed)?;
        write_page(&path, &made.html, watch)?;
        Ok(Answer { json: made.to_json(&path).to_string(), text: made.to_text(&path) })
    })
}

/// Writes a page, unless nobody waits for it any more.
fn write_page(path: &Path, html: &str, watch: &Watch) -> anyhow::Result<()> {
    anyhow::ensure!(!watch.is_stopped(), "nobody waits for the page");
    Ok(write_atomically(path, |file| file.write_all(html.as_bytes()))?)
}

/// Runs experiments of the papers again.
#[pyfunction]
pub fn reproduce(
    py: Python,
    name: String,
    folder: PathBuf,
    seeds: Option<u64>,
    epochs: Option<u64>,
    quick: bool,
    terms: Terms,
) -> PyResult<Reproduction> {
    work(py, &terms, move |watch| {
        let (seed, deadline) = (watch.seed, watch.deadline.clone());
        let settings = ReproduceSettings { name, seeds, epochs, widths: None, quick, seed };
        let question = ReproduceQuestion { settings, folder, deadline };
        let found = run_again(&question, &|text| watch.say(text))?;
        let json = found.to_json().to_string();
        Ok(Reproduction { json, text: found.text, page: found.page, complete: found.complete })
    })
}

/// A plan for an experiment.
#[pyfunction]
pub fn plan_reproduce(
    py: Python,
    name: String,
    seeds: Option<u64>,
    epochs: Option<u64>,
    quick: bool,
    tasks: usize,
    terms: Terms,
) -> PyResult<Plan> {
    planned(py, &terms, move |watch| {
        let settings = ReproduceSettings { name, seeds, epochs, widths: None, quick, seed: watch.seed };
        make_plan(&settings, tasks, &watch.deadline)
    })
}

/// The explorer page with a network in it, if one is given.
fn explorer(net: Option<&Net>) -> anyhow::Result<String> {
    let notes = net.map_or_else(Vec::new, Net::remarks);
    page(net.map(|net| (net.name.as_str(), &*net.network)), &notes, None)
}

/// Writes the explorer page to a file.
#[pyfunction]
pub fn write_explorer(py: Python, net: Option<PyRef<Net>>, path: PathBuf) -> PyResult<()> {
    let written = explorer(net.as_deref())
        .and_then(|page| Ok(write_atomically(&path, |file| file.write_all(page.as_bytes()))?));
    written.map_err(|error| raise(py, &error))
}

/// The explorer page, served on a thread of its own until it is closed or the process ends.
#[pyclass(frozen, module = "fiberscope._native")]
pub struct ExplorerServer {
    /// The address of the page.
    #[pyo3(get)]
    url: String,
    /// The port.
    #[pyo3(get)]
    port: u16,
    stop: Stop,
}

#[pymethods]
impl ExplorerServer {
    /// Serves the page with a network in it; port 0 is one that is free.
    #[new]
    fn new(py: Python, net: Option<PyRef<Net>>, address: &str, port: u16) -> PyResult<Self> {
        let bound = explorer(net.as_deref()).and_then(|page| {
            let address: IpAddr = address
                .parse()
                .with_context(|| format!("address {address:?}: expected one such as \"127.0.0.1\""))?;
            Server::bind(address, port, page.into_bytes())
        });
        let server = bound.map_err(|error| raise(py, &error))?;
        let stop = Stop::default();
        let (url, port) = (server.url(), server.port());
        let deadline = Deadline::NEVER.or(stop.clone());
        thread::Builder::new().name("explorer".into()).spawn(move || server.serve(&deadline))?;
        Ok(ExplorerServer { url, port, stop })
    }

    /// Stops serving.
    fn close(&self) {
        self.stop.pull();
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.stop.is_pulled()
    }
}

/// Runs the command `fiberscope` with its arguments, the name of the program first; returns the exit code.
#[pyfunction]
pub fn command(py: Python, arguments: Vec<OsString>) -> u8 {
    py.detach(|| fiberscope_cli::run(arguments))
}
