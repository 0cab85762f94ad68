//! What a network is, whether two are equal, and rewritings that keep the function.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use fiberscope::align::{AlignOptions, Scaling, align as align_networks, interpolation_barrier};
use fiberscope::anatomy::examine_until;
use fiberscope::canonical::canonicalize_until;
use fiberscope::equivalence::EquivalenceOptions;
use fiberscope::reduce::{ReduceOptions, reduce_in_doubles};
use fiberscope_answer::check::{answer, parse_claim};
use fiberscope_answer::equivalence;
use fiberscope_answer::rewrite::{Aligned, Reduced, WrittenForm, canonical_json};
use fiberscope_check::Question;
use fiberscope_core::{Certificate, Domain, Network};
use fiberscope_report::{json, text};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use serde_json::json;

use crate::error::raise;
use crate::network::{Net, Place, matrix, read_domain};
use crate::work::{Terms, work};

/// The anatomy of a network: JSON and text.
#[pyfunction]
pub fn info(py: Python, net: &Net, place: Option<Place>, terms: Terms) -> PyResult<(String, String)> {
    let (network, name) = (Arc::clone(&net.network), net.name.clone());
    let precision = net.precision.name();
    work(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let anatomy = examine_until(&network, &domain, &watch.deadline);
        let mut value = json::anatomy(&anatomy);
        value["model"] = json!(name);
        value["precision"] = json!(precision);
        value["limit"] = json!(watch.deadline.limit().map(|limit| limit.name()));
        Ok((value.to_string(), text::anatomy(&name, &anatomy)))
    })
}

/// Whether two networks are equal: JSON and the certificate.
#[pyfunction]
pub fn equiv(
    py: Python,
    a: &Net,
    b: &Net,
    place: Option<Place>,
    exact: bool,
    tolerance: Option<f64>,
    data: Option<PyReadonlyArray2<f64>>,
    resume: Option<PathBuf>,
    terms: Terms,
) -> PyResult<(String, Option<String>)> {
    let networks = (Arc::clone(&a.network), Arc::clone(&b.network));
    let precision = a.precision.min(b.precision).epsilon();
    let points = data.as_ref().map(matrix);
    work(py, &terms, move |watch| {
        let (a, b) = networks;
        let domain = read_domain(place, a.input_width())?;
        let data = points.map(|points| equivalence::data_points(&points, a.input_width())).transpose()?;
        let options = EquivalenceOptions {
            exact,
            tolerance,
            precision,
            data: data.unwrap_or_default(),
            deadline: watch.deadline.clone(),
            seed: watch.seed,
            ..EquivalenceOptions::default()
        };
        let decision =
            equivalence::search((&a, &b), &domain, options, resume.as_deref(), &|text| watch.say(text))?;
        let certificate = equivalence::certificate(&decision.verdict).map(Certificate::to_json);
        Ok((equivalence::value(&decision, &domain).to_string(), certificate))
    })
}

/// Where a certificate is.
#[derive(FromPyObject)]
pub enum Source {
    /// The name of a file.
    #[pyo3(transparent)]
    File(PathBuf),
    /// Its JSON text.
    #[pyo3(transparent)]
    Text(Vec<u8>),
}

/// Whether a certificate proves what is asked: JSON and text. Without a place or a claim, its own are asked for.
#[pyfunction]
pub fn check(
    py: Python,
    certificate: Source,
    a: &Net,
    b: &Net,
    place: Option<Place>,
    space: bool,
    claim: Option<String>,
    terms: Terms,
) -> PyResult<(String, String)> {
    let networks = (Arc::clone(&a.network), Arc::clone(&b.network));
    let names = (a.name.clone(), b.name.clone());
    work(py, &terms, move |watch| {
        let (a, b) = networks;
        let claim = claim.as_deref().map(parse_claim).transpose()?;
        let domain = match place {
            Some(place) => Some(read_domain(Some(place), a.input_width())?),
            None => space.then_some(Domain::Space),
        };
        let source: Box<dyn Read> = match certificate {
            Source::File(path) => Box::new(File::open(&path).with_context(|| path.display().to_string())?),
            Source::Text(text) => Box::new(Cursor::new(text)),
        };
        let question = Question { claim, domain };
        let found =
            answer(source, (&names.0, &names.1), (&a, &b), &question, Default::default(), &watch.deadline)?;
        Ok((found.value.to_string(), found.text))
    })
}

/// Fewer neurons: the network, JSON, and the certificate of equality, or of the bound where parameters were rounded.
#[pyfunction]
pub fn reduce(
    py: Python,
    net: &Net,
    place: Option<Place>,
    round: bool,
    terms: Terms,
) -> PyResult<(Net, String, Option<String>)> {
    let network = Arc::clone(&net.network);
    let done = work(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let options = ReduceOptions::default();
        let reduction = reduce_in_doubles(&network, &domain, &options, round, &watch.deadline)?;
        let reduced = Reduced::new(reduction, &network, &domain, !watch.deadline.is_past())?;
        let value = reduced.to_json().to_string();
        Ok((reduced.reduction.network, value, reduced.certificate.map(|certificate| certificate.to_json())))
    });
    let (small, value, certificate) = done?;
    Ok((Net::computed(small, &format!("{}, reduced", net.name)), value, certificate))
}

/// The canonical representative: the network and JSON; nothing if the time is up before.
#[pyfunction]
pub fn canon(py: Python, net: &Net, terms: Terms) -> PyResult<Option<(Net, String)>> {
    let network = Arc::clone(&net.network);
    let done = work(py, &terms, move |watch| {
        let found = canonicalize_until(&network.to_exact(), &Domain::Space, &watch.deadline)?;
        let Some(canonical) = found else { return Ok(None) };
        let form = WrittenForm::new(&canonical)?;
        let value = canonical_json(&canonical, Some(&form));
        Ok(Some((form.network, value.to_string())))
    });
    let named = |rounded| Net::computed(rounded, &format!("{}, canonical", net.name));
    Ok(done?.map(|(rounded, value)| (named(rounded), value)))
}

/// The second network close to the first: the network, JSON, and the certificate that its function is kept, if it is exactly.
#[pyfunction]
pub fn align(
    py: Python,
    a: &Net,
    b: &Net,
    data: Option<PyReadonlyArray2<f64>>,
    scaling: &str,
    terms: Terms,
) -> PyResult<(Net, String, Option<String>)> {
    let networks = (Arc::clone(&a.network), Arc::clone(&b.network));
    let points = data.as_ref().map(matrix);
    let scaling = match scaling {
        "auto" => Scaling::Auto,
        "powers-of-two" => Scaling::PowersOfTwo,
        "real" => Scaling::Doubles,
        "none" => Scaling::None,
        other => {
            let expected = "expected scaling \"auto\", \"powers-of-two\", \"real\" or \"none\"";
            return Err(raise(py, &anyhow::anyhow!("{expected}, found {other:?}")));
        }
    };
    let done = work(py, &terms, move |watch| {
        let (a, b): (Arc<Network>, Arc<Network>) = networks;
        let options = AlignOptions {
            scaling,
            seed: watch.seed,
            deadline: watch.deadline.clone(),
            ..AlignOptions::default()
        };
        let aligned = Aligned::new(align_networks(&a, &b, &options)?, &b)?;
        let mut value = aligned.to_json();
        if let Some(points) = points {
            let height =
                |b: &Network| interpolation_barrier(&a, b, &points, None, 20).map(|found| found.height);
            value["barrier_before"] = json!(height(&b)?);
            value["barrier_after"] = json!(height(&aligned.alignment.network)?);
        }
        let certificate = aligned.certificate.map(|certificate| certificate.to_json());
        Ok((aligned.alignment.network, value.to_string(), certificate))
    });
    let (network, value, certificate) = done?;
    Ok((Net::computed(network, &format!("{}, aligned", b.name)), value, certificate))
}

/// The network with neurons permuted and scaled at random, and the certificate that it computes the same function.
#[pyfunction]
pub fn relabel(py: Python, net: &Net, terms: Terms) -> PyResult<(Net, String)> {
    if net.network.parameter_count() == 0 {
        return Err(raise(py, &anyhow::anyhow!("the network has no parameters")));
    }
    let network = Arc::clone(&net.network);
    let twin = work(py, &terms, move |watch| Ok(fiberscope::symmetry::relabel(&network, watch.seed)))?;
    Ok((Net::computed(twin.network, &format!("{}, relabelled", net.name)), twin.certificate.to_json()))
}
