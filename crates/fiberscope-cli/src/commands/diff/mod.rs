//! `fiberscope diff`

pub mod args;
mod property;
mod top1;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, ensure};
use fiberscope::difference::DifferenceOptions;
use fiberscope_core::Network;
use fiberscope_io::{load_data, write_atomically};
use fiberscope_report::difference::{
    Asked, Compared, around, certificate, draw, draw_around, on_data, rows, search, sides, text, value,
};
use serde_json::json;

use args::DiffArgs;

use super::{read_dense_model, read_domain};
use crate::Answer;
use crate::args::Global;
use crate::output::{Output, check_picture, write_picture};

pub fn run(args: &DiffArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    args.plot.as_deref().map_or(Ok(()), check_picture)?;
    let read = args.read.options();
    let (a, b) = (
        read_dense_model(&args.a, &read, output)?.network,
        read_dense_model(&args.b, &read, output)?.network,
    );
    ensure!(
        args.domain.is_some() || args.around.is_some() || args.property.is_some(),
        "a box of inputs is needed: far away two networks are as far apart as they like; use --box LO,HI, --box FILE, or --around FILE --radius R"
    );
    let file =
        args.property.as_deref().map(|path| property::read(path, args, (&a, &b), output)).transpose()?;
    let domain = match &file {
        Some(file) => file.domain.clone(),
        None => read_domain(args.domain.as_deref(), a.input_width())?,
    };
    if let Some(file) = &file
        && let Some(told) = &file.contradiction
    {
        let seconds = start.elapsed().as_secs_f64();
        let json =
            json!({"property": property::result(file, Some(true)), "domain": domain, "seconds": seconds});
        output.result(told, &json)?;
        return Ok(Answer::Yes);
    }
    let data = args.data.as_deref().map(|path| table(path, &a)).transpose()?;
    let options = DifferenceOptions::new()
        .align(!args.as_given)
        .seed(global.seed)
        .deadline(global.deadline())
        .points(data.clone().unwrap_or_default());
    let of_file = file.as_ref().and_then(|file| file.epsilon.clone());
    let mut asked = Asked { epsilon: args.epsilon.clone().or(of_file), gap: args.gap, size: None };
    let shown = output.clone();
    let say = |text: &str| shown.progress(text);
    let summary = match &data {
        Some(points) => Some(on_data(&a, &b, points, sides(&domain).as_deref())?),
        None => None,
    };
    let compared = Compared { networks: (&a, &b), names: (&args.a, &args.b), domain: &domain };
    let (mut told, mut json, holds) = if let (Some(path), Some(radius)) = (&args.around, &args.radius) {
        let points = table(path, &a)?;
        let found = around((&a, &b), &points, radius, &domain, (&asked, &options), &say)?;
        output.end_progress();
        if let Some(path) = &args.plot {
            write_picture(path, &draw_around(&compared, &found, asked.epsilon.as_ref()))?;
        }
        (found.text(&asked), found.summary(&asked), found.holds(&asked))
    } else if args.top1 {
        let points = data.clone().unwrap_or_default();
        let found = top1::answer(args, (&a, &b), &domain, points, global, output)?;
        output.end_progress();
        found
    } else {
        let question = (&mut asked, args.relative);
        let found = search((&a, &b), &domain, question, options, args.resume.as_deref(), &say)?;
        output.end_progress();
        if let Some(path) = &args.plot {
            write_picture(path, &draw(&compared, &found, summary.as_ref()))?;
        }
        let mut checked = false;
        if let Some(path) = &args.certificate
            && let Some((certificate, accepted)) =
                certificate((&a, &b), &domain, &asked, &found, &global.deadline())?
        {
            let json = certificate.to_json();
            write_atomically(path, |file| file.write_all(json.as_bytes()))?;
            checked = accepted;
        }
        (text(&asked, &found, checked), value(&asked, &found, &domain), asked.holds(&found))
    };
    if let Some(rows) = summary {
        told += &rows.text();
        json["data"] = rows.value();
    }
    if let Some(file) = file.as_ref().filter(|file| file.epsilon.is_some()) {
        json["property"] = property::result(file, holds);
        told += &format!("property: {}\n", property::word(file, holds));
    }
    json["seconds"] = json!(start.elapsed().as_secs_f64());
    output.result(&told, &json)?;
    Ok(answer(holds))
}

pub fn answer(holds: Option<bool>) -> Answer {
    match holds {
        Some(true) => Answer::Yes,
        Some(false) => Answer::No,
        None => Answer::Undecided,
    }
}

/// The rows of a table of points.
pub fn table(path: &Path, network: &Network) -> anyhow::Result<Vec<Vec<f64>>> {
    rows(&load_data(path)?.points, network.input_width()).with_context(|| path.display().to_string())
}
