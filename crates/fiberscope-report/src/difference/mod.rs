//! How far apart two networks are on a box: the search as the command asks for it, its answer in words and in
//! JSON.

mod around;
mod class;
mod data;
mod picture;
mod range;
pub(crate) mod section;
mod top1;

pub use around::{Around, Ball, around};
pub use class::{Classes, classes};
pub use data::{Rows, on_data, rows};
pub use picture::{Compared, draw, draw_around, pictures};
pub use range::{range_progress, range_text, range_value};
pub use top1::{top1, top1_checked, top1_text, top1_value};

use std::io::Write;
use std::path::Path;

use crate::json::{lower, number, upper};
use crate::number::{grouped, significant_upper};
use anyhow::{Context, anyhow};
use fiberscope::check::{Checker, Outcome};
use fiberscope::difference::{
    Decision, Difference, DifferenceError, DifferenceOptions, DifferenceProgress, Ended, Point, Relative,
    Size, State, measure, relative,
};
use fiberscope::limit::{Deadline, Limit, Progress as ProgressTo};
use fiberscope::threads;
use fiberscope_core::{Certificate, Domain, Evidence, Network, Rational, decimal};
use fiberscope_io::write_atomically;
use serde_json::{Value, json};

use crate::Say;
use crate::equivalence::{point, tolerance_text};
use crate::words::apart;

/// What is asked beside the networks and the box.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The number that the difference is compared with, as it was typed.
    pub epsilon: Option<Rational>,
    /// How close the bounds are to come otherwise.
    pub gap: f64,
    /// The size of the outputs of `A`, if differences are measured against it.
    pub size: Option<Size>,
}

impl Asked {
    /// Whether the question is answered with yes; `None` if it is not answered.
    pub fn holds(&self, found: &Difference) -> Option<bool> {
        match self.decision(found) {
            Some(Decision::Within) => Some(true),
            Some(Decision::Exceeds) => Some(false),
            Some(Decision::Undecided) => None,
            None => self.is_within_gap(found).then_some(true),
        }
    }

    /// Whether the bounds are as close as they are to come; with a size, those of the quotient.
    fn is_within_gap(&self, found: &Difference) -> bool {
        match &self.size {
            Some(size) => size.is_within_gap(found, self.gap),
            None => found.is_within_gap(self.gap),
        }
    }

    /// The decision about `epsilon`; with a size, about that part of it.
    pub fn decision(&self, found: &Difference) -> Option<Decision> {
        match (&self.epsilon, &self.size) {
            (Some(epsilon), Some(size)) => Some(size.decision(found, epsilon)),
            _ => found.decision,
        }
    }
}

/// The ends of a bounded box as doubles.
pub fn sides(domain: &Domain) -> Option<Vec<(f64, f64)>> {
    let Domain::Box(sides) = domain else { return None };
    sides.iter().map(|side| Some((side.lower.as_ref()?.to_f64(), side.upper.as_ref()?.to_f64()))).collect()
}

/// Searches. With a file, a search that it holds is continued, and one that a limit ends is written to it. Where the
/// difference is measured against the size of the outputs of `A`, that is told in the question.
pub fn search(
    (a, b): (&Network, &Network),
    domain: &Domain,
    (asked, of_size): (&mut Asked, bool),
    options: DifferenceOptions,
    file: Option<&Path>,
    say: Say,
) -> anyhow::Result<Difference> {
    let progress = |now: DifferenceProgress| say(&apart(now));
    let sizing = |now| say(&format!("the size of A's outputs: {}", range_progress(now)));
    let mut options = options.gap(asked.gap).progress(ProgressTo::to(&progress));
    options.epsilon.clone_from(&asked.epsilon);
    options.resume = file.filter(|path| path.exists()).map(read_state).transpose()?;
    let found = match of_size {
        false => measure(a, b, domain, &options),
        true => {
            let found = relative(a, b, domain, &options, ProgressTo::to(&sizing));
            found.map(|Relative { difference, size }| {
                asked.size = Some(size);
                difference
            })
        }
    };
    let found = found.map_err(|error| match (&error, file) {
        (DifferenceError::State(_), Some(path)) => anyhow!("{}: {error}", path.display()),
        _ => error.into(),
    })?;
    if let (Some(path), Ended::Limit(_)) = (file, found.ended) {
        let json = found.state.to_json();
        write_atomically(path, |file| file.write_all(json.as_bytes()))?;
    }
    Ok(found)
}

fn read_state(path: &Path) -> anyhow::Result<State> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    State::from_json(&bytes).with_context(|| path.display().to_string())
}

/// The proof of what is said, checked if there is time: of the upper bounds, or where the difference is
/// beyond `epsilon` of the point. The second part is whether the checker has accepted it.
pub fn certificate(
    (a, b): (&Network, &Network),
    domain: &Domain,
    asked: &Asked,
    found: &Difference,
    deadline: &Deadline,
) -> anyhow::Result<Option<(Certificate, bool)>> {
    let beyond = asked.decision(found) == Some(Decision::Exceeds);
    let certificate = if beyond { found.witness(a, b, domain) } else { found.certificate.clone() };
    let Some(certificate) = certificate else { return Ok(None) };
    // A limit leaves no time for another pass over all boxes. The bounds are those of the checker.
    if matches!(found.ended, Ended::Limit(_)) && !beyond {
        return Ok(Some((certificate, false)));
    }
    match Checker::new(a, b).threads(threads()).stop(&|| deadline.is_past()).check(&certificate) {
        Outcome::Proved(_) => Ok(Some((certificate, true))),
        Outcome::Refused(refusal) => Err(anyhow!("the checker refuses the certificate: {refusal}")),
        Outcome::Stopped => Ok(Some((certificate, false))),
    }
}

/// The keys of `fiberscope diff --json`. Upper bounds are rounded up and lower ones down; outputs count from
/// 1.
pub fn value(asked: &Asked, found: &Difference, domain: &Domain) -> Value {
    let at_most = |bound: &Option<Rational>| bound.as_ref().map(upper);
    let outputs: Vec<Value> = found
        .outputs
        .iter()
        .map(|output| json!({"lower": lower(&output.lower), "upper": at_most(&output.upper)}))
        .collect();
    let mut value = json!({
        "lower": lower(&found.lower),
        "upper": at_most(&found.upper),
        "witness": found.worst.as_ref().map(witness),
        "decision": asked.decision(found).map(Decision::name),
        "epsilon": asked.epsilon.as_ref().map(number),
        "gap": asked.gap,
        "outputs": outputs,
        "domain": domain,
        "cells": found.cells,
        "limit": match found.ended { Ended::Limit(limit) => Some(Limit::name(limit)), _ => None },
        "taken_over": found.taken_over,
        "lower_exact": found.lower.to_string(),
        "upper_exact": found.upper.as_ref().map(ToString::to_string),
    });
    if let Some(size) = &asked.size {
        let (least, most) = size.quotient(found);
        value["size"] = json!({"lower": lower(&size.lower), "upper": at_most(&size.upper)});
        value["relative"] = json!({"lower": least.as_ref().map(lower), "upper": most.as_ref().map(upper)});
    }
    value
}

fn witness(worst: &Point) -> Value {
    let numbers = |xs: &[Rational]| -> Vec<Value> { xs.iter().map(number).collect() };
    let exact: Vec<String> = worst.x.iter().map(ToString::to_string).collect();
    json!({
        "x": numbers(&worst.x),
        "a": numbers(&worst.a),
        "b": numbers(&worst.b),
        "output": worst.largest().0 + 1,
        "x_exact": exact,
    })
}

/// The answer as text. `checked` is whether the checker has accepted a certificate of it.
pub fn text(asked: &Asked, found: &Difference, checked: bool) -> String {
    let mut lines = vec![headline(asked, found, checked)];
    lines.extend(worst_lines(found));
    if found.outputs.len() > 1 {
        lines.push("largest difference of each output:".into());
        lines.extend(found.outputs.iter().enumerate().map(|(k, output)| {
            format!("  output {}: {}", k + 1, between(&output.lower, output.upper.as_ref()))
        }));
    }
    if let Some(size) = &asked.size {
        lines.push(relative_line(size, found));
    }
    lines.push(ending(asked, found));
    lines.join("\n") + "\n"
}

fn headline(asked: &Asked, found: &Difference, checked: bool) -> String {
    let proof = if checked { "certificate checked" } else { "certified" };
    let most = match &found.upper {
        Some(upper) if upper.is_zero() => {
            format!("the outputs do not differ on the box: moves make the same network of both ({proof})")
        }
        Some(upper) => {
            format!("the outputs differ by at most {} on the box ({proof})", decimal::upper(upper))
        }
        None => "no bound on the difference of the outputs is known".into(),
    };
    let Some((decision, epsilon)) = asked.decision(found).zip(asked.epsilon.as_ref()) else { return most };
    let epsilon = tolerance_text(epsilon);
    let of = if asked.size.is_some() { " of the size of A's outputs" } else { "" };
    match decision {
        Decision::Within => format!("within {epsilon}{of}: {most}"),
        Decision::Exceeds => {
            format!("exceeds {epsilon}{of}: a point where the outputs differ by more is shown")
        }
        Decision::Undecided => format!(
            "undecided whether the outputs differ by at most {epsilon}{of} on the box: {}\n{most}",
            reason(asked, found)
        ),
    }
}

/// What ended a search that no limit ended, without bounds and with them.
pub(super) const BEYOND: &str = "values on the box are beyond what doubles can bound";
pub(super) const CLOSEST: &str = "the bounds are as close as doubles can bring them";

/// Why a question is open.
fn reason(asked: &Asked, found: &Difference) -> String {
    let told = |ended: Ended| match ended {
        Ended::Limit(limit) => Some(limit.to_string()),
        Ended::Boxes => Some("as many boxes were bounded as were allowed".into()),
        Ended::Rounding if found.upper.is_none() => Some(BEYOND.into()),
        Ended::Rounding => Some(CLOSEST.into()),
        Ended::Reached => None,
    };
    let of_size = |size: &Size| {
        let (least, most) = (decimal::lower(&size.lower), size.upper.as_ref().map(decimal::upper));
        let known = match most {
            Some(most) => {
                format!("the size of A's outputs is known to be at least {least} and at most {most}")
            }
            None => format!("the size of A's outputs is known to be at least {least}, with no upper bound"),
        };
        told(size.ended).map_or(known.clone(), |why| format!("{known}, and {why}"))
    };
    let own = told(found.ended);
    own.or_else(|| asked.size.as_ref().map(of_size)).unwrap_or_else(|| "the bounds are not closer".into())
}

fn worst_lines(found: &Difference) -> Vec<String> {
    let Some(worst) = &found.worst else { return Vec::new() };
    let (output, difference) = worst.largest();
    if difference.is_zero() {
        let none = found.upper.as_ref().is_some_and(Rational::is_zero);
        return if none { Vec::new() } else { vec!["no point where they differ was found".into()] };
    }
    let named =
        if found.outputs.len() > 1 { format!("output {} differs", output + 1) } else { "they differ".into() };
    vec![
        format!("{named} by {} (evaluated exactly) at", decimal::lower(&difference)),
        format!("  x    = {}", point(&worst.x)),
        format!("  A(x) = {}", point(&worst.a)),
        format!("  B(x) = {}", point(&worst.b)),
    ]
}

fn relative_line(size: &Size, found: &Difference) -> String {
    let (least, most) = size.quotient(found);
    let least = least.map(|least| format!("at least {}", decimal::lower(&least)));
    let most = most.map(|most| format!("at most {}", decimal::upper(&most)));
    let known = [least, most].into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!(
        "relative to the largest absolute value of an output of A there, which is at least {}: {}",
        decimal::lower(&size.lower),
        if known.is_empty() { "no bound was found" } else { &known }
    )
}

/// Both bounds, the lower one rounded down and the upper one up.
pub(crate) fn between(least: &Rational, most: Option<&Rational>) -> String {
    let least = decimal::lower(least);
    match most {
        Some(most) => format!("at least {least}, at most {}", decimal::upper(most)),
        None => format!("at least {least}, and no upper bound was found"),
    }
}

/// A number of boxes in words.
fn boxes(count: usize) -> String {
    if count == 1 { "1 box".into() } else { format!("{} boxes", grouped(count)) }
}

fn ending(asked: &Asked, found: &Difference) -> String {
    let boxes = match &found.certificate {
        Some(Certificate { evidence: Evidence::Rounding { .. } | Evidence::Nudged { .. }, .. }) => {
            let from = "the bound follows from the parameters, layer by layer";
            match found.cells {
                0 => format!("no box was searched: {from}"),
                count => format!("{}, none of them needed: {from}", boxes(count)),
            }
        }
        Some(Certificate { evidence: Evidence::Moves { .. }, .. }) => "no box was searched".into(),
        _ => boxes(found.cells),
    };
    let close = match &found.upper {
        Some(upper) if found.lower.is_positive() => {
            let times = decimal::upper_f64(&(upper / &found.lower));
            format!("; the upper bound is {} times the lower one", significant_upper(times, 4))
        }
        _ => String::new(),
    };
    let open = asked.epsilon.is_none() && !asked.is_within_gap(found);
    let why = if open { format!("; stopped because {}", reason(asked, found)) } else { String::new() };
    let taken = match found.taken_over {
        true => {
            "\nthere was no time to bound the boxes of the earlier search again: the upper bounds are those that its state states; `fiberscope check` on the certificate tells whether they hold"
        }
        false => "",
    };
    format!("{boxes}{close}{why}{taken}")
}
