//! What a soak counts, in a form that adds up over runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::judge::{Judged, Word};

/// Verdicts on the pairs of a class.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Verdicts {
    /// Pairs.
    pub pairs: u64,
    /// Questions about them.
    pub questions: u64,
    /// Verdicts "equivalent".
    pub equivalent: u64,
    /// Verdicts "up to rounding" or "within the tolerance".
    pub rounding: u64,
    /// Verdicts "different".
    pub different: u64,
    /// Verdicts "undecided".
    pub undecided: u64,
    /// Verdicts that rest on samples alone, since the truth is out of reach.
    pub sampled: u64,
    /// Verdicts that are wrong.
    pub wrong: u64,
}

/// Executions of a reader.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Executions {
    /// How many.
    pub runs: u64,
    /// How many were accepted.
    pub accepted: u64,
    /// Kinds of answers met, at most, in one round.
    pub kinds: u64,
    /// The slowest, in microseconds.
    pub slowest: u64,
}

/// Something that must not be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// `wrong verdict`, `panic`, ...
    pub kind: String,
    /// How to see it again: arguments of the soak.
    pub again: String,
    /// What happened, in a sentence.
    pub what: String,
}

/// All counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// The number of the next case.
    pub next_case: u64,
    /// The number of the next round of the parsers.
    pub next_round: u64,
    /// How many runs are added up.
    pub runs: u64,
    /// How long they took together.
    pub seconds: f64,
    /// Verdicts per class.
    pub classes: BTreeMap<String, Verdicts>,
    /// Draws that left the doubles and gave no pair.
    pub rejected: u64,
    /// Constructions that the decomposition confirmed.
    pub constructions: u64,
    /// Questions asked of the command in a process of its own.
    pub commands: u64,
    /// Certificates that the first checker accepted.
    pub certificates: u64,
    /// The same, by kind of evidence.
    pub kinds: BTreeMap<String, u64>,
    /// Certificates that the second checker accepted.
    pub second: u64,
    /// Changed certificates that the first checker looked at.
    pub mutants: u64,
    /// Those that it accepted: what they say was true.
    pub mutants_accepted: u64,
    /// Changed certificates on which both checkers agreed.
    pub mutants_second: u64,
    /// Executions per reader.
    pub parsers: BTreeMap<String, Executions>,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Verdicts {
    /// Counts a verdict.
    pub fn count(&mut self, judged: &Result<Judged, String>) {
        self.questions += 1;
        match judged {
            Err(_) => self.wrong += 1,
            Ok(Judged { word, sampled }) => {
                self.sampled += u64::from(*sampled);
                *match word {
                    Word::Equivalent => &mut self.equivalent,
                    Word::Rounding => &mut self.rounding,
                    Word::Different => &mut self.different,
                    Word::Undecided => &mut self.undecided,
                } += 1;
            }
        }
    }
}

impl Tally {
    /// Adds another one's counts.
    pub fn add(&mut self, other: Tally) {
        for (name, more) in other.classes {
            let class = self.classes.entry(name).or_default();
            class.pairs += more.pairs;
            class.questions += more.questions;
            class.equivalent += more.equivalent;
            class.rounding += more.rounding;
            class.different += more.different;
            class.undecided += more.undecided;
            class.sampled += more.sampled;
            class.wrong += more.wrong;
        }
        for (name, more) in other.kinds {
            *self.kinds.entry(name).or_default() += more;
        }
        for (name, more) in other.parsers {
            let parser = self.parsers.entry(name).or_default();
            parser.runs += more.runs;
            parser.accepted += more.accepted;
            parser.kinds = parser.kinds.max(more.kinds);
            parser.slowest = parser.slowest.max(more.slowest);
        }
        self.rejected += other.rejected;
        self.constructions += other.constructions;
        self.commands += other.commands;
        self.certificates += other.certificates;
        self.second += other.second;
        self.mutants += other.mutants;
        self.mutants_accepted += other.mutants_accepted;
        self.mutants_second += other.mutants_second;
        self.findings.extend(other.findings);
    }

    /// All pairs.
    pub fn pairs(&self) -> u64 {
        self.classes.values().map(|class| class.pairs).sum()
    }

    /// All executions of readers.
    pub fn executions(&self) -> u64 {
        self.parsers.values().map(|parser| parser.runs).sum()
    }
}
