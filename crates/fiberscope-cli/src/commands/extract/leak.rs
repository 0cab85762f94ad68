//! `fiberscope extract --leak-report`

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use fiberscope::limit::Deadline;
use fiberscope_io::{IoError, load_data, write_atomically};
use fiberscope_report::extraction::{self, LeakReport};

use super::args::ExtractArgs;
use super::open::is_endpoint;
use super::options;
use crate::Answer;
use crate::args::Global;
use crate::commands::read_dense_model;
use crate::output::Output;

pub fn run(
    args: &ExtractArgs,
    global: &Global,
    deadline: &Deadline,
    output: &Output,
) -> anyhow::Result<Answer> {
    let name = match &args.oracle {
        Some(name) if !is_endpoint(name) => name,
        _ => bail!("--leak-report: expected a model, whose parameters the results are compared with"),
    };
    let network = read_dense_model(name, &args.read.options(), output)?.network;
    let options = options(args, global, deadline, (network.input_width(), network.output_width()));
    let data = args.data.as_ref().map(|path| load_data(path)).transpose()?.map(|data| data.points);
    if let (Some(points), Some(path)) = (&data, &args.data) {
        let (found, inputs) = (points.cols(), network.input_width());
        if found != inputs {
            bail!("{}: expected {inputs} columns, as the model has inputs, found {found}", path.display());
        }
    }
    let kept = Arc::new(Mutex::new(None));
    if let Some(path) = args.output.clone() {
        let (kept, shown) = (Arc::clone(&kept), output.clone());
        output.rescue_with(move |_| write_unfinished(&kept, &path, &shown));
    }
    let so_far = |report: &LeakReport| {
        output.know_so_far(report.to_text(), report.to_json());
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(report.clone());
    };
    let say = |text: &str| output.progress(text);
    let report = extraction::leak(name, &network, &options, data.as_ref(), &say, &so_far);
    output.end_progress();
    if let Some(path) = &args.output {
        write_page(&report, path, output)?;
    }
    output.result(&report.to_text(), &report.to_json())?;
    Ok(if deadline.is_past() { Answer::Undecided } else { Answer::Yes })
}

fn write_page(report: &LeakReport, path: &Path, output: &Output) -> Result<(), IoError> {
    let page = report.to_html(&output.how_read());
    write_atomically(path, |file| file.write_all(page.as_bytes()))
}

/// Writes the page of the rows that are finished when a limit ends the work from outside; says what it did.
fn write_unfinished(kept: &Mutex<Option<LeakReport>>, path: &Path, output: &Output) -> String {
    let report = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
    match report.map(|report| write_page(&report, path, output)) {
        Some(Ok(())) => format!("{} has the rows that were finished", path.display()),
        Some(Err(error)) => format!("{} could not be written: {error}", path.display()),
        None => format!("no row was finished, so {} was not written", path.display()),
    }
}
