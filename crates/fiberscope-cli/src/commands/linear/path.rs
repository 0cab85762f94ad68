//! `fiberscope linear path`

use fiberscope::linear::{Connection, FiberPath, LinearError, LinearNetwork, StratumPath};
use serde_json::json;

use super::args::PathArgs;
use super::{common_scale, file_names, read_linear, write_points};
use crate::Answer;
use crate::output::Output;

/// A curve of networks over `[0, 1]`.
type Curve = Box<dyn Fn(f64) -> Result<LinearNetwork, LinearError>>;

pub fn run(args: &PathArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let a = read_linear(&args.a, output)?;
    let (curve, note) = match &args.b {
        None => {
            let (path, mirrored) = StratumPath::to_canonical(&a, args.tolerance.get())?;
            let note = if mirrored {
                "to the mirror image of the canonical point, which lies in another component"
            } else {
                "to the canonical point of the stratum"
            };
            (Box::new(move |t| path.at(t)) as Curve, note)
        }
        Some(argument) => {
            let b = read_linear(argument, output)?;
            match connect(args, &a, &b)? {
                Ok(curve) if args.through_minimum => (curve, "through the minimal stratum"),
                Ok(curve) => (curve, "in the stratum"),
                Err(reason) => return refuse(args, &reason, output),
            }
        }
    };
    let mut points = Vec::new();
    let mut difference = 0f64;
    for step in 0..=args.steps {
        let point = curve(f64::from(step) / f64::from(args.steps))?;
        difference = difference.max(point.function_difference(&a));
        points.push(point);
    }
    let files = match &args.output {
        Some(folder) => write_points(folder, &points)?,
        None => Vec::new(),
    };
    let written = args
        .output
        .as_ref()
        .map_or(String::new(), |folder| format!("wrote {} points to {}\n", files.len(), folder.display()));
    let text = format!(
        "connected by a path {note}\nthe product changes by at most {difference:.1e} on {} points\n{written}",
        points.len()
    );
    let value = json!({"connected": true, "path": note, "steps": args.steps, "max_difference": difference, "files": file_names(&files)});
    output.result(&text, &value)?;
    Ok(Answer::Yes)
}

fn connect(
    args: &PathArgs,
    a: &LinearNetwork,
    b: &LinearNetwork,
) -> Result<Result<Curve, String>, LinearError> {
    let tolerance = common_scale(a, b, args.tolerance.get());
    if args.through_minimum {
        Ok(curve_or_reason(FiberPath::between(a, b, tolerance)?, "fiber", |path: FiberPath| {
            Box::new(move |t| path.at(t))
        }))
    } else {
        Ok(curve_or_reason(StratumPath::between(a, b, tolerance)?, "stratum", |path: StratumPath| {
            Box::new(move |t| path.at(t))
        }))
    }
}

fn curve_or_reason<P>(
    connection: Connection<P>,
    set: &str,
    curve: impl Fn(P) -> Curve,
) -> Result<Curve, String> {
    match connection {
        Connection::Path(path) => Ok(curve(path)),
        Connection::DifferentFunctions { difference, allowed } => Err(format!(
            "they compute different functions: a difference of {difference:.1e}, more than rounding ({allowed:.1e})"
        )),
        Connection::DifferentStrata => {
            Err("they lie in different strata of the fiber; --through-minimum leaves the stratum".into())
        }
        Connection::DifferentComponents => Err(format!(
            "they lie in different connected components of the {set}: signs of determinants differ that no motion in it can change"
        )),
    }
}

fn refuse(args: &PathArgs, reason: &str, output: &Output) -> anyhow::Result<Answer> {
    let value = json!({"connected": false, "reason": reason, "a": args.a, "b": args.b, "files": []});
    output.result(&format!("not connected: {reason}\n"), &value)?;
    Ok(Answer::No)
}
