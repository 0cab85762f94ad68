//! `fiberscope linear move`

use anyhow::Context;
use fiberscope::linear::{FlowBases, Stratum};
use fiberscope_io::{Precision, save};
use fiberscope_report::json::joined;
use fiberscope_report::linear::motion::StepRequest;
use fiberscope_report::linear::moves::{Moved, list_text, list_value};
use serde_json::json;

use super::args::MoveArgs;
use super::read_linear;
use crate::Answer;
use crate::output::Output;

pub fn run(args: &MoveArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let network = read_linear(&args.model, &args.read, output)?;
    let flow = FlowBases::compute(&network, args.tolerance.get())?;
    let Some(request) = request(args) else {
        let stratum = Stratum::new(flow.barcode().rank_list());
        let value = joined(json!({"model": args.model}), list_value(&stratum));
        output.result(&list_text(&args.model, &stratum), &value)?;
        return Ok(Answer::Yes);
    };
    let moved = Moved::new(&network, &flow, request, args.tolerance.get());
    let moved = moved.with_context(|| args.model.clone())?;
    if let Some(path) = &args.output {
        save(&moved.step.end.to_network(), path, Precision::F64)?;
    }
    let written = args.output.as_ref().map(|path| path.display().to_string());
    let value = joined(json!({"model": args.model, "output": written}), moved.to_json());
    output.result(&moved.to_text(), &value)?;
    Ok(Answer::Yes)
}

/// The move that the flags ask for, if any.
fn request(args: &MoveArgs) -> Option<StepRequest> {
    match (args.up, args.down, args.cut) {
        (Some((source, target)), _, _) => Some(StepRequest::Up(source, target, args.epsilon)),
        (_, Some((outer, inner)), _) => Some(StepRequest::Down(outer, inner)),
        (_, _, Some((outer, after))) => Some(StepRequest::Cut(outer, after)),
        _ => args.to_minimum.then_some(StepRequest::ToMinimum),
    }
}
