//! `fiberscope convert`

use fiberscope_core::Digest;
use fiberscope_io::{Precision, save};
use fiberscope_report::number::significant_upper;
use serde_json::json;

use super::read_model;
use crate::Answer;
use crate::args::ConvertArgs;
use crate::output::Output;

pub fn run(args: &ConvertArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let model = read_model(&args.input, &args.read.options(), output)?;
    let precision = args.precision.map_or(model.precision.max(Precision::F32), Precision::from);
    let written = save(&model.network, &args.output, precision)?;
    let (before, after) = (Digest::of(&model.network), Digest::of(&written.network));
    let widths: Vec<_> = model.network.widths().iter().map(ToString::to_string).collect();
    let exactness = match &written.loss {
        None => "every parameter is exactly as read".to_owned(),
        Some(loss) => format!(
            "{} parameters were rounded, by at most {} (layer {}); the network is no longer exactly the same",
            loss.changed,
            significant_upper(loss.largest_change, 2),
            loss.layer
        ),
    };
    let text = format!(
        "wrote {} ({}, {} parameters, {})\n{exactness}\nsha256 {after}\n",
        args.output.display(),
        widths.join("-"),
        model.network.parameter_count(),
        written.precision,
    );
    let value = json!({
        "input": args.input,
        "output": args.output.display().to_string(),
        "widths": model.network.widths(),
        "parameters": model.network.parameter_count(),
        "precision": written.precision.name(),
        "exact": written.loss.is_none(),
        "rounded_parameters": written.loss.as_ref().map_or(0, |loss| loss.changed),
        "largest_change": written.loss.as_ref().map_or(0.0, |loss| loss.largest_change),
        "sha256_read": before.to_string(),
        "sha256": after.to_string(),
        "notes": model.notes,
    });
    output.result(&text, &value)?;
    Ok(Answer::Yes)
}
