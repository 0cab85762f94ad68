//! `fiberscope fiber`

pub mod args;
pub mod conserve;
mod picture;
mod points;
pub mod volume;

use std::io::Write;

use anyhow::Context;
use fiberscope::fiber::{Ground, Membership};
use fiberscope_io::write_atomically;
use fiberscope_report::fiber::{Listing, Subject, membership, summary};
use serde_json::json;

use super::read_model;
use crate::Answer;
use crate::args::Global;
use crate::output::Output;
use args::FiberArgs;

pub fn run(args: &FiberArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let first_end = args.path.as_ref().map(|ends| ends[0].clone());
    let name = args.model.clone().or(first_end).context("expected a network")?;
    let network = read_model(&name, &args.read.options(), output)?.network;
    let ground = if args.orthant { Ground::Orthant } else { Ground::Space };
    let deadline = global.deadline();
    let subject = Subject::new(name, network, ground, deadline, global.seed);
    if let Some(other) = &args.member {
        return member(&subject, other, args, output);
    }
    if let Some(count) = args.sample {
        return points::sample(&subject, count, args, output);
    }
    if let Some(ends) = &args.path {
        return points::path(&subject, ends, args, output);
    }
    let listing = Listing { components: args.components, classes: args.classes };
    let summary = summary(&subject, listing, &|text| output.progress(text))?;
    output.end_progress();
    picture::draw(&subject, args)?;
    if let Some(path) = &args.latex {
        let latex = summary.to_latex();
        write_atomically(path, |file| file.write_all(latex.as_bytes()))?;
    }
    output.result(&summary.to_text(), &summary.to_json())?;
    Ok(if subject.fiber.is_ok() { Answer::Yes } else { Answer::Undecided })
}

/// The sentence for a network that the theory does not cover.
fn not_covered(subject: &Subject, output: &Output) -> anyhow::Result<Answer> {
    let failing = subject.failing();
    let text = format!(
        "undecided: the theory of generic fibers does not cover {}\n{}",
        subject.name,
        failing.iter().map(|line| format!("  fails: {line}\n")).collect::<String>()
    );
    output.result(&text, &json!({"undecided": failing, "files": [], "max_difference": null}))?;
    Ok(Answer::Undecided)
}

fn member(subject: &Subject, other: &str, args: &FiberArgs, output: &Output) -> anyhow::Result<Answer> {
    let found = read_model(other, &args.read.options(), output)?.network;
    let Ok(fiber) = &subject.fiber else { return not_covered(subject, output) };
    let found = fiber.contains(&found.to_exact());
    let (text, answer) = match &found {
        Membership::Member(piece) => {
            (format!("{other} lies in the fiber of {}, in the piece {piece}\n", subject.name), Answer::Yes)
        }
        Membership::Elsewhere(violation) => (
            format!("{other} lies in the fiber of {}, in none of its pieces\n  {violation}\n", subject.name),
            Answer::Yes,
        ),
        Membership::Outside(violation) => (
            format!("{other} does not lie in the generic fiber of {}\n  {violation}\n", subject.name),
            Answer::No,
        ),
    };
    output.result(&text, &membership(&found))?;
    Ok(answer)
}
