//! A certificate and the checker's word on it: text, JSON, and a section of a page.

mod check;
pub mod moves;
mod words;

pub use check::{Answer, answer, parse_claim, parse_decimal, too_late};

use fiberscope_check::{Checked, Outcome, Question};
use fiberscope_core::{Certificate, Claim, MoveChain, NetworkName};
use serde_json::{Value, json};

use crate::json::upper;
use crate::number::grouped;
use crate::page::{Badge, Cell, Section, Table};
use crate::text::Lines;
use crate::words::widths;

/// Of a longer chain so many moves are listed in text.
const LISTED: usize = 30;

/// A certificate about the networks named `a` and `b`, and what the checker said.
pub fn text((a, b): (&str, &str), certificate: &Certificate, outcome: &Outcome) -> String {
    told_text((a, b), certificate, &words::evidence(&certificate.evidence), &words::outcome(outcome))
}

/// A certificate that was checked while it was read, and whether it proves what was asked.
pub fn checked_text((a, b): (&str, &str), checked: &Checked, question: &Question) -> String {
    let said = words::outcome(&checked.outcome);
    let Some(head) = &checked.head else {
        let mut out = Lines::titled(&format!("certificate: {a} and {b}"));
        out.fact("checker", &said);
        return out.finish();
    };
    let proved = matches!(checked.outcome, Outcome::Proved(_));
    let listed = proved.then(|| usize::try_from(checked.listed).unwrap_or(usize::MAX));
    let evidence = words::evidence_with(&head.evidence, listed);
    let mut text = told_text((a, b), head, &evidence, &said);
    if proved && question.is_stated() {
        let mut out = Lines::default();
        out.fact(
            "question",
            &match question.shortfall(head) {
                None => "proved".into(),
                Some(gap) => format!("not proved: {}", words::shortfall(head, question, gap)),
            },
        );
        text += &out.finish();
    }
    text
}

fn told_text((a, b): (&str, &str), certificate: &Certificate, evidence: &str, said: &str) -> String {
    let mut out = Lines::titled(&format!("certificate: {a} and {b}"));
    out.fact("claim", &words::claim(certificate));
    out.fact("A", &format!("{} {}", widths(&certificate.a.widths), certificate.a.sha256));
    out.fact("B", &format!("{} {}", widths(&certificate.b.widths), certificate.b.sha256));
    out.fact("kind", certificate.evidence.kind());
    out.fact("evidence", evidence);
    for (name, chain) in words::move_chains(&certificate.evidence) {
        let mut heading = format!("moves on {name}");
        for (step, each) in chain.moves().iter().take(LISTED).enumerate() {
            out.fact(&heading, &format!("{}. {}", step + 1, moves::describe(each)));
            heading.clear();
        }
        if chain.moves().len() > LISTED {
            out.fact("", &format!("... and {} more", grouped(chain.moves().len() - LISTED)));
        }
    }
    for (name, value) in words::witness(&certificate.evidence).into_iter().flatten() {
        out.fact(name, &value);
    }
    out.fact("checker", said);
    out.finish()
}

/// The certificate and what the checker said of it, with the keys of `fiberscope check --json`, where nothing
/// else was asked.
pub fn value(certificate: &Certificate, outcome: &Outcome) -> Value {
    told_value(Some(certificate), outcome, &Question::default())
}

/// The keys of `fiberscope check --json`. `valid` is whether the certificate proves what was asked (`null` if
/// it was not checked in time) and `holds` whether it proves its own claim; `claim`, `domain`, `bound`
/// (rounded up, with `bound_exact`, the fraction) and `kind` are those of the certificate, `null` where it
/// was not read.
pub fn checked_value(checked: &Checked, question: &Question) -> Value {
    told_value(checked.head.as_ref(), &checked.outcome, question)
}

fn told_value(head: Option<&Certificate>, outcome: &Outcome, question: &Question) -> Value {
    let shortfall = head.and_then(|head| Some((head, question.shortfall(head)?)));
    let (holds, valid, reason) = match outcome {
        Outcome::Proved(claim) => match shortfall {
            None => (Some(true), Some(true), claim.to_string()),
            Some((head, gap)) => (Some(true), Some(false), words::shortfall(head, question, gap)),
        },
        Outcome::Refused(refusal) => (Some(false), Some(false), refusal.to_string()),
        Outcome::Stopped => (None, None, words::STOPPED.into()),
    };
    let claim = head.map(Certificate::claim);
    let mut value = json!({
        "valid": valid,
        "holds": holds,
        "claim": claim.as_ref().map(Claim::name),
        "domain": head.map(|head| &head.domain),
        "bound": null,
        "kind": head.map(|head| head.evidence.kind()),
        "reason": reason,
    });
    if let Some(Claim::ParametersAgree { relative }) = &claim {
        value["relative"] = upper(relative);
        value["relative_exact"] = json!(relative.to_string());
    }
    if let Some(Claim::SameClass { margin }) = &claim {
        value["margin"] = upper(margin);
        value["margin_exact"] = json!(margin.to_string());
    }
    if let Some(Claim::FiberDimension { upper, scalings }) = &claim {
        value["fiber_dimension"] = json!({"upper": upper, "scalings": scalings});
    }
    if let Some(bound) = claim.as_ref().and_then(Claim::bound) {
        value["bound"] = upper(bound);
        value["bound_exact"] = json!(bound.to_string());
    }
    value
}

/// The section for a certificate about the networks named `a` and `b`: what it claims, what the checker
/// said, the moves or the witness, and the certificate itself, shown and as data of the page.
pub fn section((a, b): (&str, &str), certificate: &Certificate, outcome: &Outcome) -> Section {
    let mut section = Section::new(format!("Certificate: {a} and {b}"))
        .badge(Badge::of(outcome))
        .paragraph(format!("Claim: {}.", words::claim(certificate)))
        .table(facts((a, b), certificate, outcome));
    if let Outcome::Refused(_) = outcome {
        section = section.paragraph("A refused certificate proves nothing: its claim may be true or false.");
    }
    evidence(section, certificate)
        .paragraph(
            "To check it again, save the certificate and run: fiberscope check CERTIFICATE A B. A second checker, one file that needs Python only and \
             shares no code with this one, is docs/formats/check.py of Fiberscope: python3 check.py CERTIFICATE A.json B.json (fiberscope convert \
             A A.json writes a network as JSON).",
        )
        .certificate(format!("certificate-{a}-{b}"), certificate)
}

fn facts((a, b): (&str, &str), certificate: &Certificate, outcome: &Outcome) -> Table {
    let network = |name: &str, named: &NetworkName| format!("{name}, widths {}", widths(&named.widths));
    Table::facts()
        .fact("network A", Cell::text(network(a, &certificate.a)))
        .fact("SHA-256 of A", Cell::code(certificate.a.sha256.to_string()))
        .fact("network B", Cell::text(network(b, &certificate.b)))
        .fact("SHA-256 of B", Cell::code(certificate.b.sha256.to_string()))
        .fact("kind", Cell::text(certificate.evidence.kind()))
        .fact("evidence", Cell::text(words::evidence(&certificate.evidence)))
        .fact("checker", Cell::text(words::outcome(outcome)))
}

fn evidence(mut section: Section, certificate: &Certificate) -> Section {
    let sentences = |chain: &MoveChain| -> Vec<_> { chain.moves().iter().map(moves::describe).collect() };
    for (name, chain) in words::move_chains(&certificate.evidence) {
        if !chain.is_empty() {
            section = section.subheading(format!("Moves on {name}")).list(sentences(chain));
        }
    }
    match words::witness(&certificate.evidence) {
        Some(rows) => {
            let table = rows
                .into_iter()
                .fold(Table::facts(), |table, (name, value)| table.fact(name, Cell::code(value)));
            section.subheading("Witness").table(table)
        }
        None => section,
    }
}
