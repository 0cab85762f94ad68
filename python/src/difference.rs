//! How far apart two networks are on a box, and the ranges of one.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use fiberscope::difference::{DifferenceOptions, DifferenceProgress, Sureness, Top1Options, ranges};
use fiberscope::limit::Progress;
use fiberscope_core::Rational;
use fiberscope_report::difference::{
    Asked, certificate, on_data, range_progress, range_text, range_value, search, text, top1, top1_checked,
    top1_text, top1_value, value,
};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::answer::{Measured, Ranges};
use crate::network::{Net, Place, matrix, read_domain};
use crate::work::{Terms, work};

/// Bounds of the largest difference.
#[pyfunction]
pub fn diff(
    py: Python,
    a: &Net,
    b: &Net,
    place: Option<Place>,
    epsilon: Option<f64>,
    gap: f64,
    relative: bool,
    as_given: bool,
    data: Option<PyReadonlyArray2<f64>>,
    resume: Option<PathBuf>,
    terms: Terms,
) -> PyResult<Measured> {
    let networks = (Arc::clone(&a.network), Arc::clone(&b.network));
    let points = data.as_ref().map(matrix);
    work(py, &terms, move |watch| {
        let (a, b) = networks;
        let domain = read_domain(place, a.input_width())?;
        let rows =
            points.map(|points| fiberscope_report::difference::rows(&points, a.input_width())).transpose()?;
        let epsilon =
            epsilon.map(|epsilon| Rational::from_f64(epsilon).context("epsilon: expected a finite number"));
        let mut asked = Asked { epsilon: epsilon.transpose()?, gap, size: None };
        let options = DifferenceOptions::new()
            .align(!as_given)
            .seed(watch.seed)
            .deadline(watch.deadline.clone())
            .points(rows.clone().unwrap_or_default());
        let say = |text: &str| watch.say(text);
        let found = search((&a, &b), &domain, (&mut asked, relative), options, resume.as_deref(), &say)?;
        let proof = certificate((&a, &b), &domain, &asked, &found, &watch.deadline)?;
        let checked = proof.as_ref().is_some_and(|(_, checked)| *checked);
        let mut json = value(&asked, &found, &domain);
        let mut told = text(&asked, &found, checked);
        if let Some(rows) = rows {
            let summary = on_data(&a, &b, &rows, None)?;
            json["data"] = summary.value();
            told += &summary.text();
        }
        let certificate = proof.map(|(certificate, _)| certificate.to_json());
        Ok(Measured { json: json.to_string(), text: told, certificate })
    })
}

/// Whether the class is the same wherever the first network is sure of it.
#[pyfunction]
pub fn same_class(
    py: Python,
    a: &Net,
    b: &Net,
    place: Option<Place>,
    margin: Option<f64>,
    confidence: Option<f64>,
    as_given: bool,
    data: Option<PyReadonlyArray2<f64>>,
    terms: Terms,
) -> PyResult<Measured> {
    let networks = (Arc::clone(&a.network), Arc::clone(&b.network));
    let points = data.as_ref().map(matrix);
    work(py, &terms, move |watch| {
        let (a, b) = networks;
        let domain = read_domain(place, a.input_width())?;
        let rows =
            points.map(|points| fiberscope_report::difference::rows(&points, a.input_width())).transpose()?;
        let exactly = |number: f64| Rational::from_f64(number).context("expected a finite number");
        let sureness = match (confidence, margin) {
            (Some(confidence), _) => Sureness::Confidence(exactly(confidence)?),
            (None, margin) => Sureness::Margin(exactly(margin.unwrap_or(0.0))?),
        };
        let options = Top1Options::new()
            .sureness(sureness.clone())
            .align(!as_given)
            .seed(watch.seed)
            .deadline(watch.deadline.clone())
            .points(rows.clone().unwrap_or_default());
        let say = |text: &str| watch.say(text);
        let found = top1((&a, &b), &domain, options, &say)?;
        let checked = top1_checked((&a, &b), &found, &watch.deadline)? == Some(true);
        let mut json = top1_value(&sureness, &found, &domain);
        let mut told = top1_text(&sureness, &found, checked);
        if let Some(rows) = rows {
            let summary = on_data(&a, &b, &rows, None)?;
            json["data"] = summary.value();
            told += &summary.text();
        }
        let certificate = found.certificate.map(|certificate| certificate.to_json());
        Ok(Measured { json: json.to_string(), text: told, certificate })
    })
}

/// The ranges of the outputs.
#[pyfunction]
pub fn bounds(py: Python, net: &Net, place: Option<Place>, gap: f64, terms: Terms) -> PyResult<Ranges> {
    let network = Arc::clone(&net.network);
    let done = work(py, &terms, move |watch| {
        let domain = read_domain(place, network.input_width())?;
        let progress = |now: DifferenceProgress| watch.say(&range_progress(now));
        let options = DifferenceOptions::new()
            .gap(gap)
            .seed(watch.seed)
            .deadline(watch.deadline.clone())
            .progress(Progress::to(&progress));
        let found = ranges(&network, &domain, &options)?;
        let json = range_value(&found, &domain).to_string();
        let told = range_text(&found, false);
        Ok((json, told, found.certificate.map(|certificate| certificate.to_json()), found.constant))
    });
    let (json, text, certificate, constant) = done?;
    let constant = Net::computed(constant, &format!("the middles of the ranges of {}", net.name));
    Ok(Ranges { json, text, certificate, constant: Py::new(py, constant)? })
}
