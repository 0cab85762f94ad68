//! `fiberscope linear walk`

use anyhow::Context;
use fiberscope_report::json::joined;
use fiberscope_report::linear::motion::walk;
use serde_json::json;

use super::args::WalkArgs;
use super::{all_or_undecided, file_names, read_linear, write_points};
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

pub fn run(args: &WalkArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let network = read_linear(&args.model, &args.read, output)?;
    let velocity =
        args.velocity.as_ref().map(|argument| read_linear(argument, &args.read, output)).transpose()?;
    let velocity = velocity.as_ref().map(|velocity| (velocity, args.project));
    let time = (args.length, args.steps);
    let deadline = global.deadline();
    let walked = walk(&network, velocity, time, args.tolerance.get(), global.seed, &deadline);
    let walked = walked.with_context(|| args.model.clone())?;
    let steps = walked.points.len().saturating_sub(1);
    let complete = steps == args.steps as usize;
    let length = if complete { args.length } else { args.length * steps as f64 / f64::from(args.steps) };
    let files = match &args.output {
        Some(folder) => write_points(folder, &walked.points)?,
        None => Vec::new(),
    };
    let written = args
        .output
        .as_ref()
        .map_or(String::new(), |folder| format!("wrote {} points to {}\n", files.len(), folder.display()));
    let text = walked.to_text(length) + &written;
    let mut value = joined(json!({"model": args.model}), walked.to_json(length, steps));
    value["files"] = json!(file_names(&files));
    output.result(&text, &value)?;
    Ok(all_or_undecided(walked.points.len(), args.steps as usize + 1, &deadline, output))
}
