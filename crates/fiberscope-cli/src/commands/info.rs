//! `fiberscope info`

use fiberscope::anatomy::examine;
use fiberscope_report::{json, text};
use serde_json::json;

use super::{read_domain, read_model};
use crate::Answer;
use crate::args::InfoArgs;
use crate::output::Output;

pub fn run(args: &InfoArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let model = read_model(&args.model, &args.read.options(), output)?;
    let domain = read_domain(args.domain.as_deref(), model.network.input_width())?;
    let anatomy = examine(&model.network, &domain);
    let mut value = json::anatomy(&anatomy);
    value["model"] = json!(args.model);
    value["precision"] = json!(model.precision.name());
    output.result(&text::anatomy(&args.model, &anatomy), &value)?;
    Ok(Answer::Yes)
}
