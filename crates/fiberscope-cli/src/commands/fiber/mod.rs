//! `fiberscope fiber`

pub mod args;
pub mod conserve;
mod points;
pub mod volume;

use std::io::Write;

use anyhow::Context;
use fiberscope::fiber::{Ground, Membership};
use fiberscope_io::{Model, write_atomically};
use fiberscope_report::export::Program;
use fiberscope_report::fiber::{
    FiberPictures, Listing, Subject, draw, membership, membership_text, summary, system,
};
use fiberscope_report::reading::{add_names, name_neurons, names_text};
use serde_json::json;

use super::read_dense_model;
use crate::Answer;
use crate::args::Global;
use crate::output::Output;
use args::FiberArgs;

pub fn run(args: &FiberArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let first_end = args.path.as_ref().map(|ends| ends[0].clone());
    let name = args.model.clone().or(first_end).context("expected a network")?;
    let Model { network, names, .. } = read_dense_model(&name, &args.read.options(), output)?;
    for path in &args.export {
        Program::of(path).with_context(|| {
            format!("{}: expected a file name ending in .m2, .sage or .tex", path.display())
        })?;
    }
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
    let pictures = FiberPictures {
        graph: args.graph.as_deref(),
        slice: args.slice.as_deref(),
        strip: args.strip.as_deref(),
    };
    draw(&subject, &pictures)?;
    if let Some(path) = &args.latex {
        let latex = summary.to_latex();
        write_atomically(path, |file| file.write_all(latex.as_bytes()))?;
    }
    write_equations(&subject, args, output)?;
    let mut value = summary.to_json();
    add_names(&mut value, names.as_ref());
    name_neurons(&mut value, "hidden", names.as_ref());
    output.result(&(summary.to_text() + &names_text(names.as_ref())), &value)?;
    Ok(if subject.fiber.is_ok() { Answer::Yes } else { Answer::Undecided })
}

/// Writes the equations of the pieces where they are wanted.
fn write_equations(subject: &Subject, args: &FiberArgs, output: &Output) -> anyhow::Result<()> {
    let [first, ..] = &args.export[..] else { return Ok(()) };
    if subject.fiber.is_err() {
        output.note(&format!(
            "{}: not written, as the theory does not cover {}",
            first.display(),
            subject.name
        ));
        return Ok(());
    }
    let system = system(subject, args.components)?;
    for (path, program) in args.export.iter().filter_map(|path| Some((path, Program::of(path)?))) {
        let text = system.to_text(program);
        write_atomically(path, |file| file.write_all(text.as_bytes()))?;
    }
    Ok(())
}

/// The sentence for a network that the theory does not cover.
fn not_covered(subject: &Subject, output: &Output) -> anyhow::Result<Answer> {
    let value = json!({"undecided": subject.failing(), "files": [], "max_difference": null});
    output.result(&subject.not_covered_text(), &value)?;
    Ok(Answer::Undecided)
}

fn member(subject: &Subject, other: &str, args: &FiberArgs, output: &Output) -> anyhow::Result<Answer> {
    let found = read_dense_model(other, &args.read.options(), output)?.network;
    let Ok(fiber) = &subject.fiber else { return not_covered(subject, output) };
    let found = fiber.contains(&found.to_exact());
    output.result(&membership_text(other, subject, &found), &membership(&found))?;
    Ok(match found {
        Membership::Member(_) | Membership::Elsewhere(_) => Answer::Yes,
        Membership::Outside(_) => Answer::No,
    })
}
