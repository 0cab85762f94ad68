//! `fiberscope linear walk`

use anyhow::Context;
use fiberscope_report::linear::motion::{Walked, walk};
use fiberscope_report::linear::omega;
use serde_json::json;

use super::args::WalkArgs;
use super::{all_or_undecided, file_names, read_linear, write_points};
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

pub fn run(args: &WalkArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let network = read_linear(&args.model, output)?;
    let velocity = args.velocity.as_ref().map(|argument| read_linear(argument, output)).transpose()?;
    let velocity = velocity.as_ref().map(|velocity| (velocity, args.project));
    let time = (args.length, args.steps);
    let deadline = global.deadline();
    let walked = walk(&network, velocity, time, args.tolerance.get(), global.seed, &deadline);
    let Walked { points, bars, speed, distance, difference } = walked.with_context(|| args.model.clone())?;
    let steps = points.len().saturating_sub(1);
    let complete = steps == args.steps as usize;
    let length = if complete { args.length } else { args.length * steps as f64 / f64::from(args.steps) };
    let files = match &args.output {
        Some(folder) => write_points(folder, &points)?,
        None => Vec::new(),
    };
    let text = format!(
        "walked along the stratum {} for time {}, speed {:.3e} at the start; the weights moved by {distance:.3e}\nthe product \
         changed by at most {difference:.1e} on {} points; the numerical ranks at the end {}\n{}",
        bars[0],
        length,
        speed,
        points.len(),
        if bars[0] == bars[1] { "are the same" } else { "differ at this tolerance" },
        args.output.as_ref().map_or(String::new(), |folder| format!(
            "wrote {} points to {}\n",
            files.len(),
            folder.display()
        )),
    );
    let value = json!({
        "model": args.model, "omega": omega(&bars[0]), "numerical": omega(&bars[1]), "length": length,
        "steps": steps, "speed": speed, "distance": distance, "max_difference": difference,
        "files": file_names(&files),
    });
    output.result(&text, &value)?;
    Ok(all_or_undecided(points.len(), args.steps as usize + 1, &deadline, output))
}
