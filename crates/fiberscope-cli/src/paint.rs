//! Colour for terminals: verdicts by what they say, names of facts quietly.
//!
//! Texts are made without colour and painted last, so that what is piped, saved or compared has none.

use std::io::IsTerminal;

/// What a line that begins so says.
const VERDICTS: [(&str, &str); 14] = [
    ("equivalent", GREEN),
    ("within ", GREEN),
    ("the same class", GREEN),
    ("proved", GREEN),
    ("yes", GREEN),
    ("verified", GREEN),
    ("different", RED),
    ("exceeds", RED),
    ("another class", RED),
    ("refused", RED),
    ("failed", RED),
    ("no:", RED),
    ("undecided", YELLOW),
    ("not decided", YELLOW),
];
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// Whether standard output is a terminal that wants colours: `NO_COLOR` is not set, or empty, and `TERM` is not `dumb`.
pub fn wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none()
        && set("TERM").is_some_and(|term| term != "dumb")
        && std::io::stdout().is_terminal()
}

/// A text with the colours of a terminal.
pub fn painted(text: &str) -> String {
    let titled = text.lines().nth(1).is_some_and(|line| fact(line).is_some());
    let mut out = String::with_capacity(text.len() + 64);
    for (place, line) in text.split_inclusive('\n').enumerate() {
        match fact(line) {
            Some((name, value)) => {
                out += &format!("{DIM}{name}{PLAIN}");
                out += &verdict(value).unwrap_or_else(|| value.to_owned());
            }
            None => {
                let plain = || if place == 0 && titled { wrapped(BOLD, line) } else { line.to_owned() };
                out += &verdict(line).unwrap_or_else(plain);
            }
        }
    }
    out
}

/// The name of a fact with the space around it, and its value: `  widths        3-3-2-1`.
fn fact(line: &str) -> Option<(&str, &str)> {
    let indented = line.strip_prefix("  ")?;
    let (name, value) = indented.split_once("  ")?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.len() <= 24;
    let start = line.len() - value.trim_start().len();
    (is_name && !value.trim().is_empty()).then(|| line.split_at(start))
}

/// A line that begins with a verdict, painted up to the colon or bracket that follows.
fn verdict(line: &str) -> Option<String> {
    let (_, colour) = VERDICTS.iter().find(|(word, _)| line.starts_with(word))?;
    let end = line.find([':', '(', '\n']).unwrap_or(line.len());
    let (head, rest) = line.split_at(end);
    let kept = head.trim_end();
    Some(format!("{BOLD}{colour}{kept}{PLAIN}{}{rest}", &head[kept.len()..]))
}

fn wrapped(style: &str, line: &str) -> String {
    let kept = line.trim_end_matches('\n');
    format!("{style}{kept}{PLAIN}{}", &line[kept.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        [GREEN, RED, YELLOW, BOLD, DIM, PLAIN]
            .iter()
            .fold(text.to_owned(), |text, code| text.replace(code, ""))
    }

    #[test]
    fn painting_adds_colours_and_nothing_else() {
        let texts = [
            "equivalent everywhere (method: moves; certificate checked)\n",
            "net\n  widths        3-3-2-1\n  identifiable  not decided: of the\n                  layers\n",
            "different: the outputs differ by 0.5 (method: evaluation)\n  x    = (1)\n",
            "  seed  epochs\n",
            "",
            "no newline",
        ];
        for text in texts {
            assert_eq!(plain(&painted(text)), text);
        }
    }

    #[test]
    fn verdicts_and_names_stand_out() {
        let text = painted("different: the outputs differ\n  x    = (1)\n");
        assert!(text.starts_with(&format!("{BOLD}{RED}different{PLAIN}:")), "{text:?}");
        let text = painted("net\n  identifiable  not decided: why\n");
        assert!(
            text.contains(&format!("{DIM}  identifiable  {PLAIN}{BOLD}{YELLOW}not decided{PLAIN}: why")),
            "{text:?}"
        );
        assert!(text.starts_with(&format!("{BOLD}net{PLAIN}\n")));
    }
}
