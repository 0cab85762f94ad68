//! Certificates as JSON.

use std::fmt;

use serde::Serialize;

use super::{Certificate, Evidence, FORMAT, VERSION};
use crate::{MoveChain, RankEvidence};

impl Certificate {
    /// The certificate as JSON, a line per key and per move.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("writing to a string does not fail");
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        use fmt::Write;
        writeln!(out, "{{\"format\": {FORMAT:?}, \"version\": {VERSION},")?;
        writeln!(out, " \"a\": {},", json(&self.a))?;
        writeln!(out, " \"b\": {},", json(&self.b))?;
        writeln!(out, " \"domain\": {},", json(&self.domain))?;
        write!(out, " \"evidence\": {{\"kind\": {:?},", self.evidence.kind())?;
        match &self.evidence {
            Evidence::Moves { a, b } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {}", lines(a), lines(b))?;
            }
            Evidence::Rounding { a, b, bound } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", lines(a), lines(b))?;
                write!(out, "\n  \"bound\": {}", json(bound))?;
            }
            Evidence::Nudged { a, b, bound } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", list(a), list(b))?;
                write!(out, "\n  \"bound\": {}", json(bound))?;
            }
            Evidence::Close { a, b, relative } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", lines(a), lines(b))?;
                write!(out, "\n  \"relative\": {}", json(relative))?;
            }
            Evidence::Hyperplanes { a, b, prefix } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", lines(a), lines(b))?;
                write!(out, "\n  \"prefix\": {prefix}")?;
            }
            Evidence::Regions { a, b, prefix, tree } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", lines(a), lines(b))?;
                if *prefix > 0 {
                    write!(out, "\n  \"prefix\": {prefix},")?;
                }
                write!(out, "\n  \"tree\": ")?;
                write_list(out, tree)?;
            }
            Evidence::Line { a, b, breakpoints } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},\n  \"breakpoints\": ", lines(a), lines(b))?;
                write_list(out, breakpoints)?;
            }
            Evidence::Difference { a, b, bounds, tree } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", lines(a), lines(b))?;
                write!(out, "\n  \"bounds\": {},\n  \"tree\": ", json(bounds))?;
                write_short_list(out, tree)?;
            }
            Evidence::Decision { a, b, margin, tree } => {
                write!(out, "\n  \"a\": {},\n  \"b\": {},", lines(a), lines(b))?;
                write!(out, "\n  \"margin\": {},\n  \"tree\": ", json(margin))?;
                write_short_list(out, tree)?;
            }
            Evidence::Witness { x, a, b } => {
                write!(out, "\n  \"x\": {},\n  \"a\": {},\n  \"b\": {}", json(x), json(a), json(b))?;
            }
            Evidence::Rank(RankEvidence { points, folds, outputs, extra, rank }) => {
                write!(out, "\n  \"points\": ")?;
                write_list(out, points)?;
                write!(out, ",\n  \"folds\": ")?;
                write_short_list(out, folds)?;
                let [outputs, extra] =
                    [outputs, extra].map(|list| list.iter().map(|i| i + 1).collect::<Vec<_>>());
                write!(out, ",\n  \"outputs\": {},\n  \"extra\": {},", json(&outputs), json(&extra))?;
                write!(out, "\n  \"rank\": {rank}")?;
            }
        }
        writeln!(out, "}}}}")
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("certificates have string keys and finite numbers")
}

fn lines(chain: &MoveChain) -> String {
    list(chain.moves())
}

fn list(items: &[impl Serialize]) -> String {
    let mut out = String::new();
    write_list(&mut out, items).expect("writing to a string does not fail");
    out
}

/// A line per entry.
fn write_list(out: &mut String, items: &[impl Serialize]) -> fmt::Result {
    use fmt::Write;
    for (i, item) in items.iter().enumerate() {
        write!(out, "{}\n    {}", if i == 0 { "[" } else { "," }, json(item))?;
    }
    out.write_str(if items.is_empty() { "[]" } else { "]" })
}

/// Many short entries per line.
fn write_short_list(out: &mut String, items: &[impl Serialize]) -> fmt::Result {
    use fmt::Write;
    const PER_LINE: usize = 50;
    for (i, item) in items.iter().enumerate() {
        let before = match i {
            0 => "[",
            _ if i % PER_LINE == 0 => ",\n    ",
            _ => ",",
        };
        write!(out, "{before}{}", json(item))?;
    }
    out.write_str(if items.is_empty() { "[]" } else { "]" })
}
