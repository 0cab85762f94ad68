//! Which modules of the Python package import which others.
//!
//! Imports inside functions count; those under `if TYPE_CHECKING:` do not, since they are for type checkers
//! only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Who imports whom among the modules of a package's folder.
pub fn imports(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let python = files.filter(|path| path.extension().is_some_and(|ending| ending == "py"));
    let texts: BTreeMap<String, String> = python
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect();
    let of = |(name, text): (&String, &String)| {
        let used = used(text).into_iter().filter(|other| texts.contains_key(other) && other != name);
        (name.clone(), used.collect())
    };
    texts.iter().map(of).collect()
}

/// The modules `x` of `from .x import ...` and `from . import x, ...`.
fn used(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut checking: Option<usize> = None;
    let mut listing = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        let code = line.split('#').next().unwrap_or("").trim();
        checking = checking.filter(|outside| indent > *outside);
        if code == "if TYPE_CHECKING:" {
            checking = Some(indent);
        }
        if checking.is_some() {
            continue;
        }
        let names = |list: &str| -> Vec<String> {
            let each = list.split(',').filter_map(|name| name.split_whitespace().next());
            each.map(|name| name.trim_matches(['(', ')']).to_owned()).collect()
        };
        if listing {
            found.extend(names(code));
            listing = !code.contains(')');
        } else if let Some(list) = code.strip_prefix("from . import ") {
            found.extend(names(list));
            listing = list.contains('(') && !list.contains(')');
        } else if let Some(rest) = code.strip_prefix("from .") {
            found.extend(rest.split_once(" import").map(|(module, _)| module.to_owned()));
        }
    }
    found
}
