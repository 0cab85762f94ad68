//! The moves of a linear network to neighbouring strata: which there are, and one that was made.

use std::fmt::Write;

use fiberscope::linear::{Barcode, FlowBases, LinearError, LinearNetwork, Stratum, Tolerance};
use serde_json::{Value, json};

use super::motion::{Step, StepRequest, common_scale, step};
use super::{downs, omega, ups};
use crate::number::{significant, significant_upper};

/// The moves of a stratum, with keys of `fiberscope linear move --json`.
pub fn list_value(stratum: &Stratum) -> Value {
    json!({"omega": omega(stratum.barcode()), "up": ups(stratum), "down": downs(stratum)})
}

/// The moves of the stratum of the network `model`, and the flags that make them.
pub fn list_text(model: &str, stratum: &Stratum) -> String {
    let mut text = format!("{model}: {}\n", stratum.barcode());
    for up in stratum.up_moves() {
        let (f, e) = (up.source, up.target);
        let note = if up.covering { "" } else { "   (passes other strata)" };
        let _ = writeln!(
            text,
            "up    {:8} --up {}-{},{}-{}{note}",
            up.kind().name(),
            f.start,
            f.end,
            e.start,
            e.end
        );
    }
    for down in stratum.down_moves() {
        let outer = down.outer;
        let note = if down.covering { "" } else { "   (passes other strata)" };
        let _ = match down.inner {
            Some(inner) => {
                writeln!(
                    text,
                    "down  swap     --down {}-{},{}-{}{note}",
                    outer.start, outer.end, inner.start, inner.end
                )
            }
            None => writeln!(text, "down  cut      --cut {}-{},{}{note}", outer.start, outer.end, down.after),
        };
    }
    if stratum.up_moves().is_empty() && stratum.down_moves().is_empty() {
        text.push_str("no moves: the fiber has one stratum\n");
    }
    text
}

/// A move that was made, and what the numbers say of it.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The bars before it.
    pub from: Barcode,
    /// The move.
    pub step: Step,
    /// The bars that numerical ranks see after it.
    pub numerical: Barcode,
    /// How much the product changed.
    pub difference: f64,
}

impl Moved {
    /// Makes a move; `flow` are the bases of the network.
    pub fn new(
        network: &LinearNetwork,
        flow: &FlowBases,
        request: StepRequest,
        tolerance: Tolerance,
    ) -> Result<Self, LinearError> {
        let step = step(network, flow, request)?;
        let reached = FlowBases::compute(&step.end, common_scale(network, &step.end, tolerance))?;
        Ok(Moved {
            from: Stratum::new(flow.barcode().rank_list()).barcode().clone(),
            numerical: reached.barcode().clone(),
            difference: network.function_difference(&step.end),
            step,
        })
    }

    /// The facts for a terminal.
    pub fn to_text(&self) -> String {
        format!(
            "from {}\nto   {}{}\nthe product changed by at most {}; the weights moved by {}\n",
            self.from,
            self.step.planned,
            if self.numerical == self.step.planned {
                ""
            } else {
                "\nat this tolerance the numerical ranks say otherwise; try a larger --epsilon or a smaller --tolerance"
            },
            significant_upper(self.difference, 2),
            significant(self.step.distance, 4),
        )
    }

    /// The facts with keys of `fiberscope linear move --json`.
    pub fn to_json(&self) -> Value {
        json!({
            "from": omega(&self.from),
            "to": omega(&self.step.planned),
            "numerical": omega(&self.numerical),
            "max_difference": self.difference,
            "distance": self.step.distance,
        })
    }
}
