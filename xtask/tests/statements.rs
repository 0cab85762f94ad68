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

#[test]
fn names_are_found() {
    assert_eq!(named("see `a/b.rs::c` and `fiberscope x`, `y::z`"), [("a/b.rs", "c")]);
}
