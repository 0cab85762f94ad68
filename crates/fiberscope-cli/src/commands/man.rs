//! `fiberscope man`

use anyhow::{Context, bail};
use clap::CommandFactory;

use crate::Answer;
use crate::args::{Cli, ManArgs};
use crate::output::Output;

pub fn run(args: &ManArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let mut command = Cli::command();
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
