//! `fiberscope diff --top1`

use std::io::Write;
use std::path::Path;

use fiberscope::difference::{Sureness, Top1Options};
use fiberscope_core::{Domain, Network, Rational};
use fiberscope_io::write_atomically;
use fiberscope_report::difference::{top1, top1_checked, top1_text, top1_value};
use serde_json::Value;

use crate::args::Global;
use crate::output::Output;

/// What is asked.
pub struct Asked<'a> {
    /// The margin, if one is given.
    pub margin: Option<&'a Rational>,
    /// The confidence, if one is given.
    pub confidence: Option<&'a Rational>,
    /// Whether the neurons of B stay where they are.
    pub as_given: bool,
    /// Where the certificate goes.
    pub certificate: Option<&'a Path>,
}

/// Asks whether the class is the same, writes the certificate, and hands over words, JSON and the answer.
pub fn answer(
    asked: &Asked,
    (a, b): (&Network, &Network),
    domain: &Domain,
    points: Vec<Vec<f64>>,
    global: &Global,
    output: &Output,
) -> anyhow::Result<(String, Value, Option<bool>)> {
    let sureness = match (asked.confidence, asked.margin) {
        (Some(confidence), _) => Sureness::Confidence(confidence.clone()),
        (None, margin) => Sureness::Margin(margin.cloned().unwrap_or(Rational::ZERO)),
    };
    let options = Top1Options::new()
        .sureness(sureness.clone())
        .align(!asked.as_given)
        .points(points)
        .seed(global.seed)
        .deadline(global.deadline());
    let shown = output.clone();
    let say = |text: &str| shown.progress(text);
    let found = top1((a, b), domain, options, &say)?;
    let mut checked = false;
    if let (Some(path), Some(certificate)) = (asked.certificate, &found.certificate) {
        checked = top1_checked((a, b), &found, &global.deadline())? == Some(true);
        let json = certificate.to_json();
        write_atomically(path, |file| file.write_all(json.as_bytes()))?;
    }
    let (text, value) = (top1_text(&sureness, &found, checked), top1_value(&sureness, &found, domain));
    Ok((text, value, found.holds()))
}
