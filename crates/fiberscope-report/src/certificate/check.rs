//! What a certificate proves, and whether that is what was asked.

use std::io::Read;
use std::num::NonZeroUsize;

use anyhow::{Context, bail, ensure};
use fiberscope::limit::Deadline;
use fiberscope_check::difference::Arithmetic;
use fiberscope_check::{AskedClaim, Checked, Checker, Outcome, Question};
use fiberscope_core::{Network, Rational, decimal};
use serde_json::Value;

use super::{checked_text, checked_value};

/// The answer to a question about a certificate.
pub struct Answer {
    /// Whether the certificate proves what was asked; `None` if it was not checked in time.
    pub proved: Option<bool>,
    /// The answer in words.
    pub text: String,
    /// The keys of `fiberscope check --json`.
    pub value: Value,
    /// Whether the certificate names the two networks in the other order.
    pub swapped: bool,
}

/// Checks a certificate while it is read, and whether it answers the question.
pub fn answer(
    certificate: impl Read,
    names: (&str, &str),
    (a, b): (&Network, &Network),
    question: &Question,
    (arithmetic, threads): (Arithmetic, NonZeroUsize),
    deadline: &Deadline,
) -> anyhow::Result<Answer> {
    if let Some(domain) = &question.domain {
        domain.check(a.input_width())?;
    }
    let late = || deadline.is_past();
    let checker = Checker::new(a, b).arithmetic(arithmetic).threads(threads).stop(&late);
    let checked = checker.check_reader(certificate)?;
    Ok(told(&checked, names, (a, b), question))
}

/// The answer when the time is up before anything is known.
pub fn too_late(names: (&str, &str), question: &Question) -> Answer {
    let checked = Checked { head: None, listed: 0, outcome: Outcome::Stopped };
    let (text, value) = (checked_text(names, &checked, question), checked_value(&checked, question));
    Answer { proved: None, text, value, swapped: false }
}

fn told(checked: &Checked, names: (&str, &str), (a, b): (&Network, &Network), question: &Question) -> Answer {
    use fiberscope_core::NetworkName;
    let proved = match (&checked.outcome, &checked.head) {
        (Outcome::Proved(_), Some(head)) => Some(question.shortfall(head).is_none()),
        (Outcome::Stopped, _) => None,
        _ => Some(false),
    };
    let refused = matches!(checked.outcome, Outcome::Refused(_));
    let swapped = refused
        && checked.head.as_ref().is_some_and(|head| {
            head.a != head.b && head.a == NetworkName::of(b) && head.b == NetworkName::of(a)
        });
    let (text, value) = (checked_text(names, checked, question), checked_value(checked, question));
    Answer { proved, text, value, swapped }
}

/// Reads `equivalent`, `different`, `within=EPS`, `same_class[=M]`, `other_class[=M]` or `locally_identifiable` with exact decimals EPS
/// and M.
pub fn parse_claim(text: &str) -> anyhow::Result<AskedClaim> {
    match text.split_once('=') {
        None if text == "equivalent" => Ok(AskedClaim::Equivalent),
        None if text == "different" => Ok(AskedClaim::Different),
        None if text == "locally_identifiable" => Ok(AskedClaim::LocallyIdentifiable),
        None if text == "same_class" => Ok(AskedClaim::SameClass(Rational::ZERO)),
        None if text == "other_class" => Ok(AskedClaim::OtherClass(Rational::ZERO)),
        Some(("within", eps)) => Ok(AskedClaim::Within(claimed(text, eps, "bound")?)),
        Some(("same_class", margin)) => Ok(AskedClaim::SameClass(claimed(text, margin, "margin")?)),
        Some(("other_class", margin)) => Ok(AskedClaim::OtherClass(claimed(text, margin, "margin")?)),
        _ => bail!(
            "expected a claim equivalent, different, within=EPS, same_class[=M], other_class[=M] or \
             locally_identifiable, found {:?}",
            cut(text)
        ),
    }
}

/// The number of a claim.
fn claimed(text: &str, number: &str, what: &str) -> anyhow::Result<Rational> {
    let number = parse_decimal(number).with_context(|| format!("claim {:?}", cut(text)))?;
    ensure!(!number.is_negative(), "claim {:?}: expected a {what} that is not negative", cut(text));
    Ok(number)
}

fn cut(text: &str) -> String {
    text.chars().take(60).collect()
}

/// The exact value of a decimal number such as `0.001` or `1e-6`.
pub fn parse_decimal(text: &str) -> anyhow::Result<Rational> {
    let wrong = || format!("expected a decimal number such as 0.001 or 1e-6, found {:?}", cut(text));
    decimal::parse(text).with_context(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (text, value) in [
            ("0.1", "1/10"),
            ("1e-6", "1/1000000"),
            ("2.5E+1", "25"),
            ("0", "0"),
            ("-0.25", "-1/4"),
            (".5", "1/2"),
            ("3.", "3"),
        ] {
            assert_eq!(parse_decimal(text).unwrap(), value.parse().unwrap(), "{text}");
        }
        for text in ["", "-", ".", "1e", "1e99999999999", "1e6000", "inf", "1/2", "0x1", "1_0", "--1", "1.-5"]
        {
            assert!(parse_decimal(text).is_err(), "{text}");
        }
    }

    #[test]
    fn claims_are_read() {
        assert_eq!(parse_claim("equivalent").unwrap(), AskedClaim::Equivalent);
        assert_eq!(parse_claim("within=0.5").unwrap(), AskedClaim::Within("1/2".parse().unwrap()));
        assert_eq!(parse_claim("same_class").unwrap(), AskedClaim::SameClass(Rational::ZERO));
        assert_eq!(parse_claim("other_class=0.5").unwrap(), AskedClaim::OtherClass("1/2".parse().unwrap()));
        for text in [
            "",
            "same",
            "same_class=",
            "other_class=-1",
            "within",
            "within=",
            "within=-1",
            "equivalent=1",
            "Different",
        ] {
            assert!(parse_claim(text).is_err(), "{text}");
        }
    }
}
