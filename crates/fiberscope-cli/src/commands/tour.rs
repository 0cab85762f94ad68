//! `fiberscope tour`

use std::io::Write;

use fiberscope_io::write_atomically;
use fiberscope_report::tour::tour;

use crate::Answer;
use crate::args::{Global, TourArgs};
use crate::output::Output;

pub fn run(args: &TourArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let tour = tour(global.seed)?;
    write_atomically(&args.output, |file| file.write_all(tour.html.as_bytes()))?;
    output.result(&tour.to_text(&args.output), &tour.to_json(&args.output))?;
    Ok(Answer::Yes)
}
