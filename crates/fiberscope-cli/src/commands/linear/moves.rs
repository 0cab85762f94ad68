//! `fiberscope linear move`

use std::fmt::Write;

use anyhow::Context;
use fiberscope::linear::{FlowBases, Stratum};
use fiberscope_io::{Precision, save};
use fiberscope_report::linear::motion::{StepRequest, common_scale, step};
use fiberscope_report::linear::{downs, omega, ups};
use serde_json::json;

use super::args::MoveArgs;
use super::read_linear;
use crate::Answer;
use crate::output::Output;

pub fn run(args: &MoveArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let network = read_linear(&args.model, output)?;
    let flow = FlowBases::compute(&network, args.tolerance.get())?;
    let stratum = Stratum::new(flow.barcode().rank_list());
    let Some(request) = request(args) else {
        let value = json!({"model": args.model, "omega": omega(stratum.barcode()), "up": ups(&stratum), "down": downs(&stratum)});
        output.result(&list(&args.model, &stratum), &value)?;
        return Ok(Answer::Yes);
    };
    let step = step(&network, &flow, request).with_context(|| args.model.clone())?;
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

/// The move that the flags ask for, if any.
fn request(args: &MoveArgs) -> Option<StepRequest> {
    match (args.up, args.down, args.cut) {
        (Some((source, target)), _, _) => Some(StepRequest::Up(source, target, args.epsilon)),
        (_, Some((outer, inner)), _) => Some(StepRequest::Down(outer, inner)),
        (_, _, Some((outer, after))) => Some(StepRequest::Cut(outer, after)),
        _ => args.to_minimum.then_some(StepRequest::ToMinimum),
    }
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
