//! `fiberscope convert`

use fiberscope_io::{Precision, save_named};
use fiberscope_report::convert::Conversion;

use super::read_model;
use crate::Answer;
use crate::args::ConvertArgs;
use crate::output::Output;

pub fn run(args: &ConvertArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let model = read_model(&args.input, &args.read.options(), output)?;
    let precision = args.precision.map_or(model.precision.max(Precision::F32), Precision::from);
    let written = save_named(&model.network, model.names.as_ref(), &args.output, precision)?;
    let found = Conversion {
        input: &args.input,
        network: &model.network,
        notes: &model.notes,
        output: &args.output,
        written: &written,
    };
    output.result(&found.to_text(), &found.to_json())?;
    Ok(Answer::Yes)
}
