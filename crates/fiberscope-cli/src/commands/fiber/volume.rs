//! `fiberscope volume`

use fiberscope_report::volume::VolumeAnswer;

use super::args::VolumeArgs;
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

pub fn run(args: &VolumeArgs, global: &Global, output: &Output) -> anyhow::Result<Answer> {
    let answer = VolumeAnswer::new(&args.widths, args.samples, global.seed, &global.deadline())?;
    // Writing a number of millions of digits may take long.
    output.know(answer.known());
    output.result(&answer.to_text(), &answer.to_json())?;
    Ok(Answer::Yes)
}
