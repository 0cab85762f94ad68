//! `fiberscope zoo`

use fiberscope_io::zoo;
use serde_json::{Value, json};

use crate::Answer;
use crate::args::{ZooArgs, ZooCommand};
use crate::output::Output;

pub fn run(args: &ZooArgs, output: &mut Output) -> anyhow::Result<Answer> {
    match args.command {
        ZooCommand::List => list(output),
    }
}

fn list(output: &mut Output) -> anyhow::Result<Answer> {
    let entries = zoo::entries();
    let widest = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for entry in &entries {
        let widths: Vec<_> = entry.widths.iter().map(ToString::to_string).collect();
        let (name, widths) = (&entry.name, widths.join("-"));
        text += &format!("zoo:{name:widest$}  {widths:10}  {}\n", entry.shows);
        text += &format!("    {:widest$}  {:10}  {}\n", "", "", entry.statement);
    }
    let value: Value = entries
        .iter()
        .map(|entry| {
            json!({"name": entry.name, "widths": entry.widths, "shows": entry.shows, "statement": entry.statement})
        })
        .collect();
    output.result(&text, &json!({"networks": value}))?;
    Ok(Answer::Yes)
}
