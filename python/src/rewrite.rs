//! What a network is, whether two are equal, and rewritings that keep the function.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use fiberscope::align::{AlignOptions, Scaling, align as align_networks, interpolate as between};
use fiberscope::anatomy::examine;
use fiberscope::canonical::{CanonicalError, canonicalize};
use fiberscope::equivalence::EquivalenceOptions;
use fiberscope::reduce::{ReduceOptions, reduce_in_doubles};
use fiberscope::threads;
use fiberscope_check::Question;
use fiberscope_core::{Certificate, Domain, Network};
use fiberscope_report::anatomy;
use fiberscope_report::certificate::{answer, parse_claim};
use fiberscope_report::equivalence;
use fiberscope_report::reading::{add_names, name_neurons, names_text};
use fiberscope_report::rewrite::{Aligned, Reduced, WrittenForm, canonical_json, canonical_text, images};
use fiberscope_report::rigidity::Local;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::answer::{Answer, Decision, Measured, Rewriting};
use crate::error::raise;
use crate::network::{Net, Place, matrix, read_domain};
use crate::work::{Terms, work};

/// The anatomy of a network.
#[pyfunction]
pub fn info(py: Python, net: &Net, place: Option<Place>, terms: Terms) -> PyResult<Measured> {
    let (network, name) = (Arc::clone(&net.network), net.name.clone());
    let (precision, names) = (net.precision, net.names.clone());
    work(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let found = examine(&network, &domain, &watch.deadline);
        let mut value = anatomy::model_value(&name, precision, watch.deadline.limit(), &found);
        let local = Local::examine(&network, &domain, &found, false, (watch.seed, &watch.deadline));
        local.add_to(&mut value);
        add_names(&mut value, names.as_ref());
        name_neurons(&mut value, "hides", names.as_ref());
        let text = anatomy::text(&name, &found) + &local.text() + &names_text(names.as_ref());
        let certificate = local.certificate().map(Certificate::to_json);
        Ok(Measured { json: value.to_string(), text, certificate })
    })
}

/// Whether two networks are equal.
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
) -> PyResult<Decision> {
    let networks = (Arc::clone(&a.network), Arc::clone(&b.network));
    let precision = equivalence::precision(a.precision, b.precision);
    let points = data.as_ref().map(matrix);
    work(py, &terms, move |watch| {
        let (a, b) = networks;
        let domain = read_domain(place, a.input_width())?;
        let data = points.map(|points| equivalence::data_points(&points, a.input_width())).transpose()?;
        let options = EquivalenceOptions::new()
            .exact(exact)
            .tolerance(tolerance)
            .precision(precision)
            .data(data.unwrap_or_default())
            .deadline(watch.deadline.clone())
            .seed(watch.seed);
        let decision =
            equivalence::search((&a, &b), &domain, options, resume.as_deref(), &|text| watch.say(text))?;
        let certificate = equivalence::certificate(&decision.verdict).map(Certificate::to_json);
        let text = equivalence::text(&decision, &domain);
        Ok(Decision { json: equivalence::value(&decision, &domain).to_string(), text, certificate })
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

/// Whether a certificate proves what is asked. Without a place or a claim, its own are asked for.
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
) -> PyResult<Answer> {
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
        let means = (Default::default(), threads());
        let found = answer(source, (&names.0, &names.1), (&a, &b), &question, means, &watch.deadline)?;
        Ok(Answer { json: found.value.to_string(), text: found.text })
    })
}

/// Fewer neurons, with the certificate of equality, or of the bound where parameters were rounded.
#[pyfunction]
pub fn reduce(py: Python, net: &Net, place: Option<Place>, round: bool, terms: Terms) -> PyResult<Rewriting> {
    let network = Arc::clone(&net.network);
    let done = work(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let options = ReduceOptions::new().round(round).deadline(watch.deadline.clone());
        let reduction = reduce_in_doubles(&network, &domain, &options)?;
        let reduced = Reduced::new(reduction, &network, &domain, !watch.deadline.is_past())?;
        let (value, text) = (reduced.to_json().to_string(), reduced.text());
        let certificate = reduced.certificate.map(|certificate| certificate.to_json());
        Ok((reduced.reduction.network, value, text, certificate))
    });
    let (small, json, text, certificate) = done?;
    let network = Py::new(py, net.derived(small, "reduced"))?;
    Ok(Rewriting { network, json, text, certificate })
}

/// The canonical representative; nothing if the time is up before.
#[pyfunction]
pub fn canon(py: Python, net: &Net, terms: Terms) -> PyResult<Option<Rewriting>> {
    let network = Arc::clone(&net.network);
    let done = work(py, &terms, move |watch| {
        let canonical = match canonicalize(&network, &Domain::Space, &watch.deadline) {
            Err(CanonicalError::Limit(_)) => return Ok(None),
            found => found?,
        };
        let form = WrittenForm::new(&canonical)?;
        let value = canonical_json(&canonical, Some(&form));
        Ok(Some((form.network, value.to_string(), canonical_text(&canonical))))
    });
    let rewriting = |(rounded, json, text)| {
        let network = Py::new(py, net.derived(rounded, "canonical"))?;
        Ok(Rewriting { network, json, text, certificate: None })
    };
    done?.map(rewriting).transpose()
}

/// The second network close to the first, with the certificate that its function is kept, if it is exactly.
#[pyfunction]
pub fn align(
    py: Python,
    a: &Net,
    b: &Net,
    data: Option<PyReadonlyArray2<f64>>,
    scaling: &str,
    by: (bool, usize),
    terms: Terms,
) -> PyResult<Rewriting> {
    let networks = (Arc::clone(&a.network), Arc::clone(&b.network));
    let images = images(a.names.as_ref(), b.names.as_ref());
    let points = data.as_ref().map(matrix);
    let (by_activations, starts) = by;
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
        let options = AlignOptions::new()
            .scaling(scaling)
            .activations(points.clone().filter(|_| by_activations))
            .images(images)
            .starts(starts)
            .seed(watch.seed)
            .deadline(watch.deadline.clone());
        let aligned = Aligned::new(align_networks(&a, &b, &options)?, &b)?;
        let (mut value, mut text) = (aligned.to_json(), aligned.text());
        if let Some(points) = points {
            let barriers = aligned.barrier(&a, &b, &points)?;
            barriers.add_to(&mut value);
            text += &barriers.to_text();
        }
        let certificate = aligned.certificate.map(|certificate| certificate.to_json());
        Ok((aligned.alignment.network, value.to_string(), text, certificate))
    });
    let (network, json, text, certificate) = done?;
    let aligned = Net { names: b.names.clone(), ..b.derived(network, "aligned") };
    Ok(Rewriting { network: Py::new(py, aligned)?, json, text, certificate })
}

/// The network with `(1 - t)` times the parameters of the first and `t` times those of the second, in the precision of
/// the first.
#[pyfunction]
pub fn interpolate(py: Python, a: &Net, b: &Net, t: f64, name: &str) -> PyResult<Net> {
    let mixed = py.detach(|| -> anyhow::Result<Network> {
        Ok(between(&a.network, &b.network, t)?.map(|&number| a.precision.nearest(number))?)
    });
    let network = mixed.map_err(|error| raise(py, &error))?;
    let assumed = a.assumed.or(b.assumed);
    let mut set_aside = a.set_aside.clone();
    set_aside.extend(b.set_aside.iter().filter(|head| !a.set_aside.contains(head)).cloned());
    let (precision, names) = (a.precision, a.names.clone());
    Ok(Net { precision, names, assumed, set_aside, ..Net::computed(network, name) })
}

/// The network with neurons permuted and scaled at random.
#[pyfunction]
pub fn relabel(py: Python, net: &Net, terms: Terms) -> PyResult<Net> {
    if net.network.parameter_count() == 0 {
        return Err(raise(py, &anyhow::anyhow!("the network has no parameters")));
    }
    let network = Arc::clone(&net.network);
    let twin = work(py, &terms, move |watch| Ok(fiberscope::orbit::relabel(&network, watch.seed)))?;
    Ok(net.derived(twin.network, "relabelled"))
}
