//! `fiberscope linear path`

use fiberscope_report::linear::motion::{along, path, path_text};
use serde_json::json;

use super::args::PathArgs;
use super::{all_or_undecided, file_names, read_linear, write_points};
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

pub fn run(args: &PathArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let a = read_linear(&args.a, &args.read, output)?;
    let b = args.b.as_ref().map(|argument| read_linear(argument, &args.read, output)).transpose()?;
    let (curve, note) = match path(&a, b.as_ref(), args.through_minimum, args.tolerance.get())? {
        Ok(found) => found,
        Err(reason) => return refuse(args, &reason, output),
    };
    let deadline = global.deadline();
    let (points, difference) = along(&curve, &a, args.steps, &deadline)?;
    let files = match &args.output {
        Some(folder) => write_points(folder, &points)?,
        None => Vec::new(),
    };
    let written = args
        .output
        .as_ref()
        .map_or(String::new(), |folder| format!("wrote {} points to {}\n", files.len(), folder.display()));
    let text = path_text(note, points.len(), difference) + &written;
    let value = json!({"connected": true, "path": note, "steps": args.steps, "max_difference": difference, "files": file_names(&files)});
    output.result(&text, &value)?;
    Ok(all_or_undecided(points.len(), args.steps as usize + 1, &deadline, output))
}

fn refuse(args: &PathArgs, reason: &str, output: &Output) -> anyhow::Result<Answer> {
    let value = json!({"connected": false, "reason": reason, "a": args.a, "b": args.b, "files": []});
    output.result(&format!("not connected: {reason}\n"), &value)?;
    Ok(Answer::No)
}
