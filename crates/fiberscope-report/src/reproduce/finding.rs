//! One line per claim: what the paper says, what we found, whether it is so.

use serde_json::{Value, json};

use super::standing::ClaimStanding;
use crate::page::{Cell, Section, Table};

/// A claim of a paper beside our number.
#[derive(Clone, Debug)]
pub struct Finding {
    pub experiment: String,
    pub claim: String,
    /// The paper's number, or its words where it has none.
    pub paper: String,
    /// Ours, with its interval.
    pub ours: String,
    pub standing: ClaimStanding,
}

/// The page's first section: all findings.
pub fn section(findings: &[Finding]) -> Section {
    let mut table = Table::new(["experiment", "claim", "paper", "here (95 % confidence)", "verdict"]);
    for finding in findings {
        table = table.row([
            Cell::code(&finding.experiment),
            Cell::text(&finding.claim),
            Cell::text(&finding.paper),
            Cell::text(&finding.ours),
            Cell::text(finding.standing.words()),
        ]);
    }
    Section::new("Claims and verdicts").table(table)
}

/// The findings for a terminal.
pub fn text(findings: &[Finding]) -> String {
    let mut text = "claims and verdicts\n".to_owned();
    for finding in findings {
        let Finding { experiment, claim, paper, ours, standing } = finding;
        text += &format!("  {experiment}: {claim}\n    paper: {paper}; here: {ours}; {}\n", standing.words());
    }
    text
}

/// The findings as JSON.
pub fn json(findings: &[Finding]) -> Value {
    let one = |f: &Finding| {
        json!({
            "experiment": f.experiment, "claim": f.claim, "paper": f.paper, "ours": f.ours,
            "verdict": f.standing.words(), "holds": f.standing == ClaimStanding::Holds,
        })
    };
    findings.iter().map(one).collect()
}
