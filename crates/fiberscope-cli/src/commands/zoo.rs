//! `fiberscope zoo`

use std::io::Write;

use fiberscope_io::write_atomically;
use fiberscope_report::benchmark_set::benchmark_set;
use fiberscope_report::zoo;
use serde_json::json;

use crate::Answer;
use crate::args::{Global, ZooArgs, ZooCommand};
use crate::output::Output;

pub fn run(args: &ZooArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    if let Some(ZooCommand::List) = args.command {
        output.result(&zoo::text(), &zoo::value())?;
    }
    let Some(path) = &args.export else { return Ok(Answer::Yes) };
    let shown: &Output = output;
    let set = benchmark_set(&global.deadline(), &|text| shown.progress(text))?;
    output.end_progress();
    let json = serde_json::to_vec(&set)?;
    write_atomically(path, |file| file.write_all(&json))?;
    let count = set["networks"].as_array().map_or(0, Vec::len);
    let complete = set["complete"] == true;
    let text = format!(
        "wrote {}: {count} networks with what is proved about each{}\n",
        path.display(),
        if complete { "" } else { "; a limit was reached before all were looked at" }
    );
    let value = json!({"file": path.display().to_string(), "networks": count, "complete": complete});
    output.result(&text, &value)?;
    Ok(if complete { Answer::Yes } else { Answer::Undecided })
}
