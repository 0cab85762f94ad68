//! `fiberscope extract --leak-report`

use std::io::Write;

use anyhow::bail;
use fiberscope::limit::Deadline;
use fiberscope_io::{load_data, write_atomically};
use fiberscope_report::extraction;

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
    let report = extraction::leak(name, &network, &options, data.as_ref(), &|text| output.progress(text));
    output.end_progress();
    if let Some(path) = &args.output {
        let page = report.to_html(&output.how_read());
        write_atomically(path, |file| file.write_all(page.as_bytes()))?;
    }
    output.result(&report.to_text(), &report.to_json())?;
    Ok(if deadline.is_past() { Answer::Undecided } else { Answer::Yes })
}
