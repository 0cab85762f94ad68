//! `fiberscope completions`

use crate::Answer;
use crate::args::CompletionsArgs;
use crate::output::Output;

/// Prints the script for a shell; `definition` is that of the command line.
pub fn run(
    args: &CompletionsArgs,
    definition: &mut clap::Command,
    output: &mut Output,
) -> anyhow::Result<Answer> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, definition, "fiberscope", &mut script);
    output.raw(&script)?;
    Ok(Answer::Yes)
}
