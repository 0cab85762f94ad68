//! Ranges of the outputs of one network.

use crate::json::{lower, upper};
use crate::number::grouped;
use fiberscope::difference::{Difference, Ended, Options, OutputRange, Progress, Ranges, ranges};
use fiberscope::limit::Deadline;
use fiberscope_core::{Domain, Network, Rational, decimal};
use serde_json::{Value, json};

use super::boxes;

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

/// The size of the outputs of a network: known up to the width of their ranges, for at most a quarter of the
/// time that is left.
pub fn size(network: &Network, domain: &Domain, deadline: &Deadline) -> anyhow::Result<Size> {
    let deadline = deadline.left().map_or(deadline.clone(), |left| deadline.at_most(left / 4));
    let found = ranges(network, domain, &Options::new().gap(1.0).deadline(deadline))?;
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
pub fn range_progress(now: &Progress) -> String {
    format!("{} boxes, {} open", grouped(now.cells), grouped(now.open))
}

/// The ranges as text.
pub fn range_text(found: &Ranges, checked: bool) -> String {
    let proof = if checked { "certificate checked" } else { "certified" };
    let Some(outputs) = &found.outputs else { return "no bounds on the outputs are known\n".into() };
    let mut out = format!("ranges of the outputs on the box ({proof}), and of the values that were found:\n");
    for (k, range) in outputs.iter().enumerate() {
        out += &format!(
            "  output {}: from {} to {}; found from {} to {}\n",
            k + 1,
            decimal::lower(&range.lower),
            decimal::upper(&range.upper),
            decimal::upper(&range.seen.0),
            decimal::lower(&range.seen.1)
        );
    }
    out += &boxes(found.cells);
    if let Ended::Limit(limit) = found.ended {
        out += &format!("; stopped because {limit}");
    }
    out + "\n"
}
