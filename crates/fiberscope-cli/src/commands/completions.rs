//! `fiberscope completions`

use clap::CommandFactory;

use crate::Answer;
use crate::args::{Cli, CompletionsArgs};
use crate::output::Output;

pub fn run(args: &CompletionsArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fiberscope", &mut script);
    output.raw(&script)?;
    Ok(Answer::Yes)
}
