//! Fibers: descriptions, points, paths, membership; constructions; volumes; what gradient flow conserves.

use anyhow::bail;
use fiberscope::complex::{ConstructOptions, construct_identifiable};
use fiberscope::fiber::conserve::{FlowOptions, follow};
use fiberscope::fiber::{
    Construction, FiberPath, FiberSampler, Ground, SamplerError, construct_hiding, construct_nonlocal,
};
use fiberscope::limit::Progress;
use fiberscope::symmetries::{self, SymmetryOptions};
use fiberscope::train::Loss;
use fiberscope_core::{Certificate, Network};
use fiberscope_report::fiber::points::{self, Comparison};
use fiberscope_report::fiber::{Listing, Subject, membership, summary};
use fiberscope_report::reading::name_neurons;
use fiberscope_report::volume::VolumeAnswer;
use fiberscope_report::{
    conserve as conserve_answer, construct as construct_answer, symmetries as symmetries_answer,
};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::answer::{self, Answer, Networks};
use crate::network::{Net, Place, matrix, read_domain};
use crate::work::{Terms, Watch, work};

fn subject(name: String, network: &Network, orthant: bool, watch: &Watch) -> Subject {
    let ground = if orthant { Ground::Orthant } else { Ground::Space };
    Subject::new(name, network.clone(), ground, watch.deadline.clone(), watch.seed)
}

/// The fiber of a network.
#[pyfunction]
pub fn fiber(
    py: Python,
    net: &Net,
    orthant: bool,
    components: usize,
    classes: Option<usize>,
    terms: Terms,
) -> PyResult<Answer> {
    let (network, name) = (net.dense(py)?, net.name.clone());
    work(py, &terms, move |watch| {
        let subject = subject(name, &network, orthant, watch);
        let found = summary(&subject, Listing { components, classes }, &|text| watch.say(text))?;
        Ok(Answer { json: found.to_json().to_string(), text: found.to_text() })
    })
}

/// Points of a piece and how they compare; `undecided` if the theory does not cover the fiber.
#[pyfunction]
pub fn fiber_sample(
    py: Python,
    net: &Net,
    orthant: bool,
    count: usize,
    exact: bool,
    orientation: Option<String>,
    linear: Option<usize>,
    terms: Terms,
) -> PyResult<Networks> {
    let (network, name) = (net.dense(py)?, net.name.clone());
    let (drawn, value) = work(py, &terms, move |watch| {
        let subject = subject(name, &network, orthant, watch);
        let Ok(fiber) = &subject.fiber else { return Ok((Vec::new(), not_covered(&subject))) };
        let piece = points::piece(fiber, orientation.as_deref(), linear)?;
        let sampler = match FiberSampler::new(fiber, &piece) {
            Ok(sampler) => sampler,
            Err(error @ SamplerError::Empty(_)) => {
                return Ok((Vec::new(), json!({"empty": true, "reason": error.to_string()})));
            }
            Err(error) => bail!("{error}"),
        };
        let (mut drawn, mut compared) = (Vec::new(), Comparison::default());
        points::sample(&subject, &sampler, (count, exact), &|text| watch.say(text), |point| {
            compared.add(&subject, &point)?;
            drawn.push(point);
            Ok(())
        })?;
        Ok((drawn, comparison(&compared)))
    })?;
    named(py, drawn, &net.name, &value)
}

/// The points of a path between two parameters of a fiber and how they compare; `undecided` as above.
#[pyfunction]
pub fn fiber_path(
    py: Python,
    net: &Net,
    a: &Net,
    b: &Net,
    orthant: bool,
    steps: u32,
    terms: Terms,
) -> PyResult<Networks> {
    let (network, name) = (net.dense(py)?, net.name.clone());
    let ends = [a.dense(py)?, b.dense(py)?];
    let (found, value) = work(py, &terms, move |watch| {
        let subject = subject(name, &network, orthant, watch);
        let Ok(fiber) = &subject.fiber else { return Ok((Vec::new(), not_covered(&subject))) };
        for end in &ends {
            if end.widths() != network.widths() {
                bail!(
                    "an end has widths {:?}; expected those of the network, {:?}",
                    end.widths(),
                    network.widths()
                );
            }
        }
        let path = match FiberPath::between(fiber, &ends[0].to_exact(), &ends[1].to_exact()) {
            Ok(path) => path,
            Err(error) => {
                return Ok((Vec::new(), json!({"connected": false, "reason": error.to_string()})));
            }
        };
        let (mut found, mut compared) = (Vec::new(), Comparison::default());
        points::path(&subject, &path, steps, &|text| watch.say(text), |point| {
            compared.add(&subject, &point)?;
            found.push(point);
            Ok(())
        })?;
        Ok((found, comparison(&compared)))
    })?;
    named(py, found, &net.name, &value)
}

/// Whether a network lies in the fiber of another: JSON.
#[pyfunction]
pub fn fiber_contains(py: Python, net: &Net, other: &Net, orthant: bool, terms: Terms) -> PyResult<String> {
    let (network, name) = (net.dense(py)?, net.name.clone());
    let other = other.dense(py)?;
    work(py, &terms, move |watch| {
        let subject = subject(name, &network, orthant, watch);
        let value = match &subject.fiber {
            Ok(fiber) => membership(&fiber.contains(&other.to_exact())),
            Err(_) => not_covered(&subject),
        };
        Ok(value.to_string())
    })
}

fn not_covered(subject: &Subject) -> Value {
    json!({"undecided": subject.failing()})
}

fn comparison(found: &Comparison) -> Value {
    json!({
        "connected": true, "max_difference": found.largest, "exact": found.exact,
        "up_to_rounding": found.rounded, "unproved": found.unproved,
    })
}

fn named(py: Python, networks: Vec<Network>, name: &str, value: &Value) -> PyResult<Networks> {
    let point = |(k, network)| Net::object(py, network, &format!("point {k} of the fiber of {name}"));
    let networks = networks.into_iter().enumerate().map(point).collect::<PyResult<_>>()?;
    Ok(Networks { networks, json: value.to_string() })
}

/// Hidden symmetries, with the ends of paths along them: one network for each symmetry that has an end, in order.
#[pyfunction]
pub fn hidden_symmetries(
    py: Python,
    net: &Net,
    place: Option<Place>,
    ends: bool,
    max_regions: u64,
    terms: Terms,
) -> PyResult<Networks> {
    let (network, name, names) = (net.dense(py)?, net.name.clone(), net.names.clone());
    let (reached, value) = work(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let show = |(at, count): (usize, usize)| watch.say(&format!("path {} of {count}", at + 1));
        let options = SymmetryOptions::new()
            .seed(watch.seed)
            .ends(ends)
            .regions(max_regions)
            .deadline(watch.deadline.clone())
            .progress(Progress::to(&show));
        let found = symmetries::hidden_symmetries(&network, &domain, &options)?;
        let mut value = symmetries_answer::value(&network, &domain, &found, &[]);
        value["text"] = json!(symmetries_answer::text(&name, &network, &domain, &found, &[]));
        value["rank_certificate"] = json!(found.rigidity.certificate.as_ref().map(Certificate::to_json));
        let listed = value["symmetries"].as_array_mut().into_iter().flatten();
        for (symmetry, one) in listed.zip(&found.found) {
            name_neurons(symmetry, "neurons", names.as_ref());
            if let Some(end) = &one.end {
                let certificate = symmetries_answer::certificate(&end.proof).map(Certificate::to_json);
                symmetry["end"]["certificate"] = json!(certificate);
            }
        }
        let reached = found.found.into_iter().filter_map(|one| Some(one.end?.network));
        Ok((reached.collect(), value))
    })?;
    named(py, reached, &net.name, &value)
}

/// A network with a proved property.
#[pyfunction]
pub fn construct(
    py: Python,
    kind: String,
    widths: Vec<usize>,
    place: Option<Place>,
    terms: Terms,
) -> PyResult<answer::Construction> {
    let title = format!("{kind} network");
    let (network, twin, certificate, claims) = work(py, &terms, move |watch| {
        let with_twin = |built: Construction| {
            (built.network, Some(built.twin), built.certificate.to_json(), built.claims)
        };
        Ok(match kind.as_str() {
            "hiding" => with_twin(construct_hiding(&widths, watch.seed)?),
            "nonlocal" => with_twin(construct_nonlocal(&widths, watch.seed)?),
            _ => {
                let inputs = widths.first().copied().unwrap_or(0);
                let domain = place.map(|place| read_domain(Some(place), inputs)).transpose()?;
                let options =
                    ConstructOptions::new().domain(domain).seed(watch.seed).deadline(watch.deadline.clone());
                let built = construct_identifiable(&widths, &options)?;
                let certificate = construct_answer::value(&built, watch.seed).to_string();
                let [proved, open] = construct_answer::claims(&built);
                let open = open.into_iter().map(|claim| format!("with probability one: {claim}"));
                let claims =
                    [construct_answer::identifiable_claim(&built)].into_iter().chain(proved).chain(open);
                (built.network, None, certificate, claims.collect())
            }
        })
    })?;
    let twin = twin.map(|twin| Net::object(py, twin, &format!("twin of the {title}"))).transpose()?;
    Ok(answer::Construction { network: Net::object(py, network, &title)?, twin, certificate, claims })
}

/// The fraction of identifiable parameters: JSON.
#[pyfunction]
pub fn volume(py: Python, widths: Vec<usize>, samples: Option<u64>, terms: Terms) -> PyResult<String> {
    work(py, &terms, move |watch| {
        let answer = VolumeAnswer::new(&widths, samples, watch.seed, &watch.deadline)?;
        Ok(answer.to_json().to_string())
    })
}

/// What gradient flow conserves: JSON.
#[pyfunction]
pub fn conserve(
    py: Python,
    net: &Net,
    data: PyReadonlyArray2<f64>,
    cross_entropy: bool,
    time: f64,
    steps: usize,
    halvings: usize,
    terms: Terms,
) -> PyResult<String> {
    let (network, data) = (net.dense(py)?, matrix(&data));
    let loss = if cross_entropy { Loss::CrossEntropy } else { Loss::Mse };
    work(py, &terms, move |watch| {
        let show = |part: f64| watch.say(&format!("{:3.0} % of the flows", 100.0 * part));
        let options = FlowOptions::new()
            .loss(loss)
            .time(time)
            .steps(steps)
            .halvings(halvings)
            .deadline(watch.deadline.clone())
            .progress(Progress::to(&show));
        Ok(conserve_answer::value(&follow(&network, &data, &options)?).to_string())
    })
}
