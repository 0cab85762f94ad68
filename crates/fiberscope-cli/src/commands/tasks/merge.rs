//! `fiberscope merge`

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Context;
use fiberscope::tasks::{Merged, Plan};
use fiberscope_io::{WorkFolder, write_atomically};
use fiberscope_report::tasks::{Remembered, tell};
use serde_json::json;

use super::args::MergeArgs;
use super::gathering::Gathering;
use crate::Answer;
use crate::args::Global;
use crate::commands::diff::answer;
use crate::output::Output;

pub fn run(args: &MergeArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    let folder = WorkFolder::open(&args.folder, Duration::from_secs(60))?;
    let (bytes, file) = folder.plan()?;
    let plan = Plan::from_bytes(bytes).with_context(|| file.display().to_string())?;
    let remembered = Remembered::of(&plan).with_context(|| file.display().to_string())?;
    output.read_so(remembered.how_read());
    let mut gathering = Gathering::new(&folder, &plan);
    gathering.look()?;
    for why in gathering.refused.values() {
        output.note(&format!("{why}; its task counts as missing"));
    }
    let deadline = global.deadline();
    let merged = gathering.results.merge(&deadline);
    let found = match merged.with_context(|| args.folder.display().to_string())? {
        Merged::Answer(found) => found,
        Merged::Missing(tasks) => return missing(args, &gathering, tasks.len(), output),
        Merged::Known => anyhow::bail!("a merge came to no answer"),
    };
    let told = tell(&plan, *found, &args.folder.join("answer"), &deadline)?;
    if let (Some(path), Some(certificate)) = (&args.certificate, &told.certificate) {
        let json = certificate.to_json();
        write_atomically(path, |file| file.write_all(json.as_bytes()))?;
    }
    let mut value = told.value;
    value["seconds"] = json!(start.elapsed().as_secs_f64());
    output.result(&told.text, &value)?;
    Ok(answer(told.holds))
}

fn missing(args: &MergeArgs, gathering: &Gathering, tasks: usize, output: &Output) -> anyhow::Result<Answer> {
    let (folder, done) = (args.folder.display(), gathering.results.len());
    let are = if tasks == 1 { "1 task is".to_owned() } else { format!("{tasks} tasks are") };
    let text = format!("undecided: {are} missing, {done} done; `fiberscope work {folder}` does them\n");
    output.result(&text, &json!({"verdict": "undecided", "missing": tasks, "done": done}))?;
    Ok(Answer::Undecided)
}
