//! Sentences with mathematics in them, set as people write it.
//!
//! Texts are written for terminals: `W_1`, `R^8`, `[-1, 1]^2`, `n_0 >= n_1`. On a page the same text has indices,
//! exponents and signs; words between backticks are code. What does not look like a formula stays as it is, names of
//! files among it.

use crate::draw::markup::Element;

/// Letters that carry an index.
const LETTERS: &str = "ABDHJKMSVWabcehijklmnptuvwxy";
/// Indices that are words.
const WORDS: [&str; 4] = ["min", "max", "Lin", "next"];
/// Signs that a terminal spells out.
const SIGNS: [(&str, &str); 6] =
    [(">=", "≥"), ("<=", "≤"), ("!=", "≠"), ("->", "→"), ("] x [", "] × ["), ("+-", "±")];

/// The element with a text added to its content.
pub(super) fn prose(mut element: Element, text: &str) -> Element {
    let mut plain = String::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let found = match c {
            '`' => code(rest),
            '^' => exponent(&plain, rest),
            '_' => index(&mut plain, rest, 1),
            '0'..='9' if plain.ends_with('x') => index(&mut plain, rest, 0),
            _ => None,
        };
        if let Some((made, length)) = found {
            if c == '^' && standalone(&plain, 'R') {
                plain.pop();
                plain.push('ℝ');
            }
            element = element.text(&plain).children(made);
            plain.clear();
            // What follows is preceded by a formula.
            at += length;
        } else if let Some((spelled, sign)) = SIGNS.iter().find(|(spelled, _)| rest.starts_with(spelled)) {
            plain.push_str(sign);
            at += spelled.len();
        } else {
            plain.push(c);
            at += c.len_utf8();
        }
    }
    element.text(&plain)
}

/// Code between backticks, and how long it is.
fn code(rest: &str) -> Option<(Vec<Element>, usize)> {
    let end = rest[1..].find('`')?;
    Some((vec![Element::of_text("code", &rest[1..=end])], end + 2))
}

/// `^n`, `^-1`, `^(n + 1)` behind what can have an exponent.
fn exponent(before: &str, rest: &str) -> Option<(Vec<Element>, usize)> {
    let carries = before.is_empty() || before.ends_with(|c: char| c.is_alphanumeric() || "])".contains(c));
    let body = &rest[1..];
    let length = if body.starts_with(['(', '{']) { bracketed(body)? } else { signed_word(body)? };
    if !carries || goes_on(&body[length..]) {
        return None;
    }
    let inside = strip_brackets(&body[..length]);
    Some((vec![prose(Element::new("sup"), inside)], 1 + length))
}

/// `_1`, `_k`, `_min`, `_(k+1)` behind a single letter; the digits behind `x` if `skip` is 0.
fn index(before: &mut String, rest: &str, skip: usize) -> Option<(Vec<Element>, usize)> {
    let letter = before.chars().last().filter(|&c| LETTERS.contains(c) && standalone(before, c))?;
    let body = &rest[skip..];
    let length = if body.starts_with(['(', '{']) {
        bracketed(body)?
    } else {
        let word: &str = &body[..body.find(|c: char| !c.is_alphanumeric()).unwrap_or(body.len())];
        let fits =
            word.bytes().all(|c| c.is_ascii_digit()) || word.chars().count() == 1 || WORDS.contains(&word);
        (!word.is_empty() && fits).then_some(word.len())?
    };
    if goes_on(&body[length..]) {
        return None;
    }
    before.pop();
    let inside = strip_brackets(&body[..length]);
    let letter = Element::of_text("i", letter.encode_utf8(&mut [0; 4]));
    Some((vec![letter, prose(Element::new("sub"), inside)], skip + length))
}

/// Whether a text ends with this letter and no word does.
fn standalone(before: &str, letter: char) -> bool {
    before
        .strip_suffix(letter)
        .is_some_and(|start| !start.ends_with(|c: char| c.is_alphanumeric() || "_./\\:".contains(c)))
}

/// Whether a name goes on where a formula would end: `a_1.onnx`, `b_2_final`.
fn goes_on(rest: &str) -> bool {
    let mut next = rest.chars();
    match next.next() {
        Some(c) if c.is_alphanumeric() || c == '_' => true,
        Some('.' | '/' | '-') => next.next().is_some_and(char::is_alphanumeric),
        _ => false,
    }
}

/// The length of a bracketed text.
fn bracketed(body: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in body.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + c.len_utf8());
        }
    }
    None
}

fn strip_brackets(text: &str) -> &str {
    text.strip_prefix(['(', '{']).and_then(|text| text.strip_suffix([')', '}'])).unwrap_or(text)
}

/// The length of `8`, `-52`, `n`, `-n_1`.
fn signed_word(body: &str) -> Option<usize> {
    let sign = usize::from(body.starts_with('-'));
    let word = &body[sign..];
    let end = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let length = match word.chars().next()? {
        '0'..='9' => end(word),
        c if c.is_ascii_alphabetic() && word[1..].starts_with('_') => 2 + end(&word[2..]),
        c if c.is_ascii_alphabetic() => 1,
        _ => return None,
    };
    Some(sign + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = prose(Element::new("p"), text).to_string();
        assert_eq!(found, format!("<p>{expected}</p>"), "{text}");
    }

    #[test]
    fn formulas_are_set() {
        check("all of R^8", "all of ℝ<sup>8</sup>");
        check("the box [-1, 1]^2.", "the box [-1, 1]<sup>2</sup>.");
        check("W_1 has full row rank 3", "<i>W</i><sub>1</sub> has full row rank 3");
        check("n_0 >= n_1", "<i>n</i><sub>0</sub> ≥ <i>n</i><sub>1</sub>");
        check("(1 - 2^-n_1)^n_2", "(1 - 2<sup>-<i>n</i><sub>1</sub></sup>)<sup><i>n</i><sub>2</sub></sup>");
        check("2^(-(n + 1))", "2<sup>-(n + 1)</sup>");
        check("the plane of x1 and x2", "the plane of <i>x</i><sub>1</sub> and <i>x</i><sub>2</sub>");
        check("t >= t_min", "t ≥ <i>t</i><sub>min</sub>");
        check("[0, 1] x [0, 2]", "[0, 1] × [0, 2]");
        check("`fiberscope diff` goes on", "<code>fiberscope diff</code> goes on");
    }

    #[test]
    fn what_is_no_formula_stays() {
        let same = [
            "a_1.onnx",
            "net_2 and model_final.pt",
            "x_1/weights",
            "x1.npz",
            "max_1",
            "box1",
            "a ^ b",
            "_x",
            "W_",
            "one `tick",
            "b_2-x",
            "R^",
            "runs/a_1.npz",
            "x^(",
            "W_{",
            "100_000",
            "fx2",
        ];
        for text in same {
            check(text, text);
        }
        check("<W_1>", "&lt;<i>W</i><sub>1</sub>&gt;");
    }
}
