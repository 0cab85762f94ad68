//! Which files of a crate import which others.
//!
//! A module is a file. It uses another if it imports an item from there or names one by its path; `use`
//! statements are followed through re-exports to the file that defines the item, so that `pub use` is a
//! signpost and no use. Three things do not count:
//!
//! - what stands under `#[cfg(test)]`;
//! - importing a module, as long as nothing is named in it;
//! - what a file uses of the doors of its own folders (`mod.rs`, and the crate's root): a door says what the
//!   files of its folder share, and calls them. A door that is used from outside its folder counts like any
//!   file.
//!
//! Paths that begin in other crates, methods and macros are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The name of a module, from the crate's root on.
pub type Module = Vec<String>;

/// Who uses whom.
pub type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// A `use` of one name.
struct Import {
    path: Vec<String>,
    /// The name under which it is known in the file; `*` for all names.
    name: String,
    /// Whether it is a re-export.
    is_public: bool,
}

/// What a file says.
struct File {
    imports: Vec<Import>,
    /// Paths in the code.
    paths: Vec<Vec<String>>,
}

/// The files of a crate, by their modules.
pub struct Modules(BTreeMap<Module, File>);

impl Modules {
    /// The modules of the crate with this root (`lib.rs`, `main.rs`).
    pub fn read(root: &Path) -> Self {
        let mut modules = Modules(BTreeMap::new());
        let folder = root.parent().unwrap_or(Path::new("."));
        modules.add(Module::new(), root, folder);
        modules
    }

    fn add(&mut self, module: Module, path: &Path, folder: &Path) {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (file, children) = parse(&text);
        self.0.insert(module.clone(), file);
        for child in children {
            let inside = folder.join(&child);
            let files: [PathBuf; 2] = [inside.join("mod.rs"), folder.join(format!("{child}.rs"))];
            let found = files.iter().find(|path| path.exists());
            let found = found.unwrap_or_else(|| panic!("{}: no file of mod {child}", path.display()));
            self.add(module.iter().cloned().chain([child]).collect(), found, &inside);
        }
    }

    /// Who uses whom.
    pub fn uses(&self) -> Uses {
        let of = |(module, file): (&Module, &File)| {
            let imports = file.imports.iter().filter(|import| !import.is_public);
            let named = imports.map(|import| &import.path).chain(&file.paths);
            let used = named.filter_map(|path| self.resolve(module, path, 0));
            let counts = |other: &Module| other != module && !module.starts_with(other);
            (module.clone(), used.filter(counts).collect())
        };
        self.0.iter().map(of).collect()
    }

    /// The file that defines what a path names; `None` if it names a module, or something of another crate.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        // A chain of re-exports that long is a ring of globs.
        if depth > 20 {
            return None;
        }
        let mut at = from.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => (at, rest) = (Module::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|word| word == "super") {
                    at.pop()?;
                    rest = &rest[1..];
                }
            }
            first if self.0.contains_key(&child(from, first)) => {}
            first => return self.imported(from, first, &rest[1..], depth),
        }
        while let Some(word) = rest.first().filter(|word| self.0.contains_key(&child(&at, word))) {
            (at, rest) = (child(&at, word), &rest[1..]);
        }
        match rest.split_first() {
            None => None,
            Some((name, _)) if name == "*" => Some(at),
            Some((name, more)) => match self.binding(&at, name) {
                Some(_) => self.imported(&at, name, more, depth),
                None => Some(at),
            },
        }
    }

    /// The same for a name that a file has imported.
    fn imported(&self, module: &Module, name: &str, more: &[String], depth: usize) -> Option<Module> {
        let import = self.binding(module, name)?;
        let path: Vec<String> = import.path.iter().chain(more).cloned().collect();
        // `use a::b;` where `a` is another crate.
        let goes_on = path != [vec![name.to_owned()], more.to_vec()].concat();
        goes_on.then(|| self.resolve(module, &path, depth + 1)).flatten()
    }

    fn binding(&self, module: &Module, name: &str) -> Option<&Import> {
        self.0[module].imports.iter().find(|import| import.name == name)
    }
}

fn child(module: &Module, name: &str) -> Module {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// The imports and paths of a file, and the modules that it declares in files of their own.
fn parse(text: &str) -> (File, Vec<String>) {
    let words = without_tests(words(text));
    let (mut imports, mut paths, mut children) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    while at < words.len() {
        let before = at.checked_sub(1).map(|before| words[before].as_str());
        match (words[at].as_str(), words.get(at + 1), words.get(at + 2).map(String::as_str)) {
            ("mod", Some(name), Some(";")) => {
                children.push(name.clone());
                at += 3;
            }
            ("use", ..) => {
                let end = at + words[at..].iter().position(|word| word == ";").unwrap_or(words.len() - at);
                let is_public = matches!(before, Some("pub" | ")"));
                for (path, name) in tree(&words[at + 1..end], &[]) {
                    imports.push(Import { path, name, is_public });
                }
                at = end;
            }
            (word, Some(next), _) if next == "::" && is_name(word) && before != Some("::") => {
                let mut path = vec![word.to_owned()];
                while words.get(at + 1).is_some_and(|word| word == "::") && is_name(&words[at + 2]) {
                    path.push(words[at + 2].clone());
                    at += 2;
                }
                paths.push(path);
                at += 1;
            }
            _ => at += 1,
        }
    }
    (File { imports, paths }, children)
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The names of a `use` tree with their paths.
fn tree(words: &[String], before: &[String]) -> Vec<(Vec<String>, String)> {
    let mut path = before.to_vec();
    let mut at = 0;
    while at < words.len() {
        match words[at].as_str() {
            "{" => {
                let inside = &words[at + 1..words.len() - 1];
                return split(inside).into_iter().flat_map(|part| tree(part, &path)).collect();
            }
            "as" => return vec![(path, words[at + 1].clone())],
            "::" => {}
            "self" if !path.is_empty() => {}
            word => path.push(word.to_owned()),
        }
        at += 1;
    }
    let name = path.last().cloned();
    name.map(|name| (path, name)).into_iter().collect()
}

/// The parts between the commas outside all braces.
fn split(words: &[String]) -> Vec<&[String]> {
    let mut depth = 0;
    let comma = |word: &String| {
        depth += i32::from(word == "{") - i32::from(word == "}");
        word == "," && depth == 0
    };
    words.split(comma).filter(|part| !part.is_empty()).collect()
}

/// The words of the code, without what stands under `#[cfg(test)]`.
fn without_tests(words: Vec<String>) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if !words[at..].iter().zip(MARK).filter(|(word, mark)| *word == mark).count().eq(&MARK.len()) {
            kept.push(words[at].clone());
            at += 1;
            continue;
        }
        // The item ends with the first semicolon or closing brace outside all braces.
        let mut depth = 0;
        while at < words.len() {
            let word = words[at].as_str();
            depth += i32::from(matches!(word, "{" | "(" | "[")) - i32::from(matches!(word, "}" | ")" | "]"));
            at += 1;
            if depth == 0 && matches!(word, ";" | "}") {
                break;
            }
        }
    }
    kept
}

/// Names, `::` and single signs; comments, strings and characters are left out.
fn words(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let starts = |at: usize, sign: &str| sign.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c));
    let find =
        |from: usize, sign: &str| (from..chars.len()).find(|&i| starts(i, sign)).unwrap_or(chars.len());
    let mut words = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if starts(at, "//") {
            at = find(at, "\n");
        } else if starts(at, "/*") {
            at = find(at, "*/") + 2;
        } else if c.is_alphanumeric() || c == '_' {
            let end = (at..chars.len()).find(|&i| !chars[i].is_alphanumeric() && chars[i] != '_');
            let word: String = chars[at..end.unwrap_or(chars.len())].iter().collect();
            at += word.chars().count();
            let hashes = (at..chars.len()).take_while(|&i| chars[i] == '#').count();
            if matches!(word.as_str(), "r" | "br") && chars.get(at + hashes) == Some(&'"') {
                at = find(at + hashes + 1, &format!("\"{}", "#".repeat(hashes))) + 1 + hashes;
            } else {
                words.push(word);
            }
        } else if c == '"' {
            at += 1;
            while at < chars.len() && chars[at] != '"' {
                at += if chars[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if c == '\'' && chars.get(at + 1) == Some(&'\\') {
            at = find(at + 3, "'") + 1;
        } else if c == '\'' && chars.get(at + 2) == Some(&'\'') {
            at += 3;
        } else if starts(at, "::") {
            words.push("::".to_owned());
            at += 2;
        } else {
            if !c.is_whitespace() {
                words.push(c.to_string());
            }
            at += 1;
        }
    }
    words
}
