//! Reports for terminals: aligned text of at most 96 columns, without colours.

use fiberscope_check::{Checked, Outcome, Question};
use fiberscope_core::{Anatomy, Certificate};

use crate::markup::printable;
use crate::moves;
use crate::number::grouped;
use crate::words;

const COLUMNS: usize = 96;
const NAMES: usize = 14;
/// Of a longer chain so many moves are listed.
const LISTED: usize = 30;

/// The anatomy of a network.
pub fn anatomy(name: &str, anatomy: &Anatomy) -> String {
    let decided = |holds: Option<bool>, reason: &str| format!("{}: {reason}", words::answer(holds));
    let inputs = anatomy.widths.first().copied().unwrap_or(0);
    let mut out = Lines::titled(name);
    out.fact("widths", &words::widths(&anatomy.widths));
    out.fact("parameters", &grouped(anatomy.parameters));
    out.fact("sha256", &anatomy.digest.to_string());
    out.fact("domain", &words::domain(&anatomy.domain, inputs));
    out.fact("bottleneck", &decided(anatomy.bottleneck, &words::bottleneck(anatomy)));
    for (layer, roles) in words::layers(anatomy) {
        out.fact(&layer, &roles);
    }
    out.fact("hidden", &words::hidden(anatomy));
    out.fact("generic", &decided(words::generic(anatomy), &words::generic_reason(anatomy)));
    for condition in &anatomy.conditions {
        let holds = if condition.holds { "holds" } else { "fails" };
        let place = condition.detail.as_ref().map_or(String::new(), |detail| format!(" ({detail})"));
        out.fact("", &format!("{holds}  {}{place}", condition.statement));
    }
    let (answer, reason) = words::identifiable(anatomy);
    out.fact("identifiable", &decided(answer, reason));
    if let Some(fiber) = words::fiber(anatomy) {
        out.fact("fiber", &fiber);
    }
    out.0
}

/// A certificate about the networks named `a` and `b`, and what the checker said.
pub fn certificate((a, b): (&str, &str), certificate: &Certificate, outcome: &Outcome) -> String {
    told((a, b), certificate, &words::evidence(&certificate.evidence), &words::outcome(outcome))
}

/// A certificate that was checked while it was read, and whether it proves what was asked.
pub fn checked((a, b): (&str, &str), checked: &Checked, question: &Question) -> String {
    let said = words::outcome(&checked.outcome);
    let Some(head) = &checked.head else {
        let mut out = Lines::titled(&format!("certificate: {a} and {b}"));
        out.fact("checker", &said);
        return out.0;
    };
    let proved = matches!(checked.outcome, Outcome::Proved(_));
    let listed = proved.then(|| usize::try_from(checked.listed).unwrap_or(usize::MAX));
    let evidence = words::evidence_with(&head.evidence, listed);
    let mut text = told((a, b), head, &evidence, &said);
    if proved && question.is_stated() {
        let mut out = Lines(String::new());
        out.fact(
            "question",
            &match question.shortfall(head) {
                None => "proved".into(),
                Some(gap) => format!("not proved: {}", words::shortfall(head, question, gap)),
            },
        );
        text += &out.0;
    }
    text
}

fn told((a, b): (&str, &str), certificate: &Certificate, evidence: &str, said: &str) -> String {
    let mut out = Lines::titled(&format!("certificate: {a} and {b}"));
    out.fact("claim", &words::claim(certificate));
    out.fact("A", &format!("{} {}", words::widths(&certificate.a.widths), certificate.a.sha256));
    out.fact("B", &format!("{} {}", words::widths(&certificate.b.widths), certificate.b.sha256));
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
    out.0
}

/// Lines `name  value`, the values aligned and wrapped.
pub(crate) struct Lines(String);

impl Lines {
    pub(crate) fn finish(self) -> String {
        self.0
    }

    pub(crate) fn titled(title: &str) -> Self {
        Lines(format!("{}\n", printable(title)))
    }

    pub(crate) fn fact(&mut self, name: &str, value: &str) {
        let mut name = name;
        for line in wrap(&printable(value), COLUMNS - NAMES - 2) {
            self.0.push_str(format!("  {name:NAMES$}{line}").trim_end());
            self.0.push('\n');
            name = "";
        }
    }
}

/// The lines of a text broken at spaces; a longer word stands alone. Lines after the first are
/// indented a little.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut words) = (String::new(), 0);
    for word in text.split(' ') {
        if words > 0 && line.chars().count() + 1 + word.chars().count() > columns {
            lines.push(std::mem::replace(&mut line, "  ".into()));
            words = 0;
        }
        if words > 0 {
            line.push(' ');
        }
        line.push_str(word);
        words += 1;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_wrapped_at_spaces() {
        assert_eq!(wrap("one two three four", 9), ["one two", "  three", "  four"]);
        assert_eq!(wrap("a verylongword b", 6), ["a", "  verylongword", "  b"]);
        assert_eq!(wrap("", 6), [""]);
        assert_eq!(wrap("holds  two spaces", 40), ["holds  two spaces"]);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut lines = Lines::titled("net\u{1b}[31m");
        lines.fact("name", "a\nb\u{7}");
        assert!(lines.0.chars().all(|c| c == '\n' || !c.is_control()));
        assert_eq!(lines.0.lines().count(), 2);
    }
}
