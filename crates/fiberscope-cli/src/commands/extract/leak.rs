//! `fiberscope extract --leak-report`

use anyhow::bail;
use fiberscope::limit::Deadline;
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
    let report = extraction::leak(name, &network, &options, &|text| output.progress(text));
    output.end_progress();
    output.result(&report.to_text(), &report.to_json())?;
    Ok(if deadline.is_past() { Answer::Undecided } else { Answer::Yes })
}
