//! The zoo as a list: text and JSON.

use fiberscope_io::zoo::{ZooEntry, entries};
use serde_json::{Value, json};

use crate::words::joined;

/// The networks of the zoo, two lines for each.
pub fn text() -> String {
    let entries = entries();
    let widest = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for entry in &entries {
        let (name, widths) = (&entry.name, joined(&entry.widths, "-"));
        text += &format!("zoo:{name:widest$}  {widths:10}  {}\n", entry.shows);
        text += &format!("    {:widest$}  {:10}  {}\n", "", "", entry.statement);
    }
    text
}

/// The same with the keys of `fiberscope zoo list --json`.
pub fn value() -> Value {
    let entry = |entry: ZooEntry| json!({"name": entry.name, "widths": entry.widths, "shows": entry.shows, "statement": entry.statement});
    json!({"networks": entries().into_iter().map(entry).collect::<Vec<_>>()})
}
