//! `fiberscope man`

use anyhow::{Context, bail};

use crate::Answer;
use crate::args::ManArgs;
use crate::output::Output;

/// Prints the page of the command or of one of its subcommands; `command` is the definition of the command
/// line.
pub fn run(args: &ManArgs, mut command: clap::Command, output: &mut Output) -> anyhow::Result<Answer> {
    command.build();
    if let Some(name) = &args.command {
        let Some(subcommand) = command.find_subcommand(name) else {
            bail!("expected the name of a subcommand, found {name:?}");
        };
        command = subcommand.clone();
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).context("the manual page")?;
    output.raw(&page)?;
    Ok(Answer::Yes)
}
