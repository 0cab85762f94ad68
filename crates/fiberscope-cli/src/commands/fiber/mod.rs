//! `fiberscope fiber`

pub mod args;
pub mod conserve;
mod describe;
mod picture;
mod points;
pub mod volume;

use std::io::Write;
use std::time::Duration;

use anyhow::Context;
use fiberscope::fiber::{Fiber, Ground, Membership, describe as describe_fiber};
use fiberscope::limit::Deadline;
use fiberscope_core::{Condition, Network};
use fiberscope_io::write_atomically;
use fiberscope_report::fiber::FiberSummary;
use serde_json::json;

use super::read_model;
use crate::Answer;
use crate::args::Global;
use crate::output::Output;
use args::FiberArgs;

/// A network, its fiber if the theory covers it, and where it is considered.
struct Subject {
    name: String,
    network: Network,
    ground: Ground,
    fiber: Result<Fiber, Vec<Condition>>,
    deadline: Deadline,
    seed: u64,
}

pub fn run(args: &FiberArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let first_end = args.path.as_ref().map(|ends| ends[0].clone());
    let name = args.model.clone().or(first_end).context("expected a network")?;
    let network = read_model(&name, &args.read.options(), output)?.network;
    let ground = if args.orthant { Ground::Orthant } else { Ground::Space };
    let fiber = describe_fiber(&network.to_exact(), ground);
    let deadline = Deadline::after(global.time_limit.map(Duration::from_secs_f64));
    let subject = Subject { name, network, ground, fiber, deadline, seed: global.seed };
    if let Some(other) = &args.member {
        return member(&subject, other, args, output);
    }
    if let Some(count) = args.sample {
        return points::sample(&subject, count, args, output);
    }
    if let Some(ends) = &args.path {
        return points::path(&subject, ends, args, output);
    }
    let summary = describe::summary(&subject, args.components, args.classes, output)?;
    picture::draw(&subject, args)?;
    if let Some(path) = &args.latex {
        let latex = summary.to_latex();
        write_atomically(path, |file| file.write_all(latex.as_bytes()))?;
    }
    output.result(&summary.to_text(), &summary.to_json())?;
    Ok(if subject.fiber.is_ok() { Answer::Yes } else { Answer::Undecided })
}

/// What is known of the fiber of a network on the whole input space, with at most so many components listed.
pub fn summary(
    name: &str,
    network: &Network,
    components: usize,
    (deadline, seed): (Deadline, u64),
    output: &Output,
) -> anyhow::Result<FiberSummary> {
    let fiber = describe_fiber(&network.to_exact(), Ground::Space);
    let (name, network) = (name.to_owned(), network.clone());
    let subject = Subject { name, network, ground: Ground::Space, fiber, deadline, seed };
    describe::summary(&subject, components, None, output)
}

/// The sentence for a network that the theory does not cover.
fn not_covered(subject: &Subject, conditions: &[Condition], output: &Output) -> anyhow::Result<Answer> {
    let failing: Vec<String> = conditions
        .iter()
        .filter(|condition| !condition.holds)
        .map(|condition| {
            format!("{}: {}", condition.statement, condition.detail.as_deref().unwrap_or("fails"))
        })
        .collect();
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
    let fiber = match &subject.fiber {
        Ok(fiber) => fiber,
        Err(conditions) => return not_covered(subject, conditions, output),
    };
    let (text, value, answer) = match fiber.contains(&found.to_exact()) {
        Membership::Member(orientation) => (
            format!("{other} lies in the fiber of {}, in the component {orientation}\n", subject.name),
            json!({"member": true, "orientation": orientation.to_string(), "reason": null}),
            Answer::Yes,
        ),
        Membership::Outside(violation) => (
            format!("{other} does not lie in the generic fiber of {}\n  {violation}\n", subject.name),
            json!({"member": false, "orientation": null, "reason": violation.to_string()}),
            Answer::No,
        ),
    };
    output.result(&text, &value)?;
    Ok(answer)
}
