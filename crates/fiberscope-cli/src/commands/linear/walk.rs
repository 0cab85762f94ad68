//! `fiberscope linear walk`

use anyhow::{Context, bail};
use fiberscope::linear::{FlowBases, LinearError, LinearNetwork, TangentSpace, Walk, random_tangent};
use fiberscope_core::Matrix;
use serde_json::json;

use super::args::WalkArgs;
use super::{common_scale, distance, file_names, omega, read_linear, write_points};
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

/// How far the velocity may be from a tangent, relative to its size.
const TANGENT: f64 = 1e-8;

pub fn run(args: &WalkArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let network = read_linear(&args.model, output)?;
    let flow = FlowBases::compute(&network, args.tolerance.get()).with_context(|| args.model.clone())?;
    let velocity = velocity(args, global, &flow, output)?;
    let walk = match Walk::new(&network, &flow, &velocity, TANGENT) {
        Err(error @ LinearError::NotTangent { .. }) => {
            bail!("{}: {error} of its size; --project takes its tangent part", name(args))
        }
        walk => walk.with_context(|| name(args))?,
    };
    let time = |step: u32| args.length * f64::from(step) / f64::from(args.steps);
    let points: Vec<LinearNetwork> =
        (0..=args.steps).map(|step| walk.at(time(step))).collect::<Result<_, _>>().with_context(|| {
            format!("{}: the weights grow too large; a shorter --length may help", args.model)
        })?;
    let difference = points.iter().map(|point| point.function_difference(&network)).fold(0.0, f64::max);
    let end = points.last().expect("there is at least one step");
    let reached = FlowBases::compute(end, common_scale(&network, end, args.tolerance.get()))?;
    let files = match &args.output {
        Some(folder) => write_points(folder, &points)?,
        None => Vec::new(),
    };
    let moved = distance(network.weights(), end.weights());
    let stays = reached.barcode() == flow.barcode();
    let text = format!(
        "walked along the stratum {} for time {}, speed {:.3e} at the start; the weights moved by {moved:.3e}\nthe product \
         changed by at most {difference:.1e} on {} points; the numerical ranks at the end {}\n{}",
        flow.barcode(),
        args.length,
        size(&velocity),
        points.len(),
        if stays { "are the same" } else { "differ at this tolerance" },
        args.output.as_ref().map_or(String::new(), |folder| format!(
            "wrote {} points to {}\n",
            files.len(),
            folder.display()
        )),
    );
    let value = json!({
        "model": args.model, "omega": omega(flow.barcode()), "numerical": omega(reached.barcode()), "length": args.length,
        "steps": args.steps, "speed": size(&velocity), "distance": moved, "max_difference": difference,
        "files": file_names(&files),
    });
    output.result(&text, &value)?;
    Ok(Answer::Yes)
}

/// The velocity that the flags ask for.
fn velocity(
    args: &WalkArgs,
    global: &Global,
    flow: &FlowBases,
    output: &Output,
) -> anyhow::Result<Vec<Matrix>> {
    let space = TangentSpace::new(flow);
    let Some(argument) = &args.velocity else { return Ok(random_tangent(&space, global.seed)) };
    let given = read_linear(argument, output)?;
    if args.project {
        space.project(given.weights()).with_context(|| argument.clone())
    } else {
        Ok(given.weights().to_vec())
    }
}

fn name(args: &WalkArgs) -> String {
    args.velocity.clone().unwrap_or_else(|| args.model.clone())
}

fn size(direction: &[Matrix]) -> f64 {
    direction.iter().flat_map(Matrix::entries).map(|x| x * x).sum::<f64>().sqrt()
}
