//! The page of statements names tests that exist.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;

/// The tests that a text names: `path.rs::function` in backquotes.
fn named(text: &str) -> Vec<(&str, &str)> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|span| span.split_once("::"))
        .filter(|(path, _)| path.ends_with(".rs"))
        .collect()
}

#[test]
fn the_tests_of_all_statements_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/theory/statements.md")).unwrap();
    let tests = named(&page);
    assert!(tests.len() > 40, "{} tests are named", tests.len());
    for (path, function) in tests {
        let source = fs::read_to_string(root.join("crates").join(path)).unwrap_or_default();
        let declared =
            source.split(&format!("fn {function}()")).next().filter(|before| before.len() < source.len());
        let is_test = declared.is_some_and(|before| before.trim_end().ends_with("#[test]"));
        assert!(is_test, "{path} has no test {function}");
    }
}

/// A count of statements: its name, the words that stand before its numbers, what precedes a number, and the last.
type Count = (&'static str, &'static [&'static str], &'static str, u32);

/// The sections of the page with the numbers of the statements of their papers, by what precedes a number.
const NUMBERED: [(&str, &[Count]); 3] = [
    // One count for all.
    (
        "[threelayer2026]",
        &[("", &["Theorem", "Definition", "Lemma", "Proposition", "Corollary", "Remark"], "", 37)],
    ),
    (
        "[phuong2020functional]",
        &[
            ("Lemmas", &["Lemma"], "", 4),
            ("Lemmas of the appendix", &["Lemma"], "A.", 19),
            ("Definitions", &["Definition"], "A.", 12),
            ("Figures", &["Figure"], "", 4),
        ],
    ),
    (
        "[ntk2026complexity]",
        &[
            ("appendix A", &["Definition", "Lemma", "Corollary", "Proposition"], "A.", 10),
            ("appendix C", &["Definition", "Remark", "Proposition"], "C.", 4),
            ("Figures", &["Figure"], "", 9),
        ],
    ),
];

/// The numbers after some words in the first cells of a section's rows: `Lemmas A.1 to A.3, A.7` has 1, 2, 3
/// and 7 with the prefix `A.`. What follows a comma without a word belongs to the word before.
fn numbers(section: &str, words: &[&str], prefix: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for cell in section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()) {
        let mut is_wanted = false;
        let mut first = None;
        for token in cell.split([' ', ',', '(', ')']).filter(|token| !token.is_empty()) {
            let number = token.strip_prefix(prefix).and_then(|rest| rest.parse::<u32>().ok());
            match (number, first.take()) {
                (Some(last), Some(from)) if is_wanted => found.extend(from..=last),
                (Some(number), _) if is_wanted => found.push(number),
                (None, _) if token == "to" => first = found.last().copied(),
                (None, _) if token.starts_with(|c: char| c.is_ascii_uppercase()) && token.len() > 4 => {
                    is_wanted = words.iter().any(|word| token.starts_with(word));
                }
                _ => {}
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn no_numbered_statement_is_left_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/theory/statements.md")).unwrap();
    for (paper, kinds) in NUMBERED {
        let section =
            page.split("\n## ").find(|section| section.lines().next().unwrap().contains(paper)).unwrap();
        for (name, words, prefix, last) in kinds {
            let missing: Vec<u32> =
                (1..=*last).filter(|n| !numbers(section, words, prefix).contains(n)).collect();
            assert!(missing.is_empty(), "{paper}, {name}: {missing:?} have no row");
        }
    }
}

#[test]
fn numbers_of_cells_are_read() {
    let section = "| Lemmas A.1 to A.3, A.7, Corollary A.5, Definition 9 | text 4 | x |\n| Lemma 8 | | |";
    assert_eq!(numbers(section, &["Lemma"], "A."), [1, 2, 3, 7]);
    assert_eq!(numbers(section, &["Lemma", "Definition"], ""), [8, 9]);
}

#[test]
fn names_are_found() {
    assert_eq!(named("see `a/b.rs::c` and `fiberscope x`, `y::z`"), [("a/b.rs", "c")]);
}
