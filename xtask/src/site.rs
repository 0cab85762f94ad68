//! The documentation site: guide, theory, formats and the Python reference with one search over all of them,
//! and beside them the Rust reference as `cargo doc` makes it.
//!
//! Pages are gathered in a folder of their own, because the site has files that lie outside `docs/` (the
//! changelog, say), and because links that leave the site must lead to the repository.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::python;
use crate::shell::{Failure, cargo, program, root, target};

const CONFIGURATION: &str = "docs/site";
const REPOSITORY: &str = "https://github.com/fiberscope/fiberscope/blob/main";
/// Pages of the root that are part of the site.
const PROJECT: [&str; 4] = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
/// The crates that users meet; what they do is said in their manifests.
const CRATES: &str = "crates";

/// Builds the site into `site/` of the target folder.
pub fn build() -> Result<(), Failure> {
    let source = target().join("site-source");
    remove(&source)?;
    let pages = pages()?;
    for (from, to) in &pages {
        let to = source.join("docs").join(to);
        if from.extension().is_some_and(|ending| ending == "md") {
            write(&to, &relinked(&read(&root().join(from))?, from, &pages))?;
        } else {
            make_parent(&to)?;
            fs::copy(root().join(from), &to).map_err(|error| told(&to, error))?;
        }
    }
    write(&source.join("docs/reference/python.md"), "# Python reference\n\n::: fiberscope\n")?;
    write(&source.join("docs/reference/rust.md"), &rust_page()?)?;
    copy_folder(&root().join("python/fiberscope"), &source.join("python/fiberscope"), &["py", "pyi"])?;
    fs::copy(root().join(CONFIGURATION).join("zensical.toml"), source.join("zensical.toml"))
        .map_err(|error| told(&source, error))?;
    let python = python::environment(&format!("{CONFIGURATION}/requirements.txt"))?;
    program(&python, &["-m", "zensical", "build", "--clean"]).within(&source).run()?;
    rust_reference(&source.join("site/rust"))?;
    let site = target().join("site");
    remove(&site)?;
    fs::rename(source.join("site"), &site).map_err(|error| told(&site, error))?;
    println!("wrote {}", site.join("index.html").display());
    Ok(())
}

/// The files of the site: where each lies in the repository, and where in the site.
fn pages() -> Result<BTreeMap<PathBuf, PathBuf>, Failure> {
    let mut pages = BTreeMap::new();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for name in names(&root().join(&folder))? {
            let path = folder.join(name);
            if path == Path::new(CONFIGURATION) {
                continue;
            }
            if root().join(&path).is_dir() {
                folders.push(path);
            } else if let Ok(inside) = path.strip_prefix("docs") {
                pages.insert(path.clone(), inside.to_owned());
            }
        }
    }
    pages.extend(PROJECT.map(|name| (PathBuf::from(name), Path::new("project").join(name))));
    Ok(pages)
}

/// A page with its relative links as the site needs them: to where the file is there, or to the repository.
fn relinked(text: &str, page: &Path, pages: &BTreeMap<PathBuf, PathBuf>) -> String {
    let folder = page.parent().unwrap_or(Path::new(""));
    let own = pages.get(page).and_then(|to| to.parent()).unwrap_or(Path::new(""));
    let mut parts = text.split("](");
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (link, rest) = part.split_once(')').unwrap_or((part, ""));
        let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
        let elsewhere = file.is_empty() || file.contains("://") || file.starts_with("mailto:");
        let link = if elsewhere || !part.contains(')') {
            link.to_owned()
        } else {
            let path = flat(&folder.join(file));
            let target = match pages.get(&path) {
                Some(to) => format!("{}{}", "../".repeat(own.components().count()), slashes(to)),
                None => format!("{REPOSITORY}/{}", slashes(&path)),
            };
            anchor.map_or(target.clone(), |anchor| format!("{target}#{anchor}"))
        };
        changed += &format!("]({link}");
        if part.contains(')') {
            changed += &format!("){rest}");
        }
    }
    changed
}

/// The path without `.` and `..`.
fn flat(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                flat.pop();
            }
            other => flat.push(other),
        }
    }
    flat
}

fn slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// The page that leads to the Rust reference.
fn rust_page() -> Result<String, Failure> {
    let mut page = String::from("# Rust reference\n\n| crate | what it is |\n|---|---|\n");
    for name in names(&root().join(CRATES))? {
        let manifest = read(&root().join(CRATES).join(&name).join("Cargo.toml"))?;
        let description = manifest.lines().find_map(|line| line.strip_prefix("description = \""));
        let module = name.replace('-', "_");
        let line = format!(
            "| [`{name}`](../../rust/{module}/index.html) | {} |",
            trimmed(description.unwrap_or(""))
        );
        // Writing to a string cannot fail.
        let _ = writeln!(page, "{line}");
    }
    Ok(page)
}

fn trimmed(quoted: &str) -> &str {
    quoted.trim_end().trim_end_matches('"')
}

/// What `cargo doc` says of the crates.
fn rust_reference(to: &Path) -> Result<(), Failure> {
    let built = target().join("site-rust");
    let mut words = vec!["doc", "--no-deps", "--lib"];
    let crates = names(&root().join(CRATES))?;
    words.extend(crates.iter().flat_map(|name| ["--package", name.as_str()]));
    let folder = built.display().to_string();
    words.extend(["--target-dir", &folder]);
    cargo(&words).env("RUSTDOCFLAGS", "-D warnings").run()?;
    copy_folder(&built.join("doc"), to, &[])
}

/// Copies a folder: files with these endings, or all.
fn copy_folder(from: &Path, to: &Path, endings: &[&str]) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(|error| told(to, error))?;
    for name in names(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        let ending = from.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default();
        if from.is_dir() {
            copy_folder(&from, &to, endings)?;
        } else if endings.is_empty() || endings.contains(&ending.as_str()) {
            fs::copy(&from, &to).map_err(|error| told(&to, error))?;
        }
    }
    Ok(())
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| told(folder, error))?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>, _>>().map_err(|error| told(folder, error))?;
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| told(path, error))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    make_parent(path)?;
    fs::write(path, text).map_err(|error| told(path, error))
}

fn make_parent(path: &Path) -> Result<(), Failure> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|error| told(parent, error))
}

fn remove(folder: &Path) -> Result<(), Failure> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder).map_err(|error| told(folder, error))
}

fn told(path: &Path, error: std::io::Error) -> Failure {
    Failure(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_into_the_site_or_to_the_repository() {
        let pair = |from: &str, to: &str| (PathBuf::from(from), PathBuf::from(to));
        let pages = BTreeMap::from([
            pair("docs/guide/a.md", "guide/a.md"),
            pair("docs/theory/b.md", "theory/b.md"),
            pair("CHANGELOG.md", "project/CHANGELOG.md"),
        ]);
        let text = "[b](../theory/b.md#x) [c](../../CHANGELOG.md) [d](../../bench/d.md) [e](https://e.org) [f](#f) a](b";
        let repository = format!("{REPOSITORY}/bench/d.md");
        assert_eq!(
            relinked(text, Path::new("docs/guide/a.md"), &pages),
            format!(
                "[b](../theory/b.md#x) [c](../project/CHANGELOG.md) [d]({repository}) [e](https://e.org) [f](#f) a](b"
            )
        );
    }
}
