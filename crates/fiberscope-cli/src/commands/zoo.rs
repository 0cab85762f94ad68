//! `fiberscope zoo`

use fiberscope_report::zoo;

use crate::Answer;
use crate::args::{ZooArgs, ZooCommand};
use crate::output::Output;

pub fn run(args: &ZooArgs, output: &mut Output) -> anyhow::Result<Answer> {
    match args.command {
        ZooCommand::List => output.result(&zoo::text(), &zoo::value())?,
    }
    Ok(Answer::Yes)
}
