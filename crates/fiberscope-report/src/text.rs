//! Text for terminals: aligned lines of at most 96 columns, without colours.

use crate::draw::markup::printable;

const COLUMNS: usize = 96;
const NAMES: usize = 14;

/// Lines `name  value`, the values aligned and wrapped.
#[derive(Default)]
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
