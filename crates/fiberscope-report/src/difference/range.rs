//! Ranges of the outputs of one network.

use crate::json::{lower, upper};
use crate::number::grouped;
use fiberscope::difference::{
    Difference, DifferenceOptions, DifferenceProgress, Ended, OutputRange, Ranges, ranges,
};
use fiberscope::limit::{Deadline, Progress};
use fiberscope_core::{Domain, Network, Rational, decimal};
use serde_json::{Value, json};

use super::boxes;
use crate::Say;
use crate::equivalence::point;

/// The largest absolute value of an output of a network on a box.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// The exact value at some input.
    pub lower: Rational,
    /// No input has a larger one; `None` if no bound is known.
    pub upper: Option<Rational>,
}

impl Size {
    /// Bounds of the largest difference, divided by the size.
    pub fn relative(&self, found: &Difference) -> (Option<Rational>, Option<Rational>) {
        let least = self.upper.as_ref().filter(|size| size.is_positive()).map(|size| &found.lower / size);
        let most = found.upper.as_ref().filter(|_| self.lower.is_positive()).map(|upper| upper / &self.lower);
        (least, most)
    }
}

/// The size of the outputs of a network, known up to `gap` times the width of their ranges, or what is known
/// of it after a quarter of the time that is left.
pub fn size(
    network: &Network,
    domain: &Domain,
    gap: f64,
    deadline: &Deadline,
    say: Say,
) -> anyhow::Result<Size> {
    let deadline = deadline.left().map_or(deadline.clone(), |left| deadline.at_most(left / 4));
    let progress = |now| say(&format!("the size of A's outputs: {}", range_progress(now)));
    let options = DifferenceOptions::new().gap(gap).deadline(deadline).progress(Progress::to(&progress));
    let found = ranges(network, domain, &options)?;
    let of = |ends: (&Rational, &Rational)| ends.0.abs().max(ends.1.abs());
    let outputs = found.outputs.unwrap_or_default();
    let lower = outputs.iter().map(|range| of((&range.seen.0, &range.seen.1))).max();
    let upper = outputs.iter().map(|range| of((&range.lower, &range.upper))).max();
    Ok(Size { lower: lower.unwrap_or_default(), upper })
}

/// The keys of `fiberscope bounds --json`. Outer ends are rounded outward, values that were seen inward;
/// outputs count from 1.
pub fn range_value(found: &Ranges, domain: &Domain) -> Value {
    let range = |range: &OutputRange| {
        json!({
            "lower": lower(&range.lower),
            "upper": upper(&range.upper),
            "seen": {"lower": upper(&range.seen.0), "upper": lower(&range.seen.1)},
        })
    };
    let outputs = found.outputs.as_ref().map(|outputs| outputs.iter().map(range).collect::<Vec<_>>());
    json!({
        "outputs": outputs,
        "domain": domain,
        "cells": found.cells,
        "limit": match found.ended { Ended::Limit(limit) => Some(limit.name()), _ => None },
    })
}

/// How far a search for ranges is, in a line.
pub fn range_progress(now: DifferenceProgress) -> String {
    format!("{} boxes, {} open", grouped(now.cells), grouped(now.open))
}

/// The ranges as text.
pub fn range_text(found: &Ranges, checked: bool) -> String {
    let proof = if checked { "certificate checked" } else { "certified" };
    let Some(outputs) = &found.outputs else { return "no bounds on the outputs are known\n".into() };
    let mut out = format!("ranges of the outputs on the box ({proof}), and of the values that were found:\n");
    for (k, range) in outputs.iter().enumerate() {
        let (least, most) = &range.seen;
        let found = match least == most {
            true => format!("found {}", point(std::slice::from_ref(least))),
            false => format!("found from {} to {}", decimal::upper(least), decimal::lower(most)),
        };
        let (lower, upper) = (decimal::lower(&range.lower), decimal::upper(&range.upper));
        out += &format!("  output {}: from {lower} to {upper}; {found}\n", k + 1);
    }
    out += &boxes(found.cells);
    match found.ended {
        Ended::Reached => {}
        Ended::Limit(limit) => out += &format!("; stopped because {limit}"),
        Ended::Boxes => out += "; stopped because as many boxes were bounded as were allowed",
        Ended::Rounding => out += "; stopped because no box can be bisected to a better bound",
    }
    out + "\n"
}
