//! Names of tensors: which layer they belong to, how they are ordered, how they are printed.

use std::cmp::Ordering;

/// How the tensors of a network are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convention {
    /// `W1, b1, W2, b2, ...`
    Numbered,
    /// `0.weight, 0.bias, 2.weight, ...`, with any prefix.
    Torch,
}

/// What a tensor is to its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Weight,
    Bias,
}

/// What the name of a tensor says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parsed<'a> {
    pub(super) convention: Convention,
    /// What the tensors of one layer have in common: `1` of `W1`, `net.fc1` of `net.fc1.weight`.
    pub(super) stem: &'a str,
    pub(super) role: Role,
}

/// Takes the name of a weight or bias apart; `None` if it is neither.
pub(super) fn parse(name: &str) -> Option<Parsed<'_>> {
    let numbered = |letter, role| {
        let stem = name.strip_prefix(letter)?;
        let canonical =
            !stem.starts_with('0') && !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_digit());
        canonical.then_some(Parsed { convention: Convention::Numbered, stem, role })
    };
    let torch = |word, role| {
        let before = name.strip_suffix(word)?;
        let stem = if before.is_empty() { Some("") } else { before.strip_suffix('.') };
        stem.filter(|stem| stem.is_empty() == before.is_empty()).map(|stem| Parsed {
            convention: Convention::Torch,
            stem,
            role,
        })
    };
    numbered('W', Role::Weight)
        .or_else(|| numbered('b', Role::Bias))
        .or_else(|| torch("weight", Role::Weight))
        .or_else(|| torch("bias", Role::Bias))
}

/// The order in which runs of digits count as numbers: `2 < 10`, `fc2 < fc10`.
pub(super) fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a.as_bytes(), b.as_bytes());
    while let (Some(&p), Some(&q)) = (x.first(), y.first()) {
        let order = if p.is_ascii_digit() && q.is_ascii_digit() {
            let (m, n) = (take_number(&mut x), take_number(&mut y));
            m.len().cmp(&n.len()).then_with(|| m.cmp(n))
        } else {
            (x, y) = (&x[1..], &y[1..]);
            p.cmp(&q)
        };
        if order.is_ne() {
            return order;
        }
    }
    x.len().cmp(&y.len()).then_with(|| a.cmp(b))
}

/// Cuts the leading run of digits off and returns it without leading zeros.
fn take_number<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let (number, rest) = bytes.split_at(digits);
    *bytes = rest;
    &number[number.iter().take_while(|&&b| b == b'0').count()..]
}

/// Whether two names differ in nothing but their numbers.
pub(super) fn differ_in_numbers_only(a: &str, b: &str) -> bool {
    let text = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    text(a) == text(b)
}

/// A name in backticks, with control characters escaped and at most 60 characters long, fit for a
/// one-line message about a file from a stranger.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", clip(name, 60))
}

/// Text of unknown origin as part of a one-line message: control characters escaped, at most 160
/// characters long.
pub(crate) fn clipped(text: &str) -> String {
    clip(text, 160)
}

fn clip(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == limit {
            out.push_str("...");
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let check = |name, expected: Option<(Convention, &str, Role)>| {
            assert_eq!(parse(name).map(|p| (p.convention, p.stem, p.role)), expected, "{name}");
        };
        check("W1", Some((Convention::Numbered, "1", Role::Weight)));
        check("b12", Some((Convention::Numbered, "12", Role::Bias)));
        check("net.fc1.weight", Some((Convention::Torch, "net.fc1", Role::Weight)));
        check("0.bias", Some((Convention::Torch, "0", Role::Bias)));
        check("weight", Some((Convention::Torch, "", Role::Weight)));
        for neither in
            ["W", "W0", "W01", "w1", "W1x", ".weight", "fcweight", "0.weight_g", "1.running_mean", ""]
        {
            check(neither, None);
        }
    }

    #[test]
    fn numbers_inside_names_count_as_numbers() {
        let mut names = vec!["fc10", "fc2", "fc1.b", "fc1", "fc02", "fc", "fc1.a", "10", "9", ""];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["", "9", "10", "fc", "fc1", "fc1.a", "fc1.b", "fc02", "fc2", "fc10"]);
        let huge = ["99999999999999999999999999999998", "99999999999999999999999999999999"];
        assert_eq!(natural_order(huge[0], huge[1]), Ordering::Less);
    }

    #[test]
    fn names_are_printed_on_one_line() {
        assert_eq!(quoted("a\n\u{1b}[31m"), "`a\\n\\u{1b}[31m`");
        assert_eq!(quoted(&"x".repeat(1000)).len(), 65);
    }
}
