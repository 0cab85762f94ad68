//! `fiberscope linear move`

use std::fmt::Write;

use anyhow::Context;
use fiberscope::linear::{
    Barcode, Displacement, DownMove, FlowBases, LinearError, LinearNetwork, Stratum, UpMove, cuts_to_minimum,
};
use fiberscope_io::{Precision, save};
use serde_json::{Value, json};

use super::args::MoveArgs;
use super::{bar_pair, common_scale, distance, omega, read_linear};
use crate::Answer;
use crate::output::Output;

pub fn run(args: &MoveArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let network = read_linear(&args.model, output)?;
    let flow = FlowBases::compute(&network, args.tolerance.get())?;
    let stratum = Stratum::new(flow.barcode().rank_list());
    let Some(step) = step(args, &network, &flow).with_context(|| args.model.clone())? else {
        let value = json!({"model": args.model, "omega": omega(stratum.barcode()), "up": ups(&stratum), "down": downs(&stratum)});
        output.result(&list(&args.model, &stratum), &value)?;
        return Ok(Answer::Yes);
    };
    let tolerance = common_scale(&network, &step.end, args.tolerance.get());
    let reached = FlowBases::compute(&step.end, tolerance)?;
    let difference = network.function_difference(&step.end);
    if let Some(path) = &args.output {
        save(&step.end.to_network(), path, Precision::F64)?;
    }
    let as_planned = reached.barcode() == &step.planned;
    let text = format!(
        "from {}\nto   {}{}\nthe product changed by at most {difference:.1e}; the weights moved by {:.3e}\n",
        stratum.barcode(),
        step.planned,
        if as_planned {
            ""
        } else {
            "\nat this tolerance the numerical ranks say otherwise; try a larger --epsilon or a smaller --tolerance"
        },
        step.distance,
    );
    let value = json!({
        "model": args.model,
        "output": args.output.as_ref().map(|path| path.display().to_string()),
        "from": omega(stratum.barcode()),
        "to": omega(&step.planned),
        "numerical": omega(reached.barcode()),
        "max_difference": difference,
        "distance": step.distance,
    });
    output.result(&text, &value)?;
    Ok(Answer::Yes)
}

struct Step {
    end: LinearNetwork,
    planned: Barcode,
    distance: f64,
}

/// The step that the flags ask for, if any.
fn step(args: &MoveArgs, network: &LinearNetwork, flow: &FlowBases) -> Result<Option<Step>, LinearError> {
    let barcode = flow.barcode();
    if args.to_minimum {
        let end = cuts_to_minimum(network, flow, 1.0)?;
        let planned = Stratum::new(barcode.rank_list()).fiber().minimum();
        return Ok(Some(Step { distance: distance(network.weights(), end.weights()), end, planned }));
    }
    let (line, t, planned) = if let Some((source, target)) = args.up {
        let up = UpMove { source, target, covering: false };
        let planned = up.apply(barcode)?;
        (Displacement::up(flow, &up)?, args.epsilon, planned)
    } else {
        let down = match (args.down, args.cut) {
            (Some((outer, inner)), _) => {
                DownMove { outer, inner: Some(inner), after: inner.end, covering: false }
            }
            (None, Some((outer, after))) => DownMove { outer, inner: None, after, covering: false },
            (None, None) => return Ok(None),
        };
        let planned = down.apply(barcode)?;
        (Displacement::down(flow, &down)?, 1.0, planned)
    };
    let end = line.at(network, t)?;
    Ok(Some(Step { distance: distance(network.weights(), end.weights()), end, planned }))
}

fn list(model: &str, stratum: &Stratum) -> String {
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

/// The moves up of a stratum.
pub fn ups(stratum: &Stratum) -> Value {
    let up = |up: UpMove| json!({"kind": up.kind().name(), "bars": [bar_pair(up.source), bar_pair(up.target)], "covering": up.covering});
    stratum.up_moves().into_iter().map(up).collect()
}

/// The moves down of a stratum.
pub fn downs(stratum: &Stratum) -> Value {
    let down = |down: DownMove| match down.inner {
        Some(inner) => {
            json!({"kind": "swap", "bars": [bar_pair(down.outer), bar_pair(inner)], "covering": down.covering})
        }
        None => {
            json!({"kind": "cut", "bars": [bar_pair(down.outer)], "after": down.after, "covering": down.covering})
        }
    };
    stratum.down_moves().into_iter().map(down).collect()
}
