//! Ranges of the outputs of one network.

use crate::json::{lower, upper};
use crate::number::grouped;
use fiberscope::difference::{DifferenceProgress, Ended, OutputRange, Ranges};
use fiberscope_core::{Domain, decimal};
use serde_json::{Value, json};

use super::{BEYOND, CLOSEST, boxes};
use crate::equivalence::point;

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
    let Some(outputs) = &found.outputs else {
        let why = match found.ended {
            Ended::Limit(limit) => format!(": {limit}"),
            Ended::Rounding => format!(": {BEYOND}"),
            Ended::Reached | Ended::Boxes => String::new(),
        };
        return format!("no bounds on the outputs are known{why}\n");
    };
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
        Ended::Rounding => out += &format!("; stopped because {CLOSEST}"),
    }
    out + "\n"
}
