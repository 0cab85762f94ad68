//! One pair after another through `equiv`, its certificates through both checkers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fiberscope::equivalence::{EquivalenceOptions, decide};
use fiberscope::limit::Deadline;
use fiberscope_check::{Outcome, check};
use fiberscope_core::{Certificate, Network};
use fiberscope_io::json;
use fiberscope_report::equivalence::{certificate, value};
use rand::RngExt;
use serde_json::Value;

use crate::cells::Supremum;
use crate::command;
use crate::generate::{Case, Known, Maker, case};
use crate::judge::{Question, holds, judge, statement};
use crate::mutate::mutate;
use crate::second::{Answer, Second};
use crate::tally::{Finding, Tally};
use crate::truth::{Standing, Truth};

/// A verdict may come this much after its time limit.
const LATE: Duration = Duration::from_secs(3);
/// Certificates and networks up to this size are always given to the second checker, larger ones now and
/// then.
const SMALL: usize = 24 << 10;
/// One in so many cases is asked of the command, too.
const COMMAND_SHARE: usize = 400;

/// How pairs are soaked.
pub struct Pairs {
    /// The seed of all cases.
    pub seed: u64,
    /// Where findings go, a folder each.
    pub findings: PathBuf,
    /// The command, if it was built.
    pub command: Option<PathBuf>,
    /// Whether to show what is done.
    pub verbose: bool,
}

impl Pairs {
    /// Runs one case and counts it.
    pub fn run(&self, number: u64, second: &mut Option<Second>, tally: &mut Tally) {
        let mut maker = Maker::new(self.seed, number);
        let Some(case) = case(&mut maker) else {
            tally.rejected += 1;
            return;
        };
        tally.classes.entry(case.class.to_owned()).or_default().pairs += 1;
        let run = Run { pairs: self, number, case: &case, truth: Truth::new(&case, number) };
        run.all(&mut maker, second, tally);
    }
}

struct Run<'a> {
    pairs: &'a Pairs,
    number: u64,
    case: &'a Case,
    truth: Truth<'a>,
}

impl Run<'_> {
    fn all(&self, maker: &mut Maker, second: &mut Option<Second>, tally: &mut Tally) {
        if maker.percent(2) {
            self.confirm(tally);
        }
        let mut seen = String::new();
        for question in self.questions(maker) {
            let Some((answer, proof)) = self.ask(&question, tally) else { continue };
            let text = proof.as_ref().map(Certificate::to_json);
            let parsed: Option<Value> = text.as_deref().and_then(|text| serde_json::from_str(text).ok());
            let judged = judge(self.case, &self.truth, &question, &answer, parsed.as_ref());
            if self.pairs.verbose {
                self.show(&question, &answer, text.as_deref());
            }
            tally.classes.entry(self.case.class.to_owned()).or_default().count(&judged);
            if let Err(what) = judged {
                self.find(
                    "wrong verdict",
                    &format!("{question:?}: {}: {what}", answer["verdict"]),
                    text.as_deref(),
                    tally,
                );
            }
            if let (Some(text), Some(parsed)) = (text, parsed)
                && text != seen
            {
                self.check(&text, &parsed, maker, second, tally);
                seen = text;
            }
        }
        if let Some(command) = self
            .pairs
            .command
            .as_ref()
            .filter(|_| maker.below(COMMAND_SHARE) == 0 && command::can_ask(self.case))
        {
            self.command(command, maker, tally);
        }
    }

    /// The decomposition says the same as the construction: a test of both.
    fn confirm(&self, tally: &mut Tally) {
        let Some(found) = self.truth.decomposed(&self.case.domain) else { return };
        let pair = &self.case.pair;
        let expected = match &pair.known {
            Known::Equal | Known::EqualThere => found.is_zero(),
            Known::Different(x) if self.case.domain.contains(x) => {
                !found.is_zero() && pair.a.value(x) != pair.b.value(x)
            }
            _ => true,
        };
        tally.constructions += 1;
        if !expected || pair.supremum.as_ref().is_some_and(|known| *known != found) {
            self.find(
                "construction",
                &format!("decomposition gives {found:?}, construction {pair:?}"),
                None,
                tally,
            );
        }
    }

    /// What is asked about the pair: plainly, and exactly or with a tolerance on either side of the
    /// difference.
    fn questions(&self, maker: &mut Maker) -> Vec<Question> {
        let seconds = match maker.below(20) {
            0 => 0.0,
            1 => 0.0001,
            2 => 0.002,
            _ => 0.06,
        };
        let plain = Question { exact: false, tolerance: None, seconds };
        let mut questions = vec![];
        if maker.percent(60) {
            questions.push(plain.clone());
        }
        if questions.is_empty() || maker.percent(40) {
            questions.push(Question { exact: true, ..plain.clone() });
        }
        if maker.percent(25) {
            let around = match self.truth.supremum() {
                Some(Supremum::Finite(x)) if !x.is_zero() => x.to_f64(),
                _ => 2f64.powi(maker.rng.random_range(-40..20)),
            };
            let bits = maker.rng.random_range(1..50);
            for side in [1.0 + 2f64.powi(-bits), 1.0 - 2f64.powi(-bits), 1.0] {
                let eps = around * side;
                if maker.percent(50) && eps.is_finite() && eps > 0.0 {
                    questions.push(Question { tolerance: Some(eps), ..plain.clone() });
                }
            }
        }
        questions
    }

    fn ask(&self, question: &Question, tally: &mut Tally) -> Option<(Value, Option<Certificate>)> {
        let options = EquivalenceOptions::new()
            .exact(question.exact)
            .tolerance(question.tolerance)
            .precision(self.precision())
            .deadline(Deadline::after(Some(Duration::from_secs_f64(question.seconds))))
            .seed(self.number);
        let (a, b) = &self.case.networks;
        let start = Instant::now();
        let decided = catch_unwind(AssertUnwindSafe(|| decide(a, b, &self.case.domain, &options)));
        let took = start.elapsed();
        if took > Duration::from_secs_f64(question.seconds) + LATE {
            self.find("late", &format!("{question:?} took {} s", took.as_secs_f64()), None, tally);
        }
        match decided {
            Ok(Ok(decision)) => {
                let answer = value(&decision, &self.case.domain);
                Some((answer, certificate(&decision.verdict).cloned()))
            }
            Ok(Err(error)) => {
                self.find("error", &format!("{question:?}: {error}"), None, tally);
                None
            }
            Err(panic) => {
                self.find("panic", &format!("{question:?}: {}", message(&panic)), None, tally);
                None
            }
        }
    }

    fn precision(&self) -> f64 {
        2f64.powi(if self.case.single { -23 } else { -52 })
    }

    /// The certificate by both checkers, as it is and changed.
    fn check(
        &self,
        text: &str,
        parsed: &Value,
        maker: &mut Maker,
        second: &mut Option<Second>,
        tally: &mut Tally,
    ) {
        let (a, b) = &self.case.networks;
        match first_answer(text, a, b) {
            Answer::Proved => {
                tally.certificates += 1;
                let kind = parsed["evidence"]["kind"].as_str().unwrap_or_default();
                *tally.kinds.entry(kind.to_owned()).or_default() += 1;
            }
            answer => {
                self.find("certificate", &format!("the first checker says {answer:?}"), Some(text), tally)
            }
        }
        let models = (to_json(a), to_json(b));
        let size = text.len() + models.0.len() + models.1.len();
        if size <= SMALL || maker.percent(3) {
            match self.ask_second(text, &models, second, tally) {
                Some((Answer::Proved, _)) => tally.second += 1,
                Some((Answer::No, reason)) => {
                    let what = format!("the second checker does not accept it: {reason}");
                    self.find("checkers", &what, Some(text), tally);
                }
                Some((Answer::Limit, _)) | None => {}
            }
        }
        for _ in 0..2 {
            if let Some(mutant) = mutate(parsed, maker) {
                let share = size <= SMALL && maker.percent(25);
                self.mutant(&mutant, &models, share, second, tally);
            }
        }
    }

    fn mutant(
        &self,
        mutant: &Value,
        models: &(String, String),
        share: bool,
        second: &mut Option<Second>,
        tally: &mut Tally,
    ) {
        let text = mutant.to_string();
        let (a, b) = &self.case.networks;
        let first = match catch_unwind(AssertUnwindSafe(|| first_answer(&text, a, b))) {
            Ok(answer) => answer,
            Err(panic) => {
                self.find("panic", &format!("checking: {}", message(&panic)), Some(&text), tally);
                return;
            }
        };
        tally.mutants += 1;
        if first == Answer::Proved {
            tally.mutants_accepted += 1;
            let standing = statement(mutant)
                .map(|(statement, domain)| holds(self.case, &self.truth, &statement, &domain));
            if standing.is_none_or(|standing| standing == Standing::False) {
                self.find("false certificate", "accepted, and what it says is false", Some(&text), tally);
            }
        }
        if share && let Some((answer, reason)) = self.ask_second(&text, models, second, tally) {
            let agree = answer == first || [answer, first].contains(&Answer::Limit);
            if agree {
                tally.mutants_second += 1;
            } else {
                let what = format!("changed: the first says {first:?}, the second {answer:?} ({reason})");
                self.find("checkers", &what, Some(&text), tally);
            }
        }
    }

    fn ask_second(
        &self,
        text: &str,
        models: &(String, String),
        second: &mut Option<Second>,
        tally: &mut Tally,
    ) -> Option<(Answer, String)> {
        match second.as_mut()?.check(text, &models.0, &models.1) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.find("second checker", &error.to_string(), Some(text), tally);
                None
            }
        }
    }

    /// The same question to the command, with files.
    fn command(&self, command: &Path, maker: &mut Maker, tally: &mut Tally) {
        let Some(question) = self.questions(maker).pop() else { return };
        tally.commands += 1;
        match command::ask(command, self.case, &question) {
            Ok((code, answer, certificate)) => {
                let judged = judge(self.case, &self.truth, &question, &answer, certificate.as_ref());
                let expected = match answer["verdict"].as_str() {
                    Some("different") => 1,
                    Some("undecided") => 3,
                    _ => 0,
                };
                tally.classes.entry(self.case.class.to_owned()).or_default().count(&judged);
                let text = certificate.map(|c| c.to_string());
                if let Err(what) = judged {
                    self.find(
                        "wrong verdict",
                        &format!("command, {question:?}: {what}"),
                        text.as_deref(),
                        tally,
                    );
                } else if code != expected {
                    let what = format!("{question:?}: {} with exit code {code}", answer["verdict"]);
                    self.find("exit code", &what, text.as_deref(), tally);
                }
            }
            Err(error) => self.find("command", &format!("{question:?}: {error}"), None, tally),
        }
    }

    fn show(&self, question: &Question, answer: &Value, certificate: Option<&str>) {
        let Case { class, domain, pair, .. } = self.case;
        crate::say(&format!(
            "case {} ({class}) on {domain:?}\nknown: {:?}\nsupremum: {:?}\n{question:?}\n{answer:#}\n{}",
            self.number,
            pair.known,
            self.truth.supremum(),
            certificate.unwrap_or_default()
        ));
    }

    /// Notes a finding and keeps its files.
    fn find(&self, kind: &str, what: &str, certificate: Option<&str>, tally: &mut Tally) {
        let folder = self.pairs.findings.join(format!("{}-{}", kind.replace(' ', "-"), self.number));
        let what = format!("{}: {}", self.case.class, what.chars().take(600).collect::<String>());
        let finding = Finding {
            kind: kind.to_owned(),
            again: format!("--seed {} --case {}", self.pairs.seed, self.number),
            what,
        };
        let note = format!("{}\n{}\n", finding.again, finding.what);
        // A finding that cannot be stored is still counted.
        let _ = std::fs::create_dir_all(&folder);
        let _ = std::fs::write(folder.join("note.txt"), note);
        let _ = command::write_case(self.case, &folder);
        if let Some(text) = certificate {
            let _ = std::fs::write(folder.join("certificate.json"), text);
        }
        tally.findings.push(finding);
    }
}

/// What the first checker says of a text.
pub fn first_answer(text: &str, a: &Network, b: &Network) -> Answer {
    match Certificate::from_json(text.as_bytes()) {
        Ok(certificate) if matches!(check(&certificate, a, b), Outcome::Proved(_)) => Answer::Proved,
        _ => Answer::No,
    }
}

/// A network as JSON.
fn to_json(network: &Network) -> String {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = json::write(network, &mut bytes);
    String::from_utf8(bytes).unwrap_or_default()
}

/// What a panic says.
pub fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}
