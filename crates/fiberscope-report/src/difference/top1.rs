//! Whether two networks decide alike wherever the first one is sure: the search as the command asks for it, its
//! answer in words and in JSON. Classes are outputs, counted from 1.

use anyhow::anyhow;
use fiberscope::check::{Checker, Outcome};
use fiberscope::difference::{
    ClassChange, ClassState, Sureness, Top1, Top1Options, Top1Progress, Top1Verdict, Undecided, decide,
    probability,
};
use fiberscope::limit::{Deadline, Limit, Progress as ProgressTo};
use fiberscope_core::{Domain, Network, Rational, decimal};
use serde_json::{Value, json};

use super::boxes;
use crate::Say;
use crate::equivalence::{point, tolerance_text};
use crate::json::{lower, number};
use crate::number::grouped;
use crate::words::{enumeration, plural};

/// Searches, and says how far it is.
pub fn top1(
    (a, b): (&Network, &Network),
    domain: &Domain,
    options: Top1Options,
    say: Say,
) -> anyhow::Result<Top1> {
    let progress = |now: Top1Progress| say(&top1_progress(now));
    Ok(decide(a, b, domain, &options.progress(ProgressTo::to(&progress)))?)
}

fn top1_progress(now: Top1Progress) -> String {
    format!(
        "{} of {} classes settled; {} boxes, {} open",
        grouped(now.settled),
        grouped(now.classes),
        grouped(now.cells),
        grouped(now.open)
    )
}

/// Whether the checker accepts the certificate of an answer; `None` if there is no time.
pub fn top1_checked(
    (a, b): (&Network, &Network),
    found: &Top1,
    deadline: &Deadline,
) -> anyhow::Result<Option<bool>> {
    let Some(certificate) = &found.certificate else { return Ok(None) };
    match Checker::new(a, b).stop(&|| deadline.is_past()).check(certificate) {
        Outcome::Proved(_) => Ok(Some(true)),
        Outcome::Refused(refusal) => Err(anyhow!("the checker refuses the certificate: {refusal}")),
        Outcome::Stopped => Ok(None),
    }
}

/// The keys of `fiberscope diff --top1 --json`.
pub fn top1_value(sureness: &Sureness, found: &Top1, domain: &Domain) -> Value {
    let classes = found.classes.as_ref().map(|states| {
        let name = |state: &ClassState| match state {
            ClassState::Never => "never",
            ClassState::Same => "same",
            ClassState::Open => "open",
        };
        states.iter().map(name).collect::<Vec<_>>()
    });
    let (change, undecided) = match &found.verdict {
        Top1Verdict::Same => (None, None),
        Top1Verdict::Changes(change) => (Some(witness(change)), None),
        Top1Verdict::Undecided(why) => (None, Some(*why)),
    };
    let limit = match undecided {
        Some(Undecided::Limit(limit)) => Some(Limit::name(limit)),
        _ => None,
    };
    let confidence = match sureness {
        Sureness::Confidence(confidence) => Some(number(confidence)),
        Sureness::Margin(_) => None,
    };
    json!({
        "top1": {
            "holds": found.holds(),
            "witness": change,
            "margin": number(&found.margin),
            "margin_exact": found.margin.to_string(),
            "confidence": confidence,
            "classes": classes,
            "seen": found.seen.iter().map(|class| class + 1).collect::<Vec<_>>(),
            "reason": undecided.map(reason),
        },
        "domain": domain,
        "cells": found.cells,
        "limit": limit,
    })
}

fn witness(change: &ClassChange) -> Value {
    let numbers = |xs: &[Rational]| -> Vec<Value> { xs.iter().map(number).collect() };
    let exact: Vec<String> = change.point.x.iter().map(ToString::to_string).collect();
    json!({
        "x": numbers(&change.point.x),
        "a": numbers(&change.point.a),
        "b": numbers(&change.point.b),
        "class": change.class + 1,
        "rival": change.rival + 1,
        "lead": lower(&change.lead()),
        "probability": lower(&probability(&change.point.a, change.class)),
        "x_exact": exact,
    })
}

/// The answer as text. `checked` is whether the checker has accepted a certificate of it.
pub fn top1_text(sureness: &Sureness, found: &Top1, checked: bool) -> String {
    let mut lines = match &found.verdict {
        Top1Verdict::Same => same(sureness, found, checked),
        Top1Verdict::Changes(change) => changes(sureness, change),
        Top1Verdict::Undecided(why) => {
            let mut lines = vec![format!(
                "undecided whether B decides for the same class wherever {}, on the box: {}",
                premise(sureness),
                reason(*why)
            )];
            lines.extend(found.classes.as_ref().map(|states| open_line(states)));
            lines
        }
    };
    lines.push(boxes(found.cells));
    lines.join("\n") + "\n"
}

/// When `A` is sure, as the middle of a sentence.
fn premise(sureness: &Sureness) -> String {
    match sureness {
        Sureness::Margin(margin) if margin.is_zero() => "A has one largest output".into(),
        Sureness::Margin(margin) => {
            format!("one output of A is the largest by at least {}", tolerance_text(margin))
        }
        Sureness::Confidence(confidence) => format!(
            "the largest output of A has a softmax probability of at least {}",
            tolerance_text(confidence)
        ),
    }
}

fn same(sureness: &Sureness, found: &Top1, checked: bool) -> Vec<String> {
    let proof = if checked { "certificate checked" } else { "certified" };
    let Some(states) = &found.classes else {
        return vec![format!(
            "the same class on the whole box: moves make the same network of both ({proof})"
        )];
    };
    let mut lines = vec![format!(
        "the same class: wherever {}, B decides for it, on the whole box ({proof})",
        premise(sureness)
    )];
    if let Sureness::Confidence(_) = sureness {
        lines.push(match found.margin.is_zero() {
            true => "proved for every lead of A, however small: that probability implies none".into(),
            false => format!(
                "proved for every lead of A of at least {}, which that probability implies",
                decimal::lower(&found.margin)
            ),
        });
    }
    lines.push(never_line(states, found));
    lines
}

/// What is known of classes that `A` is never sure of.
fn never_line(states: &[ClassState], found: &Top1) -> String {
    let never = listed(states, ClassState::Never);
    let seen = match &found.seen[..] {
        [] => String::new(),
        seen => {
            let names: Vec<String> = seen.iter().map(|class| (class + 1).to_string()).collect();
            format!(
                "; inputs where it is were seen for {} {}",
                plural(seen.len(), "class", "classes"),
                enumeration(&names)
            )
        }
    };
    match never.len() {
        0 => format!("no class is proved to be one that A is never so sure of there{seen}"),
        n if n == states.len() => {
            "that says nothing of any input: A is proved never to be so sure of a class there".into()
        }
        n => format!(
            "{n} of {} classes A is never so sure of there (proved): {}{seen}",
            states.len(),
            enumeration(&never)
        ),
    }
}

fn listed(states: &[ClassState], wanted: ClassState) -> Vec<String> {
    let all = states.iter().enumerate().filter(|(_, state)| **state == wanted);
    all.map(|(class, _)| (class + 1).to_string()).collect()
}

fn changes(sureness: &Sureness, change: &ClassChange) -> Vec<String> {
    let (class, rival) = (change.class + 1, change.rival + 1);
    let (of_class, of_rival) = (&change.point.b[change.class], &change.point.b[change.rival]);
    let sure = match sureness {
        Sureness::Margin(_) => format!("A leads with class {class} by {}", decimal::lower(&change.lead())),
        Sureness::Confidence(_) => format!(
            "A gives class {class} a softmax probability of at least {}",
            decimal::lower(&probability(&change.point.a, change.class))
        ),
    };
    let other = if of_class == of_rival {
        format!("B puts class {rival} beside it, a tie")
    } else {
        format!("B puts class {rival} above it by {}", decimal::lower(&(of_rival - of_class)))
    };
    vec![
        format!("another class: {sure}, and {other} (evaluated exactly), at"),
        format!("  x    = {}", point(&change.point.x)),
        format!("  A(x) = {}", point(&change.point.a)),
        format!("  B(x) = {}", point(&change.point.b)),
    ]
}

fn reason(why: Undecided) -> String {
    match why {
        Undecided::Limit(limit) => limit.to_string(),
        Undecided::Rounding => "the outputs are as close to a tie as rounding lets the bounds tell".into(),
        Undecided::Confidence => {
            "A has the lead that the confidence implies at an input where B decides otherwise, but it is not as sure there, and no input where it is was found".into()
        }
    }
}

fn open_line(states: &[ClassState]) -> String {
    let open = listed(states, ClassState::Open);
    let settled = states.len() - open.len();
    match open.len() {
        0 => "all classes are settled but for rounding".into(),
        n => format!(
            "{settled} of {} classes are settled; open {}: {}",
            states.len(),
            plural(n, "is class", "are classes"),
            enumeration(&open)
        ),
    }
}
