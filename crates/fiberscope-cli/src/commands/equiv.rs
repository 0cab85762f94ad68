//! `fiberscope equiv`

use std::io::Write;
use std::time::Instant;

use anyhow::Context;
use fiberscope::equivalence::EquivalenceOptions;
use fiberscope_core::Domain;
use fiberscope_io::{Model, load_data, write_atomically};
use fiberscope_report::equivalence::{certificate, data_points, holds, precision, search, text, value};
use serde_json::json;

use super::{read_box, read_model};
use crate::Answer;
use crate::args::{EquivArgs, Global};
use crate::output::Output;

pub fn run(args: &EquivArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    let read = args.read.options();
    let (a, b) = (read_model(&args.a, &read, output)?, read_model(&args.b, &read, output)?);
    let (domain, options) = question(args, global, (&a, &b))?;
    let shown: &Output = output;
    let networks = (&a.network, &b.network);
    let decision = search(networks, &domain, options, args.resume.as_deref(), &|text| shown.progress(text))?;
    output.end_progress();
    if let (Some(path), Some(certificate)) = (&args.certificate, certificate(&decision.verdict)) {
        let json = certificate.to_json();
        write_atomically(path, |file| file.write_all(json.as_bytes()))?;
    }
    let mut value = value(&decision, &domain);
    value["seconds"] = json!(start.elapsed().as_secs_f64());
    output.result(&text(&decision, &domain), &value)?;
    Ok(match holds(&decision.verdict) {
        Some(true) => Answer::Yes,
        Some(false) => Answer::No,
        None => Answer::Undecided,
    })
}

/// The domain and the options that the arguments name.
pub fn question(
    args: &EquivArgs,
    global: &Global,
    (a, b): (&Model, &Model),
) -> anyhow::Result<(Domain, EquivalenceOptions<'static>)> {
    let domain = read_box(args.domain.as_deref(), &args.around, a.network.input_width())?;
    let data = match &args.data {
        None => Vec::new(),
        Some(path) => data_points(&load_data(path)?.points, a.network.input_width())
            .with_context(|| path.display().to_string())?,
    };
    let options = EquivalenceOptions::new()
        .exact(args.exact)
        .tolerance(args.tolerance)
        .precision(precision(a.precision, b.precision))
        .data(data)
        .deadline(global.deadline())
        .seed(global.seed);
    let options = match args.method.is_empty() {
        true => options,
        false => options.only(args.method.iter().copied()),
    };
    Ok((domain, options))
}
