//! `fiberscope conserve`

use anyhow::Context;
use fiberscope::fiber::conserve::{FlowOptions, follow};
use fiberscope::limit::Progress;
use fiberscope::train::Loss;
use fiberscope_io::load_data;
use fiberscope_report::conserve::{draw, text, value};

use super::args::{ConserveArgs, FlowLoss};
use super::read_dense_model;
use crate::Answer;
use crate::args::Global;
use crate::output::{Output, write_picture};

pub fn run(args: &ConserveArgs, global: &Global, output: &Output) -> anyhow::Result<Answer> {
    let network = read_dense_model(&args.model, &args.read.options(), output)?.network;
    let data = load_data(&args.data)?.points;
    let loss = match args.loss {
        FlowLoss::Mse => Loss::Mse,
        FlowLoss::CrossEntropy => Loss::CrossEntropy,
    };
    let show = |part: f64| output.progress(&format!("{:3.0} % of the flows", 100.0 * part));
    let options = FlowOptions::new()
        .loss(loss)
        .time(args.time)
        .steps(args.steps)
        .halvings(args.halvings)
        .deadline(global.deadline())
        .progress(Progress::to(&show));
    let found = follow(&network, &data, &options).with_context(|| args.data.display().to_string());
    output.end_progress();
    let found = found?;
    if let Some(path) = &args.plot {
        write_picture(path, &draw(&args.model, &found))?;
    }
    if let Some(limit) = options.deadline.limit().filter(|_| !found.complete) {
        output.note(&format!("{limit} after {} runs", found.runs.len()));
    }
    let text = text(&args.model, &args.data.display().to_string(), args.time, &found);
    output.result(&text, &value(&found))?;
    Ok(if found.complete { Answer::Yes } else { Answer::Undecided })
}
