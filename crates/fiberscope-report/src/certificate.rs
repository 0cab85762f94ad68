//! A certificate and the checker's word on it as a section of a page.

use fiberscope_check::Outcome;
use fiberscope_core::{Certificate, MoveChain, NetworkName};

use crate::moves;
use crate::page::{Badge, Cell, Section, Table};
use crate::words;

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
    let network =
        |name: &str, named: &NetworkName| format!("{name}, widths {}", words::widths(&named.widths));
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
