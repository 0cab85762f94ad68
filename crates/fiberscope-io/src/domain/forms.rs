//! S-expressions as views of their text, without a tree.
//!
//! A *form* is an atom or a parenthesised list of forms; `;` starts a comment. [`forms`] checks once
//! that parentheses balance; after that a form is just its place in the text and finds its parts by
//! scanning. Nothing is allocated and nothing recurs, however the text is nested.

use crate::FormatError;
use crate::text::{clip, line_of};

/// The forms of a file.
pub(super) fn forms(text: &str) -> Result<Forms<'_>, FormatError> {
    let all = Forms { text, at: 0, end: text.len() };
    let (mut depth, mut outermost, mut at) = (0usize, 0, 0);
    while let Some((token, start, end)) = token(text, at) {
        match token {
            Token::Open => {
                outermost = if depth == 0 { start } else { outermost };
                depth += 1;
            }
            Token::Close if depth == 0 => return Err(error_at(text, start, "a \")\" closes nothing")),
            Token::Close => depth -= 1,
            Token::Atom => {}
        }
        at = end;
    }
    if depth > 0 {
        return Err(error_at(text, outermost, "the \"(\" at the beginning of this form is not closed"));
    }
    Ok(all)
}

fn error_at(text: &str, at: usize, message: &str) -> FormatError {
    FormatError::malformed(format!("line {}: {message}", line_of(text.as_bytes(), at)))
}

/// An atom or a list.
#[derive(Clone, Copy)]
pub(super) struct Form<'t> {
    text: &'t str,
    start: usize,
    end: usize,
}

impl<'t> Form<'t> {
    /// The text of an atom; `None` for a list.
    pub(super) fn atom(&self) -> Option<&'t str> {
        let source = &self.text[self.start..self.end];
        (!source.starts_with('(')).then_some(source)
    }

    /// The parts of a list; none for an atom.
    pub(super) fn parts(&self) -> Forms<'t> {
        match self.atom() {
            Some(_) => Forms { text: self.text, at: self.end, end: self.end },
            None => Forms { text: self.text, at: self.start + 1, end: self.end - 1 },
        }
    }

    /// This form alone.
    pub(super) fn alone(&self) -> Forms<'t> {
        Forms { text: self.text, at: self.start, end: self.end }
    }

    /// All atoms inside, at any depth.
    pub(super) fn atoms(&self) -> impl Iterator<Item = &'t str> {
        let (text, end) = (self.text, self.end);
        let mut at = self.start;
        std::iter::from_fn(move || {
            while at < end {
                let (token, start, next) = token(text, at)?;
                at = next;
                if token == Token::Atom && start < end {
                    return Some(&text[start..next]);
                }
            }
            None
        })
    }

    /// An error about this form, with its line and its text.
    pub(super) fn error(&self, message: impl AsRef<str>) -> FormatError {
        let words: Vec<&str> = self.text[self.start..self.end].split_whitespace().take(40).collect();
        let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
        let source: String = clip(&words.join(" ")).chars().map(printable).collect();
        let message = format!("{source}: {}", message.as_ref());
        error_at(self.text, self.start, &message)
    }
}

/// Consecutive forms.
#[derive(Clone)]
pub(super) struct Forms<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

impl<'t> Iterator for Forms<'t> {
    type Item = Form<'t>;

    fn next(&mut self) -> Option<Form<'t>> {
        let (token, start, end) = token(self.text, self.at).filter(|&(_, start, _)| start < self.end)?;
        self.at = if token == Token::Open { closing(self.text, end) } else { end };
        Some(Form { text: self.text, start, end: self.at })
    }
}

/// The end of the list whose opening parenthesis ends at `at`.
fn closing(text: &str, mut at: usize) -> usize {
    let mut depth = 1usize;
    while depth > 0 {
        let Some((token, _, end)) = token(text, at) else { return text.len() };
        match token {
            Token::Open => depth += 1,
            Token::Close => depth -= 1,
            Token::Atom => {}
        }
        at = end;
    }
    at
}

#[derive(Clone, Copy, PartialEq)]
enum Token {
    Open,
    Close,
    Atom,
}

/// The first token at or after `at`, with its start and end.
fn token(text: &str, mut at: usize) -> Option<(Token, usize, usize)> {
    let bytes = text.as_bytes();
    loop {
        match bytes.get(at)? {
            b';' => at += bytes[at..].iter().position(|&byte| byte == b'\n')?,
            byte if byte.is_ascii_whitespace() => at += 1,
            b'(' => return Some((Token::Open, at, at + 1)),
            b')' => return Some((Token::Close, at, at + 1)),
            _ => return Some((Token::Atom, at, atom_end(bytes, at))),
        }
    }
}

/// The end of the atom that starts at `at`. Spaces inside brackets belong to it: `X[0, 1]`.
fn atom_end(bytes: &[u8], at: usize) -> usize {
    if let quote @ (b'"' | b'|') = bytes[at] {
        let closing = bytes[at + 1..].iter().position(|&byte| byte == quote);
        return closing.map_or(bytes.len(), |length| at + length + 2);
    }
    let mut brackets = false;
    let ends = |&byte: &u8| {
        brackets = byte == b'[' || brackets && byte != b']';
        matches!(byte, b'(' | b')' | b';' | b'\n') || byte.is_ascii_whitespace() && !brackets
    };
    bytes[at..].iter().position(ends).map_or(bytes.len(), |length| at + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(form: Form) -> String {
        match form.atom() {
            Some(atom) => atom.to_owned(),
            None => format!("<{}>", form.parts().map(show).collect::<Vec<_>>().join("|")),
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = match forms(text) {
            Ok(forms) => forms.map(show).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{text:?}");
    }

    #[test]
    fn forms_find_their_parts() {
        check("", "");
        check(" ; only (a comment", "");
        check("(a (b c) () d)e;f\n(g)", "<a|<b|c>|<>|d> e <g>");
        check("(<= X[0, 1] -1.5)(x)", "<<=|X[0, 1]|-1.5> <x>");
        check("(a \"b ) ;\" |c d|)", "<a|\"b ) ;\"||c d|>");
        check("(a\u{e9} \u{1f600})", "<a\u{e9}|\u{1f600}>");
        check("x\n(a\n(b", "line 2: the \"(\" at the beginning of this form is not closed");
        check("a\n)", "line 2: a \")\" closes nothing");
        check("(\"a)", "line 1: the \"(\" at the beginning of this form is not closed");
        check("(x[0 )", "<x[0 >");
    }

    #[test]
    fn atoms_are_found_at_any_depth() {
        let form = forms("(a (b (c)) ; x\n d) e").unwrap().next().unwrap();
        assert_eq!(form.atoms().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        let deep = "(".repeat(100_000) + "a" + &")".repeat(100_000);
        assert_eq!(forms(&deep).unwrap().next().unwrap().atoms().count(), 1);
    }
}
